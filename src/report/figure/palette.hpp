// How curves are told apart: by colour, and for readers and printers without colour by marker and dash.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace ranklab {

/// What one palette index looks like. Markers are gnuplot's numbers, the same in its SVG, PNG and PDF output.
struct PaletteEntry {
  std::string_view colour;
  int marker;
};

/// The colours of Okabe and Ito, which stay apart under every common form of colour blindness, in an order that also
/// alternates dark and light. Their yellow is too faint on white and is left out.
inline constexpr std::array<PaletteEntry, 7> palette = {{
    {"#0072B2", 7},   // blue, circle
    {"#D55E00", 9},   // vermilion, triangle
    {"#009E73", 5},   // bluish green, square
    {"#CC79A7", 13},  // reddish purple, diamond
    {"#E69F00", 11},  // orange, triangle pointing down
    {"#56B4E9", 6},   // sky blue, open circle
    {"#5F5F5F", 4},   // grey, open square; black is for reference lines
}};

/// The grey, for what belongs to no curve.
inline constexpr std::size_t neutral_colour = palette.size() - 1;

/// Markers of the second round: where there are more curves than colours, colours repeat and these tell them apart.
inline constexpr std::array<int, palette.size()> second_markers = {2, 8, 1, 12, 10, 3, 15};

constexpr PaletteEntry palette_entry(std::size_t index) {
  const PaletteEntry& entry = palette[index % palette.size()];
  return {entry.colour, index / palette.size() % 2 == 0 ? entry.marker : second_markers[index % palette.size()]};
}

}  // namespace ranklab
