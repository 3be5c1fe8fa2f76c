// Source: Radford et al., "Language Models are Unsupervised Multitask Learners", 2019; the published weights and their config for
// what it leaves open (which GELU, epsilon, the fused map's order).
//
// A block, with d_h = d / h and both norms with gain and bias:
//   [Q K V] = LN_1(X) W + b,  head k: columns k d_h ... (k+1) d_h - 1 of Q, of K and of V
//   P_k = softmax of row i over columns j <= i of Q_k K_k' / sqrt(d_h)
//   X <- lambda X + [P_1 V_1 ... P_h V_h] W_o + b_o
//   X <- lambda_2 X + sigma(LN_2(X) W_1 + b_1) W_2 + b_2,   lambda_2 = lambda with --lambda-at both, else 1; sigma a GELU
//
// Tensors, as the published file names and stores them, each with .weight and .bias: `ln_1`, `attn.c_attn` (d, 3 d),
// `attn.c_proj` (d, d), `ln_2`, `mlp.c_fc` (d, q), `mlp.c_proj` (q, d); of the embedding `wte.weight`, `wpe.weight`.
#include "models/blocks/gpt2.hpp"

#include <cmath>
#include <optional>

#include "models/blocks/positions.hpp"
#include "models/blocks/residual_stream.hpp"
#include "models/blocks/sublayers.hpp"

namespace ranklab {
namespace {

// Maps whose output is added to the stream start smaller: 2 K of them add up.
double output_std(const ModelSpec& spec) {
  return usual_weight_std / std::sqrt(2.0 * static_cast<double>(spec.layers));
}

template <class T>
struct CausalAttention {
  CausalAttention(const ModelSpec& spec, Tensors<T>& tensors)
      : heads(spec.heads),
        fused(tensors, "attn.c_attn", spec.dim, 3 * spec.dim),
        output(tensors, "attn.c_proj", spec.dim, spec.dim, output_std(spec)) {}

  arma::Mat<T> operator()(const arma::Mat<T>& X) const {
    const arma::uword d = X.n_rows;
    const arma::Mat<T> QKV = fused(X);  // (3 d, N)
    return output(
        mixed_heads<T>(QKV.tail_rows(d), scaled_attention_matrices<T>(QKV.head_rows(d), QKV.rows(d, 2 * d - 1), heads, true)));
  }

  std::uint64_t heads;
  LinearMap<T> fused, output;
};

template <class T>
class Gpt2Block final : public Block<T> {
 public:
  Gpt2Block(const ModelSpec& spec, Tensors<T>& tensors)
      : lambda_at_both_(spec.lambda_at == "both"),
        has_norm_(spec.norm != "none"),
        epsilon_(spec.norm_epsilon),
        attention_(spec, tensors) {
    if (has_norm_) first_norm_.emplace(tensors, "ln_1", spec.dim);
    if (!spec.has_mlp()) return;
    if (has_norm_) second_norm_.emplace(tensors, "ln_2", spec.dim);
    feed_forward_.emplace(spec.activation, LinearMap<T>(tensors, "mlp.c_fc", spec.dim, spec.ffn),
                          LinearMap<T>(tensors, "mlp.c_proj", spec.ffn, spec.dim, output_std(spec)));
  }

  void forward(State<T>& state, double lambda) const override {
    if (!has_norm_) unscale(state);  // the branches are not homogeneous
    add(state, lambda, attention_(normed(state, first_norm_)));
    if (feed_forward_) add(state, lambda_at_both_ ? lambda : 1.0, (*feed_forward_)(normed(state, second_norm_)));
  }

 private:
  arma::Mat<T> normed(const State<T>& state, const std::optional<LayerNorm<T>>& norm) const {
    arma::Mat<T> X = state.Y;
    if (norm) (*norm)(X, scaled_epsilon(epsilon_, state));
    return X;
  }

  void add(State<T>& state, double lambda, const arma::Mat<T>& branch) const {
    add_branch(state, lambda, branch);
    if (has_norm_) keep_in_range(state);
  }

  bool lambda_at_both_, has_norm_;
  double epsilon_;
  CausalAttention<T> attention_;
  std::optional<FeedForward<T>> feed_forward_;
  std::optional<LayerNorm<T>> first_norm_, second_norm_;
};

}  // namespace

template <class T>
std::unique_ptr<Block<T>> make_gpt2_block(const ModelSpec& spec, Tensors<T>& tensors) {
  return std::make_unique<Gpt2Block<T>>(spec, tensors);
}

template <class T>
arma::Mat<T> gpt2_embedding(const ModelSpec& spec, Tensors<T>& tensors, const std::vector<std::uint32_t>& ids) {
  const Start start = Start::normal(usual_weight_std);
  return tensors.columns("wte.weight", spec.dim, spec.vocabulary, ids, start) +
         tensors.columns("wpe.weight", spec.dim, positions_of_table(spec, ids.size()), places(ids.size()), start);
}

template std::unique_ptr<Block<float>> make_gpt2_block(const ModelSpec&, Tensors<float>&);
template std::unique_ptr<Block<double>> make_gpt2_block(const ModelSpec&, Tensors<double>&);
template arma::Mat<float> gpt2_embedding(const ModelSpec&, Tensors<float>&, const std::vector<std::uint32_t>&);
template arma::Mat<double> gpt2_embedding(const ModelSpec&, Tensors<double>&, const std::vector<std::uint32_t>&);

}  // namespace ranklab
