#include "experiments/rank_collapse/token_escalation/path.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "core/tolerances.hpp"
#include "core/undefined.hpp"
#include "experiments/rank_collapse/stack_source.hpp"

namespace ranklab::token_escalation {
namespace {

bool is_finite(const BlockPassage& passage) {
  const auto finite = [](const arma::mat& A) { return A.is_finite(); };
  return finite(passage.X) && std::all_of(passage.P.begin(), passage.P.end(), finite) &&
         std::all_of(passage.steps.begin(), passage.steps.end(), finite);
}

// The number of zero tokens. After the norm `rows` these are the rows that it could not normalize.
double zero_tokens(const arma::mat& Y) {
  return static_cast<double>(arma::accu(arma::sum(arma::abs(Y), 0) == 0));
}

double count_degenerate_rows(const ModelSpec& spec, const BlockPassage& passage) {
  if (spec.norm != "rows") return 0;
  return zero_tokens(passage.steps[1]) + (spec.has_mlp() ? zero_tokens(passage.steps[3]) : 0);
}

// Applies the blocks to passage.X. A block that all layers share is built once.
class Stepper {
 public:
  Stepper(const EscalationConfig& config, const Trial& trial) : config_(config), trial_(trial) {}

  void take_steps(std::uint64_t k, BlockPassage& passage) {
    const ModelSpec& spec = config_.spec;
    if (block_ == nullptr || !spec.shares_weights()) {
      block_ = make_block_of<SteppedBlock>(spec, *tensors_of_layer<double>(spec, trial_, k));
    }
    BlockSteps<double> steps = block_->steps(passage.X, config_.lambda);
    passage.P = std::move(steps.P);
    passage.steps = std::move(steps.Y);
  }

 private:
  const EscalationConfig& config_;
  const Trial& trial_;
  std::unique_ptr<SteppedBlock<double>> block_;
};

void measure(BlockPassage& passage) {
  passage.parts[0] = token_parts(passage.X);
  for (std::size_t s = 0; s < passage.steps.size(); ++s)
    passage.parts[s + 1] = token_parts(passage.steps[s]);
  passage.heads.clear();
  for (const arma::mat& P : passage.P) passage.heads.push_back(head_measures(P, passage.X));
}

}  // namespace

TrialRecord follow_path(
    const EscalationConfig& config, const Trial& trial,
    const std::function<void(std::uint64_t k, const BlockPassage& passage)>& visit) {
  const ModelSpec& spec = config.spec;
  std::map<std::string, std::vector<double>> arrays;
  for (const char* name : {token_similarity, token_diversity})
    arrays[name].assign(spec.layers + 1, undefined);
  for (const char* name : {omega, delta, mu_1, mu_2, mu_1_bound, mu_2_bound})
    arrays[name].assign(spec.layers, undefined);
  const auto add_state = [&](std::uint64_t state, const TokenParts& parts) {
    arrays[token_similarity][state] = parts.similarity();
    arrays[token_diversity][state] = parts.diversity();
  };

  TrialRecord record;
  bool finite = true;
  double zeroed = 0;
  BlockPassage passage;
  passage.X = draw_input<double>(spec, trial).Y;
  Stepper stepper(config, trial);
  for (std::uint64_t k = 0; k < spec.layers; ++k) {
    trial.check_interrupt();
    stepper.take_steps(k, passage);
    finite = is_finite(passage);
    if (!finite) break;
    zeroed += count_degenerate_rows(spec, passage);
    measure(passage);
    add_state(k, passage.parts.front());
    add_state(k + 1, passage.parts.back());
    const AttentionMeasures mean = mean_over_heads(passage.heads);
    for (const auto& [name, value] : {std::pair<const char*, double>{omega, mean.omega},
                                      {delta, mean.delta},
                                      {mu_1, mean.mu_1_squared},
                                      {mu_2, mean.mu_2_squared},
                                      {mu_1_bound, mean.mu_1_bound},
                                      {mu_2_bound, mean.mu_2_bound}}) {
      arrays[name][k] = value;
    }
    visit(k, passage);
    passage.X = std::move(passage.steps.back());
  }
  for (auto& [name, values] : arrays) record.set(name, std::move(values));
  record.set(diverged, finite ? 0.0 : 1.0);
  record.set(degenerate_rows, zeroed);
  return record;
}

void count_identity(const Escalation& step, double similarity, Tally& tally) {
  const double error = identity_error(step, similarity);
  if (std::isfinite(error)) tally.count(error > tolerance::closed_form<double>, error);
}

}  // namespace ranklab::token_escalation
