// Measures of how similar the tokens of a representation are. A representation is Y (d, N), one
// token per column: the N x d matrix of [LambdaSkip] and [Shallow] stored token by token, so their
// rows are columns here.
//
// mu does not detect anti-parallel tokens: a rank-one Y whose tokens are +v and -v has a large mu.
// rank_one_residual does.
#pragma once

#include <armadillo>

namespace ranklab {

/// Squared Frobenius norms of Pi_1 Y, the part that all tokens share, and of Pi_2 Y, the rest.
/// [Shallow] Section 1.1: Pi_1 = 11'/N, Pi_2 = I - Pi_1.
struct TokenParts {
  double shared = 0.0, rest = 0.0;

  /// [Shallow] Definition 1.1: t_sim = ||Pi_1 Y||_F^2 / ||Y||_F^2; NaN for a zero matrix.
  double similarity() const { return shared / (shared + rest); }
  /// t_div = 1 - t_sim, without its cancellation.
  double diversity() const { return rest / (shared + rest); }
};

template <class T>
TokenParts token_parts(const arma::Mat<T>& Y);

/// [LambdaSkip] eq. (5): mu(Y) = ||Y - 1 1'Y/N||_F.
template <class T>
double token_spread(const arma::Mat<T>& Y);

/// [Shallow] eq. (1): the mean cosine over pairs i < j, in O(N d). Tokens of norm zero have no
/// direction and are left out; NaN if fewer than two remain.
template <class T>
double cosine_similarity(const arma::Mat<T>& Y);

/// All measures of one representation, in double precision for every T. Scaling Y changes only
/// `norm` and `mu`.
struct TokenGeometry {
  double norm = 0.0;               // ||Y||_F
  double mu = 0.0;                 // token_spread
  double mu_normalized = 0.0;      // mu / ||Y||_F = sqrt(t_div)
  double token_similarity = 0.0;   // t_sim
  double token_diversity = 0.0;    // t_div = 1 - t_sim, without its cancellation
  double cosine_similarity = 0.0;  // t_cos
  double rank_one_residual = 0.0;  // 1 - sigma_1^2 / ||Y||_F^2
  double stable_rank = 0.0;        // ||Y||_F^2 / sigma_1^2
  // exp(entropy of sigma_i / sum sigma) (Roy and Vetterli, 2007)
  double effective_rank = 0.0;
};

/// Computed from the smaller Gram matrix: O(N d min(N, d)) time, and never more memory than Y.
/// rank_one_residual has an absolute error of about min(N, d) epsilon. Singular values below
/// sqrt(min(N, d) epsilon) sigma_1 could be rounding errors; they count as zero in effective_rank.
/// A zero matrix has norm and mu 0, and all other measures are NaN. Throws Failure for entries that
/// are not finite.
template <class T>
TokenGeometry token_geometry(const arma::Mat<T>& Y);

}  // namespace ranklab
