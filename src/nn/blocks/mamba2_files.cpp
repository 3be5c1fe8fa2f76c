// Published files of Mamba-2: state-spaces/mamba2-* and their conversions.
#include <algorithm>
#include <optional>

#include "io/config_keys.hpp"
#include "nn/blocks/layout.hpp"
#include "nn/blocks/model_config.hpp"

namespace ranklab {
namespace {

void list_mamba2_layer(const ModelSpec& spec, TensorList& list) {
  const std::uint64_t width = 2 * spec.dim, shared = 2 * spec.groups * spec.state;  // d_i; B and C
  list.add("norm.weight", {spec.dim});
  list.add("mixer.dt_bias", {spec.heads});
  list.add("mixer.A_log", {spec.heads});
  list.add("mixer.D", {spec.heads});
  list.add("mixer.in_proj.weight", {2 * width + shared + spec.heads, spec.dim});
  list.add("mixer.conv1d.weight", {width + shared, 1, spec.taps});
  list.add("mixer.conv1d.bias", {width + shared});
  list.add("mixer.norm.weight", {width});
  list.add("mixer.out_proj.weight", {spec.dim, width});
}

// Sets n from the number of channels of the convolution.
void take_state(const PublishedShapes& file, ModelSpec& spec) {
  const std::string mixer = "layer0.mixer.";
  const std::uint64_t width = file.size_of(mixer + "norm.weight", 1, 0),
                      channels = file.size_of(mixer + "conv1d.weight", 3, 0);
  if (width != 2 * spec.dim) {
    file.refuse(mixer + "norm.weight", "is " + std::to_string(width) + ", expected " +
                                           std::to_string(2 * spec.dim) +
                                           ", twice the width of the embedding");
  }
  if (width % spec.heads != 0) {
    file.refuse(mixer + "dt_bias", "has " + std::to_string(spec.heads) +
                                       " heads, which do not divide the " + std::to_string(width) +
                                       " channels");
  }
  const std::uint64_t parts = 2 * std::max<std::uint64_t>(spec.groups, 1);
  if (channels <= width || (channels - width) % parts != 0) {
    file.refuse(mixer + "conv1d.weight",
                "has " + std::to_string(channels) + " channels, expected " + std::to_string(width) +
                    " + " + std::to_string(parts) +
                    " n for n states (groups: " + std::to_string(parts / 2) + ")");
  }
  spec.state = (channels - width) / parts;
}

// Recognizes MambaConfig of `mamba_ssm`, which has no model type.
bool is_state_spaces_config(const ConfigKeys& keys) {
  return keys.has("ssm_cfg") || keys.has("d_model");
}

void read_state_spaces_config(const ConfigKeys& keys, ModelConfig& config) {
  constexpr const char* mamba1_is_not_supported =
      "Mamba-1 layers are not supported; allowed: \"Mamba2\"";
  const ConfigKeys ssm = keys.object("ssm_cfg");
  const std::optional<std::string> layer = ssm.text("layer");
  if (!layer)
    ssm.fail("layer", std::string("is not given, which means Mamba1; ") + mamba1_is_not_supported);
  if (layer == "Mamba1") ssm.fail("layer", std::string("is Mamba1; ") + mamba1_is_not_supported);
  ssm.require("layer", "Mamba2");
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
  // Channels outside of the state-space part would pass through a separate net.
  if (ssm.has("d_ssm")) ssm.fail("d_ssm", "is given, which is not supported; allowed: null");
}

// Keys of Mamba2Config of `transformers`. norm_before_gate is ignored: version 4.44 wrote `true`
// for weights whose gate comes first, and did not use the key; later versions do not have it.
void read_mamba2_config(const ConfigKeys& keys, ModelConfig& config) {
  constexpr std::uint64_t published_multiple = 16;
  const std::optional<ConfigSize> multiple = keys.size({"pad_vocab_size_multiple"});
  config.vocabulary_multiple = multiple ? multiple->value : published_multiple;
  if (!keys.has("model_type")) return read_state_spaces_config(keys, config);
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

}  // namespace

PublishedLayout mamba2_layout() {
  return PublishedLayout{
      .prefix = "backbone.",
      // Mamba-1 has a dt_proj and no inner norm.
      .characteristic = {"layers.0.mixer.dt_bias", "layers.0.mixer.norm.weight"},
      .layers = "layers.",
      .heads = {"lm_head.weight"},
      .embedding =
          [](const ModelSpec& spec, TensorList& list) {
            list.add_spellings("embedding", {"embedding.weight", "embeddings.weight"},
                               {spec.vocabulary, spec.dim});
          },
      .layer = list_mamba2_layer,
      .final_norm = [](const ModelSpec& spec,
                       TensorList& list) { list.add("norm_f.weight", {spec.dim}); },
      .sizes = {{&ModelSpec::vocabulary, "embedding", 2, 0},
                {&ModelSpec::dim, "embedding", 2, 1},
                {&ModelSpec::heads, "layer0.mixer.dt_bias", 1, 0},
                {&ModelSpec::taps, "layer0.mixer.conv1d.weight", 3, 2}},
      .further_sizes = take_state,
      .read_config = read_mamba2_config,
      .recognizes = is_state_spaces_config};
}

}  // namespace ranklab
