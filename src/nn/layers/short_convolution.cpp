#include "nn/layers/short_convolution.hpp"

#include <array>

#include "linalg/exponential.hpp"

namespace ranklab {
namespace {

constexpr arma::uword taps = 4;

}  // namespace

template <class T>
ShortConvolution<T>::ShortConvolution(arma::uword channels, arma::uword length,
                                      const InitialWeights& initial)
    : weight(initial.without_decay<T>("conv.weight", channels, taps, EntryLaw::uniform(-0.5, 0.5))),
      bias(initial.without_decay<T>("conv.bias", channels, 1, EntryLaw::constant(0))),
      channels_(channels),
      length_(length),
      padding_(channels, arma::fill::zeros) {}

template <class T>
void ShortConvolution<T>::start(arma::uword N) {
  for (arma::Mat<T>* of_channels : {&y_, &slope_}) of_channels->set_size(channels_, N);
}

template <class T>
void ShortConvolution<T>::forward(arma::uword first, const T* x, arma::uword rows) {
  const arma::uword c = channels_;
  const T *const b = bias.W.memptr(), *const w = weight.W.memptr();
  for (arma::uword t = 0; t < length_; ++t) {
    std::array<const T*, taps> in;
    for (arma::uword k = 0; k < taps; ++k)
      in[k] = t + k + 1 < taps ? padding_.memptr() : x + (t + k + 1 - taps) * rows;
    T *const value = y_.colptr(first + t), *const slope = slope_.colptr(first + t);
    for_packs<T>(c, [&](std::size_t i, auto count) {
      Pack<T> sum = load(b + i, count);
      for (arma::uword k = 0; k < taps; ++k)
        sum += load(w + k * c + i, count) * load(in[k] + i, count);
      const Point<Pack<T>> at = silu(sum);
      store(at.value, value + i, count);
      store(at.slope, slope + i, count);
    });
  }
}

template <class T>
void ShortConvolution<T>::backward(arma::uword first, const T* x, T* dy, T* dx, arma::uword rows) {
  const arma::uword c = channels_;
  const T* const w = weight.W.memptr();
  T *const dw = weight.G.memptr(), *const dbias = bias.G.memptr();
  for (arma::uword t = 0; t < length_; ++t) {
    T* const out = dy + t * c;
    const T* const slope = slope_.colptr(first + t);
    for (arma::uword i = 0; i < c; ++i) out[i] *= slope[i];
  }
  for (arma::uword t = 0; t < length_; ++t, x += rows, dx += rows) {
    std::array<const T*, taps> out;  // of token t + 3 - k, which sees this one through tap k
    for (arma::uword k = 0; k < taps; ++k)
      out[k] = t + taps - 1 - k < length_ ? dy + (t + taps - 1 - k) * c : padding_.memptr();
#pragma omp simd
    for (arma::uword i = 0; i < c; ++i) {
      const T u = x[i], g0 = out[0][i], g1 = out[1][i], g2 = out[2][i], g3 = out[3][i];
      dx[i] = w[i] * g0 + w[c + i] * g1 + w[2 * c + i] * g2 + w[3 * c + i] * g3;
      dw[i] += u * g0;
      dw[c + i] += u * g1;
      dw[2 * c + i] += u * g2;
      dw[3 * c + i] += u * g3;
      dbias[i] += g3;
    }
  }
}

template class ShortConvolution<float>;
template class ShortConvolution<double>;

}  // namespace ranklab
