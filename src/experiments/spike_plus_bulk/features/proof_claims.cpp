// Claims about the proofs of Theorem 3.7, Corollary 3.8 and Theorem 3.9 of [Spectral].
#include <algorithm>
#include <cmath>
#include <numbers>

#include "experiments/spike_plus_bulk/features/features.hpp"
#include "linalg/decompositions.hpp"

namespace ranklab::features {
namespace {

// Claim: the exponent of d in the metric lies in `allowed`.
void judge_rate(const SizeClaims& over_d, const Statement& statement, const Metric& metric,
                Region allowed, const std::string& more = "") {
  over_d.exponent(statement, metric, allowed, "measured " + over_d.range(metric) + more);
}

const Region of_order_one = within(0.0, exponent_slack), of_order_d = within(1.0, exponent_slack);

const Place proof_3_7{"spectral/thm-3.7", "spectral/thm-3.7/", "Theorem 3.7, proof", Part::proof},
    proof_3_8{"spectral/cor-3.8", "spectral/cor-3.8/", "Corollary 3.8, proof", Part::proof},
    proof_3_9{"spectral/thm-3.9", "spectral/thm-3.9/", "Theorem 3.9, proof", Part::proof};

// Theorem 3.7 -------------------------------------------------------------------------------------

void judge_taylor(const Plan& plan, const SizeClaims& over_d) {
  const Place proof{proof_3_7.statement_id, "spectral/eq-3.16/",
                    "Theorem 3.7, proof, after eq. (3.16)", Part::proof};
  const Metric root = [&](const AtSize& at) { return std::sqrt(std::log(plan.k[at.i]) / at.x); };
  const Metric squared = [&](const AtSize& at) {
    const double k = plan.k[at.i];
    return k * std::pow(std::log(k) / at.x, 2);
  };
  judge_rate(over_d,
             proof("cosines", "The cosines between the rows of V-bar and V are O(sqrt(log(k)/d))"),
             ratio(cross_cosine, root), does_not_grow, " times sqrt(log(k)/d)");
  const Misprint derivative = proof.misprint(
      "spectral/eq-3.16/derivative", "derivative",
      "The entries of D, the fourth derivatives of phi in the remainder, are O(sqrt(log(k)/d))",
      "The entries of D, the fourth derivatives of phi in the remainder, are bounded by a "
      "constant");
  judge_rate(over_d, derivative.as_printed, ratio(fourth_derivative, root), does_not_grow,
             " times sqrt(log(k)/d); phi''''(0) = 1");
  judge_rate(over_d, derivative.corrected, fourth_derivative, does_not_grow);
  judge_rate(over_d,
             proof("remainder",
                   "||D o (U-bar U')^(o 4)|| / 4! is O(k log(k)^2/d^2), where U and "
                   "U-bar have the normalized rows"),
             ratio(taylor_remainder, squared), does_not_grow, " times k log(k)^2/d^2");
}

void judge_moments(const Plan& plan, const SizeClaims& over_d) {
  const Place& proof = proof_3_7;
  constexpr double mean_band = 0.05, moment_band = 0.2;
  judge_constant(plan, over_d, proof("square-mean", "The expectation of (V-bar V')^(o 2) is 11'/d"),
                 square_mean, 1.0, mean_band, "d times the mean entry");
  const std::string rows = "over the rows z_i of (V-bar V')^(o 2) - 11'/d, divided by the formula";
  judge_constant(plan, over_d,
                 proof("second-moment/trace",
                       "Given V, the diagonal of E z_i z_i' has the entries (3 ||v_j||^4 - 2 "
                       "||v_j||^2 + 1)/d^2"),
                 row_trace, 1.0, moment_band, "mean of ||z_i||^2 " + rows);
  judge_constant(plan, over_d,
                 proof("second-moment/entries",
                       "Given V, E z_i z_i' = (2 (V V')^(o 2) + (q - 1)(q - 1)')/d^2 with q_j = "
                       "||v_j||^2"),
                 row_sum, 1.0, moment_band, "mean of (1'z_i)^2 " + rows);
  judge_constant(plan, over_d, proof("norm-defect", "E ||q - 1||^2 = 2k/d"), norm_defect, 1.0,
                 mean_band, "||q - 1||^2 over 2k/d");
  judge_rate(over_d, proof("fourth-powers", "The sum of <v_i, v_j>^4 over i != j is O(k^2/d^2)"),
             fourth_powers, does_not_grow, " times k^2/d^2, expected 3 (1 - 1/k)(1 + 2/d)");
  const Metric with_log = [&](const AtSize& at) {
    return at(largest_squared_norm) / (1.0 + std::log(plan.k[at.i]) / at.x);
  };
  judge_rate(over_d, proof("largest-norm", "max ||v_i||^4 is O((1 + log(k)/d)^2)"), with_log,
             does_not_grow, " times 1 + log(k)/d, for max ||v_i||^2");
  judge_rate(over_d,
             proof("square-error",
                   "||(V-bar V')^(o 2) - 11'/d|| is O(k^(1/2 + eps)/d) for k of "
                   "order d"),
             square_error, at_most(-0.5 + exponent_slack));
}

// The theorem's regime allows any k below d^2.
void judge_wide(const SizeClaims& wide) {
  const Place theorem{proof_3_7.statement_id, proof_3_7.prefix,
                      "Theorem 3.7, hypothesis sqrt(k)/d -> 0"};
  const Misprint regime = theorem.misprint(
      "spectral/thm-3.7/regime", "regime",
      "||Sigma - (V-bar V'/4 + 11'/(4 pi d))|| = O(k^(1/2 + eps)/d) for every k with sqrt(k)/d -> "
      "0, here k = d^(7/4); the constants are the corrected ones",
      "||Sigma - (V-bar V'/4 + nu mu'/(2d))|| = O(k^(1/2 + eps)/d) also for k = d^(7/4); nu mu' "
      "has the row norms that 11' lacks");
  const Metric order = [](const AtSize& at) { return std::pow(at.x, wide_power / 2.0 - 1.0); };
  const auto judge_error = [&](const Statement& statement, const char* error,
                               const std::string& more) {
    const Metric scaled = ratio(error, order);
    wide.exponent(statement, scaled, does_not_grow,
                  "measured " + wide.range(scaled) + " times sqrt(k)/d" + more);
  };
  judge_error(regime.as_printed, wide_ones,
              ", ||E'1||/sqrt(k), a lower bound on the error; the fluctuation of the row norms "
              "adds an error of order k/d^(3/2), and the proof has sqrt(d) in place of sqrt(k) in "
              "the bound for k independent rows");
  judge_error(regime.corrected, wide_norms, "");
}

// Corollary 3.8 -----------------------------------------------------------------------------------

void judge_assumption_G(const SizeClaims& over_d) {
  const Place after{"spectral/section-3.2/separation", "spectral/eq-3.15/",
                    "Assumption G, after eq. (3.15)"};
  judge_rate(over_d, after("gram-spike", "lambda_1(A A'/n) is of order d"), spike, of_order_d);
  judge_rate(over_d, after("gram-above", "lambda_2(A A'/n) is bounded"), bulk_max, does_not_grow);
  judge_rate(over_d, after("gram-below", "lambda_k(A A'/n) is bounded below"), bulk_min,
             does_not_shrink);
  judge_rate(over_d, after("cross-spike", "s_1(A-bar A'/n) is of order d"), cross_spike,
             of_order_d);
  judge_rate(over_d, after("cross-above", "s_2(A-bar A'/n) is bounded"), cross_bulk_max,
             does_not_grow);
  judge_rate(over_d, after("cross-below", "s_(r-1)(A-bar A'/n) is bounded below, r = d"),
             cross_sigma_r, does_not_shrink);

  // Sigma = Diag(1, 1, 1, 0), u = sqrt(d) e_1, v = -e_1/sqrt(d) + sqrt(d) e_2, so 1 + u'v = 0.
  const double d = over_d.x.back(), root = std::sqrt(d);
  arma::mat B_bar = arma::diagmat(arma::vec{1.0, 1.0, 1.0, 0.0});
  B_bar(0, 0) -= 1.0;
  B_bar(1, 0) += root * root;
  const double third = singular_values(B_bar)(2);
  const Misprint range = after.misprint(
      "spectral/section-3.2/separation/range", "singular-values",
      "s_i(A-bar A'/n) is bounded below for every i from 2 to r, if s_r(Sigma) >= c_1",
      "s_(i+1)(Sigma) <= s_i(A-bar A'/n) <= s_(i-1)(Sigma), so s_i(A-bar A'/n) is bounded below "
      "for i from 2 to r - 1");
  over_d.claims.number(range.as_printed, third, at_least(0.5),
                       "s_r of the sum for r = 3, Sigma = Diag(1, 1, 1, 0), u = sqrt(d) e_1, v = "
                       "-e_1/sqrt(d) + sqrt(d) e_2, d = " +
                           short_number(d) + ", over s_r(Sigma) = 1");
  over_d.everywhere(
      range.corrected, [](const AtSize& at) { return -at(cross_interlacing); },
      "checked at every index of every matrix");
}

void judge_concentration(const Plan& plan, const SizeClaims& over_d) {
  const Place& proof = proof_3_8;
  const Metric root = [&](const AtSize& at) { return std::sqrt(at.x / plan.n[at.i]); };
  const Metric both = [=](const AtSize& at) { return root(at) + root(at) * root(at); };
  judge_rate(over_d, proof("mean-concentration-mu", "||mu-bar - mu|| is O(sqrt(d/n))"),
             ratio(mean_shift, root), does_not_grow, " times sqrt(d/n)");
  judge_rate(over_d, proof("mean-concentration-nu", "||nu-bar - nu|| is O(sqrt(d/n))"),
             ratio(teacher_mean_shift, root), does_not_grow, " times sqrt(d/n)");
  judge_rate(over_d,
             proof("covariance-concentration", "||Sigma-bar - Sigma|| is O(sqrt(d/n) + d/n)"),
             ratio(cross_sigma_error, both), does_not_grow, " times sqrt(d/n) + d/n");
}

// n grows without limit at every d; then the statement leaves o(1).
void judge_population(const SizeClaims& over_d) {
  const std::string rank_one = "spectral/cor-3.8/rank-one";
  const Place after{proof_3_8.statement_id, proof_3_8.prefix, "Corollary 3.8, after (3.17)",
                    Part::proof};
  const Misprint error = proof_3_8.misprint(
                     rank_one, "expansion",
                     "E[B-bar] = (1 + 1/d) nu mu' + V-bar V'/(2 pi) + E with ||E|| = o(1)",
                     "E[B-bar] = (1 + 1/(2d)) nu mu' + V-bar V'/4 + E with ||E|| = o(1)"),
                 tail = after.misprint(rank_one, "tail",
                                       "s_(d+1) of E[B-bar] - (1 + 1/d) nu mu' is o(1)",
                                       "s_(d+1) of E[B-bar] - (1 + 1/(2d)) nu mu' is o(1)");
  const Region vanishes = at_most(-0.5 + exponent_slack);
  const std::string limit = ", for infinitely many samples";
  judge_rate(over_d, error.as_printed, population_as_printed, vanishes, limit);
  judge_rate(over_d, error.corrected, population_corrected, vanishes, limit);
  judge_rate(over_d, tail.as_printed, tail_as_printed, vanishes, limit);
  judge_rate(over_d, tail.corrected, tail_corrected, vanishes, limit);
  over_d.everywhere(
      {proof_3_8.statement_id, "spectral/eq-3.17/factors", "Corollary 3.8, before eq. (3.17)",
       "V-bar V'(V-bar V')' >= lambda_d(V'V) V-bar V-bar', so s_d(V-bar V') >= s_d(V-bar) s_d(V)",
       Part::proof},
      [](const AtSize& at) {
        return at(linear_sigma_d) * (1.0 + rounding_of_norms) - at(factor_bound);
      },
      "quotient of the two sides " + over_d.range(ratio(linear_sigma_d, factor_bound)));
}

// Theorem 3.9 -------------------------------------------------------------------------------------

void judge_blocks(const SizeClaims& over_d) {
  const Place& proof = proof_3_9;
  const Region like_inverse = at_most(-1.0 + exponent_slack),
               like_inverse_square = at_most(-2.0 + exponent_slack);
  judge_rate(over_d, proof("block-row", "||r_0'L_0|| is O(1/d)"), block_row, like_inverse);
  judge_rate(over_d, proof("block-column", "||R_0'l_0|| is O(1/d)"), block_column, like_inverse);
  over_d.everywhere(
      proof("principal-angles", "s_(k-1)(R_0'L_0) = |r_0'l_0|"),
      [](const AtSize& at) { return rounding_of_norms - at(angle_error); },
      "largest difference " + over_d.range(angle_error));
  judge_rate(over_d, proof("step-factor", "1 - eta s_1 is of order 1/d"), step_factor,
             within(-1.0, exponent_slack));
  judge_rate(over_d, proof("corner", "a, the corner of Q, is of order 1"), corner, of_order_one);
  judge_rate(over_d, proof("corner-row", "||z||, the rest of the first row of Q, is bounded"),
             corner_row, does_not_grow);
  judge_rate(over_d,
             proof("corner-error",
                   "||E||, the norm of the first column of Q below the corner, is O(1/d^2)"),
             corner_error, like_inverse_square);
  judge_rate(over_d, proof("D-above", "s_1(D) is bounded"), D_max, does_not_grow);
  judge_rate(over_d, proof("D-below", "s_(k-1)(D) is bounded below"), D_min, does_not_shrink);
  judge_rate(over_d, proof("Q-above", "s_1(Q) is bounded"), Q_max, does_not_grow);
  judge_rate(over_d, proof("Q-below", "s_k(Q) is bounded below"), Q_min, does_not_shrink);
}

void judge_norms_of_step(const SizeClaims& over_d) {
  const Place& proof = proof_3_9;
  judge_rate(over_d,
             proof("same-rank",
                   "nr(grad L(W_1)) is of the order of nr(H), H = W-bar L-bar Diag(1, "
                   "s_2, ..., s_k)"),
             rank_quotient, of_order_one, " for the quotient");
  judge_rate(over_d, proof("H-nuclear", "||H||_* is at least of the order of ||M-bar||_*"),
             ratio(H_nuclear, M_nuclear), does_not_shrink, " for the quotient");
  judge_rate(over_d, proof("H-frobenius", "||H||_F is at most of the order of ||W-bar||_F"),
             ratio(H_frobenius, W_frobenius), does_not_grow, " for the quotient");
  judge_rate(over_d, proof("W-frobenius", "||W-bar||_F is O(sqrt(d)) for a Gaussian W-bar"),
             W_frobenius, at_most(0.5 + exponent_slack));
  judge_rate(over_d, proof("W-norm", "||W-bar|| is bounded for a Gaussian W-bar"), W_norm,
             does_not_grow);
  judge_rate(over_d, proof("M-nuclear", "||M-bar||_* is at least of order d for a Gaussian W-bar"),
             M_nuclear, at_least(1.0 - exponent_slack));
}

}  // namespace

SizeClaims over_wide_sizes(const Plan& plan, const Records& records, Claims& claims) {
  SizeClaims wide{claims,
                  records,
                  plan.wide_d,
                  {},
                  plan.wide.size() < 3 ? "--wide-d has fewer than three sizes" : "",
                  "exponent of d, fitted to each trial over " + std::to_string(plan.wide.size()) +
                      " sizes up to d = " + std::to_string(plan.wide.back().d)};
  wide.slack = slack_of_exponents;
  for (const Size& size : plan.wide) wide.prefixes.push_back(size.wide_prefix());
  return wide;
}

void judge_proofs(const Plan& plan, const SizeClaims& over_d) {
  judge_taylor(plan, over_d);
  judge_moments(plan, over_d);
  judge_wide(over_wide_sizes(plan, over_d.records, over_d.claims));
  judge_concentration(plan, over_d);
  const auto tall = over_d.claims.only_where(
      std::all_of(plan.sizes.begin(), plan.sizes.end(),
                  [](const Size& size) { return size.k > size.d && size.n > size.k; })
          ? ""
          : "the statement requires k > d and n >= C_0 d; this run has k <= d or n <= k");
  judge_assumption_G(over_d);
  judge_population(over_d);
  judge_blocks(over_d);
  judge_norms_of_step(over_d);
  judge_appendix(over_d);
}

}  // namespace ranklab::features
