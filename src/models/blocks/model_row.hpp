// What tells one sequence model from the others: a row for each, at the end of the file of its block. A new model is such a file
// and a line in model_row.cpp; nothing else compares the names of models.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/blocks/layout.hpp"
#include "models/blocks/model_spec.hpp"

namespace ranklab {

struct BlockMakers;  // block.hpp

/// A settled spec's sizes, to calculate with.
struct BlockSizes {
  explicit BlockSizes(const ModelSpec& spec);

  double N, d, h, n;    // tokens, width, heads, states
  double q;             // width of the feed-forward net; 0 without one
  double groups, taps;  // mamba2's
  bool normed, has_mlp;
};

/// The work of softmax attention beside the maps.
double attention_flops(const BlockSizes& s, double maps);

/// The figure in which a paper shows the model over its layers: what `--study layers` judges and draws.
enum class DepthFigure { lambda_skip_1, shallow_1, shallow_2, shallow_4 };

/// What [LambdaSkip] says of the model without its gate, skip or norm: what `--study ablation` removes and judges.
enum class Ablation { section_4_2, figure_3, figure_4 };

struct ModelRow {
  std::string name;

  // What the model takes where a spec leaves it open.
  std::string norm = "layer", input = "gaussian", activation = "relu";
  bool shares_weights = false;
  std::uint64_t ffn_factor = 2;  // q / d
  std::uint64_t state = 64, vocabulary = 1000, positions = 512;
  double norm_epsilon = 1e-5;

  // What it has.
  std::vector<std::string> norms = {"rows", "layer", "rms", "none"};
  std::vector<std::string> switches =
      {};                        // flags without a meaning for most models, without their dashes; "gating", "mlp": has one
  bool has_heads = false;        // otherwise one
  std::uint64_t expand = 1;      // channels that the heads share, over d
  bool bare = false;             // a stack of [LambdaSkip] eq. (6), whose blocks are BareBlocks
  bool has_steps = false;        // blocks are SteppedBlocks
  bool attends = false;          // each head forms an N x N matrix
  bool has_positions = false;    // its embedding is that of a token and of a place, of which a table has some
  bool embeds_narrowly = false;  // in ModelSpec::embedding dimensions before a map to d
  double embedding_std = 1.0;    // of the entries of a drawn table of tokens, where the makers have no embedding
  std::shared_ptr<const BlockMakers> makers = {};
  /// Refuses sizes that no such block has. Throws UsageError.
  void (*require)(const ModelSpec& spec) = [](const ModelSpec&) {};

  // Of one block, for estimates: numbers drawn; multiplications and additions of a forward pass, where `maps` are those of a
  // product with each of these numbers for every token.
  double (*parameters)(const BlockSizes& s);
  double (*flops)(const BlockSizes& s, double maps);

  std::optional<PublishedLayout> published = std::nullopt;  // empty: no weights are read

  // What the papers say of it.
  bool lambda_varies = false;  // [LambdaSkip] draws it for several strengths of the skip
  DepthFigure figure = DepthFigure::lambda_skip_1;
  Ablation ablation = Ablation::section_4_2;

  /// Whether the flag (without dashes) means something to this model.
  bool has(const std::string& flag) const;
};

/// Every model, in the order of --model.
const std::vector<ModelRow>& model_rows();

/// The row of the name; throws std::logic_error where there is none.
const ModelRow& model_row(const std::string& name);

/// Names of the models of which `what(row)` is true.
template <class What>
std::vector<std::string> models_that(const What& what) {
  std::vector<std::string> names;
  for (const ModelRow& row : model_rows()) {
    if (what(row)) names.push_back(row.name);
  }
  return names;
}

/// Of every model, in the order of the rows.
const std::vector<std::string>& model_names();

/// Names of the models to which the flag (without dashes) means something.
std::vector<std::string> models_with(const std::string& flag);

/// Names of the models whose published weights are read.
std::vector<std::string> published_models();

/// Fills in the model's own values and refuses what does not fit together: heads that do not divide the width, switches
/// that the model does not have, fewer than two tokens. Throws UsageError that names the flags. Settling twice changes nothing.
void settle(ModelSpec& spec);

/// Numbers drawn for one block, for estimates.
double parameters_per_block(const ModelSpec& spec);

/// Multiplications and additions of one block's forward pass, for estimates.
double flops_per_block(const ModelSpec& spec);

}  // namespace ranklab
