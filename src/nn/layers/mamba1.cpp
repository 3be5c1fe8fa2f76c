#include "nn/layers/mamba1.hpp"

#include <cmath>

#include "linalg/exponential.hpp"
#include "linalg/product.hpp"
#include "nn/blocks/state_space.hpp"
#include "nn/layers/linear.hpp"

namespace ranklab {

template <class T>
Mamba1Mixer<T>::Mamba1Mixer(arma::uword dim, arma::uword length, const Mamba1Shape& shape,
                            const InitialWeights& initial)
    : length_(length),
      width_(2 * dim),
      rank_(step_rank(dim)),
      state_(shape.state),
      in_proj_(initial.map<T>("in_proj", 2 * width_, dim)),
      convolution_(width_, length, initial),
      x_proj_(initial.map<T>("x_proj", rank_ + 2 * state_, width_)),
      dt_proj_(initial.with_decay<T>("dt_proj", width_, rank_, EntryLaw::fan_in(rank_))),
      dt_bias_(initial.without_decay<T>("dt_bias", width_, 1, law_of_dt_bias())),
      A_log_(initial.without_decay<T>("A_log", width_, state_, EntryLaw::constant(0))),
      D_(initial.without_decay<T>("D", width_, 1, EntryLaw::constant(1))),
      out_proj_(initial.map<T>("out_proj", dim, width_)) {
  for (arma::uword s = 0; s < state_; ++s)
    A_log_.W.col(s).fill(static_cast<T>(std::log(static_cast<double>(s + 1))));
}

template <class T>
void Mamba1Mixer<T>::do_prepare() {
  A_ = -arma::exp(A_log_.W);
  dA_.zeros(arma::size(A_));
}

template <class T>
void Mamba1Mixer<T>::do_forward(const arma::Mat<T>& X, arma::Mat<T>& Y) {
  const arma::uword N = X.n_cols;
  y_.set_size(width_, N);
  convolution_.start(N);
  linear(in_proj_, X, projected_);
  for (arma::uword first = 0; first < N; first += length_)
    convolution_.forward(first, projected_.colptr(first), 2 * width_);
  linear(x_proj_, convolution_.output(), low_);
  compute_steps();
  for (arma::uword first = 0; first < N; first += length_)
    selective_scan(scanned(first), y_.colptr(first));
  gate();
  linear(out_proj_, Q_, Y);
}

template <class T>
void Mamba1Mixer<T>::do_backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX,
                                 Turns& turns) {
  const arma::uword N = X.n_cols;
  for (arma::Mat<T>* of_width : {&dx_, &ddt_}) of_width->set_size(width_, N);
  dlow_.set_size(arma::size(low_));
  dprojected_.set_size(arma::size(projected_));
  turns.take([&] { linear_backward_weights(out_proj_, Q_, dY); });
  linear_backward_inputs(out_proj_, dY, dy_);
  gate_backward();
  turns.take([&] {
    for (arma::uword first = 0; first < N; first += length_) {
      T* const dB = dlow_.colptr(first) + rank_;
      selective_scan_backward<T>(
          scanned(first), dy_.colptr(first),
          {ddt_.colptr(first), dx_.colptr(first), dB, dB + state_, dA_, D_.G});
    }
  });
  turns.take([&] {
    steps_backward();
    linear_backward_weights(x_proj_, convolution_.output(), dlow_);
  });
  linear_backward_inputs(x_proj_, dlow_, dx_, true);
  turns.take([&] {
    for (arma::uword first = 0; first < N; first += length_) {
      convolution_.backward(first, projected_.colptr(first), dx_.colptr(first),
                            dprojected_.colptr(first), 2 * width_);
    }
    linear_backward_weights(in_proj_, X, dprojected_);
  });
  linear_backward_inputs(in_proj_, dprojected_, dX);
}

template <class T>
void Mamba1Mixer<T>::do_finish() {
  A_log_.G += A_ % dA_;
  dA_.zeros();
}

template <class T>
ScanInputs<T> Mamba1Mixer<T>::scanned(arma::uword first) const {
  const T* const B = low_.colptr(first) + rank_;
  return {length_,
          dt_.colptr(first),
          convolution_.output().colptr(first),
          B,
          B + state_,
          low_.n_rows,
          A_,
          D_.W};
}

// dt = softplus(W_dt dt_r + dt_bias). -------------------------------------------------------------

template <class T>
void Mamba1Mixer<T>::compute_steps() {
  const arma::uword N = low_.n_cols;
  dt_.set_size(width_, N);
  product(CblasNoTrans, CblasNoTrans, width_, N, rank_, T(1), dt_proj_.W.memptr(), width_,
          low_.memptr(), low_.n_rows, dt_.memptr(), width_);
  ranklab::compute_steps(dt_bias_.W, dt_, dt_slope_);
}

template <class T>
void Mamba1Mixer<T>::steps_backward() {
  const arma::uword N = low_.n_cols, rows = low_.n_rows;
  ddt_ %= dt_slope_;
  bias_backward(dt_bias_, ddt_);
  product(CblasNoTrans, CblasTrans, width_, rank_, N, T(1), ddt_.memptr(), width_, low_.memptr(),
          rows, dt_proj_.G.memptr(), width_, T(1));
  product(CblasTrans, CblasNoTrans, rank_, N, width_, T(1), dt_proj_.W.memptr(), width_,
          ddt_.memptr(), width_, dlow_.memptr(), rows);
}

// Q = y o silu(z). --------------------------------------------------------------------------------

template <class T>
void Mamba1Mixer<T>::gate() {
  Q_.set_size(arma::size(y_));
  for (arma::uword t = 0; t < y_.n_cols; ++t) {
    T *const z = projected_.colptr(t) + width_, *const y = y_.colptr(t), *const q = Q_.colptr(t);
    for_packs<T>(width_, [&](std::size_t i, auto count) {
      const Point<Pack<T>> gate = silu(load(z + i, count));
      const Pack<T> ungated = load(y + i, count);
      store(ungated * gate.value, q + i, count);
      store(gate.value, z + i, count);
      store(ungated * gate.slope, y + i, count);
    });
  }
}

// From dQ in dy_, which becomes dy.
template <class T>
void Mamba1Mixer<T>::gate_backward() {
  for (arma::uword t = 0; t < y_.n_cols; ++t) {
    const T *const gate = projected_.colptr(t) + width_, *const y_slope = y_.colptr(t);
    T *const dy = dy_.colptr(t), *const dz = dprojected_.colptr(t) + width_;
#pragma omp simd
    for (arma::uword i = 0; i < width_; ++i) {
      dz[i] = dy[i] * y_slope[i];
      dy[i] *= gate[i];
    }
  }
}

template class Mamba1Mixer<float>;
template class Mamba1Mixer<double>;

}  // namespace ranklab
