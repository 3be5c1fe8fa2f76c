#include "nn/saved_weights.hpp"

#include <nlohmann/json.hpp>

#include "io/atomic_file.hpp"
#include "nn/layers/mamba2.hpp"
#include "nn/tensors_to_write.hpp"

namespace ranklab {
namespace {

bool is_language_model(const SequenceShape& shape) {
  return shape.inputs == 0 && shape.classes == 0 && !shape.post && !shape.de_escalation &&
         shape.causal && !shape.learns_lambda && shape.has_final_norm() && !shape.scaled_table &&
         !shape.embedding_norm && !shape.output_bias;
}

bool is_gpt2(const SequenceShape& shape) {
  return is_language_model(shape) && shape.mixer == MixerKind::attention && shape.has_positions() &&
         !shape.qk_norm && shape.maps.output && !shape.maps.input_biases &&
         shape.norm == Norm::layer && shape.hidden > 0 && shape.activation->name == "gelu";
}

bool is_mamba2(const SequenceShape& shape) {
  return is_language_model(shape) && shape.mixer == MixerKind::mamba2 && shape.norm == Norm::rms &&
         shape.norm_gains && shape.hidden == 0 && !shape.untied_head;
}

/// The parameter as a vector. Without a parameter: a vector of this size, all entries `value`.
template <class T>
TensorToWrite vector_or(const std::string& key, const Parameter<T>* parameter, std::uint64_t size,
                        T value) {
  return parameter ? vector_tensor(key, parameter->W) : constant<T>(key, size, value);
}

/// GPT-2 stores its weights (in, out), which is the column-major memory order of (out, in).
template <class T>
std::vector<TensorToWrite> gpt2_tensors(const SequenceModel<T>& model) {
  const std::uint64_t d = model.shape().dim;
  std::vector<TensorToWrite> out = {transposed("transformer.wte.weight", model.embedding().W),
                                    transposed("transformer.wpe.weight", model.positions()->W)};
  const auto add_norm = [&](const std::string& key, const AffineNorm<T>& norm) {
    out.push_back(vector_or<T>(key + ".weight", norm.gain(), d, 1));
    out.push_back(vector_or<T>(key + ".bias", norm.bias(), d, 0));
  };
  const auto add_map = [&](const std::string& key, const arma::Mat<T>& W, const Parameter<T>* b) {
    out.push_back(transposed(key + ".weight", W));
    out.push_back(vector_or<T>(key + ".bias", b, W.n_rows, 0));
  };
  const auto or_null = [](const std::optional<Parameter<T>>& b) { return b ? &*b : nullptr; };
  for (std::uint64_t l = 0; l < model.shape().layers; ++l) {
    const std::string h = "transformer.h." + std::to_string(l) + ".";
    const SkipBlock<T>& block = model.block(l);
    const auto& attention = dynamic_cast<const AttentionMixer<T>&>(block.mixer());
    const auto& net = *block.net();
    add_norm(h + "ln_1", block.norm());
    add_map(h + "attn.c_attn",
            arma::join_cols(attention.q().W.W, attention.k().W.W, attention.v().W.W), nullptr);
    add_map(h + "attn.c_proj", attention.o()->W.W, or_null(attention.o()->b));
    add_norm(h + "ln_2", net.norm);
    add_map(h + "mlp.c_fc", net.W1.W, or_null(net.b1));
    add_map(h + "mlp.c_proj", net.W2.W, or_null(net.b2));
  }
  add_norm("transformer.ln_f", *model.final_norm());
  if (model.head()) out.push_back(tensor("lm_head.weight", model.head()->W));
  return out;
}

nlohmann::ordered_json gpt2_config(const SequenceShape& shape) {
  return {{"model_type", "gpt2"},
          {"n_layer", shape.layers},
          {"n_embd", shape.dim},
          {"n_head", shape.heads},
          {"n_inner", shape.hidden},
          {"n_positions", shape.length},
          {"vocab_size", shape.vocabulary},
          {"activation_function", "gelu"},
          {"layer_norm_epsilon", shape.norm_epsilon},
          {"tie_word_embeddings", !shape.untied_head}};
}

template <class T>
std::vector<TensorToWrite> mamba2_tensors(const SequenceModel<T>& model) {
  const auto of = [&](const std::string& name) -> const arma::Mat<T>& {
    return model.parameter(name).W;
  };
  std::vector<TensorToWrite> out = {transposed("backbone.embedding.weight", model.embedding().W)};
  for (std::uint64_t l = 0; l < model.shape().layers; ++l) {
    const std::string key = "backbone.layers." + std::to_string(l) + ".",
                      layer = "layer" + std::to_string(l) + ".", mixer = layer + "mixer.";
    out.push_back(vector_tensor(key + "norm.weight", of(layer + "norm1.gain")));
    for (const char* name : {"dt_bias", "A_log", "D"})
      out.push_back(vector_tensor(key + "mixer." + name, of(mixer + name)));
    out.push_back(tensor(key + "mixer.in_proj.weight", of(mixer + "in_proj")));
    TensorToWrite& taps =
        out.emplace_back(tensor(key + "mixer.conv1d.weight", of(mixer + "conv.weight")));
    taps.shape = {taps.shape[0], 1, taps.shape[1]};
    out.push_back(vector_tensor(key + "mixer.conv1d.bias", of(mixer + "conv.bias")));
    out.push_back(vector_tensor(key + "mixer.norm.weight", of(mixer + "norm")));
    out.push_back(tensor(key + "mixer.out_proj.weight", of(mixer + "out_proj")));
  }
  out.push_back(vector_tensor("backbone.norm_f.weight", of("norm.gain")));
  return out;
}

nlohmann::ordered_json mamba2_config(const SequenceShape& shape) {
  const Mamba2Shape of;
  return {{"model_type", "mamba2"},
          {"num_hidden_layers", shape.layers},
          {"hidden_size", shape.dim},
          {"num_heads", 2 * shape.dim / of.head_width},
          {"head_dim", of.head_width},
          {"state_size", of.state},
          {"n_groups", 1},
          {"expand", 2},
          {"conv_kernel", 4},
          {"vocab_size", shape.vocabulary},
          {"layer_norm_epsilon", shape.norm_epsilon},
          {"hidden_act", "silu"},
          {"use_bias", false},
          {"use_conv_bias", true},
          {"rms_norm", true},
          {"tie_word_embeddings", true}};
}

template <class T>
std::vector<TensorToWrite> named_tensors(const SequenceModel<T>& model) {
  std::vector<TensorToWrite> out;
  for (const Parameter<T>* parameter : model.parameters()) {
    // Tables are stored with one entry per row.
    const bool table = parameter == model.positions() ||
                       (parameter == &model.embedding() && model.shape().inputs == 0);
    out.push_back(table ? transposed(parameter->name, parameter->W)
                        : tensor(parameter->name, parameter->W));
  }
  return out;
}

}  // namespace

template <class T>
void save_weights(const SequenceModel<T>& model, const std::string& file) {
  const SequenceShape& shape = model.shape();
  const auto write_config = [&](const nlohmann::ordered_json& config) {
    write_file_atomically(weights_config_file(file), config.dump(2) + "\n");
  };
  if (is_mamba2(shape)) {
    write_config(mamba2_config(shape));
    write_safetensors(file, mamba2_tensors(model));
  } else if (is_gpt2(shape)) {
    write_config(gpt2_config(shape));
    write_safetensors(file, gpt2_tensors(model));
  } else {
    write_safetensors(file, named_tensors(model));
  }
}

std::string weights_config_file(const std::string& file) {
  return replace_extension(file, ".config.json");
}

template void save_weights<float>(const SequenceModel<float>&, const std::string&);
template void save_weights<double>(const SequenceModel<double>&, const std::string&);

}  // namespace ranklab
