#include "experiments/spike_plus_bulk/features/claims.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/fits.hpp"
#include "core/text.hpp"

namespace ranklab {
namespace {

// Why the sizes of this run are not "k proportional to d, d growing"; empty where they are.
std::string why_no_rates(const std::vector<FeatureSize>& sizes) {
  if (sizes.size() < 3) return "fewer than three sizes in --k, so that no exponent can be fitted with an error";
  if (sizes.front().d == sizes.back().d) return "--d is fixed, and the statement is about d growing with k";
  double smallest = std::numeric_limits<double>::infinity(), largest = 0.0;
  for (const FeatureSize& size : sizes) {
    const double ratio = static_cast<double>(size.n) / static_cast<double>(size.d);
    smallest = std::min(smallest, ratio);
    largest = std::max(largest, ratio);
  }
  if (largest > 1.1 * smallest) return "n is not proportional to d over the sizes of this run";
  return "";
}

}  // namespace

FeatureRun::FeatureRun(const FeaturesConfig& run_config, const std::vector<TrialRecord>& run_records)
    : config(run_config), records(run_records), sizes(feature_sizes(run_config)) {
  std::sort(sizes.begin(), sizes.end(), [](const FeatureSize& a, const FeatureSize& b) { return a.k < b.k; });
  no_rates = why_no_rates(sizes);
}

bool FeatureRun::singular() const {
  return std::any_of(sizes.begin(), sizes.end(), [](const FeatureSize& size) { return size.n <= size.k; });
}

std::vector<double> FeatureRun::values(const FeatureSize& size, const std::string& name) const {
  return scalars_of(records, size.prefix() + name);
}

SizeMetric metric(const std::string& name) {
  return [name](const TrialRecord& record, const FeatureSize& size) { return record.scalar(size.prefix() + name); };
}

SizeMetric metric_over(const std::string& name, const std::function<double(const FeatureSize&)>& unit) {
  return
      [name, unit](const TrialRecord& record, const FeatureSize& size) { return record.scalar(size.prefix() + name) / unit(size); };
}

std::vector<double> exponents(const FeatureRun& run, const SizeMetric& measured) {
  std::vector<double> slopes;
  for (const TrialRecord& record : run.records) {
    std::vector<double> d, y;
    for (const FeatureSize& size : run.sizes) {
      const double value = measured(record, size);
      if (!std::isfinite(value) || value <= 0.0) continue;
      d.push_back(static_cast<double>(size.d));
      y.push_back(value);
    }
    const bool enough = d.size() >= 3 && d.front() < d.back();
    slopes.push_back(enough ? fit_power(d, y).slope : std::numeric_limits<double>::quiet_NaN());
  }
  return slopes;
}

void only_about_relu(const FeatureRun& run, std::vector<Claim>& claims, std::size_t from) {
  if (run.config.activation == "relu") return;
  for (std::size_t i = from; i < claims.size(); ++i) {
    claims[i] = not_applicable(claims[i].id, claims[i].source, claims[i].statement,
                               "the statement is about relu, this run about " + run.config.activation);
  }
}

std::string range_text(const FeatureRun& run, const SizeMetric& measured) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const TrialRecord& record : run.records) {
    for (const FeatureSize& size : run.sizes) {
      const double value = measured(record, size);
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  return low <= high ? short_number(low) + " to " + short_number(high) : "undefined";
}

Claim judge_exponent(const FeatureRun& run, const ClaimText& text, const SizeMetric& measured, double low, double high,
                     const std::string& detail) {
  if (!run.no_rates.empty()) return not_applicable(text.id, text.source, text.statement, run.no_rates);
  return judge_mean(text.id, text.source, text.statement, exponents(run, measured), low, high,
                    detail + "; the exponent in d, fitted to each trial over " + std::to_string(run.sizes.size()) +
                        " sizes up to d = " + std::to_string(run.largest().d) + ", slack " + short_number(exponent_slack));
}

Claim judge_constant(const FeatureRun& run, const ClaimText& text, const std::string& name, double expected, double band,
                     const std::string& detail) {
  const double width = band * std::fabs(expected);
  return judge_at_largest(run, text, name, expected - width, expected + width,
                          detail + ", expected " + short_number(expected) + " within " + short_number(100.0 * band) + "%");
}

Claim judge_at_largest(const FeatureRun& run, const ClaimText& text, const std::string& name, double low, double high,
                       const std::string& detail) {
  const FeatureSize& size = run.largest();
  if (std::min(size.k, size.n) < smallest_measured) {
    return not_applicable(text.id, text.source, text.statement,
                          "fewer than " + std::to_string(smallest_measured) + " features or samples even at the largest size");
  }
  return judge_mean(
      text.id, text.source, text.statement, run.values(size, name), low, high,
      detail + "; at k = " + std::to_string(size.k) + ", d = " + std::to_string(size.d) + ", n = " + std::to_string(size.n));
}

Claim judge_everywhere(const FeatureRun& run, const ClaimText& text, const SizeMetric& margin, const std::string& detail) {
  double cases = 0.0, violations = 0.0;
  for (const TrialRecord& record : run.records) {
    for (const FeatureSize& size : run.sizes) {
      const double value = margin(record, size);
      if (std::isnan(value)) continue;
      cases += 1.0;
      if (value < 0.0) violations += 1.0;
    }
  }
  return judge_violations(text.id, text.source, text.statement, violations, cases, detail);
}

}  // namespace ranklab
