#include "experiments/rank_collapse/depth/report.hpp"
#include "core/text.hpp"

#include <cmath>

#include "core/statistics.hpp"

namespace ranklab {
namespace {

// The rows of D that were set to zero, over all curves of a trial.
std::vector<double> sum_over_curves(const std::vector<std::string>& curves, const std::string& name,
                                    const std::vector<TrialRecord>& records) {
  std::vector<double> sums;
  for (const TrialRecord& record : records) {
    double sum = 0;
    for (const std::string& curve : curves) sum += record.scalar(curve + "." + name);
    sums.push_back(sum);
  }
  return sums;
}

}  // namespace

void add_depth_series(const std::string& curve, const std::vector<TrialRecord>& records, Result& result) {
  std::vector<std::string> names;
  for (const std::string& measure : depth_measures()) names.push_back(curve + "." + measure);
  names.push_back(curve + ".log10_norm");
  for (const std::string& measure : depth_measures()) names.push_back(curve + ".before." + measure);
  for (const std::string& name : names) {
    if (!records.empty() && !records.front().has(name)) continue;
    result.series.push_back(series_over_trials(name, "layer", arrays_of(records, name)));
  }
  for (const std::string& name : {curve + ".branch_input_norm", curve + ".branch_output_norm"}) {
    if (records.empty() || !records.front().has(name)) continue;
    result.series.push_back(series_over_trials(name, "layer", arrays_of(records, name), 1.0));
  }
}

void add_depth_scalars(const std::vector<std::string>& curves, const std::vector<TrialRecord>& records, Result& result) {
  result.scalars.push_back({"degenerate_rows", sum_over_curves(curves, "degenerate_rows", records)});
  std::vector<double> diverged(records.size(), 0.0);
  std::vector<std::string> left;
  for (const std::string& curve : curves) {
    double first = 0;
    for (std::size_t t = 0; t < records.size(); ++t) {
      const double layer = records[t].scalar(curve + ".overflow_layer");
      if (layer == 0) continue;
      diverged[t] += 1;
      first = first == 0 ? layer : std::min(first, layer);
    }
    if (first > 0) left.push_back(curve + " (layer " + short_number(first) + ")");
  }
  result.scalars.push_back({"diverged", diverged});
  if (left.empty()) return;
  result.diverged = true;
  result.notes.push_back("Beyond the range of the numbers, at the earliest in layer: " + joined(left) +
                         "; what follows there is undefined.");
}

std::vector<double> final_values(const std::string& curve, const std::string& measure, const std::vector<TrialRecord>& records) {
  std::vector<double> values;
  for (const TrialRecord& record : records) values.push_back(record.array(curve + "." + measure).back());
  return values;
}

std::string collapse_note(const std::vector<std::string>& curves, double threshold, const std::vector<TrialRecord>& records) {
  std::vector<std::string> by_mu, by_rank_alone, kept;
  for (const std::string& curve : curves) {
    const double mu = summarise(final_values(curve, "mu_normalized", records)).mean;
    // Both are squared distances over ||Y||_F^2, to equal tokens and to parallel ones: compared as mu is, by their roots.
    const double from_rank_one = std::sqrt(summarise(final_values(curve, "rank_one_residual", records)).mean);
    if (!std::isfinite(mu)) continue;
    (mu < threshold ? by_mu : from_rank_one < threshold ? by_rank_alone : kept).push_back(curve);
  }
  const auto list = [](const std::vector<std::string>& names) { return names.empty() ? std::string("none") : joined(names); };
  return "At the last layer, on average, against " + short_number(threshold) +
         ": mu_normalized is below it (the tokens are equal) for " + list(by_mu) +
         "; the root of rank_one_residual alone is below it (the tokens are parallel or anti-parallel, a collapse that " +
         "mu does not see) for " + list(by_rank_alone) + "; both are above it for " + list(kept) + ".";
}

}  // namespace ranklab
