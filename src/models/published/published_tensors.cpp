// Names and storage orders: the files of state-spaces/mamba2-* and their conversions, bert-base-uncased, albert-base-v2, gpt2.
#include "models/published/published_tensors.hpp"

#include <initializer_list>

namespace ranklab {
namespace {

using Shape = std::vector<std::uint64_t>;

// The tensors of one part of a model: internal names and keys each begin with the part's own.
class Part {
 public:
  Part(std::string name, std::string key) : name_(std::move(name)), key_(std::move(key)) {}

  // Spelt alike on both sides.
  void add(const std::string& name, Shape shape, bool inputs_first = false) {
    add_spellings(name, {name}, std::move(shape), inputs_first);
  }
  void add_spellings(const std::string& name, std::initializer_list<std::string> keys, Shape shape, bool inputs_first = false) {
    PublishedTensor tensor{name_ + name, {}, std::move(shape), inputs_first};
    for (const std::string& key : keys) tensor.keys.push_back(key_ + key);
    tensors_.push_back(std::move(tensor));
  }
  void add_linear(const std::string& name, const std::string& key, std::uint64_t outputs, std::uint64_t inputs) {
    add_spellings(name + ".weight", {key + ".weight"}, {outputs, inputs});
    add_spellings(name + ".bias", {key + ".bias"}, {outputs});
  }
  // GPT-2 calls its linear maps convolutions of one tap, which are stored (in, out).
  void add_conv1d(const std::string& name, std::uint64_t inputs, std::uint64_t outputs) {
    add(name + ".weight", {inputs, outputs}, true);
    add(name + ".bias", {outputs});
  }
  void add_norm(const std::string& name, std::uint64_t size) {
    add(name + ".weight", {size});
    add(name + ".bias", {size});
  }
  // gamma and beta are what the checkpoints of TensorFlow called the gain and the bias.
  void add_norm(const std::string& name, const std::string& key, std::uint64_t size) {
    add_spellings(name + ".weight", {key + ".weight", key + ".gamma"}, {size});
    add_spellings(name + ".bias", {key + ".bias", key + ".beta"}, {size});
  }

  std::vector<PublishedTensor> take() { return std::move(tensors_); }

 private:
  std::string name_, key_;
  std::vector<PublishedTensor> tensors_;
};

std::vector<PublishedTensor> mamba2_layer(const ModelSpec& spec, Part part) {
  const std::uint64_t width = 2 * spec.dim, shared = 2 * spec.groups * spec.state;  // d_i; B and C
  part.add("norm.weight", {spec.dim});
  part.add("mixer.dt_bias", {spec.heads});
  part.add("mixer.A_log", {spec.heads});
  part.add("mixer.D", {spec.heads});
  part.add("mixer.in_proj.weight", {2 * width + shared + spec.heads, spec.dim});
  part.add("mixer.conv1d.weight", {width + shared, 1, spec.taps});
  part.add("mixer.conv1d.bias", {width + shared});
  part.add("mixer.norm.weight", {width});
  part.add("mixer.out_proj.weight", {spec.dim, width});
  return part.take();
}

std::vector<PublishedTensor> bert_layer(const ModelSpec& spec, Part part) {
  for (const std::string name : {"query", "key", "value"}) part.add_linear(name, "attention.self." + name, spec.dim, spec.dim);
  part.add_linear("dense", "attention.output.dense", spec.dim, spec.dim);
  part.add_norm("attention_norm", "attention.output.LayerNorm", spec.dim);
  part.add_linear("ffn", "intermediate.dense", spec.ffn, spec.dim);
  part.add_linear("ffn_output", "output.dense", spec.dim, spec.ffn);
  part.add_norm("output_norm", "output.LayerNorm", spec.dim);
  return part.take();
}

std::vector<PublishedTensor> albert_layer(const ModelSpec& spec, Part part) {
  for (const std::string name : {"query", "key", "value", "dense"}) part.add_linear(name, "attention." + name, spec.dim, spec.dim);
  part.add_norm("attention_norm", "attention.LayerNorm", spec.dim);
  part.add_linear("ffn", "ffn", spec.ffn, spec.dim);
  part.add_linear("ffn_output", "ffn_output", spec.dim, spec.ffn);
  part.add_norm("output_norm", "full_layer_layer_norm", spec.dim);
  return part.take();
}

std::vector<PublishedTensor> gpt2_layer(const ModelSpec& spec, Part part) {
  part.add_norm("ln_1", spec.dim);
  part.add_conv1d("attn.c_attn", spec.dim, 3 * spec.dim);
  part.add_conv1d("attn.c_proj", spec.dim, spec.dim);
  part.add_norm("ln_2", spec.dim);
  part.add_conv1d("mlp.c_fc", spec.dim, spec.ffn);
  part.add_conv1d("mlp.c_proj", spec.ffn, spec.dim);
  return part.take();
}

}  // namespace

const std::vector<PublishedFamily>& published_families() {
  static const std::string albert_layer_key = "encoder.albert_layer_groups.0.albert_layers.0.";
  static const std::vector<PublishedFamily> families = {
      // Mamba-1 has a dt_proj and no inner norm.
      {"mamba2", "backbone.", {"layers.0.mixer.dt_bias", "layers.0.mixer.norm.weight"}, "layers.", {"lm_head.weight"}, {}, {}},
      {"bert",
       "bert.",
       {"encoder.layer.0.attention.self.query.weight", "encoder.layer.0.attention.output.dense.weight"},
       "encoder.layer.",
       {"cls."},
       {"pooler."},
       {}},
      {"albert",
       "albert.",
       {"encoder.embedding_hidden_mapping_in.weight", albert_layer_key + "attention.query.weight"},
       "",
       {"predictions.", "sop_classifier."},
       {"pooler."},
       {}},
      {"gpt2",
       "transformer.",
       {"h.0.attn.c_attn.weight", "h.0.mlp.c_fc.weight"},
       "h.",
       {"lm_head.weight"},
       {},
       {"attn.bias", "attn.masked_bias"}}};
  return families;
}

std::vector<PublishedTensor> embedding_tensors(const ModelSpec& spec) {
  Part part("", "");
  if (spec.model == "mamba2")
    part.add_spellings("embedding", {"embedding.weight", "embeddings.weight"}, {spec.vocabulary, spec.dim});
  if (spec.model == "gpt2") {
    part.add("wte.weight", {spec.vocabulary, spec.dim});
    part.add("wpe.weight", {spec.positions, spec.dim});
  }
  if (spec.is_encoder()) {
    const std::uint64_t width = spec.model == "albert" ? spec.embedding : spec.dim;
    part.add_spellings("word.weight", {"embeddings.word_embeddings.weight"}, {spec.vocabulary, width});
    part.add_spellings("position.weight", {"embeddings.position_embeddings.weight"}, {spec.positions, width});
    part.add_spellings("type.weight", {"embeddings.token_type_embeddings.weight"}, {2, width});
    part.add_norm("embedding_norm", "embeddings.LayerNorm", width);
    if (spec.model == "albert") part.add_linear("embedding_map", "encoder.embedding_hidden_mapping_in", spec.dim, width);
  }
  return part.take();
}

std::vector<PublishedTensor> layer_tensors(const ModelSpec& spec, std::uint64_t layer) {
  const std::string index = std::to_string(layer) + ".", name = "layer" + index;
  if (spec.model == "mamba2") return mamba2_layer(spec, Part(name, "layers." + index));
  if (spec.model == "bert") return bert_layer(spec, Part(name, "encoder.layer." + index));
  if (spec.model == "albert") return albert_layer(spec, Part(name, "encoder.albert_layer_groups.0.albert_layers." + index));
  if (spec.model == "gpt2") return gpt2_layer(spec, Part(name, "h." + index));
  return {};
}

std::vector<PublishedTensor> final_norm_tensors(const ModelSpec& spec) {
  Part part("", "");
  if (spec.model == "mamba2") part.add("norm_f.weight", {spec.dim});
  if (spec.model == "gpt2") part.add_norm("ln_f", spec.dim);
  return part.take();
}

std::vector<PublishedTensor> published_tensors(const ModelSpec& spec) {
  std::vector<PublishedTensor> all = embedding_tensors(spec);
  const std::uint64_t layers = spec.model == "albert" || spec.shares_weights() ? 1 : spec.layers;
  for (std::uint64_t layer = 0; layer < layers; ++layer) {
    for (PublishedTensor& tensor : layer_tensors(spec, layer)) all.push_back(std::move(tensor));
  }
  return all;
}

}  // namespace ranklab
