// The config.json of a published model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/config_keys.hpp"

namespace ranklab {

/// The values of a config, under any of the key names that libraries use; missing values are empty.
struct ModelConfig {
  std::string path;
  std::optional<std::string> model;     // the name of its row
  std::optional<ConfigSize> layers;     // num_hidden_layers, n_layer
  std::optional<ConfigSize> dim;        // hidden_size, d_model, n_embd
  std::optional<ConfigSize> heads;      // num_attention_heads, n_head, num_heads
  std::optional<ConfigSize> ffn;        // intermediate_size, n_inner
  std::optional<ConfigSize> embedding;  // embedding_size
  // vocab_size; the table of tokens may be padded to a multiple of pad_vocab_size_multiple (mamba2)
  std::optional<ConfigSize> vocabulary;
  std::uint64_t vocabulary_multiple = 1;
  std::optional<ConfigSize> positions;  // max_position_embeddings, n_positions
  std::optional<ConfigSize> types;      // type_vocab_size
  // mamba2: state_size/d_state, n_groups/ngroups, conv_kernel/d_conv, head_dim/headdim, expand
  std::optional<ConfigSize> state, groups, taps, head_width, expand;
  std::optional<double> norm_epsilon;     // layer_norm_eps, layer_norm_epsilon, norm_epsilon
  std::optional<std::string> activation;  // "gelu", "gelu-tanh", "relu", "silu"
};

/// Reads a config.json. Throws a Failure that names the file and the key if the file is not JSON,
/// if a value has the wrong type or range, if no weights of the model type can be read, or if a
/// setting requires equations that are not implemented (several groups of ALBERT layers, relative
/// positions, Mamba-1 layers, attention layers within Mamba-2, ...).
ModelConfig read_model_config(const std::string& path);

/// Reads an activation: gelu by the error function, its tanh approximation under two names, or
/// relu.
std::optional<std::string> read_activation(const ConfigKeys& keys, const char* key);

}  // namespace ranklab
