// State-space duality (SSD) of all heads of a sequence as dense products, forward and backward: the middle of the mixer of Mamba-2.
// Legend: h heads of p channels, n state, c = h p + 2 n rows of [x; B; C], one group: B and C are common to all heads.
//
//   dt = softplus(dt_raw + dt_bias), A = -exp(A_log)                                     a number for each head (and token)
//   y_i = sum_{j <= i} L_ij C_i'B_j dt_j x_j + D x_i,  L_ij = exp(sum_{t = j + 1 .. i} dt_t A)
//
// L_ij is the product of its factors, one by one: differences of a running sum of dt A would cancel.
// Source: Dao and Gu, "Transformers are SSMs", 2024.
#pragma once

#include "training/layers/initial_weights.hpp"
#include "training/layers/parameter.hpp"

namespace ranklab {

struct SsdShape {
  arma::uword heads, head_width, state, length;  // h, p, n, tokens of a sequence
};

template <class T>
class Ssd {
 public:
  /// Starts: dt log-uniform on [1e-3, 1e-1], at least 1e-4; -A uniform on [1, 16]; D 1. None of them decays.
  Ssd(const SsdShape& shape, const InitialWeights& initial);

  Parameter<T> dt_bias, A_log, D;  // (h)

  /// Before the first sequence of a pass over N tokens.
  void start(arma::uword N);
  /// Of the sequence that starts at token `first`: xBC (c, length) and dt_raw (h, length) in rows of a matrix of so many -> y (h p,
  /// length).
  void forward(arma::uword first, const T* xBC, const T* dt_raw, arma::uword dt_rows, T* y);

  /// The gradients in the parameters become 0.
  /// After forward() of all sequences: from dy, adds to the gradients in the parameters and sets those in xBC and dt_raw.
  void backward(arma::uword first, const T* xBC, const T* dy, T* dxBC, T* ddt_raw, arma::uword dt_rows);

 private:
  void find_steps(arma::uword first, arma::uword head, const T* dt_raw, arma::uword dt_rows);
  void find_matrix(arma::uword first, arma::uword head);
  void matrix_backward(arma::uword first, arma::uword head);
  void steps_backward(arma::uword first, arma::uword head, T* ddt_raw, arma::uword dt_rows);

  SsdShape shape_;
  arma::uword width_, rows_;            // h p, c
  arma::Mat<T> dt_, dt_slope_, decay_;  // (N, h): dt, the slope of its softplus, exp(dt A)
  arma::Mat<T> S_;                      // (length, N): column i of a sequence has B_j'C_i
  // Of one head and sequence, (length, length), column i for token i: L_ij, and L_ij S_ij dt_j + D where i = j.
  arma::Mat<T> L_, M_;
  arma::Mat<T> dM_, dS_;    // gradients; in S the sum over heads
  arma::Col<T> to_, from_;  // (length): sums of M_ij dM_ij over j, and of that / dt_j over i
};

}  // namespace ranklab
