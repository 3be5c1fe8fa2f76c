#include "models/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/state_space.hpp"

namespace ranklab {
namespace {

// exp(scale (logit - largest logit)) / sum: the largest exponent is 0, so that nothing overflows and the sum is at least 1.
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

}  // namespace

template <class T>
arma::Mat<T> attention_matrix(const arma::Mat<T>& Q, const arma::Mat<T>& K, double scale, bool causal) {
  // An infinite scale would turn the largest logit's exponent into 0 times infinity.
  const T finite_scale = static_cast<T>(std::min(scale, static_cast<double>(std::numeric_limits<T>::max())));
  arma::Mat<T> P = K.t() * Q;
  for (arma::uword i = 0; i < P.n_cols; ++i) {
    const arma::uword seen = causal ? i + 1 : P.n_rows;
    softmax(P.colptr(i), seen, finite_scale);
    std::fill(P.colptr(i) + seen, P.colptr(i) + P.n_rows, T{0});
  }
  return P;
}

template <class T>
void elu_plus_one(arma::Mat<T>& X) {
  for (T& x : X) x = x > 0 ? x + 1 : std::exp(x);
}

// A row of ones under V makes the denominators with the numerators. Without a decay between tokens, the state of scalar
// state-space duality is the running sum of k_j v_j'.
template <class T>
arma::Mat<T> linear_attention(const arma::Mat<T>& Q, const arma::Mat<T>& K, const arma::Mat<T>& V, bool causal) {
  const arma::Mat<T> V1 = arma::join_cols(V, arma::Mat<T>(1, V.n_cols, arma::fill::ones));
  arma::Mat<T> Y = causal ? ssd(arma::Row<T>(V.n_cols, arma::fill::zeros), K, Q, V1) : arma::Mat<T>((V1 * K.t()) * Q);
  const arma::Row<T> denominators = Y.row(V.n_rows) + static_cast<T>(1e-12);
  Y.shed_row(V.n_rows);
  Y.each_row() /= denominators;
  return Y;
}

template arma::Mat<float> attention_matrix(const arma::Mat<float>&, const arma::Mat<float>&, double, bool);
template arma::Mat<double> attention_matrix(const arma::Mat<double>&, const arma::Mat<double>&, double, bool);
template void elu_plus_one(arma::Mat<float>&);
template void elu_plus_one(arma::Mat<double>&);
template arma::Mat<float> linear_attention(const arma::Mat<float>&, const arma::Mat<float>&, const arma::Mat<float>&, bool);
template arma::Mat<double> linear_attention(const arma::Mat<double>&, const arma::Mat<double>&, const arma::Mat<double>&, bool);

}  // namespace ranklab
