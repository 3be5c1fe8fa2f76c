#include "figure/symbols.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/text.hpp"
#include "figure/text.hpp"

namespace ranklab {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 26> greek = {{
    {"alpha", "\u03B1"},   {"beta", "\u03B2"},  {"gamma", "\u03B3"},  {"delta", "\u03B4"},
    {"epsilon", "\u03B5"}, {"eps", "\u03B5"},   {"eta", "\u03B7"},    {"kappa", "\u03BA"},
    {"lambda", "\u03BB"},  {"mu", "\u03BC"},    {"xi", "\u03BE"},     {"pi", "\u03C0"},
    {"rho", "\u03C1"},     {"sigma", "\u03C3"}, {"tau", "\u03C4"},    {"phi", "\u03C6"},
    {"omega", "\u03C9"},   {"Phi", "\u03A6"},   {"Pi", "\u03A0"},     {"Sigma", "\u03A3"},
    {"Delta", "\u0394"},   {"nu", "\u03BD"},    {"Lambda", "\u039B"}, {"Gamma", "\u0393"},
    {"Theta", "\u0398"},   {"Omega", "\u03A9"},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> signs = {{
    {">=", "\u2265"},
    {"<=", "\u2264"},
    {"+-", "\u00B1"},
    {"->", "\u2192"},
    {"||", "\u2016"},
    {"sqrt ", "\u221A"},
    {"sqrt(", "\u221A("},
    {"abs(lambda)", "|\u03BB|"},
}};

bool is_word(char c) {
  return is_letter(c) || is_digit(c);
}

std::string_view greek_letter(std::string_view word) {
  const auto found = std::find_if(greek.begin(), greek.end(),
                                  [&](const auto& entry) { return entry.first == word; });
  return found == greek.end() ? std::string_view() : found->second;
}

template <typename Belongs>
std::string_view leading(std::string_view text, Belongs belongs) {
  std::size_t end = 0;
  while (end < text.size() && belongs(text[end])) ++end;
  return text.substr(0, end);
}

// Reads the text once, from left to right.
class SymbolReader {
 public:
  explicit SymbolReader(std::string_view text) : text_(text) {}

  std::vector<TextRun> set() {
    while (at_ < text_.size()) {
      if (!sign() && !word() && !index() && !power() && !minus()) plain(text_.substr(at_, 1));
    }
    flush();
    return std::move(out_);
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }
  char before() const { return at_ == 0 ? ' ' : text_[at_ - 1]; }

  void plain(std::string_view part) {
    plain_ += part;
    at_ += part.size();
    takes_index_ = part == ")" || part == "~";
  }
  void flush() {
    if (!plain_.empty()) out_.push_back({.text = std::exchange(plain_, "")});
  }
  void place(TextRun::Place where, std::string_view content, std::size_t length) {
    flush();
    out_.push_back({.place = where, .inside = SymbolReader(content).set()});
    at_ += length;
  }

  // Letters and digits: a Greek letter, a number with an exponent, or unchanged text. A single
  // letter may take an index, and so may max, min, sum and prod: max_ij.
  bool word() {
    if (!is_word(rest().front())) return false;
    if (is_digit(rest().front()) && !is_word(before()) && exponent()) return true;
    const std::string_view word = leading(rest(), is_digit(rest().front()) ? is_digit : is_letter);
    const std::string_view letter = greek_letter(word);
    const char next = at_ + word.size() < text_.size() ? text_[at_ + word.size()] : ' ';
    const char after_next =
        at_ + word.size() + 1 < text_.size() ? text_[at_ + word.size() + 1] : ' ';
    const bool hyphened = (before() == '-' && at_ >= 2 && is_letter(text_[at_ - 2])) ||
                          (next == '-' && is_letter(after_next));
    const bool compound = is_word(before()) || is_word(next) || hyphened || identifier(word.size());
    if (letter.empty() || compound) {
      const bool single =
          word.size() == 1 && is_letter(word[0]) && !is_word(before()) && before() != '_';
      const bool over = !is_word(before()) && before() != '_' && takes_short_index(word);
      plain(word);
      takes_index_ = single || over;
    } else {
      plain_ += letter;
      at_ += word.size();
      takes_index_ = true;
    }
    return true;
  }

  // Other names that begin so, such as max_gap, are identifiers.
  bool takes_short_index(std::string_view word) const {
    if (word != "max" && word != "min" && word != "sum" && word != "prod") return false;
    const std::string_view tail = text_.substr(at_ + word.size());
    const auto in_name = [](char c) { return is_word(c) || c == '_'; };
    return tail.starts_with('_') && leading(tail.substr(1), in_name).size() <= 2;
  }

  // "mu_normalized", "sigma_max_of": an identifier of a program, not a letter with an index.
  bool identifier(std::size_t length) const {
    if (before() == '_') return true;
    const std::string_view tail = text_.substr(at_ + length);
    if (!tail.starts_with('_')) return false;
    return leading(tail.substr(1), [](char c) { return is_letter(c) || c == '_'; }).size() > 5;
  }

  // 2.842e-05
  bool exponent() {
    const std::string_view mantissa =
        leading(rest(), [](char c) { return is_digit(c) || c == '.'; });
    std::string_view tail = rest().substr(mantissa.size());
    if (tail.size() < 3 || tail[0] != 'e' || (tail[1] != '-' && tail[1] != '+')) return false;
    const bool negative = tail[1] == '-';
    const std::string_view digits = leading(tail.substr(2), is_digit);
    if (digits.empty()) return false;
    const std::size_t zeros = std::min(digits.find_first_not_of('0'), digits.size() - 1);
    plain_ += mantissa == "1" ? "10" : std::string(mantissa) + "\u00D710";
    flush();
    out_.push_back(
        {.place = TextRun::Place::above,
         .inside = {{.text = (negative ? "\u2212" : "") + std::string(digits.substr(zeros))}}});
    at_ += mantissa.size() + 2 + digits.size();
    takes_index_ = false;
    return true;
  }

  bool index() {
    if (rest().front() != '_' || !takes_index_) return false;
    if (enclosed(TextRun::Place::below)) return true;
    std::string_view part =
        leading(rest().substr(1), [](char c) { return is_word(c) || c == '_' || c == '*'; });
    if (part.empty() && rest().size() > 1 && (rest()[1] == '+' || rest()[1] == '-'))
      part = rest().substr(1, 1);
    while (part.ends_with('_')) part.remove_suffix(1);
    if (part.empty()) return false;
    std::string content(part == "-" ? "\u2212" : part);
    std::replace(content.begin(), content.end(), '_', ' ');
    place(TextRun::Place::below, content, 1 + part.size());
    return true;
  }

  // The first bracket's partner; npos without one.
  static std::size_t partner(std::string_view text) {
    std::size_t depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '(' || text[i] == '{') ++depth;
      if ((text[i] == ')' || text[i] == '}') && --depth == 0) return i;
    }
    return text.npos;
  }

  // _(1,2), _{k+1}, ^((3^k-1)/2): what is in short brackets after the sign.
  bool enclosed(TextRun::Place where) {
    constexpr std::size_t longest = 20;
    const std::string_view tail = rest().substr(1);
    if (!tail.starts_with('{') && !tail.starts_with('(')) return false;
    const std::size_t close = partner(tail);
    if (close > longest) return false;
    place(where, tail.substr(1, close - 1), close + 2);
    return true;
  }

  bool power() {
    if (rest().front() != '^' || at_ == 0 || rest().size() < 2) return false;
    if (enclosed(TextRun::Place::above)) return true;
    const std::string_view tail = rest().substr(1);
    if (tail.front() == '(' || tail.front() == '{') return false;
    const std::size_t minus = tail.front() == '-' ? 1 : 0;
    std::size_t length = minus + leading(tail.substr(minus), is_word).size();
    if (length == minus) return false;
    const std::string_view decimals =  // ^0.5
        tail.substr(length).starts_with('.') ? leading(tail.substr(length + 1), is_digit) : "";
    if (is_digit(tail[length - 1]) && !decimals.empty()) length += 1 + decimals.size();
    place(TextRun::Place::above,
          (minus ? "\u2212" : "") + std::string(tail.substr(minus, length - minus)), 1 + length);
    return true;
  }

  bool sign() {
    for (const auto& [written, set] : signs) {
      if (!rest().starts_with(written) || (is_letter(written[0]) && is_word(before()))) continue;
      plain_ += set;
      at_ += written.size();
      takes_index_ = written == "||";
      return true;
    }
    return false;
  }

  // A hyphen at the start of a number or between blanks is a minus sign.
  bool minus() {
    if (rest().front() != '-' || rest().size() < 2) return false;
    const bool starts = std::string_view(" (=,[").find(before()) != std::string_view::npos;
    if (!starts || !(is_digit(rest()[1]) || (rest()[1] == ' ' && before() == ' '))) return false;
    plain_ += "\u2212";
    ++at_;
    takes_index_ = false;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<TextRun> out_;
  std::string plain_;
  bool takes_index_ = false;
};

struct Small {
  char32_t plain, below, above;  // 0: Unicode has none
};
constexpr std::array<Small, 20> small_characters = {{
    {U'0', 0x2080, 0x2070}, {U'1', 0x2081, 0xB9},   {U'2', 0x2082, 0xB2},
    {U'3', 0x2083, 0xB3},   {U'4', 0x2084, 0x2074}, {U'5', 0x2085, 0x2075},
    {U'6', 0x2086, 0x2076}, {U'7', 0x2087, 0x2077}, {U'8', 0x2088, 0x2078},
    {U'9', 0x2089, 0x2079}, {U'+', 0x208A, 0x207A}, {0x2212, 0x208B, 0x207B},
    {U'a', 0x2090, 0},      {U'i', 0x1D62, 0x2071}, {U'j', 0x2C7C, 0},
    {U'k', 0x2096, 0x1D4F}, {U'l', 0x2097, 0},      {U'n', 0x2099, 0x207F},
    {U't', 0x209C, 0x1D57}, {U'x', 0x2093, 0},
}};

std::string utf8(char32_t c) {
  if (c < 0x80) return {static_cast<char>(c)};
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
  if (c < 0x800) return {static_cast<char>(0xC0 | (c >> 6)), tail(0)};
  return {static_cast<char>(0xE0 | (c >> 12)), tail(6), tail(0)};
}

// Empty if Unicode lacks one of the characters.
std::string small_text(const std::string& text, TextRun::Place place) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point(text, i);
    const auto found = std::ranges::find(small_characters, c.value, &Small::plain);
    if (c.length == 0 || found == small_characters.end()) return "";
    const char32_t small = place == TextRun::Place::below ? found->below : found->above;
    if (small == 0) return "";
    out += utf8(small);
    i += c.length;
  }
  return out;
}

std::string in_unicode(const std::vector<TextRun>& runs) {
  std::string out;
  for (const TextRun& run : runs) {
    if (run.place == TextRun::Place::line) {
      out += run.text;
      continue;
    }
    const std::string inside = in_unicode(run.inside), small = small_text(inside, run.place);
    const bool is_one_word = std::ranges::all_of(inside, is_word);
    out += !small.empty()                                ? small
           : run.place == TextRun::Place::below          ? "_" + inside
           : is_one_word || inside.starts_with("\u2212") ? "^" + inside
                                                         : "^(" + inside + ")";
  }
  return out;
}

std::string with_marks(const std::vector<TextRun>& runs) {
  std::string out;
  for (const TextRun& run : runs) {
    if (run.place == TextRun::Place::line) {
      out += run.text;
      continue;
    }
    // Marks do not nest: an index of an index is set as one.
    std::string inside;
    for (const TextRun& each : run.inside)
      inside += each.place == TextRun::Place::line ? each.text : in_unicode({each});
    out += utf8(run.place == TextRun::Place::below ? index_mark : power_mark) + inside +
           utf8(end_mark);
  }
  return out;
}

}  // namespace

std::vector<TextRun> set_symbols(std::string_view text) {
  return SymbolReader(text).set();
}

std::string with_symbols(std::string_view text) {
  return in_unicode(set_symbols(text));
}

std::string label_with_symbols(std::string_view text) {
  // A file may contain the marks.
  std::string plain = one_line(text);
  for (const char32_t mark : {index_mark, power_mark, end_mark}) {
    const std::string encoded = utf8(mark);
    for (std::size_t at; (at = plain.find(encoded)) != std::string::npos;)
      plain.replace(at, encoded.size(), "\uFFFD");
  }
  return with_marks(set_symbols(plain));
}

}  // namespace ranklab
