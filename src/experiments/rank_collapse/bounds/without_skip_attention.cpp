// [LambdaSkip] Theorems A.2 (4.2: rows normalized, orthogonal W_V, tokens in a cone) and A.3 (no
// norm): attention without a skip.
#include <algorithm>
#include <cmath>

#include "core/fits.hpp"
#include "experiments/rank_collapse/bounds/split_attention.hpp"
#include "experiments/rank_collapse/bounds/without_skip.hpp"
#include "experiments/rank_collapse/stacked_model.hpp"
#include "nn/blocks/bare_block.hpp"

namespace ranklab::bounds {
namespace {

// The growth of the steps of log mu is judged only if mu has fallen below this share of its value
// at the input.
constexpr double collapsed_share = 1e-3;

double growth_if_collapsed(const std::vector<double>& logs) {
  double lowest = logs.front();
  for (const double value : logs) lowest = std::fmin(lowest, value);  // fmin skips undefined values
  return lowest - logs.front() < std::log(collapsed_share) ? mean_growth(logs) : undefined;
}

// log10 of mu, undefined if mu would underflow a double: log mu can triple from layer to layer.
std::vector<double> log10_within_range(const std::vector<double>& logs, std::size_t size) {
  std::vector<double> out;
  for (const double value : logs)
    out.push_back(std::exp(value) > 0 ? value / std::numbers::ln10 : undefined);
  return padded(out, size);
}

std::vector<double> logs_of(const std::vector<double>& values) {
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value));
  return logs;
}

// log mu after every layer of full attention, until the exponent of mu overflows.
std::vector<double> split_logs(const ModelSpec& spec, const Trial& trial) {
  SplitState state(draw_input<double>(spec, trial).Y);
  std::vector<double> logs = {state.log_mu()};
  for (std::uint64_t k = 0; k < spec.layers; ++k) {
    trial.check_interrupt();
    split_layer(spec, trial, k, state);
    if (spec.norm == "rows") normalize_split_rows(state);
    if (!std::isfinite(state.log_mu())) break;
    logs.push_back(state.log_mu());
  }
  return logs;
}

double decay_slope(const std::vector<double>& mu) {
  std::vector<double> x, y;
  for (std::size_t k = 0; k < mu.size() && mu[k] > 0; ++k) {
    x.push_back(static_cast<double>(k));
    y.push_back(std::log(mu[k]));
  }
  return x.size() < 2 ? undefined : fit_line(x, y).slope;
}

}  // namespace

void split_layer(const ModelSpec& spec, const Trial& trial, std::uint64_t layer,
                 SplitState& state) {
  const Start start = Start::normal(1 / std::sqrt(static_cast<double>(spec.dim)));
  DrawnTensors<double> tensors = block_tensors<double>(spec, trial, layer);
  const arma::mat W_V = make_block_of<BareBlock>(spec, tensors)->value_matrix();
  split_attention(state, tensors.matrix("W_Q", spec.dim, spec.dim, start),
                  tensors.matrix("W_K", spec.dim, spec.dim, start), W_V);
}

double cor_A_3_1::log_ratio(double s, double power) {
  const arma::mat one(1, 1, arma::fill::ones), W = one / s;  // W_Q = W_K
  SplitState state(arma::mat{{s, -s}});
  const double start = state.log_mu(), log_beta = -2 * std::log(s);
  for (int layer = 0; layer < 2; ++layer) split_attention(state, W, W, one);
  return (state.log_mu() - 4 * log_beta - power * start) / std::numbers::ln10;
}

void judge_matrix_norms(const arma::mat& A, double slack, TrialRecord& record) {
  const arma::mat size = arma::abs(A);
  const double frobenius = arma::norm(A, "fro"), rounding = slack * frobenius;
  const struct {
    double norm, factor;
  } norms[] = {{arma::rowvec(arma::sum(size, 0)).max(), std::sqrt(static_cast<double>(A.n_rows))},
               {arma::vec(arma::sum(size, 1)).max(), std::sqrt(static_cast<double>(A.n_cols))}};
  for (const auto& [norm, factor] : norms) {
    compare(record, cor_A_3_1::norms.as_printed, norm, frobenius, rounding);
    compare(record, cor_A_3_1::norms.corrected, norm, factor * frobenius, factor * rounding);
  }
}

void judge_attention(const Config& config, Sizes sizes, const Trial& trial, TrialRecord& record) {
  ModelSpec spec = stack_spec(config, "attention", sizes, "rows");
  spec.value_weights = "orthogonal";
  spec.input = "cone";
  State<double> state = draw_input<double>(spec, trial);
  const double slack = tolerance::residual<double>, N = static_cast<double>(sizes.tokens),
               floor = slack * std::sqrt(N);
  std::vector<double> mu = {token_spread(state.Y)}, bound = {std::sqrt(N)};
  double phi = smallest_cosine(state.Y), epsilon = infinity, C = mu.front();
  const bool applies = phi >= 0;
  record.count(thm_4_2::hypothesis, !applies);
  for (std::uint64_t k = 1; k <= spec.layers; ++k) {
    trial.check_interrupt();
    const auto block = bare_block(spec, trial, k - 1);
    epsilon = std::min(epsilon, smallest_weight(block->mixing_matrix(state), spec.causal));
    block->forward(state, 0.0);
    const double before = phi, spread = token_spread(state.Y);
    phi = smallest_cosine(state.Y);
    mu.push_back(spread > floor ? spread : undefined);  // below the floor, rounding hides mu
    bound.push_back(attention_bound(N, epsilon, static_cast<double>(k)));
    if (!applies) continue;
    compare(record, thm_4_2::angles, before, phi, slack);
    compare(record, thm_4_2::bound, spread, bound.back(), floor);
    C = std::max(C, spread * std::sqrt(N) / bound.back());
  }
  add_degenerate_rows(record, state.degenerate_rows);
  // Full attention takes mu below the rounding error in two or three layers. Causal attention does
  // not, because token 1 attends to itself only.
  const std::vector<double> logs = spec.causal ? logs_of(mu) : split_logs(spec, trial);
  keep_worst(record, thm_4_2::slope, applies ? decay_slope(mu) : undefined);
  keep_worst(record, thm_4_2::epsilon, epsilon);
  keep_worst(record, thm_4_2::C, C);
  keep_worst(record, thm_4_2::growth, applies ? growth_if_collapsed(logs) : undefined);
  if (!representative(config, sizes)) return;
  record.set(thm_4_2::log10_mu, log10_within_range(logs, spec.layers + 1));
  record.set(thm_4_2::log10_bound, log10_within_range(logs_of(bound), spec.layers + 1));
  record.set(thm_4_2::growth_curve, padded(growth_of_steps(logs), spec.layers - 1));
}

void judge_pure_attention(const Config& config, Sizes sizes, const Trial& trial,
                          TrialRecord& record) {
  const ModelSpec spec = stack_spec(config, "attention", sizes, "none");
  const std::vector<double> logs = split_logs(spec, trial);
  double constant = -infinity, power = 1;
  for (std::size_t k = 1; k < logs.size(); ++k) {
    power *= 3;
    constant = std::max(constant, (logs[k] - power * logs.front()) / ((power - 1) / 2));
  }
  keep_worst(record, thm_A_3::growth, growth_if_collapsed(logs));
  keep_worst(record, thm_A_3::log_constant, constant);
  arma::mat residual = draw_input<double>(spec, trial).Y;
  residual.each_col() -= arma::vec(arma::mean(residual, 1));
  judge_matrix_norms(residual.t(), tolerance::closed_form<double>, record);
  if (!representative(config, sizes)) return;
  record.set(thm_A_3::log10_mu, log10_within_range(logs, spec.layers + 1));
  record.set(thm_A_3::growth_curve, padded(growth_of_steps(logs), spec.layers - 1));
}

void judge_theorem_4_2(const Config& config, const Records& records, Claims& claims) {
  using namespace thm_4_2;
  const std::string unmet = "no stack starts with phi >= 0 and mu > 0";
  const std::string met = say("phi(Y^0) >= 0 in {} stacks; the input tokens lie in a cone",
                              non_violations_text(tally_of(records, hypothesis)));
  judge_worst(exponential, slope, compared(at_most(0)), records, claims,
              "slope of log mu per layer, largest over the sizes of a trial, up to the layer at "
              "which rounding hides mu; " +
                  met,
              unmet);
  judge_counted(bound, records, claims,
                say("the theorem does not give C and epsilon; smallest epsilon of a trial, mean "
                    "over trials: {}",
                    mean_text(records, epsilon)),
                unmet);
  judge_counted(angles, records, claims, met, unmet);
  judge_worst(
      cubic, growth, within(3, growth_margin), records, claims,
      clauses(growth_detail, config.spec.causal
                                 ? ""
                                 : "under full attention all tokens approach one average, and "
                                   "normalization of the rows keeps its direction; a causal mask "
                                   "(--causal on) slows the collapse"),
      unmet + ", and falls below a thousandth of mu(Y^0)");
}

void judge_theorem_A_3(const Records& records, Claims& claims) {
  using namespace thm_A_3;
  claims.not_applicable(as_printed,
                        say("the paper does not define gamma; the bound holds in the Frobenius "
                            "norm if exp({}) replaces 4 gamma beta / sqrt d (smallest such "
                            "constant, at the worst size)",
                            mean_text(records, log_constant)));
  judge_worst(cubic, growth, within(3, growth_margin), records, claims,
              growth_detail +
                  "; the mean token and the differences between tokens are stored separately, so "
                  "rounding does not hide mu",
              "no stack has mu below a thousandth of mu(Y^0): either 4 gamma beta / sqrt d is too "
              "large, or there are too few layers");
  const auto growth_with_scale = [](double power) {
    return cor_A_3_1::log_ratio(10, power) - cor_A_3_1::log_ratio(1, power);
  };
  constexpr int K = 2;
  const double rounding = tolerance::closed_form<double>;
  claims.number(cor_A_3_1::exponent.as_printed, growth_with_scale(3), at_most(rounding),
                say("log10 of the ratio of the two sides at scale 10 over that at scale 1, K = {}, "
                    "tokens 1 and -1",
                    K));
  claims.number(cor_A_3_1::exponent.corrected, growth_with_scale(std::pow(3, K)), at_most(rounding),
                "the same");
  judge_counted(cor_A_3_1::norms, records, claims,
                "A = res(Y^0); worked examples: A = (1, 1)' and (1, 1)");
}

}  // namespace ranklab::bounds
