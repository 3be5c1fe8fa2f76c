#include "experiments/spike_plus_bulk/gradient_rank/config.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "core/text.hpp"
#include "experiments/spike_plus_bulk/gradient_rank/report.hpp"
#include "experiments/spike_plus_bulk/gradient_rank/trial.hpp"
#include "models/activations.hpp"

namespace ranklab {
namespace {

constexpr std::uint64_t largest_size = 100'000, largest_steps = 100'000'000;
// For the estimate: singular value decompositions that find a window, and steps of the iteration that checks the closed form.
constexpr double window_samples = 40, iterated_steps = 64;

std::uint64_t scaled(std::uint64_t k, double ratio, const std::string& flag) {
  const double size = std::round(static_cast<double>(k) * ratio);
  if (size < 1) {
    throw UsageError("--k " + std::to_string(k) + " and " + flag + " " + short_number(ratio) +
                     " are not allowed together: their product rounds to 0");
  }
  return static_cast<std::uint64_t>(size);
}

class GradientRankStudy : public Study {
 public:
  explicit GradientRankStudy(LabelModel model) : model_(model) {}

  std::vector<Field> fields() override {
    GradientRankConfig& c = config_;
    Field sample_steps{"sample-steps", &c.sample_steps, "t", "iterations to record: a list from 0 to --steps, or all"};
    sample_steps.numeric_words = true;
    return {
        choice_field("activation", c.activation, activation_names(), "sigma", "activation of the features; swiglu is gated"),
        size_list_field("k", c.k, 2, largest_size, "k", "features, one curve for each"),
        excluding_low(real_field("d-ratio", c.d_ratio, 0.0, 1000.0, "d/k", "input dimension over features")),
        excluding_low(real_field("n-ratio", c.n_ratio, 0.0, 1000.0, "n/k", "samples over features")),
        size_field("m", c.m, 0, largest_size, "m", "rows of W; 0: as many as features"),
        size_field("steps", c.steps, 1, largest_steps, "T", "iterations of gradient descent"),
        sample_steps,
        real_field("c", c.c, 0.5, 1e6, "c", "gradient descent takes the step 1/(c ||B|| + eta-offset)"),
        real_field("eta-offset", c.eta_offset, 0.0, 1e6, "c", "Lemma 3.5's and Theorem 3.9's constant; 0 clears the top direction"),
    };
  }

  void validate() const override {
    for (const std::uint64_t k : config_.k) sizes_at(config_, k);
    sampled_steps(config_);
  }

  Estimate estimate() const override {
    const double samples = static_cast<double>(sampled_steps(config_).size());
    const double labels = model_ == LabelModel::teacher ? 2 : 1;  // feature maps, and Gram matrices
    Estimate cost;
    double largest_draw = 0;
    for (const std::uint64_t each : config_.k) {
      const FeatureSizes sizes = sizes_at(config_, each);
      const double m = static_cast<double>(sizes.m), k = static_cast<double>(sizes.k), d = static_cast<double>(sizes.d),
                   n = static_cast<double>(sizes.n), small = std::min(m, k), large = std::max(m, k);
      // What stays until every k is sampled: the gradient, its rotation, the eigenvectors; and the samples themselves.
      cost.bytes += 8 * (3 * m * k + 3 * k * k + samples);
      largest_draw = std::max(largest_draw, 8 * (d * n + k * d + (2 * labels + 1) * k * n + m * n + 10 * k * k + 4 * m * k));
      cost.flops += labels * (2 * k * d * n + 2 * k * k * n) + 4 * m * k * k + 15 * k * k * k +
                    (samples + window_samples) * (m * k + 4 * small * small * large);
      if (each == ascending_k(config_).front()) cost.flops += iterated_steps * 4 * m * k * n;
    }
    cost.bytes += largest_draw;
    return cost;
  }

  Result run(Runner& runner) const override {
    const auto records =
        runner.run([&](Trial& trial) { return gradient_rank_trial(config_, model_, runner.single_precision(), trial); });
    return gradient_rank_result(config_, model_, records);
  }

 private:
  LabelModel model_;
  GradientRankConfig config_;
};

}  // namespace

FeatureSizes sizes_at(const GradientRankConfig& config, std::uint64_t k) {
  FeatureSizes sizes;
  sizes.k = k;
  sizes.m = config.m == 0 ? k : config.m;
  sizes.d = scaled(k, config.d_ratio, "--d-ratio");
  sizes.n = scaled(k, config.n_ratio, "--n-ratio");
  return sizes;
}

std::vector<std::uint64_t> ascending_k(const GradientRankConfig& config) {
  std::vector<std::uint64_t> k = config.k;
  std::sort(k.begin(), k.end());
  return k;
}

std::vector<std::uint64_t> sampled_steps(const GradientRankConfig& config) {
  std::vector<std::uint64_t> steps;
  if (config.sample_steps == std::vector<std::string>{"all"}) {
    steps.resize(config.steps + 1);
    std::iota(steps.begin(), steps.end(), std::uint64_t{0});
    return steps;
  }
  for (const std::string& text : config.sample_steps) {
    std::uint64_t step = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, step);
    if (error != std::errc() || stop != end || step > config.steps) {
      throw UsageError("--sample-steps: '" + text +
                       "' is not allowed; allowed: all, or a comma-separated list of integers from 0 to " +
                       std::to_string(config.steps) + " (--steps)");
    }
    if (std::find(steps.begin(), steps.end(), step) != steps.end()) {
      throw UsageError("--sample-steps: '" + text + "' stands twice in the list");
    }
    steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

double theorem_offset(const GradientRankConfig& config) {
  return config.eta_offset > 0 ? config.eta_offset : 1.0;
}

std::unique_ptr<Study> make_gradient_rank_study(LabelModel model) {
  return std::make_unique<GradientRankStudy>(model);
}

}  // namespace ranklab
