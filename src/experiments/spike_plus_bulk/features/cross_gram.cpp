// Measurements of the cross-Gram matrix of two feature maps, [Spectral] Section 3.2.
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
void measure_expansion(const Size& size, const FeatureSamples& samples, const PairSums& cross,
                       const arma::mat& linear, const arma::mat& Sigma, TrialRecord& record) {
  const double k = static_cast<double>(size.k), d = static_cast<double>(size.d);
  const arma::mat sampled = cross.covariance();
  const double xx = arma::dot(linear, linear), xy = arma::accu(linear) / d, yy = k * k / (d * d);
  const double bx = arma::dot(sampled, linear), by = arma::accu(sampled) / d;
  const double determinant = xx * yy - xy * xy;
  record.set(coefficient_linear, (bx * yy - by * xy) / determinant);
  record.set(coefficient_ones, (by * xx - bx * xy) / determinant);
  record.set(cross_squared_error, unbiased_squared_error(samples.cross, Sigma));
  record.set(error_as_printed, operator_norm(arma::mat(Sigma - linear / (2.0 * pi) - 1.0 / d)));
  record.set(error_corrected,
             operator_norm(arma::mat(Sigma - linear / 4.0 - 1.0 / (4.0 * pi * d))));
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

double vector_distance(const arma::vec& a, const arma::vec& b) {
  return std::min(arma::norm(a - b), arma::norm(a + b));
}

// Both sides of (3.21) and (3.22), where u is the mean of the features, and Theorem 3.9's nuclear
// ranks.
void measure_alignment_and_step(const Size& size, double offset, const PairSums& student,
                                const PairSums& cross, const arma::vec& bulk_values,
                                const Trial& trial, TrialRecord& record) {
  const arma::mat B = student.gram(), B_bar = cross.gram();
  const SymmetricEigen gram = symmetric_eigen(B);
  trial.check_interrupt();
  const SymmetricEigen left = symmetric_eigen(arma::mat(B_bar * B_bar.t()));
  trial.check_interrupt();
  const arma::vec mean = student.right_mean(), u_hat = arma::normalise(mean);
  const arma::vec l_0 = gram.Q.tail_cols(1),
                  r_0 = arma::normalise(arma::vec(B_bar.t() * left.Q.tail_cols(1)));
  record.set(distance_gram, vector_distance(u_hat, l_0));
  record.set(distance_cross, vector_distance(u_hat, r_0));
  record.set(alignment_defect, 1.0 - std::fabs(arma::dot(r_0, l_0)));

  // Davis-Kahan and Wedin in the form of Yu, Wang, Samworth 2015, Corollary 1 and Theorem 4, for a
  // spike of rank one.
  const arma::vec Gamma = symmetric_eigenvalues(student.centered_gram());
  const double spike_factor =
      1.0 + 0.5 / static_cast<double>(size.d);  // of nu-bar mu-bar' in Corollary 3.8
  const double root = std::pow(2.0, 1.5),
               s = spike_factor * arma::norm(mean) * arma::norm(cross.left_mean()),
               e = bulk_values.front();
  record.set(gram_bulk_min, Gamma.front());
  record.set(gram_bulk_max, Gamma.back());
  record.set(distance_gram_bound, root * Gamma.back() / arma::dot(mean, mean));
  record.set(distance_cross_bound, root * (2.0 * s + e) * e / (s * s));
  trial.check_interrupt();

  const arma::mat W_bar = draw_weights(trial, size, "W-bar", size.k);
  const arma::uword r = std::min(size.d, size.k);
  const arma::mat M_bar = W_bar * left.Q.tail_cols(r);
  record.set(norm_ratio, arma::accu(singular_values(M_bar)) / arma::norm(W_bar, "fro"));
  trial.check_interrupt();
  const double eta = 1.0 / (offset + gram.w.back());
  record.set(nuclear_rank_1, nuclear_rank(arma::mat(W_bar * (B_bar - eta * B_bar * B))));
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

void measure_cross_gram(const Plan& plan, const Size& size, const arma::mat& V,
                        const arma::mat& V_bar, const FeatureSamples& samples, const Trial& trial,
                        TrialRecord& record) {
  const Activation& activation = find_activation(plan.config.activation);
  const double d = static_cast<double>(size.d);
  const arma::vec mu = feature_mean(activation, V), nu = feature_mean(activation, V_bar);
  const arma::mat Sigma = feature_cross_covariance(activation, V_bar, V);
  const PairSums student = FeatureSamples::total(samples.student),
                 cross = FeatureSamples::total(samples.cross);
  const auto coefficient = [](const arma::vec& mean, const arma::vec& norm) {
    return arma::dot(mean, norm) / arma::dot(norm, norm);
  };
  record.set(mean_coefficient, coefficient(cross.right_mean(), row_norms(V)));
  record.set(teacher_mean_coefficient, coefficient(cross.left_mean(), row_norms(V_bar)));
  record.set(spike_right_norm, arma::norm(cross.right_mean()));
  record.set(spike_left_norm, arma::norm(cross.left_mean()));
  measure_definitions(cross, mu, nu, Sigma, record);
  trial.check_interrupt();
  measure_expansion(size, samples, cross, V_bar * V.t(), Sigma, record);
  trial.check_interrupt();
  measure_linear_part(V, V_bar, record);

  // Corollary 3.8 replaces 11'/d by a multiple of nu mu': by nu mu'/d as printed, and 11'/(4 pi d)
  // by nu mu'/(2d) here.
  const arma::vec ones(mu.n_elem, arma::fill::ones);
  record.set(rank_one_as_printed, rank_two_norm(ones / d, ones, nu / d, mu));
  record.set(rank_one_corrected, rank_two_norm(ones / (4.0 * pi * d), ones, nu / (2.0 * d), mu));

  const arma::vec values = singular_values(cross.gram());
  trial.check_interrupt();
  const arma::vec bulk = singular_values(
      arma::mat(cross.gram() - (1.0 + 0.5 / d) * cross.left_mean() * cross.right_mean().t()));
  trial.check_interrupt();
  const auto entry = [](const arma::vec& s, std::uint64_t i) {
    return i < s.n_elem ? s(i) : undefined;
  };
  record.set(cross_spike, entry(values, 0));
  record.set(cross_bulk_max, entry(values, 1));
  record.set(sigma_1, entry(bulk, 0));
  record.set(sigma_d, entry(bulk, size.d - 1));
  record.set(sigma_d_plus_1, entry(bulk, size.d));
  record.set(cross_singular_values, std::vector<double>(values.begin(), values.end()));
  record.set(cross_bulk_singular_values, std::vector<double>(bulk.begin(), bulk.end()));
  measure_alignment_and_step(size, plan.config.offset, student, cross, bulk, trial, record);
}

}  // namespace ranklab::features
