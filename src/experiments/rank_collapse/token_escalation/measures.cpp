#include "experiments/rank_collapse/token_escalation/measures.hpp"

#include <algorithm>
#include <cmath>

#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"

namespace ranklab {
namespace {

// A Pi_2 with tokens as columns: subtracts the mean of every row.
arma::mat centered(arma::mat A) {
  A.each_col() -= arma::mean(A, 1);
  return A;
}

double squared(const arma::mat& A) {
  return arma::accu(arma::square(A));
}

}  // namespace

Escalation measure_escalation(const TokenParts& X, const TokenParts& Y) {
  return {Y.shared / X.shared, Y.rest / X.rest, X.diversity() / Y.diversity()};
}

double rate_from_excess(double excess, double similarity) {
  return 1 + excess * similarity;
}

double identity_error(const Escalation& step, double similarity) {
  return std::abs(rate_from_excess(step.xi_ratio() - 1, similarity) - step.rate) /
         std::max(1.0, step.rate);
}

HeadMeasures head_measures(const arma::mat& P, const arma::mat& X) {
  const arma::mat rest = centered(X);  // (Pi_2 X)'
  const arma::vec column_sums = arma::sum(P, 1),
                  sum = arma::sum(X, 1);  // sqrt(N) (e'P)' and sqrt(N) (e'X)'
  HeadMeasures head;
  head.omega = arma::norm(rest * column_sums) / arma::norm(sum);
  head.delta = operator_norm(centered(P));
  head.mu_1_squared = squared(X * column_sums) / squared(sum);
  // Pi_2 P X = Pi_2 P Pi_2 X, because Pi_2 P e = 0. Without the shared part, the rounding error is
  // relative to the rest.
  head.mu_2_squared = squared(centered(rest * P)) / squared(rest);
  return head;
}

AttentionMeasures mean_over_heads(const std::vector<HeadMeasures>& heads) {
  AttentionMeasures mean;
  const double share = 1 / static_cast<double>(heads.size());
  for (const HeadMeasures& head : heads) {
    mean.omega += share * head.omega;
    mean.delta += share * head.delta;
    mean.mu_1_squared += share * head.mu_1_squared;
    mean.mu_2_squared += share * head.mu_2_squared;
    mean.mu_1_bound += share * head.mu_1_bound();
    mean.mu_2_bound += share * head.mu_2_bound();
  }
  return mean;
}

double second_eigenvalue(const arma::mat& P) {
  // P' Pi_2 has the eigenvalues of P, except that the 1 of the vector of ones becomes 0.
  return spectral_radius(centered(P));
}

double asymmetry(const arma::mat& P) {
  return arma::norm(P - P.t(), "fro") / arma::norm(P, "fro");
}

StepStrength step_strength(const ModelSpec& spec, double lambda) {
  // The variance of the entries of W, times d.
  const double variance = spec.weight_variance == "h/d" ? static_cast<double>(spec.heads) : 1.0;
  const double size = spec.alpha * spec.weight_scale;
  return {lambda * lambda, size * size * variance};
}

double expected_xi(const StepStrength& strength, double mu_squared) {
  return strength.skip + strength.attention * mu_squared;
}

double expected_excess(const StepStrength& strength, double mu_1_squared, double mu_2_squared) {
  return strength.attention * (mu_1_squared - mu_2_squared) / expected_xi(strength, mu_2_squared);
}

XiLaw xi_law(const arma::mat& A, const arma::mat& B, double alpha) {
  const double d = static_cast<double>(A.n_rows), norm = squared(A), strength = alpha * alpha;
  const double variance =
      (4 * strength * squared(B * A.t()) + 2 * strength * strength * squared(B * B.t())) / d;
  return {1 + strength * squared(B) / norm, std::sqrt(variance) / norm};
}

}  // namespace ranklab
