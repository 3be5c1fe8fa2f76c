// The elements that a drawing is made of: paths with a pen, and markers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/figure/palette.hpp"
#include "report/figure/panel.hpp"
#include "report/figure/svg_path.hpp"

namespace ranklab {

/// The radius of a marker in pixels, on a line and in a cloud of points.
inline constexpr double marker_radius = 3.1, point_radius = 2.3;

/// Colors of everything that is not a curve.
inline constexpr std::string_view ink = "#222222", frame_color = "#555555", grid_color = "#e2e2e2";

/// The color of a palette index.
std::string_view color_of(std::size_t index);

/// Attributes of a line: color, width in pixels and dashes ("" for a solid line).
std::string stroke(std::string_view color, double width, std::string_view dashes = "");

/// Attributes of an area. A `density` below 1 mixes the color with white; an `opacity` below 1 lets
/// what is below be seen.
std::string fill(std::string_view color, double density = 1, double opacity = 1);

/// The line of a curve, and the thin line of one of its trials.
std::string line_pen(Look look, std::size_t color);
std::string trial_pen(Look look, std::size_t color);

/// A reference line; lines in a legend differ in their dashes.
std::string reference_pen(std::size_t dash);

/// The area of an error band, and of a shaded range of x.
std::string spread_pen(std::size_t color);
std::string range_pen(std::size_t color);

/// A path, or nothing for an empty one.
std::string path_element(const std::string& d, const std::string& pen);

/// The marker of a palette index at every place. A white rim keeps it visible on a line whose noise
/// is as large as the marker.
std::string marker_elements(const std::vector<Pixel>& places, std::size_t color, double radius,
                            bool has_rim);

}  // namespace ranklab
