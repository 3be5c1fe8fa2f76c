#include "experiments/rank_collapse/escalation_rate/trial.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "experiments/rank_collapse/escalation/path.hpp"
#include "linalg/decompositions.hpp"
#include "models/blocks/attention.hpp"
#include "models/blocks/block.hpp"
#include "models/blocks/transformer.hpp"
#include "models/token_escalation.hpp"

namespace ranklab {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

using Arrays = std::map<std::string, std::vector<double>>;

// NaN where a path or a trial does not come.
Arrays undefined_arrays(const std::vector<std::string>& names, std::uint64_t length) {
  Arrays arrays;
  for (const std::string& name : names) arrays[name].assign(length, undefined);
  return arrays;
}

void move_into(Arrays& arrays, TrialRecord& record) {
  for (auto& [name, values] : arrays) record.set(name, std::move(values));
}

template <class T>
void measure_heads(const StepStrength& strength, const BlockPassage<T>& passage, std::uint64_t k, Arrays& arrays) {
  std::vector<HeadMeasures> heads;
  double second = 0, estimate_1 = 0, estimate_2 = 0, sum = 0, asymmetric = 0;
  const double share = 1 / static_cast<double>(passage.P.size());
  for (const arma::Mat<T>& P : passage.P) {
    const HeadMeasures head = head_measures(P, passage.X);
    const double lambda_2 = second_eigenvalue(P);
    second += share * lambda_2;
    estimate_1 += share * expected_excess(strength, head.mu_1_bound(), head.mu_2_bound());
    estimate_2 += share * expected_excess(strength, 1.0, lambda_2 * lambda_2);
    sum = std::max(sum, head.omega + head.delta);
    asymmetric = std::max(asymmetric, asymmetry(P));
    heads.push_back(head);
  }
  const AttentionMeasures mean = mean_over_heads(heads);
  for (const auto& [name, value] : {std::pair{"omega", mean.omega},
                                    {"delta", mean.delta},
                                    {"mu_1", mean.mu_1_squared},
                                    {"mu_2", mean.mu_2_squared},
                                    {"mu_1_bound", mean.mu_1_bound},
                                    {"mu_2_bound", mean.mu_2_bound},
                                    {"lambda_2", second},
                                    {"estimate_1", estimate_1},
                                    {"estimate_2", estimate_2},
                                    {"omega_plus_delta", sum},
                                    {"asymmetry", asymmetric}}) {
    arrays.at(name)[k] = value;
  }
}

// lambda X + alpha [P_1 X W_1 ... P_h X W_h]
template <class T>
arma::Mat<T> redrawn_step(const EscalationConfig& config, const FixedBlock<T>& block, std::uint64_t k, const Trial& trial) {
  const ModelSpec& spec = config.spec;
  DrawnTensors<T> tensors = block_tensors<T>(spec, trial, k);
  const arma::Mat<T> W = tensors.matrix("W_in_span", block.R.n_rows, spec.dim, value_start(spec));  // Q'W
  return static_cast<T>(config.lambda) * block.X + static_cast<T>(spec.alpha) * mixed_heads<T>(W.t() * block.R, block.P);
}

}  // namespace

template <class T>
FixedPath<T> fixed_path(const EscalationConfig& config, const Trial& first) {
  const std::uint64_t K = config.spec.layers;
  FixedPath<T> path;
  Arrays states = undefined_arrays({"token_similarity", "token_diversity"}, K + 1);
  Arrays blocks = undefined_arrays({"omega", "delta", "mu_1", "mu_2", "mu_1_bound", "mu_2_bound", "lambda_2", "estimate_1",
                                    "estimate_2", "omega_plus_delta", "asymmetry"},
                                   K);
  const auto add_state = [&](std::uint64_t k, const arma::Mat<T>& X) {
    const TokenParts parts = token_parts(X);
    states["token_similarity"][k] = parts.similarity();
    states["token_diversity"][k] = parts.diversity();
  };
  const StepStrength strength = step_strength(config.spec, config.lambda);
  const PathEnd end = follow_path<T>(config, first, [&](std::uint64_t k, const BlockPassage<T>& passage) {
    add_state(k, passage.X);
    add_state(k + 1, passage.steps[3]);
    measure_heads(strength, passage, k, blocks);
    path.blocks.push_back({passage.X, triangular_factor(passage.X), passage.P, token_parts(passage.X)});
  });
  move_into(states, path.measures);
  move_into(blocks, path.measures);
  path.measures.set("diverged", end.diverged ? 1.0 : 0.0);
  path.measures.set("degenerate_rows", end.degenerate_rows);
  return path;
}

template <class T>
TrialRecord escalation_rate_trial(const EscalationConfig& config, const FixedPath<T>& path, const Trial& trial) {
  const ModelSpec& spec = config.spec;
  Arrays arrays = undefined_arrays({"xi_1", "xi_2", "xi_ratio_minus_1", "rate", "identity_error"}, spec.layers);
  for (std::uint64_t k = 0; k < path.blocks.size(); ++k) {
    trial.check_interrupt();
    const FixedBlock<T>& block = path.blocks[k];
    const Escalation step = measure_escalation(block.parts, token_parts(redrawn_step(config, block, k, trial)));
    arrays["xi_1"][k] = step.xi_1;
    arrays["xi_2"][k] = step.xi_2;
    arrays["xi_ratio_minus_1"][k] = step.xi_ratio() - 1;
    arrays["rate"][k] = step.rate;
    arrays["identity_error"][k] = identity_error(step, block.parts.similarity());
  }
  TrialRecord record = path.measures;
  move_into(arrays, record);
  return record;
}

template struct FixedPath<float>;
template struct FixedPath<double>;
template FixedPath<float> fixed_path(const EscalationConfig&, const Trial&);
template FixedPath<double> fixed_path(const EscalationConfig&, const Trial&);
template TrialRecord escalation_rate_trial(const EscalationConfig&, const FixedPath<float>&, const Trial&);
template TrialRecord escalation_rate_trial(const EscalationConfig&, const FixedPath<double>&, const Trial&);

}  // namespace ranklab
