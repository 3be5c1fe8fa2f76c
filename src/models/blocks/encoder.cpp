// Sources: Devlin et al., "BERT", 2019; Lan et al., "ALBERT", 2020; the `transformers` library for what they leave open
// (epsilon, starting values, which GELU).
//
// A block, with d_h = d / h and both norms with gain and bias:
//   P_k = softmax over rows of Q_k K_k' / sqrt(d_h),   Q, K, V = X W + b each
//   X1  = LN(lambda X + [P_1 V_1 ... P_h V_h] W_o + b_o)
//   X2  = LN(lambda_2 X1 + sigma(X1 W_1 + b_1) W_2 + b_2),  lambda_2 = lambda with --lambda-at both, else 1; sigma a GELU
//
// Tensors, each with .weight and .bias: `query`, `key`, `value`, `dense`, `attention_norm`, `ffn`, `ffn_output`,
// `output_norm`; those of the embedding: `word`, `type`, `position`, `embedding_norm`, `embedding_map`.
#include "models/blocks/encoder.hpp"

#include <optional>
#include <utility>

#include "models/blocks/positions.hpp"
#include "models/blocks/sublayers.hpp"

namespace ranklab {
namespace {

template <class T>
struct SelfAttention {
  SelfAttention(const ModelSpec& spec, Tensors<T>& tensors)
      : heads(spec.heads),
        query(tensors, "query", spec.dim, spec.dim),
        key(tensors, "key", spec.dim, spec.dim),
        value(tensors, "value", spec.dim, spec.dim),
        dense(tensors, "dense", spec.dim, spec.dim) {}

  std::vector<arma::Mat<T>> matrices(const arma::Mat<T>& X) const {
    return scaled_attention_matrices<T>(query(X), key(X), heads, false);
  }
  arma::Mat<T> mixed(const arma::Mat<T>& X, const std::vector<arma::Mat<T>>& P) const { return dense(mixed_heads(value(X), P)); }

  std::uint64_t heads;
  LinearMap<T> query, key, value, dense;
};

template <class T>
class PostNormEncoderBlock final : public EncoderBlock<T> {
 public:
  PostNormEncoderBlock(const ModelSpec& spec, Tensors<T>& tensors)
      : lambda_at_both_(spec.lambda_at == "both"), epsilon_(spec.norm_epsilon), attention_(spec, tensors) {
    const bool normed = spec.norm != "none";
    if (normed) attention_norm_.emplace(tensors, "attention_norm", spec.dim);
    if (!spec.has_mlp()) return;
    feed_forward_.emplace(spec.activation, LinearMap<T>(tensors, "ffn", spec.dim, spec.ffn),
                          LinearMap<T>(tensors, "ffn_output", spec.ffn, spec.dim));
    if (normed) output_norm_.emplace(tensors, "output_norm", spec.dim);
  }

  BlockSteps<T> steps(const arma::Mat<T>& X, double lambda) const override {
    BlockSteps<T> out{attention_.matrices(X), {}};
    auto& Y = out.Y;
    Y[0] = static_cast<T>(lambda) * X + attention_.mixed(X, out.P);
    Y[1] = normed(Y[0], attention_norm_);
    Y[2] = Y[1];
    if (feed_forward_) Y[2] = static_cast<T>(lambda_at_both_ ? lambda : 1.0) * Y[1] + (*feed_forward_)(Y[1]);
    Y[3] = normed(Y[2], output_norm_);
    return out;
  }

  void forward(State<T>& state, double lambda) const override {
    unscale(state);  // GELU is not homogeneous
    state.Y = std::move(steps(state.Y, lambda).Y[3]);
  }

 private:
  arma::Mat<T> normed(arma::Mat<T> Y, const std::optional<LayerNorm<T>>& norm) const {
    if (norm) (*norm)(Y, epsilon_);
    return Y;
  }

  bool lambda_at_both_;
  double epsilon_;
  SelfAttention<T> attention_;
  std::optional<FeedForward<T>> feed_forward_;
  std::optional<LayerNorm<T>> attention_norm_, output_norm_;
};

}  // namespace

template <class T>
std::unique_ptr<EncoderBlock<T>> make_encoder_block(const ModelSpec& spec, Tensors<T>& tensors) {
  return std::make_unique<PostNormEncoderBlock<T>>(spec, tensors);
}

// The norm of the embedding stays with --norm none: it belongs to no block, and the ablation starts from the same state.
template <class T>
arma::Mat<T> encoder_embedding(const ModelSpec& spec, Tensors<T>& tensors, const std::vector<std::uint32_t>& ids) {
  const Start start = Start::normal(usual_weight_std);
  const arma::uword width = spec.model == "albert" ? spec.embedding : spec.dim;
  arma::Mat<T> X = tensors.columns("word.weight", width, spec.vocabulary, ids, start) +
                   tensors.columns("position.weight", width, positions_of_table(spec, ids.size()), places(ids.size()), start);
  X.each_col() += arma::Col<T>(tensors.columns("type.weight", width, 2, {0}, start));
  LayerNorm<T>(tensors, "embedding_norm", width)(X, spec.norm_epsilon);
  return spec.model == "albert" ? LinearMap<T>(tensors, "embedding_map", width, spec.dim)(X) : X;
}

template std::unique_ptr<EncoderBlock<float>> make_encoder_block(const ModelSpec&, Tensors<float>&);
template std::unique_ptr<EncoderBlock<double>> make_encoder_block(const ModelSpec&, Tensors<double>&);
template arma::Mat<float> encoder_embedding(const ModelSpec&, Tensors<float>&, const std::vector<std::uint32_t>&);
template arma::Mat<double> encoder_embedding(const ModelSpec&, Tensors<double>&, const std::vector<std::uint32_t>&);

}  // namespace ranklab
