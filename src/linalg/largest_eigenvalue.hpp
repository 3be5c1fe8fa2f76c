// Only the largest eigenvalue, for Gram matrices of several thousand rows: computing all
// eigenvalues would take a minute.
#pragma once

#include <armadillo>
#include <functional>

namespace ranklab {

/// The largest eigenvalue of a symmetric positive semidefinite matrix S (both triangles are read),
/// by Lanczos iteration until the residual bounds its relative error by 1e-12; 0 for an empty
/// matrix. Calls `between_steps` every few milliseconds of work; it may throw. Throws Failure if S
/// is not square or not finite, or if nothing converges.
double largest_eigenvalue(const arma::mat& S, const std::function<void()>& between_steps = {});

}  // namespace ranklab
