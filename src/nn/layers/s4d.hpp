// S4D as a causal mixer: a diagonal state-space model of n/2 conjugate pairs per channel, then a
// gated map. Legend: d channels, m = 0 ... n/2 - 1 a pair.
//
//   K[l] = 2 Re sum_m C_m E_m z_m^l,   l = 0 ... length - 1
//   z_m = exp(dt A_m),   E_m = (z_m - 1) / A_m                   zero-order hold
//   A_m = -exp(log_A_real_m) + i A_imag_m,   dt = exp(log_dt)
//   u_t = sum_{j <= t} K[j] x_{t-j} + D x_t
//   Y = a o sigmoid(b),   [a; b] = Wo gelu(u) + bo               gelu by the error function
//
// Parameters: C (n, d), alternating real and imaginary parts, log_dt (d), log_A_real and A_imag
// (n/2, d), D (d), Wo (2 d, d), bo (2 d). Kernels and the gradients of their parameters are
// computed in double precision.
//
// Source: Gu et al., "On the Parameterization and Initialization of Diagonal State Space Models",
// 2022: S4D-Lin, as in the minimal file of the authors' code, without its dropout.
#pragma once

#include "nn/layers/initial_weights.hpp"
#include "nn/layers/mixer.hpp"

namespace ranklab {

struct S4dShape {
  arma::uword state = 16;  // n, even
};

template <class T>
class S4dMixer final : public Mixer<T> {
 public:
  /// Throws std::logic_error if the state size is odd.
  S4dMixer(arma::uword dim, arma::uword length, const S4dShape& shape,
           const InitialWeights& initial);

  std::vector<Parameter<T>*> parameters() override {
    return {&C_, &log_dt_, &log_A_real_, &A_imag_, &D_, &Wo_, &bo_};
  }

 private:
  std::vector<arma::Mat<T>*> of_batch() override { return {&K_, &dK_}; }
  void do_prepare() override;
  void do_forward(const arma::Mat<T>& X, arma::Mat<T>& Y) override;
  void do_backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX,
                   Turns& turns) override;
  void do_finish() override;

  void mode_backward(arma::uword c, arma::uword m, std::complex<double> P, std::complex<double> Q);

  arma::uword length_;
  Parameter<T> C_, log_dt_, log_A_real_, A_imag_, D_, Wo_, bo_;
  arma::cx_mat z_, E_;         // (d, n/2)
  arma::Mat<T> K_;             // (d, length), with D added to K[0]
  arma::Mat<T> slope_, gelu_;  // (d, N): gelu' and gelu of the convolution
  arma::Mat<T> Z_;             // (2 d, N): [a; sigmoid(b)]
  arma::Mat<T> dK_;
  // Buffers of one backward pass, which all layers of a thread share, so that they stay in cache.
  static inline thread_local arma::Mat<T> du_, dZ_;
};

}  // namespace ranklab
