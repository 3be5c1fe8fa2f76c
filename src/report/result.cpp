#include "report/result.hpp"

#include <algorithm>
#include <limits>

#include "core/text.hpp"

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
    const Summary summary = summarize(column);
    series.mean.push_back(summary.mean);
    series.std.push_back(summary.std);
    series.n.push_back(static_cast<double>(summary.n));
  }
  const auto all = static_cast<double>(per_trial.size());
  if (std::all_of(series.n.begin(), series.n.end(), [&](double n) { return n == all; }))
    series.n.clear();
  return series;
}

Series series_over_trials(std::string name, std::string x_name,
                          const std::vector<std::vector<double>>& per_trial, double first_x) {
  std::size_t length = per_trial.empty() ? 0 : std::numeric_limits<std::size_t>::max();
  for (const auto& values : per_trial) length = std::min(length, values.size());
  std::vector<double> x(length);
  for (std::size_t i = 0; i < length; ++i) x[i] = first_x + static_cast<double>(i);
  return series_over_trials(std::move(name), std::move(x_name), std::move(x), per_trial);
}

namespace {

std::string interval_text(double mean, double high, double level, std::uint64_t n) {
  return "mean " + short_number(mean) + " +- " + short_number(high - mean) + " (" +
         short_number(100 * level) + " %, " + counted(n, "trial") + ")";
}

struct EvidenceText {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(const MeanEvidence& e) const {
    return interval_text(e.mean, e.high, e.level, e.n);
  }
  std::string operator()(const EquivalenceEvidence& e) const {
    return interval_text(e.mean, e.high, e.level, e.n);
  }
  std::string operator()(const CountEvidence& e) const {
    return count_text(e.violations) + (e.violations == 1 ? " violation in " : " violations in ") +
           count_text(e.cases) + (e.cases == 1 ? " case" : " cases");
  }
  std::string operator()(const NumberEvidence&) const { return ""; }
};

}  // namespace

std::string evidence_text(const Evidence& evidence) {
  return std::visit(EvidenceText(), evidence);
}

}  // namespace ranklab
