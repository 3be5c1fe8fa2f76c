#include "experiments/one_step_compare/transformer_init/config.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "experiments/one_step_compare/transformer_init/report.hpp"
#include "experiments/one_step_compare/transformer_init/trial.hpp"

namespace ranklab {
namespace {

constexpr std::uint64_t largest_size = 100'000, units_per_dimension = 4;
constexpr double largest_delta = 0.25;  // Proposition 2.14 has delta below it

class TransformerInitStudy : public Study {
 public:
  std::vector<Field> fields() override {
    TransformerInitConfig& c = config_;
    return {
        size_field("layers", c.layers, 1, 10'000, "L", "decoder blocks"),
        size_field("d", c.d, 1, largest_size, "d", "hidden dimension"),
        size_field("n", c.n, 2, largest_size, "n", "tokens"),
        size_field("k", c.k, 0, largest_size, "k", "hidden units of the MLP; 0: 4 d"),
        size_field("vocabulary", c.vocabulary, 1, 10'000'000, "V", "number of tokens that may occur"),
        real_field("zipf", c.zipf, 0.0, 10.0, "s", "token j has probability proportional to j^(-s)"),
        excluding_low(real_field("delta", c.delta, 0.0, largest_delta, "delta", "of Lemma 2.13 and Proposition 2.14; below 0.25")),
    };
  }

  void settle() override {
    if (config_.k == 0) config_.k = units_per_dimension * config_.d;
  }

  void validate() const override {
    if (config_.delta >= largest_delta) throw UsageError("--delta 0.25 is not allowed: below 0.25");
    if (config_.k < config_.d) {
      throw UsageError("--k " + std::to_string(config_.k) + " is not allowed: at least --d = " + std::to_string(config_.d) +
                       ", as Lemma 2.13 has k >= d");
    }
  }

  Estimate estimate() const override {
    const double d = static_cast<double>(config_.d), n = static_cast<double>(config_.n), k = static_cast<double>(config_.k),
                 small = std::min(d, n);
    const double block =
        8 * d * d * n + 4 * d * n * n + 4 * d * k * n + 6 * (d * small * n + 2 * small * small * small) + k * n * n;
    return {8 * (6 * d * d + 3 * d * k + 10 * d * n + 2 * n * n + 2 * k * n + static_cast<double>(config_.vocabulary)),
            static_cast<double>(config_.layers) * block};
  }

  Result run(Runner& runner) const override {
    const bool single_precision = runner.single_precision();
    return transformer_init_result(
        config_, runner.run([&](Trial& trial) { return transformer_init_trial(config_, single_precision, trial); }),
        single_precision);
  }

 private:
  TransformerInitConfig config_;
};

}  // namespace

std::unique_ptr<Study> make_transformer_init_study() {
  return std::make_unique<TransformerInitStudy>();
}

}  // namespace ranklab
