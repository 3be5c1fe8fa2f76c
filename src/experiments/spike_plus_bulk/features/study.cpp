// The study features: flags and plan.
#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "experiments/spike_plus_bulk/features/features.hpp"
#include "models/activations.hpp"

namespace ranklab {
namespace features {
namespace {

// Why the sizes of this run do not satisfy "k proportional to d, d growing"; empty if they do.
std::string why_no_rates(const Plan& plan) {
  if (plan.sizes.size() < 3)
    return "--k has fewer than three sizes, so no exponent can be fitted with an error";
  if (plan.d.front() == plan.d.back())
    return "--d is fixed; the statement is about a d that grows with k";
  std::vector<double> samples;  // n/d
  for (std::size_t i = 0; i < plan.d.size(); ++i) samples.push_back(plan.n[i] / plan.d[i]);
  const auto [smallest, largest] = std::minmax_element(samples.begin(), samples.end());
  return *largest > 1.1 * *smallest ? "n is not proportional to d over the sizes of this run" : "";
}

}  // namespace

Plan make_plan(const FeaturesConfig& config, LabelModel model) {
  Plan plan{config, model, {}, {}, {}, {}, {}, {}, std::vector<double>(config.phi_points),
            "",     false};
  for (const std::uint64_t k : config.k) {
    plan.sizes.push_back({k, config.d == 0 ? k / 2 : config.d,
                          config.n == 0 ? std::max<std::uint64_t>(2 * k, 4) : config.n});
  }
  std::sort(plan.sizes.begin(), plan.sizes.end(),
            [](const Size& a, const Size& b) { return a.k < b.k; });
  for (const Size& size : plan.sizes) {
    plan.k.push_back(static_cast<double>(size.k));
    plan.d.push_back(static_cast<double>(size.d));
    plan.n.push_back(static_cast<double>(size.n));
    plan.singular |= size.n <= size.k;
  }
  std::vector<std::uint64_t> wide_d = config.wide_d;
  std::sort(wide_d.begin(), wide_d.end());
  for (const std::uint64_t d : wide_d) {
    const double x = static_cast<double>(d);
    plan.wide.push_back({static_cast<std::uint64_t>(std::lround(std::pow(x, wide_power))), d, 0});
    plan.wide_d.push_back(x);
  }
  for (std::size_t i = 0; i < plan.phi_at.size(); ++i) {
    plan.phi_at[i] =
        -1.0 + 2.0 * static_cast<double>(i) / static_cast<double>(plan.phi_at.size() - 1);
  }
  plan.no_rates = why_no_rates(plan);
  return plan;
}

}  // namespace features

namespace {

constexpr std::uint64_t largest_wide_d = 512;  // 55,000 features

class FeaturesStudy : public Study {
 public:
  explicit FeaturesStudy(LabelModel model) : model_(model) {}

  std::vector<Field> fields() override {
    FeaturesConfig& c = config_;
    std::vector<std::string> pointwise;
    for (const std::string& name : activation_names()) {
      if (!find_activation(name).gated) pointwise.push_back(name);
    }
    std::vector<Field> fields = {
        size_list_field("k", c.k, 2, largest_size, "k",
                        "numbers of features, with one row of results each"),
        size_field("d", c.d, 0, largest_size, "d", "input dimension; 0: k/2 for each k"),
        size_field("n", c.n, 0, 100'000'000, "n", "samples, at least 4; 0: 2k for each k"),
        choice_field("activation", c.activation, pointwise, "sigma", "activation of the features"),
        excluding_low(
            real_field("eta-offset", c.offset, 0.0, 1e6, "c",
                       "constant of the step 1/(c + ||B||) in Lemma 3.5 and Theorem 3.9")),
    };
    if (model_ == LabelModel::realizable) {
      fields.push_back(size_field("phi-points", c.phi_points, 3, 10001, "",
                                  "number of points from -1 to 1 at which phi is shown"));
      fields.push_back(size_field("phi-samples", c.phi_samples, 100, 100'000'000, "",
                                  "samples of the Monte Carlo estimate of phi"));
    } else {
      fields.push_back(size_list_field("wide-d", c.wide_d, 2, largest_wide_d, "d",
                                       "input dimensions at which Theorem 3.7 is measured with "
                                       "d^(7/4) features"));
    }
    return fields;
  }

  void validate() const override {
    if (config_.n != 0 && config_.n < 4) {
      throw UsageError("--n " + std::to_string(config_.n) +
                       " is not allowed: 0, or at least 4 samples");
    }
  }

  Estimate estimate() const override {
    const features::Plan run = plan();
    const bool teacher = run.teacher();
    Estimate cost;
    double largest = 0.0, of_helper = 0.0, blocks = 0.0;
    for (std::size_t i = 0; i < run.sizes.size(); ++i) {
      const double k = run.k[i], d = run.d[i], n = run.n[i], maps = teacher ? 2.0 : 1.0,
                   columns = std::min(n, static_cast<double>(features::block_columns));
      // Sums of two halves, temporaries of the same size, one block of features.
      largest = std::max(largest, (teacher ? 24.0 : 10.0) * k * k + 3.0 * maps * k * d +
                                      3.0 * (maps * k + d) * columns);
      // A helper multiplies a block or computes a spectrum.
      of_helper = std::max(of_helper, 3.0 * k * k + 3.0 * (maps * k + d) * columns);
      blocks = std::max(blocks, n / columns);
    }
    if (!teacher) {
      const double samples = static_cast<double>(config_.phi_samples);
      largest = std::max(largest, 8.0 * samples);
    }
    if (teacher) {
      for (const features::Size& size : run.wide) {
        const double k = static_cast<double>(size.k), d = static_cast<double>(size.d);
        largest = std::max(largest, 6.0 * k * k + 4.0 * k * d);
      }
    }
    cost.bytes = 8.0 * largest;
    cost.helper_bytes = 8.0 * of_helper;
    cost.helpers = static_cast<std::uint64_t>(std::max(blocks, 8.0));
    return cost;
  }

  Work work() const override {
    return each_trial([run = plan()](Trial& trial) { return features::run_trial(run, trial); });
  }
  Result report(const Records& records) const override { return features::report(plan(), records); }

 private:
  features::Plan plan() const { return features::make_plan(config_, model_); }

  LabelModel model_;
  FeaturesConfig config_;
};

}  // namespace

std::unique_ptr<Study> make_features_study(LabelModel model) {
  return std::make_unique<FeaturesStudy>(model);
}

}  // namespace ranklab
