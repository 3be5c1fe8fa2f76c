#include "experiments/rank_collapse/bounds/state_space.hpp"

#include <algorithm>
#include <cmath>

#include "core/fits.hpp"
#include "experiments/rank_collapse/bounds/with_skip.hpp"
#include "experiments/rank_collapse/stacked_model.hpp"
#include "linalg/decompositions.hpp"
#include "nn/blocks/bare_block.hpp"

namespace ranklab::bounds {

namespace {

// W_B = W_C = I + tilt times a Gaussian matrix. With a small tilt lambda_min is close to
// lambda_max, where the bound is strict.
constexpr double tilt = 0.05;

// The quantities in the hypotheses of Theorem 4.3 and in the lemma of its proof, over all layers so
// far.
struct SelectiveLayers {
  SelectiveNorms norms;
  double smallest_row_sum = infinity;
  double M_11 = 0.0;
  bool lemma_holds = true;  // M_ij >= lambda_min phi alpha^(N-1) for i >= j
  std::vector<double> mu;
};

void check_mixing_matrix(const arma::mat& M, double phi, double slack, SelectiveLayers& passed,
                         TrialRecord& record) {
  const SelectiveNorms& n = passed.norms;
  const double least = smallest_weight(M, true), lemma = n.lambda_min * phi;
  passed.M_11 = M(0, 0);
  passed.smallest_row_sum = std::min(passed.smallest_row_sum, arma::vec(arma::sum(M, 1)).min());
  passed.lemma_holds =
      passed.lemma_holds && least >= lemma * std::pow(n.alpha, n.N - 1) - slack * n.lambda_max;
  compare(record, thm_4_3::lemma_A_4, lemma * std::pow(n.alpha, n.N), least, slack * n.lambda_max);
}

// D cancels any factor of M, but the hypotheses and the bound depend on it. Here M is scaled by the
// smallest factor that makes all row sums at least 1, for which the printed bound is weakest.
void judge_selective_layers(const SelectiveLayers& passed, double slack, bool curves,
                            TrialRecord& record) {
  SelectiveNorms n = passed.norms;
  const double factor = 1 / passed.smallest_row_sum, floor = slack * std::sqrt(n.N);
  n.lambda_min *= factor;
  n.lambda_max *= factor;
  // If c lambda_min alpha^N exceeded 1, the base of the bound would be negative.
  const bool applies = passed.smallest_row_sum > 0 && n.lambda_min > 0 && n.c > 0 && n.c < 1 &&
                       n.c * n.lambda_min * std::pow(n.alpha, n.N) <= 1;
  record.count(thm_4_3::hypothesis, !applies);
  if (curves) {
    record.set(thm_4_3::c, applies ? n.c : undefined);
    record.set(thm_4_3::lambda_min, applies ? n.lambda_min : undefined);
    record.set(thm_4_3::lambda_max, applies ? n.lambda_max : undefined);
  }
  if (!applies) return;
  compare(record, thm_4_3::hypotheses, factor * passed.M_11, n.lambda_max, slack * n.lambda_max);
  compare(record, thm_4_3::small_lambda_max, n.lambda_max, 1 / n.N, slack);
  judge_lambda_min(n, record);
  for (std::size_t K = 1; K < passed.mu.size(); ++K) {
    compare_selective(n, static_cast<double>(K), passed.mu[K], passed.lemma_holds, floor, record);
  }
  if (!curves) return;
  const auto over_layers = [&](double (*bound)(const SelectiveNorms&, double)) {
    std::vector<double> values;
    for (std::size_t K = 0; K < passed.mu.size(); ++K)
      values.push_back(bound(n, static_cast<double>(K)));
    return values;
  };
  record.set(thm_4_3::mu_curve, passed.mu);
  record.set(thm_4_3::as_printed_curve, over_layers(selective_printed));
  record.set(thm_4_3::half_exponent_curve, over_layers(selective_half));
  record.set(thm_4_3::corrected_curve, over_layers(selective_corrected));
}

// W is scaled to this norm to meet "||W||_F < 1" of Theorems A.7 and A.8. The factor changes mu but
// not mu / ||Y||_F.
constexpr double judged_norm = 0.9;

// ||1SS(alpha) o B||_F <= ||B||_F with B = Y S Y', whose left-hand side is the block's M.
void judge_hadamard(const arma::mat& Y, const arma::mat& S, const arma::mat& M, double slack,
                    TrialRecord& record) {
  const double all = arma::norm(arma::mat(Y.t() * S * Y), "fro");
  compare(record, thm_A_10::hadamard, arma::norm(M, "fro"), all, slack * all);
}

}  // namespace

arma::mat w_bc(const ModelSpec& spec, Tensors<double>& tensors) {
  const EntryLaw start = EntryLaw::normal(1 / std::sqrt(static_cast<double>(spec.dim)));
  const arma::mat B = tensors.matrix("W_B", spec.dim, spec.state, start),
                  C = tensors.matrix("W_C", spec.dim, spec.state, start);
  return C * B.t();
}

void compare_selective(const SelectiveNorms& norms, double K, double mu, bool lemma_holds,
                       double slack, TrialRecord& record) {
  compare(record, thm_4_3::as_printed, mu, selective_printed(norms, K), slack);
  compare(record, thm_4_3::half_exponent, mu, selective_half(norms, K), slack);
  if (!lemma_holds) return;
  compare(record, thm_4_3::corrected, mu, selective_corrected(norms, K), slack);
  compare(record, thm_4_3::lambda_min_limit.corrected, mu, selective_corrected(norms, K), slack);
}

void judge_lambda_min(const SelectiveNorms& norms, TrialRecord& record) {
  constexpr double near_limit = 1e-6;
  const double limit = std::numbers::sqrt2 / (norms.c * std::pow(norms.alpha, norms.N));
  if (!std::isfinite(limit)) return;
  for (const double side : {-1.0, 1.0}) {
    SelectiveNorms shifted = norms;
    shifted.lambda_min = limit * (1 + side * near_limit);
    const bool decays = std::abs(selective_factor(shifted)) < 1;
    record.count(thm_4_3::bound_decays.id, decays != (side < 0));
  }
}

void judge_selective(const Config& config, Sizes sizes, const Trial& trial, TrialRecord& record) {
  ModelSpec spec = stack_spec(config, "selective-ssm", sizes, "rows");
  spec.state = spec.dim;
  spec.input = "cone";
  const double slack = tolerance::residual<double>;
  DrawnTensors<double> tensors = block_tensors<double>(spec, trial, 0);
  const EntryLaw start = EntryLaw::normal(1 / std::sqrt(static_cast<double>(spec.dim)));
  arma::mat W = tilt * tensors.matrix("W_B", spec.dim, spec.dim, start);
  W.diag() += 1;
  GivenMatrices weights({{"W_B", W}, {"W_C", W}});
  const auto block = make_block_of<BareBlock>(spec, weights);
  State<double> state = draw_input<double>(spec, trial);

  SelectiveLayers passed;
  // A product with a copy, because Armadillo computes W W' by another routine, which rounds
  // differently.
  const arma::mat W_C = W, S = W_C * W.t();
  const arma::vec squares = arma::square(singular_values(W));
  passed.norms = {static_cast<double>(sizes.tokens), spec.decay, smallest_cosine(state.Y),
                  squares.min(), squares.max()};
  passed.mu = {token_spread(state.Y)};
  for (std::uint64_t k = 0; k < spec.layers; ++k) {
    trial.check_interrupt();
    const arma::mat Y = state.Y, M = block->mixing_matrix(state);
    check_mixing_matrix(M, smallest_cosine(Y), slack, passed, record);
    if (state.degenerate_rows == 0) judge_scales(Y, M, S, slack, record);
    block->forward(state, 0.0);
    passed.mu.push_back(token_spread(state.Y));
  }
  judge_selective_layers(passed, slack,
                         sizes.tokens == config.tokens.front() && sizes.dim == config.dim.back(),
                         record);
  add_degenerate_rows(record, state.degenerate_rows);
}

void judge_lti(const Config& config, const LtiTheorem& theorem, Sizes sizes, const Trial& trial,
               TrialRecord& record) {
  ModelSpec spec = stack_spec(config, "lti-ssm", sizes, "none");
  spec.share_weights = theorem.share_weights;
  State<double> state = draw_input<double>(spec, trial);
  const auto normalized_mu = [&] { return std::sqrt(token_parts(state.Y).diversity()); };
  const double slack = tolerance::residual<double> * static_cast<double>(spec.layers);
  LtiLogs now;
  now.N = static_cast<double>(sizes.tokens);
  now.start = log_norm(state);
  now.mu_start = log_mu(state);
  double log_bound = now.start, shift = 0;
  // One value per layer, starting with the input, for M scaled to ||M||_F = judged_norm.
  std::vector<double> layer = {0}, logs = {log_mu(state)}, mu = {std::exp(logs.front())},
                      bound = {std::exp(log_bound)}, normalized = {normalized_mu()};
  for (std::uint64_t k = 0; k < spec.layers; ++k) {
    trial.check_interrupt();
    const auto block = bare_block(spec, trial, k);
    const arma::mat M = block->mixing_matrix(state);
    now.k += 1;
    now.spectral += std::log(singular_values(M).front());
    now.frobenius += std::log(arma::norm(M, "fro"));
    log_bound = now.spectral + now.start;
    shift = now.k * std::log(judged_norm) - now.frobenius;
    block->forward(state, 0.0);
    now.norm = log_norm(state);
    now.mu = log_mu(state);
    compare_logs(record, theorem.bound, now.mu, log_bound, slack);
    if (theorem.share_weights == "on") judge_growth(now, slack, record);
    if (theorem.share_weights == "off") judge_step_A_8(now, slack, record);
    layer.push_back(static_cast<double>(k + 1));
    logs.push_back(log_mu(state) + shift);
    mu.push_back(std::exp(logs.back()));
    bound.push_back(std::exp(log_bound + shift));
    normalized.push_back(normalized_mu());
  }
  if (theorem.share_weights == "on") count_large_norm(now, record);
  // Tokens that are almost equal first move apart.
  const bool is_spread = normalized.front() >= spread_input;
  keep_worst(record, theorem.slope, is_spread ? fit_line(layer, logs).slope : undefined);
  keep_worst(record, theorem.normalized_ratio,
             is_spread ? normalized.back() / normalized.front() : undefined);
  keep_worst(record, theorem.rank_one_residual, token_geometry(state.Y).rank_one_residual);
  if (!representative(config, sizes)) return;
  record.set(theorem.mu_curve, mu);
  record.set(theorem.bound_curve, bound);
  record.set(theorem.normalized_curve, normalized);
}

void judge_pure_selective(const Config& config, Sizes sizes, const Trial& trial,
                          TrialRecord& record) {
  using namespace thm_A_10;
  ModelSpec spec = stack_spec(config, "selective-ssm", sizes, "none");
  spec.share_weights = "on";
  const double slack = tolerance::residual<double>, N = static_cast<double>(sizes.tokens);
  for (const double factor : weight_factors) {
    spec.weight_scale = config.spec.weight_scale * factor;
    DrawnTensors<double> tensors = block_tensors<double>(spec, trial, 0);
    const auto block = make_block_of<BareBlock>(spec, tensors);
    State<double> state = draw_input<double>(spec, trial);
    const arma::mat S = w_bc(spec, tensors);
    const double log_w = std::log(arma::norm(S, "fro")), start = log_norm(state);
    judge_hadamard(state.Y, S, block->mixing_matrix(state), slack, record);
    std::vector<double> logs = {log_mu(state)}, rates, printed_rates, corrected_rates;
    for (double k = 1; k <= static_cast<double>(spec.layers); ++k) {
      trial.check_interrupt();
      block->forward(state, 0.0);
      const double now = log_mu(state), power = std::pow(3.0, k) * std::numbers::ln10;
      if (!std::isfinite(now)) break;
      const double printed = cubic_printed(k, N, log_w, start),
                   by_lemma = cubic_corrected(k, N, log_w, start);
      record.count(at_weights(factor), compare_logs(record, as_printed, now, printed, slack));
      compare_logs(record, corrected, now, by_lemma, slack);
      compare_logs(record, sharper, now, cubic_sharper(k, log_w, start), slack);
      compare_logs(record, growth_bound, log_norm(state), by_lemma, slack);
      logs.push_back(now);
      rates.push_back(now / power);
      printed_rates.push_back(printed / power);
      corrected_rates.push_back(by_lemma / power);
    }
    if (factor != 1.0) continue;
    keep_worst(record, growth, mean_growth(logs));
    if (!representative(config, sizes)) continue;
    record.set(rate, padded(rates, spec.layers));
    record.set(rate_as_printed, padded(printed_rates, spec.layers));
    record.set(rate_corrected, padded(corrected_rates, spec.layers));
  }
}

void judge_theorem_4_3(const StackClaims& stacks) {
  using namespace thm_4_3;
  const std::string unmet =
      "no stack meets c <= phi(Y^0) < 1 with c > 0, lambda_min > 0, positive row sums and c "
      "lambda_min alpha^N <= 1";
  stacks.counted(
      as_printed,
      say("hypotheses met by {} stacks, with M scaled to a smallest row sum of 1, which "
          "makes the bound weakest; worked examples: two tokens 20 degrees apart, W_B = "
          "W_C = I, alpha = 1; W_C W_B' = Diag(2.5, 0.625), alpha = 1, tokens (1, 2)/sqrt "
          "5 and (-1, 2)/sqrt 5, for which M = I, so that mu = 0.632 for ever",
          stacks.non_violations(hypothesis)),
      unmet);
  stacks.counted(half_exponent,
                 "the cases of the form as printed; D cancels the scale of M, "
                 "but the bound depends on the scale of W_B and W_C",
                 unmet);
  stacks.counted(small_lambda_max, "", unmet);
  stacks.counted(hypotheses, "", unmet);
  stacks.counted(corrected, "neither lambda_max <= 1/N nor row sums of at least 1 are required",
                 unmet + ", and M_ij >= lambda_min phi alpha^(N-1)");
  stacks.claims.number(
      lambda_min_limit.as_printed, mu_of_standing(), at_most(0),
      "W_C W_B' = Diag(2.5, 0.625), alpha = 1, tokens (1, 2)/sqrt 5 and (-1, 2)/sqrt 5: M = I, so "
      "the tokens never move; c = 0.6, lambda_min = 0.625 <= 2/c^2 = 5.56");
  stacks.counted(lambda_min_limit.corrected, "", unmet);
  stacks.counted(
      bound_decays,
      "c, alpha and N of each stack, lambda_min a millionth below and above the limit; a "
      "bound that decays does not help, because it is false",
      unmet);
  stacks.counted(halving,
                 "token 2 becomes y_2 + (y_1.y_2) y_1, so the tangent of the angle halves");
  stacks.counted(
      lemma_A_4,
      "worked example: tokens at 110 and 160 degrees, S = ((1, 0.9), (0.9, 1)), M_21 < 0");
}

void judge_lti_theorem(const LtiTheorem& theorem, const StackClaims& stacks) {
  const std::string unmet = "M is 0, or the tokens are almost equal, in every stack";
  stacks.counted(theorem.bound);
  stacks.worst(theorem.norm, theorem.slope, compared(at_most(0)),
               "slope of log mu per layer with W scaled to ||W||_F = 0.9, largest over the sizes "
               "of a trial; "
               "Y itself vanishes, and mu with it; mu / ||Y||_F need not",
               unmet);
  stacks.worst(
      theorem.normalized, theorem.normalized_ratio, at_most(vanished),
      say("mu / ||Y||_F after the last layer, relative to the input, largest over the sizes of a "
          "trial; the scale of W changes mu and ||Y||_F by the same factor; 1 - "
          "sigma_1^2/||Y||_F^2 after the last layer is at most {} (mean over trials): tokens with "
          "the same direction and different lengths have rank one but a large mu",
          stacks.mean_text(theorem.rank_one_residual)),
      unmet);
}

void judge_theorem_A_10(const StackClaims& stacks) {
  using namespace thm_A_10;
  std::vector<std::string> by_weights;
  for (const double factor : weight_factors) {
    by_weights.push_back(
        say("{}: {}", series_number(factor), stacks.violations(at_weights(factor))));
  }
  stacks.counted(as_printed,
                 say("violations with weights times {}; worked example: N = 2, d = 1, W_BC = 2, "
                     "tokens 1 and 0",
                     joined(by_weights)));
  stacks.counted(corrected);
  stacks.counted(sharper, "the factor sqrt N is not needed");
  stacks.worst(doubly_exponential, growth, within(3, growth_margin), growth_detail,
               "a ratio of two steps requires at least two layers and tokens that differ");
  stacks.counted(growth_bound);
  Tally diagonals;  // needs no trial
  for (const std::uint64_t tokens : stacks.config.tokens) {
    const double N = static_cast<double>(tokens),
                 norm = semiseparable_norm(N, stacks.config.spec.decay);
    diagonals.count(norm > std::sqrt(N) * (1 + tolerance::closed_form<double>),
                    norm / std::sqrt(N));
  }
  stacks.claims.never_violated(
      semiseparable, diagonals,
      say("one case for each N; ||1SS(alpha)||_F is up to {} sqrt N", diagonals.largest));
  stacks.counted(hadamard, "the entries of 1SS(alpha) are at most 1");
}

namespace {

// A norm of W for which Theorem A.8 guarantees nothing.
constexpr double large_norm = 1.5;

}  // namespace

// Lemma A.5 ---------------------------------------------------------------------------------------

void judge_scales(const arma::mat& Y, const arma::mat& M, const arma::mat& S, double slack,
                  TrialRecord& record) {
  constexpr double zero_row = 1e-10;  // D sets shorter rows to zero
  const double N = static_cast<double>(Y.n_cols), sigma_max = singular_values(S).front(),
               lambda_max = symmetric_eigenvalues((S + S.t()) / 2).back();
  compare(record, footnote_2::selective.corrected, arma::norm(M, "fro"), N * sigma_max,
          slack * N * sigma_max);
  const arma::rowvec rows = arma::sqrt(arma::sum(arma::square(arma::mat(Y * M.t())), 0));
  for (const double row : rows) {
    if (row < zero_row) continue;
    const double D = 1 / row;
    if (lambda_max > 0)
      compare(record, lemma_A_5.as_printed, 1 / (std::pow(N, 1.5) * lambda_max), D, slack * D);
    compare(record, lemma_A_5.corrected, 1 / (N * sigma_max), D, slack * D);
  }
}

void judge_skewed(const Config& config, Sizes sizes, const Trial& trial, TrialRecord& record) {
  ModelSpec spec = stack_spec(config, "selective-ssm", sizes, "rows");
  spec.state = spec.dim;
  const arma::mat G = gaussian_of(trial, "lemma-A.5.S", spec.dim, spec.dim) /
                      std::sqrt(static_cast<double>(spec.dim));
  for (const double skew : skews) {
    arma::mat S = skew * (G - G.t());
    S.diag() += 1;
    GivenMatrices weights(
        {{"W_C", arma::mat(spec.dim, spec.dim, arma::fill::eye)}, {"W_B", arma::mat(S.t())}});
    const auto block = make_block_of<BareBlock>(spec, weights);
    State<double> state = draw_input<double>(spec, trial);
    for (std::uint64_t k = 0; k < spec.layers; ++k) {
      trial.check_interrupt();
      judge_scales(state.Y, block->mixing_matrix(state), S, tolerance::residual<double>, record);
      block->forward(state, 0.0);
      if (state.degenerate_rows > 0) break;  // Lemma A.5 assumes unit rows
    }
    add_degenerate_rows(record, state.degenerate_rows);
  }
}

// Lemma A.6 and Theorem A.8 -----------------------------------------------------------------------

void judge_growth(const LtiLogs& logs, double slack, TrialRecord& record) {
  compare_logs(record, lemma_A_6, logs.norm, logs.spectral + logs.start, slack);
}

void judge_step_A_8(const LtiLogs& logs, double slack, TrialRecord& record) {
  compare_logs(record, step_A_8.as_printed, std::log(logs.N) / 2 + logs.norm,
               logs.frobenius + logs.start, slack);
  compare_logs(record, step_A_8.corrected, logs.norm, logs.spectral + logs.start, slack);
}

void count_large_norm(const LtiLogs& logs, TrialRecord& record) {
  const double change = logs.mu - logs.mu_start + logs.k * std::log(large_norm) - logs.frobenius;
  if (std::isfinite(change)) record.count(large_norm_vanishes, change < std::log(vanished));
}

void judge_lemma_A_5(const StackClaims& stacks) {
  stacks.counted(
      lemma_A_5.as_printed,
      "worked example: two tokens 60 degrees apart, S = I + 4 J with the rotation J by 90 "
      "degrees, for which all hypotheses of Theorem 4.3 hold; the proof gives 1/(N "
      "lambda_max), without the factor sqrt N of the statement",
      "lambda_max <= 0 in every stack");
  stacks.counted(lemma_A_5.corrected, "by ||M Y row i|| <= sum_j |M_ij| <= N sigma_max(S)");
}

void judge_lemma_A_6(const StackClaims& stacks) {
  stacks.counted(lemma_A_6);
  stacks.counted(
      step_A_8,
      "||I - 11'/N||_2 = 1 does not need the factor sqrt N; worked example: W = ((1, 0), "
      "(0, 0)), Y^0 = (1, 0)'");
  Tally large = stacks.tally(large_norm_vanishes);
  large.add(worked_examples().tally(large_norm_vanishes));
  stacks.claims.number(
      norm_not_needed, large.violations, at_least(1),
      say("number of stacks of {} in which mu falls below a tenth of mu(Y^0); with one "
          "causal W for all layers it vanishes if the diagonal |K[0]| is below 1; one "
          "stack is a worked example: W = ((1/2, 0), (2, 1/2)), W^k = 2^-k ((1, 0), (4k, "
          "1))",
          count_text(large.cases)));
}

}  // namespace ranklab::bounds
