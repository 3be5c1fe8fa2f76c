// The configuration of a sequence model (sequence_model.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nn/layers/attention_mixer.hpp"
#include "nn/layers/skip_block.hpp"

namespace ranklab {

enum class MixerKind { attention, linear_attention, mamba2, mamba1, s4d };

struct SequenceShape : SkipBlockShape {
  MixerKind mixer = MixerKind::attention;
  std::uint64_t layers = 2, length = 32;
  std::uint64_t heads = 1;  // of attention
  bool causal = true;       // of both attentions; state-space models are always causal
  AttentionMaps maps;       // of softmax attention
  // Softmax attention: rotated queries and keys instead of positions at the input; queries and keys
  // of each head with mean square 1, as in AttentionShape.
  bool rotary = false, qk_norm = false;
  // Softmax attention, causal, d even: relative positions, and no positions at the input.
  bool relative = false;
  std::uint64_t inputs = 0;       // p; 0: tokens are ids
  std::uint64_t vocabulary = 64;  // V, for ids
  // Classes of a sequence; 0: each queried token is answered by a token of the vocabulary.
  std::uint64_t classes = 0;
  // For sequences of numbers: a learned first token, counted in T, which alone is read out.
  bool class_token = false;
  std::optional<bool> final_norm;    // default: with `pre` blocks
  bool scaled_table = false;         // for ids: R_0 = sqrt(d) E[id]
  bool embedding_norm = false;       // for ids: R_0 = norm(E[id]), without gain
  bool output_bias = false;          // for ids: b
  bool untied_head = false;          // for ids: W_h (V, d) instead of E', without bias
  std::string mixer_name = "mixer";  // in the names of the mixers' parameters; may be empty

  bool has_positions() const;
  bool has_final_norm() const { return final_norm.value_or(!post); }
};

}  // namespace ranklab
