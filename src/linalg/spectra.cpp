#include "linalg/spectra.hpp"

#include <algorithm>
#include <cmath>

#include "core/undefined.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/largest_eigenvalue.hpp"

namespace ranklab {
namespace {

double largest_entry(const arma::vec& values) {
  return values.is_empty() ? 0.0 : values.max();
}

template <class T>
double largest_modulus(const arma::Mat<T>& A) {
  return A.is_empty() ? 0.0 : static_cast<double>(arma::abs(A).max());
}

/// The smaller of A A' and A' A.
arma::mat smaller_gram(const arma::mat& A) {
  if (A.n_rows <= A.n_cols) return A * A.t();
  return A.t() * A;
}

}  // namespace

double stable_rank(const arma::vec& singular_values) {
  const double largest = largest_entry(singular_values);
  return largest > 0 ? arma::accu(arma::square(singular_values / largest)) : undefined;
}

double stable_rank(const arma::mat& A) {
  require_finite("stable rank", A);
  const double scale = largest_modulus(A);
  if (scale == 0) return undefined;
  return stable_rank_from_gram(smaller_gram(A / scale));
}

double stable_rank_from_gram(const arma::mat& gram) {
  require_finite("stable rank", gram);
  const double scale = largest_modulus(gram);
  if (scale == 0) return undefined;
  const arma::mat scaled = gram / scale;
  const double largest = largest_eigenvalue(scaled);
  return largest > 0 ? arma::trace(scaled) / largest : undefined;
}

double nuclear_rank(const arma::vec& singular_values) {
  const double largest = largest_entry(singular_values);
  if (!(largest > 0)) return undefined;
  const arma::vec s = singular_values / largest;
  return std::pow(arma::accu(s), 2) / arma::accu(arma::square(s));
}

double nuclear_rank(const arma::mat& G) {
  return nuclear_rank(singular_values(G));
}

double nuclear_rank(const arma::fmat& G) {
  require_finite("nuclear rank", G);
  const double scale = largest_modulus(G);
  if (scale == 0) return undefined;
  const arma::vec squares =
      symmetric_eigenvalues(smaller_gram(arma::conv_to<arma::mat>::from(G) / scale));
  return nuclear_rank(arma::vec(arma::sqrt(arma::clamp(squares, 0.0, arma::datum::inf))));
}

double effective_rank(const arma::vec& eigenvalues) {
  const double largest = largest_entry(eigenvalues);
  return largest > 0 ? arma::accu(eigenvalues / largest) : undefined;
}

double entropy_rank(const arma::vec& singular_values) {
  const double total = arma::accu(singular_values);
  double entropy = 0;
  for (const double s : singular_values) {
    const double p = s / total;
    if (p > 0) entropy -= p * std::log(p);
  }
  return total > 0 ? std::exp(entropy) : undefined;
}

double operator_norm(const arma::mat& A) {
  require_finite("operator norm", A);
  const double scale = largest_modulus(A);
  if (scale == 0) return 0.0;
  return scale * std::sqrt(std::max(0.0, largest_eigenvalue(smaller_gram(A / scale))));
}

}  // namespace ranklab
