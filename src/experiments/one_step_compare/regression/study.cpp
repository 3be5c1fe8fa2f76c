#include "experiments/one_step_compare/regression/config.hpp"

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

  // For the largest sizes.
  Estimate estimate() const override {
    const double m = static_cast<double>(config_.m_high), k = static_cast<double>(config_.k_high),
                 n = static_cast<double>(config_.n_high);
    return {.bytes = 8 * (12 * k * n + 12 * m * n + 30 * m * k + 4 * k * k)};
  }

  Work work() const override {
    return each_trial([this](Trial& trial) { return regression::run_trial(config_, trial); });
  }
  Result report(const Records& records) const override {
    return regression::report(config_, records);
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
