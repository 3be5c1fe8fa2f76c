// How the study gradient-rank judges: exponents of power laws in k, and inequalities at every k of every trial.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/fits.hpp"
#include "experiments/spike_plus_bulk/gradient_rank/config.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab::gradient_rank {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

// "Of order k" is judged by the exponent e of a power law k^e over the run's values of k. A quantity counts as linear within
// `linear_margin` of e = 1, and as bounded up to `bounded_margin`: k^(1/4) grows by 1.7 where k grows by 8. A logarithm has
// e = 0.2 from k = 64 to 512, so that no such fit tells it from a constant.
inline constexpr double linear_margin = 0.1, bounded_margin = 0.25;
/// Inequalities that hold exactly are compared with this relative slack for rounding.
inline constexpr double rounding_slack = 1e-9;
/// Values of k below which no fit over k is judged or drawn.
inline constexpr std::size_t fewest_k = 3;

/// What a claim is judged from.
struct Evidence {
  const GradientRankConfig& config;
  LabelModel model;
  const std::vector<TrialRecord>& records;
  std::vector<std::uint64_t> k;  // ascending

  bool teacher() const { return model == LabelModel::teacher; }
};

/// The words of a claim.
struct Text {
  std::string id, source, statement;
};

/// A quantity of one trial at one k.
using ValueAtK = std::function<double(const TrialRecord& record, std::uint64_t k)>;
ValueAtK recorded(const std::string& quantity);
ValueAtK ratio(const std::string& numerator, const std::string& denominator);

/// One fit over k per trial, by fit_line or fit_power; all NaN where the run has a single k.
using Fit = LineFit (*)(std::span<const double>, std::span<const double>);
std::vector<LineFit> fits_over_k(const GradientRankConfig& config, const std::vector<TrialRecord>& records, const ValueAtK& value,
                                 Fit fit);

/// A statement about ReLU features: the claim that is not applicable to another activation, or nothing.
std::optional<Claim> unless_relu(const Evidence& run, const Text& text);

/// Holds where the mean exponent over trials lies in [low, high]; about ReLU features, and for at least three values of k.
Claim exponent_claim(const Evidence& run, const Text& text, const ValueAtK& value, double low, double high);

/// The same for a statement about the step 1/||B|| or 1/(offset + ||B||) alone.
Claim first_step_claim(const Evidence& run, const Text& text, const ValueAtK& value, double low, double high);

/// A violation where lower > upper, for each trial and k; where either is undefined there is no case.
Claim inequality_claim(const Evidence& run, const Text& text, const ValueAtK& lower, const ValueAtK& upper);

}  // namespace ranklab::gradient_rank
