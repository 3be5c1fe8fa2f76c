#include "result/result.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <set>

#include "core/text.hpp"

namespace ranklab {

Series series_over_trials(Quantity quantity, std::string x_name, std::vector<double> x,
                          const std::vector<std::vector<double>>& per_trial) {
  Series series{std::move(quantity), std::move(x_name), std::move(x), {}, {}};
  std::size_t length = series.x.size();
  for (const auto& values : per_trial) length = std::min(length, values.size());
  series.x.resize(length);
  std::vector<double> column(per_trial.size());
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t t = 0; t < per_trial.size(); ++t) column[t] = per_trial[t][i];
    const Summary summary = summarize(column);
    series.mean.push_back(summary.mean);
    series.std.push_back(summary.std);
    series.n.push_back(summary.n);
  }
  const auto has_all_trials = [&](std::uint64_t n) { return n == per_trial.size(); };
  if (std::all_of(series.n.begin(), series.n.end(), has_all_trials)) series.n.clear();
  return series;
}

Series series_over_trials(Quantity quantity, std::string x_name,
                          const std::vector<std::vector<double>>& per_trial, double first_x) {
  std::size_t length = per_trial.empty() ? 0 : std::numeric_limits<std::size_t>::max();
  for (const auto& values : per_trial) length = std::min(length, values.size());
  std::vector<double> x(length);
  for (std::size_t i = 0; i < length; ++i) x[i] = first_x + static_cast<double>(i);
  return series_over_trials(std::move(quantity), std::move(x_name), std::move(x), per_trial);
}

const char* name_of(Unit unit) {
  switch (unit) {
    case Unit::seed:
      return "seed";
    case Unit::training:
      return "training";
    case Unit::draw:
      return "draw";
    case Unit::sequence:
      return "sequence";
    case Unit::none:
      break;
  }
  return "trial";
}

namespace {

struct EvidenceText {
  const Claim& claim;

  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(const CountEvidence& e) const {
    if (e.value)
      return say("{} in each of {}", *e.value, plural(e.units_with_case, name_of(claim.unit)));
    const auto units = static_cast<double>(e.units_with_case);
    const bool tells_units = e.units_violated > 0 && units > 1 && units != e.cases;
    return grouped_count(e.violations) +
           (e.violations == 1 ? " violation in " : " violations in ") + grouped_count(e.cases) +
           (e.cases == 1 ? " case" : " cases") +
           (tells_units ? say(", in {} of {} {}s", grouped_count(double(e.units_violated)),
                              grouped_count(units), name_of(claim.unit))
                        : "");
  }
  std::string operator()(const NumberEvidence& e) const {
    return std::isfinite(e.value) ? short_number(e.value) : "";
  }
  template <class Interval>
  std::string operator()(const Interval& e) const {
    const std::string mean = "mean " + short_number(e.mean),
                      units = plural(e.n, name_of(claim.unit));
    if (e.n == 0) return "";  // the detail says that no value is finite
    if (!std::isfinite(e.high)) return mean + " (" + units + ")";
    if constexpr (requires { e.binomial; }) {
      if (e.binomial)
        return say("share {}, {} to {} ({} %, {})", e.mean, e.low, e.high, 100 * e.level, units);
    }
    return mean + " +- " + short_number(e.high - e.mean) + " (" + short_number(100 * e.level) +
           " %, " + units + ")";
  }
};

}  // namespace

std::string evidence_text(const Claim& claim) {
  return std::visit(EvidenceText{claim}, claim.evidence);
}

void drop_unused_trials(Result& result) {
  std::set<std::string> shown;
  const auto collect = [&](const Figure& figure) {
    for (const Panel& panel : figure.panels) {
      for (const Curve& curve : panel.curves) {
        if (curve.band == BandKind::trials) shown.insert(curve.series);
      }
    }
  };
  collect(result.figure);
  for (const Figure& figure : result.more_figures) collect(figure);
  for (Series& series : result.series) {
    if (!shows_each(series.trials.size()) || !shown.contains(series.name)) series.trials.clear();
  }
}

}  // namespace ranklab
