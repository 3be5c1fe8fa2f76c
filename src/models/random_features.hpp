// Random-feature regression, [Spectral] Section 1.2: L(W) = ||W A - Y||_F^2 / (2 n) with Y = W# A realizable.
//
// Shapes: X (d, n), samples in columns; V (k, d); A (k, n); W and W# (m, k); B = A A' / n (k, k).
// Everything after A is done in the eigenbasis of B = U diag(lambda) U': with the error E = (W - W#) U, the gradient times U
// is E diag(lambda). Losses, norms, singular values and polar factors do not see the rotation; a step 1/lambda_1 clears the
// first column of E exactly, where the n-sized formulas leave rounding noise that a spectral step would then blow up.
#pragma once

#include <armadillo>
#include <cstdint>
#include <string>

#include "run/trials.hpp"

namespace ranklab {

struct FeatureSizes {
  std::uint64_t m = 100;  // rows of W
  std::uint64_t k = 100;  // features
  std::uint64_t d = 50;   // input dimension
  std::uint64_t n = 400;  // samples
};

/// Names of the streams that random features are drawn from: two draws with one name are the same matrix.
struct FeatureStreams {
  std::string X = "X", V = "V", V2 = "V2";
};

/// The post-activations A (k, n) of Gaussian inputs X: sigma(V X), or gated, SiLU(V X) o (V_2 X). Entries of X are N(0, 1),
/// those of V and V_2 are N(0, v_std^2). Draws the streams X, V and, if gated, V2.
template <class T>
arma::Mat<T> draw_random_features(const Trial& trial, const FeatureSizes& sizes, const std::string& activation, double v_std,
                                  const FeatureStreams& streams = {});

/// A matrix of independent N(0, std^2) entries from the trial's stream `name`, filled column by column.
template <class T>
arma::Mat<T> draw_gaussian(const Trial& trial, const char* name, std::uint64_t rows, std::uint64_t columns, double std);

/// The regression problem, seen through the error E = (W - W#) U, m x k.
template <class T>
struct RegressionProblem {
  arma::Mat<T> start;          // E of W_0 = 0, that is -W# U
  arma::Mat<T> basis;          // U (k, k), so that W = W# + E U'
  arma::Row<T> lambda;         // eigenvalues of B, descending; those that are zero to rounding are zero
  double L_F = 0.0;            // ||A||_op^2 / n = lambda_1
  double L_op = 0.0;           // ||A||_F^2 / n, the trace of B
  double stable_rank_A = 0.0;  // L_op / L_F; NaN for A = 0

  /// The gradient (W - W#) B, times U.
  arma::Mat<T> gradient(const arma::Mat<T>& E) const;
  /// L(W) - min L = sum_j lambda_j ||e_j||^2 / 2 over the columns e_j of E.
  double objective_gap(const arma::Mat<T>& E) const;
  /// The error after the Euclidean step -(scale / L_F) gradient. At scale 1 the first column is exactly zero.
  arma::Mat<T> after_euclidean_step(const arma::Mat<T>& E, double scale = 1.0) const;
};

/// The problem of features A and ground truth W#.
template <class T>
RegressionProblem<T> regression_problem(const arma::Mat<T>& A, const arma::Mat<T>& W_sharp);

}  // namespace ranklab
