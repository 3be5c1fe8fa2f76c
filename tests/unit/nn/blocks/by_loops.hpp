// The parts of the attention blocks computed one number at a time, as an independent reference for
// their tests, and the output of a block.
#pragma once

#include <armadillo>
#include <cmath>
#include <vector>

#include "nn/blocks/block.hpp"

namespace by_loops {

// y_t = W'x_t + b
inline arma::mat linear(const arma::mat& W, const arma::mat& X, const arma::mat& b = {}) {
  arma::mat Y(W.n_cols, X.n_cols);
  for (arma::uword t = 0; t < X.n_cols; ++t) {
    for (arma::uword o = 0; o < W.n_cols; ++o) {
      Y(o, t) = b.empty() ? 0.0 : b(o);
      for (arma::uword i = 0; i < W.n_rows; ++i) Y(o, t) += W(i, o) * X(i, t);
    }
  }
  return Y;
}

// y_i = sum over j of m_ji exp(scale q_i.k_j) v_j / sum over j of exp(scale q_i.k_j), for channels
// first ... last; if causal, over j <= i. An empty M means all ones.
inline void attend(const arma::mat& Q, const arma::mat& K, const arma::mat& V, double scale,
                   arma::uword first, arma::uword last, bool causal, arma::mat& Y,
                   const arma::mat& M = {}) {
  for (arma::uword i = 0; i < Q.n_cols; ++i) {
    long double sum = 0;
    for (arma::uword j = 0; j < (causal ? i + 1 : K.n_cols); ++j) {
      long double logit = 0;
      for (arma::uword c = first; c <= last; ++c)
        logit += static_cast<long double>(Q(c, i)) * K(c, j);
      const long double weight = std::exp(scale * logit);
      const double counted = static_cast<double>(weight) * (M.empty() ? 1.0 : M(j, i));
      for (arma::uword c = first; c <= last; ++c) Y(c, i) += counted * V(c, j);
      sum += weight;
    }
    for (arma::uword c = first; c <= last; ++c) Y(c, i) /= static_cast<double>(sum);
  }
}

// The outputs of the heads, stacked. Needs small logits, as no maximum is subtracted from them.
inline arma::mat attention(const arma::mat& Q, const arma::mat& K, const arma::mat& V,
                           arma::uword heads, double scale, bool causal = false,
                           const std::vector<arma::mat>& M = {}) {
  arma::mat Y(V.n_rows, V.n_cols, arma::fill::zeros);
  const arma::uword width = V.n_rows / heads;
  for (arma::uword k = 0; k < heads; ++k) {
    attend(Q, K, V, scale, k * width, (k + 1) * width - 1, causal, Y,
           M.empty() ? arma::mat() : M[k]);
  }
  return Y;
}

// (x - mean) / sqrt(variance + epsilon), for "rms", the same without the mean; for "rows", x /
// ||x||; for "none", x.
inline arma::mat normalized(const arma::mat& X, const std::string& norm, double epsilon) {
  arma::mat Y = X;
  const double d = static_cast<double>(X.n_rows);
  for (arma::uword t = 0; t < X.n_cols; ++t) {
    double sum = 0, squares = 0;
    for (arma::uword c = 0; c < X.n_rows; ++c) sum += X(c, t);
    const double mean = norm == "layer" ? sum / d : 0.0;
    for (arma::uword c = 0; c < X.n_rows; ++c) squares += (X(c, t) - mean) * (X(c, t) - mean);
    const double size = norm == "none"   ? 1.0
                        : norm == "rows" ? std::sqrt(squares)
                                         : std::sqrt(squares / d + epsilon);
    for (arma::uword c = 0; c < X.n_rows; ++c) Y(c, t) = (X(c, t) - mean) / size;
  }
  return Y;
}

}  // namespace by_loops

template <class T>
arma::Mat<T> output(const ranklab::Block<T>& block, const arma::mat& X, double lambda) {
  ranklab::State<T> state;
  state.Y = arma::conv_to<arma::Mat<T>>::from(X);
  block.forward(state, lambda);
  return state.Y;
}

// ||Y - expected||_F / ||expected||_F
template <class T>
double relative_error(const arma::Mat<T>& Y, const arma::mat& expected) {
  return arma::norm(arma::conv_to<arma::mat>::from(Y) - expected, "fro") /
         arma::norm(expected, "fro");
}
