#include "report/figure/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace ranklab {
namespace {

constexpr std::string_view ellipsis = "\u2026";

// The scalar value that starts at `at` and its length in bytes; length 0 where the bytes are no UTF-8.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;
};

CodePoint decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t lead = byte(at);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 && lead < 0xF5   ? 4
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                                                           : 0;
  if (length == 0 || at + length > text.size()) return {};
  std::uint32_t value = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {};
    value = (value << 6) | (byte(at + i) & 0x3F);
  }
  const std::uint32_t smallest = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  const bool surrogate = value >= 0xD800 && value < 0xE000;
  if (value < smallest || value > 0x10FFFF || surrogate) return {};
  return {value, length};
}

// Control and formatting characters that break lines, reverse the direction of text or are not allowed in XML.
bool is_blank(std::uint32_t c) {
  return c <= 0x20 || (c >= 0x7F && c <= 0xA0) || c == 0x2028 || c == 0x2029 || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069) || (c & 0xFFFE) == 0xFFFE || (c >= 0xFDD0 && c <= 0xFDEF);
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

}  // namespace

std::string one_line(std::string_view text) {
  std::string out;
  bool space = false;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = decode(text, i);
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

std::string common_characters(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = decode(text, i);
    const bool common = c.value < 0x530 || (c.value >= 0x1E00 && c.value < 0x2300) || (c.value >= 0x25A0 && c.value < 0x2600);
    const std::size_t length = std::max<std::size_t>(c.length, 1);
    out += c.length > 0 && common ? text.substr(i, length) : std::string_view("\u25A1");
    i += length;
  }
  return out;
}

double text_width(std::string_view text, double font_size) {
  double width = 0;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = decode(text, i);
    width += width_of(c.value);
    i += std::max<std::size_t>(c.length, 1);
  }
  return width * font_size;
}

std::string shorten(const std::string& text, double font_size, double width) {
  if (text_width(text, font_size) <= width) return text;
  const double room = width - text_width(ellipsis, font_size);
  double used = 0;
  std::size_t end = 0;
  while (end < text.size()) {
    const CodePoint c = decode(text, end);
    used += width_of(c.value) * font_size;
    if (used > room) break;
    end += std::max<std::size_t>(c.length, 1);
  }
  while (end > 0 && text[end - 1] == ' ') --end;
  return text.substr(0, end) + std::string(ellipsis);
}

std::vector<std::string> wrap(const std::string& text, double font_size, double width, std::size_t max_lines) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::string rest = text.substr(start);
    if (lines.size() + 1 == max_lines || text_width(rest, font_size) <= width) {
      lines.push_back(shorten(rest, font_size, width));
      break;
    }
    std::size_t end = 0;
    for (std::size_t space = rest.find(' '); space != std::string::npos; space = rest.find(' ', space + 1)) {
      if (text_width(std::string_view(rest).substr(0, space), font_size) > width) break;
      end = space;
    }
    if (end == 0) end = std::min(rest.find(' '), rest.size());  // one word wider than the line
    lines.push_back(shorten(rest.substr(0, end), font_size, width));
    start += end + 1;
  }
  return lines;
}

std::string gnuplot_quote(std::string_view text) {
  std::string out = "'";
  for (const char c : one_line(text)) {
    // Not doubled: gnuplot takes '' at the start of a literal as an empty one and reads on behind it.
    out += c == '\'' ? std::string("'.\"'\".'") : std::string(1, c);
  }
  return out + "'";
}

std::string gnuplot_number(double value, int digits) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value == 0 ? 0.0 : value, std::chars_format::general, digits);
  return std::string(buffer, end.ptr);
}

}  // namespace ranklab
