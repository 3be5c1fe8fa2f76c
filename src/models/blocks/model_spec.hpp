// What sequence model is stacked: the architecture's name, its sizes and its switches, as flags set them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ranklab {

class Checkpoint;
struct ModelRow;

/// Token ids, one sequence each.
using TokenSequences = std::vector<std::vector<std::uint32_t>>;

/// Fields that may say "own" (words) or 0 (sizes) take the model's own value, which its row says, in `settle` (model_row.hpp).
struct ModelSpec {
  std::string model = "attention";
  std::uint64_t layers = 32;               // K
  std::uint64_t tokens = 0;                // N; own: 128, of given sequences the longest. Given ones are cut to it
  std::uint64_t dim = 256;                 // d
  std::uint64_t heads = 0;                 // h; own: heads of gcd(64, width) channels, or the one of a model that has no more
  std::uint64_t ffn = 0;                   // q, width of the feed-forward net; own: 2 d or 4 d
  std::uint64_t state = 0;                 // n, state size of a state-space model
  std::uint64_t embedding = 0;             // albert: width of the token embedding before the map to d; own: 128, at most d
  std::uint64_t vocabulary = 0;            // token ids
  std::uint64_t groups = 0;                // mamba2: heads k h/g ... share B and C; own: 1
  std::string norm = "own";                // rows | layer | rms | none
  std::string gating = "own";              // on | off; mamba2 alone has a gate
  std::string mlp = "own";                 // on | off; transformers have one
  std::string share_weights = "own";       // on | off: one set of weights at every depth
  std::string input = "own";               // gaussian | cone | tokens
  double zipf = 0.0;                       // tokens: p(id) proportional to (id + 1)^-zipf; 0: uniform
  double cone_width = 0.5;                 // cone: tokens are v + width g/sqrt(d), v a unit vector, g standard Gaussian
  double alpha = 1.0;                      // post-norm, pre-norm: strength of self-attention
  double weight_scale = 1.0;               // factor on the standard deviation of every drawn weight matrix
  std::string weight_variance = "1/d";     // 1/d | h/d: of W's entries in post-norm and pre-norm; [Shallow] prints h/d
  std::string value_weights = "gaussian";  // gaussian | orthogonal | identity: C_V of attention and linear-attention
  bool causal = false;                     // attention, linear-attention: a token attends to itself and earlier ones alone
  double decay = 0.9;                      // selective-ssm: alpha of [LambdaSkip] Assumption 4.1, A_t = alpha I, at most 1
  std::string lambda_at = "attention";     // attention | both: bert, albert, gpt2: which residual lambda multiplies
  std::string skip_at = "residual";        // residual | mixer: mamba2: the stream, or a skip inside the mixer in the gate's place
  std::string skip_input = "stream";       // stream | normed: mamba2: lambda multiplies R, or norm(R)
  std::string norm_off = "both";           // block | inner | both: mamba2: which norms --norm none removes

  // Files, by their flags: weights, config.json, token ids. Empty: drawn.
  std::string weights = {}, model_config = {}, tokens_file = {};
  std::vector<std::string> ignore_tensors = {};  // globs: tensors of the weights that are passed over

  // What no flag says: published weights and their config do, else `settle`.
  std::shared_ptr<const Checkpoint> checkpoint = {};     // the open weights; null: drawn
  std::shared_ptr<const TokenSequences> sequences = {};  // that of trial t is the t-th; null: drawn
  std::uint64_t trainings = 1;                           // files of this model's weights, each of one training
  bool assumes_one_group = false;                        // neither a flag nor a config says how many the weights have
  std::uint64_t positions = 0;                           // rows of the table of positions
  std::uint64_t types = 2;                               // rows of the table of token types; tokens are of the first
  std::uint64_t taps = 4;                                // mamba2: of the convolution
  std::string activation = "own";                        // of the feed-forward net: gelu, gelu-tanh or relu
  double norm_epsilon = 0.0;

  /// What the model is. Throws std::logic_error where there is none of that name.
  const ModelRow& row() const;
  bool has_mlp() const { return mlp == "on"; }
  bool has_gate() const { return gating == "on"; }
  bool shares_weights() const { return share_weights == "on"; }
};

}  // namespace ranklab
