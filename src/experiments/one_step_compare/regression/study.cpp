#include "experiments/one_step_compare/regression/config.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "experiments/one_step_compare/regression/regression.hpp"
#include "models/activations.hpp"

namespace ranklab {
namespace {

constexpr std::uint64_t largest_side = 10'000;

void require_order(const std::string& size, std::uint64_t low, std::uint64_t high) {
  if (low > high) {
    throw UsageError("--" + size + "-low: " + std::to_string(low) +
                     " is not allowed; allowed: at most --" + size +
                     "-high = " + std::to_string(high));
  }
}

double log_uniform_mean(std::uint64_t low, std::uint64_t high) {
  const double a = static_cast<double>(low), b = static_cast<double>(high);
  return b > a ? (b - a) / std::log(b / a) : a;
}

// The mean of the squares of these sizes.
double log_uniform_mean_square(std::uint64_t low, std::uint64_t high) {
  const double a = static_cast<double>(low), b = static_cast<double>(high);
  return low == high ? a * a : (b * b - a * a) / (2 * std::log(b / a));
}

class RegressionStudy : public Study {
 public:
  std::vector<Field> fields() override {
    RegressionConfig& c = config_;
    return {
        size_field("m-low", c.m_low, 1, largest_side, "m",
                   "fewest rows of W; sizes are drawn log-uniformly"),
        size_field("m-high", c.m_high, 1, largest_side, "m", "most rows of W"),
        size_field("k-low", c.k_low, 1, largest_side, "k", "fewest features"),
        size_field("k-high", c.k_high, 1, largest_side, "k", "most features"),
        size_field("n-low", c.n_low, 1, largest_side, "n", "fewest samples"),
        size_field("n-high", c.n_high, 1, largest_side, "n", "most samples"),
        choice_list_field("features", c.features, feature_names(), "A",
                          "construction of A: Gaussian, power-law singular values i^-p, or the "
                          "activation of random features"),
        choice_list_field("labels", c.labels, label_names(), "Y",
                          "construction of Y; low-rank: the residual has low rank; late: W after "
                          "steps of gradient descent"),
        real_field("decay", c.decay, 0.0, 20.0, "p", "largest exponent of power-law features"),
        real_field("deficient", c.deficient, 0.0, 1.0, "",
                   "share of gaussian and power-law A without full rank"),
        real_field("scale-decades", c.scale_decades, 0.0, 6.0, "",
                   "largest |u| of the random scales 10^u of A and W"),
        size_field("late", c.late, 1, 100'000'000, "t",
                   "most steps of gradient descent for late labels"),
        real_field("coupling-decades", c.coupling_decades, 0.0, 8.0, "alpha",
                   "largest |u| of the random C_op / L_F = 10^u of eq. (4.16)"),
    };
  }

  void validate() const override {
    require_order("m", config_.m_low, config_.m_high);
    require_order("k", config_.k_low, config_.k_high);
    require_order("n", config_.n_low, config_.n_high);
  }

  // Memory for the largest sizes. Floating-point operations on average over the sizes:
  // decompositions of A and of four gradients, products, and the calls for small matrices.
  Estimate estimate() const override {
    const RegressionConfig& c = config_;
    const double m_high = static_cast<double>(c.m_high), k_high = static_cast<double>(c.k_high),
                 n_high = static_cast<double>(c.n_high);
    const double m = log_uniform_mean(c.m_low, c.m_high), k = log_uniform_mean(c.k_low, c.k_high),
                 n = log_uniform_mean(c.n_low, c.n_high),
                 m_squared = log_uniform_mean_square(c.m_low, c.m_high),
                 k_squared = log_uniform_mean_square(c.k_low, c.k_high);
    constexpr double calls = 4e6;
    return {
        8 * (12 * k_high * n_high + 12 * m_high * n_high + 30 * m_high * k_high +
             4 * k_high * k_high),
        calls + 60 * k_squared * n + 40 * m * k * n + 400 * std::min(m_squared * k, m * k_squared)};
  }

  Result run(Runner& runner) const override {
    const bool single_precision = runner.single_precision();
    const auto records = runner.run(
        [&](Trial& trial) { return regression::run_trial(config_, single_precision, trial); });
    return regression::report(config_, records, single_precision);
  }

 private:
  RegressionConfig config_;
};

}  // namespace

std::vector<std::string> feature_names() {
  std::vector<std::string> names = {"gaussian", "power-law"};
  names.insert(names.end(), activation_names().begin(), activation_names().end());
  return names;
}

const std::vector<std::string>& label_names() {
  static const std::vector<std::string> names = {"realizable", "noisy", "arbitrary", "low-rank",
                                                 "late"};
  return names;
}

std::unique_ptr<Study> make_regression_study() {
  return std::make_unique<RegressionStudy>();
}

}  // namespace ranklab
