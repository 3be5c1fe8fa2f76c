// The proofs of Theorem 3.7 and Corollary 3.8, [Spectral] Section 3.2.1: the Taylor remainder
// (3.16), the moments of (V-bar V')^(o 2), and the bulk of Corollary 3.8 for infinitely many
// samples. Shapes: V, V-bar (k, d); q (k), q_j = ||v_j||^2; Z = (V-bar V')^(o 2) - 11'/d (k, k)
// with rows z_i.
#include <algorithm>
#include <numbers>

#include "experiments/spike_plus_bulk/features/features.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"
#include "models/feature_moments.hpp"

namespace ranklab::features {

using std::numbers::pi;

// The trial ---------------------------------------------------------------------------------------

namespace {

// Sigma = Lambda-bar K Lambda / (2 pi), so K = 2 pi Sigma / (norms); its Taylor remainder is K -
// (pi/2) t - t^2/2 with the cosines t. phi''''(xi) of the remainder at the largest |t| is 24
// remainder / t^4.
void measure_taylor(const arma::mat& linear, const arma::mat& outer, const arma::mat& Sigma,
                    TrialRecord& record) {
  const arma::mat t = linear / outer;
  const arma::mat remainder = 2.0 * pi * Sigma / outer - pi / 2.0 * t - 0.5 * arma::square(t);
  const arma::uword at = arma::abs(t).index_max();
  record.set(cross_cosine, std::fabs(t(at)));
  record.set(fourth_derivative, 24.0 * remainder(at) / std::pow(t(at), 4));
  record.set(taylor_remainder, operator_norm(remainder));
}

// Given V, the printed second moment of z_i has the trace sum_j (3 q_j^2 - 2 q_j + 1) / d^2 and the
// sum of entries (2 ||V V'||_F^2 + (sum_j (q_j - 1))^2) / d^2.
void measure_moments(const Size& size, const arma::mat& V, const arma::mat& linear,
                     TrialRecord& record) {
  const double k = static_cast<double>(size.k), d = static_cast<double>(size.d);
  const arma::vec q = arma::sum(arma::square(V), 1);
  const arma::mat gram = V * V.t(), Z = arma::square(linear) - 1.0 / d;
  record.set(square_mean, d * arma::mean(arma::vectorise(Z)) + 1.0);
  record.set(square_error, operator_norm(Z));
  const arma::vec sums = arma::sum(Z, 1);
  const double trace = (3.0 * arma::dot(q, q) - 2.0 * arma::accu(q) + k) / (d * d),
               sum = (2.0 * arma::dot(gram, gram) + std::pow(arma::accu(q) - k, 2)) / (d * d);
  record.set(row_trace, arma::dot(Z, Z) / k / trace);
  record.set(row_sum, arma::dot(sums, sums) / k / sum);
  record.set(norm_defect, arma::accu(arma::square(q - 1.0)) * d / (2.0 * k));
  const double off_diagonal =
      arma::accu(arma::square(arma::square(gram))) - arma::accu(arma::pow(q, 4));
  record.set(fourth_powers, off_diagonal * d * d / (k * k));
  record.set(largest_squared_norm, q.max());
}

// E = E[B-bar] - factor nu mu' - coefficient V-bar V', the bulk Q = E[B-bar] - factor nu mu', and
// s_(d+1)(Q); as printed with 1 + 1/d and 1/(2 pi), corrected with 1 + 1/(2d) and 1/4.
void measure_population(const Size& size, const arma::mat& linear, const arma::mat& means,
                        const arma::mat& Sigma, TrialRecord& record) {
  const double d = static_cast<double>(size.d);
  const auto tail = [&](const arma::mat& Q) {
    const arma::vec s = singular_values(Q);
    return size.d < s.n_elem ? s(size.d) : undefined;
  };
  const arma::mat printed = Sigma - means / d, corrected = Sigma - means / (2.0 * d);
  record.set(population_as_printed, operator_norm(arma::mat(printed - linear / (2.0 * pi))));
  record.set(population_corrected, operator_norm(arma::mat(corrected - linear / 4.0)));
  record.set(tail_as_printed, tail(printed));
  record.set(tail_corrected, tail(corrected));
}

double smallest_singular_value(const arma::mat& V) {
  return singular_values(V).back();
}

// Thompson's interlacing for B-bar = Q + a matrix of rank one: s_(i+1)(Q) <= s_i(B-bar) <=
// s_(i-1)(Q) at every index, up to rounding. Both descending.
double count_violations(const arma::vec& whole, const arma::vec& bulk) {
  const double slack = 1e-13 * static_cast<double>(whole.n_elem) * whole.front();
  double violations = 0.0;
  for (arma::uword i = 0; i < whole.n_elem; ++i) {
    if (i + 1 < bulk.n_elem && whole(i) < bulk(i + 1) - slack) violations += 1.0;
    if (i > 0 && whole(i) > bulk(i - 1) + slack) violations += 1.0;
  }
  return violations;
}

}  // namespace

void measure_proof(const Size& size, const arma::mat& V, const arma::mat& V_bar,
                   const FeatureSamples& samples, const Trial& trial, TrialRecord& record) {
  const Activation& relu = find_activation("relu");
  const arma::mat linear = V_bar * V.t();
  const arma::mat Sigma = feature_cross_covariance(relu, V_bar, V);
  const arma::vec mu = feature_mean(relu, V), nu = feature_mean(relu, V_bar);
  measure_taylor(linear, row_norms(V_bar) * row_norms(V).t(), Sigma, record);
  trial.check_interrupt();
  measure_moments(size, V, linear, record);
  trial.check_interrupt();
  measure_population(size, linear, nu * mu.t(), Sigma, record);
  trial.check_interrupt();
  const bool tall = size.k >= size.d;
  record.set(factor_bound,
             tall ? smallest_singular_value(V_bar) * smallest_singular_value(V) : undefined);

  const PairSums student = FeatureSamples::total(samples.student),
                 cross = FeatureSamples::total(samples.cross);
  record.set(mean_shift, arma::norm(cross.right_mean() - mu));
  record.set(teacher_mean_shift, arma::norm(cross.left_mean() - nu));
  record.set(cross_sigma_error, operator_norm(arma::mat(cross.centered_gram() - Sigma)));
  const arma::vec lambda = symmetric_eigenvalues(student.gram());
  record.set(spike, lambda.back());
  record.set(bulk_max, lambda(lambda.n_elem - 2));
  record.set(bulk_min, lambda.front());
  trial.check_interrupt();
  const std::vector<double>& whole = record.array(cross_singular_values);
  const std::vector<double>& bulk = record.array(cross_bulk_singular_values);
  record.set(cross_interlacing, count_violations(arma::vec(whole), arma::vec(bulk)));
  const auto entry = [&](std::uint64_t i) { return i < whole.size() ? whole[i] : undefined; };
  record.set(cross_sigma_r, size.d >= 2 ? entry(size.d - 2) : undefined);
  record.set(cross_sigma_d, entry(size.d - 1));
}

void measure_wide(const Size& size, const Trial& trial, TrialRecord& record) {
  const double k = static_cast<double>(size.k), d = static_cast<double>(size.d);
  const Activation& relu = find_activation("relu");
  const arma::mat V = draw_weights(trial, size, "wide.V", size.d),
                  V_bar = draw_weights(trial, size, "wide.V-bar", size.d);
  arma::mat error = feature_cross_covariance(relu, V_bar, V);
  error -= 0.25 * V_bar * V.t();
  trial.check_interrupt();
  // ||E|| >= ||E'x|| for every unit vector x, here x = 1/sqrt(k).
  const arma::vec sums = arma::sum(error, 0).t() - k / (4.0 * pi * d);
  record.set(wide_ones, arma::norm(sums) / std::sqrt(k));
  error -= row_norms(V_bar) * row_norms(V).t() / (4.0 * pi * d);  // nu mu'/(2d)
  record.set(wide_norms, operator_norm(error));
}

// Claims ------------------------------------------------------------------------------------------

namespace {

const Place proof_3_7{"spectral/thm-3.7", "spectral/thm-3.7/", "Theorem 3.7, proof", Part::proof},
    proof_3_8{"spectral/cor-3.8", "spectral/cor-3.8/", "Corollary 3.8, proof", Part::proof};

// Theorem 3.7 -------------------------------------------------------------------------------------

void judge_taylor(const Config& c, const SizeClaims& over_d) {
  const Place proof{proof_3_7.statement_id, "spectral/eq-3.16/",
                    "Theorem 3.7, proof, after eq. (3.16)", Part::proof};
  const Metric root = root_log_k_over_d(c);
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
             ratio(taylor_remainder, k_log_k_over_d_squared(c)), does_not_grow,
             " times k log(k)^2/d^2");
}

void judge_moments(const Config& c, const SizeClaims& over_d) {
  const Place& proof = proof_3_7;
  constexpr double mean_band = 0.05, moment_band = 0.2;
  judge_constant(c, over_d, proof("square-mean", "The expectation of (V-bar V')^(o 2) is 11'/d"),
                 square_mean, 1.0, mean_band, "d times the mean entry");
  const std::string rows = "over the rows z_i of (V-bar V')^(o 2) - 11'/d, divided by the formula";
  judge_constant(c, over_d,
                 proof("second-moment/trace",
                       "Given V, the diagonal of E z_i z_i' has the entries (3 ||v_j||^4 - 2 "
                       "||v_j||^2 + 1)/d^2"),
                 row_trace, 1.0, moment_band, "mean of ||z_i||^2 " + rows);
  judge_constant(c, over_d,
                 proof("second-moment/entries",
                       "Given V, E z_i z_i' = (2 (V V')^(o 2) + (q - 1)(q - 1)')/d^2 with q_j = "
                       "||v_j||^2"),
                 row_sum, 1.0, moment_band, "mean of (1'z_i)^2 " + rows);
  judge_constant(c, over_d, proof("norm-defect", "E ||q - 1||^2 = 2k/d"), norm_defect, 1.0,
                 mean_band, "||q - 1||^2 over 2k/d");
  judge_rate(over_d, proof("fourth-powers", "The sum of <v_i, v_j>^4 over i != j is O(k^2/d^2)"),
             fourth_powers, does_not_grow, " times k^2/d^2, expected 3 (1 - 1/k)(1 + 2/d)");
  const Metric with_log = [k = k_at(c)](const AtSize& at) {
    return at(largest_squared_norm) / (1.0 + std::log(k(at)) / at.x);
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
    judge_rate(wide, statement, ratio(error, order), does_not_grow, " times sqrt(k)/d" + more);
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
  over_d.claims.number(
      range.as_printed, third, at_least(0.5),
      say("s_r of the sum for r = 3, Sigma = Diag(1, 1, 1, 0), u = sqrt(d) e_1, v = "
          "-e_1/sqrt(d) + sqrt(d) e_2, d = {}, over s_r(Sigma) = 1",
          d));
  over_d.everywhere(
      range.corrected, [](const AtSize& at) { return -at(cross_interlacing); },
      "checked at every index of every matrix");
}

void judge_concentration(const Config& c, const SizeClaims& over_d) {
  const Place& proof = proof_3_8;
  const Metric root = root_d_over_n(c);
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

}  // namespace

void judge_proof_3_7(const Config& c, const SizeClaims& over_d) {
  judge_taylor(c, over_d);
  judge_moments(c, over_d);
  judge_wide(over_wide_sizes(c, over_d.records, over_d.claims));
  judge_concentration(c, over_d);
}

void judge_proof_3_8(const SizeClaims& over_d) {
  judge_assumption_G(over_d);
  judge_population(over_d);
}

}  // namespace ranklab::features
