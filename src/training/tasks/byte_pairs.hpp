// A vocabulary of byte pairs, learnt from a text: deterministic, without a file of its own.
//
// Text falls into pieces, ` ?[A-Za-z]+ | \n | ?[^A-Za-z\s]+ | +` in the notation of regular expressions (other white space by
// single bytes), across which nothing is merged. The first tokens are the text's bytes, by value; then the commonest pair of
// neighbouring tokens, the one of smaller ids where two are as common, becomes a token, until there are V. Text is encoded by the
// same merges in the same order. Source: Sennrich, Haddow, Birch, "Neural machine translation of rare words with subword units",
// 2016.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ranklab {

class BytePairs {
 public:
  using Token = std::uint32_t;

  /// Learns from `text`, whose pieces are counted; every byte of `alphabet` gets a token too. `vocabulary` 0: the bytes alone.
  /// Throws UsageError that names --vocab where the text has more bytes than that, or no pair is left before.
  BytePairs(std::string_view text, std::string_view alphabet, std::uint64_t vocabulary);

  /// The tokens of a text, whose bytes must be of the alphabet (else std::logic_error).
  std::vector<Token> encode(std::string_view text) const;

  std::uint64_t size() const { return words_.size(); }
  /// The bytes of a token.
  const std::string& word(Token token) const { return words_.at(token); }

 private:
  void learn(std::string_view text, std::uint64_t vocabulary);
  std::vector<Token> encode_piece(std::string_view piece) const;

  std::vector<std::string> words_;  // by token
  std::vector<Token> of_byte_;      // 256, or no token at all
  // The token of a pair, left in the high half of the key; a lower token was merged earlier.
  std::unordered_map<std::uint64_t, Token> merged_;
};

}  // namespace ranklab
