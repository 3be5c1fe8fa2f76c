// The config.json of a published model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ranklab {

class ConfigKeys;

/// What a config says, whichever keys of the libraries say it; what it does not say is empty.
struct ModelConfig {
  std::string path;
  std::optional<std::string> model;         // the name of its row
  std::optional<std::uint64_t> layers;      // num_hidden_layers, n_layer
  std::optional<std::uint64_t> dim;         // hidden_size, d_model, n_embd
  std::optional<std::uint64_t> heads;       // num_attention_heads, n_head, num_heads
  std::optional<std::uint64_t> ffn;         // intermediate_size, n_inner
  std::optional<std::uint64_t> embedding;   // embedding_size
  std::optional<std::uint64_t> vocabulary;  // vocab_size; mamba2's, before it is padded to a multiple
  std::optional<std::uint64_t> positions;   // max_position_embeddings, n_positions
  std::optional<std::uint64_t> types;       // type_vocab_size
  // mamba2: state_size/d_state, n_groups/ngroups, conv_kernel/d_conv, head_dim/headdim, expand
  std::optional<std::uint64_t> state, groups, taps, head_width, expand;
  std::optional<double> norm_epsilon;     // layer_norm_eps, layer_norm_epsilon, norm_epsilon
  std::optional<std::string> activation;  // "gelu", "gelu-tanh", "relu", "silu"
};

/// Reads a config.json. Throws Failure that names the file and the key: not JSON, a value of the wrong type or out of range, a
/// model type of which no weights are read, and any setting that changes the equations to what is not built here (several groups
/// of ALBERT layers, relative positions, Mamba-1 layers, attention layers within Mamba-2, ...).
ModelConfig read_model_config(const std::string& path);

/// For rows: gelu by the error function, and its approximation by tanh under two names.
std::optional<std::string> read_activation(const ConfigKeys& keys, const char* key);

}  // namespace ranklab
