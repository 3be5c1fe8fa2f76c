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
std::string band_text(const DrawnBand& band) {
  const std::string color = "rgb " + gnuplot_quote(palette_entry(band.color).color);
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
    write_title();
    for (const PlacedPanel& placed : figure_.panels) write_panel(placed);
    line("unset multiplot");
    return std::move(out_);
  }

 private:
  void line(const std::string& text) { out_ += text + "\n"; }

  // `y` counts from the top, as everywhere in the layout; gnuplot counts from the bottom.
  std::string at(double x, double y) const {
    return "screen " + pixels(x / figure_.width) + ",screen " + pixels(1.0 - y / figure_.height);
  }

  void label(const std::string& quoted, double x, double y, double font_size,
             const std::string& how) {
    line("set label " + quoted + " at " + at(x, y) + " " + how + " front font '," +
         pixels(font_size) + "' tc rgb '" + ink + "'");
  }

  // The viewer of an SVG finds the fonts. In PNG and PDF, gnuplot fills the page with a giant box
  // for a character that no font on this machine has.
  void text(const std::string& words, double x, double y, double font_size,
            const std::string& how) {
    label(gnuplot_quote(every_glyph_ ? words : common_characters(words)), x, y, font_size,
          how + " noenhanced");
  }

  void rectangle(double left, double top, double right, double bottom, const std::string& how) {
    line("set object rectangle from " + at(left, top) + " to " + at(right, bottom) + " " + how);
  }

  void lines_of_text(const std::vector<std::string>& lines, double x, double top,
                     double font_size) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      text(lines[i], x, top + line_height(font_size) * (static_cast<double>(i) + 0.5), font_size,
           "center");
    }
  }

  void write_title() {
    lines_of_text(figure_.title, figure_.width / 2, 8, FontSize::title);
    const double title_height =
        line_height(FontSize::title) * static_cast<double>(figure_.title.size());
    lines_of_text(figure_.subtitle, figure_.width / 2, 8 + title_height, FontSize::axis);
    if (!figure_.note.empty())
      text(figure_.note, figure_.width - 10, figure_.height - line_height(FontSize::note) / 2 - 3,
           FontSize::note, "right");
  }

  void write_panel(const PlacedPanel& placed) {
    ++panel_;
    write_area(placed);
    write_words(placed);
    write_ticks("x", placed.panel.x);
    write_ticks("y", placed.panel.y);
    write_tick_texts(placed);
    write_bands(placed);
    write_reference_lines(placed);
    for (std::size_t i = 0; i < placed.panel.legend.size(); ++i) write_legend_entry(placed, i);
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

  void write_words(const PlacedPanel& placed) {
    const double middle = placed.left + placed.width / 2;
    const double title_height =
        line_height(FontSize::panel) * static_cast<double>(placed.title.size());
    lines_of_text(placed.title, middle, placed.top - title_height - 6, FontSize::panel);
    lines_of_text(placed.x_label, middle, placed.x_label_top, FontSize::axis);
    const double labels = placed.panel.y.label_width(FontSize::tick) + 14;
    for (std::size_t i = 0; i < placed.y_label.size(); ++i) {
      const double from_axis =
          line_height(FontSize::axis) * (static_cast<double>(placed.y_label.size() - i) - 0.5);
      text(placed.y_label[i], placed.left - labels - from_axis, placed.top + placed.height / 2,
           FontSize::axis, "center rotate by 90");
    }
    if (placed.panel.empty)
      text("no defined values", middle, placed.top + placed.height / 4, FontSize::axis, "center");
  }

  // Tick texts are separate labels: gnuplot would read a tick's text as a number format, and its
  // position would depend on the output format.
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

  void tick_text(const DrawnAxis& axis, const Tick& tick, double x, double y,
                 const std::string& how) {
    if (axis.named) {
      text(tick.label, x, y, FontSize::tick, how);
    } else if (!tick.label.empty()) {
      label(gnuplot_quote(tick.label), x, y, FontSize::tick, how + " enhanced");
    }
  }

  void write_tick_texts(const PlacedPanel& placed) {
    const double bottom = placed.top + placed.height, half_line = line_height(FontSize::tick) / 2;
    const DrawnAxis &x_axis = placed.panel.x, &y_axis = placed.panel.y;
    for (std::size_t i = 0; i < x_axis.ticks.size(); i += placed.name_every) {
      const double x = placed.left + placed.width * x_axis.fraction(x_axis.ticks[i].at);
      if (placed.slanted) {
        tick_text(x_axis, x_axis.ticks[i], x + 4, bottom + half_line + 5, "right rotate by 35");
      } else {
        tick_text(x_axis, x_axis.ticks[i], x, bottom + half_line + 8, "center");
      }
    }
    for (const Tick& tick : y_axis.ticks) {
      tick_text(y_axis, tick, placed.left - 9,
                placed.top + placed.height * (1 - y_axis.fraction(tick.at)), "right");
    }
  }

  // Behind everything, at positions on the page like everything except the curves, so that no band
  // extends beyond the panel.
  void write_bands(const PlacedPanel& placed) {
    for (const DrawnBand& band : placed.panel.bands) {
      const auto place = [&](double x) {
        return placed.left + placed.width * placed.panel.x.fraction(x);
      };
      rectangle(place(band.low), placed.top, place(band.high), placed.top + placed.height,
                "behind " + band_text(band));
    }
  }

  void write_reference_lines(const PlacedPanel& placed) {
    if (placed.panel.horizontal_bars) {
      for (const DrawnLine& reference : placed.panel.lines) {
        const double x = placed.left + placed.width * placed.panel.x.fraction(reference.y);
        line("set arrow from " + at(x, placed.top) + " to " + at(x, placed.top + placed.height) +
             " nohead front " + reference_text(reference.dash));
      }
      return;
    }
    std::vector<DrawnLine> lines = placed.panel.lines;
    std::stable_sort(lines.begin(), lines.end(),
                     [](const DrawnLine& a, const DrawnLine& b) { return a.y > b.y; });
    double free_from = placed.top - 10;
    for (const DrawnLine& reference : lines) {
      const double y = placed.top + placed.height * (1 - placed.panel.y.fraction(reference.y));
      line("set arrow from " + at(placed.left, y) + " to " + at(placed.left + placed.width, y) +
           " nohead front " + reference_text(reference.dash));
      if (reference.label.empty()) continue;
      const double label = std::max(y, free_from);  // labels of near lines are moved apart
      text(reference.label, placed.left + placed.width + 6, label, FontSize::tick, "left");
      free_from = label + line_height(FontSize::tick);
    }
  }

  void write_legend_entry(const PlacedPanel& placed, std::size_t i) {
    const LegendEntry& entry = placed.panel.legend[i];
    const std::size_t row = i / placed.legend_columns, column = i % placed.legend_columns;
    const double x = placed.legend_left + placed.legend_column * static_cast<double>(column);
    const double y =
        placed.legend_top + line_height(FontSize::legend) * (static_cast<double>(row) + 0.5);
    const auto sample = [&](const std::string& how) {
      line("set arrow from " + at(x, y) + " to " + at(x + 26, y) + " nohead front " + how);
    };
    text(entry.label, x + 32, y, FontSize::legend, "left");
    if (entry.sample == Sample::line) return sample(reference_text(entry.index));
    if (entry.sample == Sample::band) {
      return rectangle(x, y - 4.5, x + 26, y + 4.5,
                       "back " + band_text(placed.panel.bands[entry.index]));
    }
    const DrawnCurve& curve = placed.panel.curves[entry.index];
    const std::string color = color_text(curve);
    if (curve.look == Look::bars)
      return rectangle(x + 4, y - 4.5, x + 22, y + 4.5,
                       "front " + fill_text(curve) + " fc " + color.substr(3));
    if (curve.look != Look::scatter) sample(line_text(curve) + " " + color);
    if (curve.look != Look::scatter && curve.band) {
      rectangle(x, y - 4.5, x + 26, y + 4.5,
                "back fs transparent solid 0.18 noborder fc " + color.substr(3));
    }
    if (!curve.markers.empty())
      line("set label '' at " + at(x + 13, y) + " front point " + marker_text(curve) + " " + color);
  }

  const PlacedFigure& figure_;
  const bool every_glyph_;
  std::string out_;
  int panel_ = 0;
};

}  // namespace

std::string gnuplot_script(const nlohmann::json& result, const std::string& format) {
  const PlacedFigure figure = place_figure(read_figure(result));
  return ScriptWriter(figure, format).write(format);
}

}  // namespace ranklab
