#include "figure/svg.hpp"

#include <algorithm>
#include <array>

#include "core/text.hpp"
#include "figure/svg_curves.hpp"
#include "figure/symbols.hpp"
#include "figure/text.hpp"
#include "figure/words.hpp"

namespace ranklab {
namespace {

constexpr double thin = 0.8;  // pixels: axes, ticks and the grid

Path horizontal(double left, double right, double y) {
  return line_path({{left, y}, {right, y}});
}
Path vertical(double x, double top, double bottom) {
  return line_path({{x, top}, {x, bottom}});
}

// The properties that many neighboring texts share.
Pen look_of(const PlacedText& text) {
  const char* anchor = text.anchor == Anchor::left     ? "start"
                       : text.anchor == Anchor::center ? "middle"
                                                       : "end";
  return {{"font-size", "", {text.size}}, {"text-anchor", anchor}};
}

// A label with its indices and powers, which label_with_symbols() has marked.
Markup label_markup(const std::string& label, double font_size, PenSheet* sheet) {
  Markup out;
  std::string part;
  double offset = 0;   // of the part from the baseline, downward
  double last = 0;     // of the last text
  bool blank = false;  // before the part: viewers drop blanks at the ends of an element
  const auto flush = [&] {
    if (part.empty()) return;
    const Precision& precision = precision_of(sheet);
    const bool has_blank = blank || part.starts_with(' ');
    if (!out.empty() || offset != 0) {
      out += "<tspan";
      if (has_blank) out += " dx=\"" + precision.number(0.32 * font_size) + "\"";
      if (offset != last) out += " dy=\"" + precision.number(offset - last) + "\"";
      if (offset != 0)
        out += " " + attributes_of({{"font-size", "", {small_size * font_size}}}, sheet);
      out += ">" + escape_markup(part) + "</tspan>";
    } else {
      out += escape_markup(part);
    }
    blank = part.ends_with(' ');
    last = offset;
    part.clear();
  };
  for (std::size_t i = 0; i < label.size();) {
    const CodePoint c = code_point(label, i);
    const std::size_t length = std::max<std::size_t>(c.length, 1);
    if (c.value < index_mark || c.value > end_mark) {
      part += label.substr(i, length);
    } else {
      flush();
      offset = c.value == index_mark   ? 0.22 * font_size
               : c.value == power_mark ? -0.4 * font_size
                                       : 0;
    }
    i += length;
  }
  flush();
  return out;
}

Markup element_of(const PlacedText& text, PenSheet* sheet) {
  const Precision& precision = precision_of(sheet);
  const double baseline = text.y + 0.36 * text.size;
  // HTML needs no quotes around a number.
  const Markup x = precision.number(text.x), quote = sheet == nullptr ? Markup("\"") : "";
  Markup out = "<text x=" + quote + x + quote + " y=" + quote + precision.number(baseline) + quote;
  if (text.degrees != 0)
    out += " transform=\"rotate(" + file_precision.number(-text.degrees) + " " + x + " " +
           precision.number(text.y) + ")\"";
  out += ">" + label_markup(text.text, text.size, sheet);
  if (!text.power.empty())
    out += "<tspan dy=\"" + precision.number(-0.5 * text.size) + "\" " +
           attributes_of({{"font-size", "", {0.8 * text.size}}}, sheet) + ">" +
           escape_markup(text.power) + "</tspan>";
  return out + "</text>";
}

// On a page, texts of one look are neighbors.
Markup texts_svg(std::vector<PlacedText> texts, PenSheet* sheet) {
  if (sheet != nullptr)
    std::ranges::stable_sort(
        texts, {}, [](const PlacedText& text) { return std::pair(text.size, text.anchor); });
  Markup out;
  Pen look;
  for (const PlacedText& text : texts) {
    const Pen pen = look_of(text);
    if (pen != look)
      out += (look.empty() ? Markup("<g ") : "</g><g ") + attributes_of(pen, sheet) + ">";
    look = pen;
    out += element_of(text, sheet);
  }
  return texts.empty() ? Markup()
                       : "<g " + attributes_of(fill(ink), sheet) + ">" + out + "</g></g>";
}

Drawing drawn_rules(const std::vector<PlacedRule>& rules) {
  Drawing out;
  for (const PlacedRule& rule : rules)
    out += drawn(horizontal(rule.left, rule.right, rule.y), stroke(ink, rule.strong ? 1.2 : 0.7));
  return out;
}

Drawing drawn_key(const PlacedKey& key) {
  constexpr double half_height = 4.5, half_bar = 9;
  const LegendEntry& entry = key.entry;
  const double right = key.x + key_width, middle = key.x + key_width / 2;
  const auto box = [&](double from, double to) {
    return rectangle_path({from, key.y - half_height}, {to, key.y + half_height});
  };
  const Path sample = horizontal(key.x, right, key.y);
  if (entry.sample == Sample::line) return drawn(sample, reference_pen(entry.dash));
  if (entry.sample == Sample::band) return drawn(box(key.x, right), range_pen(entry.color));
  const std::string_view color = color_of(entry.color);
  if (entry.look == Look::bars)
    return drawn(box(middle - half_bar, middle + half_bar),
                 fill(color, entry.bar_fill) + stroke(color, thin));
  Drawing out;
  if (entry.look != Look::scatter) {
    if (entry.band) out += drawn(box(key.x, right), spread_pen(entry.color));
    out += drawn(sample, line_pen(entry.look, entry.color));
  }
  return out + (entry.markers ? markers({{middle, key.y}}, entry.color, marker_radius, false)
                              : Drawing());
}

// Shaded ranges fill the height of the panel.
Drawing drawn_ranges(const PlacedPanel& placed) {
  Drawing out;
  for (const DrawnBand& band : placed.panel.bands)
    out += drawn(rectangle_path({placed.x_of(band.low), placed.top},
                                {placed.x_of(band.high), placed.top + placed.height}),
                 range_pen(band.color));
  return out;
}

Drawing drawn_grid(const PlacedPanel& placed) {
  Path grid;
  for (const Tick& tick : placed.panel.y.ticks) {
    if (!tick.minor)
      grid += horizontal(placed.left, placed.left + placed.width, placed.y_of(tick.at));
  }
  for (const Tick& tick : placed.panel.x.ticks) {
    if (!tick.minor) grid += vertical(placed.x_of(tick.at), placed.top, placed.top + placed.height);
  }
  return drawn(grid, stroke(grid_color, thin));
}

// The two axes with their ticks, which point outward.
Drawing drawn_frame(const PlacedPanel& placed) {
  constexpr double major = 5, minor = 3;
  const double right = placed.left + placed.width, bottom = placed.top + placed.height;
  Path path = line_path({{placed.left, placed.top}, {placed.left, bottom}, {right, bottom}});
  for (const Tick& tick : placed.panel.x.ticks)
    path += vertical(placed.x_of(tick.at), bottom, bottom + (tick.minor ? minor : major));
  for (const Tick& tick : placed.panel.y.ticks)
    path +=
        horizontal(placed.left, placed.left - (tick.minor ? minor : major), placed.y_of(tick.at));
  return drawn(path, stroke(frame_color, thin));
}

Drawing drawn_references(const PlacedPanel& placed) {
  Drawing out;
  for (const DrawnLine& line : placed.panel.lines)
    out += drawn(placed.panel.horizontal_bars
                     ? vertical(placed.x_of(line.y), placed.top, placed.top + placed.height)
                     : horizontal(placed.left, placed.left + placed.width, placed.y_of(line.y)),
                 reference_pen(line.dash));
  return out;
}

// "Latin Modern" is the family "Latin Modern Roman".
std::string families(const std::string& font) {
  return font.empty() ? "sans-serif" : "'" + font + "', '" + font + " Roman', sans-serif";
}

}  // namespace

Markup figure_svg(const FigureData& data, Extract extract, std::size_t panel, PenSheet* sheet,
                  const Print& print) {
  const PlacedFigure figure = place_figure(data, extract, panel, print);
  const Precision& precision = precision_of(sheet);
  const std::string& title = data.figure.title.empty() ? data.title : data.figure.title;
  // In points if a width is given.
  const auto length = [&](double pixels) {
    return print.width == 0 ? file_precision.number(pixels)
                            : file_precision.number(pixels * print.width / figure.width) + "pt";
  };
  const Pen root = {
      {"font-family", families(print.font)}, {"fill", "none"}, {"stroke-linejoin", "round"}};
  Drawing drawing = drawn(rectangle_path({0, 0}, {figure.width, figure.height}), fill("#ffffff"));
  // Panels do not overlap. On a page the grids of all panels are neighbors, and so are the frames.
  constexpr std::array parts = {drawn_ranges, drawn_grid, drawn_curves, drawn_frame,
                                drawn_references};
  const std::vector<PlacedPanel>& panels = figure.panels;
  for (std::size_t i = 0; i < parts.size() * panels.size(); ++i)
    drawing += sheet == nullptr ? parts[i % parts.size()](panels[i / parts.size()])
                                : parts[i / panels.size()](panels[i % panels.size()]);
  drawing += drawn_rules(figure.rules);
  for (const PlacedKey& key : figure.keys) drawing += drawn_key(key);
  if (print.opaque) drawing = without_transparency(std::move(drawing));
  return "<svg " + (sheet == nullptr ? Markup("xmlns=\"http://www.w3.org/2000/svg\" ") : "") +
         "viewBox=\"0 0 " + precision.number(figure.width) + " " + precision.number(figure.height) +
         "\" width=\"" + length(figure.width) + "\" height=\"" + length(figure.height) +
         "\" role=\"img\" " + attributes_of(root, sheet) + "><title>" +
         escape_markup(title.empty() ? "Figure" : one_line(title)) + "</title><desc>" +
         escape_markup(describe_figure(data)) + "</desc>" + drawing_svg(drawing, sheet) +
         texts_svg(figure.texts, sheet) + "</svg>";
}

}  // namespace ranklab
