// The looks that distinguish curves: color, and for readers and printers without color, marker and
// dash.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace ranklab {

/// The look of one palette index. Markers are gnuplot's numbers, which are the same in its SVG, PNG
/// and PDF output.
struct PaletteEntry {
  std::string_view color;
  int marker;
};

/// The colors of Okabe and Ito, which are distinct under every common form of color blindness, in
/// an order that also alternates dark and light. Their yellow is left out, because it is too faint
/// on white.
inline constexpr std::array<PaletteEntry, 7> palette = {{
    {"#0072B2", 7},   // blue, circle
    {"#D55E00", 9},   // vermilion, triangle
    {"#009E73", 5},   // bluish green, square
    {"#CC79A7", 13},  // reddish purple, diamond
    {"#E69F00", 11},  // orange, triangle pointing down
    {"#56B4E9", 6},   // sky blue, open circle
    {"#5F5F5F", 4},   // gray, open square; black is for reference lines
}};

/// The gray, for parts that belong to no curve.
inline constexpr std::size_t neutral_color = palette.size() - 1;

/// Markers of the second round: if there are more curves than colors, colors repeat and these
/// markers distinguish the curves.
inline constexpr std::array<int, palette.size()> second_markers = {2, 8, 1, 12, 10, 3, 15};

constexpr PaletteEntry palette_entry(std::size_t index) {
  const PaletteEntry& entry = palette[index % palette.size()];
  return {entry.color,
          index / palette.size() % 2 == 0 ? entry.marker : second_markers[index % palette.size()]};
}

}  // namespace ranklab
