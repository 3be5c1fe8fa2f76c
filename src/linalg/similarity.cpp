#include "linalg/similarity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/undefined.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"

namespace ranklab {
namespace {

// A copy in double precision whose largest modulus is in [1, 2), so that squares neither overflow
// nor underflow; multiply by `scale` to undo it. `scale` is a power of two, so tokens that differ
// only in their last bits keep their differences.
template <class T>
arma::mat scaled_copy(const arma::Mat<T>& Y, double& scale) {
  const arma::mat copy = arma::conv_to<arma::mat>::from(Y);
  const double largest = copy.is_empty() ? 0.0 : arma::abs(copy).max();
  scale = largest > 0 && std::isfinite(largest) ? std::ldexp(1.0, std::ilogb(largest)) : largest;
  return scale > 0 ? arma::mat(copy / scale) : copy;
}

TokenParts parts_of(const arma::mat& Y) {
  const arma::vec mean = arma::mean(Y, 1);
  return {static_cast<double>(Y.n_cols) * arma::dot(mean, mean),
          arma::accu(arma::square(Y.each_col() - mean))};
}

double cosine_of(const arma::mat& Y) {
  arma::vec sum(Y.n_rows, arma::fill::zeros);
  double directions = 0;
  for (arma::uword t = 0; t < Y.n_cols; ++t) {
    const double norm = arma::norm(Y.col(t));
    if (!(norm > 0)) continue;
    sum += Y.col(t) / norm;
    directions += 1;
  }
  if (directions < 2) return undefined;
  // ||sum of unit vectors||^2 counts every pair twice and every vector once.
  return (arma::dot(sum, sum) - directions) / (directions * (directions - 1));
}

}  // namespace

template <class T>
TokenParts token_parts(const arma::Mat<T>& Y) {
  double scale = 0;
  TokenParts parts = parts_of(scaled_copy(Y, scale));
  parts.shared *= scale * scale;
  parts.rest *= scale * scale;
  return parts;
}

template <class T>
double token_spread(const arma::Mat<T>& Y) {
  double scale = 0;
  const TokenParts parts = parts_of(scaled_copy(Y, scale));
  return scale * std::sqrt(parts.rest);
}

template <class T>
double cosine_similarity(const arma::Mat<T>& Y) {
  double scale = 0;
  return cosine_of(scaled_copy(Y, scale));
}

template <class T>
TokenGeometry token_geometry(const arma::Mat<T>& Y) {
  require_finite("token similarity", Y);
  double scale = 0;
  const arma::mat copy = scaled_copy(Y, scale);
  TokenGeometry g;
  if (scale == 0) {
    g.mu_normalized = g.token_similarity = g.token_diversity = g.cosine_similarity = undefined;
    g.rank_one_residual = g.stable_rank = g.effective_rank = undefined;
    return g;
  }
  const TokenParts parts = parts_of(copy);
  g.norm = scale * std::sqrt(parts.shared + parts.rest);
  g.mu = scale * std::sqrt(parts.rest);
  g.mu_normalized = std::sqrt(parts.diversity());
  g.token_similarity = parts.similarity();
  g.token_diversity = parts.diversity();
  g.cosine_similarity = cosine_of(copy);

  const arma::mat gram =
      copy.n_rows <= copy.n_cols ? arma::mat(copy * copy.t()) : arma::mat(copy.t() * copy);
  // Ascending; rounding may leave eigenvalues of a singular matrix below zero.
  const arma::vec squares =
      arma::clamp(symmetric_eigenvalues(gram), 0.0, std::numeric_limits<double>::max());
  const double largest = squares.max(), total = arma::accu(squares);
  g.rank_one_residual = arma::accu(squares.head(squares.n_elem - 1)) / total;
  g.stable_rank = total / largest;
  const double noise =
      static_cast<double>(squares.n_elem) * std::numeric_limits<double>::epsilon() * largest;
  g.effective_rank = entropy_rank(arma::sqrt(squares(arma::find(squares > noise))));
  return g;
}

template TokenParts token_parts(const arma::Mat<float>&);
template TokenParts token_parts(const arma::Mat<double>&);
template double token_spread(const arma::Mat<float>&);
template double token_spread(const arma::Mat<double>&);
template double cosine_similarity(const arma::Mat<float>&);
template double cosine_similarity(const arma::Mat<double>&);
template TokenGeometry token_geometry(const arma::Mat<float>&);
template TokenGeometry token_geometry(const arma::Mat<double>&);

}  // namespace ranklab
