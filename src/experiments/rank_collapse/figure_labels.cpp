#include "experiments/rank_collapse/figure_labels.hpp"

#include "core/text.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab {
namespace {

// With at most this many trials, each one is drawn.
constexpr std::size_t few_trials = 5;

}  // namespace

std::string figure_label(const ModelSpec& spec) {
  std::string label = model_row(spec.model).title;
  if (spec.value_weights == "identity") label += ", C_V = I";
  if (spec.value_weights == "orthogonal") label += ", orthogonal W_V";
  if (spec.trainings <= 1) return label;
  return say("trained here: {}, {}, width {}", label, counted(spec.layers, "layer"), spec.dim);
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
