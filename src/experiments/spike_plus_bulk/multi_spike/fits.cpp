#include <algorithm>
#include <cmath>
#include <limits>

#include "core/fits.hpp"
#include "experiments/spike_plus_bulk/multi_spike/claims.hpp"

namespace ranklab {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

double real(std::uint64_t n) {
  return static_cast<double>(n);
}

}  // namespace

std::string claim_id(const std::string& base, const std::string& names) {
  return names.empty() ? base : base + "/" + names.substr(0, names.size() - 1);
}

double exponent_tolerance(const MultiSpikeConfig& config) {
  double sum = 0;
  for (const std::uint64_t d : config.d) sum += std::log(real(d));
  return real(config.d.size()) / sum;
}

std::vector<double> exponents_over_d(const MultiSpikeRun& run, const std::string& names, const std::string& quantity,
                                     const SizeScale& scale, double* standard_error) {
  std::vector<double> exponents, errors;
  for (const TrialRecord& record : run.records) {
    std::vector<double> x, y;
    for (const std::uint64_t d : run.config.d) {
      const double value = record.scalar(names + "d=" + std::to_string(d) + "." + quantity) / scale(real(d));
      if (!(value > 0) || !std::isfinite(value)) continue;
      x.push_back(real(d));
      y.push_back(value);
    }
    const LineFit fit = x.size() < 3 ? LineFit{undefined, undefined, undefined} : fit_power(x, y);
    exponents.push_back(fit.slope);
    errors.push_back(fit.slope_error);
  }
  if (standard_error != nullptr) *standard_error = summarise(errors).mean;
  return exponents;
}

std::vector<double> burn_in_slopes(const MultiSpikeRun& run, const SpikeFamily& family) {
  std::vector<double> slopes;
  for (const TrialRecord& record : run.records) {
    std::vector<double> x, y;
    for (const std::uint64_t d : run.config.d) {
      const double crossing = record.scalar(family.at(d) + "burn_in_crossing");
      if (!std::isfinite(crossing)) continue;
      const double burn_in = crossing > 0 ? std::max(crossing, 1.0) : 0.0;
      x.push_back(std::log(real(d)));
      y.push_back(burn_in * std::log(real(d)) / burn_in_scale(family.pair, real(d)));
    }
    slopes.push_back(x.size() < 3 ? undefined : fit_line(x, y).slope);
  }
  return slopes;
}

Claim judge_exponent(const MultiSpikeRun& run, const std::string& id, const std::string& source, const std::string& statement,
                     const std::vector<double>& exponents, double low, double high, const std::string& detail) {
  if (run.config.d.size() < 3) return not_applicable(id, source, statement, "a fit over d takes three sizes or more; " + detail);
  return judge_mean(id, source, statement, exponents, low, high, detail);
}

}  // namespace ranklab
