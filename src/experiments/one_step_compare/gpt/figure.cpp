// The figures of the study gpt: tables and the runs that they compare, losses, runs without the
// mean token, ranks, condition (1.8), gates, best single steps.
#include "experiments/one_step_compare/gpt/claims.hpp"
#include "figure/cell_text.hpp"
#include "figure/text.hpp"

namespace ranklab::gpt {
namespace {

using grid::trials_look;

// Runs that are compared --------------------------------------------------------------------------

/// Whether a run can be compared with the others step by step: it has their size and length.
bool is_comparable(const Run& run, const Plan& plan) {
  return run.same_on(plan.runs.front(), {"dim", "layers", "steps"});
}

std::vector<const Run*> comparable_runs(const Plan& plan) {
  std::vector<const Run*> out;
  for (const Run& run : plan.runs) {
    if (is_comparable(run, plan)) out.push_back(&run);
  }
  return out;
}

/// Adam's run with the same settings, except for the optimizers' own: their learning rates and the
/// matrices that they update. It has the same embedding rate if the plan has such a run. Null for a
/// run of Adam and for a run without such a partner.
const Run* adam_for(const Run& run, const Plan& plan) {
  if (run.rule() == Rule::adam) return nullptr;
  const auto is_partner = [&](const Run& other) {
    return other.rule() == Rule::adam && other.same_workload(run);
  };
  const Run* const same_rate = plan.first_where([&](const Run& other) {
    return is_partner(other) && other.config.lr_embedding == run.config.lr_embedding;
  });
  return same_rate ? same_rate : plan.first_where(is_partner);
}

bool cuts(const Run& run) {
  return run.config.muon_parts != std::vector<std::string>{"whole"};
}

/// Whether runs choose the matrices, their parts or the scale of Muon.
bool chooses(const Plan& plan) {
  return plan.first_where([](const Run& run) {
    return run.follows_criterion() || run.config.spectral_on.size() > 2 || cuts(run) ||
           run.config.muon_scale != "original";
  });
}

/// Runs that choose have rates of their own.
std::string same_settings(const Plan& plan) {
  return chooses(plan) ? "" : " with the same settings";
}

/// Each run that cuts matrices, and the run that has them whole.
std::vector<RunPair> pairs_with_whole(const Plan& plan) {
  std::vector<RunPair> out;
  for (const Run& run : plan.runs) {
    const Run* const whole = plan.first_where([&](const Run& other) {
      return cuts(run) && !cuts(other) && other.optimizer == run.optimizer &&
             other.same_workload(run) && other.same_on(run, {"spectral-on", "muon-scale"});
    });
    if (whole) out.push_back({&run, whole});
  }
  return out;
}

/// Each run that has a run of Adam to be compared with, and that run.
std::vector<RunPair> pairs_with_adam(const Plan& plan) {
  std::vector<RunPair> out;
  for (const Run& run : plan.runs) {
    if (const Run* const adam = adam_for(run, plan)) out.push_back({&run, adam});
  }
  return out;
}

double final_difference(const TrialRecord& record, const RunPair& pair) {
  return record.scalar(pair.first->key(final_validation_loss)) -
         record.scalar(pair.second->key(final_validation_loss));
}

/// In each trial, because losses of one seed differ less than losses of two seeds.
std::string mean_difference(const Trained& all, const RunPair& pair) {
  return mean_text(per_trial(
      all.records, [&](const TrialRecord& record) { return final_difference(record, pair); }));
}

// Tables ------------------------------------------------------------------------------------------

std::string in_percent(std::vector<double> values) {
  for (double& value : values) value *= 100;
  return mean_text(values);
}

bool is_measured(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

/// Final numbers of a run: their mean over trials.
std::string mean_of(const Trained& all, const Run& run, const Measure& number) {
  return mean_text(all.of(run).numbers(number));
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

std::vector<std::string> measured_cells(const Trained& all, const Share& share) {
  const Run *const adam = share.adam, *const on_W2 = share.on_W2, *const muon = share.muon;
  std::vector<std::string> out;
  for (const Run* run : {adam, on_W2, muon})
    out.push_back(run ? mean_of(all, *run, final_validation_loss) : "not run");
  for (const Run* run : {on_W2, muon})
    out.push_back(run && adam ? mean_difference(all, {adam, run}) : "not run");
  out.push_back(!share.has_runs()        ? "not run"
                : !share.missing.empty() ? "undefined"
                                         : in_percent(share.per_trial));
  return out;
}

/// Adds a table of how many matrices of each name meet (1.8) early, if runs follow it.
void add_criterion_table(Display& out, const Trained& all) {
  FigureTable table{
      say("Matrices with nr(G) >= st(A) at steps 4 to {} of Adam with each run's learning rates "
          "(mean over seeds)",
          watched_steps.back()),
      {"run"},
      {}};
  const std::vector<std::string> blocks = all.plan.runs.front().blocks();
  table.columns.insert(table.columns.end(), blocks.begin(), blocks.end());
  std::vector<const Run*> shown;
  for (const Run& run : all.plan.runs) {
    if (!run.follows_criterion() || run.blocks() != blocks) continue;
    // Runs with the same rates of Adam share a row.
    const auto decided_by = [](const Run& of) { return of.training().updates.at(criterion_word); };
    const auto same = std::ranges::find_if(shown, [&](const Run* other) {
      return other->same_workload(run) && decided_by(*other) == decided_by(run);
    });
    if (same != shown.end()) {
      table.rows[static_cast<std::size_t>(same - shown.begin())][0] += "; " + run.figure_label();
      continue;
    }
    shown.push_back(&run);
    std::vector<std::string>& cells = table.rows.emplace_back();
    cells = {run.figure_label()};
    for (const std::string& block : blocks) {
      const auto met = all.of(run).numbers(criterion_met_by(block));
      cells.push_back(say("{} of {}", summarize(met).mean, run.config.layers));
    }
  }
  if (!table.rows.empty()) out.figure_table(std::move(table));
}

/// Adds a table of the losses after training of all comparable runs; if runs choose the matrices or
/// the scale, of all runs. With their differences to Adam's and, of runs that cut matrices, to
/// those of whole ones. On the text of facts also those of frequent and rare facts.
void add_loss_table(Display& out, const Trained& all) {
  const Plan& plan = all.plan;
  FigureTable table{
      "Held-out loss after training, nats per token",
      {"run", "loss (\u00B1 99 %)", "minus Adam's" + same_settings(plan) + " (\u00B1 99 %)"},
      {}};
  const bool has_facts = plan.config().has_facts();
  const std::vector<RunPair> cut = pairs_with_whole(plan);
  if (!cut.empty()) table.columns.emplace_back("minus that of whole matrices (\u00B1 99 %)");
  if (has_facts) table.columns.insert(table.columns.end(), {"of frequent facts", "of rare facts"});
  for (const Run& run : plan.runs) {
    if (!is_comparable(run, plan) && !chooses(plan)) continue;
    const Run* const adam = adam_for(run, plan);
    std::vector<std::string>& cells = table.rows.emplace_back();
    cells = {run.figure_label(), mean_of(all, run, final_validation_loss),
             adam ? mean_difference(all, {&run, adam}) : ""};
    if (!cut.empty()) {
      const auto pair = std::ranges::find(cut, &run, &RunPair::first);
      cells.push_back(pair == cut.end() ? "" : mean_difference(all, *pair));
    }
    for (const Measure& loss : {frequent_loss, rare_loss}) {
      if (has_facts) cells.push_back(mean_of(all, run, loss));
    }
  }
  out.figure_table(std::move(table));
}

/// Adds a table of the shares of cases that violate condition (1.8).
void add_violation_table(Display& out, const Trained& all) {
  FigureTable table{
      "Cases with nr(G) < st, of all matrices inside the layers at all measured steps",
      {"run"},
      {}};
  const std::vector<const Run*> runs = comparable_runs(all.plan);
  for (const Run* run : runs) table.rows.push_back({run->figure_label()});
  for (const Stage& stage : {early, late}) {
    const auto shares = [&](const Run* run) { return all.of(*run).numbers(stage.violations); };
    if (std::ranges::none_of(runs, is_measured, shares)) continue;
    table.columns.push_back(say("{}, % (\u00B1 99 %)", stage.when));
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const std::vector<double> of_run = shares(runs[i]);
      table.rows[i].push_back(is_measured(of_run) ? in_percent(of_run) : "not measured");
    }
  }
  if (table.columns.size() > 1) out.figure_table(std::move(table));
}

/// Whether the plan has the runs of Table 2, without or with a gate.
bool has_table_2(const Trained& all) {
  const Table2 shares = table_2(all);
  return shares.plain.has_runs() || shares.gated.has_runs();
}

/// Adds Table 2 to the current figure, printed and measured.
void add_table_2(Display& out, const Trained& all) {
  const Table2 shares = table_2(all);
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
  for (const std::vector<std::string>& cells :
       {printed_cells(printed_without_gate, shares.plain), measured_cells(all, shares.plain),
        printed_cells(printed_with_gate, shares.gated), measured_cells(all, shares.gated)}) {
    for (std::size_t i = 0; i < cells.size(); ++i) table.rows[i].push_back(cells[i]);
  }
  out.figure_table(std::move(table));
}

// Losses ------------------------------------------------------------------------------------------

constexpr std::size_t most_runs = 4;  // with a curve each
constexpr char of_st[] = "stable rank", of_nr[] = "nuclear rank nr(G)";

int color_of(const Run& run, const Plan& plan) {
  return static_cast<int>(&run - plan.runs.data());
}

/// The run whose losses those of the others are compared with, step by step; and these others.
const Run& base_of(const Plan& plan) {
  const Run* const adam = plan.main_run("adam");
  return adam ? *adam : plan.runs.front();
}
std::vector<const Run*> compared_with_base(const Plan& plan) {
  const Run& base = base_of(plan);
  std::vector<const Run*> out = comparable_runs(plan);
  std::erase_if(out,
                [&](const Run* run) { return run == &base || run->measured != base.measured; });
  return out;
}

constexpr Measure loss_difference = {"validation_loss_difference", "",
                                     "held-out loss minus that of Adam, or of the first run",
                                     "nats"},
                  final_loss_difference = {"final_validation_loss_difference", "",
                                           "final held-out loss minus Adam's", "nats"},
                  loss_over_whole = {"final_validation_loss_over_whole", "",
                                     "final held-out loss minus that with whole matrices", "nats"};

/// Adds the differences of the validation losses from early_steps on; before, the learning rates
/// still rise and the curves cross. Paired by seed, because losses of one seed differ less than
/// losses of two seeds.
void derive_differences(Numbers& out, const Plan& plan) {
  const Run& base = base_of(plan);
  for (const Run* run : compared_with_base(plan)) {
    const double first_step =
        std::min(early_steps, run->measured.back());  // only the end of a short run
    const auto begin = std::ranges::lower_bound(run->measured, first_step);
    const auto first = static_cast<std::size_t>(begin - run->measured.begin());
    out.series(run->key(loss_difference), "step", std::vector(begin, run->measured.end()),
               [&](const TrialRecord& record, std::size_t i) {
                 const auto loss = [&](const Run& of) {
                   return record.array(of.key(validation_loss)).at(first + i);
                 };
                 return loss(*run) - loss(base);
               });
  }
}

/// The final losses of the first runs of `pairs` minus those of the second. One name below the axis
/// for each pair, and one series for each optimizer.
grid::DotPanel differences_of(const std::vector<RunPair>& pairs, const std::string& title,
                              const Measure& difference, const Plan& plan) {
  grid::DotPanel panel{title, "run", {""}, {"nats per token"}};
  const bool of_one = std::ranges::all_of(pairs, [&](const RunPair& pair) {
    return pair.first->optimizer == pairs.front().first->optimizer;
  });
  for (const RunPair& pair : pairs)
    panel.x.ticks.push_back(pair.first->tick_label(chooses(plan), of_one && chooses(plan)));
  for (const auto& runs : grid::grouped(
           plan.runs, [](const Run&a, const Run&b) { return a.optimizer == b.optimizer; })) {
    const Run& first = *runs.front();
    std::vector<double> places;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (pairs[i].first->optimizer == first.optimizer)
        places.push_back(static_cast<double>(i + 1));
    }
    if (places.empty()) continue;
    panel.dots.push_back({At("optimizer", first.optimizer) / difference, places,
                          [=](const TrialRecord& record, std::size_t i) {
                            return final_difference(record,
                                                    pairs[static_cast<std::size_t>(places[i]) - 1]);
                          },
                          optimizer_named(first.optimizer).figure_label, color_of(first, plan)});
  }
  return panel;
}

/// The final losses minus those of adam_for().
grid::DotPanel final_differences(const Plan& plan) {
  return differences_of(pairs_with_adam(plan),
                        "Final held-out loss minus Adam's" + same_settings(plan),
                        final_loss_difference, plan);
}

/// The final losses of runs that cut matrices minus those with whole ones.
grid::DotPanel differences_to_whole(const Plan& plan) {
  return differences_of(pairs_with_whole(plan), "Final held-out loss minus that of whole matrices",
                        loss_over_whole, plan);
}

/// The look of a run in panels that compare runs: the same color in all of them.
CurveLook look_of(const Run& run, const Plan& plan) {
  return trials_look(run.is_main ? LineStyle::line : LineStyle::dashed, color_of(run, plan));
}

/// The runs with a curve each: all comparable ones if they are few, otherwise the main ones.
std::vector<const Run*> shown_runs(const Plan& plan) {
  std::vector<const Run*> comparable = comparable_runs(plan), main;
  for (const Run& run : plan.runs) {
    if (run.is_main) main.push_back(&run);
  }
  return comparable.size() <= most_runs ? comparable : main;
}

/// Adds panels of the held-out losses over the steps, and of their differences to Adam's.
void draw_losses(Display& out, const Plan& plan) {
  const std::vector<const Run*> shown = shown_runs(plan);
  PanelBuilder held_out = out.panel("Held-out loss", {"training step"}, log_axis("nats per token"));
  for (const Run* run : shown)
    held_out.curve(run->key(validation_loss), run->figure_label(), look_of(*run, plan));
  const Run& base = base_of(plan);
  PanelBuilder difference = out.panel("Held-out loss minus that of " + base.figure_label(),
                                      {"training step"}, {"nats per token"});
  for (const Run* run : compared_with_base(plan)) {
    if (contains(shown, run))
      difference.curve(run->key(loss_difference), run->figure_label(), look_of(*run, plan));
  }
  difference.line(0.0, base.figure_label());
}

// With and without the mean token -----------------------------------------------------------------

/// Geometric means over layers and steps, arithmetic means over trials.
void add_mean_token_table(Display& out, const std::vector<const Run*>& runs, const Trained& all) {
  FigureTable table{
      "With and without the mean token, means from step 32 on (\u00B1 99 %)", {"run"}, {}};
  for (const MeanTokenEffect& effect : mean_token_effects()) table.columns.push_back(effect.column);
  table.columns.push_back("final held-out loss, nats per token");
  for (const Run* run : runs) {
    const RunRecords view(*run, all.records);
    std::vector<std::string>& cells = table.rows.emplace_back();
    cells = {run->figure_label()};
    for (const MeanTokenEffect& effect : mean_token_effects()) {
      const auto mean = [&](const grid::InTrial& trained) {
        return std::exp(effect.mean_log_of(view, trained.record));
      };
      const bool is_missing = effect.of_single_steps && run->one_steps(late).empty();
      cells.push_back(is_missing ? "not measured" : mean_text(view.per_trial(mean)));
    }
    cells.push_back(mean_of(all, *run, final_validation_loss));
  }
  out.figure_table(std::move(table));
}

/// Draws the runs with and without the mean token: a table, inputs, gradients, losses. Returns
/// whether the plan has such runs; otherwise draws nothing.
bool draw_mean_token(Display& out, const Trained& all) {
  const Plan& plan = all.plan;
  std::vector<const Run*> runs;
  for (const char* optimizer : {"adam", "muon"}) {
    const RunPair pair = plan.mean_token_pair(optimizer);
    if (pair) runs.insert(runs.end(), {pair.first, pair.second});
  }
  if (runs.empty()) return false;
  add_mean_token_table(out, runs, all);
  out.columns(2);
  const struct {
    const char* title;
    Quantity what;
    std::string y_label;
  } panels[] = {{"A^rms, input of attention, mean over layers", stable_rank.of("A"), of_st},
                {"A^rms_mlp, input of the net, mean over layers", stable_rank.of("Am"), of_st},
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

PanelBuilder layer_panel(Display& out, const Run& run, const std::string& title,
                         const Quantity& what, const std::string& y_label,
                         const std::string& group) {
  PanelBuilder panel = out.panel(title, step_axis(run), rank_axis(y_label));
  int color = 0;
  for (const std::size_t layer : shown_layers(run.config.layers)) {
    panel.curve(run.key(in_layer(layer, what)), "layer " + std::to_string(layer + 1),
                trials_look(LineStyle::line, color++));
  }
  return panel.group(group);
}

/// The gradients of W2 and W1 are below the inputs of these matrices. The last panel has the input
/// of the activation, where the authors' published code records the ranks of Figure 2.
void draw_mlp_and_inputs(Display& out, const Run& run) {
  const double width = static_cast<double>(run.hidden_width()),
               d = static_cast<double>(run.config.dim);
  const auto input = [&](const std::string& title, const std::string& name) {
    return layer_panel(out, run, title, stable_rank.of(name), of_st, "ranks");
  };
  const auto gradient = [&](const std::string& title, const std::string& name) {
    return layer_panel(out, run, title, gradient_rank.of(name), of_nr, "ranks");
  };
  out.columns(3);
  input("B, input of W2 (Figure 2)", "S").line(0.1 * width, "width/10");
  input("A^rms_mlp, input of W1 (Figure 6)", "Am").line(d / 4, "d/4");
  input("A^rms, input of attention (Figure 6)", "A").line(d / 4, "d/4");
  gradient("Gradient of W2 (Figure 5)", "W2").line(d, "d").line(d / 4, "d/4");
  gradient("Gradient of W1 (Figure 5)", "W1").line(d, "d").line(d / 4, "d/4");
  input("W1 A^rms_mlp, before the activation", "Z").line(0.1 * width, "width/10");
}

void draw_other_gradients(Display& out, const Run& run) {
  out.next_figure("Attention, embedding and head gradients (Figures 7 to 10)");
  out.columns(2);
  for (const auto& [block, figure] :
       {std::pair("Wq", "8"), {"Wk", "8"}, {"Wv", "9"}, {"Wo", "9"}}) {
    layer_panel(out, run, std::string("Gradient of ") + block + " (Figure " + figure + ")",
                gradient_rank.of(block), of_nr, "attention")
        .line(static_cast<double>(run.config.dim), "d");
  }
  out.panel("Embedding (Figures 7 and 10)", step_axis(run), rank_axis("rank"))
      .curve(run.key(gradient_rank.of("embedding")), "nuclear rank of its gradient",
             trials_look(LineStyle::line, 0))
      .curve(run.key(indicator), "stable rank of the token indicator, 1/p_max",
             trials_look(LineStyle::line, 2))
      .curve(run.key(stable_rank.of("embedding")), "stable rank of the embedded tokens E[id]",
             trials_look(LineStyle::line, 3));
  out.panel("Head (Figures 6 and 7)", step_axis(run), rank_axis("rank"))
      .curve(run.key(gradient_rank.of("head")), "nuclear rank of its gradient",
             trials_look(LineStyle::line, 0))
      .curve(run.key(stable_rank.of("Af")), "stable rank of its input A^rms_final",
             trials_look(LineStyle::line, 1));
}

// Condition (1.8) and single steps ----------------------------------------------------------------

void draw_condition(Display& out, const Trained& all) {
  const Plan& plan = all.plan;
  const std::vector<std::string> inside = plan.shown_run().blocks();
  std::vector<std::string> blocks = inside;
  blocks.insert(blocks.end(), {"head", "embedding"});
  out.next_figure("Condition (1.8): nr(G) is at least the stable rank of the input");
  out.columns(blocks.size() % 3 == 0 ? 3 : 4);  // full rows for 8 matrices, and for 9 with Wg
  add_violation_table(out, all);
  for (const std::string& block : blocks) {
    const bool of_layers = std::count(inside.begin(), inside.end(), block) > 0;
    PanelBuilder panel = out.panel(block + (of_layers ? ", mean over layers" : ""),
                                   {"training step"}, log_axis("nr(G) / st"));
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
void draw_gate(Display& out, const Plan& plan) {
  const std::vector<RunPair> pairs = plan.gated_pairs();
  if (pairs.empty()) return;
  out.next_figure("Without and with a gate (SwiGLU), means over layers");
  PanelBuilder rank =
      out.panel("Post-activations B, input of W2", {"training step"}, rank_axis(of_st));
  PanelBuilder ratio =
      out.panel("Condition (1.8) at W2", {"training step"}, log_axis("nr(G) / st(B)"));
  for (const auto& [plain, gated] : pairs) {
    const int color = look_of(*plain, plan).color;
    for (const auto& [run, style] :
         {std::pair(plain, LineStyle::line), {gated, LineStyle::dashed}}) {
      rank.curve(run->key(over_layers(stable_rank.of("S"))), run->figure_label(),
                 trials_look(style, color));
      ratio.curve(run->key(over_layers(rank_ratio.of("W2"))), run->figure_label(),
                  trials_look(style, color));
    }
  }
  ratio.line(1.0, "nr = st");
}

/// What is drawn of the single steps of a batch: a point for each matrix, step and trial, at its
/// own predicted ratio.
struct DrawnSteps {
  Measure ratios, points;
  const char* label;
};
constexpr DrawnSteps drawn_steps[] = {
    {batch_ratio,
     {"one_step.batch.points", "",
      "best decrease along polar(G) over that along G, on the batch of G"},
     "on the batch that gave G"},
    {independent_ratio,
     {"one_step.independent.points", "",
      "best decrease along polar(G) over that along G, on an independent batch"},
     "on an independent batch"}};
constexpr Measure as_predicted = {"one_step.as_predicted", "", "ratio that eq. (1.1) predicts"};

void derive_points(Numbers& out, const At& place, const DrawnSteps& steps) {
  std::vector<double> x, y;
  for (const TrialRecord& record : out.records()) {
    const std::vector<double>&predicted = record.array(place / predicted_ratio),
          &ratios = record.array(place / steps.ratios);
    for (std::size_t i = 0; i < std::min(predicted.size(), ratios.size()); ++i) {
      if (std::isfinite(predicted[i]) && std::isfinite(ratios[i]))
        x.push_back(predicted[i]), y.push_back(ratios[i]);
    }
  }
  out.series_of_points(place / steps.points, "nr/st", std::move(x), std::move(y));
}

void derive_one_step_points(Numbers& out, const Run& run) {
  out.series_of_points(run.key(as_predicted), "nr/st", {0.5, 20}, {0.5, 20});
  for (const Stage& stage : {early, late}) {
    if (run.one_steps(stage).empty()) continue;
    for (const DrawnSteps& steps : drawn_steps) derive_points(out, run.place / stage.at(), steps);
  }
}

void draw_one_step(Display& out, const Run& run) {
  out.next_figure("One-step comparisons (eq. 1.1), run of " + run.figure_label());
  for (const Stage& stage : {early, late}) {
    if (run.one_steps(stage).empty()) continue;
    PanelBuilder panel = out.panel(say("Best step for one matrix, {}", stage.when),
                                   log_axis("predicted ratio nr(G) / st"),
                                   log_axis("loss decrease, polar(G) over G"));
    int color = 0;
    for (const DrawnSteps& steps : drawn_steps) {
      panel.curve(run.place / stage.at() / steps.points, steps.label, {LineStyle::points, color++});
    }
    panel.curve(run.key(as_predicted), "prediction of eq. (1.1)", {LineStyle::dashed, 6})
        .line(1.0, "equal decrease")
        .group("one step");
  }
}

}  // namespace

void derive_comparisons(Numbers& out, const Trained& all) {
  const Plan& plan = all.plan;
  const bool is_first = has_table_2(all) || chooses(plan);
  if (is_first) final_differences(plan).derive(out);
  if (!pairs_with_whole(plan).empty()) differences_to_whole(plan).derive(out);
  if (chooses(plan)) return;
  derive_differences(out, plan);
  if (!is_first) final_differences(plan).derive(out);
  if (plan.config().one_step) derive_one_step_points(out, plan.runs.front());
}

void draw(Display& out, const Trained& all) {
  const Plan& plan = all.plan;
  const bool shows_table_2 = has_table_2(all), has_choices = chooses(plan);
  if (shows_table_2) add_table_2(out, all);
  if (draw_mean_token(out, all))
    out.next_figure("Ranks of inputs and MLP gradients (Figures 2, 5 and 6)");
  if (has_choices) {
    add_loss_table(out, all);
    add_criterion_table(out, all);
  }
  if (!pairs_with_whole(plan).empty()) {
    out.columns(2);
    differences_to_whole(plan).show(out).line(0.0, "whole matrices");
  }
  if (shows_table_2 || has_choices) final_differences(plan).show(out).line(0.0, "Adam");
  if (has_choices) return;  // spectral-gpt draws the ranks and the curves
  if (shows_table_2) out.next_figure("Ranks of inputs and MLP gradients (Figures 2, 5 and 6)");
  draw_mlp_and_inputs(out, plan.shown_run());
  out.next_figure("Losses of the optimizers");
  if (!shows_table_2 && plan.runs.size() > 1) add_loss_table(out, all);
  draw_losses(out, plan);
  if (!shows_table_2) final_differences(plan).show(out).line(0.0, "Adam");
  draw_other_gradients(out, plan.shown_run());
  draw_condition(out, all);
  draw_gate(out, plan);
  if (plan.config().one_step) draw_one_step(out, plan.runs.front());
}

}  // namespace ranklab::gpt
