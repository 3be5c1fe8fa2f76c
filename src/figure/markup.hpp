// HTML, SVG and Markdown under construction. Text of a file has no way in but an escape.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ranklab {

/// Text of a language that a browser reads. Literals of the program convert to it. A std::string
/// does not, so code that forgets an escape does not compile.
template <class Language>
class Safe {
 public:
  Safe() = default;
  template <std::size_t n>
  Safe(const char (&literal)[n]) : text_(literal) {}
  static Safe number(std::integral auto n) { return trusted(std::to_string(n)); }
  /// Other text that the program made: digits, a style sheet, the data of a path.
  static Safe trusted(const std::string& text) {
    Safe out;
    out.text_ = text;
    return out;
  }

  Safe& operator+=(const Safe& more) {
    text_ += more.text_;
    return *this;
  }
  friend Safe operator+(Safe a, const Safe& b) { return std::move(a += b); }
  bool operator==(const Safe&) const = default;
  bool empty() const { return text_.empty(); }
  const std::string& text() const& { return text_; }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};
using Markup = Safe<struct Html>;  // also SVG

template <class Language>
Safe<Language> joined(const std::vector<Safe<Language>>& parts,
                      const std::type_identity_t<Safe<Language>>& separator = ", ") {
  Safe<Language> out;
  for (std::size_t i = 0; i < parts.size(); ++i) out += i == 0 ? parts[i] : separator + parts[i];
  return out;
}

/// The text with & < > " and ' as entities; broken UTF-8 and characters that XML forbids are
/// replaced, line breaks kept.
Markup escape_markup(std::string_view text);

}  // namespace ranklab
