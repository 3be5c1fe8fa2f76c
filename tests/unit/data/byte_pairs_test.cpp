// Compares the vocabulary with one that counts all pairs again before each merge.
#include "data/byte_pairs.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <regex>

#include "core/error.hpp"

namespace byte_pairs_test {

using namespace ranklab;

namespace {

using Token = BytePairs::Token;

/// Splits into pieces with the standard library's regular expressions.
std::vector<std::string> pieces_of(const std::string& text) {
  const std::regex piece(" ?[A-Za-z]+|\\n| ?[^A-Za-z\\s]+| +|\\s");
  return {std::sregex_token_iterator(text.begin(), text.end(), piece),
          std::sregex_token_iterator()};
}

struct ByCounting {
  std::vector<std::string> words;
  std::vector<std::vector<Token>> pieces;

  ByCounting(const std::string& text, std::size_t vocabulary) {
    std::map<char, Token> of;
    for (int byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      if (text.find(c) == std::string::npos) continue;
      of[c] = static_cast<Token>(words.size());
      words.emplace_back(1, c);
    }
    for (const std::string& piece : pieces_of(text)) {
      pieces.emplace_back();
      for (const char c : piece) pieces.back().push_back(of.at(c));
    }
    while (words.size() < vocabulary) merge();
  }

  void merge() {
    std::map<std::pair<Token, Token>, int> counts;
    for (const auto& piece : pieces)
      for (std::size_t j = 1; j < piece.size(); ++j) ++counts[{piece[j - 1], piece[j]}];
    std::pair<Token, Token> best;
    int most = 0;
    for (const auto& [pair, count] : counts) {
      if (count > most)
        best = pair, most = count;  // the map iterates over the ids in increasing order
    }
    const Token token = static_cast<Token>(words.size());
    words.push_back(words[best.first] + words[best.second]);
    for (auto& piece : pieces) {
      std::vector<Token> merged;
      for (std::size_t j = 0; j < piece.size(); ++j) {
        const bool pair =
            j + 1 < piece.size() && piece[j] == best.first && piece[j + 1] == best.second;
        merged.push_back(pair ? token : piece[j]);
        j += pair;
      }
      piece = merged;
    }
  }

  std::vector<Token> tokens() const {
    std::vector<Token> out;
    for (const auto& piece : pieces) out.insert(out.end(), piece.begin(), piece.end());
    return out;
  }
};

/// Words of few letters, so that pairs often tie and overlap (aaa), separated by all kinds of white
/// space and punctuation.
std::string text_of(unsigned seed, int words) {
  std::mt19937 random(seed);
  std::string text;
  const std::vector<std::string> ends = {" ",  " ",   " ",    "\n", ", ",   "  ",
                                         "\t", ".\n", " 12 ", "'",  "\r\n", "   "};
  for (int i = 0; i < words; ++i) {
    const int length = 1 + static_cast<int>(random() % 6);
    for (int j = 0; j < length; ++j) text += "aabcB"[random() % 5];
    text += ends[random() % ends.size()];
  }
  return text;
}

std::string complaint(const std::string& text, std::uint64_t vocabulary) {
  try {
    BytePairs(text, text, vocabulary);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the vocabulary and the tokens agree with counting all pairs again before each merge") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const std::string text = text_of(seed, 400);
    const ByCounting expected(text, 60);
    const BytePairs pairs(text, text, 60);
    REQUIRE(pairs.size() == 60);
    for (Token token = 0; token < 60; ++token) CHECK(pairs.word(token) == expected.words[token]);
    CHECK(pairs.encode(text) == expected.tokens());
  }
}

TEST_CASE("another text is encoded with the same merges and decodes to the same text") {
  const std::string learned = text_of(3, 500), other = text_of(4, 200);
  const BytePairs pairs(learned, learned + other, 80);
  std::string read;
  for (const Token token : pairs.encode(other)) read += pairs.word(token);
  CHECK(read == other);
  CHECK(pairs.encode(other).size() < other.size());
}

TEST_CASE(
    "without merges, each token is a byte; bytes that occur only in the alphabet text also have "
    "tokens") {
  const BytePairs bytes("abba", "az", 0);
  CHECK(bytes.size() == 3);
  CHECK(bytes.encode("zab") == std::vector<Token>{2, 0, 1});
  CHECK_THROWS_AS(bytes.encode("q"), std::logic_error);
  CHECK(bytes.encode("").empty());
}

TEST_CASE("impossible vocabulary sizes are refused") {
  CHECK(complaint("ab ab", 2) ==
        "--vocab: 2 is not allowed; allowed: at least the 3 distinct bytes of the text");
  // Only " ab" can be merged: first ab, then " ab".
  CHECK(complaint("ab ab", 6) ==
        "--vocab: 6 is not allowed; the text has pairs for at most 5 tokens");
  CHECK(complaint("ab ab", 5).empty());
}

}  // namespace byte_pairs_test
