#include "own/formula.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"

namespace ranklab::own {
namespace {

constexpr std::size_t most_characters = 1000, most_levels = 40;

constexpr std::array<std::string_view, 6> of_numbers = {"log", "log10", "log2",
                                                        "exp", "sqrt",  "abs"};
constexpr std::array<std::string_view, 13> of_curves = {
    "first",  "last",   "sum",   "mean", "median", "min", "max",
    "argmin", "argmax", "share", "when", "diff",   "at"};
constexpr std::array<std::string_view, 9> reserved = {"and",    "or", "not",   "from", "over",
                                                      "within", "in", "never", "inf"};

template <class List>
bool contains(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

struct Token {
  enum class Kind { number, name, word, symbol, end } kind = Kind::end;
  std::string text;
  double number = 0;
  std::size_t column = 1;
  std::vector<std::pair<std::string, std::string>> at = {};
};

std::string shown(const Token& token) {
  return token.kind == Token::Kind::end ? "the end" : "'" + printable_key(token.text) + "'";
}

bool begins_name(char c) {
  return is_letter(c) || c == '_';
}
bool continues_name(char c) {
  return begins_name(c) || is_digit(c) || c == '.' || c == '*';
}

class Lexer {
 public:
  explicit Lexer(const std::string& text) : text_(text) {}

  std::vector<Token> tokens() {
    std::vector<Token> out;
    do {
      out.push_back(next(out));
    } while (out.back().kind != Token::Kind::end);
    return out;
  }

 private:
  char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  Token next(const std::vector<Token>& before) {
    while (at(i_) == ' ' || at(i_) == '\t' || at(i_) == '\n') ++i_;
    const std::size_t begin = i_;
    const auto token = [&](Token::Kind kind, std::string text) {
      return Token{kind, std::move(text), 0, begin + 1};
    };
    const char c = at(i_);
    if (i_ >= text_.size()) return token(Token::Kind::end, "");
    if (is_digit(c) || (c == '.' && is_digit(at(i_ + 1)))) return number();
    if (c == '\'' || c == '"') return quoted(c);
    // A star is a glob at the beginning of a name, and a product after a value.
    const bool after_value =
        !before.empty() && (before.back().kind == Token::Kind::number ||
                            before.back().kind == Token::Kind::name || before.back().text == ")");
    if (begins_name(c) || (c == '*' && !after_value && continues_name(at(i_ + 1)))) {
      while (continues_name(at(i_))) ++i_;
      std::string name = text_.substr(begin, i_ - begin);
      if (at(i_) == '[' && !contains(reserved, name)) {
        const std::size_t close = text_.find(']', i_);
        if (close != std::string::npos && text_.find('=', i_) < close) {
          Token placed = token(Token::Kind::name, name);
          placed.at = places();
          return placed;
        }
        name = bracket() + "." + name;
      }
      const std::size_t after = text_.find_first_not_of(' ', i_);
      const bool is_word =
          contains(reserved, name) || (after < text_.size() && text_[after] == '(');
      return token(is_word ? Token::Kind::word : Token::Kind::name, name);
    }
    for (const char* two : {"<=", ">="}) {
      if (text_.compare(i_, 2, two) == 0) return i_ += 2, token(Token::Kind::symbol, two);
    }
    if (c == '=' || c == '!')
      refuse(begin + 1,
             "compare by <, <=, >, >=; `alike A, B within 0.01` says that two are equal; a name "
             "with such characters needs quotes");
    if (text_.compare(i_, 3, "\u2264") == 0)
      refuse(begin + 1, "only ASCII is allowed here; write <= for \u2264");
    if ((c & 0x80) != 0) refuse(begin + 1, "only ASCII is allowed here; write >= for \u2265");
    if (c == '%') refuse(begin + 1, "'%' is not allowed here; write 0.9 for 90 %");
    if (c == '&' || c == '|')
      refuse(begin + 1, "'" + std::string(1, c) + "' is not allowed here; write and, or");
    if (std::string_view("+-*/^<>(),[]").find(c) == std::string_view::npos)
      refuse(begin + 1, "'" + printable_key(text_.substr(begin, 1)) +
                            "' is not allowed here; put a name with such characters in quotes");
    ++i_;
    return token(Token::Kind::symbol, std::string(1, c));
  }

  Token number() {
    const std::size_t begin = i_;
    while (is_digit(at(i_)) || at(i_) == '.') ++i_;
    if (at(i_) == 'e' || at(i_) == 'E') {
      const std::size_t sign = at(i_ + 1) == '+' || at(i_ + 1) == '-' ? 1 : 0;
      if (is_digit(at(i_ + 1 + sign))) {
        i_ += 1 + sign;
        while (is_digit(at(i_))) ++i_;
      }
    }
    const std::string digits = text_.substr(begin, i_ - begin);
    char* end = nullptr;
    const double value = std::strtod(digits.c_str(), &end);
    if (*end != '\0' || begins_name(at(i_)))
      refuse(begin + 1, "'" + printable_key(digits + text_.substr(i_, begins_name(at(i_)))) +
                            "' is not a number");
    return {Token::Kind::number, digits, value, begin + 1};
  }

  Token quoted(char quote) {
    const std::size_t begin = i_, end = text_.find(quote, i_ + 1);
    if (end == std::string::npos) refuse(begin + 1, "the quote is not closed");
    i_ = end + 1;
    return {Token::Kind::name, text_.substr(begin + 1, end - begin - 1), 0, begin + 1};
  }

  // [layer=1, block='W2']
  std::vector<std::pair<std::string, std::string>> places() {
    std::vector<std::pair<std::string, std::string>> out;
    const std::size_t begin = i_;
    const auto skip_blanks = [&] {
      while (at(i_) == ' ') ++i_;
    };
    do {
      ++i_;  // the bracket or a comma
      skip_blanks();
      const std::size_t axis = i_;
      while (i_ < text_.size() && std::string_view("=,] ").find(at(i_)) == std::string_view::npos)
        ++i_;
      out.emplace_back(text_.substr(axis, i_ - axis), "");
      skip_blanks();
      if (at(i_) != '=' || i_ == axis)
        refuse(axis + 1, "expected AXIS=PLACE in the bracket, such as layer=1");
      ++i_;
      skip_blanks();
      if (at(i_) == '\'' || at(i_) == '"') {
        out.back().second = quoted(at(i_)).text;
      } else {
        const std::size_t place = i_;
        while (i_ < text_.size() && at(i_) != ',' && at(i_) != ']') ++i_;
        out.back().second = text_.substr(place, i_ - place);
        while (out.back().second.ends_with(' ')) out.back().second.pop_back();
      }
      skip_blanks();
    } while (at(i_) == ',');
    if (at(i_) != ']') refuse(begin + 1, "the bracket is not closed");
    ++i_;
    return out;
  }

  std::string bracket() {
    const std::size_t begin = i_, end = text_.find(']', i_);
    if (end == std::string::npos) refuse(begin + 1, "the bracket is not closed");
    i_ = end + 1;
    return text_.substr(begin + 1, end - begin - 1);
  }

  const std::string& text_;
  std::size_t i_ = 0;
};

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Formula statement() {
    Formula out;
    const bool names_a_quantity =
        std::any_of(tokens_.begin(), tokens_.end(),
                    [](const Token& each) { return each.kind == Token::Kind::name; });
    if (take_leading("mean")) {
      out.form = Form::mean;
      out.first = sum();
      out.allowed = region();
    } else if (take_leading("often")) {
      out.form = Form::often;
      region_follows_ = true;
      out.first = either();
      region_follows_ = false;
      const std::size_t column = now().column;
      out.allowed = region();
      if (out.allowed.low > 1 || out.allowed.high < 0)
        refuse(column, "a share of the trials is between 0 and 1");
    } else if (take_leading("slope")) {
      out.form = Form::slope;
      out.first = sum();
      need("over");
      out.second = sum();
      out.allowed = region();
    } else if (take_leading("alike")) {
      out.form = Form::alike;
      out.first = sum();
      need(",");
      out.second = sum();
      need("within");
      out.margin = constant();
      if (!(out.margin > 0)) refuse(now().column, "the margin after 'within' must be positive");
    } else {
      out.form = take("never") ? Form::never : Form::always;
      out.first = either();
    }
    if (take("from")) out.from = either();
    if (now().kind != Token::Kind::end) {
      if (i_ == 1 && now().kind != Token::Kind::symbol && !contains(reserved, now().text))
        refuse(1, shown(tokens_[0]) +
                      " begins no statement; allowed: never, mean, often, slope, alike, or a "
                      "comparison" +
                      (tokens_[0].text == "median"
                           ? "; of the median over the trials, write `often A <= B >= 0.5`"
                           : ""));
      const bool is_value = out.form == Form::always || out.form == Form::never;
      refuse(now().column, shown(now()) + " is not expected here" +
                               (is_value ? "; allowed: and, or, a comparison, from" : ""));
    }
    if (!names_a_quantity) refuse(1, "the statement names no quantity");
    return out;
  }

  Formula value() {
    Formula out;
    out.form = Form::mean;
    out.first = sum();
    if (take("from")) out.from = either();
    if (now().kind != Token::Kind::end)
      refuse(now().column, shown(now()) + " is not expected here; allowed: from");
    return out;
  }

 private:
  const Token& now() const { return tokens_[i_]; }
  bool is(std::string_view text) const {
    return now().text == text &&
           (now().kind == Token::Kind::symbol || now().kind == Token::Kind::word);
  }
  bool take(std::string_view text) {
    if (!is(text)) return false;
    ++i_;
    return true;
  }
  // The first word of a form, which a parenthesis may follow.
  bool take_leading(std::string_view text) {
    if (i_ != 0 || now().text != text || now().kind == Token::Kind::symbol) return false;
    ++i_;
    return true;
  }
  void need(const char* text) {
    if (!take(text))
      refuse(now().column, std::string("expected '") + text + "', got " + shown(now()));
  }

  // Each level of the grammar below makes one or two levels of calls.
  struct Level {
    explicit Level(Parser& of) : parser(of) {
      if (++parser.levels_ > most_levels)
        refuse(parser.now().column, say("more than {} levels of parentheses", most_levels));
    }
    ~Level() { --parser.levels_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    Parser& parser;
  };

  static Node operation(std::string word, std::vector<Node> parts, std::size_t column) {
    return {Node::Kind::operation, 0, std::move(word), std::move(parts), column};
  }

  // a or b or c, from the left; `next` parses a, b and c.
  Node chain(std::initializer_list<const char*> symbols, Node (Parser::*next)()) {
    Node left = (this->*next)();
    for (;;) {
      const auto found = std::find_if(symbols.begin(), symbols.end(),
                                      [&](const char* symbol) { return is(symbol); });
      if (found == symbols.end()) return left;
      const std::size_t column = now().column;
      ++i_;
      Node right = (this->*next)();
      left = operation(*found, {std::move(left), std::move(right)}, column);
    }
  }
  Node either() {
    const Level level(*this);
    return chain({"or"}, &Parser::both);
  }
  Node both() { return chain({"and"}, &Parser::negated); }
  Node negated() {
    const Level level(*this);
    const std::size_t column = now().column;
    if (take("not")) return operation("not", {negated()}, column);
    return comparison();
  }
  Node comparison() {
    Node left = sum();
    for (const char* symbol : {"<=", ">=", "<", ">"}) {
      const std::size_t column = now().column;
      if (!take(symbol)) continue;
      Node right = sum();
      for (const char* next : {"<=", ">=", "<", ">"}) {
        if (is(next) && !region_follows_)
          refuse(now().column, "join two comparisons by and: 0 <= A and A <= 1");
      }
      return operation(symbol, {std::move(left), std::move(right)}, column);
    }
    return left;
  }
  Node sum() {
    const Level level(*this);
    return chain({"+", "-"}, &Parser::product);
  }
  Node product() { return chain({"*", "/"}, &Parser::signed_power); }
  Node signed_power() {
    const Level level(*this);
    const std::size_t column = now().column;
    if (take("-")) return operation("negative", {signed_power()}, column);
    Node base = operand();
    if (!is("^")) return base;
    const std::size_t at = now().column;
    ++i_;
    return operation("^", {std::move(base), signed_power()}, at);
  }
  Node operand() {
    const Token token = now();
    if (token.kind == Token::Kind::number || is("inf")) {
      ++i_;
      return {Node::Kind::number,
              token.text == "inf" ? std::numeric_limits<double>::infinity() : token.number,
              {},
              {},
              token.column};
    }
    if (token.kind == Token::Kind::name) {
      ++i_;
      return {Node::Kind::name, 0, token.text, {}, token.column, token.at};
    }
    if (take("(")) {
      const bool region_follows = std::exchange(region_follows_, false);
      Node inside = either();
      region_follows_ = region_follows;
      need(")");
      return inside;
    }
    if (token.kind == Token::Kind::word && tokens_[i_ + 1].text == "(") return function();
    refuse(token.column, "expected a number, a name or a function, got " + shown(token));
  }
  Node function() {
    const Token name = now();
    if (!contains(of_numbers, name.text) && !contains(of_curves, name.text)) {
      std::vector<std::string> known(of_numbers.begin(), of_numbers.end());
      known.insert(known.end(), of_curves.begin(), of_curves.end());
      refuse(name.column, "unknown function '" + printable_key(name.text) + "'" +
                              did_you_mean(name.text, known, "; allowed: " + joined(known)));
    }
    ++i_;
    need("(");
    std::vector<Node> parts;
    const bool region_follows = std::exchange(region_follows_, false);
    do {
      parts.push_back(either());
    } while (take(","));
    region_follows_ = region_follows;
    need(")");
    const bool takes_more = name.text == "min" || name.text == "max";
    const std::size_t expected = name.text == "at" ? 2 : 1;
    if (!takes_more && parts.size() != expected)
      refuse(name.column,
             say("{}() takes {}, got {}", name.text, plural(expected, "argument"), parts.size()));
    return operation(name.text, std::move(parts), name.column);
  }

  Region region() {
    const std::size_t column = now().column;
    if (take("in")) {
      need("[");
      const double low = constant();
      need(",");
      const double high = constant();
      need("]");
      if (!(low <= high)) refuse(column, "the interval is empty");
      return {low, high};
    }
    if (take("<=")) return at_most(constant());
    if (take(">=")) return at_least(constant());
    // If all values are equal to the bound, it is a tie, and undecided. Below infinity is finite.
    constexpr double largest = std::numeric_limits<double>::max();
    if (take("<")) return compared(at_most(std::min(constant(), largest)));
    if (take(">")) return compared(at_least(std::max(constant(), -largest)));
    refuse(column, "expected <=, >=, <, > or `in [LOW, HIGH]`, got " + shown(now()));
  }
  double constant() {
    const std::size_t column = now().column;
    return constant_of(sum(), column);
  }
  static double constant_of(const Node& node, std::size_t column) {
    if (node.kind == Node::Kind::number) return node.number;
    if (node.kind == Node::Kind::name)
      refuse(node.column, "must be a number, not '" + printable_key(node.word) +
                              "'; compare two quantities as `mean A - B <= 0`");
    const auto part = [&](std::size_t i) { return constant_of(node.parts.at(i), column); };
    if (node.word == "negative") return -part(0);
    if (node.word == "+") return part(0) + part(1);
    if (node.word == "-") return part(0) - part(1);
    if (node.word == "*") return part(0) * part(1);
    if (node.word == "/") return part(0) / part(1);
    if (node.word == "^") return std::pow(part(0), part(1));
    if (node.word == "log") return std::log(part(0));
    if (node.word == "sqrt") return std::sqrt(part(0));
    refuse(column, "must be a number; compare two quantities as `mean A - B <= 0`");
  }

  std::vector<Token> tokens_;
  std::size_t i_ = 0, levels_ = 0;
  bool region_follows_ = false;  // a comparison after a condition begins its region
};

}  // namespace

bool is_word_of_formulas(const std::string& text) {
  constexpr std::array<std::string_view, 5> forms = {"mean", "often", "slope", "alike", "never"};
  return contains(of_numbers, text) || contains(of_curves, text) || contains(reserved, text) ||
         contains(forms, text);
}

void for_each_name(const Node& node, const std::function<void(const Node&)>& visit) {
  if (node.kind == Node::Kind::name) visit(node);
  for (const Node& part : node.parts) for_each_name(part, visit);
}

void refuse(std::size_t column, const std::string& why) {
  throw UsageError(say("column {}: {}", column, why));
}

namespace {

Parser parser_of(const std::string& text) {
  if (text.size() > most_characters)
    refuse(most_characters, say("the statement has more than {} characters", most_characters));
  return Parser(Lexer(text).tokens());
}

}  // namespace

Formula parse(const std::string& text) {
  return parser_of(text).statement();
}

Formula parse_value(const std::string& text) {
  return parser_of(text).value();
}

}  // namespace ranklab::own
