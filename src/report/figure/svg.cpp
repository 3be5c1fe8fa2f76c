#include "report/figure/svg.hpp"

#include "report/figure/svg_curves.hpp"
#include "report/figure/svg_pen.hpp"
#include "report/figure/text.hpp"
#include "report/figure/words.hpp"

namespace ranklab {
namespace {

constexpr double thin = 0.8;  // pixels: axes, ticks and the grid

std::string horizontal(double left, double right, double y) {
  return line_path({{left, y}, {right, y}});
}
std::string vertical(double x, double top, double bottom) {
  return line_path({{x, top}, {x, bottom}});
}

// Attributes that many neighboring texts share.
std::string look_of(const PlacedText& text) {
  const char* anchor = text.anchor == Anchor::left     ? "start"
                       : text.anchor == Anchor::center ? "middle"
                                                       : "end";
  return "font-size=\"" + svg_number(text.size) + "\" text-anchor=\"" + anchor + "\"";
}

std::string element_of(const PlacedText& text) {
  const double baseline = text.y + 0.36 * text.size;
  const std::string x = svg_number(text.x);
  std::string out = "<text x=\"" + x + "\" y=\"" + svg_number(baseline) + "\"";
  if (text.degrees != 0)
    out += " transform=\"rotate(" + svg_number(-text.degrees) + " " + x + " " + svg_number(text.y) +
           ")\"";
  out += ">" + escape_markup(text.text);
  if (!text.power.empty())
    out += "<tspan dy=\"" + svg_number(-0.5 * text.size) + "\" font-size=\"" +
           svg_number(0.8 * text.size) + "\">" + escape_markup(text.power) + "</tspan>";
  return out + "</text>";
}

std::string texts_svg(const std::vector<PlacedText>& texts) {
  std::string out, look;
  for (const PlacedText& text : texts) {
    const std::string own = look_of(text);
    if (own != look) out += (look.empty() ? "" : "</g>") + ("<g " + own + ">");
    look = own;
    out += element_of(text);
  }
  return texts.empty() ? "" : "<g " + fill(ink) + ">" + out + "</g></g>";
}

std::string rules_svg(const std::vector<PlacedRule>& rules) {
  std::string out;
  for (const PlacedRule& rule : rules)
    out += path_element(horizontal(rule.left, rule.right, rule.y),
                        stroke(ink, rule.strong ? 1.2 : 0.7));
  return out;
}

std::string key_svg(const PlacedKey& key) {
  constexpr double half_height = 4.5, half_bar = 9;
  const LegendEntry& entry = key.entry;
  const double right = key.x + key_width, middle = key.x + key_width / 2;
  const auto box = [&](double from, double to) {
    return rectangle_path({from, key.y - half_height}, {to, key.y + half_height});
  };
  const std::string sample = horizontal(key.x, right, key.y);
  if (entry.sample == Sample::line) return path_element(sample, reference_pen(entry.dash));
  if (entry.sample == Sample::band) return path_element(box(key.x, right), range_pen(entry.color));
  const std::string_view color = color_of(entry.color);
  if (entry.look == Look::bars)
    return path_element(box(middle - half_bar, middle + half_bar),
                        fill(color, entry.bar_fill) + " " + stroke(color, thin));
  std::string out;
  if (entry.look != Look::scatter) {
    if (entry.band) out += path_element(box(key.x, right), spread_pen(entry.color));
    out += path_element(sample, line_pen(entry.look, entry.color));
  }
  return out + (entry.markers
                    ? marker_elements({{middle, key.y}}, entry.color, marker_radius, false)
                    : "");
}

// Shaded ranges fill the height of the panel.
std::string ranges_svg(const PlacedPanel& placed) {
  std::string out;
  for (const DrawnBand& band : placed.panel.bands)
    out += path_element(rectangle_path({placed.x_of(band.low), placed.top},
                                       {placed.x_of(band.high), placed.top + placed.height}),
                        range_pen(band.color));
  return out;
}

std::string grid_svg(const PlacedPanel& placed) {
  std::string grid;
  for (const Tick& tick : placed.panel.y.ticks) {
    if (!tick.minor)
      grid += horizontal(placed.left, placed.left + placed.width, placed.y_of(tick.at));
  }
  for (const Tick& tick : placed.panel.x.ticks) {
    if (!tick.minor) grid += vertical(placed.x_of(tick.at), placed.top, placed.top + placed.height);
  }
  return path_element(grid, stroke(grid_color, thin));
}

// The two axes with their ticks, which point outward.
std::string frame_svg(const PlacedPanel& placed) {
  constexpr double major = 5, minor = 3;
  const double right = placed.left + placed.width, bottom = placed.top + placed.height;
  std::string d = line_path({{placed.left, placed.top}, {placed.left, bottom}, {right, bottom}});
  for (const Tick& tick : placed.panel.x.ticks)
    d += vertical(placed.x_of(tick.at), bottom, bottom + (tick.minor ? minor : major));
  for (const Tick& tick : placed.panel.y.ticks)
    d += horizontal(placed.left, placed.left - (tick.minor ? minor : major), placed.y_of(tick.at));
  return path_element(d, stroke(frame_color, thin));
}

std::string references_svg(const PlacedPanel& placed) {
  std::string out;
  for (const DrawnLine& line : placed.panel.lines)
    out +=
        path_element(placed.panel.horizontal_bars
                         ? vertical(placed.x_of(line.y), placed.top, placed.top + placed.height)
                         : horizontal(placed.left, placed.left + placed.width, placed.y_of(line.y)),
                     reference_pen(line.dash));
  return out;
}

}  // namespace

std::string figure_svg(const FigureSource& source, Extract extract, std::size_t panel) {
  const PlacedFigure figure = place_figure(source, extract, panel);
  const std::string &own = source.figure.title.empty() ? source.title : source.figure.title,
                    width = svg_number(figure.width), height = svg_number(figure.height);
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + width + " " + height +
      "\" width=\"" + width + "\" height=\"" + height +
      "\" role=\"img\" font-family=\"sans-serif\" fill=\"none\" "
      "stroke-linejoin=\"round\"><title>" +
      escape_markup(own.empty() ? "Figure" : one_line(own)) + "</title><desc>" +
      escape_markup(describe_figure(source)) + "</desc>" +
      path_element(rectangle_path({0, 0}, {figure.width, figure.height}), fill("#ffffff"));
  for (const PlacedPanel& placed : figure.panels)
    out += ranges_svg(placed) + grid_svg(placed) + curves_svg(placed) + frame_svg(placed) +
           references_svg(placed);
  out += rules_svg(figure.rules);
  for (const PlacedKey& key : figure.keys) out += key_svg(key);
  return out + texts_svg(figure.texts) + "</svg>";
}

}  // namespace ranklab
