#include <algorithm>
#include <cmath>
#include <memory>

#include "core/undefined.hpp"
#include "experiments/rank_collapse/escalation_rate/escalation_rate.hpp"
#include "experiments/rank_collapse/token_escalation/path.hpp"
#include "linalg/decompositions.hpp"
#include "nn/blocks/attention.hpp"
#include "nn/blocks/stack.hpp"
#include "nn/blocks/transformer.hpp"
#include "run/once_per_run.hpp"

namespace ranklab::escalation_rate {
namespace {

std::vector<double> undefined_blocks(const Plan& plan) {
  return std::vector<double>(plan.config.spec.layers, undefined);
}

// The path, which is the same for all trials ------------------------------------------------------

// One block: its input X (d, N), the triangular factor R (r, N) of X, and P' (N, N) of each head.
struct FixedBlock {
  arma::mat X, R;
  std::vector<arma::mat> P;
  TokenParts parts;  // of X
};

struct FixedPath {
  std::vector<FixedBlock> blocks;  // up to the block that diverges
  TrialRecord record;
};

// The path through the blocks of `first`, which is trial 0 of the run.
FixedPath fixed_path(const Plan& plan, const Trial& first) {
  const StepStrength strength = step_strength(plan.config.spec, plan.config.lambda);
  std::vector<double> second = undefined_blocks(plan), first_estimates = second,
                      second_estimates = second, sums = second, asymmetries = second;
  FixedPath path;
  path.record = follow_path(plan.config, first, [&](std::uint64_t k, const BlockPassage& passage) {
    for (std::vector<double>* values :
         {&second, &first_estimates, &second_estimates, &sums, &asymmetries})
      (*values)[k] = 0;
    const double share = 1 / static_cast<double>(passage.P.size());
    for (std::size_t h = 0; h < passage.P.size(); ++h) {
      const HeadMeasures& head = passage.heads[h];
      const arma::mat& P = passage.P[h];
      const double eigenvalue = second_eigenvalue(P);
      second[k] += share * eigenvalue;
      first_estimates[k] += share * expected_excess(strength, head.mu_1_bound(), head.mu_2_bound());
      second_estimates[k] += share * expected_excess(strength, 1.0, eigenvalue * eigenvalue);
      sums[k] = std::max(sums[k], head.omega + head.delta);
      asymmetries[k] = std::max(asymmetries[k], asymmetry(P));
    }
    path.blocks.push_back(
        {passage.X, triangular_factor(passage.X), passage.P, passage.parts.front()});
  });
  path.record.set(lambda_2, std::move(second));
  path.record.set(estimate_1, std::move(first_estimates));
  path.record.set(estimate_2, std::move(second_estimates));
  path.record.set(largest_sum, std::move(sums));
  path.record.set(largest_asymmetry, std::move(asymmetries));
  return path;
}

// A trial -----------------------------------------------------------------------------------------

// lambda X + alpha [P_1 X W_1 ... P_h X W_h]. W acts only on the span of the tokens. Let Q (d, r)
// be an orthonormal basis of the span, r = min(d, N). Then X = QR and W'X = (Q'W)'R, and the
// entries of Q'W (r, d) are independent and normal, as those of W. A trial draws Q'W instead of W,
// from the stream `layer<k>.W_in_span`.
arma::mat redrawn_step(const EscalationConfig& config, const FixedBlock& block, std::uint64_t k,
                       const Trial& trial) {
  const ModelSpec& spec = config.spec;
  DrawnTensors<double> tensors = block_tensors<double>(spec, trial, k);
  const arma::mat W =
      tensors.matrix("W_in_span", block.R.n_rows, spec.dim, value_start(spec));  // Q'W
  return config.lambda * block.X + spec.alpha * mixed_heads<double>(W.t() * block.R, block.P);
}

TrialRecord redraw(const Plan& plan, const FixedPath& path, const Trial& trial) {
  std::vector<double> shared = undefined_blocks(plan), rest = shared, excesses = shared,
                      rates = shared;
  Tally identity;
  for (std::uint64_t k = 0; k < path.blocks.size(); ++k) {
    trial.check_interrupt();
    const FixedBlock& block = path.blocks[k];
    const Escalation step =
        measure_escalation(block.parts, token_parts(redrawn_step(plan.config, block, k, trial)));
    shared[k] = step.xi_1;
    rest[k] = step.xi_2;
    excesses[k] = step.xi_ratio() - 1;
    rates[k] = step.rate;
    count_identity(step, block.parts.similarity(), identity);
  }
  TrialRecord record = path.record;
  record.set(xi_1, std::move(shared));
  record.set(xi_2, std::move(rest));
  record.set(excess, std::move(excesses));
  record.set(rate, std::move(rates));
  record.add(eq_6.id, identity);
  add_derived(plan, record);
  return record;
}

}  // namespace

void add_derived(const Plan& plan, TrialRecord& record) {
  const StepStrength strength = step_strength(plan.config.spec, plan.config.lambda);
  std::vector<double> sharpened, first, second;
  for (std::size_t k = 0; k < plan.config.spec.layers; ++k) {
    const double xi[] = {at(record, xi_1, k), at(record, xi_2, k)},
                 similarity = at(record, token_similarity, k);
    const double E_1 = expected_xi(strength, at(record, mu_1, k)),
                 E_2 = expected_xi(strength, at(record, mu_2, k));
    sharpened.push_back(at(record, excess, k) - (xi[0] - E_1) / E_2 +
                        (xi[1] - E_2) * E_1 / (E_2 * E_2));
    first.push_back(rate_from_excess(at(record, estimate_1, k), similarity));
    second.push_back(rate_from_excess(at(record, estimate_2, k), similarity));
  }
  record.set(sharpened_excess, std::move(sharpened));
  record.set(rate_1, std::move(first));
  record.set(rate_2, std::move(second));
}

Work work_of(const Plan& plan) {
  const auto path = std::make_shared<OncePerRun<FixedPath>>();
  return each_trial([plan, path](Trial& trial) {
    return redraw(plan, path->get([&] { return fixed_path(plan, trial.first()); }), trial);
  });
}

}  // namespace ranklab::escalation_rate
