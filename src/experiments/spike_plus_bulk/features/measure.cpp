#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/tolerances.hpp"
#include "experiments/spike_plus_bulk/features/measure.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"
#include "models/feature_moments.hpp"

namespace ranklab::features {
namespace {

using std::numbers::pi;

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

arma::vec row_norms(const arma::mat& V) {
  return arma::sqrt(arma::sum(arma::square(V), 1));
}

double symmetric_norm(const arma::mat& S) {
  const arma::vec w = symmetric_eigenvalues(S);
  return std::max(std::fabs(w.front()), std::fabs(w.back()));
}

// How far V is from the conditions (3.3), (3.7) and (3.8).
void measure_incoherence(const Size& size, const arma::mat& V, const arma::vec& norm, TrialRecord& record) {
  const double k = static_cast<double>(size.k), d = static_cast<double>(size.d);
  record.set(squared_norm_deviation, arma::abs(arma::square(norm) - 1.0).max());
  record.set(largest_squared_norm, arma::square(norm).max());
  arma::mat cosines = V * V.t();
  cosines /= norm * norm.t();
  cosines.diag().zeros();
  record.set(row_cosine, arma::abs(cosines).max());
  record.set(frobenius_deviation, std::fabs(arma::dot(V, V) / k - 1.0));
  const arma::mat gram = size.d < size.k ? arma::mat(V.t() * V) : arma::mat(V * V.t());
  const double largest = std::sqrt(symmetric_eigenvalues(gram).max());
  record.set(linear_norm, largest * largest);
  record.set(norm_excess, std::max(0.0, largest - std::sqrt(k / d) - 1.0));
}

// mu as formula and as sample mean, with the unbiased estimates of mu_i / ||v_i|| and ||mu||^2 / ||V||_F^2 under the model
// that the mean is proportional to the norms.
void measure_mean(const FeatureSamples& samples, const PairSums& total, const arma::vec& norm, const arma::vec& mu,
                  const arma::mat& Sigma, TrialRecord& record) {
  const arma::vec mean = total.right_mean();
  const double squared = arma::dot(norm, norm);
  record.set(mean_ratio, arma::norm(mean) / std::sqrt(squared));
  record.set(mean_coefficient, arma::dot(mean, norm) / squared);
  record.set(spike_coefficient, arma::dot(samples.student[0].right_mean(), samples.student[1].right_mean()) / squared);
  const double shift = arma::norm(mean - mu);
  record.set(mean_shift, shift);
  record.set(mean_error, shift * shift * total.n / arma::trace(Sigma));
  record.set(mean_squared_norm, arma::dot(mean, mean));
  record.set(spike_formula, arma::dot(mu, mu));
}

// lambda_i(Sigma-bar) >= lambda_(i+1)(B) >= lambda_(i+1)(Sigma-bar), both ascending here, up to rounding.
double count_interlacing_violations(const arma::vec& gram, const arma::vec& bulk) {
  const double slack = tolerance::epsilon<double> * static_cast<double>(gram.n_elem) * gram.back();
  double violations = 0.0;
  for (arma::uword i = 0; i < gram.n_elem; ++i) {
    if (gram(i) < bulk(i) - slack) violations += 1.0;
    if (i + 1 < gram.n_elem && bulk(i + 1) < gram(i) - slack) violations += 1.0;
  }
  return violations;
}

// Condition number of T_eta = (I - eta B) B at eta = 1/(c + ||B||), Lemma 3.5; infinite where B is singular to rounding.
double step_condition(const arma::vec& lambda, double offset) {
  const double largest = lambda.back(), rounding = static_cast<double>(lambda.n_elem) * tolerance::epsilon<double>;
  const arma::vec T = lambda % (offset + largest - lambda) / (offset + largest);
  if (lambda.front() <= rounding * largest) return std::numeric_limits<double>::infinity();
  return T.max() / T.min();
}

}  // namespace

CovarianceExpansion expand_covariance(const arma::mat& V, const arma::mat& Sigma) {
  const arma::vec norm = row_norms(V);
  const arma::mat gram = V * V.t(), outer = norm * norm.t();
  CovarianceExpansion expansion;
  expansion.remainder = Sigma - gram / 4.0 - arma::square(gram) / outer / (4.0 * pi);
  expansion.remainder.diag() -= (pi - 3.0) / (4.0 * pi) * arma::square(norm);
  // K itself and its own expansion, from the unit rows.
  const arma::mat cosines = gram / outer;
  arma::mat E(arma::size(Sigma));
  for (arma::uword j = 0; j < E.n_cols; ++j) {
    for (arma::uword i = 0; i < E.n_rows; ++i) {
      const double t = i == j ? 1.0 : cosines(i, j);
      E(i, j) = feature_phi(find_activation("relu"), t) - pi / 2.0 * t - t * t / 2.0 - (i == j ? (pi - 3.0) / 2.0 : 0.0);
    }
  }
  E /= 2.0 * pi;
  const double size = arma::norm(E, "fro");
  expansion.as_printed = arma::norm(expansion.remainder - E, "fro") / size;
  expansion.corrected = arma::norm(expansion.remainder - E % outer, "fro") / size;
  expansion.rounding = tolerance::closed_form<double> * arma::norm(Sigma, "fro") / size;
  return expansion;
}

void measure_gram(const Plan& plan, const Size& size, const arma::mat& V, const FeatureSamples& samples, const Trial& trial,
                  TrialRecord& record) {
  const Activation& activation = find_activation(plan.config.activation);
  const arma::vec norm = row_norms(V);
  const arma::vec mu = feature_mean(activation, V);
  const arma::mat Sigma = feature_covariance(activation, V);
  const PairSums total = FeatureSamples::total(samples.student);
  measure_incoherence(size, V, norm, record);
  measure_mean(samples, total, norm, mu, Sigma, record);
  trial.check_interrupt();

  const arma::vec lambda = symmetric_eigenvalues(total.gram());
  record.set(spike, lambda.back());
  record.set(bulk_max, lambda(lambda.n_elem - 2));
  record.set(bulk_min, lambda.front());
  record.set(condition, step_condition(lambda, plan.config.offset));
  trial.check_interrupt();
  const arma::mat Sigma_bar = total.centred_gram();
  const arma::vec bulk = symmetric_eigenvalues(Sigma_bar);
  record.set(sample_bulk_min, bulk.front());
  record.set(sample_bulk_max, bulk.back());
  record.set(interlacing_violations, count_interlacing_violations(lambda, bulk));
  trial.check_interrupt();
  const arma::vec exact = symmetric_eigenvalues(Sigma);
  record.set(sigma_norm, exact.back());
  record.set(sigma_min, exact.front());
  record.set(sigma_squared_error, unbiased_squared_error(samples.student, Sigma));
  const arma::mat difference = Sigma_bar - Sigma;
  record.set(sigma_entry_error, arma::abs(difference).max());
  trial.check_interrupt();
  record.set(sigma_error, symmetric_norm(difference) / exact.back());
  trial.check_interrupt();

  // Theorem 3.2 is about relu.
  if (activation.name != "relu") {
    for (const char* name :
         {sigma_minus_linear_min, hadamard_norm, remainder_norm, remainder_as_printed, remainder_corrected, remainder_rounding}) {
      record.set(name, undefined);
    }
    return;
  }
  record.set(sigma_minus_linear_min, symmetric_eigenvalues(Sigma - V * V.t() / 4.0).front());
  trial.check_interrupt();
  record.set(hadamard_norm, symmetric_eigenvalues(arma::square(V * V.t())).back());
  trial.check_interrupt();
  const CovarianceExpansion expansion = expand_covariance(V, Sigma);
  record.set(remainder_norm, symmetric_norm(expansion.remainder));
  record.set(remainder_as_printed, expansion.as_printed);
  record.set(remainder_corrected, expansion.corrected);
  record.set(remainder_rounding, expansion.rounding);
}

// The cross-Gram matrix of two feature maps, [Spectral] Section 3.2 -----------------------------------------------------------

namespace {

// What E[a_bar a'] = nu mu' + Sigma says about the order of the means and about the definition of Sigma. With w along
// mu - nu and u along the ones, w'B-bar u - u'B-bar w is +1 times a known number for nu mu' and -1 times it for mu nu'.
void measure_definitions(const PairSums& cross, const arma::vec& mu, const arma::vec& nu, const arma::mat& Sigma,
                         TrialRecord& record) {
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

  // w'(mean of (a_bar - x)(a - y)')w by the sample; Sigma by its entries.
  const auto centred = [&](const arma::vec& x, const arma::vec& y) {
    const double wx = arma::dot(w, x), wy = arma::dot(w, y);
    return form(w, B_bar, w) - wx * arma::dot(w, cross.right_mean()) - arma::dot(w, cross.left_mean()) * wy + wx * wy;
  };
  const double entries = form(w, Sigma, w);
  record.set(definition_as_printed, (entries - centred(mu, nu)) / squared);
  record.set(definition_corrected, (entries - centred(nu, mu)) / squared);
}

// Least squares of the sampled cross-covariance on V-bar V' and 11'/d; and the errors of both forms of Theorem 3.7.
void measure_expansion(const Size& size, const FeatureSamples& samples, const PairSums& cross, const arma::mat& linear,
                       const arma::mat& Sigma, TrialRecord& record) {
  const double k = static_cast<double>(size.k), d = static_cast<double>(size.d);
  const arma::mat sampled = cross.covariance();
  const double xx = arma::dot(linear, linear), xy = arma::accu(linear) / d, yy = k * k / (d * d);
  const double bx = arma::dot(sampled, linear), by = arma::accu(sampled) / d;
  const double determinant = xx * yy - xy * xy;
  record.set(coefficient_linear, (bx * yy - by * xy) / determinant);
  record.set(coefficient_ones, (by * xx - bx * xy) / determinant);
  record.set(cross_squared_error, unbiased_squared_error(samples.cross, Sigma));
  record.set(error_as_printed, operator_norm(arma::mat(Sigma - linear / (2.0 * pi) - 1.0 / d)));
  record.set(error_corrected, operator_norm(arma::mat(Sigma - linear / 4.0 - 1.0 / (4.0 * pi * d))));
}

// The singular values of V-bar V' that are not zero for want of rank, from triangular factors of V'V and V-bar'V-bar.
void measure_linear_part(const arma::mat& V, const arma::mat& V_bar, TrialRecord& record) {
  double first = undefined, last = undefined;
  arma::mat R, R_bar;
  if (V.n_rows >= V.n_cols && arma::chol(R, arma::mat(V.t() * V)) && arma::chol(R_bar, arma::mat(V_bar.t() * V_bar))) {
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

// Sides of (3.21) and (3.22) with u the mean of the features, and Theorem 3.9's nuclear ranks.
void measure_alignment_and_step(const Size& size, double offset, const PairSums& student, const PairSums& cross,
                                const arma::vec& bulk_values, const Trial& trial, TrialRecord& record) {
  const arma::mat B = student.gram(), B_bar = cross.gram();
  const SymmetricEigen gram = symmetric_eigen(B);
  trial.check_interrupt();
  const SymmetricEigen left = symmetric_eigen(arma::mat(B_bar * B_bar.t()));
  trial.check_interrupt();
  const arma::vec mean = student.right_mean(), u_hat = arma::normalise(mean);
  const arma::vec l_0 = gram.Q.tail_cols(1), r_0 = arma::normalise(arma::vec(B_bar.t() * left.Q.tail_cols(1)));
  record.set(distance_gram, vector_distance(u_hat, l_0));
  record.set(distance_cross, vector_distance(u_hat, r_0));
  record.set(alignment_defect, 1.0 - std::fabs(arma::dot(r_0, l_0)));

  // Davis-Kahan and Wedin in the form of Yu, Wang, Samworth 2015, Corollary 1 and Theorem 4, for a spike of rank one.
  const arma::vec Gamma = symmetric_eigenvalues(student.centred_gram());
  const double spike_factor = 1.0 + 0.5 / static_cast<double>(size.d);  // of nu-bar mu-bar' in Corollary 3.8
  const double root = std::pow(2.0, 1.5), s = spike_factor * arma::norm(mean) * arma::norm(cross.left_mean()),
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

double rank_two_norm(const arma::vec& a, const arma::vec& b, const arma::vec& c, const arma::vec& d) {
  // The squared singular values of P Q', P = [a c], Q = [b -d], are the eigenvalues of (P'P)(Q'Q).
  const double p11 = arma::dot(a, a), p12 = arma::dot(a, c), p22 = arma::dot(c, c);
  const double q11 = arma::dot(b, b), q12 = -arma::dot(b, d), q22 = arma::dot(d, d);
  const double trace = p11 * q11 + 2.0 * p12 * q12 + p22 * q22;
  const double determinant = (p11 * p22 - p12 * p12) * (q11 * q22 - q12 * q12);
  return std::sqrt(std::max(0.0, trace + std::sqrt(std::max(0.0, trace * trace - 4.0 * determinant))) / 2.0);
}

double unbiased_squared_error(const std::array<PairSums, 2>& halves, const arma::mat& C) {
  const arma::mat first = halves[0].covariance() - C, second = halves[1].covariance() - C;
  return arma::dot(first, second) / arma::dot(C, C);
}

void measure_cross_gram(const Plan& plan, const Size& size, const arma::mat& V, const arma::mat& V_bar,
                        const FeatureSamples& samples, const Trial& trial, TrialRecord& record) {
  const Activation& activation = find_activation(plan.config.activation);
  const double d = static_cast<double>(size.d);
  const arma::vec mu = feature_mean(activation, V), nu = feature_mean(activation, V_bar);
  const arma::mat Sigma = feature_cross_covariance(activation, V_bar, V);
  const PairSums student = FeatureSamples::total(samples.student), cross = FeatureSamples::total(samples.cross);
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

  // Corollary 3.8 replaces 11'/d by a multiple of nu mu': by nu mu'/d as printed, and 11'/(4 pi d) by nu mu'/(2d) here.
  const arma::vec ones(mu.n_elem, arma::fill::ones);
  record.set(rank_one_as_printed, rank_two_norm(ones / d, ones, nu / d, mu));
  record.set(rank_one_corrected, rank_two_norm(ones / (4.0 * pi * d), ones, nu / (2.0 * d), mu));

  const arma::vec values = singular_values(cross.gram());
  trial.check_interrupt();
  const arma::vec bulk = singular_values(arma::mat(cross.gram() - (1.0 + 0.5 / d) * cross.left_mean() * cross.right_mean().t()));
  trial.check_interrupt();
  const auto entry = [](const arma::vec& s, std::uint64_t i) { return i < s.n_elem ? s(i) : undefined; };
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
