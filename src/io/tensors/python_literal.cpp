#include "io/tensors/python_literal.hpp"

#include <limits>

#include "core/error.hpp"
#include "core/text.hpp"

namespace ranklab {

namespace {

// A structured dtype nests lists and tuples; no real array needs a deeper header.
constexpr int deepest = 32;
// Limit on the keys of a dict; a .npy header has three.
constexpr std::size_t most_keys = 16;

class Parser {
 public:
  Parser(std::string_view source, const std::string& what) : source_(source), what_(what) {}

  PythonDict dict() {
    PythonDict parsed;
    expect('{');
    while (!take('}')) {
      std::string key = text();
      if (parsed.find(key) != nullptr) fail("two keys '" + printable(key) + "'");
      if (parsed.entries.size() == most_keys) fail("it has too many keys");
      expect(':');
      parsed.entries.emplace_back(std::move(key), value(0));
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != source_.size()) fail("something follows it");
    return parsed;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Failure(what_ + " is not a Python dict of an array: " + why + " (byte " +
                  std::to_string(at_) + ")");
  }

  void skip_space() {
    while (at_ < source_.size() && (source_[at_] == ' ' || source_[at_] == '\n' ||
                                    source_[at_] == '\t' || source_[at_] == '\r'))
      ++at_;
  }

  char next() {
    skip_space();
    return at_ < source_.size() ? source_[at_] : '\0';
  }

  bool take(char c) {
    if (next() != c) return false;
    if (at_ == source_.size()) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!take(c)) fail(std::string("'") + c + "' is missing");
  }

  std::string text() {
    const char quote = next();
    if (quote != '\'' && quote != '"') fail("a string is missing");
    const std::size_t begin = ++at_;
    while (at_ < source_.size() && source_[at_] != quote) {
      if (source_[at_] == '\\' || source_[at_] == '\n')
        fail("a string with an escape or a line break");
      ++at_;
    }
    if (at_ == source_.size()) fail("a string does not end");
    return std::string(source_.substr(begin, at_++ - begin));
  }

  std::uint64_t integer() {
    const std::size_t begin = at_;
    std::uint64_t number = 0;
    while (at_ < source_.size() && source_[at_] >= '0' && source_[at_] <= '9') {
      const auto digit = static_cast<std::uint64_t>(source_[at_] - '0');
      constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      if (number > (largest - digit) / 10) fail("a number beyond 63 bits");
      number = 10 * number + digit;
      ++at_;
    }
    if (source_[begin] == '0' && at_ - begin > 1) fail("a number that starts with 0");
    // Python 2 wrote long integers with an L.
    if (at_ < source_.size() && source_[at_] == 'L') ++at_;
    return number;
  }

  bool take_word(std::string_view word) {
    if (source_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  PythonValue value(int depth) {
    PythonValue parsed;
    const char first = next();
    if (depth > deepest) fail("it is nested too deeply");
    if (first == '\'' || first == '"') {
      parsed.kind = PythonValue::Kind::text;
      parsed.text = text();
    } else if (first >= '0' && first <= '9') {
      parsed.kind = PythonValue::Kind::integer;
      parsed.integer = integer();
    } else if (take_word("True")) {
      parsed.kind = PythonValue::Kind::boolean;
      parsed.integer = 1;
    } else if (take_word("False")) {
      parsed.kind = PythonValue::Kind::boolean;
    } else if (first == '(' || first == '[') {
      return sequence(depth);
    } else if (first == '-') {
      fail("a negative number");
    } else {
      fail("a value is missing");
    }
    return parsed;
  }

  // Parentheses around one value without a comma are not a tuple.
  PythonValue sequence(int depth) {
    PythonValue parsed;
    const bool tuple = take('(');
    if (!tuple) expect('[');
    parsed.kind = tuple ? PythonValue::Kind::tuple : PythonValue::Kind::list;
    const char end = tuple ? ')' : ']';
    bool comma = true;
    while (!take(end)) {
      if (!comma) fail(std::string("',' or '") + end + "' is missing");
      parsed.items.push_back(value(depth + 1));
      comma = take(',');
    }
    if (tuple && parsed.items.size() == 1 && !comma)
      fail("a number in parentheses is not a tuple: a comma is missing");
    return parsed;
  }

  std::string_view source_;
  const std::string& what_;
  std::size_t at_ = 0;
};

}  // namespace

const PythonValue* PythonDict::find(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name == key) return &value;
  }
  return nullptr;
}

PythonDict parse_python_dict(std::string_view source, const std::string& what) {
  return Parser(source, what).dict();
}

}  // namespace ranklab
