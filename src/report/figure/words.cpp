#include "report/figure/words.hpp"

#include <algorithm>

#include "report/figure/text.hpp"

namespace ranklab {
namespace {

std::string axis_words(const Axis& axis, const std::string& fallback) {
  const std::string label = one_line(axis.label);
  return (label.empty() ? fallback : label) + (axis.scale == Scale::log ? " (log scale)" : "");
}

void append_item(std::string& list, const std::string& item) {
  list += (list.empty() ? "" : ", ") + item;
}

std::string panel_words(const Panel& panel) {
  const std::string title = one_line(panel.title);
  std::string out = (title.empty() ? "" : title + ": ") + axis_words(panel.y, "values") + " against " + axis_words(panel.x, "x");
  std::string curves, shaded, lines;
  std::size_t unlabelled = 0;
  for (const Curve& curve : panel.curves) {
    const std::string label = one_line(curve.label);
    if (label.empty()) {
      ++unlabelled;
    } else {
      append_item(curves, label + " (" + std::string(name_of(curve.style)) + ")");
    }
  }
  if (unlabelled > 0) append_item(curves, std::to_string(unlabelled) + " more of the same families");
  for (const auto& line : panel.lines) {
    const std::string label = one_line(line.label);
    append_item(lines, (label.empty() ? "" : label + " at ") + gnuplot_number(line.y, 4));
  }
  for (const auto& band : panel.bands) {
    const std::string label = one_line(band.label);
    append_item(shaded, (label.empty() ? "" : label + " ") + "from " + gnuplot_number(band.x_low, 4) + " to " +
                            gnuplot_number(band.x_high, 4));
  }
  if (!curves.empty()) out += "; curves: " + curves;
  if (!shaded.empty()) out += "; shaded: " + shaded;
  if (!lines.empty()) out += "; reference lines: " + lines;
  return out + ".";
}

}  // namespace

std::string describe_figure(const FigureSource& source) {
  const std::size_t panels = source.figure.panels.size();
  std::string out = std::to_string(panels) + (panels == 1 ? " panel." : " panels.");
  for (const Panel& panel : source.figure.panels) out += " " + panel_words(panel);
  if (source.completed_trials > 0) {
    const std::string trials = gnuplot_number(source.completed_trials, 12);
    out += source.completed_trials == 1 ? " One trial."
                                        : " Means over " + trials + " trials; bands and bars are one standard deviation.";
  }
  if (source.status != "complete") out += " Status of the run: " + one_line(source.status) + ".";
  return out;
}

}  // namespace ranklab
