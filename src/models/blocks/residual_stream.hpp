// The residual stream of blocks that normalise a branch's input, R <- lambda R + branch(norm(R)). It may grow like lambda^K,
// beyond the range of T, and what the norm makes of it does not depend on its size: it is held as R = 2^s Y, s = log2_scale.
#pragma once

#include "models/blocks/norms.hpp"

namespace ranklab {

/// The epsilon that makes of Y what `epsilon` makes of 2^s Y. Positive.
template <class T>
double scaled_epsilon(double epsilon, const State<T>& state);

/// R <- lambda R + branch, with R = 2^s Y; the branch has no scale. Moves s only where lambda brings a large stream back to the
/// size of its branches.
template <class T>
void add_branch(State<T>& state, double lambda, const arma::Mat<T>& branch);

/// Moves a power of two into s where entries of Y are large.
template <class T>
void keep_in_range(State<T>& state);

}  // namespace ranklab
