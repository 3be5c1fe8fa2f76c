#include "experiments/spike_plus_bulk/multi_spike/config.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "experiments/spike_plus_bulk/multi_spike/report.hpp"
#include "experiments/spike_plus_bulk/multi_spike/settings.hpp"
#include "experiments/spike_plus_bulk/multi_spike/trial.hpp"

namespace ranklab {
namespace {

class MultiSpikeStudy : public Study {
 public:
  explicit MultiSpikeStudy(LabelModel model) : model_(model) {}

  std::vector<Field> fields() override {
    MultiSpikeConfig& c = config_;
    const bool teacher = model_ == LabelModel::teacher;
    return {
        size_list_field("d", c.d, 4, 4096, "d", "sizes k = m = d; a fit over d takes three or more"),
        size_field("spikes", c.spikes, 1, 4096, teacher ? "p" : "r", "number of spikes, at most the smallest d"),
        excluding_low(
            real_list_field("spike-low", c.spike_low, 0.0, 2.0, "l", "the smallest spike is d^l; pairs with l > u are left out")),
        excluding_low(real_list_field("spike-high", c.spike_high, 0.0, 2.0, "u",
                                      "the largest spike is d^u, and so is a single one, whatever l")),
        real_list_field("c", c.c, 0.5, 1000.0, "c", "step 1 / (c ||B||); the theorems take c >= 1"),
        size_field("steps", c.steps, 0, 1'000'000'000, "T", "last iteration looked at; 0: 20 c d^u log d"),
        excluding_low(real_field("epsilon", c.epsilon, 0.0, 1.0, "eps", "the longer window has nr >= d^(1 - eps); below 1")),
    };
  }

  void validate() const override {
    if (spike_pairs(config_).empty()) throw UsageError("--spike-low is above --spike-high in every pair: some l <= u is needed");
    const std::uint64_t smallest = *std::min_element(config_.d.begin(), config_.d.end());
    if (config_.spikes > smallest) {
      throw UsageError("--spikes " + std::to_string(config_.spikes) + " is not allowed: at most the smallest --d, " +
                       std::to_string(smallest));
    }
    if (config_.steps == 1) throw UsageError("--steps 1 is not allowed: 0, or 2 and more");
    if (config_.epsilon >= 1.0) throw UsageError("--epsilon 1 is not allowed: below 1");
  }

  Estimate estimate() const override {
    Estimate cost;
    const bool teacher = model_ == LabelModel::teacher;
    for (const std::uint64_t size : config_.d) {
      const double d = static_cast<double>(size), cube = d * d * d;
      // Bases, parts, B, G_0 and their eigenvectors; the parts of a trial run one after another unless threads are spare.
      cost.bytes = std::max(cost.bytes, 8 * (teacher ? 22 : 14) * d * d);
      // Decompositions once per pair: QR, eigenvectors, spectra of the parts, the singular vectors of B-bar.
      cost.flops += static_cast<double>(spike_pairs(config_).size()) * (teacher ? 75 : 40) * cube;
      for (const SpikeFamily& family : spike_families(config_)) {
        const double evaluations = typical_evaluations(horizon(config_, family, size));
        cost.flops += (evaluations * 4 + 11) * cube;
        cost.bytes += 8 * evaluations;
      }
    }
    return cost;
  }

  Result run(Runner& runner) const override {
    const auto records =
        runner.run([&](Trial& trial) { return multi_spike_trial(config_, model_, runner.single_precision(), trial); });
    return multi_spike_result(config_, model_, records);
  }

 private:
  const LabelModel model_;
  MultiSpikeConfig config_;
};

}  // namespace

std::unique_ptr<Study> make_multi_spike_study(LabelModel model) {
  return std::make_unique<MultiSpikeStudy>(model);
}

}  // namespace ranklab
