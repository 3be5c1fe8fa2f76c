#include "experiments/spike_plus_bulk/features/study.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "experiments/spike_plus_bulk/features/claims.hpp"
#include "experiments/spike_plus_bulk/features/report.hpp"
#include "experiments/spike_plus_bulk/features/trial.hpp"
#include "models/activations.hpp"

namespace ranklab {
namespace {

constexpr std::uint64_t largest_size = 100000;

class FeaturesStudy : public Study {
 public:
  explicit FeaturesStudy(LabelModel model) { config_.model = model; }
  std::vector<Field> fields() override;
  void validate() const override;
  Estimate estimate() const override { return features_estimate(config_); }
  Result run(Runner& runner) const override {
    const bool single_precision = runner.single_precision();
    return features_result(config_, runner.run([&](Trial& trial) { return features_trial(config_, single_precision, trial); }));
  }

 private:
  FeaturesConfig config_;
};

std::vector<Field> FeaturesStudy::fields() {
  FeaturesConfig& c = config_;
  std::vector<std::string> pointwise;
  for (const std::string& name : activation_names()) {
    if (!find_activation(name).gated) pointwise.push_back(name);
  }
  std::vector<Field> fields = {
      size_list_field("k", c.k, 2, largest_size, "k", "features, one row of numbers for each"),
      size_field("d", c.d, 0, largest_size, "d", "input dimension; 0: half of each k"),
      size_field("n", c.n, 0, 100'000'000, "n", "samples, at least 4; 0: twice each k"),
      choice_field("activation", c.activation, pointwise, "sigma", "activation of the features"),
      excluding_low(real_field("eta-offset", c.offset, 0.0, 1e6, "c", "Lemma 3.5 and Theorem 3.9: the step is 1/(c + ||B||)")),
  };
  if (c.model == LabelModel::realizable) {
    fields.push_back(size_field("phi-points", c.phi_points, 3, 10001, "", "points at which phi is shown, from -1 to 1"));
    fields.push_back(size_field("phi-samples", c.phi_samples, 100, 100'000'000, "", "samples of the Monte Carlo estimate of phi"));
  }
  return fields;
}

void FeaturesStudy::validate() const {
  if (config_.n != 0 && config_.n < 4) {
    throw UsageError("--n " + std::to_string(config_.n) + " is not allowed: 0, or at least 4 samples");
  }
}

}  // namespace

std::unique_ptr<Study> make_features_study(LabelModel model) {
  return std::make_unique<FeaturesStudy>(model);
}

}  // namespace ranklab
