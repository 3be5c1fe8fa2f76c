#include "experiments/one_step_compare/gpt/save.hpp"

#include <nlohmann/json.hpp>

#include "io/atomic_file.hpp"
#include "training/tensors_to_write.hpp"

namespace ranklab::gpt {
namespace {

bool is_gpt2(const GptShape& shape) {
  return shape.norm == Norm::layer && shape.learned_positions && !shape.qk_norm &&
         shape.activation->name == "gelu";
}

/// GPT-2 stores its weights (in, out), which is the column-major memory order of (out, in).
template <class T>
std::vector<TensorToWrite> gpt2_tensors(const Gpt<T>& model) {
  const std::uint64_t d = model.shape().dim;
  std::vector<TensorToWrite> out = {transposed("transformer.wte.weight", model.embedding().W),
                                    transposed("transformer.wpe.weight", model.positions()->W)};
  const auto add_norm = [&](const std::string& name) {
    out.push_back(constant<T>(name + ".weight", d, 1));
    out.push_back(constant<T>(name + ".bias", d, 0));
  };
  const auto add_map = [&](const std::string& name, const arma::Mat<T>& W) {
    out.push_back(transposed(name + ".weight", W));
    out.push_back(constant<T>(name + ".bias", W.n_rows, 0));
  };
  for (std::uint64_t l = 0; l < model.shape().layers; ++l) {
    const std::string h = "transformer.h." + std::to_string(l) + ".";
    add_norm(h + "ln_1");
    const GptLayer<T>& layer = model.layer(l);
    add_map(h + "attn.c_attn", arma::join_cols(layer.Wq.W, layer.Wk.W, layer.Wv.W));
    add_map(h + "attn.c_proj", layer.Wo.W);
    add_norm(h + "ln_2");
    add_map(h + "mlp.c_fc", layer.W1.W);
    add_map(h + "mlp.c_proj", layer.W2.W);
  }
  add_norm("transformer.ln_f");
  out.push_back(tensor("lm_head.weight", model.head().W));
  return out;
}

}  // namespace

std::string file_at(const std::string& file, std::uint64_t step, std::uint64_t last) {
  if (step == last) return file;
  return replace_extension(file, ".step" + std::to_string(step) + ".safetensors");
}

template <class T>
void save_weights(const Gpt<T>& model, const std::string& file) {
  const GptShape& shape = model.shape();
  if (!is_gpt2(shape)) {
    std::vector<TensorToWrite> out;
    for (const auto& [parameter, role, l, block] : model.weights()) {
      // Tables are stored with one token per row.
      const bool table = role == WeightRole::embedding || role == WeightRole::positions;
      out.push_back(table ? transposed(parameter->name, parameter->W)
                          : tensor(parameter->name, parameter->W));
    }
    return write_safetensors(file, out);
  }
  const nlohmann::ordered_json config = {{"model_type", "gpt2"},
                                         {"n_layer", shape.layers},
                                         {"n_embd", shape.dim},
                                         {"n_head", shape.heads},
                                         {"n_inner", shape.hidden},
                                         {"n_positions", shape.context},
                                         {"vocab_size", shape.vocabulary},
                                         {"activation_function", "gelu"},
                                         {"layer_norm_epsilon", shape.norm_epsilon()},
                                         {"tie_word_embeddings", false}};
  write_file_atomically(replace_extension(file, ".config.json"), config.dump(2) + "\n");
  write_safetensors(file, gpt2_tensors(model));
}

template <class T>
void save_recording(const Gpt<T>& model, const Moments& moments, const std::string& folder,
                    std::uint64_t step) {
  const std::string place = folder + "/step" + std::to_string(step) + "/";
  nlohmann::ordered_json layers = nlohmann::ordered_json::array(),
                         others = nlohmann::ordered_json::object();
  for (const auto& [parameter, role, l, block] : model.weights()) {
    const std::string& name = parameter->name;
    if (role == WeightRole::positions) {
      others[name] = "a position table, added to every token";
      continue;
    }
    const bool table = role == WeightRole::embedding, head = role == WeightRole::head;
    // The input of Wo is H. activation_of follows Table 1 of the paper, which compares Wo with A.
    const std::string activation =
                          head ? "Af" : in_layer(l, block == "Wo" ? "H" : activation_of(block)),
                      file = std::to_string(layers.size()) + ".safetensors";
    std::vector<TensorToWrite> tensors = {
        tensor<double>("gradient", arma::conv_to<arma::mat>::from(parameter->G))};
    if (table) {
      tensors.push_back({"counts",
                         Dtype::f64,
                         {moments.counts().size()},
                         bytes_of<double>(arma::vec(moments.counts()))});
    } else {
      tensors.push_back(tensor<double>("second_moment", moments.second_moment(activation)));
    }
    write_safetensors(place + file, tensors);
    layers.push_back({{"name", name},
                      {"parameter", name},
                      {"role", table  ? "embedding"
                               : head ? "head"
                                      : "hidden"},
                      {"samples", static_cast<std::uint64_t>(moments.tokens())},
                      {"parts", 0},
                      {"first_part", 1},
                      {"file", file}});
  }
  // Written last, so that a recording never names a missing file.
  write_file_atomically(place + "recording.json",
                        nlohmann::ordered_json{{"format", "ranklab.recording/1"},
                                               {"layers", layers},
                                               {"not_seen", others},
                                               {"tied", nlohmann::ordered_json::object()}}
                                .dump(1) +
                            "\n");
}

template void save_weights<float>(const Gpt<float>&, const std::string&);
template void save_weights<double>(const Gpt<double>&, const std::string&);
template void save_recording<float>(const Gpt<float>&, const Moments&, const std::string&,
                                    std::uint64_t);
template void save_recording<double>(const Gpt<double>&, const Moments&, const std::string&,
                                     std::uint64_t);

}  // namespace ranklab::gpt
