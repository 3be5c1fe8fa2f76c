// The encoders BERT and ALBERT: post-norm blocks with biases and an output projection, and the
// embeddings that feed them.
//
// Sources: Devlin et al., "BERT", 2019; Lan et al., "ALBERT", 2020; the `transformers` library for
// details that they leave open (epsilon, initial values, which GELU).
//
// A block, with d_h = d / h and both norms with gain and bias:
//   P_k = softmax over rows of Q_k K_k' / sqrt(d_h),   Q, K, V = X W + b each
//   X1  = LN(lambda X + [P_1 V_1 ... P_h V_h] W_o + b_o)
//   X2  = LN(lambda_2 X1 + sigma(X1 W_1 + b_1) W_2 + b_2)
//   lambda_2 = lambda with --lambda-at both, else 1; sigma is a GELU
//
// In training mode, dropout applies to the embedding (ALBERT: before its map), to each P_k, to the
// attention branch that ends in b_o and to the feed-forward branch that ends in b_2, in this order.
//
// Tensors, each with .weight and .bias: `query`, `key`, `value`, `dense`, `attention_norm`, `ffn`,
// `ffn_output`, `output_norm`; for the embedding: `word`, `type`, `position`, `embedding_norm`,
// `embedding_map`. The input of the first block is LN(word + type + position) for BERT; for ALBERT
// it has `embedding` dimensions and is mapped to d.
#include <optional>
#include <utility>

#include "io/config_keys.hpp"
#include "nn/blocks/model_config.hpp"
#include "nn/blocks/sublayers.hpp"

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
  arma::Mat<T> mixed(const arma::Mat<T>& X, const std::vector<arma::Mat<T>>& P) const {
    return dense(mixed_heads(value(X), P));
  }

  std::uint64_t heads;
  LinearMap<T> query, key, value, dense;
};

template <class T>
class EncoderBlock final : public SteppedBlock<T> {
 public:
  EncoderBlock(const ModelSpec& spec, Tensors<T>& tensors)
      : lambda_at_both_(spec.lambda_at == "both"),
        epsilon_(spec.norm_epsilon),
        attention_(spec, tensors) {
    const bool normed = spec.norm != "none";
    if (normed) attention_norm_.emplace(tensors, "attention_norm", spec.dim);
    if (!spec.has_mlp()) return;
    feed_forward_.emplace(spec.activation, LinearMap<T>(tensors, "ffn", spec.dim, spec.ffn),
                          LinearMap<T>(tensors, "ffn_output", spec.ffn, spec.dim));
    if (normed) output_norm_.emplace(tensors, "output_norm", spec.dim);
  }

  BlockSteps<T> steps(const arma::Mat<T>& X, double lambda) const override {
    return steps(X, lambda, nullptr);
  }

  void forward(State<T>& state, double lambda) const override {
    state.unscale();  // GELU is not homogeneous
    state.Y = std::move(steps(state.Y, lambda, state.dropout ? &*state.dropout : nullptr).Y[3]);
  }

 private:
  BlockSteps<T> steps(const arma::Mat<T>& X, double lambda, Dropout* dropout) const {
    const auto dropped = [&](arma::Mat<T> of) {
      if (dropout != nullptr) (*dropout)(of);
      return of;
    };
    BlockSteps<T> out{attention_.matrices(X), {}};
    for (arma::Mat<T>& P : out.P) P = dropped(std::move(P));
    auto& Y = out.Y;
    Y[0] = static_cast<T>(lambda) * X + dropped(attention_.mixed(X, out.P));
    Y[1] = normed(Y[0], attention_norm_);
    Y[2] = Y[1];
    if (feed_forward_)
      Y[2] =
          static_cast<T>(lambda_at_both_ ? lambda : 1.0) * Y[1] + dropped((*feed_forward_)(Y[1]));
    Y[3] = normed(Y[2], output_norm_);
    return out;
  }

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

// --norm none keeps the norm of the embedding: it belongs to no block, so the ablation starts from
// the same state.
template <class T>
arma::Mat<T> encoder_embedding(const ModelSpec& spec, Tensors<T>& tensors,
                               const std::vector<std::uint32_t>& ids, Dropout* dropout) {
  const EntryLaw start = EntryLaw::normal(default_weight_std);
  const arma::uword width = embedding_width(spec);
  arma::Mat<T> X = tensors.columns("word.weight", width, spec.vocabulary, ids, start) +
                   tensors.columns("position.weight", width, position_table_rows(spec, ids.size()),
                                   position_ids(ids.size()), start);
  X.each_col() += arma::Col<T>(tensors.columns("type.weight", width, spec.types, {0}, start));
  LayerNorm<T>(tensors, "embedding_norm", width)(X, spec.norm_epsilon);
  if (dropout != nullptr) (*dropout)(X);
  return spec.row().embeds_narrowly ? LinearMap<T>(tensors, "embedding_map", width, spec.dim)(X)
                                    : X;
}

// Published files: the layouts of bert-base-uncased and albert-base-v2 ----------------------------

void list_embedding(const ModelSpec& spec, TensorList& list) {
  const std::uint64_t width = embedding_width(spec);
  list.add_spellings("word.weight", {"embeddings.word_embeddings.weight"},
                     {spec.vocabulary, width});
  list.add_spellings("position.weight", {"embeddings.position_embeddings.weight"},
                     {spec.positions, width});
  list.add_spellings("type.weight", {"embeddings.token_type_embeddings.weight"},
                     {spec.types, width});
  list.add_norm("embedding_norm", "embeddings.LayerNorm", width);
  if (spec.row().embeds_narrowly)
    list.add_linear("embedding_map", "encoder.embedding_hidden_mapping_in", spec.dim, width);
}

void list_bert_layer(const ModelSpec& spec, TensorList& list) {
  for (const std::string name : {"query", "key", "value"})
    list.add_linear(name, "attention.self." + name, spec.dim, spec.dim);
  list.add_linear("dense", "attention.output.dense", spec.dim, spec.dim);
  list.add_norm("attention_norm", "attention.output.LayerNorm", spec.dim);
  list.add_linear("ffn", "intermediate.dense", spec.ffn, spec.dim);
  list.add_linear("ffn_output", "output.dense", spec.dim, spec.ffn);
  list.add_norm("output_norm", "output.LayerNorm", spec.dim);
}

void list_albert_layer(const ModelSpec& spec, TensorList& list) {
  for (const std::string name : {"query", "key", "value", "dense"})
    list.add_linear(name, "attention." + name, spec.dim, spec.dim);
  list.add_norm("attention_norm", "attention.LayerNorm", spec.dim);
  list.add_linear("ffn", "ffn", spec.ffn, spec.dim);
  list.add_linear("ffn_output", "ffn_output", spec.dim, spec.ffn);
  list.add_norm("output_norm", "full_layer_layer_norm", spec.dim);
}

// Keys of BertConfig and AlbertConfig of the library `transformers`.
void read_bert_config(const ConfigKeys& keys, ModelConfig& config) {
  config.layers = keys.size({"num_hidden_layers"});
  config.dim = keys.size({"hidden_size"});
  config.heads = keys.size({"num_attention_heads"});
  config.ffn = keys.size({"intermediate_size"});
  config.vocabulary = keys.size({"vocab_size"});
  config.positions = keys.size({"max_position_embeddings"});
  config.types = keys.size({"type_vocab_size"});
  config.norm_epsilon = keys.epsilon("layer_norm_eps");
  config.activation = read_activation(keys, "hidden_act");
  keys.require("position_embedding_type", "absolute");
  keys.require("is_decoder", false);
  keys.require("add_cross_attention", false);
  keys.require_empty("pruned_heads");
}

void read_albert_config(const ConfigKeys& keys, ModelConfig& config) {
  read_bert_config(keys, config);
  config.embedding = keys.size({"embedding_size"});
  keys.require("num_hidden_groups", 1);
  keys.require("inner_group_num", 1);
}

}  // namespace

ModelRow bert_row() {
  return {.name = "bert",
          .title = "BERT",
          .input = "tokens",
          .activation = "gelu",
          .ffn_factor = 4,
          .vocabulary = 30522,
          .norm_epsilon = 1e-12,
          .norms = {"layer", "none"},
          .switches = {"mlp", "lambda-at"},
          .has_heads = true,
          .has_steps = true,
          .attends = true,
          .has_positions = true,
          .makers = makers_of<EncoderBlock>(encoder_embedding<float>, encoder_embedding<double>),
          .parameters = sublayer_parameters,
          .flops = attention_flops,
          .published =
              PublishedLayout{.prefix = "bert.",
                              .characteristic = {"encoder.layer.0.attention.self.query.weight",
                                                 "encoder.layer.0.attention.output.dense.weight"},
                              .layers = "encoder.layer.",
                              .heads = {"cls."},
                              .inner_heads = {"pooler."},
                              .embedding = list_embedding,
                              .layer = list_bert_layer,
                              .sizes = {{&ModelSpec::vocabulary, "word.weight", 2, 0},
                                        {&ModelSpec::positions, "position.weight", 2, 0},
                                        {&ModelSpec::types, "type.weight", 2, 0},
                                        {&ModelSpec::dim, "word.weight", 2, 1},
                                        {&ModelSpec::ffn, "layer0.ffn.weight", 2, 0}},
                              .read_config = read_bert_config},
          .figure = DepthFigure::shallow_1};
}

ModelRow albert_row() {
  ModelRow row = bert_row();
  row.name = "albert";
  row.title = "ALBERT";
  row.activation = "gelu-tanh";
  row.shares_weights = true;
  row.vocabulary = 30000;
  row.embeds_narrowly = true;
  row.published = PublishedLayout{
      .prefix = "albert.",
      .characteristic = {"encoder.embedding_hidden_mapping_in.weight",
                         "encoder.albert_layer_groups.0.albert_layers.0.attention.query.weight"},
      .layers = "encoder.albert_layer_groups.0.albert_layers.",
      .one_layer = true,
      .heads = {"predictions.", "sop_classifier."},
      .inner_heads = {"pooler."},
      .embedding = list_embedding,
      .layer = list_albert_layer,
      .sizes = {{&ModelSpec::vocabulary, "word.weight", 2, 0},
                {&ModelSpec::positions, "position.weight", 2, 0},
                {&ModelSpec::types, "type.weight", 2, 0},
                {&ModelSpec::dim, "embedding_map.weight", 2, 0},
                {&ModelSpec::embedding, "word.weight", 2, 1},
                {&ModelSpec::ffn, "layer0.ffn.weight", 2, 0}},
      .read_config = read_albert_config};
  return row;
}

}  // namespace ranklab
