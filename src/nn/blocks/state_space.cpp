#include "nn/blocks/state_space.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "linalg/exponential.hpp"

namespace ranklab {
namespace {

// Tokens per chunk. The work per token grows with chunk (n + p); in smaller chunks the products are
// too thin for BLAS.
constexpr arma::uword chunk_tokens = 64;

// L (N, N) from decay factors e (N): L_ij = e_{j+1} ... e_i for i >= j, else 0. Multiplied one
// factor at a time, so that a factor that underflows to 0 only ends the memory.
template <class T>
arma::Mat<T> decay_matrix(const arma::Row<T>& e) {
  arma::Mat<T> L(e.n_elem, e.n_elem, arma::fill::zeros);
  for (arma::uword j = 0; j < e.n_elem; ++j) {
    L(j, j) = T{1};
    for (arma::uword i = j + 1; i < e.n_elem; ++i) L(i, j) = L(i - 1, j) * e(i);
  }
  return L;
}

}  // namespace

template <class T>
SharedMaps<T>::SharedMaps(arma::Mat<T> B_, arma::Mat<T> C_) : B(std::move(B_)), C(std::move(C_)) {
  for (arma::uword first = 0; first < B.n_cols; first += chunk_tokens) {
    const arma::uword last = std::min(first + chunk_tokens, B.n_cols) - 1;
    products.push_back(C.cols(first, last).t() * B.cols(first, last));
  }
}

template <class T>
arma::Mat<T> ssd(const arma::Row<T>& a, const SharedMaps<T>& maps, const arma::Mat<T>& X) {
  arma::Mat<T> Y(X.n_rows, X.n_cols);
  arma::Mat<T> h;  // (n, p): the state after the tokens so far
  for (arma::uword first = 0; first < X.n_cols; first += chunk_tokens) {
    const arma::uword last = std::min(first + chunk_tokens, X.n_cols) - 1;
    const arma::Row<T> e = arma::exp(a.cols(first, last));
    const arma::Mat<T> L = decay_matrix(e);
    // Token i sees the state before the chunk times e_first L_i,first; token j contributes to the
    // state at the end of the chunk times L_last,j.
    const arma::Row<T> left = e(0) * L.col(0).t();
    const arma::Mat<T> M = maps.products[first / chunk_tokens] % L;
    Y.cols(first, last) = X.cols(first, last) * M.t();
    if (first > 0) {
      arma::Mat<T> C_left = maps.C.cols(first, last);
      C_left.each_row() %= left;
      Y.cols(first, last) += h.t() * C_left;
    }
    if (last + 1 < X.n_cols) {
      arma::Mat<T> B_left = maps.B.cols(first, last);
      B_left.each_row() %= L.row(L.n_rows - 1);
      const arma::Mat<T> added = B_left * X.cols(first, last).t();
      h = first > 0 ? arma::Mat<T>(left(left.n_elem - 1) * h + added) : added;
    }
  }
  return Y;
}

template <class T>
arma::Mat<T> ssd_matrix(const arma::Row<T>& a, const arma::Mat<T>& B, const arma::Mat<T>& C) {
  arma::Mat<T> M = C.t() * B;
  for (arma::uword j = 0; j < M.n_cols; ++j) {
    T sum = 0;
    for (arma::uword i = 0; i < j; ++i) M(i, j) = T{0};
    for (arma::uword i = j + 1; i < M.n_rows; ++i) M(i, j) *= std::exp(sum += a(i));
  }
  return M;
}

template <class T>
void apply_silu(arma::Mat<T>& Z) {
  for_packs<T>(Z.n_elem, [&](std::size_t i, auto count) {
    store(silu(load(Z.memptr() + i, count)).value, Z.memptr() + i, count);
  });
}

template <class T>
arma::Mat<T> causal_convolution(const arma::Mat<T>& X, const arma::Mat<T>& w,
                                const arma::Col<T>& bias) {
  arma::Mat<T> Y(X.n_rows, X.n_cols);
  Y.each_col() = bias;
  for (arma::uword t = 0; t < X.n_cols; ++t) {
    for (arma::uword back = 0; back < w.n_cols && back <= t; ++back)
      Y.col(t) += w.col(w.n_cols - 1 - back) % X.col(t - back);
  }
  return Y;
}

EntryLaw law_of_dt_bias() {
  return EntryLaw::uniform(std::log(1e-3), std::log(1e-1)).mapped([](double log_dt) {
    const double dt = std::max(std::exp(log_dt), 1e-4);
    return dt + std::log(-std::expm1(-dt));
  });
}

EntryLaw law_of_A_log() {
  return EntryLaw::uniform(1, 16).mapped([](double a) { return std::log(a); });
}

template struct SharedMaps<float>;
template struct SharedMaps<double>;
template arma::Mat<float> ssd(const arma::Row<float>&, const SharedMaps<float>&,
                              const arma::Mat<float>&);
template arma::Mat<double> ssd(const arma::Row<double>&, const SharedMaps<double>&,
                               const arma::Mat<double>&);
template void apply_silu(arma::Mat<float>&);
template void apply_silu(arma::Mat<double>&);
template arma::Mat<float> ssd_matrix(const arma::Row<float>&, const arma::Mat<float>&,
                                     const arma::Mat<float>&);
template arma::Mat<double> ssd_matrix(const arma::Row<double>&, const arma::Mat<double>&,
                                      const arma::Mat<double>&);
template arma::Mat<float> causal_convolution(const arma::Mat<float>&, const arma::Mat<float>&,
                                             const arma::Col<float>&);
template arma::Mat<double> causal_convolution(const arma::Mat<double>&, const arma::Mat<double>&,
                                              const arma::Col<double>&);

}  // namespace ranklab
