#include "experiments/rank_collapse/escalation/trial.hpp"

#include <limits>
#include <map>

#include "experiments/rank_collapse/escalation/path.hpp"
#include "models/token_escalation.hpp"

namespace ranklab {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

class Measurement {
 public:
  explicit Measurement(std::uint64_t blocks) {
    for (const char* name : {"token_similarity", "token_diversity"}) arrays_[name].assign(blocks + 1, undefined);
    for (const char* name : {"rate", "diversity_ratio", "omega", "delta", "mu_1", "mu_2", "mu_1_bound", "mu_2_bound"}) {
      arrays_[name].assign(blocks, undefined);
    }
    for (int s = 1; s <= escalation::steps; ++s) arrays_[escalation::xi_ratio_of(s)].assign(blocks, undefined);
    arrays_["identity_error"].assign(blocks * escalation::steps, undefined);
  }

  template <class T>
  void add_block(std::uint64_t k, const BlockPassage<T>& passage) {
    const TokenParts input = token_parts(passage.X);
    if (k == 0) add_state(0, input);
    TokenParts before = input;
    for (int s = 1; s <= escalation::steps; ++s) {
      const TokenParts after = token_parts(passage.steps[static_cast<std::size_t>(s - 1)]);
      add_step(k, s, before, after);
      before = after;
    }
    add_state(k + 1, before);
    arrays_["diversity_ratio"][k] = before.diversity() / input.diversity();
    add_heads(k, passage);
  }

  void move_into(TrialRecord& record) {
    for (auto& [name, values] : arrays_) record.set(name, std::move(values));
  }

 private:
  void add_state(std::uint64_t k, const TokenParts& parts) {
    arrays_["token_similarity"][k] = parts.similarity();
    arrays_["token_diversity"][k] = parts.diversity();
  }

  void add_step(std::uint64_t k, int s, const TokenParts& before, const TokenParts& after) {
    const Escalation step = measure_escalation(before, after);
    arrays_[escalation::xi_ratio_of(s)][k] = step.xi_ratio();
    if (s == 1) arrays_["rate"][k] = step.rate;
    arrays_["identity_error"][k * escalation::steps + static_cast<std::uint64_t>(s - 1)] =
        identity_error(step, before.similarity());
  }

  template <class T>
  void add_heads(std::uint64_t k, const BlockPassage<T>& passage) {
    std::vector<HeadMeasures> heads;
    for (const arma::Mat<T>& P : passage.P) heads.push_back(head_measures(P, passage.X));
    const AttentionMeasures mean = mean_over_heads(heads);
    arrays_["omega"][k] = mean.omega;
    arrays_["delta"][k] = mean.delta;
    arrays_["mu_1"][k] = mean.mu_1_squared;
    arrays_["mu_2"][k] = mean.mu_2_squared;
    arrays_["mu_1_bound"][k] = mean.mu_1_bound;
    arrays_["mu_2_bound"][k] = mean.mu_2_bound;
  }

  std::map<std::string, std::vector<double>> arrays_;
};

}  // namespace

std::string escalation::xi_ratio_of(int step) {
  return "step" + std::to_string(step) + ".xi_ratio";
}

template <class T>
TrialRecord escalation_trial(const EscalationConfig& config, const Trial& trial) {
  Measurement measurement(config.spec.layers);
  const PathEnd end =
      follow_path<T>(config, trial, [&](std::uint64_t k, const BlockPassage<T>& passage) { measurement.add_block(k, passage); });
  TrialRecord record;
  measurement.move_into(record);
  record.set("degenerate_rows", end.degenerate_rows);
  record.set("diverged", end.diverged ? 1.0 : 0.0);
  return record;
}

template TrialRecord escalation_trial<float>(const EscalationConfig&, const Trial&);
template TrialRecord escalation_trial<double>(const EscalationConfig&, const Trial&);

}  // namespace ranklab
