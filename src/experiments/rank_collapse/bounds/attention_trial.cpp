// [LambdaSkip] Theorems A.2 (4.2: rows normalised, orthogonal W_V, tokens in a cone) and A.3 (no norm): attention without a skip.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/fits.hpp"
#include "experiments/rank_collapse/bounds/curves.hpp"
#include "experiments/rank_collapse/bounds/formulas.hpp"
#include "experiments/rank_collapse/split_attention.hpp"
#include "models/blocks/bare_block.hpp"

namespace ranklab::bounds {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

// Steps of log mu say how mu falls once it has fallen: below this share of the input's.
constexpr double fallen = 1e-3;

double growth_of_the_fallen(const std::vector<double>& logs) {
  double lowest = logs.front();
  for (const double value : logs) lowest = std::fmin(lowest, value);  // passes over undefined values
  return lowest - logs.front() < std::log(fallen) ? mean_growth(logs) : undefined;
}

// log10 of mu, as far as doubles would reach: the next value is three times as far down.
std::vector<double> log10_within_range(const std::vector<double>& logs, std::size_t size) {
  std::vector<double> out;
  for (const double value : logs) out.push_back(std::exp(value) > 0 ? value / std::numbers::ln10 : undefined);
  return padded(out, size);
}

std::vector<double> logs_of(const std::vector<double>& values) {
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value));
  return logs;
}

// log mu after every layer of full attention, beyond where rounding hides it, up to where its exponent overflows.
template <class T>
std::vector<double> split_logs(const ModelSpec& spec, const Trial& trial) {
  const Start start = Start::normal(1 / std::sqrt(static_cast<double>(spec.dim)));
  SplitState<T> state(draw_input<T>(spec, trial).Y);
  std::vector<double> logs = {state.log_mu()};
  for (std::uint64_t k = 0; k < spec.layers; ++k) {
    trial.check_interrupt();
    DrawnTensors<T> tensors = block_tensors<T>(spec, trial, k);
    const arma::Mat<T> W_V = make_bare_block(spec, tensors)->value_matrix();
    split_attention(state, tensors.matrix("W_Q", spec.dim, spec.dim, start), tensors.matrix("W_K", spec.dim, spec.dim, start), W_V);
    if (spec.norm == "rows") normalise_rows(state);
    if (!std::isfinite(state.log_mu())) break;
    logs.push_back(state.log_mu());
  }
  return logs;
}

ModelSpec cone_spec(const BoundsConfig& config, Sizes sizes) {
  ModelSpec spec = bounds_spec(config, "attention", sizes.tokens, sizes.dim, "rows");
  spec.value_weights = "orthogonal";
  spec.input = "cone";
  return spec;
}

// The stack of Theorem A.2 as it goes, down to where rounding hides mu.
struct ConeRun {
  std::vector<double> mu, bound;
  double phi = 0.0;           // of the layer so far
  double epsilon = infinity;  // smallest attention weight so far
  double C = 0.0;             // smallest in mu <= C (1 - epsilon^2)^(K/2)
};

template <class T>
void advance(ConeRun& run, const BareBlock<T>& block, State<T>& state, bool causal, bool applies, double slack,
             Findings& findings) {
  const double N = static_cast<double>(state.Y.n_cols), floor = slack * std::sqrt(N), before = run.phi;
  run.epsilon = std::min(run.epsilon, smallest_weight(exact(block.mixing_matrix(state)), causal));
  block.forward(state, 0.0);
  const double mu = token_spread(state.Y), bound = attention_bound(N, run.epsilon, static_cast<double>(run.mu.size()));
  run.phi = smallest_cosine(exact(state.Y));
  run.mu.push_back(mu > floor ? mu : undefined);
  run.bound.push_back(bound);
  if (!applies) return;
  findings["thm-4.2/angles"].compare(before, run.phi, slack);
  findings["thm-4.2/bound"].compare(mu, bound, floor);
  run.C = std::max(run.C, mu * std::sqrt(N) / bound);
}

double decay_slope(const std::vector<double>& mu) {
  std::vector<double> x, y;
  for (std::size_t k = 0; k < mu.size() && mu[k] > 0; ++k) {
    x.push_back(static_cast<double>(k));
    y.push_back(std::log(mu[k]));
  }
  return x.size() < 2 ? undefined : fit_line(x, y).slope;
}

template <class T>
Findings attention(const BoundsConfig& config, Sizes sizes, const Trial& trial) {
  const ModelSpec spec = cone_spec(config, sizes);
  const double slack = rounding_slack(sizeof(T) < sizeof(double));
  State<T> state = draw_input<T>(spec, trial);
  ConeRun run;
  run.mu = {token_spread(state.Y)};
  run.bound = {std::sqrt(static_cast<double>(sizes.tokens))};
  run.phi = smallest_cosine(exact(state.Y));
  run.C = run.mu.front();
  const bool applies = run.phi >= 0;
  Findings findings;
  findings["thm-4.2/hypothesis"].count(!applies);
  for (std::uint64_t k = 0; k < spec.layers; ++k) {
    trial.check_interrupt();
    DrawnTensors<T> tensors = block_tensors<T>(spec, trial, k);
    advance(run, *make_bare_block(spec, tensors), state, spec.causal, applies, slack, findings);
  }
  findings.degenerate_rows = static_cast<double>(state.degenerate_rows);
  // Full attention sends mu below rounding in two or three layers; causal attention, in which token 1 stays, does not.
  const std::vector<double> logs = spec.causal ? logs_of(run.mu) : split_logs<T>(spec, trial);
  const std::string prefix = size_prefix("thm-4.2", sizes);
  findings.values[prefix + "slope"] = {applies ? decay_slope(run.mu) : undefined};
  findings.values[prefix + "epsilon"] = {run.epsilon};
  findings.values[prefix + "C"] = {run.C};
  findings.values[prefix + "growth"] = {applies ? growth_of_the_fallen(logs) : undefined};
  if (representative(config, sizes)) {
    findings.values["thm-4.2.log10_mu"] = log10_within_range(logs, spec.layers + 1);
    findings.values["thm-4.2.log10_bound"] = log10_within_range(logs_of(run.bound), spec.layers + 1);
    findings.values["thm-4.2.growth"] = padded(growth_of_steps(logs), spec.layers - 1);
  }
  return findings;
}

template <class T>
Findings pure_attention(const BoundsConfig& config, Sizes sizes, const Trial& trial) {
  ModelSpec spec = bounds_spec(config, "attention", sizes.tokens, sizes.dim, "none");
  const std::vector<double> logs = split_logs<T>(spec, trial);
  double constant = -infinity, power = 1;
  for (std::size_t k = 1; k < logs.size(); ++k) {
    power *= 3;
    constant = std::max(constant, (logs[k] - power * logs.front()) / ((power - 1) / 2));
  }
  Findings findings;
  findings.values[size_prefix("thm-A.3", sizes) + "growth"] = {growth_of_the_fallen(logs)};
  findings.values[size_prefix("thm-A.3", sizes) + "log_constant"] = {constant};
  if (!representative(config, sizes)) return findings;
  findings.values["thm-A.3.growth"] = padded(growth_of_steps(logs), spec.layers - 1);
  findings.values["thm-A.3.log10_mu"] = log10_within_range(logs, spec.layers + 1);
  return findings;
}

}  // namespace

Findings judge_attention(const BoundsConfig& config, Sizes sizes, bool single_precision, const Trial& trial) {
  return single_precision ? attention<float>(config, sizes, trial) : attention<double>(config, sizes, trial);
}

Findings judge_pure_attention(const BoundsConfig& config, Sizes sizes, bool single_precision, const Trial& trial) {
  return single_precision ? pure_attention<float>(config, sizes, trial) : pure_attention<double>(config, sizes, trial);
}

}  // namespace ranklab::bounds
