// Scalar state-space duality: one head of a state-space model whose transition matrix is a multiple
// of the identity.
//
//   h_t = exp(a_t) h_{t-1} + b_t x_t'   (n x p),   y_t = h_t' c_t   (p)
// or, as one matrix, Y = M X with M_ij = exp(a_{j+1} + ... + a_i) c_i'b_j for i >= j, else 0
// (M_ii = c_i'b_i). Shapes: a (N); B and C (n, N); X (p, N); all with one token per column.
// Source: Dao and Gu, "Transformers are SSMs", 2024.
#pragma once

#include <vector>

#include <armadillo>

#include "core/entry_law.hpp"

namespace ranklab {

/// B and C of the heads that share them, and c_i'b_j within each chunk of tokens.
template <class T>
struct SharedMaps {
  SharedMaps(arma::Mat<T> B, arma::Mat<T> C);

  arma::Mat<T> B, C;
  std::vector<arma::Mat<T>> products;  // C'B (tokens, tokens) of each chunk
};

/// Y (p, N) in chunks: by its matrix inside a chunk, by the state between chunks. O(N (n p + chunk
/// p)), after O(N n chunk) for the maps; no N x N matrix.
template <class T>
arma::Mat<T> ssd(const arma::Row<T>& a, const SharedMaps<T>& maps, const arma::Mat<T>& X);

/// Of one head that shares nothing.
template <class T>
arma::Mat<T> ssd(const arma::Row<T>& a, const arma::Mat<T>& B, const arma::Mat<T>& C,
                 const arma::Mat<T>& X) {
  return ssd(a, SharedMaps<T>(B, C), X);
}

/// M (N, N), lower triangular. The sums of a are accumulated along each column, because differences
/// of a running sum would cancel.
template <class T>
arma::Mat<T> ssd_matrix(const arma::Row<T>& a, const arma::Mat<T>& B, const arma::Mat<T>& C);

/// Z <- Z / (1 + exp(-Z)), entry by entry.
template <class T>
void apply_silu(arma::Mat<T>& Z);

/// y_t[c] = bias[c] + sum_k w[c, k] x_{t - (taps - 1) + k}[c]: causal depthwise convolution; the
/// last tap applies to the current token. X (channels, N), w (channels, taps), bias (channels).
template <class T>
arma::Mat<T> causal_convolution(const arma::Mat<T>& X, const arma::Mat<T>& w,
                                const arma::Col<T>& bias);

/// The law of the initial dt_bias of Mamba and Mamba-2: softplus(dt_bias) is log-uniform on [1e-3,
/// 1e-1] and at least 1e-4, as in the authors' code.
EntryLaw law_of_dt_bias();
/// The law of the initial A_log of Mamba-2: exp(A_log) is uniform on [1, 16].
EntryLaw law_of_A_log();

}  // namespace ranklab
