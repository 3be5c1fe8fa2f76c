// Paths of SVG drawings, rounded to tenths of a pixel and written compactly.
#pragma once

#include <string>
#include <vector>

namespace ranklab {

/// A place on the page, in pixels from the top left corner.
struct Pixel {
  double x, y;
};
using PixelLine = std::vector<Pixel>;

/// A number of pixels, rounded to a tenth, without a leading zero: "12.5", "-.3", "7".
std::string svg_number(double pixels);

/// A line with relative points. Points closer than a fifth of a pixel to the rest of the line are
/// left out: a smooth curve keeps a few points, a noisy one nearly all. A line of one point is a
/// dot.
std::string line_path(const PixelLine& points);

/// The area inside a line, simplified likewise.
std::string area_path(const PixelLine& points);

/// The corners may come in any order.
std::string rectangle_path(const Pixel& corner, const Pixel& opposite);

std::string circle_path(const Pixel& center, double radius);

}  // namespace ranklab
