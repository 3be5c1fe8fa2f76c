// The mixer of Mamba-2. Legend: d width of a token, d_i = 2 d, h = d_i / p heads of p channels, n
// state, c = d_i + 2 n channels of the convolution.
//
//   [z; x; B; C; dt_raw] = W_in u                   d_i, d_i, n, n and h rows
//   [x; B; C] <- silu(causal convolution, 4 taps)
//   y = SSD(x, B, C, dt_raw)                        with dt_bias, A_log and D: ssd.hpp
//   Y = W_out (gain o r / rms(r)), r = y o silu(z)  rms(r)^2 = mean(r^2) + 1e-5
//
// Parameters as in the authors' code, in its order: in_proj (2 d_i + 2 n + h, d), conv.weight (c,
// 4), the last tap for the current token, conv.bias (c), dt_bias, A_log, D (h), norm (d_i),
// out_proj (d, d_i). Initial values: norm 1; short_convolution.hpp and ssd.hpp give the others.
// Weight decay applies only to in_proj and out_proj. One group; dt is not limited.
//
// Source: Dao and Gu, "Transformers are SSMs", 2024.
#pragma once

#include "nn/layers/mixer.hpp"
#include "nn/layers/short_convolution.hpp"
#include "nn/layers/ssd.hpp"

namespace ranklab {

struct Mamba2Shape {
  arma::uword head_width = 32;  // p, which divides d_i
  arma::uword state = 16;       // n
};

template <class T>
class Mamba2Mixer final : public Mixer<T> {
 public:
  /// Throws std::logic_error if p does not divide d_i.
  Mamba2Mixer(arma::uword dim, arma::uword length, const Mamba2Shape& shape,
              const InitialWeights& initial);

  std::vector<Parameter<T>*> parameters() override {
    return {&in_proj_,
            &convolution_.weight,
            &convolution_.bias,
            &ssd_.dt_bias,
            &ssd_.A_log,
            &ssd_.D,
            &norm_,
            &out_proj_};
  }

 private:
  std::vector<arma::Mat<T>*> of_batch() override { return {&out_, &dout_}; }
  void do_prepare() override;
  void do_forward(const arma::Mat<T>& X, arma::Mat<T>& Y) override;
  void do_backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX,
                   Turns& turns) override;
  void do_finish() override;

  // For the sequence that starts at token `first`. The backward pass goes from dQ, in place, to dz,
  // rows of dprojected_.
  void gate_and_norm(arma::uword first);
  void gate_and_norm_backward(arma::uword first, T* dQ, T* dz);
  const arma::Mat<T>& xBC() const { return convolution_.output(); }

  arma::uword length_, width_, channels_, rows_;  // tokens, d_i, c, rows of in_proj
  Parameter<T> in_proj_;
  ShortConvolution<T> convolution_;
  Ssd<T> ssd_;
  Parameter<T> norm_, out_proj_;
  arma::Mat<T> out_;  // (d, d_i): out_proj, columns times the gain
  // For all N tokens.
  arma::Mat<T> projected_;  // (rows, N): W_in u, in which z becomes silu(z)
  arma::Mat<T> y_;          // (d_i, N): y, then y o silu'(z)
  arma::Mat<T> Q_;          // (d_i, N): r / rms(r)
  arma::Row<T> inverse_;    // (1, N): 1 / rms(r)
  arma::Mat<T> dout_;       // gradient in out_, over all pieces
  arma::Mat<T> dy_, dxBC_;  // gradients in y and [x; B; C], for one sequence
  // Gradients in Q_ and projected_: buffers of one backward pass, which all layers of a thread
  // share, so that they stay in cache.
  static inline thread_local arma::Mat<T> dQ_, dprojected_;
};

}  // namespace ranklab
