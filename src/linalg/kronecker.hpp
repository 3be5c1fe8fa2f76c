// The quadratic model of the loss in one weight matrix W (m, k): its Hessian is the Kronecker
// product of the second moments of the inputs a and of the output gradients e of the layer,
//
//   L(W - t D) = L - t <G, D> + t^2 / 2 tr(D M D' B),   M = sum a a' (k, k),  B = sum e e' (m, m).
//
// This is the empirical Fisher matrix with inputs and output gradients treated as independent, as
// in K-FAC (Martens and Grosse, 2015). For a mean loss over n samples, e contains 1/n, so that n
// cancels: the mean of a a' times the sum of (n e) (n e)' / n. For a sum of n losses B needs the
// factor 1/n.
#pragma once

#include <armadillo>

namespace ranklab {

/// tr(D M D' B); M (k, k) or, if it is diagonal, its diagonal (k, 1).
double kronecker_form(const arma::mat& D, const arma::mat& M, const arma::mat& B);

/// The step W - t D with the largest decrease of the quadratic model.
struct BestStep {
  double length = 0;    // t
  double decrease = 0;  // of the loss
};

/// `slope` is <G, D>, and `curvature` is tr(D M D' B). NaN unless both are positive.
BestStep best_step(double slope, double curvature);

}  // namespace ranklab
