#include "nn/blocks/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ranklab {
namespace {

// exp(scale (logit - largest logit)) / sum: the largest exponent is 0, so nothing overflows and the
// sum is at least 1.
template <class T>
void softmax(T* logits, arma::uword size, T scale) {
  const T largest = *std::max_element(logits, logits + size);
  T sum = 0;
  for (arma::uword j = 0; j < size; ++j) {
    logits[j] = std::exp(scale * (logits[j] - largest));
    sum += logits[j];
  }
  for (arma::uword j = 0; j < size; ++j) logits[j] /= sum;
}

arma::span rows_of_head(arma::uword head, arma::uword width) {
  return arma::span(head * width, (head + 1) * width - 1);
}

}  // namespace

template <class T>
arma::Mat<T> attention_matrix(const arma::Mat<T>& Q, const arma::Mat<T>& K, double scale,
                              bool causal) {
  // An infinite scale would turn the largest logit's exponent into 0 times infinity.
  const T finite_scale =
      static_cast<T>(std::min(scale, static_cast<double>(std::numeric_limits<T>::max())));
  arma::Mat<T> P = K.t() * Q;
  for (arma::uword i = 0; i < P.n_cols; ++i) {
    const arma::uword seen = causal ? i + 1 : P.n_rows;
    softmax(P.colptr(i), seen, finite_scale);
    std::fill(P.colptr(i) + seen, P.colptr(i) + P.n_rows, T{0});
  }
  return P;
}

template <class T>
std::vector<arma::Mat<T>> head_attention_matrices(const arma::Mat<T>& Q, const arma::Mat<T>& K,
                                                  std::uint64_t heads, double scale, bool causal) {
  std::vector<arma::Mat<T>> P;
  for (arma::uword k = 0; k < heads; ++k) {
    const arma::span rows = rows_of_head(k, Q.n_rows / heads);
    P.push_back(
        attention_matrix<T>(Q(rows, arma::span::all), K(rows, arma::span::all), scale, causal));
  }
  return P;
}

template <class T>
arma::Mat<T> mixed_heads(const arma::Mat<T>& V, const std::vector<arma::Mat<T>>& P) {
  arma::Mat<T> Y(V.n_rows, V.n_cols, arma::fill::none);
  for (arma::uword k = 0; k < P.size(); ++k) {
    const arma::span rows = rows_of_head(k, V.n_rows / P.size());
    Y(rows, arma::span::all) = V(rows, arma::span::all) * P[k];
  }
  return Y;
}

template <class T>
void elu_plus_one(arma::Mat<T>& X) {
  for (T& x : X) x = x > 0 ? x + 1 : std::exp(x);
}

// A row of ones below V yields the denominators together with the numerators.
template <class T>
arma::Mat<T> linear_attention(const arma::Mat<T>& Q, const arma::Mat<T>& K, const arma::Mat<T>& V) {
  const arma::Mat<T> V1 = arma::join_cols(V, arma::Mat<T>(1, V.n_cols, arma::fill::ones));
  arma::Mat<T> Y = (V1 * K.t()) * Q;
  const arma::Row<T> denominators = Y.row(V.n_rows) + static_cast<T>(1e-12);
  Y.shed_row(V.n_rows);
  Y.each_row() /= denominators;
  return Y;
}

template arma::Mat<float> attention_matrix(const arma::Mat<float>&, const arma::Mat<float>&, double,
                                           bool);
template arma::Mat<double> attention_matrix(const arma::Mat<double>&, const arma::Mat<double>&,
                                            double, bool);
template std::vector<arma::Mat<float>> head_attention_matrices(const arma::Mat<float>&,
                                                               const arma::Mat<float>&,
                                                               std::uint64_t, double, bool);
template std::vector<arma::Mat<double>> head_attention_matrices(const arma::Mat<double>&,
                                                                const arma::Mat<double>&,
                                                                std::uint64_t, double, bool);
template arma::Mat<float> mixed_heads(const arma::Mat<float>&,
                                      const std::vector<arma::Mat<float>>&);
template arma::Mat<double> mixed_heads(const arma::Mat<double>&,
                                       const std::vector<arma::Mat<double>>&);
template void elu_plus_one(arma::Mat<float>&);
template void elu_plus_one(arma::Mat<double>&);
template arma::Mat<float> linear_attention(const arma::Mat<float>&, const arma::Mat<float>&,
                                           const arma::Mat<float>&);
template arma::Mat<double> linear_attention(const arma::Mat<double>&, const arma::Mat<double>&,
                                            const arma::Mat<double>&);

}  // namespace ranklab
