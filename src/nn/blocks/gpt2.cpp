// GPT-2: pre-norm blocks with causal attention and biases, and the embedding that feeds them (token
// + position).
//
// Source: Radford et al., "Language Models are Unsupervised Multitask Learners", 2019; the
// published weights and their config for details that it leaves open (which GELU, epsilon, the
// order of the fused map).
//
// A block, with d_h = d / h and both norms with gain and bias:
//   [Q K V] = LN_1(X) W + b,  head k: columns k d_h ... (k+1) d_h - 1 of Q, of K and of V
//   P_k = softmax of row i over columns j <= i of Q_k K_k' / sqrt(d_h)
//   X <- lambda X + [P_1 V_1 ... P_h V_h] W_o + b_o
//   X <- lambda_2 X + sigma(LN_2(X) W_1 + b_1) W_2 + b_2
//   lambda_2 = lambda with --lambda-at both, else 1; sigma is a GELU
//
// Tensors, with the names and storage order of the published file, each with .weight and .bias:
// `ln_1`, `attn.c_attn` (d, 3 d), `attn.c_proj` (d, d), `ln_2`, `mlp.c_fc` (d, q), `mlp.c_proj` (q,
// d); for the embedding `wte.weight`, `wpe.weight`.
#include <cmath>
#include <optional>

#include "io/config_keys.hpp"
#include "nn/blocks/model_config.hpp"
#include "nn/blocks/sublayers.hpp"

namespace ranklab {
namespace {

// Maps whose output is added to the stream have smaller initial weights, because 2 K outputs add
// up.
double output_std(const ModelSpec& spec) {
  return default_weight_std / std::sqrt(2.0 * static_cast<double>(spec.layers));
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
    return output(mixed_heads<T>(
        QKV.tail_rows(d),
        scaled_attention_matrices<T>(QKV.head_rows(d), QKV.rows(d, 2 * d - 1), heads, true)));
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
    feed_forward_.emplace(
        spec.activation, LinearMap<T>(tensors, "mlp.c_fc", spec.dim, spec.ffn),
        LinearMap<T>(tensors, "mlp.c_proj", spec.ffn, spec.dim, output_std(spec)));
  }

  void forward(State<T>& state, double lambda) const override {
    if (!has_norm_) state.unscale();  // the branches are not homogeneous
    add(state, lambda, attention_(normed(state, first_norm_)));
    if (feed_forward_)
      add(state, lambda_at_both_ ? lambda : 1.0, (*feed_forward_)(normed(state, second_norm_)));
  }

 private:
  arma::Mat<T> normed(const State<T>& state, const std::optional<LayerNorm<T>>& norm) const {
    arma::Mat<T> X = state.Y;
    if (norm) (*norm)(X, state.scaled_epsilon(epsilon_));
    return X;
  }

  void add(State<T>& state, double lambda, const arma::Mat<T>& branch) const {
    state.add_branch(lambda, branch);
    if (has_norm_) state.keep_in_range();
  }

  bool lambda_at_both_, has_norm_;
  double epsilon_;
  CausalAttention<T> attention_;
  std::optional<FeedForward<T>> feed_forward_;
  std::optional<LayerNorm<T>> first_norm_, second_norm_;
};

template <class T>
arma::Mat<T> gpt2_embedding(const ModelSpec& spec, Tensors<T>& tensors,
                            const std::vector<std::uint32_t>& ids, Dropout* /*dropout*/) {
  const EntryLaw start = EntryLaw::normal(default_weight_std);
  return tensors.columns("wte.weight", spec.dim, spec.vocabulary, ids, start) +
         tensors.columns("wpe.weight", spec.dim, position_table_rows(spec, ids.size()),
                         position_ids(ids.size()), start);
}

// Published files ---------------------------------------------------------------------------------

void list_gpt2_embedding(const ModelSpec& spec, TensorList& list) {
  list.add("wte.weight", {spec.vocabulary, spec.dim});
  list.add("wpe.weight", {spec.positions, spec.dim});
}

void list_gpt2_layer(const ModelSpec& spec, TensorList& list) {
  list.add_norm("ln_1", spec.dim);
  list.add_conv1d("attn.c_attn", spec.dim, 3 * spec.dim);
  list.add_conv1d("attn.c_proj", spec.dim, spec.dim);
  list.add_norm("ln_2", spec.dim);
  list.add_conv1d("mlp.c_fc", spec.dim, spec.ffn);
  list.add_conv1d("mlp.c_proj", spec.ffn, spec.dim);
}

// Keys of GPT2Config of the library `transformers`.
void read_gpt2_config(const ConfigKeys& keys, ModelConfig& config) {
  config.layers = keys.size({"n_layer", "num_hidden_layers"});
  config.dim = keys.size({"n_embd", "hidden_size"});
  config.heads = keys.size({"n_head", "num_attention_heads"});
  config.ffn = keys.size({"n_inner"});
  config.vocabulary = keys.size({"vocab_size"});
  config.positions = keys.size({"n_positions", "max_position_embeddings"});
  config.norm_epsilon = keys.epsilon("layer_norm_epsilon");
  config.activation = read_activation(keys, "activation_function");
  keys.require("scale_attn_weights", true);
  keys.require("scale_attn_by_inverse_layer_idx", false);
  keys.require("add_cross_attention", false);
  keys.require_empty("pruned_heads");
}

}  // namespace

ModelRow gpt2_row() {
  return {.name = "gpt2",
          .title = "GPT-2 style Transformer",
          .input = "tokens",
          .activation = "gelu-tanh",
          .ffn_factor = 4,
          .vocabulary = 50257,
          .positions = 1024,
          .norms = {"layer", "none"},
          .switches = {"mlp", "lambda-at"},
          .has_heads = true,
          .attends = true,
          .has_positions = true,
          .makers = makers_of<Gpt2Block>(gpt2_embedding<float>, gpt2_embedding<double>),
          .parameters = sublayer_parameters,
          .flops = attention_flops,
          .published = PublishedLayout{
              .prefix = "transformer.",
              .characteristic = {"h.0.attn.c_attn.weight", "h.0.mlp.c_fc.weight"},
              .layers = "h.",
              .heads = {"lm_head.weight"},
              .masks = {"attn.bias", "attn.masked_bias"},
              .embedding = list_gpt2_embedding,
              .layer = list_gpt2_layer,
              .final_norm = [](const ModelSpec& spec,
                               TensorList& list) { list.add_norm("ln_f", spec.dim); },
              .sizes = {{&ModelSpec::vocabulary, "wte.weight", 2, 0},
                        {&ModelSpec::positions, "wpe.weight", 2, 0},
                        {&ModelSpec::dim, "wte.weight", 2, 1},
                        {&ModelSpec::ffn, "layer0.mlp.c_fc.weight", 2, 1}},
              .read_config = read_gpt2_config}};
}

}  // namespace ranklab
