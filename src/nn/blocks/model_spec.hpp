// Specification of a stack of blocks: the name of the model, its sizes and its switches, as set by
// flags.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ranklab {

class Checkpoint;
struct ModelConfig;
struct ModelRow;

/// Token ids, one vector per sequence.
using TokenSequences = std::vector<std::vector<std::uint32_t>>;

/// The word of a choice that is left to the model.
inline constexpr char model_default[] = "own";

/// Fields with the value `model_default` (words) or 0 (sizes) get the default of the model's row in
/// `resolve_defaults` (model_row.hpp).
struct ModelSpec {
  std::string model = "attention";
  std::uint64_t layers = 32;  // K
  // N; default: 128, or the longest given sequence. Longer sequences are truncated.
  std::uint64_t tokens = 0;
  std::uint64_t dim = 256;  // d
  // h; default: heads of gcd(64, width) channels, or 1 for a model with one head.
  std::uint64_t heads = 0;
  std::uint64_t ffn = 0;               // q, width of the feed-forward net; default: 2 d or 4 d
  std::uint64_t state = 0;             // n, state size of a state-space model
  std::uint64_t vocabulary = 0;        // token ids
  std::uint64_t groups = 0;            // mamba2: heads k h/g ... share B and C; default: 1
  std::string norm = model_default;    // rows | layer | rms | none
  std::string gating = model_default;  // on | off; mamba2 and mamba1 have a gate
  std::string mlp = model_default;     // on | off; transformers have one
  std::string share_weights = model_default;  // on | off: one set of weights at every depth
  std::string input = model_default;          // gaussian | cone | tokens
  double zipf = 0.0;  // tokens: p(id) proportional to (id + 1)^-zipf; 0: uniform
  // cone: tokens are v + width g/sqrt(d), v a unit vector, g standard Gaussian.
  double cone_width = 0.5;
  double alpha = 1.0;         // post-norm, pre-norm: strength of self-attention
  double weight_scale = 1.0;  // factor on the standard deviation of every drawn weight matrix
  // 1/d | h/d: variance of W's entries in post-norm and pre-norm; [Shallow] prints h/d.
  std::string weight_variance = "1/d";
  // selective-ssm: alpha of [LambdaSkip] Assumption 4.1, A_t = alpha I, at most 1.
  double decay = 0.9;
  // attention | both: bert, albert, gpt2: which residual lambda multiplies.
  std::string lambda_at = "attention";
  // residual | mixer: mamba2: the block's skip, or a skip inside the mixer before the gate.
  std::string skip_at = "residual";
  std::string skip_input = "stream";  // stream | normed: mamba2: lambda multiplies R, or norm(R)
  std::string norm_off = "both";  // block | inner | both: mamba2: which norms --norm none removes

  // Files named by flags: weights, config.json, token ids. Empty: drawn at random.
  std::string weights = {}, model_config = {}, tokens_file = {};
  std::vector<std::string> ignore_tensors = {};  // globs of tensors to ignore in the weights

  // gaussian | orthogonal | identity: C_V of attention and linear-attention. Set by a study, or by
  // the name in a list of models.
  std::string value_weights = "gaussian";

  // Not set by flags, but by published weights and their config, otherwise by `resolve_defaults`.
  std::shared_ptr<const Checkpoint> checkpoint = {};     // the open weights; null: drawn
  std::shared_ptr<const ModelConfig> config = {};        // of the weights; null: none is given
  std::shared_ptr<const TokenSequences> sequences = {};  // trial t uses sequence t; null: drawn
  std::uint64_t trainings = 1;     // number of weight files of this model, one per training
  bool assumes_one_group = false;  // no flag or config gives the number of groups
  std::uint64_t positions = 0;     // rows of the table of positions
  std::uint64_t types = 2;  // rows of the table of token types; all tokens have the first type
  std::uint64_t taps = 4;   // mamba2, mamba1: taps of the convolution
  std::string activation = model_default;  // of the feed-forward net: gelu, gelu-tanh or relu
  double norm_epsilon = 0.0;
  // albert: width of the token embedding before the map to d; drawn: 128, at most d.
  std::uint64_t embedding = 0;

  /// The row of the model. Throws std::logic_error for an unknown model.
  const ModelRow& row() const;
  bool has_mlp() const { return mlp == "on"; }
  bool has_gate() const { return gating == "on"; }
  bool shares_weights() const { return share_weights == "on"; }
};

}  // namespace ranklab
