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

template <class T>
bool is_finite(const BlockPassage<T>& passage) {
  const auto finite = [](const arma::Mat<T>& A) { return A.is_finite(); };
  return finite(passage.X) && std::all_of(passage.P.begin(), passage.P.end(), finite) &&
         std::all_of(passage.steps.begin(), passage.steps.end(), finite);
}

// The number of zero tokens. After the norm `rows` these are the rows that it could not normalize.
template <class T>
double zero_tokens(const arma::Mat<T>& Y) {
  return static_cast<double>(arma::accu(arma::sum(arma::abs(Y), 0) == 0));
}

template <class T>
double count_degenerate_rows(const ModelSpec& spec, const BlockPassage<T>& passage) {
  if (spec.norm != "rows") return 0;
  return zero_tokens(passage.steps[1]) + (spec.has_mlp() ? zero_tokens(passage.steps[3]) : 0);
}

// Applies the blocks to passage.X. A block that all layers share is built once.
template <class T>
class Stepper {
 public:
  Stepper(const EscalationConfig& config, const Trial& trial) : config_(config), trial_(trial) {}

  void take_steps(std::uint64_t k, BlockPassage<T>& passage) {
    const ModelSpec& spec = config_.spec;
    if (block_ == nullptr || !spec.shares_weights()) {
      block_ = make_block_of<SteppedBlock>(spec, *tensors_of_layer<T>(spec, trial_, k));
    }
    BlockSteps<T> steps = block_->steps(passage.X, config_.lambda);
    passage.P = std::move(steps.P);
    passage.steps = std::move(steps.Y);
  }

 private:
  const EscalationConfig& config_;
  const Trial& trial_;
  std::unique_ptr<SteppedBlock<T>> block_;
};

template <class T>
void measure(BlockPassage<T>& passage) {
  passage.parts[0] = token_parts(passage.X);
  for (std::size_t s = 0; s < passage.steps.size(); ++s)
    passage.parts[s + 1] = token_parts(passage.steps[s]);
  passage.heads.clear();
  const arma::mat X = arma::conv_to<arma::mat>::from(passage.X);
  for (const arma::Mat<T>& P : passage.P)
    passage.heads.push_back(head_measures(arma::conv_to<arma::mat>::from(P), X));
}

}  // namespace

template <class T>
TrialRecord follow_path(
    const EscalationConfig& config, const Trial& trial,
    const std::function<void(std::uint64_t k, const BlockPassage<T>& passage)>& visit) {
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
  BlockPassage<T> passage;
  passage.X = draw_input<T>(spec, trial).Y;
  Stepper<T> stepper(config, trial);
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

template TrialRecord follow_path(
    const EscalationConfig&, const Trial&,
    const std::function<void(std::uint64_t, const BlockPassage<float>&)>&);
template TrialRecord follow_path(
    const EscalationConfig&, const Trial&,
    const std::function<void(std::uint64_t, const BlockPassage<double>&)>&);

}  // namespace ranklab::token_escalation
