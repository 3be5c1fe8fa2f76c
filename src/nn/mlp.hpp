// A multilayer perceptron without biases, its gradients for any loss, and the mean squared error.
//
// Legend: L layers; A_0 = X (d, n), samples in columns; W_l of a hidden layer (h, k_(l-1)), or (2
// h, k_(l-1)) if the activation is gated: the first h rows give the argument of sigma, the last h
// rows the gate; Z_l = W_l A_(l-1); A_l = sigma(Z_l) (h, n), or sigma(first half of Z_l) o (last
// half); W_L (C, h), and the output is W_L A_(L-1) (C, n).
#pragma once

#include <armadillo>
#include <cstdint>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "ensembles/activations.hpp"

namespace ranklab {

/// Intermediate values of a pass. The matrices reuse their memory from pass to pass.
template <class T>
struct MlpPass {
  const arma::Mat<T>* X = nullptr;  // of forward()
  std::vector<arma::Mat<T>> A;      // A_1 ... A_(L-1)
  bool keeps_Z = false;
  std::vector<arma::Mat<T>> Z;  // Z_1 ... Z_(L-1) if keeps_Z, otherwise empty
  // dA_l / dZ_l, entry by entry, in Z_l's shape; after backward dLoss/dZ_l.
  std::vector<arma::Mat<T>> slope;
  arma::Mat<T> output;          // (C, n)
  double loss = 0;              // not finite if the net overflows
  arma::Mat<T> d_output;        // dLoss/d output (C, n)
  std::vector<arma::Mat<T>> G;  // gradients of W_1 ... W_L, in their shapes

  /// A_l, the input of W_(l+1).
  const arma::Mat<T>& input(std::size_t l) const { return l == 0 ? *X : A[l - 1]; }
};

template <class T>
struct Mlp {
  const Activation* sigma = nullptr;
  std::vector<arma::Mat<T>> W;  // W_1 ... W_L, at least one

  /// [Spectral] Figure 1: one output, and entries uniform on +-1/sqrt(fan_in), PyTorch's default
  /// for a linear layer; fan_in is the number of columns of W_l. One stream per matrix: <prefix>W1,
  /// <prefix>W2, ...
  static Mlp draw(const Streams& streams, std::uint64_t d, std::uint64_t width,
                  std::uint64_t hidden_layers, const Activation& sigma,
                  const std::string& prefix = "");

  /// Outputs, activations and slopes at X (d, n), which must outlive the pass. Throws
  /// std::logic_error if X does not fit W_1.
  void forward(const arma::Mat<T>& X, MlpPass<T>& pass) const;
  void forward(arma::Mat<T>&& X, MlpPass<T>& pass) const = delete;
  /// The gradients of the loss whose gradient in the outputs is pass.d_output. Call after
  /// forward().
  void backward(MlpPass<T>& pass) const;
};

/// Sets the loss (1/n) sum_i ||output_i - y_i||^2, without a factor 1/2 as in the experiments of
/// [Spectral], and its gradient in the outputs. y (C, n).
template <class T>
void set_mean_squared_error(const arma::Mat<T>& y, MlpPass<T>& pass);

}  // namespace ranklab
