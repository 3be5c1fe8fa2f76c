// Text in figures: made safe, measured and fitted. Text comes from result files and is never
// trusted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ranklab {

/// Valid UTF-8 on one line: control characters become spaces, several spaces become one, broken
/// bytes become U+FFFD.
std::string one_line(std::string_view text);

/// Width in pixels at a font size, estimated for a wide sans-serif font, so that the real text is
/// rarely wider.
double text_width(std::string_view text, double font_size);

/// The text, or its beginning and an ellipsis if it is wider than `width` pixels.
std::string shorten(const std::string& text, double font_size, double width);

/// At most `max_lines` lines, broken at spaces; the last line is shortened if the text is longer.
std::vector<std::string> wrap(const std::string& text, double font_size, double width,
                              std::size_t max_lines);

/// A number with at most so many significant digits, independent of the locale.
std::string number_with_digits(double value, int digits = 9);

/// The number with a minus sign, U+2212, instead of a hyphen.
std::string with_minus(const std::string& number);

}  // namespace ranklab
