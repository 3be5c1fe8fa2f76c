// [LambdaSkip] Theorems 4.3 (rows normalised, tokens in a cone) and A.10 (no norm): selective-ssm without a skip.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/text.hpp"
#include "experiments/rank_collapse/bounds/curves.hpp"
#include "experiments/rank_collapse/bounds/formulas.hpp"
#include "linalg/decompositions.hpp"
#include "models/blocks/bare_block.hpp"

namespace ranklab::bounds {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The share of a Gaussian matrix beside the identity in Theorem 4.3's W_B = W_C: lambda_min comes close to lambda_max, where
// its bound is strict.
constexpr double tilt = 0.05;

// One matrix under every name.
template <class T>
class SharedMatrix final : public Tensors<T> {
 public:
  explicit SharedMatrix(arma::Mat<T> W) : W_(std::move(W)) {}
  arma::Mat<T> matrix(const std::string&, arma::uword, arma::uword, const Start&) override { return W_; }
  arma::Mat<T> columns(const std::string&, arma::uword, arma::uword, const std::vector<std::uint32_t>&, const Start&) override {
    return W_;
  }
  arma::Col<T> vector(const std::string&, arma::uword, const Start&) override { return {}; }

 private:
  arma::Mat<T> W_;
};

// What the hypotheses of Theorem 4.3 and the lemma in its proof are judged by, over all layers so far.
struct SelectiveRun {
  SelectiveNorms norms;
  double smallest_row_sum = infinity;
  double M_11 = 0.0;
  bool lemma_holds = true;  // M_ij >= lambda_min phi alpha^(N-1) for i >= j
  std::vector<double> mu;
};

void look_at_mixing(const arma::mat& M, double phi, double slack, SelectiveRun& run, Findings& findings) {
  const SelectiveNorms& n = run.norms;
  const double least = smallest_weight(M, true), lemma = n.lambda_min * phi;
  run.M_11 = M(0, 0);
  run.smallest_row_sum = std::min(run.smallest_row_sum, arma::vec(arma::sum(M, 1)).min());
  run.lemma_holds = run.lemma_holds && least >= lemma * std::pow(n.alpha, n.N - 1) - slack * n.lambda_max;
  findings["lemma-A.4"].compare(lemma * std::pow(n.alpha, n.N), least, slack * n.lambda_max);
}

// D removes any factor of M, but the hypotheses and the bound do not: M is taken with the smallest factor that gives row sums
// of at least 1, at which the printed bound is weakest.
void judge_selective_run(SelectiveRun& run, double slack, bool curves, Findings& findings) {
  SelectiveNorms n = run.norms;
  const double factor = 1 / run.smallest_row_sum, floor = slack * std::sqrt(n.N);
  n.lambda_min *= factor;
  n.lambda_max *= factor;
  // Above 1, c lambda_min alpha^N would make the base of the bound negative.
  const bool applies =
      run.smallest_row_sum > 0 && n.lambda_min > 0 && n.c > 0 && n.c < 1 && n.c * n.lambda_min * std::pow(n.alpha, n.N) <= 1;
  findings["thm-4.3/hypothesis"].count(!applies);
  if (!applies) return;
  findings["thm-4.3/hypotheses"].compare(factor * run.M_11, n.lambda_max, slack * n.lambda_max);
  findings["thm-4.3/lambda-max"].count(n.lambda_max > 1 / n.N);
  std::vector<double> printed, half, corrected;
  for (std::size_t k = 0; k < run.mu.size(); ++k) {
    const double K = static_cast<double>(k);
    printed.push_back(selective_printed(n, K));
    half.push_back(selective_half(n, K));
    corrected.push_back(selective_corrected(n, K));
    if (k == 0) continue;
    findings["thm-4.3/as-printed"].compare(run.mu[k], printed[k], floor);
    findings["thm-4.3/half-exponent"].compare(run.mu[k], half[k], floor);
    if (run.lemma_holds) findings["thm-4.3/corrected"].compare(run.mu[k], corrected[k], floor);
  }
  if (!curves) return;
  findings.values["thm-4.3.mu"] = run.mu;
  findings.values["thm-4.3.as_printed"] = printed;
  findings.values["thm-4.3.half_exponent"] = half;
  findings.values["thm-4.3.corrected"] = corrected;
  findings.values["thm-4.3.c"] = {n.c};
  findings.values["thm-4.3.lambda_min"] = {n.lambda_min};
  findings.values["thm-4.3.lambda_max"] = {n.lambda_max};
}

template <class T>
Findings selective(const BoundsConfig& config, Sizes sizes, const Trial& trial) {
  ModelSpec spec = bounds_spec(config, "selective-ssm", sizes.tokens, sizes.dim, "rows");
  spec.state = spec.dim;
  spec.input = "cone";
  const double slack = rounding_slack(sizeof(T) < sizeof(double));
  DrawnTensors<T> tensors = block_tensors<T>(spec, trial, 0);
  const Start start = Start::normal(1 / std::sqrt(static_cast<double>(spec.dim)));
  arma::Mat<T> W = static_cast<T>(tilt) * tensors.matrix("W_B", spec.dim, spec.dim, start);
  W.diag() += T{1};
  SharedMatrix<T> shared(W);
  const auto block = make_bare_block(spec, shared);
  State<T> state = draw_input<T>(spec, trial);

  SelectiveRun run;
  const arma::vec squares = arma::square(singular_values(exact(W)));
  run.norms = {static_cast<double>(sizes.tokens), spec.decay, smallest_cosine(exact(state.Y)), squares.min(), squares.max()};
  run.mu = {token_spread(state.Y)};
  Findings findings;
  for (std::uint64_t k = 0; k < spec.layers; ++k) {
    trial.check_interrupt();
    look_at_mixing(exact(block->mixing_matrix(state)), smallest_cosine(exact(state.Y)), slack, run, findings);
    block->forward(state, 0.0);
    run.mu.push_back(token_spread(state.Y));
  }
  judge_selective_run(run, slack, sizes.tokens == config.tokens.front() && sizes.dim == config.dim.back(), findings);
  findings.degenerate_rows = static_cast<double>(state.degenerate_rows);
  return findings;
}

// log ||W_C W_B'||_F of the block's own draws.
template <class T>
double log_w_bc(const ModelSpec& spec, Tensors<T>& tensors) {
  const Start start = Start::normal(1 / std::sqrt(static_cast<double>(spec.dim)));
  const arma::mat B = exact(tensors.matrix("W_B", spec.dim, spec.state, start)),
                  C = exact(tensors.matrix("W_C", spec.dim, spec.state, start));
  return std::log(arma::norm(C * B.t(), "fro"));
}

// A representative's log10 mu and bounds, over 3^k.
struct CubicCurves {
  std::vector<double> mu, printed, corrected;
};

template <class T>
CubicCurves cubic_stack(const ModelSpec& spec, double factor, const Trial& trial, double slack, std::vector<double>& logs,
                        Findings& findings) {
  DrawnTensors<T> tensors = block_tensors<T>(spec, trial, 0);
  const auto block = make_bare_block(spec, tensors);
  State<T> state = draw_input<T>(spec, trial);
  const double N = static_cast<double>(spec.tokens), log_w = log_w_bc(spec, tensors), start = log_norm(state);
  const std::string at = "/weights=" + series_number(factor);
  logs = {log_mu(state)};
  CubicCurves curves;
  for (std::uint64_t layer = 0; layer < spec.layers; ++layer) {
    trial.check_interrupt();
    block->forward(state, 0.0);
    const double k = static_cast<double>(layer + 1), log_mu_now = log_mu(state), power = std::pow(3.0, k) * std::numbers::ln10;
    if (!std::isfinite(log_mu_now)) break;
    logs.push_back(log_mu_now);
    const double printed = cubic_printed(k, N, log_w, start), corrected = cubic_corrected(k, N, log_w, start);
    Tally tally;
    tally.compare_logs(log_mu_now, printed, slack);
    findings["thm-A.10/as-printed"].add(tally);
    findings["thm-A.10/as-printed" + at].add(tally);
    findings["thm-A.10/corrected"].compare_logs(log_mu_now, corrected, slack);
    findings["thm-A.10/sharper"].compare_logs(log_mu_now, cubic_sharper(k, log_w, start), slack);
    findings["lemma-A.9/bound"].compare_logs(log_norm(state), corrected, slack);
    curves.mu.push_back(log_mu_now / power);
    curves.printed.push_back(printed / power);
    curves.corrected.push_back(corrected / power);
  }
  return curves;
}

template <class T>
Findings pure_selective(const BoundsConfig& config, Sizes sizes, const Trial& trial) {
  ModelSpec spec = bounds_spec(config, "selective-ssm", sizes.tokens, sizes.dim, "none");
  spec.share_weights = "on";
  const double slack = rounding_slack(sizeof(T) < sizeof(double)), N = static_cast<double>(sizes.tokens);
  Findings findings;
  findings["lemma-A.9/semiseparable"].compare(semiseparable_norm(N, spec.decay), std::sqrt(N), slack * N);
  for (const double factor : weight_factors) {
    spec.weight_scale = config.spec.weight_scale * factor;
    std::vector<double> logs;
    const CubicCurves curves = cubic_stack<T>(spec, factor, trial, slack, logs, findings);
    if (factor != 1.0) continue;
    findings.values[size_prefix("thm-A.10", sizes) + "growth"] = {mean_growth(logs)};
    if (!representative(config, sizes)) continue;
    findings.values["thm-A.10.rate"] = padded(curves.mu, spec.layers);
    findings.values["thm-A.10.rate_as_printed"] = padded(curves.printed, spec.layers);
    findings.values["thm-A.10.rate_corrected"] = padded(curves.corrected, spec.layers);
  }
  return findings;
}

}  // namespace

Findings judge_selective(const BoundsConfig& config, Sizes sizes, bool single_precision, const Trial& trial) {
  return single_precision ? selective<float>(config, sizes, trial) : selective<double>(config, sizes, trial);
}

Findings judge_pure_selective(const BoundsConfig& config, Sizes sizes, bool single_precision, const Trial& trial) {
  return single_precision ? pure_selective<float>(config, sizes, trial) : pure_selective<double>(config, sizes, trial);
}

}  // namespace ranklab::bounds
