// A text as training and validation tokens, and batches of windows from them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/random.hpp"

namespace ranklab {

/// The King James Bible, one verse per line without its reference: 31,102 lines, from Debian's
/// packages bible-kjv and bible-kjv-text. Throws a Failure that names them if they are missing.
std::string king_james_bible();

struct Corpus {
  std::vector<std::uint32_t> training, validation;
  std::uint64_t vocabulary = 0;
  std::uint64_t bytes = 0;  // of the text
  std::string checksum;     // of the text, 16 hexadecimal digits
  std::string text;         // "the King James Bible", or the file's name
  // Of a text of facts (zipf_facts.hpp): the frequent and the rare ones, each stated once, and the
  // smallest token of an object.
  std::vector<std::uint32_t> frequent = {}, rare = {};
  std::uint32_t first_object = 0;
};

/// The V of "bpe:<V>", from 2 to 16384, or 0 for "char". Throws a UsageError that names --vocab.
std::uint64_t vocabulary_size(const std::string& vocab);

/// Reads the file, or the King James Bible if `path` is empty. The text is split into blocks of
/// 65,536 bytes (or a sixteenth of a text with fewer than 16 such blocks); block i with i mod 16 =
/// 15 is for validation. Both parts hold at least `shortest` tokens. Throws UsageError, or Failure
/// if the text cannot be read.
Corpus read_corpus(const std::string& path, const std::string& vocab, std::uint64_t shortest);

/// B windows of T + 1 tokens: inputs and next tokens, sequence after sequence.
struct TokenBatch {
  std::vector<std::uint32_t> ids, targets;  // N each
};

/// `sequences` windows of context + 1 tokens with uniform starts, drawn one after the other.
TokenBatch draw_windows(const std::vector<std::uint32_t>& tokens, std::uint64_t sequences,
                        std::uint64_t context, Stream& stream);

}  // namespace ranklab
