// Building blocks of BERT, ALBERT and GPT-2. Tensors are named `<name>.weight` and `<name>.bias`;
// one token per column.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ensembles/activations.hpp"
#include "nn/blocks/attention.hpp"
#include "nn/blocks/block.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab {

/// Standard deviation of most weights in published initializations.
inline constexpr double default_weight_std = 0.02;

/// W'X + b. Initial values: W N(0, std^2), b 0.
template <class T>
struct LinearMap {
  LinearMap(Tensors<T>& tensors, const std::string& name, arma::uword inputs, arma::uword outputs,
            double std = default_weight_std)
      : W(tensors.matrix(name + ".weight", inputs, outputs, EntryLaw::normal(std))),
        b(tensors.vector(name + ".bias", outputs, EntryLaw::constant(0))) {}

  arma::Mat<T> operator()(const arma::Mat<T>& X) const {
    arma::Mat<T> Y = W.t() * X;
    Y.each_col() += b;
    return Y;
  }

  arma::Mat<T> W;  // (in, out)
  arma::Col<T> b;
};

/// Layer norm with gain (initially 1) and bias (initially 0).
template <class T>
struct LayerNorm {
  LayerNorm(Tensors<T>& tensors, const std::string& name, arma::uword size)
      : gain(tensors.vector(name + ".weight", size, EntryLaw::constant(1))),
        bias(tensors.vector(name + ".bias", size, EntryLaw::constant(0))) {}

  void operator()(arma::Mat<T>& Y, double epsilon) const { layer_norm(Y, epsilon, &gain, &bias); }

  arma::Col<T> gain, bias;
};

/// P_k' (N, N) of each head, P_k = softmax over rows of Q_k K_k' / sqrt(d / h); with `causal`, only
/// over a token and earlier ones.
template <class T>
std::vector<arma::Mat<T>> scaled_attention_matrices(const arma::Mat<T>& Q, const arma::Mat<T>& K,
                                                    std::uint64_t heads, bool causal) {
  return head_attention_matrices(
      Q, K, heads, std::sqrt(static_cast<double>(heads) / static_cast<double>(Q.n_rows)), causal);
}

/// W_2' sigma(W_1'X + b_1) + b_2, with sigma from find_feed_forward_activation.
template <class T>
struct FeedForward {
  FeedForward(const std::string& activation, LinearMap<T> to_hidden, LinearMap<T> from_hidden)
      : sigma(find_feed_forward_activation(activation)),
        first(std::move(to_hidden)),
        second(std::move(from_hidden)) {}

  arma::Mat<T> operator()(const arma::Mat<T>& X) const {
    arma::Mat<T> Z = first(X);  // (q, N)
    for (T& z : Z) z = static_cast<T>(sigma(static_cast<double>(z)));
    return second(Z);
  }

  double (*sigma)(double);
  LinearMap<T> first, second;
};

/// Number of parameters of a block: attention with biases and an output map, a feed-forward net
/// with biases, and two norms.
double sublayer_parameters(const BlockSizes& s);

/// Width of the token table: d, or the width before the map to d.
std::uint64_t embedding_width(const ModelSpec& spec);

/// 0 ... tokens - 1.
std::vector<std::uint32_t> position_ids(std::uint64_t tokens);

/// Rows of the position table for a sequence of `tokens`: spec.positions, or more if needed and
/// drawn. Throws Failure if published weights have fewer.
std::uint64_t position_table_rows(const ModelSpec& spec, std::uint64_t tokens);

}  // namespace ranklab
