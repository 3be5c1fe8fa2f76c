// Random-feature regression, [Spectral] Section 1.2: L(W) = ||W A - Y||_F^2 / (2 n) with Y = W# A realizable.
//
// Shapes: X (d, n), samples in columns; V (k, d); A (k, n); W and W# (m, k); B = A A' / n (k, k).
// Everything after A is done in B: the gradient (W - W#) B costs m k^2 instead of m k n, and equals the n-sized formula.
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

/// The post-activations A (k, n) of Gaussian inputs X: sigma(V X), or gated, SiLU(V X) o (V_2 X). Entries of X are N(0, 1),
/// those of V and V_2 are N(0, v_std^2). Draws the streams "X", "V" and, if gated, "V2".
template <class T>
arma::Mat<T> draw_random_features(const Trial& trial, const FeatureSizes& sizes, const std::string& activation, double v_std);

/// A matrix of independent N(0, std^2) entries from the trial's stream `name`, filled column by column.
template <class T>
arma::Mat<T> draw_gaussian(const Trial& trial, const char* name, std::uint64_t rows, std::uint64_t columns, double std);

/// The regression problem, seen through the error E = W - W#: L(W) - min L = tr(E B E') / 2, gradient E B.
template <class T>
struct RegressionProblem {
  arma::Mat<T> W_sharp;        // (m, k)
  arma::Mat<T> B;              // (k, k)
  double L_F = 0.0;            // ||A||_op^2 / n, the largest eigenvalue of B
  double L_op = 0.0;           // ||A||_F^2 / n, the trace of B
  double stable_rank_A = 0.0;  // L_op / L_F; NaN for A = 0

  arma::Mat<T> gradient(const arma::Mat<T>& E) const { return E * B; }
  /// L(W) - min L from the error and its gradient.
  double objective_gap(const arma::Mat<T>& E, const arma::Mat<T>& G) const;
};

/// The problem of features A and ground truth W#.
template <class T>
RegressionProblem<T> regression_problem(const arma::Mat<T>& A, arma::Mat<T> W_sharp);

}  // namespace ranklab
