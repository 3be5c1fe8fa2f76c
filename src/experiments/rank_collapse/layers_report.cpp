#include "experiments/rank_collapse/layers_report.hpp"

#include "experiments/rank_collapse/depth_report.hpp"
#include "experiments/rank_collapse/layers_claims.hpp"

namespace ranklab {
namespace {

using Records = std::vector<TrialRecord>;

// The part of a curve's name that says what varies: without the model.
std::string legend_of(const std::string& name, const ModelSpec& spec) {
  const std::string prefix = model_label(spec) + ".";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

struct Drawn {
  std::string measure, label, scale;
};

Panel group_panel(const DepthGroup& group, const Drawn& drawn, bool before) {
  Panel panel{model_label(group.spec) + ": " + drawn.label, {"layer"}, {drawn.label, drawn.scale}, {}, {}};
  int colour = 0;
  for (const DepthCurve& curve : group.curves) {
    panel.curves.push_back({curve.name + "." + drawn.measure, legend_of(curve.name, group.spec), "line", colour});
    if (before) panel.curves.push_back({curve.name + ".before." + drawn.measure, "", "dashed", colour});
    ++colour;
    if (drawn.measure == "norm" && group.spec.model == "pre-norm") {
      panel.curves.push_back({curve.name + ".branch_input_norm", "LN(X)", "dashed"});
      panel.curves.push_back({curve.name + ".branch_output_norm", "P LN(X) W", "dotted"});
    }
  }
  return panel;
}

// Similarity measures for the encoders, whose figure shows them; else how far the tokens are from equal, and from parallel.
std::vector<Drawn> drawn_measures(const LayersConfig& config) {
  const std::string& model = config.model.model;
  if (config.de_escalates()) return {{"mu_normalized", "normalised mu, root of t_div", "linear"}};
  if (config.model.is_encoder())
    return {{"token_similarity", "token similarity", "linear"}, {"cosine_similarity", "cosine similarity", "linear"}};
  if (model == "pre-norm") return {{"token_similarity", "token similarity", "linear"}, {"norm", "Frobenius norm", "log"}};
  return {{"mu_normalized", "normalised mu", "linear"}, {"rank_one_residual", "rank-one residual", "linear"}};
}

Figure layers_figure(const LayersConfig& config) {
  Figure figure;
  for (const DepthGroup& group : depth_groups(config)) {
    for (const Drawn& drawn : drawn_measures(config)) figure.panels.push_back(group_panel(group, drawn, config.de_escalates()));
  }
  return figure;
}

std::string setting(const ModelSpec& spec) {
  std::string text = model_label(spec) + ": norm " + spec.norm;
  if (spec.model == "mamba2") {
    text += ", gate " + spec.gating + ", lambda on the " + (spec.skip_at == "mixer" ? "mixer's input" : "residual stream") +
            (spec.skip_input == "normed" ? " after its norm" : "") +
            (spec.norm == "none" ? ", norms removed: " + spec.norm_off : "") + ", the per-head skip D kept";
  }
  if (spec.is_encoder())
    text += ", lambda on the residual of " + std::string(spec.lambda_at == "both" ? "both sub-layers" : "attention");
  return text + ", random weights" + (spec.shares_weights() ? ", the same at every depth" : "");
}

}  // namespace

Result layers_result(const LayersConfig& config, const Records& records) {
  Result result;
  const std::vector<DepthGroup> groups = depth_groups(config);
  result.title = "Token geometry over the layers of " + config.model.model;
  std::vector<std::string> all, own;
  for (const DepthGroup& group : groups) {
    for (const DepthCurve& curve : group.curves) {
      add_depth_series(curve.name, records, result);
      all.push_back(curve.name);
      for (const char* measure : {"mu_normalized", "rank_one_residual", "token_similarity", "cosine_similarity"}) {
        result.scalars.push_back({curve.name + ".final_" + measure, final_values(curve.name, measure, records)});
      }
    }
    result.notes.push_back(setting(group.spec) + ".");
  }
  add_depth_scalars(all, records, result);
  result.notes.push_back(collapse_note(all, config.threshold, records));
  result.claims = layers_claims(config, records);
  result.figure = layers_figure(config);
  return result;
}

}  // namespace ranklab
