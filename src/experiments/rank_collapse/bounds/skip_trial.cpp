// [LambdaSkip] Theorem 4.1 on random bare stacks.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.hpp"
#include "experiments/rank_collapse/bounds/curves.hpp"
#include "experiments/rank_collapse/bounds/layer.hpp"
#include "models/blocks/bare_block.hpp"

namespace ranklab::bounds {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

// The stack at one skip, layer after layer.
template <class T>
struct Run {
  double lambda = 0.0;
  State<T> state;
  StackNorms norms;        // suprema over the layers so far
  std::vector<double> mu;  // from the input
  bool stopped = false;    // a row vanished: D is not defined
};

template <class T>
Run<T> start_run(const State<T>& input, double lambda) {
  Run<T> run{lambda, input, {}, {token_spread(input.Y)}, input.degenerate_rows > 0};
  run.norms.N = static_cast<double>(input.Y.n_cols);
  run.norms.d = static_cast<double>(input.Y.n_rows);
  return run;
}

void raise(StackNorms& suprema, const StackNorms& layer) {
  suprema.S = std::max(suprema.S, layer.S);
  suprema.C_M = std::max(suprema.C_M, layer.C_M);
  suprema.tau = std::max(suprema.tau, layer.tau);
  suprema.row = std::max(suprema.row, layer.row);
}

template <class T>
void advance(Run<T>& run, const BareBlock<T>& block, const arma::mat& C_V, const ValueNorms& values, const std::vector<double>& a,
             double slack, Findings& findings) {
  const arma::mat Y = exact(run.state.Y), M = exact(block.mixing_matrix(run.state));
  const std::uint64_t degenerate = run.state.degenerate_rows;
  block.forward(run.state, run.lambda);
  if (run.state.degenerate_rows > degenerate) {
    run.stopped = true;
    return;
  }
  const Layer layer = open_layer(Y, M, C_V, values, run.lambda, exact(run.state.Y));
  raise(run.norms, layer.norms);
  run.mu.push_back(layer.mu_next);
  if (run.lambda != 0) judge_layer(layer, slack, findings);
  // The first layers of the stack are a stack themselves, with suprema and a last layer of their own.
  const double K = static_cast<double>(run.mu.size() - 1);
  judge_stack({run.norms, run.lambda, K, run.mu.front(), run.mu.back()}, a, slack * K, findings);
}

// The largest lower bound on mu(Y^K) that Theorem 4.1 gives at any of the run's collapse rates; 0 where it is silent.
double printed_guarantee(const StackNorms& norms, double lambda, double K, double mu_0, const std::vector<double>& a) {
  double best = 0;
  for (const double rate : a) {
    if (!condition_7(lambda, rate, norms.mix())) continue;
    if (mu_0 * mu_0 < hypothesis_printed(lambda, rate, K, norms)) continue;
    best = std::max(best, std::pow(rate, K / 2) * mu_0);
  }
  return best;
}

template <class T>
void record_curves(const BoundsConfig& config, const std::string& model, std::vector<Run<T>>& runs, Findings& findings) {
  const std::size_t layers = config.spec.layers;
  std::vector<double> last, printed, turning;
  const Run<T>* strongest = nullptr;
  for (Run<T>& run : runs) {
    const double K = static_cast<double>(layers), scale = std::sqrt(run.norms.N);
    run.mu.resize(layers + 1, undefined);
    findings.values[skip_prefix(model, run.lambda) + "mu"] = run.mu;
    last.push_back(run.mu.back() / scale);
    // b is negative for negative skips: a misprint that must not pass for a promise.
    printed.push_back(run.lambda < 0 ? undefined : printed_guarantee(run.norms, run.lambda, K, run.mu.front(), config.a) / scale);
    const double left = turned_after(K, run.mu.front(), run.lambda, run.norms) / scale;
    turning.push_back(run.lambda == 0 ? 0.0 : std::max(0.0, left));
    if (strongest == nullptr || std::abs(run.lambda) > std::abs(strongest->lambda)) strongest = &run;
  }
  findings.values[model + ".final_mu"] = last;
  findings.values[model + ".promised_as_printed"] = printed;
  findings.values[model + ".promised_by_turning"] = turning;
  // Beyond these skips tokens hardly move, so that the suprema no longer depend on the skip.
  const double K = static_cast<double>(layers);
  for (const double a : config.a) {
    const std::string prefix = model + ".a=" + series_number(a) + ".lambda_needed";
    findings.values[prefix] = {lambda_for_printed(a, K, strongest->norms)};
    findings.values[prefix + "_corrected"] = {lambda_for_corrected(a, K, strongest->norms)};
  }
  findings.values[model + ".lambda_needed_turning"] = {lambda_for_turning(K, strongest->norms)};
}

template <class T>
Findings judge(const BoundsConfig& config, const std::string& model, Sizes sizes, const Trial& trial) {
  const ModelSpec spec = bounds_spec(config, model, sizes.tokens, sizes.dim, "rows");
  const double slack = rounding_slack(sizeof(T) < sizeof(double));
  const State<T> input = draw_input<T>(spec, trial);
  std::vector<Run<T>> runs;
  for (const double lambda : config.lambda) runs.push_back(start_run(input, lambda));
  Findings findings;
  for (std::uint64_t k = 0; k < spec.layers; ++k) {
    DrawnTensors<T> tensors = block_tensors<T>(spec, trial, k);
    const auto block = make_bare_block(spec, tensors);
    const arma::mat C_V = exact(block->value_matrix());
    const ValueNorms values = value_norms(C_V);
    for (Run<T>& run : runs) {
      trial.check_interrupt();
      if (!run.stopped) advance(run, *block, C_V, values, config.a, slack, findings);
    }
  }
  for (const Run<T>& run : runs) findings.degenerate_rows += static_cast<double>(run.state.degenerate_rows);
  if (representative(config, sizes)) record_curves(config, model, runs, findings);
  return findings;
}

}  // namespace

Findings judge_skips(const BoundsConfig& config, const std::string& model, Sizes sizes, bool single_precision, const Trial& trial) {
  return single_precision ? judge<float>(config, model, sizes, trial) : judge<double>(config, model, sizes, trial);
}

}  // namespace ranklab::bounds
