#include "models/blocks/transformer.hpp"

#include <cmath>
#include <utility>

#include "models/blocks/attention.hpp"

namespace ranklab {
namespace {

// Of the representation 2^log2_scale X. The logits divide by sqrt(d) in every head, as the paper's do, not by sqrt(d / h).
template <class T>
std::vector<arma::Mat<T>> attention_matrices_at(const TransformerWeights<T>& weights, const arma::Mat<T>& X, std::uint64_t heads,
                                                double log2_scale) {
  const double scale = std::exp2(2 * log2_scale) / std::sqrt(static_cast<double>(X.n_rows));
  return head_attention_matrices<T>(weights.W_q.t() * X, weights.W_k.t() * X, heads, scale);
}

// X + relu(Y U) V
template <class T>
arma::Mat<T> feed_forward_step(const arma::Mat<T>& X, const arma::Mat<T>& Y, const TransformerWeights<T>& weights) {
  arma::Mat<T> Z = weights.U.t() * Y;  // (q, N)
  for (T& z : Z) z = z > 0 ? z : T{0};
  return X + weights.V.t() * Z;
}

// The outputs of Algorithm 1's steps; adds the tokens that a norm zeroed to `degenerate`.
template <class T>
std::array<arma::Mat<T>, 4> algorithm_1(const ModelSpec& spec, const TransformerWeights<T>& weights, const arma::Mat<T>& X,
                                        const std::vector<arma::Mat<T>>& P, double lambda, std::uint64_t& degenerate) {
  const Norm norm = find_norm(spec.norm);
  const auto normalised = [&](const arma::Mat<T>& Y) {
    State<T> state{Y};
    normalise(norm, state);
    degenerate += state.degenerate_rows;
    return std::move(state.Y);
  };
  std::array<arma::Mat<T>, 4> Y;
  Y[0] = attention_step(X, P, weights.W, spec.alpha, lambda);
  Y[1] = normalised(Y[0]);
  Y[2] = spec.has_mlp() ? feed_forward_step(Y[1], Y[1], weights) : Y[1];
  Y[3] = spec.has_mlp() ? normalised(Y[2]) : Y[2];  // without an MLP its norm goes too
  return Y;
}

template <class T>
class TransformerBlock : public Block<T> {
 public:
  TransformerBlock(const ModelSpec& spec, Tensors<T>& tensors) : spec_(spec), weights_(transformer_weights(spec, tensors)) {}

 protected:
  // The state has a scale where there is no norm alone; every step but this one is homogeneous then, and passes it on.
  std::vector<arma::Mat<T>> attention_of(const State<T>& state) const {
    return attention_matrices_at(weights_, state.Y, spec_.heads, state.log2_scale);
  }

  ModelSpec spec_;
  TransformerWeights<T> weights_;
};

template <class T>
class PostNormBlock final : public TransformerBlock<T> {
 public:
  using TransformerBlock<T>::TransformerBlock;

  void forward(State<T>& state, double lambda) const override {
    const auto P = this->attention_of(state);
    auto steps = algorithm_1(this->spec_, this->weights_, state.Y, P, lambda, state.degenerate_rows);
    state.Y = std::move(steps[3]);
  }
};

template <class T>
class PreNormBlock final : public TransformerBlock<T> {
 public:
  using TransformerBlock<T>::TransformerBlock;

  void forward(State<T>& state, double lambda) const override {
    const Norm norm = find_norm(this->spec_.norm);
    const arma::Mat<T> X = state.Y;
    normalise(norm, state);
    const arma::Mat<T> mixed = mixed_heads<T>(this->weights_.W.t() * state.Y, this->attention_of(state));
    // [Shallow] Figure 4 draws them: the branch keeps its size while X grows.
    state.branch = {static_cast<double>(arma::norm(state.Y, "fro")), static_cast<double>(arma::norm(mixed, "fro"))};
    const arma::Mat<T> Y = static_cast<T>(lambda) * X + static_cast<T>(this->spec_.alpha) * mixed;
    state.Y = Y;
    if (!this->spec_.has_mlp()) return;
    normalise(norm, state);
    state.Y = feed_forward_step(Y, state.Y, this->weights_);
  }
};

}  // namespace

Start value_start(const ModelSpec& spec) {
  // Differs from [Shallow]: N(0, 1/d) where the text prints N(0, h/d), because the former alone gives its Figure 2.
  const double variance = (spec.weight_variance == "h/d" ? static_cast<double>(spec.heads) : 1.0) / static_cast<double>(spec.dim);
  return Start::normal(std::sqrt(variance));
}

template <class T>
TransformerWeights<T> transformer_weights(const ModelSpec& spec, Tensors<T>& tensors) {
  const arma::uword d = spec.dim, q = spec.ffn;
  TransformerWeights<T> weights;
  weights.W_q = tensors.matrix("W_q", d, d, Start::fan_in(d));
  weights.W_k = tensors.matrix("W_k", d, d, Start::fan_in(d));
  weights.W = tensors.matrix("W", d, d, value_start(spec));
  if (spec.has_mlp()) {
    weights.U = tensors.matrix("U", d, q, Start::fan_in(d));
    weights.V = tensors.matrix("V", q, d, Start::fan_in(q));
  }
  return weights;
}

template <class T>
std::vector<arma::Mat<T>> attention_matrices(const TransformerWeights<T>& weights, const arma::Mat<T>& X, std::uint64_t heads) {
  return attention_matrices_at(weights, X, heads, 0.0);
}

template <class T>
arma::Mat<T> attention_step(const arma::Mat<T>& X, const std::vector<arma::Mat<T>>& P, const arma::Mat<T>& W, double alpha,
                            double lambda) {
  return static_cast<T>(lambda) * X + static_cast<T>(alpha) * mixed_heads<T>(W.t() * X, P);
}

template <class T>
std::array<arma::Mat<T>, 4> post_norm_steps(const ModelSpec& spec, const TransformerWeights<T>& weights, const arma::Mat<T>& X,
                                            const std::vector<arma::Mat<T>>& P, double lambda) {
  std::uint64_t degenerate = 0;
  return algorithm_1(spec, weights, X, P, lambda, degenerate);
}

template <class T>
std::unique_ptr<Block<T>> make_transformer_block(const ModelSpec& spec, Tensors<T>& tensors) {
  if (spec.model == "pre-norm") return std::make_unique<PreNormBlock<T>>(spec, tensors);
  return std::make_unique<PostNormBlock<T>>(spec, tensors);
}

template TransformerWeights<float> transformer_weights(const ModelSpec&, Tensors<float>&);
template std::vector<arma::Mat<float>> attention_matrices(const TransformerWeights<float>&, const arma::Mat<float>&, std::uint64_t);
template arma::Mat<float> attention_step(const arma::Mat<float>&, const std::vector<arma::Mat<float>>&, const arma::Mat<float>&,
                                         double, double);
template std::array<arma::Mat<float>, 4> post_norm_steps(const ModelSpec&, const TransformerWeights<float>&,
                                                         const arma::Mat<float>&, const std::vector<arma::Mat<float>>&, double);
template std::unique_ptr<Block<float>> make_transformer_block(const ModelSpec&, Tensors<float>&);
template TransformerWeights<double> transformer_weights(const ModelSpec&, Tensors<double>&);
template std::vector<arma::Mat<double>> attention_matrices(const TransformerWeights<double>&, const arma::Mat<double>&,
                                                           std::uint64_t);
template arma::Mat<double> attention_step(const arma::Mat<double>&, const std::vector<arma::Mat<double>>&, const arma::Mat<double>&,
                                          double, double);
template std::array<arma::Mat<double>, 4> post_norm_steps(const ModelSpec&, const TransformerWeights<double>&,
                                                          const arma::Mat<double>&, const std::vector<arma::Mat<double>>&, double);
template std::unique_ptr<Block<double>> make_transformer_block(const ModelSpec&, Tensors<double>&);

}  // namespace ranklab
