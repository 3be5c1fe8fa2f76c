#include "experiments/spike_plus_bulk/gradient_rank/judges.hpp"

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "experiments/spike_plus_bulk/gradient_rank/trial.hpp"

namespace ranklab::gradient_rank {
namespace {

std::vector<double> means_over_trials(const Evidence& run, const ValueAtK& value) {
  std::vector<double> means;
  for (const std::uint64_t k : run.k) {
    std::vector<double> values;
    for (const TrialRecord& record : run.records) values.push_back(value(record, k));
    means.push_back(summarise(values).mean);
  }
  return means;
}

// The fits of the means over trials, with standard errors.
std::string fits_of_means(const Evidence& run, const ValueAtK& value) {
  const std::vector<double> k(run.k.begin(), run.k.end()), means = means_over_trials(run, value);
  const LineFit line = fit_line(k, means), power = fit_power(k, means);
  return "fits of the means over " + std::to_string(run.k.size()) + " values of k: exponent " + short_number(power.slope) + " +- " +
         short_number(power.slope_error) + ", slope " + short_number(line.slope) + " +- " + short_number(line.slope_error) +
         " (standard errors); mean at k = " + std::to_string(run.k.front()) + ": " + short_number(means.front()) +
         ", at k = " + std::to_string(run.k.back()) + ": " + short_number(means.back());
}

}  // namespace

ValueAtK recorded(const std::string& quantity) {
  return [quantity](const TrialRecord& record, std::uint64_t k) { return record.scalar(at_k(k, quantity)); };
}

ValueAtK ratio(const std::string& numerator, const std::string& denominator) {
  return [=](const TrialRecord& record, std::uint64_t k) {
    return record.scalar(at_k(k, numerator)) / record.scalar(at_k(k, denominator));
  };
}

std::vector<LineFit> fits_over_k(const GradientRankConfig& config, const std::vector<TrialRecord>& records, const ValueAtK& value,
                                 Fit fit) {
  const std::vector<std::uint64_t> k = ascending_k(config);
  const std::vector<double> x(k.begin(), k.end());
  std::vector<LineFit> fits;
  for (const TrialRecord& record : records) {
    std::vector<double> y;
    for (const std::uint64_t each : k) y.push_back(value(record, each));
    fits.push_back(k.size() < 2 ? LineFit{undefined, undefined, undefined, undefined, undefined, 1} : fit(x, y));
  }
  return fits;
}

std::optional<Claim> unless_relu(const Evidence& run, const Text& text) {
  if (run.config.activation == "relu") return std::nullopt;
  return not_applicable(text.id, text.source, text.statement,
                        "the paper has relu here, the run's activation is " + run.config.activation);
}

Claim exponent_claim(const Evidence& run, const Text& text, const ValueAtK& value, double low, double high) {
  if (auto other = unless_relu(run, text)) return *other;
  if (run.k.size() < fewest_k) {
    return not_applicable(text.id, text.source, text.statement,
                          "an exponent needs three values of --k, this run has " + std::to_string(run.k.size()));
  }
  std::vector<double> exponents;
  for (const LineFit& fit : fits_over_k(run.config, run.records, value, fit_power)) exponents.push_back(fit.slope);
  return judge_mean(text.id, text.source, text.statement, exponents, low, high,
                    "exponent of a power law in k, one fit per trial; " + fits_of_means(run, value));
}

Claim first_step_claim(const Evidence& run, const Text& text, const ValueAtK& value, double low, double high) {
  if (run.config.c != 1.0) {
    return not_applicable(text.id, text.source, text.statement,
                          "about the step 1/||B|| or 1/(offset + ||B||); this run has --c " + short_number(run.config.c));
  }
  return exponent_claim(run, text, value, low, high);
}

Claim inequality_claim(const Evidence& run, const Text& text, const ValueAtK& lower, const ValueAtK& upper) {
  double cases = 0, violations = 0, closest = infinity;
  for (const TrialRecord& record : run.records) {
    for (const std::uint64_t k : run.k) {
      const double small = lower(record, k), large = upper(record, k);
      if (!std::isfinite(small) || !std::isfinite(large)) continue;
      cases += 1;
      closest = std::min(closest, large / small);
      if (small > large * (1 + rounding_slack)) violations += 1;
    }
  }
  return judge_violations(text.id, text.source, text.statement, violations, cases,
                          cases > 0 ? "smallest ratio of the two sides " + short_number(closest) : "a constant is not positive");
}

}  // namespace ranklab::gradient_rank
