// The proofs of Theorem 3.7 and Corollary 3.8, [Spectral] Section 3.2.1: the Taylor remainder
// (3.16), the moments of (V-bar V')^(o 2), and the bulk of Corollary 3.8 for infinitely many
// samples. Shapes: V, V-bar (k, d); q (k), q_j = ||v_j||^2; Z = (V-bar V')^(o 2) - 11'/d (k, k)
// with rows z_i.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/undefined.hpp"
#include "experiments/spike_plus_bulk/features/measure.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"
#include "models/feature_moments.hpp"

namespace ranklab::features {
namespace {

using std::numbers::pi;

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

}  // namespace ranklab::features
