// The names and storage orders of the tiny checkpoints, written out by hand.
#include <cmath>

#include "tiny_checkpoint.hpp"

using namespace ranklab;

namespace {

using Storage = TinyTensor::Storage;
using Shape = std::vector<std::uint64_t>;

class Layout {
 public:
  void matrix(const std::string& key, const std::string& name, const Shape& shape) {
    map(key, name, shape, Storage::out_in, shape[1]);
  }
  void transposed(const std::string& key, const std::string& name, const Shape& shape) {
    map(key, name, shape, Storage::in_out, shape[0]);
  }
  void table(const std::string& key, const std::string& name, const Shape& shape) {
    put(key, name, shape, Storage::out_in, 0, 0.5);
  }
  void filters(const std::string& key, const std::string& name, const Shape& shape) {
    put(key, name, shape, Storage::filters, 0, 0.5);
  }
  void vector(const std::string& key, const std::string& name, std::uint64_t size, double center,
              double spread) {
    put(key, name, {size}, Storage::vector, center, spread);
  }
  void bias(const std::string& key, const std::string& name, std::uint64_t size) {
    vector(key, name, size, 0, 0.1);
  }
  void gain(const std::string& key, const std::string& name, std::uint64_t size) {
    vector(key, name, size, 1, 0.25);
  }
  void extra(const std::string& key, const Shape& shape, Dtype dtype = Dtype::f32) {
    put(key, "", shape, Storage::not_read, 0, 1);
    tensors.back().dtype = dtype;
  }

  std::vector<TinyTensor> tensors;

 private:
  // The variance is 1/inputs.
  void map(const std::string& key, const std::string& name, const Shape& shape, Storage storage,
           std::uint64_t inputs) {
    put(key, name, shape, storage, 0, std::sqrt(3.0 / static_cast<double>(inputs)));
  }
  void put(const std::string& key, const std::string& name, const Shape& shape, Storage storage,
           double center, double spread) {
    tensors.push_back({key, name, shape, storage, center, spread});
  }
};

void lay_out_mamba2(Layout& to, const Spelling& spelling, const TinySizes& s) {
  const std::string root = spelling.prefix ? "backbone." : "";
  const std::uint64_t d = s.dim, d_i = 2 * s.dim, n = s.state, H = s.heads,
                      channels = d_i + 2 * s.groups * n;
  to.table(root + (spelling.variant ? "embeddings.weight" : "embedding.weight"), "embedding",
           {s.vocabulary, d});
  for (std::uint64_t i = 0; i < s.layers; ++i) {
    const std::string key = root + "layers." + std::to_string(i) + ".",
                      name = "layer" + std::to_string(i) + ".";
    to.gain(key + "norm.weight", name + "norm.weight", d);
    to.vector(key + "mixer.dt_bias", name + "mixer.dt_bias", H, -4, 2);
    to.vector(key + "mixer.A_log", name + "mixer.A_log", H, 1.4, 1.3);
    to.gain(key + "mixer.D", name + "mixer.D", H);
    to.matrix(key + "mixer.in_proj.weight", name + "mixer.in_proj.weight",
              {d_i + d_i + 2 * s.groups * n + H, d});
    to.filters(key + "mixer.conv1d.weight", name + "mixer.conv1d.weight", {channels, 1, s.taps});
    to.bias(key + "mixer.conv1d.bias", name + "mixer.conv1d.bias", channels);
    to.gain(key + "mixer.norm.weight", name + "mixer.norm.weight", d_i);
    to.matrix(key + "mixer.out_proj.weight", name + "mixer.out_proj.weight", {d, d_i});
  }
  to.gain(root + "norm_f.weight", "norm_f.weight", d);
  if (spelling.extras) to.extra("lm_head.weight", {s.vocabulary, d});
}

void lay_out_norm(Layout& to, const Spelling& spelling, const std::string& key,
                  const std::string& name, std::uint64_t size) {
  to.gain(key + (spelling.variant ? ".gamma" : ".weight"), name + ".weight", size);
  to.bias(key + (spelling.variant ? ".beta" : ".bias"), name + ".bias", size);
}

void lay_out_linear(Layout& to, const std::string& key, const std::string& name, std::uint64_t out,
                    std::uint64_t in) {
  to.matrix(key + ".weight", name + ".weight", {out, in});
  to.bias(key + ".bias", name + ".bias", out);
}

void lay_out_encoder_embeddings(Layout& to, const Spelling& spelling, const std::string& root,
                                const TinySizes& s, std::uint64_t width) {
  to.table(root + "embeddings.word_embeddings.weight", "word.weight", {s.vocabulary, width});
  to.table(root + "embeddings.position_embeddings.weight", "position.weight", {s.positions, width});
  to.table(root + "embeddings.token_type_embeddings.weight", "type.weight", {2, width});
  lay_out_norm(to, spelling, root + "embeddings.LayerNorm", "embedding_norm", width);
  if (!spelling.extras) return;
  to.extra(root + "embeddings.position_ids", {1, s.positions}, Dtype::i64);
  to.extra(root + "pooler.dense.weight", {s.dim, s.dim});
  to.extra(root + "pooler.dense.bias", {s.dim});
}

void lay_out_bert(Layout& to, const Spelling& spelling, const TinySizes& s) {
  const std::string root = spelling.prefix ? "bert." : "";
  const std::uint64_t d = s.dim;
  lay_out_encoder_embeddings(to, spelling, root, s, d);
  for (std::uint64_t i = 0; i < s.layers; ++i) {
    const std::string key = root + "encoder.layer." + std::to_string(i) + ".",
                      name = "layer" + std::to_string(i) + ".";
    lay_out_linear(to, key + "attention.self.query", name + "query", d, d);
    lay_out_linear(to, key + "attention.self.key", name + "key", d, d);
    lay_out_linear(to, key + "attention.self.value", name + "value", d, d);
    lay_out_linear(to, key + "attention.output.dense", name + "dense", d, d);
    lay_out_norm(to, spelling, key + "attention.output.LayerNorm", name + "attention_norm", d);
    lay_out_linear(to, key + "intermediate.dense", name + "ffn", s.ffn, d);
    lay_out_linear(to, key + "output.dense", name + "ffn_output", d, s.ffn);
    lay_out_norm(to, spelling, key + "output.LayerNorm", name + "output_norm", d);
  }
  if (!spelling.extras) return;
  to.extra("cls.predictions.bias", {s.vocabulary});
  to.extra("cls.predictions.transform.dense.weight", {d, d});
  to.extra("cls.predictions.transform.LayerNorm.gamma", {d});
  to.extra("cls.seq_relationship.weight", {2, d});
}

void lay_out_albert(Layout& to, const Spelling& spelling, const TinySizes& s) {
  const std::string root = spelling.prefix ? "albert." : "",
                    key = root + "encoder.albert_layer_groups.0.albert_layers.0.";
  const std::uint64_t d = s.dim;
  lay_out_encoder_embeddings(to, spelling, root, s, s.embedding);
  lay_out_linear(to, root + "encoder.embedding_hidden_mapping_in", "embedding_map", d, s.embedding);
  lay_out_linear(to, key + "attention.query", "layer0.query", d, d);
  lay_out_linear(to, key + "attention.key", "layer0.key", d, d);
  lay_out_linear(to, key + "attention.value", "layer0.value", d, d);
  lay_out_linear(to, key + "attention.dense", "layer0.dense", d, d);
  lay_out_norm(to, spelling, key + "attention.LayerNorm", "layer0.attention_norm", d);
  lay_out_linear(to, key + "ffn", "layer0.ffn", s.ffn, d);
  lay_out_linear(to, key + "ffn_output", "layer0.ffn_output", d, s.ffn);
  lay_out_norm(to, spelling, key + "full_layer_layer_norm", "layer0.output_norm", d);
  if (!spelling.extras) return;
  to.extra("predictions.dense.weight", {s.embedding, d});
  to.extra("predictions.decoder.weight", {s.vocabulary, s.embedding});
  to.extra("predictions.LayerNorm.bias", {s.embedding});
}

void lay_out_gpt2(Layout& to, const Spelling& spelling, const TinySizes& s) {
  const std::string root = spelling.prefix ? "transformer." : "";
  const std::uint64_t d = s.dim;
  to.table(root + "wte.weight", "wte.weight", {s.vocabulary, d});
  to.table(root + "wpe.weight", "wpe.weight", {s.positions, d});
  for (std::uint64_t i = 0; i < s.layers; ++i) {
    const std::string key = root + "h." + std::to_string(i) + ".",
                      name = "layer" + std::to_string(i) + ".";
    for (const std::string norm : {"ln_1", "ln_2"}) {
      to.gain(key + norm + ".weight", name + norm + ".weight", d);
      to.bias(key + norm + ".bias", name + norm + ".bias", d);
    }
    to.transposed(key + "attn.c_attn.weight", name + "attn.c_attn.weight", {d, 3 * d});
    to.transposed(key + "attn.c_proj.weight", name + "attn.c_proj.weight", {d, d});
    to.transposed(key + "mlp.c_fc.weight", name + "mlp.c_fc.weight", {d, s.ffn});
    to.transposed(key + "mlp.c_proj.weight", name + "mlp.c_proj.weight", {s.ffn, d});
    to.bias(key + "attn.c_attn.bias", name + "attn.c_attn.bias", 3 * d);
    to.bias(key + "attn.c_proj.bias", name + "attn.c_proj.bias", d);
    to.bias(key + "mlp.c_fc.bias", name + "mlp.c_fc.bias", s.ffn);
    to.bias(key + "mlp.c_proj.bias", name + "mlp.c_proj.bias", d);
    if (!spelling.extras) continue;
    to.extra(key + "attn.bias", {1, 1, s.positions, s.positions});
    to.extra(key + "attn.masked_bias", {});
  }
  to.gain(root + "ln_f.weight", "ln_f.weight", d);
  to.bias(root + "ln_f.bias", "ln_f.bias", d);
  if (spelling.extras) to.extra("lm_head.weight", {s.vocabulary, d});
}

}  // namespace

std::vector<TinyTensor> tiny_layout(const std::string& model, const Spelling& spelling,
                                    const TinySizes& sizes) {
  Layout layout;
  if (model == "mamba2") lay_out_mamba2(layout, spelling, sizes);
  if (model == "bert") lay_out_bert(layout, spelling, sizes);
  if (model == "albert") lay_out_albert(layout, spelling, sizes);
  if (model == "gpt2") lay_out_gpt2(layout, spelling, sizes);
  return std::move(layout.tensors);
}

std::vector<Spelling> spellings_of(const std::string& model) {
  std::vector<Spelling> all;
  for (const bool prefix : {true, false}) {
    for (const bool variant : {false, true}) {
      for (const bool extras : {false, true}) {
        if (model != "gpt2" || !variant) all.push_back({prefix, variant, extras});
      }
    }
  }
  return all;
}
