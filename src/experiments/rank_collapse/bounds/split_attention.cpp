#include "experiments/rank_collapse/bounds/split_attention.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include "nn/blocks/norms.hpp"

namespace ranklab::bounds {
namespace {

arma::mat centered(arma::mat R) {
  const arma::vec mean = arma::mean(R, 1);
  R.each_col() -= mean;
  return R;
}

void rescale(SplitState& state) {
  State<double> scaled{std::move(state.rest), state.log2_scale, 0};
  scaled.rescale();
  state.rest = std::move(scaled.Y);
  state.log2_scale = scaled.log2_scale;
}

arma::vec softmax(const arma::vec& logits) {
  const arma::vec weights = arma::exp(logits - logits.max());
  return weights / arma::accu(weights);
}

// The transpose of the matrix with entries E_ij, stored as 2^exponent E.
struct Deviation {
  arma::mat E;  // (N, N), column i for output token i
  double exponent = 0.0;
};

// Column i of H (N, N) holds h_ij / 2^exponent.
Deviation deviation(const arma::mat& H, double exponent, const arma::vec& p,
                    const arma::vec& logits) {
  const double largest = arma::abs(H).max() * std::exp2(exponent);
  Deviation out{H, exponent};
  if (!(largest <= 1)) {
    // The rows of P differ so much that P - p does not cancel.
    const double scale = std::exp2(exponent);
    out.exponent = 0;
    for (arma::uword i = 0; i < H.n_cols; ++i)
      out.E.col(i) = softmax(logits + scale * H.col(i)) - p;
    return out;
  }
  if (largest < std::numeric_limits<double>::epsilon()) {
    // To the last bit, expm1(h) = h and the denominator is 1. h may underflow, so the exponent
    // stays separate.
    for (arma::uword i = 0; i < H.n_cols; ++i)
      out.E.col(i) = p % (H.col(i) - arma::dot(p, H.col(i)));
    return out;
  }
  out.exponent = 0;
  const double scale = std::exp2(exponent);
  for (arma::uword i = 0; i < H.n_cols; ++i) {
    arma::vec x = scale * H.col(i);
    x.transform([](double h) { return std::expm1(h); });
    const double mean = arma::dot(p, x);
    out.E.col(i) = p % (x - mean) / (1 + mean);
  }
  return out;
}

}  // namespace

SplitState::SplitState(const arma::mat& Y) : shared(arma::mean(Y, 1)), rest(centered(Y)) {
  rescale(*this);
}

double SplitState::log_mu() const {
  return std::log(arma::norm(rest, "fro")) + log2_scale * std::numbers::ln2;
}

arma::mat SplitState::tokens() const {
  arma::mat Y = std::exp2(log2_scale) * rest;
  Y.each_col() += shared;
  return Y;
}

void split_attention(SplitState& state, const arma::mat& W_Q, const arma::mat& W_K,
                     const arma::mat& W_V) {
  const double scale = 1 / std::sqrt(static_cast<double>(W_Q.n_rows));
  const double size = std::exp2(state.log2_scale);
  const arma::mat K = W_K.t() * state.rest;
  const arma::vec logits = scale * size * (K.t() * (W_Q.t() * state.shared)), p = softmax(logits);
  const arma::mat H = scale * (K.t() * (W_Q.t() * state.rest));
  const Deviation E = deviation(H, 2 * state.log2_scale, p, logits);

  const arma::mat moved = state.rest * E.E;
  const double moved_size = std::exp2(state.log2_scale + E.exponent);
  state.shared =
      W_V.t() * (state.shared + size * (state.rest * p) + moved_size * arma::mean(moved, 1));
  state.rest = W_V.t() * centered(moved);
  state.log2_scale += E.exponent;
  rescale(state);
}

void normalize_split_rows(SplitState& state) {
  const double size = std::exp2(state.log2_scale), g2 = arma::dot(state.shared, state.shared);
  const arma::rowvec along = state.shared.t() * state.rest,
                     squares = arma::sum(arma::square(state.rest), 0);
  const arma::rowvec z = size * (2 * along + size * squares) / g2;
  // e / 2^s to first order, which is exact to the last bit for small z.
  arma::rowvec e = -along / g2;
  if (arma::abs(z).max() > std::numeric_limits<double>::epsilon()) {
    for (arma::uword i = 0; i < e.n_elem; ++i) e(i) = std::expm1(-std::log1p(z(i)) / 2) / size;
  }
  arma::mat tokens = size * state.rest;
  tokens.each_col() += state.shared;
  tokens.each_row() %= e;
  const arma::mat moved = (state.rest + tokens) / std::sqrt(g2);
  state.shared = state.shared / std::sqrt(g2) + size * arma::mean(moved, 1);
  state.rest = centered(moved);
  rescale(state);
}

}  // namespace ranklab::bounds
