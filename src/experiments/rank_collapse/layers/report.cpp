#include <algorithm>

#include "experiments/rank_collapse/layers/gradients.hpp"
#include "experiments/rank_collapse/layers/layers.hpp"
#include "experiments/rank_collapse/model_fields.hpp"
#include "experiments/rank_collapse/model_files.hpp"
#include "models/blocks/model_row.hpp"

namespace ranklab::layers {
namespace {

// The part of a curve's name without the model's prefix.
std::string legend_of(const std::string& name, const ModelSpec& spec) {
  const std::string prefix = model_label(spec) + ".";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

struct Drawn {
  std::string measure, label;
};

// The similarities for encoders and pre-norm, as in the papers' figures; otherwise the distances
// of the tokens from equality and from being parallel.
std::vector<Drawn> drawn_measures(const Plan& plan) {
  const Drawn token_similarity = {measure::token_similarity, "token similarity"};
  if (plan.de_escalates) return {{measure::token_diversity, "token diversity"}};
  const DepthFigure figure = plan.model().row().figure;
  if (is_encoder(plan.model().row()))
    return {token_similarity, {measure::cosine_similarity, "cosine similarity"}};
  if (figure == DepthFigure::shallow_4) return {token_similarity};
  return {{measure::mu_normalized, "normalized mu"},
          {measure::rank_one_residual, "rank-one residual"}};
}

// The paper's word for one layer.
std::string depth_word(const ModelSpec& spec) {
  return spec.row().figure == DepthFigure::lambda_skip_1 ? "layer" : "block";
}

// The values that a verdict uses: the threshold of a collapse, and the diversities of [Shallow]
// Figure 5.
void add_lines(const Plan& plan, const Drawn& drawn, PanelBuilder& panel) {
  if (plan.de_escalates) panel.line(0).line(0.5).line(1);
  if (drawn.measure == measure::mu_normalized || drawn.measure == measure::rank_one_residual)
    panel.line(plan.threshold, "threshold");
}

void add_panel_of_group(const Plan& plan, const DepthGroup& group, const Drawn& drawn,
                        ResultBuilder& out) {
  const bool before = plan.de_escalates;
  PanelBuilder panel = out.panel(figure_label(group.spec) + ": " + drawn.label,
                                 {depth_word(group.spec)}, unit_axis(drawn.label));
  int color = 0;
  for (const DepthCurve& curve : group.curves) {
    panel.curve(of_curve(curve.name, drawn.measure),
                legend_of(curve.name, group.spec) + (before ? ", after" : ""),
                {LineStyle::line, color});
    if (before) {
      panel.curve(of_curve(curve.name, before_de_escalation(drawn.measure)), "before",
                  {LineStyle::dashed, color});
    }
    ++color;
  }
  add_lines(plan, drawn, panel);
}

// All models in one panel: one color per model, with a dashed curve for dropout.
void add_panel_of_models(const Plan& plan, const Drawn& drawn, ResultBuilder& out) {
  PanelBuilder panel = out.panel(drawn.label, {depth_word(plan.model())}, unit_axis(drawn.label));
  int color = 0;
  for (const DepthGroup& group : plan.groups) {
    for (const DepthCurve& curve : group.curves) {
      const bool has_dropout = curve.dropout > 0;
      panel.curve(of_curve(curve.name, drawn.measure),
                  figure_label(group.spec) +
                      (has_dropout ? ", dropout " + series_number(curve.dropout) : ""),
                  {has_dropout ? LineStyle::dashed : LineStyle::line, color});
    }
    ++color;
  }
  add_lines(plan, drawn, panel);
}

void add_figure(const Plan& plan, ResultBuilder& out) {
  const auto has_one_curve = [](const DepthGroup& group) {
    return std::count_if(group.curves.begin(), group.curves.end(),
                         [](const DepthCurve& curve) { return curve.dropout == 0; }) == 1;
  };
  const bool one_each =
      plan.groups.size() > 1 && std::all_of(plan.groups.begin(), plan.groups.end(), has_one_curve);
  for (const Drawn& drawn : drawn_measures(plan)) {
    if (one_each && !plan.de_escalates) {
      add_panel_of_models(plan, drawn, out);
      continue;
    }
    for (const DepthGroup& group : plan.groups) add_panel_of_group(plan, group, drawn, out);
  }
  if (plan.model().row().figure == DepthFigure::shallow_4 && !plan.de_escalates) {
    const std::string& curve = plan.groups.front().curves.front().name;
    out.panel("pre-norm: Frobenius norms", {"block"}, log_axis("Frobenius norm"))
        .curve(of_curve(curve, measure::norm), "X")
        .curve(of_curve(curve, measure::branch_input_norm), "LN(X)")
        .curve(of_curve(curve, measure::branch_output_norm), "P LN(X) W");
  }
}

void add_gradients(const Plan& plan, ResultBuilder& out) {
  for (const DepthGroup& group : plan.groups) {
    out.series(gradient_norms_of(group.spec), "block", 1);
    out.scalar(of_curve(model_label(group.spec), "gradient_ratio"),
               gradient_ratios(group.spec, out.records()));
  }
  PanelBuilder panel = out.panel("Gradient norm", {"block"}, log_axis("Frobenius norm"));
  for (const DepthGroup& group : plan.groups)
    panel.curve(gradient_norms_of(group.spec), model_label(group.spec));
  out.note(
      "gradient_norm is the Frobenius norm of the gradient with respect to all weights of a block "
      "(maps, biases and gains). The paper states neither loss nor tokens nor dropout. Here the "
      "loss is the mean cross-entropy of the logits E'X_L against uniformly random targets, "
      "without dropout, where E is the token table of the model. For albert the logits are "
      "E'M X_L, where M is the map of its embedding.");
  const auto shares = [](const DepthGroup& group) { return group.spec.shares_weights(); };
  if (std::none_of(plan.groups.begin(), plan.groups.end(), shares)) return;
  out.note(
      "If all blocks share their weights, gradient_norm is the norm of one block's part of the "
      "gradient; the paper does not show such models.");
}

std::string settings_text(const ModelSpec& spec) {
  std::string text = model_label(spec) + ": norm " + spec.norm;
  if (spec.row().has("gating")) {
    text += ", gate " + spec.gating + ", lambda on the " +
            (spec.skip_at == "mixer" ? "mixer's input" : "residual stream") +
            (spec.skip_input == "normed" ? " after its norm" : "") +
            (spec.norm == "none" ? ", norms removed: " + spec.norm_off : "") +
            ", with the per-head skip D";
  }
  if (spec.row().has("lambda-at")) {
    text += ", lambda on the residual of " +
            std::string(spec.lambda_at == "both" ? "both sub-layers" : "attention");
  }
  return text +
         (spec.checkpoint == nullptr ? ", random weights"
          : spec.trainings > 1       ? ", weights trained here"
                                     : ", published weights") +
         (spec.shares_weights() ? ", the same in every layer" : "");
}

}  // namespace

Result report(const Plan& plan, const Records& records) {
  ResultBuilder out("Token geometry over the layers of " + plan.model().model, records);
  out.claims().set_unit(independent_unit(plan.model()));
  if (records.empty()) return out.take();  // interrupted before the end of a trial
  for (std::string& note : file_notes(plan.model())) out.note(std::move(note));
  std::vector<std::string> curves;
  for (const DepthGroup& group : plan.groups) {
    for (const DepthCurve& curve : group.curves) {
      curves.push_back(curve.name);
      add_depth_series(curve.name, out);
      for (const char* what : {measure::mu_normalized, measure::rank_one_residual,
                               measure::token_similarity, measure::cosine_similarity}) {
        out.scalar(of_curve(curve.name, std::string("final_") + what),
                   final_values(curve.name, what, records));
      }
    }
    out.note(settings_text(group.spec) + ".");
  }
  add_depth_scalars(curves, out);
  out.note(collapse_note(curves, plan.threshold, records));
  if (plan.has_dropout) {
    out.note(
        "Dropout as in training: entries of the embedding, of the attention matrices and of the "
        "outputs of both branches are set to 0 at rate p, and the others are divided by 1 - p, "
        "independently in every block. The paper does not say whether dropout was on.");
  }
  judge(plan, records, out.claims());
  add_figure(plan, out);
  if (plan.gradients) add_gradients(plan, out);
  return out.take();
}

}  // namespace ranklab::layers
