// Lines, areas and circles, and how they are written as paths of SVG.
#pragma once

#include <string>
#include <vector>

#include "figure/markup.hpp"

namespace ranklab {

/// A place on the page, in pixels from the top left corner.
struct Pixel {
  double x, y;
};
using PixelLine = std::vector<Pixel>;

/// A list that grows by other lists.
template <class T>
struct Sequence : std::vector<T> {
  using std::vector<T>::vector;
  Sequence& operator+=(const Sequence& more) {
    this->insert(this->end(), more.begin(), more.end());
    return *this;
  }
  friend Sequence operator+(Sequence a, const Sequence& b) { return a += b; }
};

/// A line, an area or a circle. Points are relative to the origin, the center of a circle.
struct Shape {
  PixelLine points;
  bool is_closed = false;
  Pixel origin = {0, 0};
  double radius = 0;
};
using Path = Sequence<Shape>;

/// A line of one point is a dot.
inline Path line_path(const PixelLine& points, const Pixel& origin = {0, 0}) {
  return {{points, false, origin}};
}
inline Path area_path(const PixelLine& points, const Pixel& origin = {0, 0}) {
  return {{points, true, origin}};
}
inline Path circle_path(const Pixel& center, double radius) {
  return {{{}, true, center, radius}};
}

/// The corners may come in any order.
Path rectangle_path(const Pixel& corner, const Pixel& opposite);

/// The grid to which positions are rounded. Points of a line that are closer than `tolerance` to
/// the rest of it are left out: a smooth curve keeps a few points, a noisy one nearly all.
struct Precision {
  double per_pixel, tolerance;  // the tolerance in units of the grid
  bool in_units;                // units are whole numbers; otherwise they are tenths of a pixel

  /// The nearest point of the grid; a half is rounded up.
  long units(double pixels) const;
  /// A number of pixels or units; of pixels without a leading zero: "12.5", "-.3", "7".
  Markup number(double pixels) const;
  std::string text_of(long units) const;
};
/// A file is exact to a tenth of a pixel, a page of a hundred pictures to half a pixel, and its
/// curves to three quarters, because a browser must load them all.
inline constexpr Precision file_precision = {10, 2, false}, page_precision = {2, 1.5, true};

/// The value of the attribute `d`.
std::string path_data(const Path& path, const Precision& precision);

}  // namespace ranklab
