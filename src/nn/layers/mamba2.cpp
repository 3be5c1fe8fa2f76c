#include "nn/layers/mamba2.hpp"

#include <cmath>
#include <stdexcept>

#include "linalg/exponential.hpp"
#include "linalg/product.hpp"
#include "nn/layers/linear.hpp"
#include "nn/layers/norm.hpp"

namespace ranklab {
namespace {

constexpr double norm_epsilon = 1e-5;

arma::uword heads_of(arma::uword width, arma::uword head_width) {
  if (width % head_width != 0)
    throw std::logic_error("Mamba-2: the head width must divide twice the token width");
  return width / head_width;
}

}  // namespace

template <class T>
Mamba2Mixer<T>::Mamba2Mixer(arma::uword dim, arma::uword length, const Mamba2Shape& shape,
                            const InitialWeights& initial)
    : length_(length),
      width_(2 * dim),
      channels_(width_ + 2 * shape.state),
      rows_(width_ + channels_ + heads_of(width_, shape.head_width)),
      in_proj_(initial.map<T>("in_proj", rows_, dim)),
      convolution_(channels_, length, initial),
      ssd_({.heads = width_ / shape.head_width,
            .head_width = shape.head_width,
            .state = shape.state,
            .length = length},
           initial),
      norm_(initial.without_decay<T>("norm", width_, 1, EntryLaw::constant(1))),
      out_proj_(initial.map<T>("out_proj", dim, width_)),
      dy_(width_, length),
      dxBC_(channels_, length) {}

template <class T>
void Mamba2Mixer<T>::do_prepare() {
  out_ = out_proj_.W.each_row() % norm_.W.t();
  dout_.zeros(arma::size(out_));
}

template <class T>
void Mamba2Mixer<T>::do_forward(const arma::Mat<T>& X, arma::Mat<T>& Y) {
  const arma::uword d = X.n_rows, N = X.n_cols;
  for (arma::Mat<T>* of_width : {&y_, &Q_}) of_width->set_size(width_, N);
  inverse_.set_size(N);
  convolution_.start(N);
  ssd_.start(N);
  linear(in_proj_, X, projected_);
  for (arma::uword first = 0; first < N; first += length_) {
    convolution_.forward(first, projected_.colptr(first) + width_, rows_);
    ssd_.forward(first, xBC().colptr(first), projected_.colptr(first) + width_ + channels_, rows_,
                 y_.colptr(first));
    gate_and_norm(first);
  }
  Y.set_size(d, N);
  product(CblasNoTrans, CblasNoTrans, d, N, width_, T(1), out_.memptr(), d, Q_.memptr(), width_,
          Y.memptr(), d);
}

template <class T>
void Mamba2Mixer<T>::do_backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX,
                                 Turns& turns) {
  const arma::uword d = X.n_rows, N = X.n_cols;
  dQ_.set_size(width_, N);
  dprojected_.set_size(rows_, N);
  const T* const g = dY.memptr();
  turns.take([&] {
    product(CblasNoTrans, CblasTrans, d, width_, N, T(1), g, d, Q_.memptr(), width_, dout_.memptr(),
            d, T(1));
  });
  product(CblasTrans, CblasNoTrans, width_, N, d, T(1), out_.memptr(), d, g, d, dQ_.memptr(),
          width_);
  turns.take([&] {
    for (arma::uword first = 0; first < N; first += length_) {
      T* const of_first = dprojected_.colptr(first);
      gate_and_norm_backward(first, dQ_.colptr(first), of_first);
      ssd_.backward(first, xBC().colptr(first), dy_.memptr(), dxBC_.memptr(),
                    of_first + width_ + channels_, rows_);
      convolution_.backward(first, projected_.colptr(first) + width_, dxBC_.memptr(),
                            of_first + width_, rows_);
    }
  });
  turns.take([&] { linear_backward_weights(in_proj_, X, dprojected_); });
  linear_backward_inputs(in_proj_, dprojected_, dX);
}

template <class T>
void Mamba2Mixer<T>::do_finish() {
  out_proj_.G += dout_.each_row() % norm_.W.t();
  norm_.G += arma::sum(dout_ % out_proj_.W, 0).t();
  dout_.zeros();
}

// r / rms(r), r = y o silu(z). --------------------------------------------------------------------

template <class T>
void Mamba2Mixer<T>::gate_and_norm(arma::uword first) {
  for (arma::uword n = first; n < first + length_; ++n) {
    T *const z = projected_.colptr(n), *const y = y_.colptr(n), *const r = Q_.colptr(n);
    for_packs<T>(width_, [&](std::size_t i, auto count) {
      const Point<Pack<T>> gate = silu(load(z + i, count));
      const Pack<T> ungated = load(y + i, count);
      store(ungated * gate.value, r + i, count);
      store(gate.value, z + i, count);
      store(ungated * gate.slope, y + i, count);
    });
    inverse_[n] = rms_normalize(r, width_, static_cast<T>(norm_epsilon));
  }
}

template <class T>
void Mamba2Mixer<T>::gate_and_norm_backward(arma::uword first, T* dr, T* dz) {
  for (arma::uword t = 0; t < length_; ++t, dr += width_, dz += rows_) {
    const T *const gate = projected_.colptr(first + t), *const y_slope = y_.colptr(first + t);
    T* const dy = dy_.colptr(t);
    rms_normalize_backward(Q_.colptr(first + t), inverse_[first + t], width_, dr);
#pragma omp simd
    for (arma::uword i = 0; i < width_; ++i) {
      dy[i] = dr[i] * gate[i];
      dz[i] = dr[i] * y_slope[i];
    }
  }
}

template class Mamba2Mixer<float>;
template class Mamba2Mixer<double>;

}  // namespace ranklab
