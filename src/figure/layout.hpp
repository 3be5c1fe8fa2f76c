// The positions of all parts of a figure, in pixels from the top left corner. All room is computed
// from the text that must fit, so no legend or label covers data.
#pragma once

#include <string>
#include <vector>

#include "figure/panel.hpp"

namespace ranklab {

/// Font sizes in pixels. No text is smaller than 11 pixels, and no figure is wider than
/// `widest_figure`, the width of a page, so that every text is readable without enlarging.
struct FontSize {
  static constexpr double title = 15, panel = 13, axis = 12, tick = 11, legend = 11, note = 11;
};
inline constexpr double widest_figure = 1176;

enum class Anchor { left, center, right };

/// What a text is for.
enum class TextRole {
  title,
  note,
  panel_title,
  axis_label,
  tick,
  line_label,
  legend,
  cell,
  message
};

/// A line of text. `y` is its middle. Turned texts rise from left to right, by `degrees`.
struct PlacedText {
  std::string text;
  double x = 0, y = 0, size = 0;
  Anchor anchor = Anchor::center;
  TextRole role = TextRole::message;
  double degrees = 0;
  std::string power = {};  // set as a superscript after the text
};

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
};

/// The room of a text, from its estimated width.
Box box_of(const PlacedText& text);

/// A legend's sample, `key_width` wide; `y` is its middle.
struct PlacedKey {
  LegendEntry entry;
  double x = 0, y = 0;
};
inline constexpr double key_width = 40;

/// A horizontal rule of a table.
struct PlacedRule {
  double left = 0, right = 0, y = 0;
  bool strong = false;
};

struct PlacedPanel {
  DrawnPanel panel;
  double left = 0, top = 0, width = 0, height = 0;  // of the plotting area

  /// Positions on the page of values on the axes.
  double x_of(double value) const { return left + width * panel.x.fraction(value); }
  double y_of(double value) const { return top + height * (1 - panel.y.fraction(value)); }
};

struct PlacedFigure {
  double width = 0, height = 0;
  std::vector<PlacedText> texts;
  std::vector<PlacedKey> keys;
  std::vector<PlacedRule> rules;
  std::vector<PlacedPanel> panels;
};

/// How much of a figure to draw.
enum class Extract {
  whole,      // with its title
  untitled,   // for a page that has the title as text; long curves have fewer points
  thumbnail,  // one panel with its ticks, without other text
};

/// A picture for a paper or a talk.
struct Print {
  double width = 0;       // of the page's column in points; 0: as wide as its panels need
  std::string font = {};  // a family; empty: any sans-serif one
  bool title = true;
  bool opaque = false;  // mixed colors instead of transparency, which EPS does not have
};

/// The size of ticks and legends in points if a width is given: that of a caption.
inline constexpr double printed_points = 7.5;

/// The gap between parts of a figure, and the length of ticks with the space before their labels.
inline constexpr double figure_gap = 8, tick_room = 8;

/// The height of a line in pixels.
constexpr double line_height(double font_size) {
  return 1.35 * font_size;
}

/// The height of some lines.
inline double height_of(const std::vector<std::string>& lines, double font_size) {
  return line_height(font_size) * static_cast<double>(lines.size());
}

/// Places lines of text, centered at `x`, from `top` down.
void place_lines(const std::vector<std::string>& lines, double x, double top, double font_size,
                 TextRole role, PlacedFigure& figure);

/// `panel` is the panel of a thumbnail.
PlacedFigure place_figure(const FigureData& data, Extract extract = Extract::whole,
                          std::size_t panel = 0, const Print& print = {});

}  // namespace ranklab
