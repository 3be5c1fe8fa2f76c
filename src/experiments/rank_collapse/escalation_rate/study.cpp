#include "experiments/rank_collapse/escalation_rate/config.hpp"

#include <algorithm>

#include "experiments/rank_collapse/escalation_rate/report.hpp"
#include "experiments/rank_collapse/escalation_rate/trial.hpp"
#include "run/once_per_run.hpp"

namespace ranklab {
namespace {

template <class T>
std::vector<TrialRecord> rate_records(const EscalationConfig& config, Runner& runner) {
  OncePerRun<FixedPath<T>> path;
  return runner.run([&](Trial& trial) {
    const FixedPath<T>& fixed = path.get([&] { return fixed_path<T>(config, trial.first()); });
    return escalation_rate_trial(config, fixed, trial);
  });
}

class EscalationRateStudy : public Study {
 public:
  std::vector<Field> fields() override { return escalation_fields(config_, {"post-norm"}); }
  void settle() override { ranklab::settle(config_.spec); }

  Estimate estimate() const override {
    const ModelSpec& spec = config_.spec;
    const double N = static_cast<double>(spec.tokens), d = static_cast<double>(spec.dim), h = static_cast<double>(spec.heads),
                 K = static_cast<double>(spec.layers);
    constexpr double states = 5, draw = 30;
    // The path is kept whole; it is computed once, and counted in every trial.
    const double r = std::min(d, N), path = 8 * K * ((d + r) * N + h * N * N);
    return {path_estimate(config_).bytes + path + 8 * (r * d + states * d * N), K * (2 * N * r * d + 2 * N * N * d + draw * r * d)};
  }

  Result run(Runner& runner) const override {
    const bool single = runner.single_precision();
    return escalation_rate_result(config_, single,
                                  single ? rate_records<float>(config_, runner) : rate_records<double>(config_, runner));
  }

 private:
  EscalationConfig config_;
};

}  // namespace

std::unique_ptr<Study> make_escalation_rate_study() {
  return std::make_unique<EscalationRateStudy>();
}

}  // namespace ranklab
