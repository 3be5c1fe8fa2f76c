#include "experiments/display.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/text.hpp"

namespace ranklab {
namespace {

bool has_series(const Result& result, const std::string& name) {
  return std::ranges::find(result.series, name, &Series::name) != result.series.end();
}

}  // namespace

PanelBuilder& PanelBuilder::curve(const std::string& series, const std::string& label,
                                  CurveLook look) {
  if (!has_series(result_, series)) {
    std::vector<std::string> known;
    for (const Series& each : result_.series) known.push_back(each.name);
    throw std::logic_error("a curve names the series '" + series +
                           "', which the result does not have" +
                           did_you_mean(series, known, "; derive() adds " + joined(known)));
  }
  panel().curves.push_back({series, label, look.style, look.color, look.x_offset, look.band});
  return *this;
}

PanelBuilder& PanelBuilder::curve_if_measured(const std::string& series, const std::string& label,
                                              CurveLook look) {
  return has_series(result_, series) ? curve(series, label, look) : *this;
}

PanelBuilder& PanelBuilder::line(double y, const std::string& label) {
  if (std::isfinite(y)) panel().lines.push_back({y, label});
  return *this;
}

PanelBuilder& PanelBuilder::band(double x_low, double x_high, const std::string& label, int color) {
  panel().bands.push_back({x_low, x_high, label, color});
  return *this;
}

PanelBuilder& PanelBuilder::group(std::string name) {
  panel().group = std::move(name);
  return *this;
}

bool Display::has_series(const std::string& name) const {
  return ranklab::has_series(result_, name);
}

PanelBuilder Display::panel(std::string title, Axis x, Axis y) {
  figure().panels.push_back({std::move(title), std::move(x), std::move(y)});
  return {result_, figure()};
}

void Display::drop_empty() {
  const auto drop = [](Figure& figure) {
    std::erase_if(figure.panels, [](const Panel& panel) { return panel.curves.empty(); });
  };
  drop(result_.figure);
  for (Figure& figure : result_.more_figures) drop(figure);
  std::erase_if(result_.more_figures, [](const Figure& figure) { return figure.panels.empty(); });
}

}  // namespace ranklab
