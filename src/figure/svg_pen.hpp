// What a drawing is made of: paths with a pen, and markers.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "figure/markup.hpp"
#include "figure/palette.hpp"
#include "figure/panel.hpp"
#include "figure/svg_path.hpp"

namespace ranklab {

/// The radius of a marker in pixels, on a line and in a cloud of points.
inline constexpr double marker_radius = 3.1, point_radius = 2.3;

/// Colors of everything that is not a curve.
inline constexpr std::string_view ink = "#222222", frame_color = "#555555", grid_color = "#e2e2e2";

/// A property of SVG, as an attribute or in a style sheet: a word, or lengths in pixels.
struct Property {
  std::string_view name;
  std::string word;
  std::vector<double> lengths = {};

  bool operator==(const Property&) const = default;
};
using Pen = Sequence<Property>;

struct Mark {
  Pen pen;
  Path path;
};
using Drawing = Sequence<Mark>;

inline Drawing drawn(const Path& path, const Pen& pen) {
  return {{pen, path}};
}

/// The pens of a page, as classes of its style sheet: the name of each, by its declarations. A page
/// uses a hundred pens ten thousand times. Lengths are in units of `page_precision`.
using PenSheet = std::map<std::string, std::string>;

/// A page has a sheet, a file has none (nullptr).
inline const Precision& precision_of(const PenSheet* sheet) {
  return sheet == nullptr ? file_precision : page_precision;
}

/// The properties of a pen: each an attribute in a file, all one class on a page.
Markup attributes_of(const Pen& pen, PenSheet* sheet);

/// The elements of a drawing. On a page, neighboring lines with the same pen are one element.
Markup drawing_svg(const Drawing& drawing, PenSheet* sheet);

/// The color of a palette index.
std::string_view color_of(std::size_t index);

/// A line: color, width in pixels and dashes (none for a solid line).
Pen stroke(std::string_view color, double width, std::vector<double> dashes = {});

/// An area. A `density` below 1 mixes the color with white; an `opacity` below 1 lets what is below
/// be seen.
Pen fill(std::string_view color, double density = 1, double opacity = 1);

/// The drawing with colors mixed with white in place of opacities.
Drawing without_transparency(Drawing drawing);

/// The line of a curve, and the thin line of one of its trials.
Pen line_pen(Look look, std::size_t color);
Pen trial_pen(Look look, std::size_t color);

/// A reference line; lines in a legend differ in their dashes.
Pen reference_pen(std::size_t dash);

/// The area of an error band, and of a shaded range of x.
Pen spread_pen(std::size_t color);
Pen range_pen(std::size_t color);

/// The marker of a palette index at every place. A white rim keeps it visible on a line whose noise
/// is as large as the marker.
Drawing markers(const std::vector<Pixel>& places, std::size_t color, double radius, bool has_rim);

}  // namespace ranklab
