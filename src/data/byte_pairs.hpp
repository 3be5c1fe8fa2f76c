// A byte-pair vocabulary learned from a text. Deterministic; there is no vocabulary file.
//
// Text is split into pieces, ` ?[A-Za-z]+ | \n | ?[^A-Za-z\s]+ | +` as regular expressions (other
// white space as single bytes); no merge crosses a piece boundary. The first tokens are the bytes
// of the text, by value. Then the most frequent pair of neighboring tokens becomes a token (the one
// with smaller ids in a tie), until there are V tokens. Encoding applies the same merges in the
// same order. Source: Sennrich, Haddow, Birch, "Neural machine translation of rare words with
// subword units", 2016.
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

  /// Learns from `text`. Every byte of `alphabet` gets a token too. `vocabulary` 0: only bytes.
  /// Throws a UsageError that names --vocab if the text has more distinct bytes than that, or too
  /// few pairs.
  BytePairs(std::string_view text, std::string_view alphabet, std::uint64_t vocabulary);

  /// The tokens of a text. Throws std::logic_error for a byte outside the alphabet.
  std::vector<Token> encode(std::string_view text) const;

  std::uint64_t size() const { return words_.size(); }
  /// The bytes of a token.
  const std::string& word(Token token) const { return words_.at(token); }

 private:
  void learn(std::string_view text, std::uint64_t vocabulary);
  std::vector<Token> encode_piece(std::string_view piece) const;

  std::vector<std::string> words_;  // by token
  std::vector<Token> of_byte_;      // (256), or no_token
  // The token of a pair; the key has the left token in its high half. Lower tokens were merged
  // earlier.
  std::unordered_map<std::uint64_t, Token> merged_;
};

}  // namespace ranklab
