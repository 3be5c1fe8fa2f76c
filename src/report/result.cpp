#include "report/result.hpp"

#include <algorithm>
#include <limits>

namespace ranklab {

Series series_over_trials(std::string name, std::string x_name, std::vector<double> x,
                          const std::vector<std::vector<double>>& per_trial) {
  Series series{std::move(name), std::move(x_name), std::move(x), {}, {}};
  std::size_t length = series.x.size();
  for (const auto& values : per_trial) length = std::min(length, values.size());
  series.x.resize(length);
  std::vector<double> column(per_trial.size());
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t t = 0; t < per_trial.size(); ++t) column[t] = per_trial[t][i];
    const Summary summary = summarise(column);
    series.mean.push_back(summary.mean);
    series.std.push_back(summary.std);
    series.n.push_back(static_cast<double>(summary.n));
  }
  const auto all = static_cast<double>(per_trial.size());
  if (std::all_of(series.n.begin(), series.n.end(), [&](double n) { return n == all; })) series.n.clear();
  return series;
}

Series series_over_trials(std::string name, std::string x_name, const std::vector<std::vector<double>>& per_trial, double first_x) {
  std::size_t length = per_trial.empty() ? 0 : std::numeric_limits<std::size_t>::max();
  for (const auto& values : per_trial) length = std::min(length, values.size());
  std::vector<double> x(length);
  for (std::size_t i = 0; i < length; ++i) x[i] = first_x + static_cast<double>(i);
  return series_over_trials(std::move(name), std::move(x_name), std::move(x), per_trial);
}

}  // namespace ranklab
