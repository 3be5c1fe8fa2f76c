// The selective scan of Mamba over one sequence, forward and backward, for the block (mamba1.cpp)
// and the layer that learns (nn/layers/mamba1.hpp). Legend: d_i channels, n states of each channel.
//
//   h_t[c, s] = exp(dt_t[c] A[c, s]) h_{t-1}[c, s] + dt_t[c] B_t[s] x_t[c],   h_{-1} = 0
//   y_t[c] = sum_s C_t[s] h_t[c, s] + D[c] x_t[c]
//
// The channels of a vector register pass through the whole sequence before the next ones start.
// The backward pass first repeats the forward pass of these channels and stores their states, so
// that its memory does not depend on d_i. Decay factors below 1e-30 (1e-290 in double) are set to
// 0, because arithmetic with subnormal numbers is slow.
//
// Source: Gu and Dao, "Mamba: Linear-Time Sequence Modeling with Selective State Spaces", 2023,
// Section 3.
#pragma once

#include <armadillo>

namespace ranklab {

/// r = ceil(d / 16): the steps of a token are a map of r numbers.
constexpr arma::uword step_rank(arma::uword dim) {
  return (dim + 15) / 16;
}

/// dt <- softplus(dt + bias), with dt (d_i, N) and bias (d_i, 1), and the slopes (d_i, N) of
/// softplus.
template <class T>
void compute_steps(const arma::Mat<T>& bias, arma::Mat<T>& dt, arma::Mat<T>& slopes);

/// The inputs of one sequence of `length` tokens, one token per column.
template <class T>
struct ScanInputs {
  arma::uword length;
  const T *dt, *x;  // (d_i, length)
  const T *B, *C;   // (n, length), rows of a matrix with `rows` rows
  arma::uword rows;
  const arma::Mat<T>&A, &D;  // (d_i, n), entries below 0; (d_i, 1)
};

/// y (d_i, length).
template <class T>
void selective_scan(const ScanInputs<T>& in, T* y);

/// Where gradients go: those in dt, x, B and C are set, in the layout of the inputs; those in A
/// (d_i, n) and D (d_i, 1) are added.
template <class T>
struct ScanGradients {
  T *dt, *x, *B, *C;
  arma::Mat<T>&A, &D;
};

/// From dy (d_i, length).
template <class T>
void selective_scan_backward(const ScanInputs<T>& in, const T* dy, const ScanGradients<T>& out);

}  // namespace ranklab
