#include "experiments/rank_collapse/figure_labels.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "core/text.hpp"

namespace ranklab {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 11> titles = {{
    {"attention", "softmax attention"},
    {"linear-attention", "linear attention"},
    {"lti-ssm", "LTI SSM"},
    {"selective-ssm", "selective SSM"},
    {"s4d", "S4D"},
    {"mamba2", "Mamba-2"},
    {"post-norm", "post-norm Transformer"},
    {"pre-norm", "pre-norm Transformer"},
    {"bert", "BERT"},
    {"albert", "ALBERT"},
    {"gpt2", "GPT-2 style Transformer"},
}};

// With at most this many trials, each one is drawn.
constexpr std::size_t few_trials = 5;

}  // namespace

std::string model_title(const std::string& model) {
  for (const auto& [name, title] : titles) {
    if (name == model) return std::string(title);
  }
  return model;
}

std::string figure_label(const ModelSpec& spec) {
  std::string label = model_title(spec.model);
  if (spec.value_weights == "identity") label += ", C_V = I";
  if (spec.value_weights == "orthogonal") label += ", orthogonal W_V";
  if (spec.trainings <= 1) return label;
  return "trained here: " + label + ", " + counted(spec.layers, "layer") + ", width " +
         std::to_string(spec.dim);
}

std::string threshold_label(double threshold) {
  return "threshold " + short_number(threshold);
}

Axis normalized_mu_axis() {
  return unit_axis("normalized mu (0: equal tokens)");
}

Axis rank_one_residual_axis() {
  return unit_axis("rank-one residual (0: rank one)");
}

BandKind band_of_trials(const ModelSpec& spec, std::size_t trials) {
  return spec.trainings > 1 || trials <= few_trials ? BandKind::trials : BandKind::interval;
}

}  // namespace ranklab
