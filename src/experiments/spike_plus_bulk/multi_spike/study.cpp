#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "core/text.hpp"
#include "experiments/spike_plus_bulk/multi_spike/multi_spike.hpp"
#include "models/spiked_gram.hpp"

namespace ranklab {
namespace multi_spike {
namespace {

std::string name_part(const std::string& name, double value, std::size_t values) {
  return values == 1 ? "" : name + "=" + series_number(value) + ",";
}

std::vector<SpikePair> spike_pairs(const MultiSpikeConfig& config) {
  const bool single = config.spikes == 1;  // d^u for any l
  const std::vector<double> lows = single ? std::vector<double>{0.0} : config.spike_low;
  std::vector<SpikePair> pairs;
  for (const double low : lows) {
    for (const double high : config.spike_high) {
      const std::string names =
          name_part("l", low, lows.size()) + name_part("u", high, config.spike_high.size());
      if (low <= high) pairs.push_back({single ? high : low, high, names});
    }
  }
  return pairs;
}

// 0 to 5, then each a third larger than the one before, and the horizon.
std::vector<std::uint64_t> recorded_iterations(std::uint64_t horizon) {
  std::vector<std::uint64_t> iterations;
  for (std::uint64_t t = 0; t < horizon; t += 1 + (t < 5 ? 0 : t / 3)) iterations.push_back(t);
  iterations.push_back(horizon);
  return iterations;
}

// The window lasts from C_1 d^(u-l) log d to C_2 d^u with the constants of the proof: C_1 = c u, at
// which (3.12) becomes 1, and C_2 = c, at which a bulk direction with eigenvalue 1 has lost a
// factor e. The window of Remarks 1 and 2 lasts to c eps / (2 c_2) d^u log d: until then no bulk
// direction has lost more than d^(-eps/2), so the square in nr costs at most d^(-eps).
Setting setting(const Plan& plan, const SpikeFamily& family, std::uint64_t size) {
  const double d = static_cast<double>(size), epsilon = plan.config.epsilon;
  Setting at{size,
             at_size(family.names, size),
             d * (plan.teacher() ? 0.2 : 0.25),
             std::pow(d, 1 - epsilon),
             {},
             {},
             0,
             {}};
  at.window = {whole_count(std::ceil(family.c * family.pair.high * family.pair.burn_in_scale(d))),
               whole_count(family.c * family.pair.window_scale(d))};
  const double remark_factor = family.c * epsilon / (2 * plan.c_2);
  at.remark_window = {at.window.from, whole_count(remark_factor * family.pair.remark_scale(d))};
  at.horizon = plan.config.steps > 0
                   ? plan.config.steps
                   : whole_count(std::ceil(20 * family.c * family.pair.remark_scale(d)));
  at.iterations = recorded_iterations(at.horizon);
  return at;
}

}  // namespace

double SpikePair::smallest_spike(double d) const {
  return std::pow(d, low);
}

double SpikePair::largest_spike(double d) const {
  return std::pow(d, high);
}

double SpikePair::burn_in_scale(double d) const {
  return std::pow(d, high - low) * std::log(d);
}

double SpikePair::window_scale(double d) const {
  return std::pow(d, high);
}

double SpikePair::remark_scale(double d) const {
  return std::pow(d, high) * std::log(d);
}

std::string at_size(const std::string& names, std::uint64_t d) {
  return names + "d=" + std::to_string(d) + ".";
}

Plan make_plan(const MultiSpikeConfig& config, LabelModel model) {
  Plan plan{config, model, {config.d.begin(), config.d.end()}, spike_pairs(config), {}, 0, 0, 0};
  plan.c_1 = SpikedShape().bulk_low;
  plan.c_2 = SpikedShape().bulk_high;
  double log_sum = 0;
  for (const double d : plan.d) log_sum += std::log(d);
  plan.exponent_tolerance = static_cast<double>(plan.d.size()) / log_sum;
  for (const SpikePair& pair : plan.pairs) {
    for (const double c : config.c) {
      SpikeFamily family{pair, c, pair.names + name_part("c", c, config.c.size()), {}};
      for (const std::uint64_t d : config.d) family.settings.push_back(setting(plan, family, d));
      plan.families.push_back(std::move(family));
    }
  }
  return plan;
}

}  // namespace multi_spike

namespace {

class MultiSpikeStudy : public Study {
 public:
  explicit MultiSpikeStudy(LabelModel model) : model_(model) {}

  std::vector<Field> fields() override {
    MultiSpikeConfig& c = config_;
    const bool teacher = model_ == LabelModel::teacher;
    return {
        size_list_field("d", c.d, 4, 4096, "d",
                        "sizes k = m = d; a fit over d needs three or more"),
        size_field("spikes", c.spikes, 1, 4096, teacher ? "p" : "r",
                   "number of spikes, at most the smallest d"),
        excluding_low(
            real_list_field("spike-low", c.spike_low, 0.0, 2.0, "l",
                            "exponent of the smallest spike d^l; pairs with l > u are skipped")),
        excluding_low(
            real_list_field("spike-high", c.spike_high, 0.0, 2.0, "u",
                            "exponent of the largest spike d^u; a single spike is d^u for any l")),
        real_list_field("c", c.c, 0.5, 1000.0, "c",
                        "constant of the step 1 / (c ||B||); the theorems assume c >= 1"),
        size_field("steps", c.steps, 0, 1'000'000'000, "T",
                   "last iteration to examine; 0: 20 c d^u log d"),
        excluding_low(real_field("epsilon", c.epsilon, 0.0, 1.0, "eps",
                                 "exponent of the longer window, nr >= d^(1 - eps); below 1")),
    };
  }

  void validate() const override {
    if (plan().pairs.empty())
      throw UsageError(
          "--spike-low is above --spike-high in every pair; at least one pair must have l <= u");
    const std::uint64_t smallest = *std::min_element(config_.d.begin(), config_.d.end());
    if (config_.spikes > smallest) {
      throw UsageError("--spikes " + std::to_string(config_.spikes) +
                       " is not allowed: at most the smallest --d, " + std::to_string(smallest));
    }
    if (config_.steps == 1) throw UsageError("--steps 1 is not allowed: 0, or at least 2");
    if (config_.epsilon >= 1.0) throw UsageError("--epsilon 1 is not allowed: below 1");
  }

  Estimate estimate() const override {
    constexpr double typical_searches =
        40;  // singular value decompositions of a family at one size, in addition to the series
    const multi_spike::Plan run = plan();
    Estimate cost;
    for (std::size_t i = 0; i < run.d.size(); ++i) {
      const double d = run.d[i];
      // Bases, parts, B, G_0 and their eigenvectors. The parts of a trial run one after another
      // unless spare threads are available.
      cost.bytes = std::max(cost.bytes, 8 * (run.teacher() ? 22 : 14) * d * d);
      for (const multi_spike::SpikeFamily& family : run.families) {
        const double evaluations =
            typical_searches + static_cast<double>(family.settings[i].iterations.size());
        cost.bytes += 8 * evaluations;
      }
    }
    return cost;
  }

  Work work() const override {
    return each_trial([run = plan()](Trial& trial) { return multi_spike::run_trial(run, trial); });
  }
  Result report(const Records& records) const override {
    return multi_spike::report(plan(), records);
  }

 private:
  multi_spike::Plan plan() const { return multi_spike::make_plan(config_, model_); }

  const LabelModel model_;
  MultiSpikeConfig config_;
};

}  // namespace

std::unique_ptr<Study> make_multi_spike_study(LabelModel model) {
  return std::make_unique<MultiSpikeStudy>(model);
}

}  // namespace ranklab
