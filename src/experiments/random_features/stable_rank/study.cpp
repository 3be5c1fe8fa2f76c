// The study stable-rank: flags and memory.
#include <algorithm>

#include "core/error.hpp"
#include "experiments/random_features/stable_rank/stable_rank.hpp"
#include "models/tokens.hpp"

namespace ranklab {
namespace {

class StableRankStudy : public Study {
 public:
  std::vector<Field> fields() override {
    StableRankConfig& c = config_;
    return {
        choice_list_field("activation", c.activation, activation_names(), "sigma",
                          "activations, all applied to the same draws of W and X"),
        size_field("k", c.k, 1, largest_size, "k", "rows of every weight matrix"),
        size_field("d", c.d, 1, largest_size, "d",
                   "dimension of the input and of the token embedding"),
        size_field("n", c.n, 1, largest_size, "n", "samples"),
        size_field("depth", c.depth, 1, 100, "l", "layers of the random networks"),
        excluding_low(real_field("epsilon", c.epsilon, 0.0, 1.0, "eps",
                                 "value of eps_1 = eps_2 in Theorems 2.6 and 2.7; below 1")),
        size_field("rank", c.rank, 1, largest_size, "r",
                   "rank of the low-rank W, at most min(k, d)"),
        real_field("power", c.power, 0.0, 100.0, "p",
                   "exponent of the power-law W, with singular values proportional to i^(-p)"),
        excluding_low(real_list_field("variances", c.variances, 0.0, 1e6, "w' Sigma w",
                                      "variances at which Figure 12 is checked")),
        size_field("vocabulary", c.vocabulary, 1, 10000000, "V",
                   "vocabulary size: number of distinct tokens"),
        size_field("tokens", c.tokens, 1, 10000000, "", "length of the token sequence"),
        real_field("zipf", c.zipf, 0.0, 10.0, "s",
                   "Zipf exponent: token j has probability proportional to j^(-s)"),
        excluding_low(
            real_field("failure-probability", c.failure_probability, 0.0, 0.5, "c",
                       "constant of Theorem 2.8, which may fail with probability 2c; below 0.5")),
    };
  }

  void validate() const override {
    if (config_.rank > std::min(config_.k, config_.d)) {
      throw UsageError("--rank " + std::to_string(config_.rank) +
                       " is not allowed: at most min(--k, --d) = " +
                       std::to_string(std::min(config_.k, config_.d)));
    }
    if (config_.epsilon >= 1.0) throw UsageError("--epsilon 1 is not allowed: below 1");
    if (config_.failure_probability >= 0.5)
      throw UsageError("--failure-probability 0.5 is not allowed: below 0.5");
  }

  Estimate estimate() const override;

  Work work() const override {
    return each_trial([plan = stable_ranks::Plan(config_)](Trial& trial) {
      return stable_ranks::run_trial(plan, trial);
    });
  }
  Result report(const Records& records) const override {
    return stable_ranks::report(stable_ranks::Plan(config_), records);
  }

 private:
  StableRankConfig config_;
};

Estimate StableRankStudy::estimate() const {
  const stable_ranks::Plan plan(config_);
  const double k = static_cast<double>(config_.k), d = static_cast<double>(config_.d),
               n = static_cast<double>(config_.n);
  const double stacks = static_cast<double>(plan.stacks.size());
  const double distinct = ZipfLaw(config_.vocabulary, config_.zipf)
                              .expected_distinct(static_cast<double>(config_.tokens));
  const double side = std::min(k, n);
  const double gate =
      std::ranges::any_of(plan.stacks, [](const auto& name) { return find_activation(name).gated; })
          ? 2.0
          : 1.0;

  // The outputs of all stacks, one new output with its gate, the
  // input, the weights in two copies, and the Gram matrix with its workspace.
  const double layer_bytes = 8.0 * ((stacks + 3.0) * k * n + 2.0 * d * n +
                                    2.0 * gate * k * std::max(k, d) + 3.0 * side * side);
  const double token_bytes = 8.0 * (3.0 * d * distinct + 3.0 * d * d +
                                    2.0 * static_cast<double>(config_.tokens + config_.vocabulary));
  return {.bytes = std::max(layer_bytes, token_bytes)};
}

}  // namespace

std::unique_ptr<Study> make_stable_rank_study() {
  return std::make_unique<StableRankStudy>();
}

}  // namespace ranklab
