#include "figure/text.hpp"

#include <algorithm>
#include <cstdint>

#include "core/text.hpp"
#include "figure/markup.hpp"
#include "figure/symbols.hpp"

namespace ranklab {
namespace {

constexpr std::string_view ellipsis = "\u2026";

// Also characters that are not allowed in XML.
bool is_blank(std::uint32_t c) {
  return is_invisible(c) || c == 0x20 || c == 0xA0 || (c & 0xFFFE) == 0xFFFE ||
         (c >= 0xFDD0 && c <= 0xFDEF);
}

// Widths of DejaVu Sans in units of the font size, in rough classes.
double width_of(std::uint32_t c) {
  static constexpr std::string_view narrow = " ijlI.,:;'|!()[]/\\ft-", wide = "mwMW%@";
  if (c >= 0x1100) return c >= 0x2000 && c < 0x2E80 ? 0.75 : 1.0;
  if (c >= 0x300 && c < 0x370) return 0.0;
  if (c >= 0x80) return 0.65;
  const char letter = static_cast<char>(c);
  if (narrow.find(letter) != std::string_view::npos) return 0.37;
  if (wide.find(letter) != std::string_view::npos) return 0.95;
  return letter >= 'A' && letter <= 'Z' ? 0.7 : 0.62;
}

// The widths of the characters of one text, with its indices and powers.
class Widths {
 public:
  double next(std::uint32_t c) {
    if (c < index_mark || c > end_mark) return scale_ * width_of(c);
    scale_ = c == end_mark ? 1 : small_size;
    return 0;
  }

 private:
  double scale_ = 1;
};

}  // namespace

std::string one_line(std::string_view text) {
  std::string out;
  bool space = false;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point(text, i);
    if (c.length > 0 && is_blank(c.value)) {
      space = !out.empty();
    } else {
      if (space) out += ' ';
      space = false;
      out += c.length == 0 ? std::string_view("\uFFFD") : text.substr(i, c.length);
    }
    i += std::max<std::size_t>(c.length, 1);
  }
  return out;
}

double text_width(std::string_view text, double font_size) {
  double width = 0;
  Widths widths;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point(text, i);
    width += widths.next(c.value);
    i += std::max<std::size_t>(c.length, 1);
  }
  return width * font_size;
}

std::string shorten(const std::string& text, double font_size, double width) {
  if (text_width(text, font_size) <= width) return text;
  const double room = width - text_width(ellipsis, font_size);
  double used = 0;
  std::size_t end = 0;
  Widths widths;
  while (end < text.size()) {
    const CodePoint c = code_point(text, end);
    used += widths.next(c.value) * font_size;
    if (used > room) break;
    end += std::max<std::size_t>(c.length, 1);
  }
  while (end > 0 && text[end - 1] == ' ') --end;
  return text.substr(0, end) + std::string(ellipsis);
}

namespace {

// Whether a line of `text` may end at the blank at `space`: not inside an index or a power, and not
// between what is read as one: "99 %", "(± 99 %)", "λ = 1".
bool may_break(std::string_view text, std::size_t space) {
  bool inside = false;
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < space;) {
    const CodePoint c = code_point(text, i);
    if (c.value == index_mark || c.value == power_mark) inside = true;
    if (c.value == end_mark) inside = false;
    before = c.value;
    i += std::max<std::size_t>(c.length, 1);
  }
  const std::uint32_t after = space + 1 < text.size() ? code_point(text, space + 1).value : 0;
  constexpr std::u32string_view binds_both = U"=<>\u2264\u2265\u00B1";
  return !inside && after != U'%' &&
         binds_both.find(static_cast<char32_t>(before)) == binds_both.npos &&
         binds_both.find(static_cast<char32_t>(after)) == binds_both.npos;
}

// The end of the longest beginning of `text` that fits, at a blank where `allowed`; 0: there is no
// such blank.
template <class Allowed>
std::size_t fitting_end(std::string_view text, double font_size, double width,
                        const Allowed& allowed) {
  std::size_t end = 0;
  for (std::size_t space = text.find(' '); space != text.npos; space = text.find(' ', space + 1)) {
    if (text_width(text.substr(0, space), font_size) > width) break;
    if (allowed(space)) end = space;
  }
  return end;
}

}  // namespace

std::vector<std::string> wrap(const std::string& text, double font_size, double width,
                              std::size_t max_lines) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::string rest = text.substr(start);
    if (lines.size() + 1 == max_lines || text_width(rest, font_size) <= width) {
      lines.push_back(shorten(rest, font_size, width));
      break;
    }
    std::size_t end = fitting_end(rest, font_size, width,
                                  [&](std::size_t space) { return may_break(rest, space); });
    if (end == 0) end = fitting_end(rest, font_size, width, [](std::size_t) { return true; });
    if (end == 0) end = std::min(rest.find(' '), rest.size());  // one word wider than the line
    lines.push_back(shorten(rest.substr(0, end), font_size, width));
    start += end + 1;
  }
  return lines;
}

Markup escape_markup(std::string_view text) {
  std::string out;
  std::size_t line = 0;
  while (line <= text.size()) {
    const std::size_t end = std::min(text.find('\n', line), text.size());
    for (const char c : one_line(text.substr(line, end - line))) {
      switch (c) {
        case '&':
          out += "&amp;";
          break;
        case '<':
          out += "&lt;";
          break;
        case '>':
          out += "&gt;";
          break;
        case '"':
          out += "&quot;";
          break;
        case '\'':
          out += "&#39;";
          break;
        default:
          out += c;
      }
    }
    if (end < text.size()) out += '\n';
    line = end + 1;
  }
  return Markup::trusted(out);
}

std::string number_with_digits(double value, int digits) {
  return digits_of(value, std::chars_format::general, digits);
}

std::string with_minus(const std::string& number) {
  return number.starts_with('-') ? "\u2212" + number.substr(1) : number;
}

}  // namespace ranklab
