// Panels of the study gpt: ranks, condition (1.8), gates, best single steps.
#include "experiments/one_step_compare/gpt/figure.hpp"

#include <algorithm>
#include <cmath>

namespace ranklab::gpt {
namespace {

constexpr std::size_t most_layers = 7;  // with a curve each

// Ranks of one run, layer by layer ----------------------------------------------------------------

/// At most most_layers layers, evenly spaced from the first to the last.
std::vector<std::size_t> shown_layers(std::size_t layers) {
  const std::size_t gaps = std::min(layers, most_layers) - 1;
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i <= gaps; ++i)
    out.push_back(gaps == 0 ? 0 : (i * (layers - 1) + gaps / 2) / gaps);
  return out;
}

constexpr char of_gradient[] = "nuclear rank nr(G)";

Axis step_axis(const Run& run) {
  return {"training step with " + figure_label(run)};
}

PanelBuilder layer_panel(ResultBuilder& out, const Run& run, const std::string& title,
                         const std::string& what, const std::string& y_label,
                         const std::string& group) {
  PanelBuilder panel = out.panel(title, step_axis(run), rank_axis(y_label));
  int color = 0;
  for (const std::size_t layer : shown_layers(run.config.layers)) {
    panel.curve(run.name + "." + in_layer(layer, what), "layer " + std::to_string(layer + 1),
                look(color++));
  }
  return panel.group(group);
}

/// The gradients of W2 and W1 are below the inputs of these matrices.
void draw_mlp_and_inputs(ResultBuilder& out, const Run& run) {
  const double width = static_cast<double>(run.hidden_width()),
               d = static_cast<double>(run.config.dim);
  const auto input = [&](const std::string& title, const std::string& name,
                         const std::string& y_label = "stable rank") {
    return layer_panel(out, run, title, stable_rank_of(name), y_label, "ranks");
  };
  const auto gradient = [&](const std::string& title, const std::string& name) {
    return layer_panel(out, run, title, nuclear_rank_of(name), of_gradient, "ranks");
  };
  out.columns(3);
  input("Post-activations S, input of W2 (Figure 2)", "S").line(0.1 * width, "width/10");
  input("Normalized input Am of W1 (Figure 6)", "Am").line(d / 4, "d/4");
  input("Normalized input A of attention (Figure 6)", "A").line(d / 4, "d/4");
  gradient("Gradient of W2 (Figure 5)", "W2").line(d, "d").line(d / 4, "d/4");
  gradient("Gradient of W1 (Figure 5)", "W1").line(d, "d").line(d / 4, "d/4");
  input("Pre-activations Z (Figure 2's tracker)", "Z", "stable rank of Z")
      .line(0.1 * width, "width/10");
}

void draw_other_gradients(ResultBuilder& out, const Run& run) {
  const std::string prefix = run.name + ".";
  out.next_figure("Attention, embedding and head gradients (Figures 7 to 10)");
  out.columns(2);
  for (const auto& [block, figure] :
       {std::pair("Wq", "8"), {"Wk", "8"}, {"Wv", "9"}, {"Wo", "9"}}) {
    layer_panel(out, run, std::string("Gradient of ") + block + " (Figure " + figure + ")",
                nuclear_rank_of(block), of_gradient, "attention")
        .line(static_cast<double>(run.config.dim), "d");
  }
  out.panel("Embedding (Figures 7 and 10)", step_axis(run), rank_axis("rank"))
      .curve(prefix + nuclear_rank_of("embedding"), "nuclear rank of its gradient", look(0))
      .curve(prefix + indicator, "stable rank of the token indicator, 1/p_max", look(2))
      .curve(prefix + stable_rank_of("embedding"), "stable rank of the embedded tokens E[id]",
             look(3));
  out.panel("Head (Figures 6 and 7)", step_axis(run), rank_axis("rank"))
      .curve(prefix + nuclear_rank_of("head"), "nuclear rank of its gradient", look(0))
      .curve(prefix + stable_rank_of("Af"), "stable rank of its input Af", look(1));
}

// Condition (1.8) and single steps ----------------------------------------------------------------

void draw_condition(ResultBuilder& out, const Plan& plan) {
  const std::vector<std::string> inside = hidden_blocks(plan.shown_run());
  std::vector<std::string> blocks = inside;
  blocks.insert(blocks.end(), {"head", "embedding"});
  out.next_figure("Condition (1.8): nr(G) is at least the stable rank of the input");
  out.columns(blocks.size() % 3 == 0 ? 3 : 4);  // full rows for 8 matrices, and for 9 with Wg
  if (!out.records().empty()) add_violation_table(out, plan);
  for (const std::string& block : blocks) {
    const bool of_layers = std::count(inside.begin(), inside.end(), block) > 0;
    PanelBuilder panel = out.panel(block + (of_layers ? ", mean over layers" : ""),
                                   {"training step"}, log_axis("nr(G) / st"));
    for (const Run* run : shown_runs(plan)) {
      panel.curve_if_measured(run->name + (of_layers ? ".mean." : ".") + ratio_of(block),
                              figure_label(*run), look_of(*run, plan));
    }
    panel.line(1.0, "nr = st").group("condition");
  }
}

/// [Spectral] Section 1.2.2: the stable rank of S and the ratio at W2, of each optimizer that has a
/// run without and one with a gate.
void draw_gate(ResultBuilder& out, const Plan& plan) {
  std::vector<std::pair<const Run*, const Run*>> pairs;
  for (const Run& gated : plan.runs) {
    const Run* const plain = plan.find(gated.optimizer);
    if (plain && plan.config.activation != "swiglu" &&
        gated.changes == Changes{{"activation", "swiglu"}})
      pairs.emplace_back(plain, &gated);
  }
  if (pairs.empty()) return;
  out.next_figure("Without and with a gate (SwiGLU), means over layers");
  PanelBuilder rank =
      out.panel("Post-activations S, input of W2", {"training step"}, rank_axis("stable rank"));
  PanelBuilder ratio =
      out.panel("Condition (1.8) at W2", {"training step"}, log_axis("nr(G) / st(S)"));
  for (const auto& [plain, gated] : pairs) {
    const int color = look_of(*plain, plan).color;
    for (const auto& [run, style] :
         {std::pair(plain, LineStyle::line), {gated, LineStyle::dashed}}) {
      rank.curve(run->name + ".mean." + stable_rank_of("S"), figure_label(*run),
                 look(color, style));
      ratio.curve(run->name + ".mean." + ratio_of("W2"), figure_label(*run), look(color, style));
    }
  }
  ratio.line(1.0, "nr = st");
}

/// Adds a point for each matrix, step and trial, at its own predicted ratio.
void add_points(ResultBuilder& out, const std::string& prefix, const std::string& measured) {
  std::vector<double> x, y;
  for (const TrialRecord& record : out.records()) {
    const std::vector<double>&predicted = record.array(prefix + predicted_ratio),
          &ratios = record.array(prefix + measured);
    for (std::size_t i = 0; i < std::min(predicted.size(), ratios.size()); ++i) {
      if (std::isfinite(predicted[i]) && std::isfinite(ratios[i]))
        x.push_back(predicted[i]), y.push_back(ratios[i]);
    }
  }
  out.series_of_points(prefix + measured + ".points", "nr/st", std::move(x), std::move(y));
}

void draw_one_step(ResultBuilder& out, const Run& run) {
  const std::string prefix = run.name + ".", prediction = prefix + "one_step.as_predicted",
                    points = ".points";
  out.next_figure("One-step comparisons (eq. 1.1), run of " + figure_label(run));
  out.series_of_points(prediction, "nr/st", {0.5, 20}, {0.5, 20});
  for (const bool is_early : {true, false}) {
    if (one_step_points(run, is_early).empty()) continue;
    const std::string when = prefix + (is_early ? early : "");
    for (const char* measured : {batch_ratio, independent_ratio}) add_points(out, when, measured);
    out.panel(std::string("Best step for one matrix, ") +
                  (is_early ? "before step 32" : "from step 32 on"),
              log_axis("predicted ratio nr(G) / st"), log_axis("loss decrease, polar(G) over G"))
        .curve(when + batch_ratio + points, "on the batch that gave G", {LineStyle::points, 0})
        .curve(when + independent_ratio + points, "on an independent batch", {LineStyle::points, 1})
        .curve(prediction, "prediction of eq. (1.1)", {LineStyle::dashed, 6})
        .line(1.0, "equal decrease")
        .group("one step");
  }
}

}  // namespace

void draw(ResultBuilder& out, const Plan& plan) {
  const bool has_table_2 = add_table_2(out, plan), has_advice = follows_advice(plan);
  if (draw_mean_token(out, plan))
    out.next_figure("Ranks of inputs and MLP gradients (Figures 2, 5 and 6)");
  if (has_advice && !out.records().empty()) {
    add_loss_table(out, plan);
    add_advice_table(out, plan);
  }
  if (has_advice) draw_advice_differences(out, plan);
  if (has_table_2) draw_final_differences(out, plan);
  if (has_table_2 || has_advice)
    out.next_figure("Ranks of inputs and MLP gradients (Figures 2, 5 and 6)");
  draw_mlp_and_inputs(out, plan.shown_run());
  out.next_figure("Losses of the optimizers");
  if (!has_table_2 && !has_advice && plan.runs.size() > 1 && !out.records().empty())
    add_loss_table(out, plan);
  draw_losses(out, plan);
  if (!has_table_2 && !has_advice) draw_final_differences(out, plan);
  draw_other_gradients(out, plan.shown_run());
  draw_condition(out, plan);
  draw_gate(out, plan);
  if (plan.config.one_step && !out.records().empty()) draw_one_step(out, plan.runs.front());
}

}  // namespace ranklab::gpt
