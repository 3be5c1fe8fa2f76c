#include "page/text.hpp"

#include <algorithm>
#include <cmath>

#include "figure/text.hpp"

namespace ranklab {
namespace {

Markup format_number(double value) {
  const double size = std::abs(value);
  if (size < 1e9 && value == std::floor(value))
    return escape_markup(with_minus(digits_of(value, std::chars_format::fixed, 0)));
  if (size >= 1e-3 && size < 1e6) {
    const int before_point = std::max(1, static_cast<int>(std::floor(std::log10(size))) + 1);
    const int leading_zeros = size < 1 ? static_cast<int>(-std::floor(std::log10(size))) : 0;
    return escape_markup(
        with_minus(digits_of(value, std::chars_format::fixed,
                             size < 1 ? 3 + leading_zeros : std::max(0, 4 - before_point))));
  }
  const std::string scientific = digits_of(value, std::chars_format::scientific, 3);
  const std::size_t e = scientific.find('e');
  const int exponent = std::atoi(scientific.c_str() + e + 1);
  return escape_markup(with_minus(scientific.substr(0, e))) + "\u00D710<sup>" +
         escape_markup(with_minus(std::to_string(exponent))) + "</sup>";
}

}  // namespace

Markup html_number(double value) {
  return std::isfinite(value) ? format_number(value) : "<span title=\"undefined\">\u2013</span>";
}

Markup html_duration(double s) {
  const auto number = [](double value, int digits) {
    return escape_markup(digits_of(value, std::chars_format::fixed, digits));
  };
  if (!std::isfinite(s)) return "";
  if (s < 1) return "under 1 s";
  if (s < 99.5) return number(s, 0) + " s";
  if (s < 99.5 * 60) return number(s / 60, s < 570 ? 1 : 0) + " min";
  return number(s / 3600, 1) + " h";
}

Markup colored(Standing standing, const Markup& text) {
  return "<b class=" + escape_markup(words_of(standing).name) + ">" + text + "</b>";
}

Markup cell(const Markup& column, const Markup& content) {
  return "<td data-label=\"" + column + "\">" + content;
}

Markup table_start(const Markup& caption, const std::vector<Markup>& columns, const Markup& kind) {
  Markup out = "<table class=\"" + kind + "\">\n<caption>" + caption + "</caption>\n<thead><tr>";
  for (const auto& column : columns) out += "<th scope=col>" + column + "</th>";
  return out + "</tr></thead>\n";
}

std::string shell_word(const std::string& word) {
  const bool safe = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-/+=:,@%").find(c) != std::string_view::npos;
  });
  if (safe) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace ranklab
