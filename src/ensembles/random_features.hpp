// Random-feature regression, [Spectral] Section 1.2: L(W) = ||W A - Y||_F^2 / (2 n) with Y = W# A
// realizable.
//
// Shapes: X (d, n), samples in columns; V (k, d); A (k, n); W and W# (m, k); B = A A' / n (k, k).
// After A, computations use the eigenbasis of B = U diag(lambda) U': with the error E = (W - W#) U,
// the gradient times U is E diag(lambda). The rotation does not change losses, norms, singular
// values or polar factors. A step 1/lambda_1 clears the first column of E exactly; the n-sized
// formulas would leave rounding noise there, which a spectral step would amplify.
#pragma once

#include <armadillo>
#include <cstdint>
#include <string>

#include "core/random.hpp"

namespace ranklab {

struct FeatureSizes {
  std::uint64_t m = 100;  // rows of W
  std::uint64_t k = 100;  // features
  std::uint64_t d = 50;   // input dimension
  std::uint64_t n = 400;  // samples
};

/// Names of the streams of random features. Two draws from the same name give the same matrix.
struct FeatureStreams {
  std::string X = "X", V = "V", V2 = "V2";
};

/// The post-activations A (k, n) of Gaussian inputs X: sigma(V X), or SiLU(V X) o (V_2 X) if gated.
/// Entries of X are N(0, 1), those of V and V_2 are N(0, v_std^2). Draws the streams X, V and, if
/// gated, V2.
arma::mat draw_random_features(const Streams& streams, const FeatureSizes& sizes,
                               const std::string& activation, double v_std,
                               const FeatureStreams& names = {});

/// A matrix of independent N(0, std^2) entries from the trial's stream `name`, filled column by
/// column.
template <class T>
arma::Mat<T> draw_gaussian(const Streams& streams, const char* name, std::uint64_t rows,
                           std::uint64_t columns, double std);

/// The regression problem in terms of the error E = (W - W#) U, m x k.
struct RegressionProblem {
  arma::mat start;             // E at W_0 = 0, i.e. -W# U
  arma::mat basis;             // U (k, k), so that W = W# + E U'
  arma::rowvec lambda;         // eigenvalues of B, descending; zero if within rounding error
  double L_F = 0.0;            // ||A||_op^2 / n = lambda_1
  double L_op = 0.0;           // ||A||_F^2 / n, the trace of B
  double stable_rank_A = 0.0;  // L_op / L_F; NaN for A = 0

  /// The gradient (W - W#) B, times U.
  arma::mat gradient(const arma::mat& E) const;
  /// L(W) - min L = sum_j lambda_j ||e_j||^2 / 2 over the columns e_j of E.
  double objective_gap(const arma::mat& E) const;
  /// The error after the Euclidean step -(scale / L_F) gradient. At scale 1 the first column is
  /// exactly zero.
  arma::mat after_euclidean_step(const arma::mat& E, double scale = 1.0) const;
};

/// The problem of features A and ground truth W#.
RegressionProblem regression_problem(const arma::mat& A, const arma::mat& W_sharp);

}  // namespace ranklab
