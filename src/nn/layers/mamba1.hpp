// The mixer of Mamba ("Mamba-1"). Legend: d width of a token, d_i = 2 d channels, n states, r =
// ceil(d / 16) rank of the map to the steps.
//
//   [x; z] = W_in u                                 d_i and d_i rows
//   x <- silu(causal convolution, 4 taps)
//   [dt_r; B; C] = W_x x                            r, n and n rows
//   dt = softplus(W_dt dt_r + dt_bias)              one step per channel and token
//   y = selective scan of dt, x, B, C, with A = -exp(A_log) and D: selective_scan.hpp
//   Y = W_out (y o silu(z))
//
// Parameters as in the authors' code, in its order: in_proj (2 d_i, d), conv.weight (d_i, 4),
// conv.bias (d_i), x_proj (r + 2 n, d_i), dt_proj (d_i, r), dt_bias (d_i), A_log (d_i, n), D (d_i),
// out_proj (d, d_i). Initial values: dt_proj uniform on [-r^-1/2, r^-1/2], A_log[c, s] = log(s),
// s = 1 ... n, D 1; short_convolution.hpp and blocks/state_space.hpp give those of the convolution
// and of dt_bias; the other maps follow the model's law. Weight decay applies only to maps.
//
// Source: Gu and Dao, "Mamba: Linear-Time Sequence Modeling with Selective State Spaces", 2023.
#pragma once

#include "nn/blocks/selective_scan.hpp"
#include "nn/layers/mixer.hpp"
#include "nn/layers/short_convolution.hpp"

namespace ranklab {

struct Mamba1Shape {
  arma::uword state = 16;  // n
};

template <class T>
class Mamba1Mixer final : public Mixer<T> {
 public:
  Mamba1Mixer(arma::uword dim, arma::uword length, const Mamba1Shape& shape,
              const InitialWeights& initial);

  std::vector<Parameter<T>*> parameters() override {
    return {&in_proj_,
            &convolution_.weight,
            &convolution_.bias,
            &x_proj_,
            &dt_proj_,
            &dt_bias_,
            &A_log_,
            &D_,
            &out_proj_};
  }

 private:
  std::vector<arma::Mat<T>*> of_batch() override { return {&A_, &dA_}; }
  void do_prepare() override;
  void do_forward(const arma::Mat<T>& X, arma::Mat<T>& Y) override;
  void do_backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX,
                   Turns& turns) override;
  void do_finish() override;

  void compute_steps();
  void steps_backward();
  void gate();
  void gate_backward();
  /// The scan's inputs of the sequence that starts at token `first`.
  ScanInputs<T> scanned(arma::uword first) const;

  arma::uword length_, width_, rank_, state_;  // tokens, d_i, r, n
  Parameter<T> in_proj_;
  ShortConvolution<T> convolution_;
  Parameter<T> x_proj_, dt_proj_, dt_bias_, A_log_, D_, out_proj_;
  arma::Mat<T> A_, dA_;  // (d_i, n); the gradient is summed over all parts
  // For all N tokens.
  arma::Mat<T> projected_;      // (2 d_i, N): [x; z], in which z becomes silu(z)
  arma::Mat<T> low_;            // (r + 2 n, N): [dt_r; B; C]
  arma::Mat<T> dt_, dt_slope_;  // (d_i, N): dt, and the slope of its softplus
  arma::Mat<T> y_;              // (d_i, N): y, then y o silu'(z)
  arma::Mat<T> Q_;              // (d_i, N): y o silu(z)
  // Gradients: buffers of one backward pass, which all layers of a thread share, so that they stay
  // in cache.
  static inline thread_local arma::Mat<T> dy_, dx_, ddt_, dlow_, dprojected_;
};

}  // namespace ranklab
