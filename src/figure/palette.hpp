// The looks that distinguish curves: color, and for readers and printers without color, marker and
// dash.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace ranklab {

enum class Marker {
  disk,
  triangle,
  square,
  diamond,
  wedge,  // a triangle that points down
  circle,
  frame,  // an open square
  cross,
  open_triangle,
  plus,
  open_diamond,
  open_wedge,
  star,
  pentagon
};

/// The look of one palette index.
struct PaletteEntry {
  std::string_view color;
  Marker marker;
};

/// The colors of Okabe and Ito, which are distinct under every common form of color blindness, in
/// an order that also alternates dark and light. Their yellow is left out, because it is too faint
/// on white.
inline constexpr std::array<PaletteEntry, 7> palette = {{
    {"#0072b2", Marker::disk},      // blue
    {"#d55e00", Marker::triangle},  // vermilion
    {"#009e73", Marker::square},    // bluish green
    {"#cc79a7", Marker::diamond},   // reddish purple
    {"#e69f00", Marker::wedge},     // orange
    {"#56b4e9", Marker::circle},    // sky blue
    {"#5f5f5f", Marker::frame},     // gray; black is for reference lines
}};

/// The gray, for parts that belong to no curve.
inline constexpr std::size_t neutral_color = palette.size() - 1;

/// Markers of the second round: if there are more curves than colors, colors repeat and these
/// markers distinguish the curves.
inline constexpr std::array<Marker, palette.size()> second_markers = {
    Marker::cross,      Marker::open_triangle, Marker::plus,    Marker::open_diamond,
    Marker::open_wedge, Marker::star,          Marker::pentagon};

constexpr PaletteEntry palette_entry(std::size_t index) {
  const PaletteEntry& entry = palette[index % palette.size()];
  return {entry.color,
          index / palette.size() % 2 == 0 ? entry.marker : second_markers[index % palette.size()]};
}

}  // namespace ranklab
