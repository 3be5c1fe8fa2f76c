// The figures of the study gpt: tables and the runs that they compare, losses, runs without the
// mean token, ranks, condition (1.8), gates, best single steps.
#include "experiments/one_step_compare/gpt/claims.hpp"
#include "figure/cell_text.hpp"
#include "figure/text.hpp"

namespace ranklab::gpt {
namespace {

// Runs that are compared --------------------------------------------------------------------------

/// Whether a run can be compared with the others step by step: it has their size and length.
bool is_comparable(const Run& run, const Plan& plan) {
  const Config &a = run.config, &b = plan.config();
  return a.dim == b.dim && a.layers == b.layers && a.steps == b.steps;
}

/// Adam's run with the same settings, except for the optimizers' own: their learning rates and the
/// matrices that they update. It has the same embedding rate if the plan has such a run. Null for a
/// run of Adam and for a run without such a partner.
const Run* adam_for(const Run& run, const Plan& plan) {
  if (run.rule() == Rule::adam) return nullptr;
  const auto is_partner = [&](const Run& other) {
    return other.rule() == Rule::adam && other.workload() == run.workload();
  };
  const Run* const same_rate = plan.first_where([&](const Run& other) {
    return is_partner(other) && other.config.lr_embedding == run.config.lr_embedding;
  });
  return same_rate ? same_rate : plan.first_where(is_partner);
}

/// Whether runs choose the matrices or the scale of Muon.
bool chooses(const Plan& plan) {
  return plan.first_where([](const Run& run) {
    return run.follows_criterion() || run.config.spectral_on.size() > 2 ||
           run.config.muon_scale != "original";
  });
}

/// Runs that choose the matrices or the scale have rates of their own.
std::string same_settings(const Plan& plan) {
  return chooses(plan) ? "" : " with the same settings";
}

double final_loss(const TrialRecord& record, const Run& run) {
  return record.scalar(run.key(final_validation_loss));
}

// Tables ------------------------------------------------------------------------------------------

std::string in_percent(std::vector<double> values) {
  for (double& value : values) value *= 100;
  return mean_text(values);
}

bool is_measured(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

/// The final held-out loss of a run minus that of another, in each trial: losses of one seed differ
/// less than losses of two seeds.
std::vector<double> final_differences(const Records& records, const Run& run, const Run& base) {
  return per_trial(records, [&](const TrialRecord& record) {
    return final_loss(record, run) - final_loss(record, base);
  });
}

/// [Spectral] Table 2, as printed.
struct PrintedLosses {
  double adam, on_W2, muon;
};
constexpr PrintedLosses printed_without_gate = {3.9242, 3.7023, 3.5654},
                        printed_with_gate = {3.8837, 3.7843, 3.5125};

std::vector<std::string> printed_cells(const PrintedLosses& printed, const Share& share) {
  std::vector<std::string> out;
  for (const double number : {printed.adam, printed.on_W2, printed.muon,
                              printed.adam - printed.on_W2, printed.adam - printed.muon})
    out.push_back(digits_of(number, std::chars_format::fixed, 4));
  out.push_back(number_text(100 * share.printed));
  return out;
}

std::vector<std::string> measured_cells(const Records& records, const Share& share) {
  const Run *const adam = share.adam, *const on_W2 = share.on_W2, *const muon = share.muon;
  std::vector<std::string> out;
  for (const Run* run : {adam, on_W2, muon})
    out.push_back(run ? mean_text(scalars_of(records, run->key(final_validation_loss)))
                      : "not run");
  for (const Run* run : {on_W2, muon})
    out.push_back(run && adam ? mean_text(final_differences(records, *adam, *run)) : "not run");
  out.push_back(share.per_trial.empty()  ? "not run"
                : !share.missing.empty() ? "undefined"
                                         : in_percent(share.per_trial));
  return out;
}

/// Adds a table of how many matrices of each name meet (1.8) early, if runs follow it.
void add_criterion_table(ResultBuilder& out, const Plan& plan) {
  FigureTable table{
      say("Matrices with nr(G) >= st(A) at steps 4 to {} of Adam with each run's learning rates "
          "(mean over seeds)",
          watched_steps.back()),
      {"run"},
      {}};
  const std::vector<std::string> blocks = plan.runs.front().blocks();
  table.columns.insert(table.columns.end(), blocks.begin(), blocks.end());
  for (const Run& run : plan.runs) {
    if (!run.follows_criterion() || run.blocks() != blocks) continue;
    std::vector<std::string> cells = {run.figure_label()};
    for (const std::string& block : blocks) {
      cells.push_back(
          short_number(
              summarize(scalars_of(out.records(), run.key(criterion_met_by(block)))).mean) +
          " of " + std::to_string(run.config.layers));
    }
    table.rows.push_back(std::move(cells));
  }
  if (!table.rows.empty()) out.figure_table(std::move(table));
}

/// Adds a table of the losses after training of all comparable runs; if runs choose the matrices or
/// the scale, of all runs. On the text of facts also those of frequent and rare facts.
void add_loss_table(ResultBuilder& out, const Plan& plan) {
  FigureTable table{
      "Held-out loss after training, nats per token",
      {"run", "loss (\u00B1 99 %)", "minus Adam's" + same_settings(plan) + " (\u00B1 99 %)"},
      {}};
  if (plan.config().has_facts())
    table.columns.insert(table.columns.end(), {"of frequent facts", "of rare facts"});
  for (const Run& run : plan.runs) {
    const Run* const adam = adam_for(run, plan);
    if (!is_comparable(run, plan) && !chooses(plan)) continue;
    const auto mean_of = [&](const char* number) {
      return mean_text(scalars_of(out.records(), run.key(number)));
    };
    table.rows.push_back({run.figure_label(), mean_of(final_validation_loss),
                          adam ? mean_text(final_differences(out.records(), run, *adam)) : ""});
    if (plan.config().has_facts()) {
      table.rows.back().push_back(mean_of(frequent_loss));
      table.rows.back().push_back(mean_of(rare_loss));
    }
  }
  out.figure_table(std::move(table));
}

/// Adds a table of the shares of cases that violate condition (1.8).
void add_violation_table(ResultBuilder& out, const Plan& plan) {
  FigureTable table{
      "Cases with nr(G) < st, of all matrices inside the layers at all measured steps",
      {"run"},
      {}};
  for (const Run& run : plan.runs) {
    if (is_comparable(run, plan)) table.rows.push_back({run.figure_label()});
  }
  for (const Stage& stage : {early, late}) {
    std::vector<std::vector<double>> shares;
    for (const Run& run : plan.runs) {
      if (is_comparable(run, plan))
        shares.push_back(scalars_of(out.records(), run.key(stage.violations)));
    }
    if (std::none_of(shares.begin(), shares.end(), is_measured)) continue;
    table.columns.push_back(say("{}, % (\u00B1 99 %)", stage.when));
    for (std::size_t i = 0; i < shares.size(); ++i)
      table.rows[i].push_back(is_measured(shares[i]) ? in_percent(shares[i]) : "not measured");
  }
  if (table.columns.size() > 1) out.figure_table(std::move(table));
}

/// Adds Table 2 to the current figure, printed and measured. Returns whether the plan has its runs,
/// without or with a gate; otherwise adds nothing.
bool add_table_2(ResultBuilder& out, const Plan& plan) {
  if (out.records().empty()) return false;
  const Table2 shares = table_2(plan, out.records());
  if (shares.plain.per_trial.empty() && shares.gated.per_trial.empty()) return false;
  FigureTable table{
      "Table 2: held-out loss, nats per token (printed: 160 million parameters, FineWeb)",
      {"", "not gated, printed", "not gated, measured (\u00B1 99 %)", "gated, printed",
       "gated, measured (\u00B1 99 %)"},
      {{"Adam"},
       {"Muon on W2 only"},
       {"Muon on attention and MLP"},
       {"gain of Muon on W2 only over Adam"},
       {"gain of Muon on attention and MLP over Adam"},
       {"share of this gain from W2 only, %"}}};
  const Records& records = out.records();
  for (const std::vector<std::string>& cells :
       {printed_cells(printed_without_gate, shares.plain), measured_cells(records, shares.plain),
        printed_cells(printed_with_gate, shares.gated), measured_cells(records, shares.gated)}) {
    for (std::size_t i = 0; i < cells.size(); ++i) table.rows[i].push_back(cells[i]);
  }
  out.figure_table(std::move(table));
  return true;
}

// Losses ------------------------------------------------------------------------------------------

constexpr std::size_t most_runs = 4;  // with a curve each

int color_of(const Run& run, const Plan& plan) {
  return static_cast<int>(&run - plan.runs.data());
}

/// Adds the difference of the validation losses of two runs from early_steps on; before, the
/// learning rates still rise and the curves cross. Paired by seed, because losses of one seed
/// differ less than losses of two seeds.
void add_difference(ResultBuilder& out, const Run& run, const Run& base, const Quantity& name) {
  std::vector<double> steps;
  const double first_step =
      std::min(early_steps, run.measured.back());  // only the end of a short run
  std::copy_if(run.measured.begin(), run.measured.end(), std::back_inserter(steps),
               [&](double t) { return t >= first_step; });
  const std::size_t first = run.measured.size() - steps.size();
  out.series(name, "step", steps, [&run, &base, first](const TrialRecord& record, std::size_t i) {
    const auto loss = [&](const Run& of) {
      return record.array(of.key(validation_loss)).at(first + i);
    };
    return loss(run) - loss(base);
  });
}

/// The look of a curve. Every trial is drawn, because trained networks can differ by more than a
/// band shows.
CurveLook look(int color, LineStyle style = LineStyle::line) {
  return {.style = style, .color = color, .band = BandKind::trials};
}

/// The look of a run in panels that compare runs: the same color in all of them.
CurveLook look_of(const Run& run, const Plan& plan) {
  return look(color_of(run, plan), run.is_main ? LineStyle::line : LineStyle::dashed);
}

/// The runs with a curve each: all comparable ones if they are few, otherwise the main ones.
std::vector<const Run*> shown_runs(const Plan& plan) {
  std::vector<const Run*> comparable, main;
  for (const Run& run : plan.runs) {
    if (is_comparable(run, plan)) comparable.push_back(&run);
    if (run.is_main) main.push_back(&run);
  }
  return comparable.size() <= most_runs ? comparable : main;
}

/// Adds panels of the held-out losses over the steps, and of their differences to Adam's.
void draw_losses(ResultBuilder& out, const Plan& plan) {
  const std::vector<const Run*> shown = shown_runs(plan);
  PanelBuilder held_out = out.panel("Held-out loss", {"training step"}, log_axis("nats per token"));
  for (const Run* run : shown)
    held_out.curve(run->key(validation_loss), run->figure_label(), look_of(*run, plan));
  const Run* const adam = plan.main_run("adam");
  const Run& base = adam ? *adam : plan.runs.front();
  PanelBuilder difference = out.panel("Held-out loss minus that of " + base.figure_label(),
                                      {"training step"}, {"nats per token"});
  for (const Run& run : plan.runs) {
    if (&run == &base || !is_comparable(run, plan) || run.measured != base.measured) continue;
    const Quantity name = run.key("validation_loss_difference");
    add_difference(out, run, base, name);
    if (std::count(shown.begin(), shown.end(), &run) > 0)
      difference.curve(name, run.figure_label(), look_of(run, plan));
  }
  difference.line(0.0, base.figure_label());
}

/// Adds a panel of the final losses minus those of adam_for(). One name below the axis for each run
/// that has a run of Adam to be compared with, and one series for each optimizer.
void draw_final_differences(ResultBuilder& out, const Plan& plan) {
  std::vector<std::pair<const Run*, const Run*>> pairs;
  Axis names{""};
  for (const Run& run : plan.runs) {
    const Run* const adam = adam_for(run, plan);
    if (!adam) continue;
    pairs.emplace_back(&run, adam);
    names.ticks.push_back(run.tick_label(chooses(plan)));
  }
  PanelBuilder panel = out.panel("Final held-out loss minus Adam's" + same_settings(plan), names,
                                 {"nats per token"});
  for (const Run& first : plan.runs) {
    const Quantity name = At("optimizer", first.optimizer) / "final_validation_loss_difference";
    if (out.has_series(name)) continue;
    std::vector<double> x;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (pairs[i].first->optimizer == first.optimizer) x.push_back(static_cast<double>(i + 1));
    }
    if (x.empty()) continue;
    out.series(name, "run", x, [&](const TrialRecord& record, std::size_t i) {
      const auto& [run, adam] = pairs[static_cast<std::size_t>(x[i]) - 1];
      return final_loss(record, *run) - final_loss(record, *adam);
    });
    panel.curve(name, optimizer_named(first.optimizer).figure_label,
                look(color_of(first, plan), LineStyle::points));
  }
  panel.line(0.0, "Adam");
}

// With and without the mean token -----------------------------------------------------------------

/// Geometric means over layers and steps, arithmetic means over trials.
void add_mean_token_table(ResultBuilder& out, const std::vector<const Run*>& runs) {
  FigureTable table{
      "With and without the mean token, means from step 32 on (\u00B1 99 %)", {"run"}, {}};
  for (const MeanTokenEffect& effect : mean_token_effects()) table.columns.push_back(effect.column);
  table.columns.push_back("final held-out loss, nats per token");
  for (const Run* run : runs) {
    const RunRecords view(*run, out.records());
    std::vector<std::string> cells = {run->figure_label()};
    for (const MeanTokenEffect& effect : mean_token_effects()) {
      cells.push_back(effect.of_single_steps && run->one_steps(late).empty()
                          ? "not measured"
                          : mean_text(per_trial(out.records(), [&](const TrialRecord& record) {
                              return std::exp(effect.mean_log_of(view, record));
                            })));
    }
    cells.push_back(mean_text(view.numbers(final_validation_loss)));
    table.rows.push_back(std::move(cells));
  }
  out.figure_table(std::move(table));
}

/// Draws the runs with and without the mean token: a table, inputs, gradients, losses. Returns
/// whether the plan has such runs; otherwise draws nothing.
bool draw_mean_token(ResultBuilder& out, const Plan& plan) {
  std::vector<const Run*> runs;
  for (const char* optimizer : {"adam", "muon"}) {
    const RunPair pair = plan.mean_token_pair(optimizer);
    if (pair) runs.insert(runs.end(), {pair.first, pair.second});
  }
  if (runs.empty()) return false;
  if (!out.records().empty()) add_mean_token_table(out, runs);
  out.columns(2);
  const struct {
    const char* title;
    Quantity what;
    std::string y_label;
  } panels[] = {
      {"A^rms, input of attention, mean over layers", stable_rank.of("A"), stable_rank.label},
      {"A^rms_mlp, input of the net, mean over layers", stable_rank.of("Am"), stable_rank.label},
      {"Gradient of W1, mean over layers", gradient_rank.of("W1"), "nuclear rank"}};
  for (const auto& [title, what, y_label] : panels) {
    PanelBuilder panel = out.panel(title, {"training step"}, rank_axis(y_label));
    for (const Run* run : runs)
      panel.curve(run->key(over_layers(what)), run->figure_label(), look_of(*run, plan));
    panel.group("mean token");
  }
  PanelBuilder loss = out.panel("Held-out loss", {"training step"}, log_axis("nats per token"));
  for (const Run* run : runs)
    loss.curve(run->key(validation_loss), run->figure_label(), look_of(*run, plan));
  return true;
}

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

Axis step_axis(const Run& run) {
  return {"training step with " + run.figure_label()};
}

PanelBuilder layer_panel(ResultBuilder& out, const Run& run, const std::string& title,
                         const Quantity& what, const std::string& y_label,
                         const std::string& group) {
  PanelBuilder panel = out.panel(title, step_axis(run), rank_axis(y_label));
  int color = 0;
  for (const std::size_t layer : shown_layers(run.config.layers)) {
    panel.curve(run.key(in_layer(layer, what)), "layer " + std::to_string(layer + 1),
                look(color++));
  }
  return panel.group(group);
}

/// The gradients of W2 and W1 are below the inputs of these matrices. The last panel has the input
/// of the activation, where the authors' published code records the ranks of Figure 2.
void draw_mlp_and_inputs(ResultBuilder& out, const Run& run) {
  const double width = static_cast<double>(run.hidden_width()),
               d = static_cast<double>(run.config.dim);
  const auto input = [&](const std::string& title, const std::string& name) {
    return layer_panel(out, run, title, stable_rank.of(name), stable_rank.label, "ranks");
  };
  const auto gradient = [&](const std::string& title, const std::string& name) {
    return layer_panel(out, run, title, gradient_rank.of(name), gradient_rank.label, "ranks");
  };
  out.columns(3);
  input("B, input of W2 (Figure 2)", "S").line(0.1 * width, "width/10");
  input("A^rms_mlp, input of W1 (Figure 6)", "Am").line(d / 4, "d/4");
  input("A^rms, input of attention (Figure 6)", "A").line(d / 4, "d/4");
  gradient("Gradient of W2 (Figure 5)", "W2").line(d, "d").line(d / 4, "d/4");
  gradient("Gradient of W1 (Figure 5)", "W1").line(d, "d").line(d / 4, "d/4");
  input("W1 A^rms_mlp, before the activation", "Z").line(0.1 * width, "width/10");
}

void draw_other_gradients(ResultBuilder& out, const Run& run) {
  out.next_figure("Attention, embedding and head gradients (Figures 7 to 10)");
  out.columns(2);
  for (const auto& [block, figure] :
       {std::pair("Wq", "8"), {"Wk", "8"}, {"Wv", "9"}, {"Wo", "9"}}) {
    layer_panel(out, run, std::string("Gradient of ") + block + " (Figure " + figure + ")",
                gradient_rank.of(block), gradient_rank.label, "attention")
        .line(static_cast<double>(run.config.dim), "d");
  }
  out.panel("Embedding (Figures 7 and 10)", step_axis(run), rank_axis("rank"))
      .curve(run.key(gradient_rank.of("embedding")), "nuclear rank of its gradient", look(0))
      .curve(run.key(indicator), "stable rank of the token indicator, 1/p_max", look(2))
      .curve(run.key(stable_rank.of("embedding")), "stable rank of the embedded tokens E[id]",
             look(3));
  out.panel("Head (Figures 6 and 7)", step_axis(run), rank_axis("rank"))
      .curve(run.key(gradient_rank.of("head")), "nuclear rank of its gradient", look(0))
      .curve(run.key(stable_rank.of("Af")), "stable rank of its input A^rms_final", look(1));
}

// Condition (1.8) and single steps ----------------------------------------------------------------

void draw_condition(ResultBuilder& out, const Plan& plan) {
  const std::vector<std::string> inside = plan.shown_run().blocks();
  std::vector<std::string> blocks = inside;
  blocks.insert(blocks.end(), {"head", "embedding"});
  out.next_figure("Condition (1.8): nr(G) is at least the stable rank of the input");
  out.columns(blocks.size() % 3 == 0 ? 3 : 4);  // full rows for 8 matrices, and for 9 with Wg
  if (!out.records().empty()) add_violation_table(out, plan);
  for (const std::string& block : blocks) {
    const bool of_layers = std::count(inside.begin(), inside.end(), block) > 0;
    PanelBuilder panel = out.panel(block + (of_layers ? ", mean over layers" : ""),
                                   {"training step"}, log_axis(rank_ratio.label));
    for (const Run* run : shown_runs(plan)) {
      panel.curve_if_measured(
          run->key(of_layers ? over_layers(rank_ratio.of(block)) : rank_ratio.of(block)),
          run->figure_label(), look_of(*run, plan));
    }
    panel.line(1.0, "nr = st").group("condition");
  }
}

/// [Spectral] Section 1.2.2: the stable rank of B and the ratio at W2, of each optimizer that has a
/// run without and one with a gate.
void draw_gate(ResultBuilder& out, const Plan& plan) {
  const std::vector<RunPair> pairs = plan.gated_pairs();
  if (pairs.empty()) return;
  out.next_figure("Without and with a gate (SwiGLU), means over layers");
  PanelBuilder rank =
      out.panel("Post-activations B, input of W2", {"training step"}, rank_axis(stable_rank.label));
  PanelBuilder ratio =
      out.panel("Condition (1.8) at W2", {"training step"}, log_axis("nr(G) / st(B)"));
  for (const auto& [plain, gated] : pairs) {
    const int color = look_of(*plain, plan).color;
    for (const auto& [run, style] :
         {std::pair(plain, LineStyle::line), {gated, LineStyle::dashed}}) {
      rank.curve(run->key(over_layers(stable_rank.of("S"))), run->figure_label(),
                 look(color, style));
      ratio.curve(run->key(over_layers(rank_ratio.of("W2"))), run->figure_label(),
                  look(color, style));
    }
  }
  ratio.line(1.0, "nr = st");
}

constexpr char points[] = ".points";

/// Adds a point for each matrix, step and trial, at its own predicted ratio.
void add_points(ResultBuilder& out, const At& place, const std::string& measured) {
  std::vector<double> x, y;
  for (const TrialRecord& record : out.records()) {
    const std::vector<double>&predicted = record.array(place / predicted_ratio),
          &ratios = record.array(place / measured);
    for (std::size_t i = 0; i < std::min(predicted.size(), ratios.size()); ++i) {
      if (std::isfinite(predicted[i]) && std::isfinite(ratios[i]))
        x.push_back(predicted[i]), y.push_back(ratios[i]);
    }
  }
  out.series_of_points(place / (measured + points), "nr/st", std::move(x), std::move(y));
}

void draw_one_step(ResultBuilder& out, const Run& run) {
  const Quantity prediction = run.key("one_step.as_predicted");
  out.next_figure("One-step comparisons (eq. 1.1), run of " + run.figure_label());
  out.series_of_points(prediction, "nr/st", {0.5, 20}, {0.5, 20});
  for (const Stage& stage : {early, late}) {
    if (run.one_steps(stage).empty()) continue;
    const At when = run.place / stage.at();
    for (const char* measured : {batch_ratio, independent_ratio}) add_points(out, when, measured);
    out.panel(say("Best step for one matrix, {}", stage.when),
              log_axis("predicted ratio nr(G) / st"), log_axis("loss decrease, polar(G) over G"))
        .curve(when / (std::string(batch_ratio) + points), "on the batch that gave G",
               {LineStyle::points, 0})
        .curve(when / (std::string(independent_ratio) + points), "on an independent batch",
               {LineStyle::points, 1})
        .curve(prediction, "prediction of eq. (1.1)", {LineStyle::dashed, 6})
        .line(1.0, "equal decrease")
        .group("one step");
  }
}

}  // namespace

void draw(ResultBuilder& out, const Plan& plan) {
  const bool has_table_2 = add_table_2(out, plan), has_choices = chooses(plan);
  if (draw_mean_token(out, plan))
    out.next_figure("Ranks of inputs and MLP gradients (Figures 2, 5 and 6)");
  if (has_choices && !out.records().empty()) {
    add_loss_table(out, plan);
    add_criterion_table(out, plan);
  }
  if (has_table_2 || has_choices) draw_final_differences(out, plan);
  if (has_choices) return;  // spectral-gpt draws the ranks and the curves
  if (has_table_2) out.next_figure("Ranks of inputs and MLP gradients (Figures 2, 5 and 6)");
  draw_mlp_and_inputs(out, plan.shown_run());
  out.next_figure("Losses of the optimizers");
  if (!has_table_2 && plan.runs.size() > 1 && !out.records().empty()) add_loss_table(out, plan);
  draw_losses(out, plan);
  if (!has_table_2) draw_final_differences(out, plan);
  draw_other_gradients(out, plan.shown_run());
  draw_condition(out, plan);
  draw_gate(out, plan);
  if (plan.config().one_step && !out.records().empty()) draw_one_step(out, plan.runs.front());
}

}  // namespace ranklab::gpt
