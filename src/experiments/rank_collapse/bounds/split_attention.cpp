#include "experiments/rank_collapse/bounds/split_attention.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include "nn/blocks/norms.hpp"

namespace ranklab::bounds {
namespace {

template <class T>
arma::Mat<T> centered(arma::Mat<T> R) {
  const arma::Col<T> mean = arma::mean(R, 1);
  R.each_col() -= mean;
  return R;
}

template <class T>
void rescale(SplitState<T>& state) {
  State<T> scaled{std::move(state.rest), state.log2_scale, 0};
  scaled.rescale();
  state.rest = std::move(scaled.Y);
  state.log2_scale = scaled.log2_scale;
}

template <class T>
arma::Col<T> softmax(const arma::Col<T>& logits) {
  const arma::Col<T> weights = arma::exp(logits - logits.max());
  return weights / arma::accu(weights);
}

// The transpose of the matrix with entries E_ij, stored as 2^exponent E.
template <class T>
struct Deviation {
  arma::Mat<T> E;  // (N, N), column i for output token i
  double exponent = 0.0;
};

// Column i of H (N, N) holds h_ij / 2^exponent.
template <class T>
Deviation<T> deviation(const arma::Mat<T>& H, double exponent, const arma::Col<T>& p,
                       const arma::Col<T>& logits) {
  const double largest = static_cast<double>(arma::abs(H).max()) * std::exp2(exponent);
  Deviation<T> out{H, exponent};
  if (!(largest <= 1)) {
    // The rows of P differ so much that P - p does not cancel.
    const T scale = static_cast<T>(std::exp2(exponent));
    out.exponent = 0;
    for (arma::uword i = 0; i < H.n_cols; ++i)
      out.E.col(i) = softmax<T>(logits + scale * H.col(i)) - p;
    return out;
  }
  if (largest < static_cast<double>(std::numeric_limits<T>::epsilon())) {
    // To the last bit, expm1(h) = h and the denominator is 1. h may underflow, so the exponent
    // stays separate.
    for (arma::uword i = 0; i < H.n_cols; ++i)
      out.E.col(i) = p % (H.col(i) - arma::dot(p, H.col(i)));
    return out;
  }
  out.exponent = 0;
  const T scale = static_cast<T>(std::exp2(exponent));
  for (arma::uword i = 0; i < H.n_cols; ++i) {
    arma::Col<T> x = scale * H.col(i);
    x.transform([](T h) { return std::expm1(h); });
    const T mean = arma::dot(p, x);
    out.E.col(i) = p % (x - mean) / (1 + mean);
  }
  return out;
}

}  // namespace

template <class T>
SplitState<T>::SplitState(const arma::Mat<T>& Y) : shared(arma::mean(Y, 1)), rest(centered(Y)) {
  rescale(*this);
}

template <class T>
double SplitState<T>::log_mu() const {
  return std::log(arma::norm(arma::conv_to<arma::mat>::from(rest), "fro")) +
         log2_scale * std::numbers::ln2;
}

template <class T>
arma::Mat<T> SplitState<T>::tokens() const {
  arma::Mat<T> Y = static_cast<T>(std::exp2(log2_scale)) * rest;
  Y.each_col() += shared;
  return Y;
}

template <class T>
void split_attention(SplitState<T>& state, const arma::Mat<T>& W_Q, const arma::Mat<T>& W_K,
                     const arma::Mat<T>& W_V) {
  const T scale = static_cast<T>(1 / std::sqrt(static_cast<double>(W_Q.n_rows)));
  const T size = static_cast<T>(std::exp2(state.log2_scale));
  const arma::Mat<T> K = W_K.t() * state.rest;
  const arma::Col<T> logits = scale * size * (K.t() * (W_Q.t() * state.shared)),
                     p = softmax(logits);
  const arma::Mat<T> H = scale * (K.t() * (W_Q.t() * state.rest));
  const Deviation<T> E = deviation(H, 2 * state.log2_scale, p, logits);

  const arma::Mat<T> moved = state.rest * E.E;
  const T moved_size = static_cast<T>(std::exp2(state.log2_scale + E.exponent));
  state.shared =
      W_V.t() * (state.shared + size * (state.rest * p) + moved_size * arma::mean(moved, 1));
  state.rest = W_V.t() * centered(moved);
  state.log2_scale += E.exponent;
  rescale(state);
}

template <class T>
void normalize_split_rows(SplitState<T>& state) {
  const T size = static_cast<T>(std::exp2(state.log2_scale)),
          g2 = arma::dot(state.shared, state.shared);
  const arma::Row<T> along = state.shared.t() * state.rest,
                     squares = arma::sum(arma::square(state.rest), 0);
  const arma::Row<T> z = size * (2 * along + size * squares) / g2;
  // e / 2^s to first order, which is exact to the last bit for small z.
  arma::Row<T> e = -along / g2;
  if (static_cast<double>(arma::abs(z).max()) >
      static_cast<double>(std::numeric_limits<T>::epsilon())) {
    for (arma::uword i = 0; i < e.n_elem; ++i) e(i) = std::expm1(-std::log1p(z(i)) / 2) / size;
  }
  arma::Mat<T> tokens = size * state.rest;
  tokens.each_col() += state.shared;
  tokens.each_row() %= e;
  const arma::Mat<T> moved = (state.rest + tokens) / std::sqrt(g2);
  state.shared = state.shared / std::sqrt(g2) + size * arma::mean(moved, 1);
  state.rest = centered(moved);
  rescale(state);
}

template struct SplitState<float>;
template struct SplitState<double>;
template void split_attention(SplitState<float>&, const arma::Mat<float>&, const arma::Mat<float>&,
                              const arma::Mat<float>&);
template void split_attention(SplitState<double>&, const arma::Mat<double>&,
                              const arma::Mat<double>&, const arma::Mat<double>&);
template void normalize_split_rows(SplitState<float>&);
template void normalize_split_rows(SplitState<double>&);

}  // namespace ranklab::bounds
