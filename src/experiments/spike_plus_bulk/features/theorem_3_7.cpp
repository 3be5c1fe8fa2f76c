// The cross-Gram matrix of two feature maps, [Spectral] Section 3.2.1: Theorem 3.7 with its Taylor
// remainder (3.16) and the moments of (V-bar V')^(o 2), and Corollary 3.8 with its bulk for
// infinitely many samples. Shapes: V, V-bar (k, d); q (k), q_j = ||v_j||^2; Z = (V-bar V')^(o 2) -
// 11'/d (k, k) with rows z_i.
#include <algorithm>
#include <numbers>

#include "ensembles/feature_moments.hpp"
#include "experiments/spike_plus_bulk/features/features.hpp"
#include "linalg/spectra.hpp"

namespace ranklab::features {

using std::numbers::pi;

// The trial ---------------------------------------------------------------------------------------

namespace {

// Tests of E[a_bar a'] = nu mu' + Sigma: the order of the means and the definition of Sigma. With w
// along mu - nu and u along the ones, w'B-bar u - u'B-bar w is a known number times +1 for nu mu'
// and times -1 for mu nu'.
void measure_definitions(const PairSums& cross, const arma::vec& mu, const arma::vec& nu,
                         const arma::mat& Sigma, TrialRecord& record) {
  const arma::vec difference = mu - nu;
  const double squared = arma::dot(difference, difference), length = std::sqrt(squared);
  const arma::vec w = difference / length;
  const arma::vec u(mu.n_elem, arma::fill::value(1.0 / std::sqrt(static_cast<double>(mu.n_elem))));
  const arma::mat B_bar = cross.gram();
  const double signal = arma::dot(w, nu) * arma::dot(u, mu) - arma::dot(u, nu) * arma::dot(w, mu);
  const auto form = [](const arma::vec& left, const arma::mat& M, const arma::vec& right) {
    return arma::dot(left, arma::vec(M * right));
  };
  record.set(mean_order, (form(w, B_bar, u) - form(u, B_bar, w)) / signal);

  // w'(mean of (a_bar - x)(a - y)')w from the samples; w'Sigma w from the entries of Sigma.
  const auto centered = [&](const arma::vec& x, const arma::vec& y) {
    const double wx = arma::dot(w, x), wy = arma::dot(w, y);
    return form(w, B_bar, w) - wx * arma::dot(w, cross.right_mean()) -
           arma::dot(w, cross.left_mean()) * wy + wx * wy;
  };
  const double entries = form(w, Sigma, w);
  record.set(definition_as_printed, (entries - centered(mu, nu)) / squared);
  record.set(definition_corrected, (entries - centered(nu, mu)) / squared);
}

// Least squares of the sampled cross-covariance on V-bar V' and 11'/d, and the errors of both forms
// of Theorem 3.7.
void measure_expansion(const TwoMaps& maps, TrialRecord& record) {
  const double k = real(maps.size.k), d = real(maps.size.d);
  const arma::mat sampled = maps.cross.covariance(), linear = maps.V_bar * maps.V.t();
  const double xx = arma::dot(linear, linear), xy = arma::accu(linear) / d, yy = k * k / (d * d);
  const double bx = arma::dot(sampled, linear), by = arma::accu(sampled) / d;
  const double determinant = xx * yy - xy * xy;
  record.set(coefficient_linear, (bx * yy - by * xy) / determinant);
  record.set(coefficient_ones, (by * xx - bx * xy) / determinant);
  record.set(cross_squared_error, maps.squared_error);
  record.set(error_as_printed,
             operator_norm(arma::mat(maps.Sigma - linear / (2.0 * pi) - 1.0 / d)));
  record.set(error_corrected,
             operator_norm(arma::mat(maps.Sigma - linear / 4.0 - 1.0 / (4.0 * pi * d))));
}

// The largest and the smallest nonzero singular value of V-bar V', from triangular factors of V'V
// and V-bar'V-bar.
void measure_linear_part(const arma::mat& V, const arma::mat& V_bar, TrialRecord& record) {
  double first = undefined, last = undefined;
  arma::mat R, R_bar;
  if (V.n_rows >= V.n_cols && arma::chol(R, arma::mat(V.t() * V)) &&
      arma::chol(R_bar, arma::mat(V_bar.t() * V_bar))) {
    const arma::vec s = singular_values(R_bar * R.t());
    first = s.front();
    last = s.back();
  }
  record.set(linear_sigma_1, first);
  record.set(linear_sigma_d, last);
}

}  // namespace

double rank_two_norm(const arma::vec& a, const arma::vec& b, const arma::vec& c,
                     const arma::vec& d) {
  // The squared singular values of P Q', P = [a c], Q = [b -d], are the eigenvalues of (P'P)(Q'Q).
  const double p11 = arma::dot(a, a), p12 = arma::dot(a, c), p22 = arma::dot(c, c);
  const double q11 = arma::dot(b, b), q12 = -arma::dot(b, d), q22 = arma::dot(d, d);
  const double trace = p11 * q11 + 2.0 * p12 * q12 + p22 * q22;
  const double determinant = (p11 * p22 - p12 * p12) * (q11 * q22 - q12 * q12);
  return std::sqrt(
      std::max(0.0, trace + std::sqrt(std::max(0.0, trace * trace - 4.0 * determinant))) / 2.0);
}

void measure_theorem_3_7(const Config& c, const TwoMaps& maps, const Trial& trial,
                         TrialRecord& record) {
  const Activation& activation = find_activation(c.activation);
  const double d = real(maps.size.d);
  const arma::vec mu = feature_mean(activation, maps.V), nu = feature_mean(activation, maps.V_bar),
                  u = maps.cross.right_mean(), v = maps.cross.left_mean();
  const auto coefficient = [](const arma::vec& mean, const arma::vec& norm) {
    return arma::dot(mean, norm) / arma::dot(norm, norm);
  };
  record.set(mean_coefficient, coefficient(u, row_norms(maps.V)));
  record.set(teacher_mean_coefficient, coefficient(v, row_norms(maps.V_bar)));
  record.set(spike_right_norm, arma::norm(u));
  record.set(spike_left_norm, arma::norm(v));
  measure_definitions(maps.cross, mu, nu, maps.Sigma, record);
  trial.check_interrupt();
  measure_expansion(maps, record);
  trial.check_interrupt();
  measure_linear_part(maps.V, maps.V_bar, record);

  // Corollary 3.8 replaces 11'/d by a multiple of nu mu': by nu mu'/d as printed, and 11'/(4 pi d)
  // by nu mu'/(2d) here.
  const arma::vec ones(mu.n_elem, arma::fill::ones);
  record.set(rank_one_as_printed, rank_two_norm(ones / d, ones, nu / d, mu));
  record.set(rank_one_corrected, rank_two_norm(ones / (4.0 * pi * d), ones, nu / (2.0 * d), mu));

  const arma::mat B_bar = maps.B_bar();
  const arma::vec values = singular_values(B_bar);
  trial.check_interrupt();
  const arma::vec bulk = singular_values(arma::mat(B_bar - (1.0 + 0.5 / d) * v * u.t()));
  trial.check_interrupt();
  const auto entry = [](const arma::vec& s, std::uint64_t i) {
    return i < s.n_elem ? s(i) : undefined;
  };
  record.set(cross_spike, entry(values, 0));
  record.set(cross_bulk_max, entry(values, 1));
  record.set(sigma_1, entry(bulk, 0));
  record.set(sigma_d, entry(bulk, maps.size.d - 1));
  record.set(sigma_d_plus_1, entry(bulk, maps.size.d));
  record.set(cross_singular_values, std::vector<double>(values.begin(), values.end()));
  record.set(cross_bulk_singular_values, std::vector<double>(bulk.begin(), bulk.end()));
}

// The trial: the proofs ---------------------------------------------------------------------------

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
  const double k = real(size.k), d = real(size.d);
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
  const double d = real(size.d);
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

void measure_proof_3_7(const TwoMaps& maps, const Trial& trial, TrialRecord& record) {
  const Activation& relu = find_activation("relu");
  const Size& size = maps.size;
  const arma::mat &V = maps.V, &V_bar = maps.V_bar, linear = V_bar * V.t();
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

  record.set(mean_shift, arma::norm(maps.cross.right_mean() - mu));
  record.set(teacher_mean_shift, arma::norm(maps.cross.left_mean() - nu));
  record.set(cross_sigma_error, operator_norm(arma::mat(maps.cross.centered_gram() - Sigma)));
  const arma::vec lambda = symmetric_eigenvalues(maps.B());
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
  const double k = real(size.k), d = real(size.d);
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

// Claims: the theorem and the corollary -----------------------------------------------------------

namespace {

const Place before_3_7{spectral::section_3_2_1_moments, "spectral/thm-3.7/",
                       "Section 3.2.1, before Theorem 3.7"},
    theorem_3_7{spectral::thm_3_7, "/", "Theorem 3.7"},
    proof_3_7{spectral::thm_3_7, "/", "Theorem 3.7, proof", Part::proof},
    proof_3_8{spectral::cor_3_8, "/", "Corollary 3.8, proof", Part::proof},
    proof_after_3_17{spectral::cor_3_8, "/", "Corollary 3.8, after (3.17)", Part::proof};

}  // namespace

void judge_definitions(const FeatureClaims& over_d) {
  Place defined = before_3_7;
  defined.part = Part::definition;
  const std::string exchanged = spectral::section_3_2_1_transposed;
  const Misprint means =
                     defined.misprint(exchanged, "decomposition", "E[a-bar a'] = mu nu' + Sigma",
                                      "E[a-bar a'] = nu mu' + Sigma"),
                 center = defined.misprint(exchanged, "covariance-definition",
                                           "Sigma = E (a-bar - mu)(a - nu)'",
                                           "Sigma = E (a-bar - nu)(a - mu)'");
  const std::string order =
      "antisymmetric part of the sampled cross-Gram matrix, scaled so that nu mu' gives 1 and mu "
      "nu' gives -1";
  for (const auto& [statement, value] :
       {std::pair(&means.as_printed, -1.0), {&means.corrected, 1.0}})
    over_d.at_largest(*statement, mean_order, within(value, 0.1), "0.1 in the coefficient", order);
  const std::string along =
      "Sigma by its printed entries minus the sampled covariance, along mu - nu, over ||mu - "
      "nu||^2";
  for (const auto& [statement, name] : {std::pair(&center.as_printed, definition_as_printed),
                                        {&center.corrected, definition_corrected}})
    over_d.at_largest(*statement, name, within(0.0, 0.2), "0.2 in the coefficient", along);
  over_d.at_largest(before_3_7("covariance",
                               "Sigma_ij = ||v-bar_i|| ||v_j|| phi(t_ij)/(2 pi), or its Hermite "
                               "form if the activation is not homogeneous"),
                    cross_squared_error, within(0.0, squared_error_band), slack_of_squared_error,
                    "relative squared error of the formula, estimated from two independent halves "
                    "of the samples");
}

namespace {

void judge_constants(const FeatureClaims& over_d) {
  const std::string factor = spectral::section_3_2_1_mean_vector;
  const Misprint mu = before_3_7.misprint(factor, "mean-vector-mu", "mu_i = ||v_i|| times 1/(2 pi)",
                                          "mu_i = ||v_i|| times 1/sqrt(2 pi)"),
                 nu = before_3_7.misprint(factor, "mean-vector-nu",
                                          "nu_i = ||v-bar_i|| times 1/(2 pi)",
                                          "nu_i = ||v-bar_i|| times 1/sqrt(2 pi)");
  const std::string coefficient = "least-squares coefficient on the row norms";
  for (const auto& [form, value] : {std::pair(&Misprint::as_printed, 0.5 / pi),
                                    {&Misprint::corrected, 1.0 / std::sqrt(2.0 * pi)}}) {
    over_d.constant(mu.*form, mean_coefficient, value, coefficient_band, coefficient);
    over_d.constant(nu.*form, teacher_mean_coefficient, value, coefficient_band, coefficient);
  }
  const std::string coefficients = spectral::thm_3_7_coefficients;
  const Misprint linear = theorem_3_7.misprint(
                     coefficients, "coefficient-linear",
                     "The coefficient of V-bar V' in the expansion of Sigma is 1/(2 pi)",
                     "The coefficient of V-bar V' in the expansion of Sigma is 1/4"),
                 ones = theorem_3_7.misprint(
                     coefficients, "coefficient-ones",
                     "The coefficient of 11'/d in the expansion of Sigma is 1",
                     "The coefficient of 11'/d in the expansion of Sigma is 1/(4 pi)");
  constexpr double fit_band = 0.02, ones_band = 0.2;
  const std::string fit = "least-squares fit of the sampled cross-covariance to V-bar V' and 11'/d";
  over_d.constant(linear.as_printed, coefficient_linear, 0.5 / pi, fit_band, fit);
  over_d.constant(linear.corrected, coefficient_linear, 0.25, fit_band, fit);
  over_d.constant(ones.as_printed, coefficient_ones, 1.0, ones_band, fit);
  over_d.constant(ones.corrected, coefficient_ones, 0.25 / pi, ones_band, fit);
}

void judge_rates(const FeatureClaims& over_d) {
  const Place spectral{spectral::thm_3_7, "spectral/", "Theorem 3.7"},
      assumption{spectral::cor_3_8, "/", "Corollary 3.8, Assumption G"},
      after_3_17{spectral::cor_3_8, "/", "Corollary 3.8, after (3.17)"},
      eq_3_17{spectral::cor_3_8, "spectral/eq-3.17/", "Corollary 3.8, eq. (3.17)", Part::proof};
  const Region like_inverse_root = at_most(-0.5 + exponent_slack),
               like_root = within(0.5, exponent_slack);
  const Misprint expansion = spectral.misprint(
                     spectral::thm_3_7_coefficients, "thm-3.7",
                     "||Sigma - (V-bar V'/(2 pi) + 11'/d)|| = O(k^(1/2 + eps)/d)",
                     "||Sigma - (V-bar V'/4 + 11'/(4 pi d))|| = O(k^(1/2 + eps)/d)"),
                 rank_one = proof_3_8.misprint(
                     spectral::cor_3_8_rank_one, "rank-one", "||11'/d - nu mu'/d|| = o(1)",
                     "||11'/(4 pi d) - nu mu'/(2 d)|| = o(1), so the factor "
                     "in Corollary 3.8 is 1 + 1/(2d) instead of 1 + 1/d");
  over_d.rate(expansion.as_printed, error_as_printed, like_inverse_root);
  over_d.rate(expansion.corrected, error_corrected, like_inverse_root);
  over_d.rate(rank_one.as_printed, rank_one_as_printed, like_inverse_root);
  over_d.rate(rank_one.corrected, rank_one_corrected, like_inverse_root);
  over_d.rate(assumption("spike-u", "The norm of u, the mean of A, is of order sqrt(d)"),
              spike_right_norm, like_root);
  over_d.rate(assumption("spike-v", "The norm of v, the mean of A-bar, is of order sqrt(d)"),
              spike_left_norm, like_root);
  over_d.rate(assumption("gram-bulk-above", "Gamma <= c_2 I"), gram_bulk_max, does_not_grow);
  over_d.rate(after_3_17("cross-bulk-above", "s_1 of the cross-Gram bulk is bounded"), sigma_1,
              does_not_grow);
  {
    const auto enough = over_d.claims.only_where(
        over_d.config.singular()
            ? "n <= k: the corollary requires n >= C_0 d with a sufficiently large C_0"
            : "");
    over_d.rate(assumption("gram-bulk-below", "Gamma >= c_1 I"), gram_bulk_min, does_not_shrink);
  }
  const auto tall = over_d.claims.only_where(
      over_d.config.tall() ? "" : "k <= d at some size: the statement requires k/d > 1");
  over_d.rate(after_3_17("cross-bulk-below", "s_d of the cross-Gram bulk is bounded below"),
              sigma_d, does_not_shrink);
  over_d.rate(
      proof_after_3_17("cross-bulk-tail", "s_(d+1) of the cross-Gram bulk is o(1) + O(sqrt(d/n))"),
      ratio(sigma_d_plus_1, over_d.of_order(root_d_over_n)), does_not_grow);
  over_d.rate(eq_3_17("above", "s_1(V-bar V') <= c_2"), linear_sigma_1, does_not_grow);
  over_d.rate(eq_3_17("below", "s_d(V-bar V') >= c_1"), linear_sigma_d, does_not_shrink);
}

// Claims: the proof of Theorem 3.7 ----------------------------------------------------------------

void judge_taylor(const FeatureClaims& over_d) {
  const Place proof{proof_3_7.statement_id, "spectral/eq-3.16/",
                    "Theorem 3.7, proof, after eq. (3.16)", Part::proof};
  over_d.rate(proof("cosines", "The cosines between the rows of V-bar and V are O(sqrt(log(k)/d))"),
              cross_cosine, root_log_k_over_d, does_not_grow);
  const Misprint derivative = proof.misprint(
      spectral::eq_3_16_derivative, "derivative",
      "The entries of D, the fourth derivatives of phi in the remainder, are O(sqrt(log(k)/d))",
      "The entries of D, the fourth derivatives of phi in the remainder, are bounded by a "
      "constant");
  over_d.rate(derivative.as_printed, fourth_derivative, root_log_k_over_d, does_not_grow,
              "; phi''''(0) = 1");
  over_d.rate(derivative.corrected, fourth_derivative, does_not_grow);
  over_d.rate(proof("remainder",
                    "||D o (U-bar U')^(o 4)|| / 4! is O(k log(k)^2/d^2), where U and "
                    "U-bar have the normalized rows"),
              taylor_remainder, k_log_k_over_d_squared, does_not_grow);
}

void judge_moments(const FeatureClaims& over_d) {
  const Place& proof = proof_3_7;
  constexpr double mean_band = 0.05, moment_band = 0.2;
  over_d.constant(proof("square-mean", "The expectation of (V-bar V')^(o 2) is 11'/d"), square_mean,
                  1.0, mean_band, "d times the mean entry");
  const std::string rows = "over the rows z_i of (V-bar V')^(o 2) - 11'/d, divided by the formula";
  over_d.constant(proof("second-moment/trace",
                        "Given V, the diagonal of E z_i z_i' has the entries (3 ||v_j||^4 - 2 "
                        "||v_j||^2 + 1)/d^2"),
                  row_trace, 1.0, moment_band, "mean of ||z_i||^2 " + rows);
  over_d.constant(proof("second-moment/entries",
                        "Given V, E z_i z_i' = (2 (V V')^(o 2) + (q - 1)(q - 1)')/d^2 with q_j = "
                        "||v_j||^2"),
                  row_sum, 1.0, moment_band, "mean of (1'z_i)^2 " + rows);
  over_d.constant(proof("norm-defect", "E ||q - 1||^2 = 2k/d"), norm_defect, 1.0, mean_band,
                  "||q - 1||^2 over 2k/d");
  over_d.rate(proof("fourth-powers", "The sum of <v_i, v_j>^4 over i != j is O(k^2/d^2)"),
              fourth_powers, does_not_grow, " times k^2/d^2, expected 3 (1 - 1/k)(1 + 2/d)");
  constexpr Order one_plus_log_k_over_d{
      [](const Size& size) { return 1.0 + std::log(real(size.k)) / real(size.d); }, "1 + log(k)/d"};
  over_d.rate(proof("largest-norm", "max ||v_i||^4 is O((1 + log(k)/d)^2)"), largest_squared_norm,
              one_plus_log_k_over_d, does_not_grow, ", for max ||v_i||^2");
  over_d.rate(proof("square-error",
                    "||(V-bar V')^(o 2) - 11'/d|| is O(k^(1/2 + eps)/d) for k of "
                    "order d"),
              square_error, at_most(-0.5 + exponent_slack));
}

// The theorem's regime allows any k below d^2.
void judge_wide(const FeatureClaims& wide) {
  const Place theorem{proof_3_7.statement_id, proof_3_7.prefix,
                      "Theorem 3.7, hypothesis sqrt(k)/d -> 0"};
  const Misprint regime = theorem.misprint(
      spectral::thm_3_7_regime, "regime",
      "||Sigma - (V-bar V'/4 + 11'/(4 pi d))|| = O(k^(1/2 + eps)/d) for every k with sqrt(k)/d -> "
      "0, here k = d^(7/4); the constants are the corrected ones",
      "||Sigma - (V-bar V'/4 + nu mu'/(2d))|| = O(k^(1/2 + eps)/d) also for k = d^(7/4); nu mu' "
      "has the row norms that 11' lacks");
  wide.rate(regime.as_printed, wide_ones, root_k_over_d, does_not_grow,
            ", ||E'1||/sqrt(k), a lower bound on the error; the fluctuation of the row norms "
            "adds an error of order k/d^(3/2), and the proof has sqrt(d) in place of sqrt(k) in "
            "the bound for k independent rows");
  wide.rate(regime.corrected, wide_norms, root_k_over_d, does_not_grow);
}

// Claims: the proof of Corollary 3.8 --------------------------------------------------------------

void judge_assumption_G(const FeatureClaims& over_d) {
  const Place after{spectral::section_3_2_separation, "spectral/eq-3.15/",
                    "Assumption G, after eq. (3.15)"};
  over_d.rate(after("gram-spike", "lambda_1(A A'/n) is of order d"), spike, of_order_d);
  over_d.rate(after("gram-above", "lambda_2(A A'/n) is bounded"), bulk_max, does_not_grow);
  over_d.rate(after("gram-below", "lambda_k(A A'/n) is bounded below"), bulk_min, does_not_shrink);
  over_d.rate(after("cross-spike", "s_1(A-bar A'/n) is of order d"), cross_spike, of_order_d);
  over_d.rate(after("cross-above", "s_2(A-bar A'/n) is bounded"), cross_bulk_max, does_not_grow);
  over_d.rate(after("cross-below", "s_(r-1)(A-bar A'/n) is bounded below, r = d"), cross_sigma_r,
              does_not_shrink);

  // Sigma = Diag(1, 1, 1, 0), u = sqrt(d) e_1, v = -e_1/sqrt(d) + sqrt(d) e_2, so 1 + u'v = 0.
  const double d = over_d.x.back(), root = std::sqrt(d);
  arma::mat B_bar = arma::diagmat(arma::vec{1.0, 1.0, 1.0, 0.0});
  B_bar(0, 0) -= 1.0;
  B_bar(1, 0) += root * root;
  const double third = singular_values(B_bar)(2);
  const Misprint range = after.misprint(
      spectral::section_3_2_separation_range, "singular-values",
      "s_i(A-bar A'/n) is bounded below for every i from 2 to r, if s_r(Sigma) >= c_1 (the number "
      "is s_r in an example)",
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

void judge_concentration(const FeatureClaims& over_d) {
  const Place& proof = proof_3_8;
  constexpr Order both{[](const Size& size) {
                         const double root = root_d_over_n.at(size);
                         return root + root * root;
                       },
                       "sqrt(d/n) + d/n"};
  over_d.rate(proof("mean-concentration-mu", "||mu-bar - mu|| is O(sqrt(d/n))"), mean_shift,
              root_d_over_n, does_not_grow);
  over_d.rate(proof("mean-concentration-nu", "||nu-bar - nu|| is O(sqrt(d/n))"), teacher_mean_shift,
              root_d_over_n, does_not_grow);
  over_d.rate(proof("covariance-concentration", "||Sigma-bar - Sigma|| is O(sqrt(d/n) + d/n)"),
              cross_sigma_error, both, does_not_grow);
}

// n grows without limit at every d; then the statement leaves o(1).
void judge_population(const FeatureClaims& over_d) {
  const std::string rank_one = spectral::cor_3_8_rank_one;
  const Misprint error = proof_3_8.misprint(
                     rank_one, "expansion",
                     "E[B-bar] = (1 + 1/d) nu mu' + V-bar V'/(2 pi) + E with ||E|| = o(1)",
                     "E[B-bar] = (1 + 1/(2d)) nu mu' + V-bar V'/4 + E with ||E|| = o(1)"),
                 tail = proof_after_3_17.misprint(
                     rank_one, "tail", "s_(d+1) of E[B-bar] - (1 + 1/d) nu mu' is o(1)",
                     "s_(d+1) of E[B-bar] - (1 + 1/(2d)) nu mu' is o(1)");
  const Region vanishes = at_most(-0.5 + exponent_slack);
  const std::string limit = ", for infinitely many samples";
  over_d.rate(error.as_printed, population_as_printed, vanishes, limit);
  over_d.rate(error.corrected, population_corrected, vanishes, limit);
  over_d.rate(tail.as_printed, tail_as_printed, vanishes, limit);
  over_d.rate(tail.corrected, tail_corrected, vanishes, limit);
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

void judge_theorem_3_7(const FeatureClaims& over_d) {
  judge_constants(over_d);
  judge_rates(over_d);
}

void judge_proof_3_7(const FeatureClaims& over_d) {
  judge_taylor(over_d);
  judge_moments(over_d);
  judge_wide(over_wide_sizes(over_d.config, over_d.records, over_d.claims));
  judge_concentration(over_d);
}

void judge_proof_3_8(const FeatureClaims& over_d) {
  judge_assumption_G(over_d);
  judge_population(over_d);
}

}  // namespace ranklab::features
