#include "report/figure/gnuplot_curves.hpp"

#include <algorithm>

#include "report/figure/palette.hpp"
#include "report/figure/text.hpp"

namespace ranklab {
namespace {

std::string point_type(std::size_t color) {
  return "pt " + std::to_string(palette_entry(color).marker);
}

class CurveWriter {
 public:
  explicit CurveWriter(int panel_number) : panel_(panel_number) {}

  // Bands are below all lines and markers on top, so that a later band does not cover an earlier
  // line.
  std::string write(const DrawnPanel& panel) {
    for (const DrawnCurve& curve : panel.curves) {
      if (curve.runs.empty()) continue;
      for (const Runs& trial : curve.trials) write_trial(curve, trial);
      if (curve.look == Look::bars) {
        write_bars(curve, panel);
      } else if (curve.look == Look::scatter) {
        write_scatter(curve);
      } else {
        write_line(curve);
        if (!curve.markers.empty()) write_markers(curve);
      }
    }
    std::string plots;
    for (const auto* layer : {&below_, &lines_, &above_}) {
      for (const auto& element : *layer)
        plots += (plots.empty() ? "" : ", \\\n     ") + element + " notitle";
    }
    return data_ + "plot " + (plots.empty() ? "NaN notitle" : plots) + "\n";
  }

 private:
  // A block of numbers, named by panel and count. An empty line, which gnuplot reads as a gap,
  // separates runs.
  template <typename Row>
  std::string block(const Runs& runs, const Row& row) {
    std::string name = "$panel" + std::to_string(panel_) + "_" + std::to_string(++block_);
    data_ += name + " << EOD\n";
    bool first = true;
    for (const auto& run : runs) {
      if (!first) data_ += "\n";
      first = false;
      for (const DrawnPoint& point : run) data_ += row(point);
    }
    data_ += "EOD\n";
    return name;
  }

  static std::string row_of(const DrawnPoint& p) {
    return gnuplot_number(p.x) + " " + gnuplot_number(p.y) + "\n";
  }
  static std::string row_with_spread(const DrawnPoint& p) {
    return gnuplot_number(p.x) + " " + gnuplot_number(p.y) + " " + gnuplot_number(p.low) + " " +
           gnuplot_number(p.high) + "\n";
  }

  void write_trial(const DrawnCurve& curve, const Runs& trial) {
    if (trial.empty()) return;
    below_.push_back(block(trial, row_of) + " using 1:2 with lines " + thin_line_text(curve.look) +
                     " " + color_text(curve.color));
  }

  void write_line(const DrawnCurve& curve) {
    Runs known, lonely;  // points with a known spread; runs of a single point
    for (const auto& run : curve.runs) {
      bool open = false;
      for (const DrawnPoint& point : run) {
        const bool has_spread = point.high >= point.low;
        if (has_spread && !open) known.emplace_back();
        if (has_spread) known.back().push_back(point);
        open = has_spread;
      }
      if (run.size() == 1) lonely.push_back(run);
    }
    const std::string color = color_text(curve.color);
    if (curve.band) {
      below_.push_back(block(known, row_with_spread) +
                       " using 1:3:4 with filledcurves fs transparent solid 0.18 noborder " +
                       color);
    }
    lines_.push_back(block(curve.runs, row_of) + " using 1:2 with lines " + line_text(curve.look) +
                     " " + color);
    // A line of one point has no length; without a dot the point would vanish.
    if (!lonely.empty())
      lines_.push_back(block(lonely, row_of) + " using 1:2 with points pt 7 ps 0.3 " + color);
  }

  // With a white rim, so that a marker is visible on a line whose noise is as large as the marker.
  void write_markers(const DrawnCurve& curve) {
    const std::string points = block({curve.markers}, row_of) + " using 1:2 with points ";
    above_.push_back(points + point_type(curve.color) + " ps 1.05 lw 2 lc rgb 'white'");
    above_.push_back(points + marker_text(curve.color) + " " + color_text(curve.color));
  }

  void write_bars(const DrawnCurve& curve, const DrawnPanel& panel) {
    Runs spread(1);
    const auto corners = [&](const DrawnPoint& p) {
      return gnuplot_number(p.x) + " " + gnuplot_number(p.y) + " " +
             gnuplot_number(p.x + curve.bar_left) + " " + gnuplot_number(p.x + curve.bar_right) +
             " " + gnuplot_number(std::min(panel.bar_foot, p.y)) + " " +
             gnuplot_number(std::max(panel.bar_foot, p.y)) + "\n";
    };
    for (const auto& run : curve.runs) {
      for (DrawnPoint point : run) {
        point.x += (curve.bar_left + curve.bar_right) / 2;
        if (point.high > point.low) spread[0].push_back(point);
      }
    }
    const std::string bars = panel.horizontal_bars ? " using 2:1:5:6:3:4" : " using 1:2:3:4:5:6";
    const std::string errors =
        panel.horizontal_bars ? " using 2:1:3:4 with xerrorbars" : " using 1:2:3:4 with yerrorbars";
    lines_.push_back(block(curve.runs, corners) + bars + " with boxxyerror " +
                     fill_text(curve.bar_fill, curve.color) + " lw 0.8 " + color_text(curve.color));
    if (curve.band)
      above_.push_back(block(spread, row_with_spread) + errors +
                       " pt 0 ps 0 lw 1 dt solid lc rgb 'black'");
  }

  void write_scatter(const DrawnCurve& curve) {
    Runs spread(1);
    for (const DrawnPoint& point : curve.markers) {
      if (point.high > point.low) spread[0].push_back(point);
    }
    const std::string color = color_text(curve.color);
    if (curve.medians)
      above_.push_back(block(curve.runs, row_of) + " using 1:2 with lines dt solid lw 2.5 " +
                       color);
    if (curve.band)
      below_.push_back(block(spread, row_with_spread) +
                       " using 1:2:3:4 with yerrorbars pt 0 ps 0 lw 1 dt solid " + color);
    // Below the lines, because the points would hide a formula that they follow.
    below_.push_back(
        block({curve.markers}, row_of) + " using 1:2 with points " +
        (curve.medians ? point_type(curve.color) + " ps 0.55" : marker_text(curve.color)) + " " +
        color);
  }

  const int panel_;
  int block_ = 0;
  std::string data_;
  std::vector<std::string> below_, lines_, above_;
};

}  // namespace

std::string line_text(Look look) {
  if (look == Look::dashed) return "dt (7,4) lw 1.5";
  return look == Look::dotted ? "dt (1.5,3) lw 1.5" : "dt solid lw 1.8";
}

std::string thin_line_text(Look look) {
  const std::string dash = line_text(look);
  return dash.substr(0, dash.find(" lw")) + " lw 0.6";
}

std::string marker_text(std::size_t color) {
  return point_type(color) + " ps 0.75";
}

std::string color_text(std::size_t color) {
  return "lc rgb " + gnuplot_quote(palette_entry(color).color);
}

std::string fill_text(double fill, std::size_t color) {
  return "fs solid " + gnuplot_number(fill, 2) + " border " + color_text(color);
}

std::string plot_text(const DrawnPanel& panel, int panel_number) {
  return CurveWriter(panel_number).write(panel);
}

}  // namespace ranklab
