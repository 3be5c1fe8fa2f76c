#include "figure/svg_pen.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numbers>

#include "core/text.hpp"
#include "figure/text.hpp"

namespace ranklab {
namespace {

enum class Paint { disk, area, outline, strokes };

// A marker of radius 1.
struct MarkerShape {
  Paint paint;
  Path path;
};

// `corners` at equal angles, the first one in the direction of `start` degrees from straight up.
Path regular(int corners, double radius, double start) {
  PixelLine out;
  for (int i = 0; i < corners; ++i) {
    const double angle = (start + 360.0 * i / corners) * std::numbers::pi / 180;
    out.push_back({radius * std::sin(angle), -radius * std::cos(angle)});
  }
  return area_path(out);
}

MarkerShape shape_of(Marker marker) {
  const double corner = std::numbers::sqrt2;
  const Path diagonals = line_path({{-1, 1}, {1, -1}}) + line_path({{-1, -1}, {1, 1}}),
             upright = line_path({{-1.3, 0}, {1.3, 0}}) + line_path({{0, -1.3}, {0, 1.3}});
  switch (marker) {
    case Marker::disk:
      return {Paint::disk, line_path({{0, 0}})};  // a dot with a round pen
    case Marker::circle:
      return {Paint::outline, circle_path({0, 0}, 1)};
    case Marker::triangle:
      return {Paint::area, regular(3, 1.4, 0)};
    case Marker::open_triangle:
      return {Paint::outline, regular(3, 1.4, 0)};
    case Marker::wedge:
      return {Paint::area, regular(3, 1.4, 180)};
    case Marker::open_wedge:
      return {Paint::outline, regular(3, 1.4, 180)};
    case Marker::square:
      return {Paint::area, regular(4, corner, 45)};
    case Marker::frame:
      return {Paint::outline, regular(4, corner, 45)};
    case Marker::diamond:
      return {Paint::area, regular(4, corner, 0)};
    case Marker::open_diamond:
      return {Paint::outline, regular(4, corner, 0)};
    case Marker::pentagon:
      return {Paint::area, regular(5, 1.2, 0)};
    case Marker::cross:
      return {Paint::strokes, diagonals};
    case Marker::plus:
      return {Paint::strokes, upright};
    case Marker::star:
      break;
  }
  return {Paint::strokes, diagonals + upright};
}

Path path_of(const MarkerShape& marker, const std::vector<Pixel>& places, double radius) {
  Path out;
  for (const Pixel& place : places) {
    for (Shape shape : marker.path) {
      for (Pixel& corner : shape.points) corner.x *= radius, corner.y *= radius;
      shape.origin = place, shape.radius *= radius;
      out.push_back(shape);
    }
  }
  return out;
}

Pen round_pen(std::string_view color, double width) {
  return stroke(color, width) + Pen{{"stroke-linecap", "round"}};
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

std::vector<double> dashes_of(Look look) {
  if (look == Look::dashed) return {5, 3};
  if (look == Look::dotted) return {1.2, 2.3};
  return {};
}

std::string value_of(const Property& property, double scale, const std::string& unit) {
  std::vector<std::string> lengths;
  for (const double length : property.lengths) lengths.push_back(decimal(scale * length) + unit);
  return lengths.empty() ? property.word : joined(lengths, " ");
}

}  // namespace

Markup attributes_of(const Pen& pen, PenSheet* sheet) {
  std::vector<Markup> attributes;
  std::string declarations;
  for (const Property& property : pen) {
    const std::string name(property.name);
    if (sheet == nullptr)
      attributes.push_back(escape_markup(name) + "=\"" + escape_markup(value_of(property, 1, "")) +
                           "\"");
    else
      declarations += name + ":" + value_of(property, page_precision.per_pixel, "px") + ";";
  }
  if (sheet == nullptr) return joined(attributes, " ");
  // "A" to "Z", "A1" to "Z1" and so on: the page has no other class with a capital.
  const std::size_t n = sheet->size();
  const std::string next =
      std::string(1, static_cast<char>('A' + n % 26)) + (n < 26 ? "" : std::to_string(n / 26));
  return "class=" + Markup::trusted(sheet->emplace(declarations, next).first->second);
}

Markup drawing_svg(const Drawing& drawing, PenSheet* sheet) {
  const Precision& precision = precision_of(sheet);
  Markup out;
  for (std::size_t i = 0; i < drawing.size();) {
    const Pen& pen = drawing[i].pen;
    Path path = drawing[i++].path;
    // Areas may be translucent or hide each other, so they stay apart.
    const bool joins = sheet != nullptr && pen.front().name == "stroke";
    while (joins && i < drawing.size() && drawing[i].pen == pen) path += drawing[i++].path;
    const Markup d = Markup::trusted(path_data(path, precision));
    if (!d.empty()) out += "<path " + attributes_of(pen, sheet) + " d=\"" + d + "\"/>";
  }
  return out;
}

std::string_view color_of(std::size_t index) {
  return palette_entry(index).color;
}

Pen stroke(std::string_view color, double width, std::vector<double> dashes) {
  Pen out = {{"stroke", std::string(color)}, {"stroke-width", "", {width}}};
  if (!dashes.empty()) out.push_back({"stroke-dasharray", "", std::move(dashes)});
  return out;
}

Pen fill(std::string_view color, double density, double opacity) {
  Pen out = {{"fill", density < 1 ? mixed_with_white(color, density) : std::string(color)}};
  if (opacity < 1) out.push_back({"fill-opacity", decimal(opacity)});
  return out;
}

Drawing without_transparency(Drawing drawing) {
  for (Mark& mark : drawing) {
    Pen& pen = mark.pen;
    const auto opacity = std::ranges::find(pen, "fill-opacity", &Property::name),
               color = std::ranges::find(pen, "fill", &Property::name);
    if (opacity == pen.end() || color == pen.end()) continue;
    color->word = mixed_with_white(color->word, std::stod("0" + opacity->word));
    pen.erase(opacity);
  }
  return drawing;
}

Pen line_pen(Look look, std::size_t color) {
  return stroke(color_of(color), look == Look::solid ? 1.8 : 1.5, dashes_of(look));
}

Pen trial_pen(Look look, std::size_t color) {
  return stroke(color_of(color), 0.6, dashes_of(look));
}

Pen reference_pen(std::size_t dash) {
  static const std::array<std::vector<double>, 4> dashes = {
      {{3, 2}, {7, 2.5}, {1.2, 2}, {7, 2, 1.5, 2}}};
  return stroke("#000000", 1.1, dashes[dash % dashes.size()]);
}

Pen spread_pen(std::size_t color) {
  return fill(color_of(color), 1, 0.18);
}

// With a border, so that the ends are visible if ranges overlap.
Pen range_pen(std::size_t color) {
  return fill(color_of(color), 1, 0.12) + stroke(color_of(color), 0.7);
}

Drawing markers(const std::vector<Pixel>& places, std::size_t color, double radius, bool has_rim) {
  constexpr double rim = 2.5;  // the width that a white pen adds
  constexpr std::string_view white = "#ffffff";
  const PaletteEntry look = palette_entry(color);
  const MarkerShape shape = shape_of(look.marker);
  const Path path = path_of(shape, places, radius);
  // An area's rim is a pen that paints before the area; an open shape's inside hides the line.
  if (shape.paint == Paint::area)
    return drawn(path, fill(look.color) +
                           (has_rim ? stroke(white, rim) + Pen{{"paint-order", "stroke"}} : Pen()));
  if (shape.paint == Paint::outline)
    return drawn(path, (has_rim ? fill(white) : Pen()) + stroke(look.color, 1));
  const double width = shape.paint == Paint::disk ? 2 * radius : 1;
  return (has_rim ? drawn(path, round_pen(white, width + rim)) : Drawing()) +
         drawn(path, round_pen(look.color, width));
}

}  // namespace ranklab
