#include "experiments/rank_collapse/bounds/attention.hpp"

#include <algorithm>
#include <cmath>

#include "core/fits.hpp"
#include "experiments/rank_collapse/bounds/with_skip.hpp"
#include "experiments/rank_collapse/stacked_model.hpp"
#include "nn/blocks/bare_block.hpp"

namespace ranklab::bounds {

// The state ---------------------------------------------------------------------------------------

namespace {

arma::mat centered(arma::mat R) {
  const arma::vec mean = arma::mean(R, 1);
  R.each_col() -= mean;
  return R;
}

void rescale(SplitState& state) {
  State<double> scaled{std::move(state.rest), state.log2_scale, 0};
  scaled.rescale();
  state.rest = std::move(scaled.Y);
  state.log2_scale = scaled.log2_scale;
}

arma::vec softmax(const arma::vec& logits) {
  const arma::vec weights = arma::exp(logits - logits.max());
  return weights / arma::accu(weights);
}

// The transpose of the matrix with entries E_ij, stored as 2^exponent E.
struct Deviation {
  arma::mat E;  // (N, N), column i for output token i
  double exponent = 0.0;
};

// Column i of H (N, N) holds h_ij / 2^exponent.
Deviation deviation(const arma::mat& H, double exponent, const arma::vec& p,
                    const arma::vec& logits) {
  const double largest = arma::abs(H).max() * std::exp2(exponent);
  Deviation out{H, exponent};
  if (!(largest <= 1)) {
    // The rows of P differ so much that P - p does not cancel.
    const double scale = std::exp2(exponent);
    out.exponent = 0;
    for (arma::uword i = 0; i < H.n_cols; ++i)
      out.E.col(i) = softmax(logits + scale * H.col(i)) - p;
    return out;
  }
  if (largest < std::numeric_limits<double>::epsilon()) {
    // To the last bit, expm1(h) = h and the denominator is 1. h may underflow, so the exponent
    // stays separate.
    for (arma::uword i = 0; i < H.n_cols; ++i)
      out.E.col(i) = p % (H.col(i) - arma::dot(p, H.col(i)));
    return out;
  }
  out.exponent = 0;
  const double scale = std::exp2(exponent);
  for (arma::uword i = 0; i < H.n_cols; ++i) {
    arma::vec x = scale * H.col(i);
    x.transform([](double h) { return std::expm1(h); });
    const double mean = arma::dot(p, x);
    out.E.col(i) = p % (x - mean) / (1 + mean);
  }
  return out;
}

}  // namespace

SplitState::SplitState(const arma::mat& Y) : shared(arma::mean(Y, 1)), rest(centered(Y)) {
  rescale(*this);
}

double SplitState::log_mu() const {
  return std::log(arma::norm(rest, "fro")) + log2_scale * std::numbers::ln2;
}

arma::mat SplitState::tokens() const {
  arma::mat Y = std::exp2(log2_scale) * rest;
  Y.each_col() += shared;
  return Y;
}

void split_attention(SplitState& state, const arma::mat& W_Q, const arma::mat& W_K,
                     const arma::mat& W_V) {
  const double scale = 1 / std::sqrt(static_cast<double>(W_Q.n_rows));
  const double size = std::exp2(state.log2_scale);
  const arma::mat K = W_K.t() * state.rest;
  const arma::vec logits = scale * size * (K.t() * (W_Q.t() * state.shared)), p = softmax(logits);
  const arma::mat H = scale * (K.t() * (W_Q.t() * state.rest));
  const Deviation E = deviation(H, 2 * state.log2_scale, p, logits);

  const arma::mat moved = state.rest * E.E;
  const double moved_size = std::exp2(state.log2_scale + E.exponent);
  state.shared =
      W_V.t() * (state.shared + size * (state.rest * p) + moved_size * arma::mean(moved, 1));
  state.rest = W_V.t() * centered(moved);
  state.log2_scale += E.exponent;
  rescale(state);
}

void normalize_split_rows(SplitState& state) {
  const double size = std::exp2(state.log2_scale), g2 = arma::dot(state.shared, state.shared);
  const arma::rowvec along = state.shared.t() * state.rest,
                     squares = arma::sum(arma::square(state.rest), 0);
  const arma::rowvec z = size * (2 * along + size * squares) / g2;
  // e / 2^s to first order, which is exact to the last bit for small z.
  arma::rowvec e = -along / g2;
  if (arma::abs(z).max() > std::numeric_limits<double>::epsilon()) {
    for (arma::uword i = 0; i < e.n_elem; ++i) e(i) = std::expm1(-std::log1p(z(i)) / 2) / size;
  }
  arma::mat tokens = size * state.rest;
  tokens.each_col() += state.shared;
  tokens.each_row() %= e;
  const arma::mat moved = (state.rest + tokens) / std::sqrt(g2);
  state.shared = state.shared / std::sqrt(g2) + size * arma::mean(moved, 1);
  state.rest = centered(moved);
  rescale(state);
}

// The theorems ------------------------------------------------------------------------------------

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
  const EntryLaw start = EntryLaw::normal(1 / std::sqrt(static_cast<double>(spec.dim)));
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
    const arma::mat M = block->mixing_matrix(state);
    epsilon = std::min(epsilon, smallest_weight(M, false));
    compare(record, footnote_2::attention, arma::norm(M, "fro"), std::sqrt(N), slack);
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
  // Attention takes mu below the rounding error in two or three layers.
  const std::vector<double> logs = split_logs(spec, trial);
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

void judge_theorem_4_2(const StackClaims& stacks) {
  using namespace thm_4_2;
  const std::string unmet = "no stack starts with phi >= 0 and mu > 0";
  const std::string met = say("phi(Y^0) >= 0 in {} stacks; the input tokens lie in a cone",
                              stacks.non_violations(hypothesis));
  stacks.worst(exponential, slope, compared(at_most(0)),
               "slope of log mu per layer, largest over the sizes of a trial, up to the layer at "
               "which rounding hides mu; " +
                   met,
               unmet);
  stacks.worst(in_section_4_2_1, slope, compared(at_most(0)),
               "slope of log mu per layer, largest over the sizes of a trial", unmet);
  stacks.counted(
      bound,
      say("no evidence for the theorem, which leaves C and epsilon free: the bound is far "
          "above mu; smallest epsilon of a trial, mean over trials: {}",
          stacks.mean_text(epsilon)),
      unmet);
  stacks.counted(angles, met, unmet);
  stacks.worst(
      cubic, growth, within(3, growth_margin),
      clauses(growth_detail,
              "all tokens approach one average, and normalization of the rows keeps its direction"),
      unmet + ", and falls below a thousandth of mu(Y^0)");
}

void judge_theorem_A_3(const StackClaims& stacks) {
  using namespace thm_A_3;
  stacks.claims.not_applicable(
      as_printed, say("the paper does not define gamma; the bound holds in the Frobenius "
                      "norm if exp({}) replaces 4 gamma beta / sqrt d (smallest such "
                      "constant, at the worst size)",
                      stacks.mean_text(log_constant)));
  stacks.worst(cubic, growth, within(3, growth_margin),
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
  stacks.claims.number(
      cor_A_3_1::exponent.as_printed, growth_with_scale(3), at_most(rounding),
      say("log10 of the ratio of the two sides at scale 10 over that at scale 1, K = {}, "
          "tokens 1 and -1",
          K));
  stacks.claims.number(cor_A_3_1::exponent.corrected, growth_with_scale(std::pow(3, K)),
                       at_most(rounding), "the same");
  stacks.counted(cor_A_3_1::norms, "A = res(Y^0); worked examples: A = (1, 1)' and (1, 1)");
}

}  // namespace ranklab::bounds
