// The keys are those of BertConfig, AlbertConfig, GPT2Config and Mamba2Config of the library `transformers`, and of MambaConfig
// of `mamba_ssm`. What they leave out of a file has the library's default there, and is left to the model's own value here:
// libraries differ in it (mamba2 of 4096 channels by default in one of them, of 2560 in the other).
#include "io/model_config.hpp"
#include "core/text.hpp"

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "io/atomic_file.hpp"
#include "io/config_keys.hpp"
#include "io/json_file.hpp"
#include "io/tensors/tensor_reader.hpp"

namespace ranklab {

namespace {

using nlohmann::json;

constexpr const char* mamba1_is_not_built = "Mamba-1 layers are not built here; allowed: \"Mamba2\"";

// gelu by the error function, and its approximation by tanh under two names.
std::optional<std::string> read_activation(const ConfigKeys& keys, const char* key) {
  std::optional<std::string> name = keys.text(key);
  if (!name || name == "gelu" || name == "relu") return name;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return "gelu-tanh";
  keys.fail(key, "is '" + printable_key(*name) + "', which is not built here; allowed: gelu, gelu_new, gelu_pytorch_tanh, relu");
}

void read_encoder(const ConfigKeys& keys, ModelConfig& config) {
  config.layers = keys.size({"num_hidden_layers"});
  config.dim = keys.size({"hidden_size"});
  config.heads = keys.size({"num_attention_heads"});
  config.ffn = keys.size({"intermediate_size"});
  config.vocabulary = keys.size({"vocab_size"});
  config.positions = keys.size({"max_position_embeddings"});
  config.norm_epsilon = keys.epsilon("layer_norm_eps");
  config.activation = read_activation(keys, "hidden_act");
  keys.require("position_embedding_type", "absolute");
  keys.require("is_decoder", false);
  keys.require("add_cross_attention", false);
  keys.require_empty("pruned_heads");
}

void read_albert(const ConfigKeys& keys, ModelConfig& config) {
  read_encoder(keys, config);
  config.embedding = keys.size({"embedding_size"});
  keys.require("num_hidden_groups", 1);
  keys.require("inner_group_num", 1);
}

void read_gpt2(const ConfigKeys& keys, ModelConfig& config) {
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

// norm_before_gate is passed over: 4.44 wrote `true` into files of weights whose gate comes first, and did not act on it;
// later versions do not have it.
void read_mamba2(const ConfigKeys& keys, ModelConfig& config) {
  config.layers = keys.size({"num_hidden_layers"});
  config.dim = keys.size({"hidden_size"});
  config.heads = keys.size({"num_heads"});
  config.head_width = keys.size({"head_dim"});
  config.state = keys.size({"state_size"});
  config.groups = keys.size({"n_groups"});
  config.taps = keys.size({"conv_kernel"});
  config.expand = keys.size({"expand"});
  config.vocabulary = keys.size({"vocab_size"});
  config.norm_epsilon = keys.epsilon("layer_norm_epsilon");
  config.activation = keys.text("hidden_act");
  keys.require("hidden_act", "silu");
  keys.require("use_bias", false);
  keys.require("use_conv_bias", true);
  keys.require("rms_norm", true);
  keys.require_no_limits("time_step_limit");
}

void read_state_spaces(const ConfigKeys& keys, ModelConfig& config) {
  const ConfigKeys ssm = keys.object("ssm_cfg");
  const std::optional<std::string> layer = ssm.text("layer");
  if (!layer) ssm.fail("layer", std::string("is not given, which means Mamba1; ") + mamba1_is_not_built);
  if (layer == "Mamba1") ssm.fail("layer", std::string("is Mamba1; ") + mamba1_is_not_built);
  ssm.require("layer", "Mamba2");
  config.model = "mamba2";
  config.layers = keys.size({"n_layer"});
  config.dim = keys.size({"d_model"});
  config.vocabulary = keys.size({"vocab_size"});
  config.state = ssm.size({"d_state"});
  config.head_width = ssm.size({"headdim"});
  config.groups = ssm.size({"ngroups"});
  config.taps = ssm.size({"d_conv"});
  config.expand = ssm.size({"expand"});
  config.norm_epsilon = keys.epsilon("norm_epsilon");
  keys.require("d_intermediate", 0);
  keys.require_empty("attn_layer_idx");
  keys.require("rms_norm", true);
  ssm.require("rmsnorm", true);
  ssm.require("norm_before_gate", false);
  ssm.require("D_has_hdim", false);
  ssm.require("bias", false);
  ssm.require("conv_bias", true);
  ssm.require_no_limits("dt_limit");
  // Channels beyond those of the state-space part would pass through a net of their own.
  if (ssm.has("d_ssm")) ssm.fail("d_ssm", "is given, which is not built here; allowed: null");
}

void read_family(const ConfigKeys& keys, ModelConfig& config) {
  config.model = keys.text("model_type");
  if (config.model == "bert") return read_encoder(keys, config);
  if (config.model == "albert") return read_albert(keys, config);
  if (config.model == "gpt2") return read_gpt2(keys, config);
  if (config.model == "mamba2") return read_mamba2(keys, config);
  if (config.model) {
    keys.fail("model_type", "is '" + printable_key(*config.model) + "', which is not built here" +
                                (config.model == "mamba" ? " (it is Mamba-1)" : "") + "; allowed: mamba2, bert, albert, gpt2");
  }
  if (keys.has("ssm_cfg") || keys.has("d_model")) return read_state_spaces(keys, config);
  keys.fail("model_type", "is missing, and no ssm_cfg shows a Mamba-2; allowed: mamba2, bert, albert, gpt2");
}

}  // namespace

ModelConfig read_model_config(const std::string& path) {
  const std::string label = printable(path);
  const json document = parse_json(without_infinity(read_json_text(path)), label);
  if (!document.is_object()) throw Failure(label + ": a config must be a JSON object");
  ModelConfig config;
  config.path = path;
  read_family(ConfigKeys(document, label), config);
  return config;
}

}  // namespace ranklab
