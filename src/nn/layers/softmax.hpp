// The softmax of attention, forward and backward. For the .cpp files of attention.
//
// Legend: T tokens of a sequence. Column i of a matrix (T, T) holds the weights of token i for all
// tokens, or with `causal` for the first i + 1.
#pragma once

#include <armadillo>

#include "linalg/exponential.hpp"

namespace ranklab {

/// Logits S (T, T), in place: exp(s - largest) / sum in each column; 0 for tokens that are not
/// attended to.
template <class T>
void softmax(T* S, arma::uword length, bool causal) {
  const auto seen_by = [&](arma::uword i) { return causal ? i + 1 : length; };
  for (arma::uword i = 0; i < length; ++i) {
    T* const s = S + i * length;
    const arma::uword seen = seen_by(i);
    T largest = s[0];
#pragma omp simd reduction(max : largest)
    for (arma::uword j = 0; j < seen; ++j) largest = s[j] > largest ? s[j] : largest;
    for (arma::uword j = 0; j < seen; ++j) s[j] -= largest;
    for (arma::uword j = seen; j < length; ++j) s[j] = 0;
  }
  // Column by column, up to the last seen token, if columns are whole packs; otherwise all at once,
  // because vector instructions need long loops.
  constexpr arma::uword w = pack_size<T>;
  const bool by_column = length % w == 0;
  const arma::uword all = length * length, step = by_column ? length : all;
  for (arma::uword first = 0; first < all; first += step) {
    for_packs<T>(by_column ? (seen_by(first / length) + w - 1) / w * w : all,
                 [&](std::size_t n, auto count) {
                   T* const s = S + first + n;
                   store(exponential(load(s, count)), s, count);
                 });
  }
  for (arma::uword i = 0; i < length; ++i) {
    T* const s = S + i * length;
    const arma::uword seen = seen_by(i);
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (arma::uword j = 0; j < seen; ++j) sum += s[j];
    const T inverse = 1 / sum;
    for (arma::uword j = 0; j < seen; ++j) s[j] *= inverse;
    for (arma::uword j = seen; j < length; ++j) s[j] = 0;
  }
}

/// dP (T, T), in place: dS = P o (dP - sum(P o dP)) in each column; 0 for tokens that are not
/// attended to.
template <class T>
void softmax_backward(const T* P, T* dP, arma::uword length, bool causal) {
  for (arma::uword i = 0; i < length; ++i) {
    const T* const p = P + i * length;
    T* const g = dP + i * length;
    const arma::uword seen = causal ? i + 1 : length;
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (arma::uword j = 0; j < seen; ++j) sum += p[j] * g[j];
    for (arma::uword j = 0; j < seen; ++j) g[j] = p[j] * (g[j] - sum);
    for (arma::uword j = seen; j < length; ++j) g[j] = 0;
  }
}

}  // namespace ranklab
