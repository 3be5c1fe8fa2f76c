#include "experiments/grid/runs.hpp"

#include <algorithm>
#include <numeric>

namespace ranklab::grid {

At place_of(const std::vector<Setting>& settings) {
  At out;
  for (const Setting& setting : settings) {
    if (setting.name.empty()) continue;
    At at;
    at.coordinates.emplace(setting.axis, setting.value);
    at.text = setting.name;
    out = out & at;
  }
  return out;
}

std::vector<Setting> Run::on(const Axes& axes) const {
  std::vector<Setting> out;
  for (const std::string& axis : axes) {
    for (const Setting& setting : settings) {
      if (setting.axis == axis) out.push_back(setting);
    }
  }
  return out;
}

std::vector<Setting> Run::but_for(const Axes& axes) const {
  std::vector<Setting> out = settings;
  std::erase_if(out, [&](const Setting& setting) {
    return std::ranges::find(axes, setting.axis) != axes.end();
  });
  return out;
}

std::vector<Setting> varying(std::vector<Setting> settings) {
  std::erase_if(settings, [](const Setting& setting) { return !setting.varies; });
  return settings;
}

std::vector<std::string> words_of(const std::vector<Setting>& settings) {
  std::vector<std::string> out;
  for (const Setting& setting : settings) out.push_back(setting.words);
  return out;
}

std::vector<double> RunRecords::numbers(const Quantity& number) const {
  return scalars_of(records_, run_.key(number));
}

std::vector<double> RunRecords::numbers(const Quantity& number, double of_diverged) const {
  std::vector<double> out = numbers(number);
  for (double& each : out) {
    if (!std::isfinite(each)) each = of_diverged;
  }
  return out;
}

double RunRecords::times_diverged() const {
  const std::vector<double> in_trial = numbers(diverged);
  return std::accumulate(in_trial.begin(), in_trial.end(), 0.0);
}

void DotPanel::derive(Numbers& out) const {
  for (const Dots& each : dots) out.series(each.series, x_name, each.places, each.value);
}

PanelBuilder DotPanel::show(Display& out) const {
  PanelBuilder panel = out.panel(title, x, y);
  for (const Dots& each : dots)
    panel.curve(each.series, each.label, trials_look(LineStyle::points, each.color, each.offset));
  return panel;
}

std::vector<double> places_to(std::size_t n) {
  std::vector<double> out(n);
  std::iota(out.begin(), out.end(), 1.0);
  return out;
}

}  // namespace ranklab::grid
