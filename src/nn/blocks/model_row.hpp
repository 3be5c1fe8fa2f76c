// Table of sequence models: one row per model, at the end of the file of its block. A new model
// needs such a file and a line in model_row.cpp; no other code compares model names.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nn/blocks/layout.hpp"
#include "nn/blocks/model_spec.hpp"

namespace ranklab {

struct BlockMakers;  // block.hpp

/// The sizes of a resolved spec as floating-point numbers.
struct BlockSizes {
  explicit BlockSizes(const ModelSpec& spec);

  double N, d, h, n;    // tokens, width, heads, states
  double q;             // width of the feed-forward net, 0 if there is no net
  double groups, taps;  // of mamba2; taps also of mamba1
  bool normed, has_mlp;
};

/// Operations of softmax attention, in addition to `maps` for the linear maps.
double attention_flops(const BlockSizes& s, double maps);

/// The figure in which a paper shows the model over its layers. `--study layers` judges and draws
/// it.
enum class DepthFigure { lambda_skip_1, shallow_1, shallow_2, shallow_4 };

/// The part of [LambdaSkip] about the model without its gate, skip or norm. `--study ablation`
/// judges it.
enum class Ablation { section_4_2, figure_3, figure_4 };

struct ModelRow {
  std::string name;
  std::string title;  // for readers: "Mamba-2" for mamba2

  // Defaults for fields that a spec leaves open.
  std::string norm = "layer", input = "gaussian", activation = "relu";
  bool shares_weights = false;
  std::uint64_t ffn_factor = 2;  // q / d
  std::uint64_t state = 64, vocabulary = 1000, positions = 512;
  double norm_epsilon = 1e-5;

  // Features.
  std::vector<std::string> norms = {"rows", "layer", "rms", "none"};
  // Model-specific flags that apply, without dashes; "gating" and "mlp" if the model has one.
  std::vector<std::string> switches = {};
  bool has_heads = false;        // otherwise one head
  std::uint64_t expand = 1;      // channels that the heads share, over d
  bool bare = false;             // a stack of [LambdaSkip] eq. (6), whose blocks are BareBlocks
  bool has_steps = false;        // blocks are SteppedBlocks
  bool attends = false;          // each head forms an N x N matrix
  bool draws_values = false;     // has a C_V, see ModelSpec::value_weights
  bool has_positions = false;    // the embedding adds a table of positions
  bool embeds_narrowly = false;  // embeds in ModelSpec::embedding dimensions, then maps to d
  // Standard deviation of a drawn token table, if the makers have no embedding.
  double embedding_std = 1.0;
  std::shared_ptr<const BlockMakers> makers = {};
  /// Throws UsageError for sizes that the block does not support.
  void (*require)(const ModelSpec& spec) = [](const ModelSpec&) {};

  // Per block, for estimates: number of parameters; multiplications and additions of a forward
  // pass, where `maps` counts those of multiplying every token by each parameter; numbers per token
  // that a forward pass stores at its peak, without the N x N matrices, as measured on long
  // sequences.
  double (*parameters)(const BlockSizes& s);
  double (*flops)(const BlockSizes& s, double maps);
  double (*stored_per_token)(const BlockSizes& s) = [](const BlockSizes& s) {
    return 10 * s.d + s.q;
  };

  std::optional<PublishedLayout> published = std::nullopt;  // empty: no weights can be read

  // Its role in the papers.
  bool lambda_varies = false;  // [LambdaSkip] shows it for several lambdas
  DepthFigure figure = DepthFigure::lambda_skip_1;
  Ablation ablation = Ablation::section_4_2;

  /// Whether the flag (without dashes) applies to this model.
  bool has(const std::string& flag) const;
};

/// Every model, in the order of --model.
const std::vector<ModelRow>& model_rows();

/// The row of a name. Throws std::logic_error for an unknown name.
const ModelRow& model_row(const std::string& name);

/// Names of the models for which `what(row)` is true.
template <class What>
std::vector<std::string> models_that(const What& what) {
  std::vector<std::string> names;
  for (const ModelRow& row : model_rows()) {
    if (what(row)) names.push_back(row.name);
  }
  return names;
}

/// Names of all models, in the order of the rows.
const std::vector<std::string>& model_names();

/// Names of the models to which the flag (without dashes) applies.
std::vector<std::string> models_with(const std::string& flag);

/// Names of the models whose published weights can be read.
std::vector<std::string> published_models();

/// Fills in the model's defaults and checks that the fields fit together: heads divide the width,
/// switches apply to the model, there are at least two tokens. Throws a UsageError that names the
/// flags. A second call changes nothing.
void resolve_defaults(ModelSpec& spec);

/// Number of parameters of one block, for estimates.
double parameters_per_block(const ModelSpec& spec);

/// Multiplications and additions of one block's forward pass, for estimates.
double flops_per_block(const ModelSpec& spec);

/// Numbers that one block's forward pass stores for each token, without N x N matrices, for
/// estimates.
double stored_per_token(const ModelSpec& spec);

}  // namespace ranklab
