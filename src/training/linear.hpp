// Linear maps and tables: forward, with the backward beside it. One token per column; what N, in and out are, the shapes say.
#pragma once

#include <armadillo>
#include <cstdint>
#include <vector>

#include "training/parameter.hpp"

namespace ranklab {

// Y = W X --------------------------------------------------------------------------------------------------------------------

/// W (out, in), X (in, N) -> Y (out, N).
template <class T>
void linear(const Parameter<T>& W, const arma::Mat<T>& X, arma::Mat<T>& Y) {
  Y = W.W * X;
}

/// From dY: dW = dY X' in W.G.
template <class T>
void linear_backward_weights(Parameter<T>& W, const arma::Mat<T>& X, const arma::Mat<T>& dY) {
  W.G = dY * X.t();
}

/// From dY: dX = W' dY, or that added to dX.
template <class T>
void linear_backward_inputs(const Parameter<T>& W, const arma::Mat<T>& dY, arma::Mat<T>& dX, bool add = false) {
  if (add) {
    dX += W.W.t() * dY;
  } else {
    dX = W.W.t() * dY;
  }
}

// Y = E[id] ------------------------------------------------------------------------------------------------------------------

/// E (d, V), one token of the vocabulary per column -> Y (d, N).
template <class T>
void look_up(const Parameter<T>& E, const std::vector<std::uint32_t>& ids, arma::Mat<T>& Y) {
  Y.set_size(E.W.n_rows, ids.size());
  for (arma::uword n = 0; n < ids.size(); ++n) Y.col(n) = E.W.col(ids[n]);
}

/// From dY: dE, the columns of dY added up by id, in the order of the tokens.
template <class T>
void look_up_backward(Parameter<T>& E, const std::vector<std::uint32_t>& ids, const arma::Mat<T>& dY) {
  E.G.zeros(E.W.n_rows, E.W.n_cols);
  for (arma::uword n = 0; n < ids.size(); ++n) E.G.col(ids[n]) += dY.col(n);
}

}  // namespace ranklab
