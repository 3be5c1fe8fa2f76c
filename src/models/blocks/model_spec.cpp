#include "models/blocks/model_spec.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <numeric>

#include "core/error.hpp"
#include "models/blocks/feed_forward_activation.hpp"

namespace ranklab {
namespace {

using Models = std::vector<std::string>;

bool among(const std::string& model, const Models& models) {
  return std::find(models.begin(), models.end(), model) != models.end();
}

const Models& bare_models() {
  static const Models list = {"attention", "linear-attention", "lti-ssm", "selective-ssm"};
  return list;
}
const Models& encoder_models() {
  static const Models list = {"bert", "albert"};
  return list;
}
const Models& transformer_models() {
  static const Models list = {"post-norm", "pre-norm"};
  return list;
}
const Models& mlp_models() {
  static const Models list = {"post-norm", "pre-norm", "bert", "albert", "gpt2"};
  return list;
}
// With a residual stream of two sub-layers, of which lambda may multiply one or both.
const Models& lambda_at_models() {
  static const Models list = {"bert", "albert", "gpt2"};
  return list;
}

// A switch that differs from its default has a meaning for some models alone.
void require_model(const ModelSpec& spec, bool asked, const std::string& flag, const Models& models) {
  if (asked && !among(spec.model, models)) {
    throw UsageError(flag + " is not allowed with --model " + spec.model + "; allowed with: " + joined(models, ", "));
  }
}

void require_switches(const ModelSpec& spec) {
  static const Models attention = {"attention", "linear-attention"}, mamba2 = {"mamba2"}, selective = {"selective-ssm"};
  require_model(spec, spec.gating == "on", "--gating on", mamba2);
  require_model(spec, spec.mlp == "on", "--mlp on", mlp_models());
  require_model(spec, spec.alpha != 1.0, "--alpha other than 1", transformer_models());
  require_model(spec, spec.weight_variance != "1/d", "--weight-variance h/d", transformer_models());
  require_model(spec, spec.value_weights != "gaussian", "--value-weights " + spec.value_weights, attention);
  require_model(spec, spec.causal, "--causal on", attention);
  require_model(spec, spec.decay != ModelSpec{}.decay, "--decay", selective);
  require_model(spec, spec.lambda_at != "attention", "--lambda-at both", lambda_at_models());
  require_model(spec, spec.skip_at != "residual", "--skip-at mixer", mamba2);
  require_model(spec, spec.skip_input != "stream", "--skip-input normed", mamba2);
  if (spec.skip_at == "mixer" && spec.skip_input == "normed") {
    throw UsageError("--skip-input normed is not allowed with --skip-at mixer, where the skip's input is the convolution's output");
  }
  require_model(spec, spec.norm_off != "both", "--norm-off " + spec.norm_off, mamba2);
}

void require_norm(const ModelSpec& spec) {
  Models allowed = {"rows", "layer", "rms", "none"};
  if (spec.model == "mamba2") allowed = {"rms", "none"};
  if (spec.is_encoder() || spec.model == "gpt2") allowed = {"layer", "none"};
  if (!among(spec.norm, allowed)) {
    throw UsageError("--norm " + spec.norm + " is not allowed with --model " + spec.model + "; allowed: " + joined(allowed, "|"));
  }
}

// Channels that the heads share.
std::uint64_t head_width(const ModelSpec& spec) {
  return spec.model == "mamba2" ? 2 * spec.dim : spec.dim;
}

void require_sizes(const ModelSpec& spec) {
  if (spec.tokens < 2) {
    throw UsageError("--tokens " + std::to_string(spec.tokens) + " is not allowed: similarity is between tokens; at least 2");
  }
  const bool one_head = spec.is_bare() || spec.model == "s4d";
  if (one_head && spec.heads != 1) {
    throw UsageError("--heads " + std::to_string(spec.heads) + " is not allowed with --model " + spec.model +
                     ", which has one head; allowed with: post-norm, pre-norm, bert, albert, gpt2, mamba2");
  }
  const std::uint64_t width = head_width(spec);
  if (width % spec.heads != 0) {
    throw UsageError("--heads " + std::to_string(spec.heads) + " does not divide " +
                     (spec.model == "mamba2" ? "2 --dim = " : "--dim ") + std::to_string(width));
  }
  if (spec.model == "s4d" && spec.state % 2 != 0) {
    throw UsageError("--state " + std::to_string(spec.state) + " is not allowed with --model s4d: its states come in pairs");
  }
}

void require_input(const ModelSpec& spec) {
  const bool tokens = spec.input == "tokens";
  if (!tokens && !spec.tokens_file.empty()) {
    throw UsageError("--tokens-file is not allowed with --input " + spec.input + "; allowed with: --input tokens");
  }
  if (spec.zipf != 0 && !tokens) {
    throw UsageError("--zipf is not allowed with --input " + spec.input + "; allowed with: --input tokens");
  }
  if (spec.zipf != 0 && !spec.tokens_file.empty()) {
    throw UsageError("--zipf is not allowed with --tokens-file, which gives the token ids");
  }
}

// What published weights and their config leave open to flags, and what no block here can be built with.
void require_weights(const ModelSpec& spec) {
  if (spec.checkpoint != nullptr && spec.weight_scale != 1.0) {
    throw UsageError("--weight-scale is not allowed with --weights: it multiplies drawn weights alone");
  }
  if (spec.checkpoint != nullptr && spec.model == "albert" && !spec.shares_weights()) {
    throw UsageError("--share-weights off is not allowed with --weights of albert, which are one block's");
  }
  if (spec.model == "mamba2" && (spec.groups == 0 || spec.heads % spec.groups != 0)) {
    throw UsageError("the " + std::to_string(spec.groups) + " groups of heads of " + spec.model + " do not divide its " +
                     std::to_string(spec.heads) + " heads");
  }
  if (spec.taps == 0) throw UsageError("a convolution of " + spec.model + " needs at least one tap");
  if (spec.has_mlp()) find_feed_forward_activation(spec.activation);
}

void own_word(std::string& word, const std::string& value) {
  if (word == "own") word = value;
}
void own_size(std::uint64_t& size, std::uint64_t value) {
  if (size == 0) size = value;
}

std::uint64_t longest(const TokenSequences& sequences) {
  std::size_t tokens = 0;
  for (const auto& sequence : sequences) tokens = std::max(tokens, sequence.size());
  return tokens;
}

}  // namespace

const std::vector<std::string>& model_names() {
  static const std::vector<std::string> names = {"attention", "linear-attention", "lti-ssm", "s4d",    "selective-ssm", "mamba2",
                                                 "post-norm", "pre-norm",         "bert",    "albert", "gpt2"};
  return names;
}

bool ModelSpec::is_bare() const {
  return among(model, bare_models());
}

bool ModelSpec::is_encoder() const {
  return among(model, encoder_models());
}

void settle(ModelSpec& spec) {
  const bool mamba2 = spec.model == "mamba2", gpt2 = spec.model == "gpt2", one_head = spec.is_bare() || spec.model == "s4d";
  own_word(spec.norm, spec.is_bare() ? "rows" : mamba2 ? "rms" : "layer");
  own_word(spec.gating, mamba2 ? "on" : "off");
  own_word(spec.mlp, among(spec.model, mlp_models()) ? "on" : "off");
  own_word(spec.share_weights, spec.model == "albert" ? "on" : "off");
  own_word(spec.input, mamba2 || gpt2 || spec.is_encoder() ? "tokens" : "gaussian");
  own_size(spec.heads, one_head ? 1 : head_width(spec) / std::gcd(std::uint64_t{64}, head_width(spec)));
  own_size(spec.ffn, (spec.is_encoder() || gpt2 ? 4 : 2) * spec.dim);
  own_size(spec.state, mamba2 ? 128 : 64);
  own_size(spec.embedding, std::min<std::uint64_t>(128, spec.dim));
  own_size(spec.vocabulary, spec.model == "bert" ? 30522 : spec.model == "albert" ? 30000 : mamba2 ? 50288 : gpt2 ? 50257 : 1000);
  own_size(spec.tokens, spec.sequences != nullptr ? longest(*spec.sequences) : 128);
  own_size(spec.positions, gpt2 ? 1024 : 512);
  own_word(spec.activation, spec.model == "bert" ? "gelu" : gpt2 || spec.model == "albert" ? "gelu-tanh" : "relu");
  if (spec.norm_epsilon == 0) spec.norm_epsilon = spec.is_encoder() ? 1e-12 : 1e-5;
  require_switches(spec);
  require_norm(spec);
  require_sizes(spec);
  require_input(spec);
  require_weights(spec);
}

double parameters_per_block(const ModelSpec& spec) {
  const double d = static_cast<double>(spec.dim), q = spec.has_mlp() ? static_cast<double>(spec.ffn) : 0,
               n = static_cast<double>(spec.state), h = static_cast<double>(spec.heads);
  const double sublayers = spec.has_mlp() ? 2 : 1, norms = spec.norm == "none" ? 0 : 2 * d * sublayers;
  if (spec.model == "lti-ssm") return 3 * n;
  if (spec.model == "selective-ssm") return 2 * d * n;
  if (spec.model == "s4d") return 2 * d * d + (2 + 2 * n + 4) * d;  // output map and bias; A, C; D, dt, norm
  if (spec.model == "mamba2") {
    const double in_BC = 2 * n * static_cast<double>(spec.groups), taps = static_cast<double>(spec.taps);
    return d * (4 * d + in_BC + h) + 2 * d * d + (taps + 1) * (2 * d + in_BC) + 3 * h + 3 * d;
  }
  if (spec.is_encoder() || spec.model == "gpt2") return 4 * d * d + 4 * d + (sublayers - 1) * (2 * d * q + d + q) + norms;
  return 3 * d * d + 2 * d * q;
}

double flops_per_block(const ModelSpec& spec) {
  const double N = static_cast<double>(spec.tokens), d = static_cast<double>(spec.dim), n = static_cast<double>(spec.state);
  const double maps = 2 * N * parameters_per_block(spec);
  if (spec.model == "lti-ssm" || spec.model == "selective-ssm") return maps + 4 * N * n * d + 64 * N * d;
  if (spec.model == "linear-attention") return maps + 4 * N * d * d;
  if (spec.model == "s4d") return 2 * N * 2 * d * d + N * N * d + 4 * N * n * d;
  if (spec.model == "mamba2") return maps + 8 * N * n * d + 128 * N * (n + 2 * d);
  return maps + 4 * N * N * d + 10 * N * N * static_cast<double>(spec.heads);
}

}  // namespace ranklab
