#include <algorithm>

#include "core/text.hpp"
#include "experiments/rank_collapse/figure_labels.hpp"
#include "experiments/rank_collapse/layers/gradients.hpp"
#include "experiments/rank_collapse/layers/layers.hpp"
#include "experiments/rank_collapse/model_fields.hpp"
#include "experiments/rank_collapse/model_files.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab::layers {
namespace {

struct Drawn {
  std::string measure, title;
  Axis axis;
  std::string further_figure = {};  // the title of its own figure; empty: the first figure
};

// The similarities for encoders and pre-norm, as in the papers' figures; otherwise the distances
// of the tokens from equality and, in a second figure, from being parallel.
std::vector<Drawn> drawn_measures(const Plan& plan) {
  const Drawn token_similarity = {measure::token_similarity, "Token similarity",
                                  unit_axis("token similarity")};
  if (plan.de_escalates) {
    return {{measure::token_diversity, "Token diversity",
             unit_axis("token diversity (1 - token similarity)")}};
  }
  const DepthFigure figure = plan.model().row().figure;
  if (is_encoder(plan.model().row())) {
    return {token_similarity,
            {measure::cosine_similarity, "Cosine similarity", unit_axis("cosine similarity")}};
  }
  if (figure == DepthFigure::shallow_4) return {token_similarity};
  return {{measure::mu_normalized, "Normalized mu", normalized_mu_axis()},
          {measure::rank_one_residual, "Rank-one residual", rank_one_residual_axis(),
           "Distance from rank one over the layers"}};
}

// The axis of the states after 0, 1, ... layers or, in [Shallow], blocks.
Axis depth_axis(const ModelSpec& spec) {
  return {spec.row().figure == DepthFigure::lambda_skip_1 ? "number of layers"
                                                          : "number of blocks"};
}

// The values that a verdict uses: the threshold of a collapse, and the diversity of [Shallow]
// Figure 5 that is not an end of the axis.
void add_lines(const Plan& plan, const Drawn& drawn, PanelBuilder& panel) {
  if (drawn.measure == measure::mu_normalized || drawn.measure == measure::rank_one_residual)
    panel.line(plan.threshold, threshold_label(plan.threshold));
  const auto is_half = [](const DepthCurve& curve) {
    return curve.tau == std::vector<double>{0.5};
  };
  const std::vector<DepthCurve>& curves = plan.groups.front().curves;
  if (std::any_of(curves.begin(), curves.end(), is_half))
    panel.line(0.5, "paper's level for tau = 0.5");
}

bool has_one_lambda(const DepthCurve& curve) {
  return curve.lambda.size() == 1;
}

// "lambda = -5", "tau per layer", "dropout 0.1"
std::string label_of(const DepthCurve& curve) {
  if (curve.dropout > 0) return "dropout " + series_number(curve.dropout);
  const auto text = [](const std::string& name, const std::vector<double>& values) {
    return values.size() == 1 ? name + " = " + series_number(values.front()) : name + " per layer";
  };
  return curve.tau.empty() ? text("lambda", curve.lambda) : text("tau", curve.tau);
}

// Dashed for a negative lambda. With a tau, dashes mean "before de-escalation".
LineStyle style_of(const DepthCurve& curve) {
  if (curve.dropout > 0) return LineStyle::dotted;
  const bool dashed = curve.tau.empty() && has_one_lambda(curve) && curve.lambda.front() < 0;
  return dashed ? LineStyle::dashed : LineStyle::line;
}

// From the largest lambda to the smallest: the curves of lambda and -lambda often coincide, and the
// dashes of -lambda must lie on the line of lambda.
std::vector<DepthCurve> in_drawing_order(std::vector<DepthCurve> curves) {
  std::stable_sort(curves.begin(), curves.end(), [](const DepthCurve& a, const DepthCurve& b) {
    return has_one_lambda(a) && (!has_one_lambda(b) || a.lambda.front() > b.lambda.front());
  });
  return curves;
}

// A panel of one model. `words` is the end of its title.
void add_panel_of_group(const Plan& plan, const DepthGroup& group, const Drawn& drawn,
                        const std::string& words, BandKind band, ResultBuilder& out) {
  PanelBuilder panel =
      out.panel(figure_label(group.spec) + words, depth_axis(group.spec), drawn.axis);
  if (plan.groups.size() > 1) panel.group(drawn.measure);
  int color = 0;
  for (const DepthCurve& curve : in_drawing_order(group.curves)) {
    const std::string label = label_of(curve);
    panel.curve(of_curve(curve.name, drawn.measure),
                label + (plan.de_escalates ? ", after de-escalation" : ""),
                {.style = style_of(curve), .color = color, .band = band});
    if (plan.de_escalates) {
      panel.curve(of_curve(curve.name, before_de_escalation(drawn.measure)),
                  label + ", before de-escalation",
                  {.style = LineStyle::dashed, .color = color, .band = band});
    }
    ++color;
  }
  add_lines(plan, drawn, panel);
}

// All models in one panel: one color per model, with a dashed curve for dropout.
void add_panel_of_models(const Plan& plan, const Drawn& drawn, BandKind band, ResultBuilder& out) {
  PanelBuilder panel = out.panel(drawn.title, depth_axis(plan.model()), drawn.axis);
  int color = 0;
  for (const DepthGroup& group : plan.groups) {
    for (const DepthCurve& curve : group.curves) {
      const bool has_dropout = curve.dropout > 0;
      panel.curve(of_curve(curve.name, drawn.measure),
                  figure_label(group.spec) + (has_dropout ? ", " + label_of(curve) : ""),
                  {.style = has_dropout ? LineStyle::dashed : LineStyle::line,
                   .color = color,
                   .band = band});
    }
    ++color;
  }
  add_lines(plan, drawn, panel);
}

// The models are side by side, in rows of equal length if they do not fit in one.
std::size_t models_per_row(std::size_t models) {
  constexpr std::size_t most = 5;
  const std::size_t rows = (models + most - 1) / most;
  return (models + rows - 1) / rows;
}

void add_figure(const Plan& plan, ResultBuilder& out) {
  const auto has_one_curve = [](const DepthGroup& group) {
    return std::count_if(group.curves.begin(), group.curves.end(),
                         [](const DepthCurve& curve) { return curve.dropout == 0; }) == 1;
  };
  const std::size_t models = plan.groups.size();
  const bool one_panel = !plan.de_escalates && models > 1 &&
                         std::all_of(plan.groups.begin(), plan.groups.end(), has_one_curve);
  const BandKind band = band_of_trials(plan.model(), out.records().size());
  const std::vector<Drawn> measures = drawn_measures(plan);
  for (const Drawn& drawn : measures) {
    if (!drawn.further_figure.empty()) out.next_figure(drawn.further_figure);
    if (one_panel) {
      add_panel_of_models(plan, drawn, band, out);
      continue;
    }
    if (models > 1) out.columns(models_per_row(models));
    // The axis alone names the measure if all panels of the figure have the same one.
    const bool names_measure = is_encoder(plan.model().row()) && !plan.de_escalates;
    for (const DepthGroup& group : plan.groups) {
      add_panel_of_group(plan, group, drawn, names_measure ? ": " + drawn.axis.label : "", band,
                         out);
    }
  }
  if (plan.model().row().figure == DepthFigure::shallow_4 && !plan.de_escalates) {
    const std::string& curve = plan.groups.front().curves.front().name;
    out.panel("Norms in the pre-norm Transformer", {"block"}, log_axis("Frobenius norm"))
        .curve(of_curve(curve, measure::norm), "tokens X", {.band = band})
        .curve(of_curve(curve, measure::branch_input_norm), "normalized tokens LN(X)",
               {.band = band})
        .curve(of_curve(curve, measure::branch_output_norm), "attention output P LN(X) W",
               {.band = band});
  }
}

void add_gradients(const Plan& plan, ResultBuilder& out) {
  for (const DepthGroup& group : plan.groups) {
    out.series(gradient_norms_of(group.spec), "block", 1);
    out.scalar(of_curve(model_label(group.spec), "gradient_ratio"),
               gradient_ratios(group.spec, out.records()));
  }
  // The shape of the curve depends on the draw, so each draw is shown if they are not too many.
  constexpr std::size_t most_draws = 20;
  const BandKind band = out.records().size() <= most_draws ? BandKind::trials : BandKind::interval;
  PanelBuilder panel = out.panel("Gradient of the weights of each block", {"block"},
                                 log_axis("Frobenius norm of the gradient"));
  for (const DepthGroup& group : plan.groups) {
    panel.curve(
        gradient_norms_of(group.spec),
        figure_label(group.spec) + (group.spec.shares_weights() ? ", part of one block" : ""),
        {.band = band});
  }
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

std::vector<std::string> Plan::curve_names() const {
  std::vector<std::string> out;
  for (const DepthGroup& group : groups) {
    for (const DepthCurve& curve : group.curves) out.push_back(curve.name);
  }
  return out;
}

Result report(const Plan& plan, const Records& records) {
  ResultBuilder out("Token geometry over the layers of " + plan.model().model, records);
  out.claims().set_unit(independent_unit(plan.model()));
  for (std::string& note : file_notes(plan.model())) out.note(std::move(note));
  for (const DepthGroup& group : plan.groups) {
    for (const DepthCurve& curve : group.curves) {
      add_depth_series(curve.name, out);
      for (const char* what : {measure::mu_normalized, measure::rank_one_residual,
                               measure::token_similarity, measure::cosine_similarity}) {
        out.scalar(of_curve(curve.name, std::string("final_") + what),
                   final_values(curve.name, what, records));
      }
    }
    out.note(settings_text(group.spec) + ".");
  }
  const std::vector<std::string> curves = plan.curve_names();
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
