// The gnuplot script. Every text is a quoted literal drawn without markup; every data block
// contains only numbers.

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "report/figure/gnuplot.hpp"
#include "report/figure/gnuplot_curves.hpp"
#include "report/figure/layout.hpp"
#include "report/figure/palette.hpp"
#include "report/figure/text.hpp"

namespace ranklab {
namespace {

constexpr const char *ink = "#222222", *frame = "#555555", *faint = "#E2E2E2";

std::string pixels(double value) {
  return gnuplot_number(value, 6);
}

std::string reference_text(std::size_t dash) {
  static constexpr std::array<const char*, 4> dashes = {"(5,4)", "(12,4)", "(2,3)", "(12,4,2,4)"};
  return std::string("dt ") + dashes[dash % dashes.size()] + " lw 1.1 lc rgb 'black'";
}

// With a border, so that the ends are visible if bands overlap.
std::string band_text(std::size_t palette_index) {
  const std::string color = "rgb " + gnuplot_quote(palette_entry(palette_index).color);
  return "lw 0.7 fs transparent solid 0.12 border lc " + color + " fc " + color;
}

std::string terminal(const std::string& format, double width, double height) {
  if (format == "svg")
    return "svg size " + pixels(width) + "," + pixels(height) +
           " dynamic enhanced font 'sans-serif,11' background rgb 'white'";
  // Two dots per pixel of the layout.
  if (format == "png")
    return "pngcairo size " + pixels(2 * width) + "," + pixels(2 * height) +
           " enhanced font 'sans,11' fontscale 1.5 linewidth 2 pointscale 2 dashlength 1.6";
  // 96 pixels of the layout are an inch.
  if (format == "pdf")
    return "pdfcairo size " + pixels(width / 96) + "in," + pixels(height / 96) +
           "in enhanced font 'sans,11' fontscale 0.5625 linewidth 1.5 pointscale 0.6 dashlength "
           "1.8";
  throw UsageError("cannot draw " + one_line(format) + "; allowed: svg, png, pdf");
}

class ScriptWriter {
 public:
  ScriptWriter(const PlacedFigure& figure, const std::string& format)
      : figure_(figure), every_glyph_(format == "svg") {}

  std::string write(const std::string& format) {
    line("# Draws one figure; all data is below. Use: gnuplot THIS_FILE > picture." + format);
    line("reset");
    line("set encoding utf8");
    line("set terminal " + terminal(format, figure_.width, figure_.height));
    line("unset key");
    line("set border 3 lc rgb " + gnuplot_quote(frame) + " lw 0.8");
    line("set grid xtics ytics back lt 1 dt solid lc rgb " + gnuplot_quote(faint) + " lw 0.8");
    line("set multiplot");
    for (const PlacedText& text : figure_.texts) write_text(text);
    for (const PlacedRule& rule : figure_.rules) write_rule(rule);
    for (const PlacedKey& key : figure_.keys) write_key(key);
    for (const PlacedPanel& placed : figure_.panels) write_panel(placed);
    if (figure_.panels.empty()) line("unset border\nunset tics\nplot [0:1] [0:1] NaN notitle");
    line("unset multiplot");
    return std::move(out_);
  }

 private:
  void line(const std::string& text) { out_ += text + "\n"; }

  // `y` counts from the top, as everywhere in the layout; gnuplot counts from the bottom.
  std::string at(double x, double y) const {
    return "screen " + pixels(x / figure_.width) + ",screen " + pixels(1.0 - y / figure_.height);
  }

  // The viewer of an SVG finds the fonts. In PNG and PDF, gnuplot fills the page with a giant box
  // for a character that no font on this machine has.
  void write_text(const PlacedText& text) {
    static constexpr std::array<const char*, 3> anchors = {"left", "center", "right"};
    const std::string words =
        text.enhanced || every_glyph_ ? text.text : common_characters(text.text);
    line("set label " + gnuplot_quote(words) + " at " + at(text.x, text.y) + " " +
         anchors[static_cast<std::size_t>(text.anchor)] +
         (text.degrees != 0 ? " rotate by " + pixels(text.degrees) : "") +
         (text.enhanced ? " enhanced" : " noenhanced") + " front font '," + pixels(text.size) +
         "' tc rgb '" + ink + "'");
  }

  void write_rule(const PlacedRule& rule) {
    line("set arrow from " + at(rule.left, rule.y) + " to " + at(rule.right, rule.y) +
         " nohead front dt solid lw " + (rule.strong ? "1.2" : "0.7") + " lc rgb '" + ink + "'");
  }

  void rectangle(double left, double top, double right, double bottom, const std::string& how) {
    line("set object rectangle from " + at(left, top) + " to " + at(right, bottom) + " " + how);
  }

  void write_panel(const PlacedPanel& placed) {
    ++panel_;
    write_area(placed);
    write_ticks("x", placed.panel.x);
    write_ticks("y", placed.panel.y);
    write_bands(placed);
    write_reference_lines(placed);
    out_ += plot_text(placed.panel, panel_);
    line("unset label\nunset arrow\nunset object");
  }

  void write_area(const PlacedPanel& placed) {
    const auto margin = [&](const char* name, double value) {
      line(std::string("set ") + name + " at screen " + pixels(value));
    };
    margin("lmargin", placed.left / figure_.width);
    margin("rmargin", (placed.left + placed.width) / figure_.width);
    margin("tmargin", 1.0 - placed.top / figure_.height);
    margin("bmargin", 1.0 - (placed.top + placed.height) / figure_.height);
  }

  void write_ticks(const std::string& name, const DrawnAxis& axis) {
    line((axis.log ? "set logscale " : "unset logscale ") + name);
    line("set " + name + "range [" + gnuplot_number(axis.low, 17) + ":" +
         gnuplot_number(axis.high, 17) + "]");
    std::string list;
    for (const Tick& tick : axis.ticks)
      list += (list.empty() ? "'' " : ", '' ") + gnuplot_number(tick.at, 12) +
              (tick.minor ? " 1" : " 0");
    line(list.empty() ? "unset " + name + "tics"
                      : "set " + name + "tics out nomirror scale 0.6,0.35 (" + list + ")");
  }

  // Behind everything, at positions on the page like everything except the curves, so that no band
  // extends beyond the panel.
  void write_bands(const PlacedPanel& placed) {
    for (const DrawnBand& band : placed.panel.bands) {
      const auto place = [&](double x) {
        return placed.left + placed.width * placed.panel.x.fraction(x);
      };
      rectangle(place(band.low), placed.top, place(band.high), placed.top + placed.height,
                "behind " + band_text(band.color));
    }
  }

  void write_reference_lines(const PlacedPanel& placed) {
    for (const DrawnLine& reference : placed.panel.lines) {
      if (placed.panel.horizontal_bars) {
        const double x = placed.left + placed.width * placed.panel.x.fraction(reference.y);
        line("set arrow from " + at(x, placed.top) + " to " + at(x, placed.top + placed.height) +
             " nohead front " + reference_text(reference.dash));
      } else {
        const double y = placed.top + placed.height * (1 - placed.panel.y.fraction(reference.y));
        line("set arrow from " + at(placed.left, y) + " to " + at(placed.left + placed.width, y) +
             " nohead front " + reference_text(reference.dash));
      }
    }
  }

  void write_key(const PlacedKey& key) {
    const LegendEntry& entry = key.entry;
    const double x = key.x, y = key.y, right = x + key_width, middle = x + key_width / 2;
    const auto sample = [&](const std::string& how) {
      line("set arrow from " + at(x, y) + " to " + at(right, y) + " nohead front " + how);
    };
    if (entry.sample == Sample::line) return sample(reference_text(entry.dash));
    if (entry.sample == Sample::band)
      return rectangle(x, y - 4.5, right, y + 4.5, "back " + band_text(entry.color));
    const std::string color = color_text(entry.color);
    if (entry.look == Look::bars)
      return rectangle(
          middle - 9, y - 4.5, middle + 9, y + 4.5,
          "front " + fill_text(entry.bar_fill, entry.color) + " fc " + color.substr(3));
    if (entry.look != Look::scatter) sample(line_text(entry.look) + " " + color);
    if (entry.look != Look::scatter && entry.band) {
      rectangle(x, y - 4.5, right, y + 4.5,
                "back fs transparent solid 0.18 noborder fc " + color.substr(3));
    }
    if (entry.markers)
      line("set label '' at " + at(middle, y) + " front point " + marker_text(entry.color) + " " +
           color);
  }

  const PlacedFigure& figure_;
  const bool every_glyph_;
  std::string out_;
  int panel_ = 0;
};

}  // namespace

std::string gnuplot_script(const FigureSource& source, const std::string& format, Extract extract,
                           std::size_t panel) {
  const PlacedFigure figure = place_figure(source, extract, panel);
  return ScriptWriter(figure, format).write(format);
}

std::string gnuplot_script(const nlohmann::json& result, const std::string& format) {
  return gnuplot_script(read_figure(result), format, Extract::whole, 0);
}

}  // namespace ranklab
