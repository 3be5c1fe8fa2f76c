// [LambdaSkip] Theorem 4.1: the quantities of one layer, random stacks at every skip strength, and
// the claims.
#include <algorithm>
#include <cmath>

#include "experiments/rank_collapse/bounds/with_skip.hpp"
#include "experiments/rank_collapse/stacked_model.hpp"
#include "linalg/decompositions.hpp"
#include "nn/blocks/bare_block.hpp"

namespace ranklab::bounds {
namespace {

// A stack that is computed layer by layer.
struct StackAtSkip {
  double lambda = 0.0;
  State<double> state;
  StackNorms norms;        // suprema over the layers so far
  std::vector<double> mu;  // one value per layer, starting with the input
  bool stopped = false;    // a row is zero, so D is undefined
};

void advance(StackAtSkip& run, const BareBlock<double>& block, const arma::mat& C_V,
             const ValueNorms& values, const std::vector<double>& a, TrialRecord& record) {
  const double slack = tolerance::residual<double>;
  const arma::mat Y = run.state.Y, M = block.mixing_matrix(run.state);
  const std::uint64_t degenerate = run.state.degenerate_rows;
  block.forward(run.state, run.lambda);
  if (run.state.degenerate_rows > degenerate) {
    run.stopped = true;
    return;
  }
  const Layer layer = open_layer(Y, M, C_V, values, run.lambda, run.state.Y);
  run.norms.cover(layer.norms);
  run.mu.push_back(layer.mu_next);
  if (run.lambda != 0) judge_layer(layer, slack, record);
  // The layers up to this one also form a stack, with their own suprema.
  const double K = static_cast<double>(run.mu.size() - 1);
  judge_stack({run.norms, run.lambda, K, run.mu.front(), run.mu.back()}, a, slack * K, record);
}

// The largest lower bound on mu(Y^K) that Theorem 4.1 gives at any of the run's collapse rates; 0
// if its hypotheses are not met.
double printed_guarantee(const StackNorms& norms, double lambda, double K, double mu_0,
                         const std::vector<double>& a) {
  double best = 0;
  for (const double rate : a) {
    if (!condition_7(lambda, rate, norms.mix())) continue;
    if (mu_0 * mu_0 < hypothesis_printed(lambda, rate, K, norms)) continue;
    best = std::max(best, std::pow(rate, K / 2) * mu_0);
  }
  return best;
}

// At the largest |lambda| the tokens hardly move, so the suprema no longer depend on lambda.
const StackAtSkip& strongest_of(const std::vector<StackAtSkip>& runs) {
  return *std::max_element(runs.begin(), runs.end(), [](const auto& a, const auto& b) {
    return std::abs(a.lambda) < std::abs(b.lambda);
  });
}

void record_curves(const Config& config, const std::string& model, std::vector<StackAtSkip>& runs,
                   TrialRecord& record) {
  const double K = static_cast<double>(config.spec.layers);
  std::vector<double> last, printed, turning;
  for (StackAtSkip& run : runs) {
    const double scale = std::sqrt(run.norms.N);
    run.mu = padded(std::move(run.mu), config.spec.layers + 1);
    record.set(thm_4_1::mu(model, run.lambda), run.mu);
    last.push_back(run.mu.back() / scale);
    // For lambda < 0 the printed b is negative (a misprint), so the printed theorem gives no valid
    // bound.
    printed.push_back(run.lambda < 0
                          ? undefined
                          : printed_guarantee(run.norms, run.lambda, K, run.mu.front(), config.a) /
                                scale);
    const double left = turning_bound(K, run.mu.front(), run.lambda, run.norms) / scale;
    turning.push_back(run.lambda == 0 ? 0.0 : std::max(0.0, left));
  }
  record.set(model + thm_4_1::final_mu, last);
  record.set(model + thm_4_1::promised_as_printed, printed);
  record.set(model + thm_4_1::promised_by_turning, turning);
  const StackNorms& norms = strongest_of(runs).norms;
  for (const double a : config.a) {
    record.set(thm_4_1::lambda_needed(model, a), lambda_for_printed(a, K, norms));
    record.set(thm_4_1::lambda_needed_corrected(model, a), lambda_for_corrected(a, K, norms));
  }
  record.set(thm_4_1::lambda_needed_turning(model), lambda_for_turning(K, norms));
}

// Claims ------------------------------------------------------------------------------------------

std::string by_sign_text(const Records& records, const Statement& statement) {
  const auto text = [&](double sign) {
    return violations_text(tally_of(records, thm_4_1::sign_tally(statement, sign)));
  };
  return say("violations for lambda > 0: {}, for lambda < 0: {}", text(1), text(-1));
}

// The tally counts a nontrivial bound as a violation.
std::string nontrivial_text(const Records& records, const Statement& statement) {
  return say("the bound is above 0 in {} cases",
             count_text(tally_of(records, thm_4_1::nontrivial_tally(statement)).violations));
}

// The range over models of the needed |lambda|: the mean over trials, at each model's best rate.
std::string lambda_needed_text(const Config& config, const Records& records,
                               std::string (*needed)(const std::string& model, double a)) {
  double low = infinity, high = 0;
  for (const std::string& model : config.models) {
    double best = infinity;
    for (const double a : config.a)
      best = std::min(best, summarize(scalars_of(records, needed(model, a))).mean);
    low = std::min(low, best);
    high = std::max(high, best);
  }
  return say(
      "at the last N and d and {} layers the bound can apply only from |lambda| = {} to {}, "
      "depending on the model",
      config.spec.layers, low, high);
}

}  // namespace

void StackNorms::cover(const StackNorms& layer) {
  N = layer.N;
  d = layer.d;
  S = std::max(S, layer.S);
  C_M = std::max(C_M, layer.C_M);
  tau = std::max(tau, layer.tau);
  row = std::max(row, layer.row);
}

ValueNorms value_norms(const arma::mat& C_V) {
  return {arma::norm(C_V, "fro"), singular_values(C_V).front()};
}

Layer open_layer(const arma::mat& Y, const arma::mat& M, const arma::mat& C_V,
                 const ValueNorms& values, double lambda, const arma::mat& next) {
  const arma::mat mixed = (C_V.t() * Y) * M.t() + lambda * Y;
  const arma::rowvec rows = arma::sqrt(arma::sum(arma::square(mixed), 0));
  Layer layer;
  layer.norms.N = static_cast<double>(Y.n_cols);
  layer.norms.d = static_cast<double>(Y.n_rows);
  layer.norms.S = values.frobenius;
  layer.norms.C_M = arma::norm(M, "fro");
  layer.norms.tau = values.largest * singular_values(M).front();
  layer.norms.row = values.largest * std::sqrt(arma::vec(arma::sum(arma::square(M), 1)).max());
  layer.lambda = lambda;
  layer.mu = token_spread(Y);
  layer.mu_mixed = token_spread(mixed);
  layer.mu_next = token_spread(next);
  layer.largest_row = rows.max();
  layer.row_spread = arma::norm(rows - arma::mean(rows));
  return layer;
}

void judge_layer(const Layer& layer, double slack, TrialRecord& record) {
  using namespace thm_4_1;
  const StackNorms& n = layer.norms;
  const double lambda = layer.lambda, size = std::abs(lambda), largest = layer.largest_row;
  const double next = square(layer.mu_next), mixed = square(layer.mu_mixed),
               kept = square(lambda * layer.mu);
  // Rounding errors of mu(D Y~)^2, of mu(D Y~) and of mu(Y~)^2.
  const double slack_next = slack * n.N, slack_mu = slack * std::sqrt(n.N),
               slack_mixed = slack * n.N * square(size + n.mix());
  compare(record, cap, next, n.N, slack_next);
  record.count(sign_tally(cross_term.as_printed, lambda),
               compare(record, cross_term.as_printed, kept - 2 * lambda * n.N * n.d * n.mix(),
                       mixed, slack_mixed));
  compare(record, cross_term.corrected, kept - 2 * size * n.N * n.tau, mixed, slack_mixed);
  compare(record, row_normalization.as_printed, mixed / square(largest), next, slack_next);
  compare(record, row_normalization.corrected, (layer.mu_mixed - layer.row_spread) / largest,
          layer.mu_next, slack_mu);
  compare(record, largest_row.as_printed, largest, n.mix() + size, slack * largest);
  compare(record, largest_row.corrected, largest, std::sqrt(n.N) * n.row + size, slack * largest);

  const bool violated =
      compare(record, per_layer.as_printed, layer_printed(layer.mu, lambda, n), next, slack_next);
  record.count(sign_tally(per_layer.as_printed, lambda), violated);
  if (lambda > 0) {
    compare(record, per_layer_sketch.as_printed, layer_sketched(layer.mu, lambda, n), next,
            slack_next);
    compare(record, per_layer_sketch.corrected, layer_printed(layer.mu, lambda, n), next,
            slack_next);
  }
  const double corrected = layer_corrected(layer.mu, lambda, n),
               turning = turning_bound(1, layer.mu, lambda, n);
  compare(record, per_layer.corrected, corrected, next, slack_next);
  compare(record, per_layer_turning, turning, layer.mu_next, slack_mu);
  record.count(nontrivial_tally(per_layer.corrected), corrected > 0);
  record.count(nontrivial_tally(per_layer_turning), turning > 0);
}

void judge_threshold(const StackNorms& norms, const std::vector<double>& a, TrialRecord& record) {
  if (!(norms.mix() > 0)) return;
  for (const double rate : a) {
    const double limit = threshold_7(rate, norms.mix()),
                 rounding = tolerance::closed_form<double> * square(limit);
    const auto margin = [&](double side) {
      return margin_7((1 + side * near_threshold) * limit, rate, norms.mix());
    };
    record.count(thm_4_1::threshold.id, margin(-1) > rounding);
    record.count(thm_4_1::threshold.id, margin(1) < -rounding);
  }
}

void judge_stack(const StackEnd& end, const std::vector<double>& a, double slack,
                 TrialRecord& record) {
  using namespace thm_4_1;
  const double start = square(end.mu_0), last = square(end.mu_K), N = end.norms.N;
  for (const double rate : a) {
    if (!condition_7(end.lambda, rate, end.norms.mix())) continue;
    record.count(meets_7, false);
    const double promised = std::pow(rate, end.K) * start;
    if (start >= hypothesis_printed(end.lambda, rate, end.K, end.norms)) {
      record.count(sign_tally(stack.as_printed, end.lambda),
                   compare(record, stack.as_printed, promised, last, slack * N));
    }
    if (start >= hypothesis_corrected(end.lambda, rate, end.K, end.norms)) {
      compare(record, stack.corrected, promised, last, slack * N);
    }
  }
  if (end.lambda == 0) return;
  const double turning = turning_bound(end.K, end.mu_0, end.lambda, end.norms);
  if (turning > 0) compare(record, stack_turning, turning, end.mu_K, slack * std::sqrt(N));
}

void judge_skips(const Config& config, const std::string& model, Sizes sizes, const Trial& trial,
                 TrialRecord& record) {
  const ModelSpec spec = stack_spec(config, model, sizes, "rows");
  const State<double> input = draw_input<double>(spec, trial);
  std::vector<StackAtSkip> runs;
  StackNorms none;
  none.N = static_cast<double>(sizes.tokens);
  none.d = static_cast<double>(sizes.dim);
  for (const double lambda : config.lambda) {
    runs.push_back({lambda, input, none, {token_spread(input.Y)}, input.degenerate_rows > 0});
  }
  for (std::uint64_t k = 0; k < spec.layers; ++k) {
    const auto block = bare_block(spec, trial, k);
    const arma::mat C_V = block->value_matrix();
    const ValueNorms values = value_norms(C_V);
    for (StackAtSkip& run : runs) {
      trial.check_interrupt();
      if (!run.stopped) advance(run, *block, C_V, values, config.a, record);
    }
  }
  for (const StackAtSkip& run : runs) add_degenerate_rows(record, run.state.degenerate_rows);
  judge_threshold(strongest_of(runs).norms, config.a, record);
  if (representative(config, sizes)) record_curves(config, model, runs, record);
}

void judge_theorem_4_1(const Config& config, const Records& records, Claims& claims) {
  using namespace thm_4_1;
  judge_counted(cap, records, claims);
  judge_counted(threshold, records, claims,
                "a millionth below the threshold eq. (7) must fail, a millionth above it must hold",
                "M is 0 in every stack");
  judge_counted(cross_term, records, claims, by_sign_text(records, cross_term.as_printed),
                "by Cauchy-Schwarz; the factor d and the Frobenius norms are not needed");
  judge_counted(row_normalization, records, claims, "worked example: rows (1, 0), (2, 0)");
  judge_counted(largest_row, records, claims,
                "S = ||C_V||_F, which can be as large as sqrt d sigma_max(C_V), may compensate for "
                "the missing factor sqrt N; worked example: d = 1, a row of M adds N equal tokens");
  judge_counted(per_layer, records, claims, by_sign_text(records, per_layer.as_printed),
                nontrivial_text(records, per_layer.corrected) +
                    "; two steps of the printed proof are wrong, but the bound is true");
  judge_counted(per_layer_sketch, records, claims,
                "Appendix A.4 has the factor S; in the random stacks d compensates for it; worked "
                "example: d = 1, tokens 1 and -1, C_V = 4, lambda = 3");
  judge_counted(per_layer_turning, records, claims, nontrivial_text(records, per_layer_turning));
  judge_counted(stack.as_printed, records, claims,
                clauses(by_sign_text(records, stack.as_printed),
                        lambda_needed_text(config, records, lambda_needed)) +
                    ", where b <= N at the best a; for lambda < 0 the printed b is negative, so "
                    "every input meets the hypothesis; worked example: Sys-1 at lambda = -0.9, a = "
                    "0.04, one layer");
  judge_counted(stack.corrected, records, claims,
                clauses(say("the condition is weaker than b with |lambda|, because sigma_max(C_V) "
                            "||M||_2 <= d S C_M, and so covers it; {} cases meet eq. (7)",
                            count_text(tally_of(records, meets_7).cases)),
                        lambda_needed_text(config, records, lambda_needed_corrected)),
                "no stack meets eq. (7) and mu(Y^0)^2 >= b");
  judge_counted(stack_turning, records, claims,
                clauses("the bound requires neither a nor eq. (7) nor b",
                        lambda_needed_text(config, records, lambda_needed_turning)),
                "no stack has a positive bound");
}

}  // namespace ranklab::bounds
