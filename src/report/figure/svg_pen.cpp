#include "report/figure/svg_pen.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <numbers>

#include "report/figure/text.hpp"

namespace ranklab {
namespace {

enum class Paint { disk, area, outline };

// A marker of radius 1. A disk, and a circle without corners, have no lines.
struct Shape {
  Paint paint;
  std::vector<PixelLine> lines;
  bool is_closed = true;
};

// `corners` at equal angles, the first one in the direction of `start` degrees from straight up.
PixelLine regular(int corners, double radius, double start) {
  PixelLine out;
  for (int i = 0; i < corners; ++i) {
    const double angle = (start + 360.0 * i / corners) * std::numbers::pi / 180;
    out.push_back({radius * std::sin(angle), -radius * std::cos(angle)});
  }
  return out;
}

Shape shape_of(Marker marker) {
  const double corner = std::numbers::sqrt2;
  const PixelLine slash = {{-1, 1}, {1, -1}}, backslash = {{-1, -1}, {1, 1}},
                  level = {{-1.3, 0}, {1.3, 0}}, upright = {{0, -1.3}, {0, 1.3}};
  switch (marker) {
    case Marker::disk:
      return {Paint::disk, {}};
    case Marker::circle:
      return {Paint::outline, {}};
    case Marker::triangle:
      return {Paint::area, {regular(3, 1.4, 0)}};
    case Marker::open_triangle:
      return {Paint::outline, {regular(3, 1.4, 0)}};
    case Marker::wedge:
      return {Paint::area, {regular(3, 1.4, 180)}};
    case Marker::open_wedge:
      return {Paint::outline, {regular(3, 1.4, 180)}};
    case Marker::square:
      return {Paint::area, {regular(4, corner, 45)}};
    case Marker::frame:
      return {Paint::outline, {regular(4, corner, 45)}};
    case Marker::diamond:
      return {Paint::area, {regular(4, corner, 0)}};
    case Marker::open_diamond:
      return {Paint::outline, {regular(4, corner, 0)}};
    case Marker::pentagon:
      return {Paint::area, {regular(5, 1.2, 0)}};
    case Marker::cross:
      return {Paint::outline, {slash, backslash}, false};
    case Marker::plus:
      return {Paint::outline, {level, upright}, false};
    case Marker::star:
      break;
  }
  return {Paint::outline, {slash, backslash, level, upright}, false};
}

std::string path_of(const Shape& shape, const std::vector<Pixel>& places, double radius) {
  std::string out;
  for (const Pixel& place : places) {
    if (shape.paint == Paint::disk) out += line_path({place});  // a dot with a round pen
    if (shape.paint == Paint::outline && shape.lines.empty()) out += circle_path(place, radius);
    for (const PixelLine& line : shape.lines) {
      PixelLine moved;
      for (const Pixel& corner : line)
        moved.push_back({place.x + radius * corner.x, place.y + radius * corner.y});
      out += shape.is_closed ? area_path(moved) : line_path(moved);
    }
  }
  return out;
}

std::string round_pen(std::string_view color, double width) {
  return stroke(color, width) + " stroke-linecap=\"round\"";
}

std::string attribute(std::string_view name, std::string_view value) {
  return std::string(name) + "=\"" + std::string(value) + "\"";
}

// A small number of at most two decimals, without a leading zero.
std::string decimal(double value) {
  const std::string digits =
      digits_of(std::round(100 * value) / 100, std::chars_format::general, 4);
  return digits.starts_with("0.") ? digits.substr(1) : digits;
}

std::string mixed_with_white(std::string_view color, double density) {
  std::string out = "#";
  for (std::size_t i = 1; i < 7; i += 2) {
    int level = 0;
    std::from_chars(color.data() + i, color.data() + i + 2, level, 16);
    // Halves are rounded down, also where 0.9 * 255 is not exact because a multiplication and an
    // addition are one instruction.
    constexpr double below_half = 1e-9;
    const int mixed = static_cast<int>(std::lround(255 - density * (255 - level) - below_half));
    constexpr std::string_view digits = "0123456789abcdef";
    out += digits[static_cast<std::size_t>(mixed / 16)];
    out += digits[static_cast<std::size_t>(mixed % 16)];
  }
  return out;
}

std::string_view dashes_of(Look look) {
  return look == Look::dashed ? "5 3" : look == Look::dotted ? "1.2 2.3" : "";
}

}  // namespace

std::string_view color_of(std::size_t index) {
  return palette_entry(index).color;
}

std::string stroke(std::string_view color, double width, std::string_view dashes) {
  return attribute("stroke", color) + " " + attribute("stroke-width", decimal(width)) +
         (dashes.empty() ? "" : " " + attribute("stroke-dasharray", dashes));
}

std::string fill(std::string_view color, double density, double opacity) {
  return attribute("fill", density < 1 ? mixed_with_white(color, density) : std::string(color)) +
         (opacity < 1 ? " " + attribute("fill-opacity", decimal(opacity)) : "");
}

std::string line_pen(Look look, std::size_t color) {
  return stroke(color_of(color), look == Look::solid ? 1.8 : 1.5, dashes_of(look));
}

std::string trial_pen(Look look, std::size_t color) {
  return stroke(color_of(color), 0.6, dashes_of(look));
}

std::string reference_pen(std::size_t dash) {
  static constexpr std::array<std::string_view, 4> dashes = {"3 2", "7 2.5", "1.2 2", "7 2 1.5 2"};
  return stroke("#000000", 1.1, dashes[dash % dashes.size()]);
}

std::string spread_pen(std::size_t color) {
  return fill(color_of(color), 1, 0.18);
}

// With a border, so that the ends are visible if ranges overlap.
std::string range_pen(std::size_t color) {
  return fill(color_of(color), 1, 0.12) + " " + stroke(color_of(color), 0.7);
}

std::string path_element(const std::string& d, const std::string& pen) {
  return d.empty() ? "" : "<path " + pen + " d=\"" + d + "\"/>";
}

std::string marker_elements(const std::vector<Pixel>& places, std::size_t color, double radius,
                            bool has_rim) {
  constexpr double rim = 2.5;  // the width that a white pen adds
  constexpr std::string_view white = "#ffffff";
  const PaletteEntry look = palette_entry(color);
  const Shape shape = shape_of(look.marker);
  const std::string d = path_of(shape, places, radius);
  // An area's rim is a pen that paints before the area; an open shape's inside hides the line.
  if (shape.paint == Paint::area)
    return path_element(
        d,
        fill(look.color) + (has_rim ? " " + stroke(white, rim) + " paint-order=\"stroke\"" : ""));
  if (shape.paint == Paint::outline && shape.is_closed)
    return path_element(d, (has_rim ? fill(white) + " " : "") + stroke(look.color, 1));
  const double width = shape.paint == Paint::disk ? 2 * radius : 1;
  return (has_rim ? path_element(d, round_pen(white, width + rim)) : "") +
         path_element(d, round_pen(look.color, width));
}

}  // namespace ranklab
