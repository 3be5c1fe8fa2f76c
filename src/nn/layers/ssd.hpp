// State-space duality (SSD) of all heads of a sequence as dense products, forward and backward: the
// core of the Mamba-2 mixer. Legend: h heads of p channels, n state, c = h p + 2 n rows of [x; B;
// C]. There is one group: all heads share B and C.
//
//   dt = softplus(dt_raw + dt_bias),   A = -exp(A_log)      one number per head (and token)
//   y_i = sum_{j <= i} L_ij C_i'B_j dt_j x_j + D x_i
//   L_ij = exp(sum_{t = j + 1 .. i} dt_t A)
//
// L_ij is computed as a product of its factors, because differences of a running sum of dt A would
// cancel. Source: Dao and Gu, "Transformers are SSMs", 2024.
#pragma once

#include "nn/layers/initial_weights.hpp"
#include "nn/layers/parameter.hpp"

namespace ranklab {

struct SsdShape {
  arma::uword heads, head_width, state, length;  // h, p, n, tokens of a sequence
};

template <class T>
class Ssd {
 public:
  /// Initial values: dt log-uniform on [1e-3, 1e-1], at least 1e-4; -A uniform on [1, 16]; D 1. No
  /// weight decay.
  Ssd(const SsdShape& shape, const InitialWeights& initial);

  Parameter<T> dt_bias, A_log, D;  // (h)

  /// Call before the first sequence of a pass over N tokens.
  void start(arma::uword N);
  /// For the sequence that starts at token `first`: xBC (c, length) and dt_raw (h, length), stored
  /// in rows of a matrix with dt_rows rows -> y (h p, length).
  void forward(arma::uword first, const T* xBC, const T* dt_raw, arma::uword dt_rows, T* y);

  /// Call after forward() of all sequences. From dy, adds to the gradients of the parameters and
  /// sets those in xBC and dt_raw.
  void backward(arma::uword first, const T* xBC, const T* dy, T* dxBC, T* ddt_raw,
                arma::uword dt_rows);

 private:
  void compute_steps(arma::uword first, arma::uword head, const T* dt_raw, arma::uword dt_rows);
  void compute_matrix(arma::uword first, arma::uword head);
  void matrix_backward(arma::uword first, arma::uword head);
  void steps_backward(arma::uword first, arma::uword head, T* ddt_raw, arma::uword dt_rows);

  SsdShape shape_;
  arma::uword width_, rows_;            // h p, c
  arma::Mat<T> dt_, dt_slope_, decay_;  // (N, h): dt, the slope of its softplus, exp(dt A)
  arma::Mat<T> S_;                      // (length, N): column i of a sequence has B_j'C_i
  // For one head and sequence, (length, length), column i for token i: L_ij, and L_ij S_ij dt_j (+
  // D if i = j).
  arma::Mat<T> L_, M_;
  arma::Mat<T> dM_, dS_;    // gradients; that in S is summed over heads
  arma::Col<T> to_, from_;  // (length): sums of M_ij dM_ij over j, and of that / dt_j over i
};

}  // namespace ranklab
