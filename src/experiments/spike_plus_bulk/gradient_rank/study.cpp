#include "experiments/spike_plus_bulk/gradient_rank/config.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "core/text.hpp"
#include "experiments/spike_plus_bulk/gradient_rank/gradient_rank.hpp"
#include "models/activations.hpp"

namespace ranklab {
namespace {

constexpr std::uint64_t largest_steps = 100'000'000;

std::uint64_t scaled(std::uint64_t k, double ratio, const std::string& flag) {
  const double size = std::round(static_cast<double>(k) * ratio);
  if (size < 1) {
    throw UsageError("--k " + std::to_string(k) + " and " + flag + " " + short_number(ratio) +
                     " are not allowed together: their product rounds to 0");
  }
  return static_cast<std::uint64_t>(size);
}

bool samples_all(const GradientRankConfig& config) {
  return config.sample_steps == std::vector<std::string>{"all"};
}

std::vector<std::uint64_t> sampled_steps(const GradientRankConfig& config) {
  std::vector<std::uint64_t> steps;
  if (samples_all(config)) {
    steps.resize(config.steps + 1);
    std::iota(steps.begin(), steps.end(), std::uint64_t{0});
    return steps;
  }
  for (const std::string& text : config.sample_steps) {
    std::uint64_t step = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, step);
    if (error != std::errc() || stop != end || step > config.steps) {
      throw UsageError(
          "--sample-steps: '" + printable_key(text) +
          "' is not allowed; allowed: all, or a comma-separated list of integers from 0 to " +
          std::to_string(config.steps) + " (--steps)");
    }
    if (std::find(steps.begin(), steps.end(), step) != steps.end()) {
      throw UsageError("--sample-steps: '" + text + "' is listed twice; list each iteration once");
    }
    steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

class GradientRankStudy : public Study {
 public:
  explicit GradientRankStudy(LabelModel model) : model_(model) {}

  std::vector<Field> fields() override {
    GradientRankConfig& c = config_;
    Field sample_steps{"sample-steps", &c.sample_steps, "t",
                       "iterations to record: a list from 0 to --steps, or all"};
    sample_steps.numeric_words = true;
    return {
        choice_field("activation", c.activation, activation_names(), "sigma",
                     "activation of the features; swiglu is gated"),
        size_list_field("k", c.k, 2, largest_size, "k", "numbers of features, with one curve each"),
        excluding_low(real_field("d-ratio", c.d_ratio, 0.0, 1000.0, "d/k",
                                 "ratio of input dimension to features")),
        excluding_low(
            real_field("n-ratio", c.n_ratio, 0.0, 1000.0, "n/k", "ratio of samples to features")),
        size_field("m", c.m, 0, largest_size, "m", "rows of W; 0: k"),
        size_field("steps", c.steps, 1, largest_steps, "T", "iterations of gradient descent"),
        sample_steps,
        real_field("c", c.c, 0.5, 1e6, "c",
                   "factor in the gradient descent step 1/(c ||B|| + eta-offset)"),
        real_field("eta-offset", c.eta_offset, 0.0, 1e6, "c",
                   "constant of Lemma 3.5 and Theorem 3.9; 0 with --c 1 clears the top direction"),
    };
  }

  void validate() const override { plan_without_all_steps(); }

  Estimate estimate() const override {
    const gradient_rank::Plan run = plan_without_all_steps();
    const double samples = samples_all(config_) ? static_cast<double>(config_.steps) + 1
                                                : static_cast<double>(run.sampled.size());
    const double labels = run.teacher() ? 2 : 1;  // feature maps, and Gram matrices
    Estimate cost;
    double largest_draw = 0;
    for (const gradient_rank::Size& size : run.sizes) {
      const double m = static_cast<double>(size.m), k = static_cast<double>(size.k),
                   d = static_cast<double>(size.d), n = static_cast<double>(size.n);
      // Kept until every k is sampled: the gradient, its rotation, the eigenvectors, and the
      // samples.
      cost.bytes += 8 * (3 * m * k + 3 * k * k + samples);
      largest_draw = std::max(largest_draw, 8 * (d * n + k * d + (2 * labels + 1) * k * n + m * n +
                                                 10 * k * k + 4 * m * k));
    }
    cost.bytes += largest_draw;
    return cost;
  }

  Work work() const override {
    return each_trial([plan = gradient_rank::make_plan(config_, model_)](Trial& trial) {
      return gradient_rank::run_trial(plan, trial);
    });
  }
  Result report(const Records& records) const override {
    return gradient_rank::report(gradient_rank::make_plan(config_, model_), records);
  }

 private:
  // With --sample-steps all the plan has iteration 0 alone: a list of 10^8 iterations takes
  // seconds.
  gradient_rank::Plan plan_without_all_steps() const {
    GradientRankConfig config = config_;
    if (samples_all(config)) config.sample_steps = {"0"};
    return gradient_rank::make_plan(config, model_);
  }

  LabelModel model_;
  GradientRankConfig config_;
};

}  // namespace

gradient_rank::Plan gradient_rank::make_plan(const GradientRankConfig& config, LabelModel model) {
  Plan plan{config, model, {}, {}, {}, config.eta_offset > 0 ? config.eta_offset : 1.0};
  for (const std::uint64_t k : config.k) {
    plan.sizes.push_back({config.m == 0 ? k : config.m, k, scaled(k, config.d_ratio, "--d-ratio"),
                          scaled(k, config.n_ratio, "--n-ratio")});
  }
  std::sort(plan.sizes.begin(), plan.sizes.end(),
            [](const Size& a, const Size& b) { return a.k < b.k; });
  for (const Size& size : plan.sizes) plan.k.push_back(static_cast<double>(size.k));
  plan.sampled = sampled_steps(config);
  return plan;
}

std::unique_ptr<Study> make_gradient_rank_study(LabelModel model) {
  return std::make_unique<GradientRankStudy>(model);
}

}  // namespace ranklab
