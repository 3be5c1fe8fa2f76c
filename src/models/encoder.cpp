// Sources: Devlin et al., "BERT", 2019; Lan et al., "ALBERT", 2020; the `transformers` library for what they leave open
// (epsilon, starting values, which GELU).
//
// A block, with d_h = d / h and both norms with gain and bias:
//   P_k = softmax over rows of Q_k K_k' / sqrt(d_h),   Q, K, V = X W + b each
//   X1  = LN(lambda X + [P_1 V_1 ... P_h V_h] W_o + b_o)
//   X2  = LN(lambda_2 X1 + gelu(X1 W_1 + b_1) W_2 + b_2),   lambda_2 = lambda with --lambda-at both, else 1
//
// Tensors, each with .weight and .bias: `query`, `key`, `value`, `dense`, `attention_norm`, `ffn`, `ffn_output`,
// `output_norm`; those of the embedding: `word`, `type`, `position`, `embedding_norm`, `embedding_map`.
#include "models/encoder.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>

#include "models/activations.hpp"
#include "models/attention.hpp"

namespace ranklab {
namespace {

constexpr double norm_epsilon = 1e-12;
constexpr double weight_std = 0.02;

// X W + b
template <class T>
struct LinearMap {
  LinearMap(Tensors<T>& tensors, const std::string& name, arma::uword inputs, arma::uword outputs)
      : W(tensors.matrix(name + ".weight", inputs, outputs, Start::normal(weight_std))),
        b(tensors.vector(name + ".bias", outputs, Start::constant(0))) {}

  arma::Mat<T> operator()(const arma::Mat<T>& X) const {
    arma::Mat<T> Y = W.t() * X;
    Y.each_col() += b;
    return Y;
  }

  arma::Mat<T> W;
  arma::Col<T> b;
};

template <class T>
struct LayerNorm {
  LayerNorm(Tensors<T>& tensors, const std::string& name, arma::uword size)
      : gain(tensors.vector(name + ".weight", size, Start::constant(1))),
        bias(tensors.vector(name + ".bias", size, Start::constant(0))) {}

  void operator()(arma::Mat<T>& Y) const { layer_norm(Y, norm_epsilon, &gain, &bias); }

  arma::Col<T> gain, bias;
};

template <class T>
struct SelfAttention {
  SelfAttention(const ModelSpec& spec, Tensors<T>& tensors)
      : heads(spec.heads),
        query(tensors, "query", spec.dim, spec.dim),
        key(tensors, "key", spec.dim, spec.dim),
        value(tensors, "value", spec.dim, spec.dim),
        dense(tensors, "dense", spec.dim, spec.dim) {}

  arma::Mat<T> operator()(const arma::Mat<T>& X) const {
    const double scale = std::sqrt(static_cast<double>(heads) / static_cast<double>(X.n_rows));
    return dense(mixed_heads(value(X), head_attention_matrices(query(X), key(X), heads, scale)));
  }

  std::uint64_t heads;
  LinearMap<T> query, key, value, dense;
};

// The form by the hyperbolic tangent, "gelu_new", with which ALBERT was trained.
double gelu_by_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::numbers::sqrt2 * std::numbers::inv_sqrtpi * (x + 0.044715 * x * x * x)));
}

template <class T>
struct FeedForward {
  FeedForward(const ModelSpec& spec, Tensors<T>& tensors)
      : gelu(spec.model == "albert" ? gelu_by_tanh : find_activation("gelu").value),
        first(tensors, "ffn", spec.dim, spec.ffn),
        second(tensors, "ffn_output", spec.ffn, spec.dim) {}

  arma::Mat<T> operator()(const arma::Mat<T>& X) const {
    arma::Mat<T> Z = first(X);  // (q, N)
    for (T& z : Z) z = static_cast<T>(gelu(static_cast<double>(z)));
    return second(Z);
  }

  double (*gelu)(double);
  LinearMap<T> first, second;
};

template <class T>
class EncoderBlock final : public Block<T> {
 public:
  EncoderBlock(const ModelSpec& spec, Tensors<T>& tensors) : lambda_at_both_(spec.lambda_at == "both"), attention_(spec, tensors) {
    const bool normed = spec.norm != "none";
    if (normed) attention_norm_.emplace(tensors, "attention_norm", spec.dim);
    if (!spec.has_mlp()) return;
    feed_forward_.emplace(spec, tensors);
    if (normed) output_norm_.emplace(tensors, "output_norm", spec.dim);
  }

  void forward(State<T>& state, double lambda) const override {
    unscale(state);  // GELU is not homogeneous
    add_residual(state.Y, lambda, attention_(state.Y), attention_norm_);
    if (feed_forward_) add_residual(state.Y, lambda_at_both_ ? lambda : 1.0, (*feed_forward_)(state.Y), output_norm_);
  }

 private:
  // X <- LN(lambda X + branch)
  static void add_residual(arma::Mat<T>& X, double lambda, const arma::Mat<T>& branch, const std::optional<LayerNorm<T>>& norm) {
    X = static_cast<T>(lambda) * X + branch;
    if (norm) (*norm)(X);
  }

  bool lambda_at_both_;
  SelfAttention<T> attention_;
  std::optional<FeedForward<T>> feed_forward_;
  std::optional<LayerNorm<T>> attention_norm_, output_norm_;
};

}  // namespace

template <class T>
std::unique_ptr<Block<T>> make_encoder_block(const ModelSpec& spec, Tensors<T>& tensors) {
  return std::make_unique<EncoderBlock<T>>(spec, tensors);
}

// The norm of the embedding stays with --norm none: it belongs to no block, and the ablation starts from the same state.
template <class T>
arma::Mat<T> encoder_embedding(const ModelSpec& spec, Tensors<T>& tensors, const std::vector<std::uint32_t>& ids) {
  constexpr arma::uword published_positions = 512;
  const Start start = Start::normal(weight_std);
  const arma::uword width = spec.model == "albert" ? spec.embedding : spec.dim;
  std::vector<std::uint32_t> places(ids.size());
  std::iota(places.begin(), places.end(), 0u);
  arma::Mat<T> X = tensors.columns("word.weight", width, spec.vocabulary, ids, start) +
                   tensors.columns("position.weight", width, std::max<arma::uword>(published_positions, ids.size()), places, start);
  X.each_col() += arma::Col<T>(tensors.columns("type.weight", width, 2, {0}, start));
  LayerNorm<T>(tensors, "embedding_norm", width)(X);
  return spec.model == "albert" ? LinearMap<T>(tensors, "embedding_map", width, spec.dim)(X) : X;
}

template std::unique_ptr<Block<float>> make_encoder_block(const ModelSpec&, Tensors<float>&);
template std::unique_ptr<Block<double>> make_encoder_block(const ModelSpec&, Tensors<double>&);
template arma::Mat<float> encoder_embedding(const ModelSpec&, Tensors<float>&, const std::vector<std::uint32_t>&);
template arma::Mat<double> encoder_embedding(const ModelSpec&, Tensors<double>&, const std::vector<std::uint32_t>&);

}  // namespace ranklab
