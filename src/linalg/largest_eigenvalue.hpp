// The largest eigenvalue alone, for Gram matrices of several thousand rows, where all of them would take a minute.
#pragma once

#include <armadillo>
#include <functional>

namespace ranklab {

/// The largest eigenvalue of a symmetric positive semidefinite matrix S (both triangles are read), by Lanczos steps until the
/// residual bounds its relative error by 1e-12; 0 of an empty matrix. `between_steps` is called every few milliseconds of
/// work and may throw. Throws Failure for a non-square or non-finite S, or where nothing converges.
double largest_eigenvalue(const arma::mat& S, const std::function<void()>& between_steps = {});

}  // namespace ranklab
