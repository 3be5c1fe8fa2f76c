// Points of SVG drawings in tenths of a pixel, read from gnuplot's paths and written compactly.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ranklab {

/// In tenths of a pixel.
struct SvgPoint {
  long x, y;
};
using SvgLine = std::vector<SvgPoint>;

/// The numbers of a list such as "1.25,2 -3"; nullopt if the text has anything else.
std::optional<std::vector<double>> svg_numbers(std::string_view text);

/// The points of numbers in pixels, x and y in turn; nullopt for an odd count.
std::optional<SvgLine> svg_points(const std::vector<double>& numbers);

/// A number of tenths without a leading zero: "12.5", "-.3", "7".
std::string svg_tenths(long value);

/// The lines of a path of "M" and "L" with absolute points and perhaps a last "Z", as gnuplot
/// writes them; nullopt for any other path.
std::optional<std::vector<SvgLine>> svg_lines(std::string_view d);

/// The path with relative points. Points closer than a fifth of a pixel to the rest of their line
/// are left out: a smooth curve keeps a few points, a noisy one nearly all.
std::string svg_path(const std::vector<SvgLine>& lines);

/// A path through all points, also through equal neighbors.
std::string svg_path_through(const SvgLine& points);

}  // namespace ranklab
