#include "nn/layers/relative_attention.hpp"

#include <algorithm>
#include <cmath>

#include "linalg/product.hpp"
#include "nn/layers/linear.hpp"
#include "nn/layers/softmax.hpp"

namespace ranklab {
namespace {

/// R with the largest lag first, so that the scores of token i for tokens 0 ... i are at the end of
/// its column, in order.
template <class T>
arma::Mat<T> waves(arma::uword dim, arma::uword length) {
  arma::Mat<T> R(dim, length);
  const arma::uword half = dim / 2;
  for (arma::uword lag = 0; lag < length; ++lag) {
    for (arma::uword k = 0; k < half; ++k) {
      const double angle =
          static_cast<double>(lag) *
          std::pow(10000.0, -2.0 * static_cast<double>(k) / static_cast<double>(dim));
      R(k, length - 1 - lag) = static_cast<T>(std::sin(angle));
      R(half + k, length - 1 - lag) = static_cast<T>(std::cos(angle));
    }
  }
  return R;
}

}  // namespace

template <class T>
RelativeAttention<T>::RelativeAttention(const AttentionShape& shape, arma::uword dim,
                                        RelativeBiases<T>& shared, const InitialWeights& initial)
    : shape_(shape),
      width_(dim / shape.heads),
      shared_(shared),
      Wr_(initial.map<T>("Wr", dim, dim)),
      waves_(waves<T>(dim, shape.context)),
      by_lag_(shape.context, shape.context),
      dS_(shape.context, shape.context) {}

template <class T>
void RelativeAttention<T>::prepare() {
  linear(Wr_, waves_, r_);
  dr_.zeros(arma::size(r_));
}

template <class T>
void RelativeAttention<T>::forward(AttentionPass<T>& pass) {
  const arma::uword d = pass.q.n_rows, N = pass.q.n_cols, length = shape_.context;
  pass.P.set_size(length, N * shape_.heads);
  pass.H.set_size(d, N);
  qu_ = pass.q;
  add_bias(shared_.u, qu_);
  qv_ = pass.q;
  add_bias(shared_.v, qv_);
  const T scale = static_cast<T>(1 / std::sqrt(static_cast<double>(width_)));
  for (arma::uword first = 0; first < N; first += length) {
    for (arma::uword head = 0; head < shape_.heads; ++head) {
      const arma::uword row = head * width_, at = first * d + row;
      T* const P = pass.P.colptr(first * shape_.heads + head * length);
      product(CblasTrans, CblasNoTrans, length, length, width_, scale, pass.k.memptr() + at, d,
              qu_.memptr() + at, d, P, length, T(0), Triangle::upper_result);
      product(CblasTrans, CblasNoTrans, length, length, width_, scale, r_.memptr() + row, d,
              qv_.memptr() + at, d, by_lag_.memptr(), length);
      for (arma::uword i = 0; i < length; ++i) {
        T* const p = P + i * length;
        const T* const lagged = by_lag_.colptr(i) + length - 1 - i;
        for (arma::uword j = 0; j <= i; ++j) p[j] += lagged[j];
      }
      softmax(P, length, true);
      product(CblasNoTrans, CblasNoTrans, width_, length, length, T(1), pass.v.memptr() + at, d, P,
              length, pass.H.memptr() + at, d, T(0), Triangle::upper_right);
    }
  }
}

template <class T>
void RelativeAttention<T>::backward(const AttentionPass<T>& pass, const arma::Mat<T>& dH,
                                    arma::Mat<T>& dq, arma::Mat<T>& dk, arma::Mat<T>& dv) {
  const arma::uword d = dH.n_rows, N = dH.n_cols, length = shape_.context;
  for (arma::Mat<T>* out : {&dq, &dk, &dv, &dq_by_lag_}) out->set_size(d, N);
  const T scale = static_cast<T>(1 / std::sqrt(static_cast<double>(width_)));
  T *const dS = dS_.memptr(), *const lagged = by_lag_.memptr();
  for (arma::uword first = 0; first < N; first += length) {
    for (arma::uword head = 0; head < shape_.heads; ++head) {
      const arma::uword row = head * width_, at = first * d + row;
      const T *const P = pass.P.colptr(first * shape_.heads + head * length), *const dh =
                                                                                  dH.memptr() + at;
      product(CblasTrans, CblasNoTrans, length, length, width_, T(1), pass.v.memptr() + at, d, dh,
              d, dS, length, T(0), Triangle::upper_result);
      product(CblasNoTrans, CblasTrans, width_, length, length, T(1), dh, d, P, length,
              dv.memptr() + at, d, T(0), Triangle::lower_right);
      softmax_backward(P, dS, length, true);
      for (arma::uword i = 0; i < length; ++i) {
        T* const g = lagged + i * length;
        std::fill_n(g, length - 1 - i, T(0));
        std::copy_n(dS + i * length, i + 1, g + length - 1 - i);
      }
      product(CblasNoTrans, CblasNoTrans, width_, length, length, scale, pass.k.memptr() + at, d,
              dS, length, dq.memptr() + at, d, T(0), Triangle::upper_right);
      product(CblasNoTrans, CblasNoTrans, width_, length, length, scale, r_.memptr() + row, d,
              lagged, length, dq_by_lag_.memptr() + at, d);
      product(CblasNoTrans, CblasTrans, width_, length, length, scale, qu_.memptr() + at, d, dS,
              length, dk.memptr() + at, d, T(0), Triangle::lower_right);
      product(CblasNoTrans, CblasTrans, width_, length, length, scale, qv_.memptr() + at, d, lagged,
              length, dr_.memptr() + row, d, T(1));
    }
  }
  bias_backward(shared_.u, dq);
  bias_backward(shared_.v, dq_by_lag_);
  dq += dq_by_lag_;
}

template <class T>
void RelativeAttention<T>::finish() {
  linear_backward_weights(Wr_, waves_, dr_);
  dr_.zeros();
}

template class RelativeAttention<float>;
template class RelativeAttention<double>;

}  // namespace ranklab
