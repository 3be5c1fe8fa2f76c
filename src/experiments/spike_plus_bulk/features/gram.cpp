// Measurements of the Gram matrix of one feature map, [Spectral] Section 3.1.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <vector>

#include "core/tolerances.hpp"
#include "core/undefined.hpp"
#include "experiments/spike_plus_bulk/features/measure.hpp"
#include "linalg/decompositions.hpp"
#include "models/feature_moments.hpp"

namespace ranklab::features {
namespace {

using std::numbers::pi;

// The norm of a symmetric matrix, from its sorted eigenvalues.
double largest_magnitude(const arma::vec& w) {
  return std::max(std::fabs(w.front()), std::fabs(w.back()));
}

// How far V is from the conditions (3.3), (3.7) and (3.8).
void measure_incoherence(const Size& size, const arma::mat& V, const arma::vec& norm,
                         TrialRecord& record) {
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

// mu by its formula and as the sample mean, with the unbiased estimates of mu_i / ||v_i|| and
// ||mu||^2 / ||V||_F^2 under the model that the mean is proportional to the norms.
void measure_mean(const FeatureSamples& samples, const PairSums& total, const arma::vec& norm,
                  const arma::vec& mu, const arma::mat& Sigma, TrialRecord& record) {
  const arma::vec mean = total.right_mean();
  const double squared = arma::dot(norm, norm);
  record.set(mean_ratio, arma::norm(mean) / std::sqrt(squared));
  record.set(mean_coefficient, arma::dot(mean, norm) / squared);
  record.set(spike_coefficient,
             arma::dot(samples.student[0].right_mean(), samples.student[1].right_mean()) / squared);
  const double shift = arma::norm(mean - mu);
  record.set(mean_shift, shift);
  record.set(mean_error, shift * shift * total.n / arma::trace(Sigma));
  record.set(mean_squared_norm, arma::dot(mean, mean));
  record.set(spike_formula, arma::dot(mu, mu));
}

// lambda_i(Sigma-bar) >= lambda_(i+1)(B) >= lambda_(i+1)(Sigma-bar), both ascending here, up to
// rounding.
double count_interlacing_violations(const arma::vec& gram, const arma::vec& bulk) {
  const double slack = tolerance::epsilon<double> * static_cast<double>(gram.n_elem) * gram.back();
  double violations = 0.0;
  for (arma::uword i = 0; i < gram.n_elem; ++i) {
    if (gram(i) < bulk(i) - slack) violations += 1.0;
    if (i + 1 < gram.n_elem && bulk(i + 1) < gram(i) - slack) violations += 1.0;
  }
  return violations;
}

// Condition number of T_eta = (I - eta B) B at eta = 1/(c + ||B||), Lemma 3.5; infinite if B is
// singular up to rounding.
double step_condition(const arma::vec& lambda, double offset) {
  const double largest = lambda.back(),
               rounding = static_cast<double>(lambda.n_elem) * tolerance::epsilon<double>;
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
  // K and its expansion, from the unit rows.
  const arma::mat cosines = gram / outer;
  arma::mat E(arma::size(Sigma));
  for (arma::uword j = 0; j < E.n_cols; ++j) {
    for (arma::uword i = 0; i < E.n_rows; ++i) {
      const double t = i == j ? 1.0 : cosines(i, j);
      E(i, j) = feature_phi(find_activation("relu"), t) - pi / 2.0 * t - t * t / 2.0 -
                (i == j ? (pi - 3.0) / 2.0 : 0.0);
    }
  }
  E /= 2.0 * pi;
  const double size = arma::norm(E, "fro");
  expansion.as_printed = arma::norm(expansion.remainder - E, "fro") / size;
  expansion.corrected = arma::norm(expansion.remainder - E % outer, "fro") / size;
  expansion.rounding = tolerance::closed_form<double> * arma::norm(Sigma, "fro") / size;
  return expansion;
}

void measure_gram(const Plan& plan, const Size& size, const arma::mat& V,
                  const FeatureSamples& samples, const Trial& trial, TrialRecord& record) {
  const Activation& activation = find_activation(plan.config.activation);
  const arma::vec norm = row_norms(V);
  // Theorem 3.2 is about relu.
  const bool is_relu = activation.name == "relu";
  // Each part sets its own variables. The spectra take most of the time, so parts with a spectrum
  // and more come first.
  using Parts = std::vector<std::function<void()>>;
  const auto run = [&](const Parts& parts) {
    trial.for_each_part(parts.size(), [&](std::size_t i) {
      trial.check_interrupt();
      parts[i]();
    });
  };
  PairSums total;
  arma::mat Sigma, Sigma_bar;
  arma::vec lambda, bulk, exact, errors, minus_linear, hadamard, remainder;
  TrialRecord incoherence;
  Parts without_Sigma = {
      [&] { Sigma = feature_covariance(activation, V); },
      [&] {
        total = FeatureSamples::total(samples.student);
        Sigma_bar = total.centered_gram();
      },
      [&] { measure_incoherence(size, V, norm, incoherence); },
  };
  if (is_relu) {
    without_Sigma.insert(without_Sigma.begin(),
                         [&] { hadamard = symmetric_eigenvalues(arma::square(V * V.t())); });
  }
  run(without_Sigma);

  CovarianceExpansion expansion;
  double entry_error = 0, squared_error = 0;
  Parts with_Sigma = {
      [&] {
        const arma::mat difference = Sigma_bar - Sigma;
        entry_error = arma::abs(difference).max();
        errors = symmetric_eigenvalues(difference);
      },
      [&] { lambda = symmetric_eigenvalues(total.gram()); },
      [&] { bulk = symmetric_eigenvalues(Sigma_bar); },
      [&] { exact = symmetric_eigenvalues(Sigma); },
      [&] { squared_error = unbiased_squared_error(samples.student, Sigma); },
  };
  if (is_relu) {
    with_Sigma.insert(with_Sigma.begin(),
                      {[&] {
                         expansion = expand_covariance(V, Sigma);
                         remainder = symmetric_eigenvalues(expansion.remainder);
                       },
                       [&] { minus_linear = symmetric_eigenvalues(Sigma - V * V.t() / 4.0); }});
  }
  run(with_Sigma);

  const arma::vec mu = feature_mean(activation, V);
  measure_mean(samples, total, norm, mu, Sigma, record);
  record.insert(incoherence);
  record.set(spike, lambda.back());
  record.set(bulk_max, lambda(lambda.n_elem - 2));
  record.set(bulk_min, lambda.front());
  record.set(condition, step_condition(lambda, plan.config.offset));
  record.set(sample_bulk_min, bulk.front());
  record.set(sample_bulk_max, bulk.back());
  record.set(interlacing_violations, count_interlacing_violations(lambda, bulk));
  record.set(sigma_norm, exact.back());
  record.set(sigma_min, exact.front());
  record.set(sigma_squared_error, squared_error);
  record.set(sigma_entry_error, entry_error);
  record.set(sigma_error, largest_magnitude(errors) / exact.back());
  record.set(sigma_minus_linear_min, is_relu ? minus_linear.front() : undefined);
  record.set(hadamard_norm, is_relu ? hadamard.back() : undefined);
  record.set(remainder_norm, is_relu ? largest_magnitude(remainder) : undefined);
  record.set(remainder_as_printed, is_relu ? expansion.as_printed : undefined);
  record.set(remainder_corrected, is_relu ? expansion.corrected : undefined);
  record.set(remainder_rounding, is_relu ? expansion.rounding : undefined);
}

}  // namespace ranklab::features
