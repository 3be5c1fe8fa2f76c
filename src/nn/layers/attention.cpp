#include "nn/layers/attention.hpp"

#include <cmath>
#include <vector>

#include "linalg/product.hpp"
#include "nn/layers/norm.hpp"
#include "nn/layers/softmax.hpp"

namespace ranklab {
namespace {

/// Triangular structure of S = K'Q, and of P and P' as right factors.
struct Triangles {
  Triangle seen, weights, weights_transposed;
};

Triangles triangles(bool causal) {
  if (!causal) return {Triangle::none, Triangle::none, Triangle::none};
  return {Triangle::upper_result, Triangle::upper_right, Triangle::lower_right};
}

}  // namespace

template <class T>
Attention<T>::Attention(const AttentionShape& shape, std::uint64_t dim)
    : shape_(shape), width_(dim / shape.heads) {
  if (!shape_.rotary) return;
  const arma::uword half = width_ / 2;
  cosine_.set_size(half, shape_.context);
  sine_.set_size(half, shape_.context);
  for (arma::uword t = 0; t < shape_.context; ++t) {
    for (arma::uword j = 0; j < half; ++j) {
      const double angle =
          static_cast<double>(t) *
          std::pow(10000.0, -2.0 * static_cast<double>(j) / static_cast<double>(width_));
      cosine_(j, t) = static_cast<T>(std::cos(angle));
      sine_(j, t) = static_cast<T>(std::sin(angle));
    }
  }
}

template <class T>
void Attention<T>::norm_and_rotate(arma::Mat<T>& q, arma::Mat<T>& inverse) const {
  if (shape_.qk_norm) inverse.set_size(shape_.heads, q.n_cols);
  with_width(width_, [&](const auto width) {
    const arma::uword half = width / 2;
    for (arma::uword n = 0; n < q.n_cols; ++n) {
      const arma::uword t = n % shape_.context;
      for (arma::uword head = 0; head < shape_.heads; ++head) {
        T* const u = q.colptr(n) + head * width;
        if (shape_.qk_norm)
          inverse(head, n) = rms_normalize(u, width, static_cast<T>(shape_.norm_epsilon));
        if (!shape_.rotary) continue;
        const T *const c = cosine_.colptr(t), *const s = sine_.colptr(t);
#pragma omp simd
        for (arma::uword j = 0; j < half; ++j) {
          const T x = u[j], y = u[j + half];
          u[j] = x * c[j] - y * s[j];
          u[j + half] = x * s[j] + y * c[j];
        }
      }
    }
  });
}

template <class T>
void Attention<T>::norm_and_rotate_backward(const arma::Mat<T>& q, const arma::Mat<T>& inverse,
                                            arma::Mat<T>& dq) const {
  std::vector<T> memory(width_);
  T* const before = memory.data();
  with_width(width_, [&](const auto width) {
    const arma::uword half = width / 2;
    for (arma::uword n = 0; n < q.n_cols; ++n) {
      const arma::uword t = n % shape_.context;
      for (arma::uword head = 0; head < shape_.heads; ++head) {
        const T* a = q.colptr(n) + head * width;
        T* const g = dq.colptr(n) + head * width;
        if (shape_.rotary) {
          const T *const c = cosine_.colptr(t), *const s = sine_.colptr(t);
#pragma omp simd
          for (arma::uword j = 0; j < half; ++j) {
            const T x = g[j], y = g[j + half];
            g[j] = x * c[j] + y * s[j];
            g[j + half] = y * c[j] - x * s[j];
            before[j] = a[j] * c[j] + a[j + half] * s[j];
            before[j + half] = a[j + half] * c[j] - a[j] * s[j];
          }
          a = before;
        }
        if (shape_.qk_norm) rms_normalize_backward(a, inverse(head, n), width, g);
      }
    }
  });
}

template <class T>
void Attention<T>::forward(AttentionPass<T>& pass) const {
  const arma::uword d = pass.q.n_rows, N = pass.q.n_cols, length = shape_.context;
  if (shape_.qk_norm || shape_.rotary) {
    norm_and_rotate(pass.q, pass.inverse_q);
    norm_and_rotate(pass.k, pass.inverse_k);
  }
  pass.P.set_size(length, N * shape_.heads);
  pass.H.set_size(d, N);
  const T scale = static_cast<T>(1 / std::sqrt(static_cast<double>(width_)));
  const auto [seen, weights, weights_transposed] = triangles(shape_.causal);
  for (arma::uword first = 0; first < N; first += length) {
    for (arma::uword head = 0; head < shape_.heads; ++head) {
      const arma::uword at = first * d + head * width_;
      T* const P = pass.P.colptr(first * shape_.heads + head * length);
      product(CblasTrans, CblasNoTrans, length, length, width_, scale, pass.k.memptr() + at, d,
              pass.q.memptr() + at, d, P, length, T(0), seen);
      softmax(P, length, shape_.causal);
      product(CblasNoTrans, CblasNoTrans, width_, length, length, T(1), pass.v.memptr() + at, d, P,
              length, pass.H.memptr() + at, d, T(0), weights);
    }
  }
}

template <class T>
void Attention<T>::backward(const AttentionPass<T>& pass, const arma::Mat<T>& dH, arma::Mat<T>& dq,
                            arma::Mat<T>& dk, arma::Mat<T>& dv) const {
  const arma::uword d = dH.n_rows, N = dH.n_cols, length = shape_.context;
  for (arma::Mat<T>* out : {&dq, &dk, &dv}) out->set_size(d, N);
  const T scale = static_cast<T>(1 / std::sqrt(static_cast<double>(width_)));
  const auto [seen, weights, weights_transposed] = triangles(shape_.causal);
  std::vector<T> memory(length * length);
  T* const dS = memory.data();
  for (arma::uword first = 0; first < N; first += length) {
    for (arma::uword head = 0; head < shape_.heads; ++head) {
      const arma::uword at = first * d + head * width_;
      const T *const P = pass.P.colptr(first * shape_.heads + head * length), *const g =
                                                                                  dH.memptr() + at;
      product(CblasTrans, CblasNoTrans, length, length, width_, T(1), pass.v.memptr() + at, d, g, d,
              dS, length, T(0), seen);
      product(CblasNoTrans, CblasTrans, width_, length, length, T(1), g, d, P, length,
              dv.memptr() + at, d, T(0), weights_transposed);
      softmax_backward(P, dS, length, shape_.causal);
      product(CblasNoTrans, CblasNoTrans, width_, length, length, scale, pass.k.memptr() + at, d,
              dS, length, dq.memptr() + at, d, T(0), weights);
      product(CblasNoTrans, CblasTrans, width_, length, length, scale, pass.q.memptr() + at, d, dS,
              length, dk.memptr() + at, d, T(0), weights_transposed);
    }
  }
  if (shape_.qk_norm || shape_.rotary) {
    norm_and_rotate_backward(pass.q, pass.inverse_q, dq);
    norm_and_rotate_backward(pass.k, pass.inverse_k, dk);
  }
}

template class Attention<float>;
template class Attention<double>;

}  // namespace ranklab
