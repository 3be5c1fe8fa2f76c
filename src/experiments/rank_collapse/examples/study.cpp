#include "experiments/rank_collapse/examples/config.hpp"

#include <cmath>
#include <limits>
#include <map>

#include "core/error.hpp"
#include "experiments/rank_collapse/examples/outcomes.hpp"
#include "experiments/rank_collapse/examples/report.hpp"
#include "experiments/rank_collapse/examples/systems.hpp"

namespace ranklab {
namespace {

constexpr std::uint64_t most_layers = 100'000;
constexpr double largest_lambda = 1e6;

TrialRecord run_trial(const ExamplesConfig& config, bool single_precision, const Trial& trial) {
  TrialRecord record;
  for (const double lambda : config.lambda) {
    const TwoTokenSystem system = two_token_system(config, lambda, single_precision);
    TwoTokenPath path =
        single_precision ? iterate<float>(system, config.layers, trial) : iterate<double>(system, config.layers, trial);
    std::vector<double> exact_mu(config.layers + 1, std::numeric_limits<double>::quiet_NaN());
    if (!system.is_degenerate()) {
      exact_mu.clear();
      for (const TwoTokenForm& form : exact_forms(system, config.layers)) exact_mu.push_back(form.mu());
    }
    const std::string prefix = lambda_prefix(lambda);
    record.set(prefix + "mu", std::move(path.mu));
    record.set(prefix + "rank_one_residual", std::move(path.rank_one_residual));
    record.set(prefix + "mu_closed_form", std::move(exact_mu));
    record.set(prefix + "exact_error", std::move(path.exact_error));
    record.set(prefix + "printed_error", std::move(path.printed_error));
    record.set(prefix + "degenerate_rows", static_cast<double>(path.degenerate_rows));
  }
  return record;
}

class ExamplesStudy : public Study {
 public:
  std::vector<Field> fields() override {
    ExamplesConfig& c = config_;
    return {
        choice_field("system", c.system, {"sys1", "sys2"}, "", "two tokens: LTI (Prop. A.10.1) or selective (Prop. 4.3.1) mixing"),
        real_list_field("lambda", c.lambda, -largest_lambda, largest_lambda, "lambda", "strengths of the skip connection"),
        size_field("layers", c.layers, 2, most_layers, "K", "layers"),
        excluding_low(real_field("alpha0", c.alpha0, 0.0, 1.0, "alpha_0", "sys2: row 2 starts as (alpha_0, sqrt(1 - alpha_0^2))")),
    };
  }

  void validate() const override {
    if (config_.system != "sys2" && config_.alpha0 != ExamplesConfig{}.alpha0) {
      throw UsageError("--alpha0 is not allowed with --system sys1, which starts from the identity; allowed with: sys2");
    }
    std::map<std::string, double> names;
    for (const double lambda : config_.lambda) {
      if (!names.emplace(lambda_prefix(lambda), lambda).second) {
        throw UsageError("--lambda: two values have the same first six digits, by which the series are named");
      }
    }
  }

  Estimate estimate() const override {
    const double states = static_cast<double>(config_.lambda.size()) * static_cast<double>(config_.layers + 1);
    return {.bytes = 5 * 8 * states + 200 * static_cast<double>(config_.layers), .flops = 200 * states};
  }

  Result run(Runner& runner) const override {
    const bool single = runner.single_precision();
    return examples_result(config_, runner.run([&](Trial& trial) { return run_trial(config_, single, trial); }), single);
  }

 private:
  ExamplesConfig config_;
};

}  // namespace

std::unique_ptr<Study> make_examples_study() {
  return std::make_unique<ExamplesStudy>();
}

}  // namespace ranklab
