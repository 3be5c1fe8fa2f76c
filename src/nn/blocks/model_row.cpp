#include "nn/blocks/model_row.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "core/divisors.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "ensembles/activations.hpp"

namespace ranklab {

// Each is defined at the end of the file of its block.
ModelRow attention_row(), linear_attention_row(), lti_ssm_row(), s4d_row(), selective_ssm_row(),
    mamba2_row(), mamba1_row(), post_norm_row(), pre_norm_row(), bert_row(), albert_row(),
    gpt2_row();

const std::vector<ModelRow>& model_rows() {
  static const std::vector<ModelRow> rows = {
      attention_row(), linear_attention_row(), lti_ssm_row(),
      s4d_row(),       selective_ssm_row(),    mamba2_row(),
      mamba1_row(),    post_norm_row(),        pre_norm_row(),
      bert_row(),      albert_row(),           gpt2_row()};
  return rows;
}

const ModelRow& model_row(const std::string& name) {
  for (const ModelRow& row : model_rows()) {
    if (row.name == name) return row;
  }
  throw std::logic_error("unknown model '" + name + "'");
}

BlockSizes::BlockSizes(const ModelSpec& spec)
    : N(static_cast<double>(spec.tokens)),
      d(static_cast<double>(spec.dim)),
      h(static_cast<double>(spec.heads)),
      n(static_cast<double>(spec.state)),
      q(spec.has_mlp() ? static_cast<double>(spec.ffn) : 0),
      groups(static_cast<double>(spec.groups)),
      taps(static_cast<double>(spec.taps)),
      normed(spec.norm != "none"),
      has_mlp(spec.has_mlp()) {}

double attention_flops(const BlockSizes& s, double maps) {
  return maps + 4 * s.N * s.N * s.d + 10 * s.N * s.N * s.h;
}

bool ModelRow::has(const std::string& flag) const {
  return std::find(switches.begin(), switches.end(), flag) != switches.end();
}

std::vector<std::string> models_with(const std::string& flag) {
  return models_that([&](const ModelRow& row) { return row.has(flag); });
}

std::vector<std::string> published_models() {
  return models_that([](const ModelRow& row) { return row.published.has_value(); });
}

const std::vector<std::string>& model_names() {
  static const std::vector<std::string> names = models_that([](const ModelRow&) { return true; });
  return names;
}

namespace {

bool contains(const std::string& word, const std::vector<std::string>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// A switch may differ from its default only for the models to which it applies. `what` begins with
// the flag.
void require_switch(const ModelSpec& spec, bool asked, const std::string& what) {
  const std::string flag = what.substr(2, what.find(' ') - 2);
  if (asked && !spec.row().has(flag)) {
    throw UsageError(what + " is not allowed with --model " + spec.model +
                     "; allowed with: " + joined(models_with(flag)));
  }
}

void require_switches(const ModelSpec& spec) {
  require_switch(spec, spec.groups != 1, "--ssm-groups " + std::to_string(spec.groups));
  require_switch(spec, spec.gating == "on", "--gating on");
  require_switch(spec, spec.mlp == "on", "--mlp on");
  require_switch(spec, spec.alpha != 1.0, "--alpha other than 1");
  require_switch(spec, spec.weight_variance != "1/d", "--weight-variance h/d");
  require_switch(spec, spec.decay != ModelSpec{}.decay, "--decay");
  require_switch(spec, spec.lambda_at != "attention", "--lambda-at both");
  require_switch(spec, spec.skip_at != "residual", "--skip-at mixer");
  require_switch(spec, spec.skip_input != "stream", "--skip-input normed");
  if (spec.skip_at == "mixer" && spec.skip_input == "normed") {
    throw UsageError(
        "--skip-input normed is not allowed with --skip-at mixer, where the skip's input is the "
        "convolution's output");
  }
  require_switch(spec, spec.norm_off != "both", "--norm-off " + spec.norm_off);
}

void require_norm(const ModelSpec& spec) {
  if (contains(spec.norm, spec.row().norms)) return;
  throw Misfit("--norm " + spec.norm + " is not allowed with --model " + spec.model +
                   "; allowed: " + joined(spec.row().norms, "|"),
               "norm", spec.row().norms.front(), {"model"});
}

// Models whose heads share d channels come first.
std::string models_with_heads() {
  std::vector<std::string> names =
      models_that([](const ModelRow& row) { return row.has_heads && row.expand == 1; });
  for (const std::string& name :
       models_that([](const ModelRow& row) { return row.has_heads && row.expand > 1; })) {
    names.push_back(name);
  }
  return joined(names);
}

void require_sizes(const ModelSpec& spec) {
  if (spec.tokens < 2) {
    throw UsageError("--tokens " + std::to_string(spec.tokens) +
                     " is not allowed; allowed: at least 2, because similarity compares tokens");
  }
  const ModelRow& row = spec.row();
  if (!row.has_heads && spec.heads != 1) {
    throw Misfit("--heads " + std::to_string(spec.heads) + " is not allowed with --model " +
                     spec.model + ", which has one head; allowed with: " + models_with_heads(),
                 "heads", "1", {"model"});
  }
  const std::uint64_t width = row.expand * spec.dim;
  if (width % spec.heads != 0) {
    throw Misfit("--heads " + std::to_string(spec.heads) + " does not divide " +
                     (row.expand > 1 ? std::to_string(row.expand) + " --dim = " : "--dim ") +
                     std::to_string(width),
                 "heads", std::to_string(largest_divisor(width, spec.heads)), {"dim", "model"});
  }
}

void require_input(const ModelSpec& spec) {
  const bool tokens = spec.input == "tokens";
  if (!tokens && !spec.tokens_file.empty()) {
    throw UsageError("--tokens-file is not allowed with --input " + spec.input +
                     "; allowed with: --input tokens");
  }
  if (spec.zipf != 0 && !tokens) {
    throw UsageError("--zipf is not allowed with --input " + spec.input +
                     "; allowed with: --input tokens");
  }
  if (spec.zipf != 0 && !spec.tokens_file.empty()) {
    throw UsageError("--zipf is not allowed with --tokens-file, which gives the token ids");
  }
}

// Checks flags against published weights, and rejects sizes that no block supports.
void require_weights(const ModelSpec& spec) {
  if (spec.checkpoint != nullptr && spec.weight_scale != 1.0) {
    throw UsageError(
        "--weight-scale is not allowed with --weights: it multiplies only drawn weights");
  }
  if (spec.checkpoint != nullptr && spec.row().published->one_layer && !spec.shares_weights()) {
    throw UsageError("--share-weights off is not allowed with --weights of " + spec.model +
                     ", which hold one shared block; allowed: on");
  }
  spec.row().require(spec);
  if (spec.has_mlp()) find_feed_forward_activation(spec.activation);
}

void set_default(std::string& word, const std::string& value) {
  if (word == model_default) word = value;
}
void set_default(std::uint64_t& size, std::uint64_t value) {
  if (size == 0) size = value;
}

std::uint64_t longest(const TokenSequences& sequences) {
  std::size_t tokens = 0;
  for (const auto& sequence : sequences) tokens = std::max(tokens, sequence.size());
  return tokens;
}

}  // namespace

const ModelRow& ModelSpec::row() const {
  return model_row(model);
}

void resolve_defaults(ModelSpec& spec) {
  const ModelRow& row = spec.row();
  set_default(spec.norm, row.norm);
  set_default(spec.gating, row.has("gating") ? "on" : "off");
  set_default(spec.mlp, row.has("mlp") ? "on" : "off");
  set_default(spec.share_weights, row.shares_weights ? "on" : "off");
  set_default(spec.input, row.input);
  const std::uint64_t width = row.expand * spec.dim;
  set_default(spec.heads, row.has_heads ? width / std::gcd(std::uint64_t{64}, width) : 1);
  set_default(spec.ffn, row.ffn_factor * spec.dim);
  set_default(spec.state, row.state);
  set_default(spec.embedding, std::min<std::uint64_t>(128, spec.dim));
  set_default(spec.vocabulary, row.vocabulary);
  set_default(spec.groups, 1);
  set_default(spec.tokens, spec.sequences != nullptr ? longest(*spec.sequences) : 128);
  set_default(spec.positions, row.positions);
  set_default(spec.activation, row.activation);
  if (spec.norm_epsilon == 0) spec.norm_epsilon = row.norm_epsilon;
  require_switches(spec);
  require_norm(spec);
  require_sizes(spec);
  require_input(spec);
  require_weights(spec);
}

double parameters_per_block(const ModelSpec& spec) {
  return spec.row().parameters(BlockSizes(spec));
}

double flops_per_block(const ModelSpec& spec) {
  const BlockSizes s(spec);
  return spec.row().flops(s, 2 * s.N * spec.row().parameters(s));
}

double stored_per_token(const ModelSpec& spec) {
  return spec.row().stored_per_token(BlockSizes(spec));
}

}  // namespace ranklab
