// Linear maps and lookup tables, forward and backward. Backward functions add to the gradients. One
// token per column.
#pragma once

#include <armadillo>
#include <cstdint>
#include <vector>

#include "nn/layers/parameter.hpp"

namespace ranklab {

// Y = W X -----------------------------------------------------------------------------------------

/// W (out, in), X (in, N) -> Y (out, N); with `add`, Y += W X.
template <class T>
void linear(const Parameter<T>& W, const arma::Mat<T>& X, arma::Mat<T>& Y, bool add = false);

/// From dY: dW = dY X', added to W.G.
template <class T>
void linear_backward_weights(Parameter<T>& W, const arma::Mat<T>& X, const arma::Mat<T>& dY);

/// From dY: dX = W' dY; with `add`, dX += W' dY.
template <class T>
void linear_backward_inputs(const Parameter<T>& W, const arma::Mat<T>& dY, arma::Mat<T>& dX,
                            bool add = false);

// Y += b ------------------------------------------------------------------------------------------

/// Adds b (out, 1) to every column of Y (out, N).
template <class T>
void add_bias(const Parameter<T>& b, arma::Mat<T>& Y) {
  const T* const bias = b.W.memptr();
  for (arma::uword n = 0; n < Y.n_cols; ++n) {
    T* const y = Y.colptr(n);
#pragma omp simd
    for (arma::uword i = 0; i < Y.n_rows; ++i) y[i] += bias[i];
  }
}

/// From dY: adds the sum of its columns to b.G.
template <class T>
void bias_backward(Parameter<T>& b, const arma::Mat<T>& dY) {
  T* const sum = b.G.memptr();
  for (arma::uword n = 0; n < dY.n_cols; ++n) {
    const T* const g = dY.colptr(n);
#pragma omp simd
    for (arma::uword i = 0; i < dY.n_rows; ++i) sum[i] += g[i];
  }
}

// Y = E[id] ---------------------------------------------------------------------------------------

/// E (d, V), one token of the vocabulary per column -> Y (d, N).
template <class T, class Id>
void look_up(const arma::Mat<T>& E, const std::vector<Id>& ids, arma::Mat<T>& Y) {
  Y.set_size(E.n_rows, ids.size());
  for (arma::uword n = 0; n < ids.size(); ++n) Y.col(n) = E.col(ids[n]);
}

/// From dY: adds column n to column ids[n] of dE (d, V), in token order.
template <class T, class Id>
void look_up_backward(const std::vector<Id>& ids, const arma::Mat<T>& dY, arma::Mat<T>& dE) {
  for (arma::uword n = 0; n < ids.size(); ++n) dE.col(ids[n]) += dY.col(n);
}

}  // namespace ranklab
