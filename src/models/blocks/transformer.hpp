// The Transformer blocks of [Shallow]: post-norm (Algorithm 1) and pre-norm (eq. (19)), with h heads.
//
//   post-norm   Y1 = lambda X + alpha [P_1 X W_1 ... P_h X W_h],  Y2 = LN(Y1),  Y3 = Y2 + relu(Y2 U) V,  Y4 = LN(Y3)
//   pre-norm    Y  = lambda X + alpha [P_1 X^ W_1 ... P_h X^ W_h], X^ = LN(X),  Z  = Y + relu(LN(Y) U) V
//   P_k = softmax over rows of (X W_q,k)(X W_k,k)' / sqrt(d), of X^ in pre-norm
//
// Tensors: `W_q`, `W_k`, `W` (d, d), head k owning columns k d/h ... (k+1) d/h - 1; `U` (d, q), `V` (q, d).
#pragma once

#include <array>
#include <vector>

#include "models/blocks/block.hpp"

namespace ranklab {

/// The weights of one block. W's entries are N(0, 1/d), or N(0, h/d); those of W_q and W_k uniform on (-1, 1)/sqrt(d); U and
/// V start as PyTorch's linear maps. Without an MLP, U and V are empty.
template <class T>
struct TransformerWeights {
  arma::Mat<T> W_q, W_k, W, U, V;
};

template <class T>
TransformerWeights<T> transformer_weights(const ModelSpec& spec, Tensors<T>& tensors);

/// The law of W's entries.
Start value_start(const ModelSpec& spec);

/// P_k' (N, N) of each head: column i holds token i's weights. X (d, N).
template <class T>
std::vector<arma::Mat<T>> attention_matrices(const TransformerWeights<T>& weights, const arma::Mat<T>& X, std::uint64_t heads);

/// Step 1 of Algorithm 1: lambda X + alpha [P_1 X W_1 ... P_h X W_h]; `P` as attention_matrices gives it.
template <class T>
arma::Mat<T> attention_step(const arma::Mat<T>& X, const std::vector<arma::Mat<T>>& P, const arma::Mat<T>& W, double alpha,
                            double lambda);

/// The outputs of steps 1 to 4 of the post-norm block. A step that the spec leaves out (norm none, mlp off) repeats the one
/// before it; without an MLP, its norm (step 4) goes too. The last is the block's output.
template <class T>
std::array<arma::Mat<T>, 4> post_norm_steps(const ModelSpec& spec, const TransformerWeights<T>& weights, const arma::Mat<T>& X,
                                            const std::vector<arma::Mat<T>>& P, double lambda);

/// The block of a settled spec, post-norm or pre-norm.
template <class T>
std::unique_ptr<Block<T>> make_transformer_block(const ModelSpec& spec, Tensors<T>& tensors);

}  // namespace ranklab
