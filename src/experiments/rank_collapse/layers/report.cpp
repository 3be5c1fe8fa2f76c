#include "experiments/rank_collapse/layers/report.hpp"

#include <algorithm>

#include "experiments/rank_collapse/layers/claims.hpp"
#include "experiments/rank_collapse/model_fields.hpp"
#include "experiments/rank_collapse/model_files.hpp"
#include "models/blocks/model_row.hpp"

namespace ranklab {
namespace {

// The part of a curve's name that says what varies: without the model.
std::string legend_of(const std::string& name, const ModelSpec& spec) {
  const std::string prefix = model_label(spec) + ".";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

struct Drawn {
  std::string measure, label;
};

// Similarity measures for the encoders, whose figure shows them; else how far the tokens are from equal, and from parallel.
std::vector<Drawn> drawn_measures(const LayersConfig& config) {
  if (config.de_escalates()) return {{"token_diversity", "token diversity"}};
  const DepthFigure figure = config.model.row().figure;
  if (figure == DepthFigure::shallow_1) {
    return {{"token_similarity", "token similarity"}, {"cosine_similarity", "cosine similarity"}};
  }
  if (figure == DepthFigure::shallow_4) return {{"token_similarity", "token similarity"}};
  return {{"mu_normalized", "normalised mu"}, {"rank_one_residual", "rank-one residual"}};
}

Panel group_panel(const DepthGroup& group, const Drawn& drawn, bool before) {
  Panel panel{model_label(group.spec) + ": " + drawn.label, {"layer"}, {drawn.label}, {}, {}};
  int colour = 0;
  for (const DepthCurve& curve : group.curves) {
    panel.curves.push_back(
        {curve.name + "." + drawn.measure, legend_of(curve.name, group.spec) + (before ? ", after" : ""), LineStyle::line, colour});
    if (before) panel.curves.push_back({curve.name + ".before." + drawn.measure, "before", LineStyle::dashed, colour});
    ++colour;
  }
  return panel;
}

// Models with one curve each stand in one panel.
Panel models_panel(const std::vector<DepthGroup>& groups, const Drawn& drawn) {
  Panel panel{drawn.label, {"layer"}, {drawn.label}, {}, {}};
  for (const DepthGroup& group : groups) {
    panel.curves.push_back({group.curves.front().name + "." + drawn.measure, model_label(group.spec), LineStyle::line});
  }
  return panel;
}

Panel pre_norm_panel(const DepthGroup& group) {
  const std::string& curve = group.curves.front().name;
  return {"pre-norm: Frobenius norms",
          {"layer"},
          {"Frobenius norm", Scale::log},
          {{curve + ".norm", "X"}, {curve + ".branch_input_norm", "LN(X)"}, {curve + ".branch_output_norm", "P LN(X) W"}},
          {}};
}

Figure layers_figure(const LayersConfig& config) {
  Figure figure;
  const std::vector<DepthGroup> groups = depth_groups(config);
  const bool one_each = std::all_of(groups.begin(), groups.end(), [](const DepthGroup& g) { return g.curves.size() == 1; });
  for (const Drawn& drawn : drawn_measures(config)) {
    if (one_each && groups.size() > 1 && !config.de_escalates()) {
      figure.panels.push_back(models_panel(groups, drawn));
      continue;
    }
    for (const DepthGroup& group : groups) figure.panels.push_back(group_panel(group, drawn, config.de_escalates()));
  }
  if (config.model.row().figure == DepthFigure::shallow_4 && !config.de_escalates()) {
    figure.panels.push_back(pre_norm_panel(groups.front()));
  }
  return figure;
}

std::string setting(const ModelSpec& spec) {
  std::string text = model_label(spec) + ": norm " + spec.norm;
  if (spec.row().has("gating")) {
    text += ", gate " + spec.gating + ", lambda on the " + (spec.skip_at == "mixer" ? "mixer's input" : "residual stream") +
            (spec.skip_input == "normed" ? " after its norm" : "") +
            (spec.norm == "none" ? ", norms removed: " + spec.norm_off : "") + ", the per-head skip D kept";
  }
  if (spec.row().has("lambda-at")) {
    text += ", lambda on the residual of " + std::string(spec.lambda_at == "both" ? "both sub-layers" : "attention");
  }
  return text + (spec.checkpoint != nullptr ? ", published weights" : ", random weights") +
         (spec.shares_weights() ? ", the same at every depth" : "");
}

}  // namespace

Result layers_result(const LayersConfig& config, const Records& records) {
  ResultBuilder out("Token geometry over the layers of " + config.model.model, records);
  if (records.empty()) return out.take();  // interrupted before the end of a trial
  Result& result = out.result();
  const std::vector<DepthGroup> groups = depth_groups(config);
  result.notes = file_notes(config.model);
  std::vector<std::string> all, own;
  for (const DepthGroup& group : groups) {
    for (const DepthCurve& curve : group.curves) {
      add_depth_series(curve.name, out);
      all.push_back(curve.name);
      for (const char* measure : {"mu_normalized", "rank_one_residual", "token_similarity", "cosine_similarity"}) {
        result.scalars.push_back({curve.name + ".final_" + measure, final_values(curve.name, measure, records)});
      }
    }
    result.notes.push_back(setting(group.spec) + ".");
  }
  add_depth_scalars(all, out);
  result.notes.push_back(collapse_note(all, config.threshold, records));
  result.claims = layers_claims(config, records);
  result.figure = layers_figure(config);
  return out.take();
}

}  // namespace ranklab
