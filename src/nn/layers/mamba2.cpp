#include "nn/layers/mamba2.hpp"

#include <cmath>
#include <stdexcept>

#include "linalg/product.hpp"
#include "nn/layers/exponential.hpp"
#include "nn/layers/linear.hpp"
#include "nn/layers/norm.hpp"

namespace ranklab {
namespace {

constexpr arma::uword taps = 4;
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
      conv_weight_(initial.uniform<T>("conv.weight", channels_, taps, -0.5, 0.5)),
      conv_bias_(initial.constant<T>("conv.bias", channels_, 1, 0)),
      ssd_({.heads = width_ / shape.head_width,
            .head_width = shape.head_width,
            .state = shape.state,
            .length = length},
           initial),
      norm_(initial.constant<T>("norm", width_, 1, 1)),
      out_proj_(initial.map<T>("out_proj", dim, width_)),
      dy_(width_, length),
      dxBC_(channels_, length),
      padding_(channels_, arma::fill::zeros) {}

template <class T>
void Mamba2Mixer<T>::do_prepare() {
  out_ = out_proj_.W.each_row() % norm_.W.t();
  dout_.zeros(arma::size(out_));
}

template <class T>
void Mamba2Mixer<T>::do_forward(const arma::Mat<T>& X, arma::Mat<T>& Y) {
  const arma::uword d = X.n_rows, N = X.n_cols;
  for (arma::Mat<T>* of_channels : {&xBC_, &slope_}) of_channels->set_size(channels_, N);
  for (arma::Mat<T>* of_width : {&y_, &Q_}) of_width->set_size(width_, N);
  inverse_.set_size(N);
  ssd_.start(N);
  linear(in_proj_, X, projected_);
  for (arma::uword first = 0; first < N; first += length_) {
    convolve(first);
    ssd_.forward(first, xBC_.colptr(first), projected_.colptr(first) + width_ + channels_, rows_,
                 y_.colptr(first));
    gate_and_norm(first);
  }
  Y.set_size(d, N);
  product(CblasNoTrans, CblasNoTrans, d, N, width_, T(1), out_.memptr(), d, Q_.memptr(), width_,
          Y.memptr(), d);
}

template <class T>
void Mamba2Mixer<T>::do_backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX) {
  const arma::uword d = X.n_rows, N = X.n_cols;
  dQ_.set_size(width_, N);
  dprojected_.set_size(rows_, N);
  const T* const g = dY.memptr();
  product(CblasNoTrans, CblasTrans, d, width_, N, T(1), g, d, Q_.memptr(), width_, dout_.memptr(),
          d, T(1));
  product(CblasTrans, CblasNoTrans, width_, N, d, T(1), out_.memptr(), d, g, d, dQ_.memptr(),
          width_);
  for (arma::uword first = 0; first < N; first += length_) {
    T* const of_first = dprojected_.colptr(first);
    gate_and_norm_backward(first, dQ_.colptr(first), of_first);
    ssd_.backward(first, xBC_.colptr(first), dy_.memptr(), dxBC_.memptr(),
                  of_first + width_ + channels_, rows_);
    convolve_backward(first, of_first + width_);
  }
  linear_backward_weights(in_proj_, X, dprojected_);
  linear_backward_inputs(in_proj_, dprojected_, dX);
}

template <class T>
void Mamba2Mixer<T>::do_finish() {
  out_proj_.G += dout_.each_row() % norm_.W.t();
  norm_.G += arma::sum(dout_ % out_proj_.W, 0).t();
  dout_.zeros();
}

// [x; B; C]_t <- silu(bias + sum_k w_k [x; B; C]_{t - 3 + k}). ------------------------------------

template <class T>
void Mamba2Mixer<T>::convolve(arma::uword first) {
  const arma::uword c = channels_;
  const T *const bias = conv_bias_.W.memptr(), *const w = conv_weight_.W.memptr();
  for (arma::uword t = 0; t < length_; ++t) {
    std::array<const T*, taps> in;
    for (arma::uword k = 0; k < taps; ++k) {
      in[k] = t + k + 1 < taps ? padding_.memptr()
                               : projected_.colptr(first + t + k + 1 - taps) + width_;
    }
    T *const value = xBC_.colptr(first + t), *const slope = slope_.colptr(first + t);
    for_packs<T>(c, [&](std::size_t i, auto count) {
      Pack<T> sum = load(bias + i, count);
      for (arma::uword k = 0; k < taps; ++k)
        sum += load(w + k * c + i, count) * load(in[k] + i, count);
      const Point<Pack<T>> at = silu(sum);
      store(at.value, value + i, count);
      store(at.slope, slope + i, count);
    });
  }
}

template <class T>
void Mamba2Mixer<T>::convolve_backward(arma::uword first, T* din) {
  const arma::uword c = channels_;
  const T* const w = conv_weight_.W.memptr();
  T *const dw = conv_weight_.G.memptr(), *const dbias = conv_bias_.G.memptr();
  for (arma::uword t = 0; t < length_; ++t) {
    T* const out = dxBC_.colptr(t);
    const T* const slope = slope_.colptr(first + t);
    for (arma::uword i = 0; i < c; ++i) out[i] *= slope[i];
  }
  for (arma::uword t = 0; t < length_; ++t, din += rows_) {
    std::array<const T*, taps> out;  // of token t + 3 - k, which sees this one through tap k
    for (arma::uword k = 0; k < taps; ++k) {
      out[k] = t + taps - 1 - k < length_ ? dxBC_.colptr(t + taps - 1 - k) : padding_.memptr();
    }
    const T* const in = projected_.colptr(first + t) + width_;
#pragma omp simd
    for (arma::uword i = 0; i < c; ++i) {
      const T u = in[i], g0 = out[0][i], g1 = out[1][i], g2 = out[2][i], g3 = out[3][i];
      din[i] = w[i] * g0 + w[c + i] * g1 + w[2 * c + i] * g2 + w[3 * c + i] * g3;
      dw[i] += u * g0;
      dw[c + i] += u * g1;
      dw[2 * c + i] += u * g2;
      dw[3 * c + i] += u * g3;
      dbias[i] += g3;
    }
  }
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
