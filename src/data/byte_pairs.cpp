#include "data/byte_pairs.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <stdexcept>
#include <unordered_map>

#include "core/error.hpp"
#include "core/text.hpp"

namespace ranklab {
namespace {

using Token = BytePairs::Token;
constexpr Token no_token = std::numeric_limits<Token>::max();

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_mark(char c) {
  return !is_letter(c) && !is_space(c);
}

/// The first piece of a nonempty text; at least one byte.
std::string_view first_piece(std::string_view text) {
  const auto prefix_of = [&](std::size_t at, bool (*kind)(char)) {
    while (at < text.size() && kind(text[at])) ++at;
    return text.substr(0, at);
  };
  const std::size_t blank = text[0] == ' ' ? 1 : 0;
  if (blank < text.size() && is_letter(text[blank])) return prefix_of(blank + 1, is_letter);
  if (blank < text.size() && is_mark(text[blank])) return prefix_of(blank + 1, is_mark);
  if (blank == 1) return prefix_of(1, [](char c) { return c == ' '; });
  return text.substr(0, 1);
}

/// Calls visit(piece) for every piece.
template <class Visit>
void for_each_piece(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::string_view piece = first_piece(text);
    visit(piece);
    text.remove_prefix(piece.size());
  }
}

// A pair of tokens in one integer.
using Key = std::uint64_t;
Key key_of(Token left, Token right) {
  return (static_cast<Key>(left) << 32) | right;
}

/// A distinct piece of the text, and how often it occurs.
struct Piece {
  std::vector<Token> tokens;
  std::int64_t count = 0;
};

/// The pairs of all pieces, with a queue by frequency.
class Pairs {
 public:
  explicit Pairs(std::vector<Piece> pieces) : pieces_(std::move(pieces)) {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      for_each_pair(i, [&](Key key) { count(key, i, pieces_[i].count); });
    }
    for (const auto& [key, pair] : pairs_) queue_.push({pair.count, key});
  }

  /// The most frequent pair; {false, 0} if no pair is left.
  std::pair<bool, Key> most_frequent() {
    while (!queue_.empty()) {
      const Candidate best = queue_.top();
      const auto found = pairs_.find(best.key);
      if (found != pairs_.end() && found->second.count == best.count && best.count > 0)
        return {true, best.key};
      queue_.pop();  // outdated: the count has changed and the pair was queued again
    }
    return {false, 0};
  }

  /// Replaces every occurrence of the pair by `token`, from the left.
  void merge(Key key, Token token) {
    const Token left = static_cast<Token>(key >> 32), right = static_cast<Token>(key);
    std::vector<std::size_t> where = std::move(pairs_.at(key).pieces);
    std::sort(where.begin(), where.end());
    where.erase(std::unique(where.begin(), where.end()), where.end());
    std::vector<Key> changed;
    for (const std::size_t i : where) {
      Piece& piece = pieces_[i];
      for_each_pair(i,
                    [&](Key old) { pairs_.at(old).count -= piece.count, changed.push_back(old); });
      std::size_t out = 0;
      for (std::size_t in = 0; in < piece.tokens.size(); ++in, ++out) {
        const bool pair = in + 1 < piece.tokens.size() && piece.tokens[in] == left &&
                          piece.tokens[in + 1] == right;
        piece.tokens[out] = pair ? token : piece.tokens[in];
        if (pair) ++in;
      }
      piece.tokens.resize(out);
      for_each_pair(i, [&](Key now) { count(now, i, piece.count), changed.push_back(now); });
    }
    std::sort(changed.begin(), changed.end());
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
    for (const Key each : changed) queue_.push({pairs_.at(each).count, each});
  }

 private:
  struct Pair {
    std::int64_t count = 0;
    std::vector<std::size_t> pieces = {};  // that contain or have contained the pair
  };
  struct Candidate {
    std::int64_t count;
    Key key;
    // The largest count first, then the smallest ids.
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : key > other.key;
    }
  };

  template <class Visit>
  void for_each_pair(std::size_t i, const Visit& visit) {
    const std::vector<Token>& tokens = pieces_[i].tokens;
    for (std::size_t j = 1; j < tokens.size(); ++j) visit(key_of(tokens[j - 1], tokens[j]));
  }

  void count(Key key, std::size_t piece, std::int64_t times) {
    Pair& pair = pairs_[key];
    pair.count += times;
    if (pair.pieces.empty() || pair.pieces.back() != piece) pair.pieces.push_back(piece);
  }

  std::vector<Piece> pieces_;
  std::unordered_map<Key, Pair> pairs_;
  std::priority_queue<Candidate> queue_;
};

}  // namespace

BytePairs::BytePairs(std::string_view text, std::string_view alphabet, std::uint64_t vocabulary)
    : of_byte_(256, no_token) {
  for (const char c : alphabet) of_byte_[static_cast<unsigned char>(c)] = 0;
  for (const char c : text) of_byte_[static_cast<unsigned char>(c)] = 0;
  for (std::size_t byte = 0; byte < of_byte_.size(); ++byte) {
    if (of_byte_[byte] == no_token) continue;
    of_byte_[byte] = static_cast<Token>(words_.size());
    words_.emplace_back(1, static_cast<char>(byte));
  }
  if (vocabulary > 0) learn(text, vocabulary);
}

void BytePairs::learn(std::string_view text, std::uint64_t vocabulary) {
  if (words_.size() > vocabulary) {
    throw UsageError("--vocab: " + std::to_string(vocabulary) +
                     " is not allowed; allowed: at least the " + std::to_string(words_.size()) +
                     " distinct bytes of the text");
  }
  std::unordered_map<std::string_view, std::int64_t> counts;
  for_each_piece(text, [&](std::string_view piece) { ++counts[piece]; });
  std::vector<Piece> pieces;
  for (const auto& [piece, count] : counts) {
    pieces.push_back({{}, count});
    for (const char c : piece)
      pieces.back().tokens.push_back(of_byte_[static_cast<unsigned char>(c)]);
  }
  Pairs pairs(std::move(pieces));
  while (words_.size() < vocabulary) {
    const auto [found, key] = pairs.most_frequent();
    if (!found) {
      throw UsageError("--vocab: " + std::to_string(vocabulary) +
                       " is not allowed; the text has pairs for at most " +
                       std::to_string(words_.size()) + " tokens");
    }
    const Token left = static_cast<Token>(key >> 32), right = static_cast<Token>(key),
                token = static_cast<Token>(words_.size());
    pairs.merge(key, token);
    merged_[key] = token;
    words_.push_back(words_[left] + words_[right]);
  }
}

std::vector<Token> BytePairs::encode_piece(std::string_view piece) const {
  std::vector<Token> tokens;
  for (const char c : piece) {
    tokens.push_back(of_byte_[static_cast<unsigned char>(c)]);
    if (tokens.back() == no_token) throw std::logic_error("byte outside the vocabulary");
  }
  // Apply the earliest merge that fits until none does.
  while (true) {
    Token best = no_token;
    for (std::size_t j = 1; j < tokens.size(); ++j) {
      const auto found = merged_.find(key_of(tokens[j - 1], tokens[j]));
      if (found != merged_.end()) best = std::min(best, found->second);
    }
    if (best == no_token) return tokens;
    std::size_t out = 0;
    for (std::size_t in = 0; in < tokens.size(); ++in, ++out) {
      const auto found =
          in + 1 < tokens.size() ? merged_.find(key_of(tokens[in], tokens[in + 1])) : merged_.end();
      const bool pair = found != merged_.end() && found->second == best;
      tokens[out] = pair ? best : tokens[in];
      if (pair) ++in;
    }
    tokens.resize(out);
  }
}

std::vector<Token> BytePairs::encode(std::string_view text) const {
  std::vector<Token> out;
  std::unordered_map<std::string_view, std::vector<Token>> known;
  for_each_piece(text, [&](std::string_view piece) {
    const auto [at, is_new] = known.try_emplace(piece);
    if (is_new) at->second = encode_piece(piece);
    out.insert(out.end(), at->second.begin(), at->second.end());
  });
  return out;
}

}  // namespace ranklab
