#include "nn/layers/ssd.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "linalg/exponential.hpp"
#include "linalg/product.hpp"
#include "nn/blocks/state_space.hpp"

namespace ranklab {

template <class T>
Ssd<T>::Ssd(const SsdShape& shape, const InitialWeights& initial)
    : dt_bias(initial.without_decay<T>("dt_bias", shape.heads, 1, law_of_dt_bias())),
      A_log(initial.without_decay<T>("A_log", shape.heads, 1, law_of_A_log())),
      D(initial.without_decay<T>("D", shape.heads, 1, EntryLaw::constant(1))),
      shape_(shape),
      width_(shape.heads * shape.head_width),
      rows_(width_ + 2 * shape.state),
      to_(shape.length),
      from_(shape.length) {
  // Entries for later tokens stay 0 or are not read.
  for (arma::Mat<T>* square : {&L_, &M_, &dM_, &dS_}) square->zeros(shape.length, shape.length);
}

template <class T>
void Ssd<T>::start(arma::uword N) {
  for (arma::Mat<T>* of_heads : {&dt_, &dt_slope_, &decay_}) of_heads->set_size(N, shape_.heads);
  S_.set_size(shape_.length, N);
}

template <class T>
void Ssd<T>::forward(arma::uword first, const T* xBC, const T* dt_raw, arma::uword dt_rows, T* y) {
  const auto [heads, p, n, length] = shape_;
  const T *const B = xBC + width_, *const C = B + n;
  product(CblasTrans, CblasNoTrans, length, length, n, T(1), B, rows_, C, rows_, S_.colptr(first),
          length, T(0), Triangle::upper_result);
  for (arma::uword head = 0; head < heads; ++head) {
    compute_steps(first, head, dt_raw + head, dt_rows);
    compute_matrix(first, head);
    const arma::uword at = head * p;
    product(CblasNoTrans, CblasNoTrans, p, length, length, T(1), xBC + at, rows_, M_.memptr(),
            length, y + at, width_, T(0), Triangle::upper_right);
  }
}

template <class T>
void Ssd<T>::compute_steps(arma::uword first, arma::uword head, const T* dt_raw,
                           arma::uword dt_rows) {
  const T bias = dt_bias.W[head], A = -std::exp(A_log.W[head]);
  T *const dt = dt_.colptr(head) + first, *const slope = dt_slope_.colptr(head) + first,
           *const e = decay_.colptr(head) + first;
  for (arma::uword t = 0; t < shape_.length; ++t) dt[t] = dt_raw[t * dt_rows] + bias;
  for_packs<T>(shape_.length, [&](std::size_t t, auto count) {
    const Point<Pack<T>> at = softplus(load(dt + t, count));
    store(at.value, dt + t, count);
    store(at.slope, slope + t, count);
    store(exponential(at.value * A), e + t, count);
  });
}

// Decay factors below 1e-30 (1e-290 in double) are set to 0, because arithmetic with subnormal
// numbers is slow.
template <class T>
void Ssd<T>::compute_matrix(arma::uword first, arma::uword head) {
  constexpr T least = std::is_same_v<T, float> ? T(1e-30) : T(1e-290);
  const T *const dt = dt_.colptr(head) + first, *const e = decay_.colptr(head) + first;
  const arma::uword length = shape_.length;
  const T* before = L_.memptr();
  for (arma::uword i = 0; i < length; ++i) {
    const T* const S = S_.colptr(first + i);
    T *const L = L_.colptr(i), *const M = M_.colptr(i);
    const T factor = e[i];
#pragma omp simd
    for (arma::uword j = 0; j < i; ++j) {
      const T left = before[j] * factor;
      L[j] = left < least ? T(0) : left;
      M[j] = L[j] * S[j] * dt[j];
    }
    L[i] = 1;
    M[i] = S[i] * dt[i] + D.W[head];
    before = L;
  }
}

template <class T>
void Ssd<T>::backward(arma::uword first, const T* xBC, const T* dy, T* dxBC, T* ddt_raw,
                      arma::uword dt_rows) {
  const auto [heads, p, n, length] = shape_;
  const T *const B = xBC + width_, *const C = B + n;
  T *const dB = dxBC + width_, *const dC = dB + n, *const dS = dS_.memptr();
  dS_.zeros();
  for (arma::uword head = 0; head < heads; ++head) {
    compute_matrix(first, head);
    const arma::uword at = head * p;
    const T *const x = xBC + at, *const g = dy + at;
    product(CblasTrans, CblasNoTrans, length, length, p, T(1), x, rows_, g, width_, dM_.memptr(),
            length, T(0), Triangle::upper_result);
    product(CblasNoTrans, CblasTrans, p, length, length, T(1), g, width_, M_.memptr(), length,
            dxBC + at, rows_, T(0), Triangle::lower_right);
    matrix_backward(first, head);
    steps_backward(first, head, ddt_raw + head, dt_rows);
  }
  product(CblasNoTrans, CblasTrans, n, length, length, T(1), C, rows_, dS, length, dB, rows_, T(0),
          Triangle::lower_right);
  product(CblasNoTrans, CblasNoTrans, n, length, length, T(1), B, rows_, dS, length, dC, rows_,
          T(0), Triangle::upper_right);
}

// From dM of a head: adds the gradient in S to dS and that in D to D.G, and computes the sums of
// L_ij S_ij dM_ij that steps_backward() needs.
template <class T>
void Ssd<T>::matrix_backward(arma::uword first, arma::uword head) {
  const T* const dt = dt_.colptr(head) + first;
  T* const from = from_.memptr();
  T in_D = 0;
  from_.zeros();
  for (arma::uword i = 0; i < shape_.length; ++i) {
    const T *const L = L_.colptr(i), *const S = S_.colptr(first + i), *const dM = dM_.colptr(i);
    T* const dS = dS_.colptr(i);
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (arma::uword j = 0; j <= i; ++j) {
      const T in_S = L[j] * dM[j], in_dt = in_S * S[j];
      dS[j] += in_S * dt[j];
      from[j] += in_dt;
      sum += in_dt * dt[j];
    }
    to_[i] = sum;
    in_D += dM[i];
  }
  D.G[head] += in_D;
}

// The gradient in the exponent dt_t A is the sum of L_ij S_ij dt_j dM_ij over j < t <= i, which
// equals the sum of to_i - dt_i from_i over i >= t.
template <class T>
void Ssd<T>::steps_backward(arma::uword first, arma::uword head, T* ddt_raw, arma::uword dt_rows) {
  const T *const dt = dt_.colptr(head) + first, *const slope = dt_slope_.colptr(head) + first;
  const T A = -std::exp(A_log.W[head]);
  T in_exponent = 0, in_A = 0, in_bias = 0;
  for (arma::uword t = shape_.length; t-- > 0;) {
    in_exponent += to_[t] - dt[t] * from_[t];
    in_A += dt[t] * in_exponent;
    const T in_raw = (from_[t] + A * in_exponent) * slope[t];
    ddt_raw[t * dt_rows] = in_raw;
    in_bias += in_raw;
  }
  A_log.G[head] += A * in_A;
  dt_bias.G[head] += in_bias;
}

template class Ssd<float>;
template class Ssd<double>;

}  // namespace ranklab
