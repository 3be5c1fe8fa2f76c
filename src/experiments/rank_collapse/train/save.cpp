// Writes trained weights in the layouts of GPT-2 and Mamba-2, which `rank-collapse --weights`
// reads, for language models with such blocks. Other models are written under the names of their
// parameters.
#include <nlohmann/json.hpp>

#include "experiments/rank_collapse/train/train.hpp"
#include "io/atomic_file.hpp"
#include "training/layers/mamba2.hpp"
#include "training/tensors_to_write.hpp"

namespace ranklab::train {
namespace {

template <class T>
class TensorList {
 public:
  explicit TensorList(const SequenceModel<T>& model) : model_(model) {}

  void add(TensorToWrite&& one) { tensors_.push_back(std::move(one)); }
  const arma::Mat<T>& of(const std::string& parameter) const {
    return model_.parameter(parameter).W;
  }
  void vector(const std::string& key, const std::string& parameter) {
    add(vector_tensor(key, of(parameter)));
  }
  void map(const std::string& key, const std::string& parameter) {
    add(tensor(key, of(parameter)));
  }
  /// Stored as (in, out), or one table entry per row: the memory order of the columns of (out, in).
  void add_transposed(const std::string& key, const std::string& parameter) {
    add(transposed(key, of(parameter)));
  }
  const std::vector<TensorToWrite>& list() const { return tensors_; }

 private:
  const SequenceModel<T>& model_;
  std::vector<TensorToWrite> tensors_;
};

bool is_language_model(const SequenceShape& shape) {
  return shape.inputs == 0 && shape.classes == 0 && !shape.post && shape.causal &&
         !shape.learns_lambda;
}

bool is_gpt2(const SequenceShape& shape) {
  return is_language_model(shape) && shape.mixer == MixerKind::attention &&
         shape.norm == Norm::layer && shape.hidden > 0;
}

bool is_mamba2(const SequenceShape& shape) {
  return is_language_model(shape) && shape.mixer == MixerKind::mamba2 && shape.norm == Norm::rms &&
         shape.hidden == 0;
}

template <class T>
std::vector<TensorToWrite> gpt2_tensors(const SequenceModel<T>& model) {
  const std::uint64_t d = model.shape().dim;
  TensorList<T> out(model);
  const auto norm = [&](const std::string& key, const std::string& parameter) {
    out.vector(key + ".weight", parameter + ".gain");
    out.vector(key + ".bias", parameter + ".bias");
  };
  out.add_transposed("transformer.wte.weight", "embedding");
  out.add_transposed("transformer.wpe.weight", "positions");
  for (std::uint64_t l = 0; l < model.shape().layers; ++l) {
    const std::string h = "transformer.h." + std::to_string(l) + ".",
                      layer = "layer" + std::to_string(l) + ".", mixer = layer + "mixer.";
    norm(h + "ln_1", layer + "norm1");
    out.add(transposed<T>(
        h + "attn.c_attn.weight",
        arma::join_cols(out.of(mixer + "Wq"), out.of(mixer + "Wk"), out.of(mixer + "Wv"))));
    out.add(constant<T>(h + "attn.c_attn.bias", 3 * d, 0));
    out.add_transposed(h + "attn.c_proj.weight", mixer + "Wo");
    out.add(constant<T>(h + "attn.c_proj.bias", d, 0));
    norm(h + "ln_2", layer + "norm2");
    for (const auto& [key, number] : {std::pair{"mlp.c_fc", "1"}, {"mlp.c_proj", "2"}}) {
      out.add_transposed(h + key + ".weight", layer + "W" + number);
      out.vector(h + key + std::string(".bias"), layer + "b" + number);
    }
  }
  norm("transformer.ln_f", "norm");
  return out.list();
}

template <class T>
std::vector<TensorToWrite> mamba2_tensors(const SequenceModel<T>& model) {
  TensorList<T> out(model);
  out.add_transposed("backbone.embedding.weight", "embedding");
  for (std::uint64_t l = 0; l < model.shape().layers; ++l) {
    const std::string key = "backbone.layers." + std::to_string(l) + ".",
                      layer = "layer" + std::to_string(l) + ".", mixer = layer + "mixer.";
    out.vector(key + "norm.weight", layer + "norm1.gain");
    for (const char* name : {"dt_bias", "A_log", "D"})
      out.vector(key + "mixer." + name, mixer + name);
    out.map(key + "mixer.in_proj.weight", mixer + "in_proj");
    TensorToWrite taps = tensor(key + "mixer.conv1d.weight", out.of(mixer + "conv.weight"));
    taps.shape = {taps.shape[0], 1, taps.shape[1]};
    out.add(std::move(taps));
    out.vector(key + "mixer.conv1d.bias", mixer + "conv.bias");
    out.vector(key + "mixer.norm.weight", mixer + "norm");
    out.map(key + "mixer.out_proj.weight", mixer + "out_proj");
  }
  out.vector("backbone.norm_f.weight", "norm.gain");
  return out.list();
}

}  // namespace

template <class T>
void save_weights(const SequenceModel<T>& model, const std::string& file) {
  const SequenceShape& shape = model.shape();
  if (is_mamba2(shape)) {
    const Mamba2Shape of;
    const nlohmann::ordered_json config = {{"model_type", "mamba2"},
                                           {"num_hidden_layers", shape.layers},
                                           {"hidden_size", shape.dim},
                                           {"num_heads", 2 * shape.dim / of.head_width},
                                           {"head_dim", of.head_width},
                                           {"state_size", of.state},
                                           {"n_groups", 1},
                                           {"expand", 2},
                                           {"conv_kernel", 4},
                                           {"vocab_size", shape.vocabulary},
                                           {"layer_norm_epsilon", 1e-5},
                                           {"hidden_act", "silu"},
                                           {"use_bias", false},
                                           {"use_conv_bias", true},
                                           {"rms_norm", true},
                                           {"tie_word_embeddings", true}};
    write_file_atomically(replace_extension(file, ".config.json"), config.dump(2) + "\n");
    return write_safetensors(file, mamba2_tensors(model));
  }
  if (is_gpt2(shape)) {
    const nlohmann::ordered_json config = {{"model_type", "gpt2"},
                                           {"n_layer", shape.layers},
                                           {"n_embd", shape.dim},
                                           {"n_head", shape.heads},
                                           {"n_inner", shape.hidden},
                                           {"n_positions", shape.length},
                                           {"vocab_size", shape.vocabulary},
                                           {"activation_function", "gelu"},
                                           {"layer_norm_epsilon", 1e-5},
                                           {"tie_word_embeddings", true}};
    write_file_atomically(replace_extension(file, ".config.json"), config.dump(2) + "\n");
    return write_safetensors(file, gpt2_tensors(model));
  }
  std::vector<TensorToWrite> out;
  for (const Parameter<T>* parameter : model.parameters()) {
    // Tables are stored with one entry per row.
    const bool table =
        parameter->name == "positions" || (parameter->name == "embedding" && shape.inputs == 0);
    out.push_back(table ? transposed(parameter->name, parameter->W)
                        : tensor(parameter->name, parameter->W));
  }
  write_safetensors(file, out);
}

template void save_weights<float>(const SequenceModel<float>&, const std::string&);
template void save_weights<double>(const SequenceModel<double>&, const std::string&);

}  // namespace ranklab::train
