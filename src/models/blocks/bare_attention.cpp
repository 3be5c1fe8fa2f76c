// Attention and linear attention as bare blocks. With one token per column, M Y C_V is (W_V' Y) M'.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "models/blocks/attention.hpp"
#include "models/blocks/bare_block.hpp"
#include "models/blocks/model_row.hpp"

namespace ranklab {
namespace {

// Q of G = Q R with a positive diagonal of R: for a Gaussian G uniform on the orthogonal matrices.
template <class T>
arma::Mat<T> orthogonal_factor(const arma::Mat<T>& G) {
  arma::Mat<T> Q, R;
  if (!arma::qr(Q, R, G)) throw Failure("QR decomposition of W_V (" + std::to_string(G.n_rows) + " rows) failed");
  for (arma::uword j = 0; j < Q.n_cols; ++j) {
    if (R(j, j) < 0) Q.col(j) *= T{-1};
  }
  return Q;
}

template <class T>
arma::Mat<T> draw_values(const ModelSpec& spec, Tensors<T>& tensors) {
  if (spec.value_weights == "identity") return arma::Mat<T>(spec.dim, spec.dim, arma::fill::eye);
  arma::Mat<T> W = tensors.matrix("W_V", spec.dim, spec.dim, Start::normal(1 / std::sqrt(static_cast<double>(spec.dim))));
  return spec.value_weights == "orthogonal" ? orthogonal_factor(W) : W;
}

template <class T>
struct AttentionWeights {
  arma::Mat<T> W_Q, W_K, W_V;  // (d, d)

  AttentionWeights(const ModelSpec& spec, Tensors<T>& tensors) {
    const Start start = Start::normal(1 / std::sqrt(static_cast<double>(spec.dim)));
    W_Q = tensors.matrix("W_Q", spec.dim, spec.dim, start);
    W_K = tensors.matrix("W_K", spec.dim, spec.dim, start);
    W_V = draw_values(spec, tensors);
  }
};

template <class T>
class BareAttention final : public BareBlock<T> {
 public:
  BareAttention(const ModelSpec& spec, Tensors<T>& tensors) : BareBlock<T>(spec), weights_(spec, tensors), causal_(spec.causal) {}

  arma::Mat<T> mixing_matrix(const State<T>& state) const override { return transposed_matrix(state).t(); }
  arma::Mat<T> value_matrix() const override { return weights_.W_V; }

 protected:
  Mixed<T> mix(const State<T>& state) const override { return {(weights_.W_V.t() * state.Y) * transposed_matrix(state)}; }

 private:
  // The logits of 2^s Y are 4^s times those of Y, which the scale takes in.
  arma::Mat<T> transposed_matrix(const State<T>& state) const {
    const arma::Mat<T> Q = weights_.W_Q.t() * state.Y, K = weights_.W_K.t() * state.Y;
    const double scale = std::exp2(2 * state.log2_scale) / std::sqrt(static_cast<double>(Q.n_rows));
    return attention_matrix(Q, K, scale, causal_);
  }

  AttentionWeights<T> weights_;
  bool causal_;
};

template <class T>
class BareLinearAttention final : public BareBlock<T> {
 public:
  BareLinearAttention(const ModelSpec& spec, Tensors<T>& tensors)
      : BareBlock<T>(spec), weights_(spec, tensors), causal_(spec.causal) {}

  arma::Mat<T> mixing_matrix(const State<T>& state) const override {
    arma::Mat<T> M = features(weights_.W_Q, state).t() * features(weights_.W_K, state);
    if (causal_) M = arma::trimatl(M);
    const arma::Col<T> sums = arma::sum(M, 1) + static_cast<T>(1e-12);
    M.each_col() /= sums;
    return M;
  }
  arma::Mat<T> value_matrix() const override { return weights_.W_V; }

 protected:
  Mixed<T> mix(const State<T>& state) const override {
    const arma::Mat<T> V = weights_.W_V.t() * state.Y;
    return {linear_attention(features(weights_.W_Q, state), features(weights_.W_K, state), V, causal_)};
  }

 private:
  // phi(2^s W'Y) (d, N). For large s it is 2^s max(W'Y, 0), and its factor 2^s cancels in M: where products of two such
  // features would overflow, a smaller s gives the same M.
  arma::Mat<T> features(const arma::Mat<T>& W, const State<T>& state) const {
    constexpr double largest = 0.5 * std::numeric_limits<T>::max_exponent - 24;
    arma::Mat<T> X = static_cast<T>(std::exp2(std::min(state.log2_scale, largest))) * (W.t() * state.Y);
    elu_plus_one(X);
    return X;
  }

  AttentionWeights<T> weights_;
  bool causal_;
};

}  // namespace

ModelRow attention_row() {
  return {.name = "attention",
          .norm = "rows",
          .switches = {"value-weights", "causal"},
          .bare = true,
          .attends = true,
          .makers = makers_of<BareAttention>(),
          .parameters = [](const BlockSizes& s) { return 3 * s.d * s.d; },
          .flops = attention_flops,
          .lambda_varies = true};
}

ModelRow linear_attention_row() {
  return {.name = "linear-attention",
          .norm = "rows",
          .switches = {"value-weights", "causal"},
          .bare = true,
          .makers = makers_of<BareLinearAttention>(),
          .parameters = [](const BlockSizes& s) { return 3 * s.d * s.d; },
          .flops = [](const BlockSizes& s, double maps) { return maps + 4 * s.N * s.d * s.d; },
          .lambda_varies = true};
}

}  // namespace ranklab
