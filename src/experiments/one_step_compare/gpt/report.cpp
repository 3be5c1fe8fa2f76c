#include <algorithm>

#include "core/undefined.hpp"
#include "experiments/one_step_compare/gpt/claims.hpp"
#include "report/figure/builder.hpp"

namespace ranklab::gpt {
namespace {

/// Adds the mean over layers of a series that every layer has, for panels that compare runs.
void add_mean_over_layers(ResultBuilder& out, const Run& run, const std::string& what) {
  out.series(run.name + ".mean." + what, "step", run.measured,
             [&run, what](const TrialRecord& record, std::size_t i) {
               double sum = 0;
               for (std::size_t l = 0; l < run.config.layers; ++l)
                 sum += record.array(run.name + "." + in_layer(l, what)).at(i);
               return sum / static_cast<double>(run.config.layers);
             });
}

/// Adds every series of a main run. An extra run gets the means over layers instead of the series
/// of each layer.
void add_run(ResultBuilder& out, const Run& run) {
  const std::string prefix = run.name + ".";
  out.series(prefix + train_loss, "step");
  out.series(prefix + validation_loss, "step", run.measured);
  for (const std::string& name : rank_series(run)) {
    const bool of_layer = name.starts_with("layer");
    if (run.is_main() || !of_layer) out.series(prefix + name, "step", run.measured);
    if (run.is_main() && !run.probed.empty()) out.series(prefix + probe + name, "step", run.probed);
    if (of_layer && name.starts_with(in_layer(0, "")))
      add_mean_over_layers(out, run, name.substr(in_layer(0, "").size()));
  }
  for (const char* name : {final_validation_loss, violations, violations_early, diverged})
    out.scalar(prefix + name);
}

/// Adds the measured ratios over the predicted ones: one point for each block and step, whose x is
/// the mean of nr / st over trials.
void add_one_step(ResultBuilder& out, const Run& run, bool is_early) {
  const std::vector<double> steps = one_step_points(run, is_early);
  if (steps.empty()) return;
  const std::string prefix = run.name + "." + (is_early ? early : "");
  const std::vector<std::vector<double>> x = arrays_of(out.records(), prefix + predicted_ratio);
  std::vector<double> means;
  for (std::size_t i = 0; i < x.front().size(); ++i) {
    means.push_back(summarize(per_trial(out.records(), [&](const TrialRecord& record) {
                      const std::vector<double>& ratios = record.array(prefix + predicted_ratio);
                      return i < ratios.size() ? ratios[i] : undefined;
                    })).mean);
  }
  for (const char* name : {batch_ratio, independent_ratio})
    out.series(prefix + name, "nr/st", means);
  for (const char* name : {joint_batch_ratio, joint_independent_ratio})
    out.series(prefix + name, "step", steps);
}

// Panels. Colors distinguish quantities, or runs in panels that compare runs. ---------------------

/// Whether a run can be compared with the others step by step: it has their size and length.
bool is_comparable(const Run& run, const Plan& plan) {
  const GptConfig &a = run.config, &b = plan.config;
  return a.dim == b.dim && a.layers == b.layers && a.steps == b.steps;
}

LineStyle style_of(const Run& run) {
  return run.is_main() ? LineStyle::line : LineStyle::dashed;
}

/// A run has the same color in every panel that compares runs.
int color_of(const Run& run, const Plan& plan) {
  return static_cast<int>(&run - plan.runs.data());
}

/// Adds the difference of the validation losses of two runs from early_steps on; before, the
/// learning rates still rise and the curves cross. Paired by seed, because losses of one seed
/// differ less than losses of two seeds.
void add_difference(ResultBuilder& out, const Run& run, const Run& base, const std::string& name) {
  std::vector<double> steps;
  const double first_step =
      std::min(early_steps, run.measured.back());  // only the end of a short run
  std::copy_if(run.measured.begin(), run.measured.end(), std::back_inserter(steps),
               [&](double t) { return t >= first_step; });
  const std::size_t first = run.measured.size() - steps.size();
  out.series(name, "step", steps, [&run, &base, first](const TrialRecord& record, std::size_t i) {
    const auto loss = [&](const Run& of) {
      return record.array(of.name + "." + validation_loss).at(first + i);
    };
    return loss(run) - loss(base);
  });
}

void add_loss_panels(ResultBuilder& out, const Plan& plan) {
  PanelBuilder training = out.panel("Training loss", {"step"}, log_axis("nats per token"));
  PanelBuilder held_out = out.panel("Held-out loss", {"step"}, log_axis("nats per token"));
  for (const Run& run : plan.runs) {
    if (!run.is_main()) continue;
    training.curve(run.name + "." + train_loss, run.label, {LineStyle::line, color_of(run, plan)});
    held_out.curve(run.name + "." + validation_loss, run.label,
                   {LineStyle::line, color_of(run, plan)});
  }
  const Run& base = plan.find("adam") ? *plan.find("adam") : plan.runs.front();
  PanelBuilder difference =
      out.panel("Held-out loss minus that of " + base.label, {"step"}, {"nats per token"});
  for (const Run& run : plan.runs) {
    if (&run == &base || !is_comparable(run, plan) || run.measured != base.measured) continue;
    const std::string name = run.name + ".validation_loss_difference";
    add_difference(out, run, base, name);
    difference.curve(name, run.label, {style_of(run), color_of(run, plan)});
  }
  difference.line(0.0, base.label);
}

/// One panel per quantity of one run, with a curve for each layer.
void add_rank_panels(ResultBuilder& out, const Run& run) {
  const std::string prefix = run.name + ".";
  const double width = static_cast<double>(run.shape(1).hidden),
               d = static_cast<double>(run.config.dim);
  const auto layers = [&](const std::string& title, const std::string& y,
                          const std::vector<std::string>& names) {
    PanelBuilder panel = out.panel(title + ", " + run.label, {"step"}, log_axis(y));
    constexpr LineStyle styles[] = {LineStyle::line, LineStyle::dashed, LineStyle::dotted};
    for (std::size_t i = 0; i < names.size(); ++i) {
      for (std::size_t l = 0; l < run.config.layers; ++l) {
        const std::string what = names[i].substr(0, names[i].find('.'));
        panel.curve(prefix + in_layer(l, names[i]),
                    l == 0 ? what + ", layers 0 to " + std::to_string(run.config.layers - 1) : "",
                    {styles[i % 3], static_cast<int>(i)});
      }
    }
    return panel;
  };
  layers("Figure 2: MLP post-activations S and pre-activations Z", "stable rank",
         {"S.stable_rank", "Z.stable_rank"})
      .line(0.1 * width, "width / 10");
  layers("Figure 6: normalized activations", "stable rank", {"A.stable_rank", "Am.stable_rank"})
      .curve(prefix + stable_rank_of("Af"), "Af")
      .line(d / 4, "d / 4");
  layers("Figure 5: MLP gradients", "nuclear rank", {"W1.nuclear_rank", "W2.nuclear_rank"})
      .line(d, "d");
  layers("Figures 8, 9: attention gradients", "nuclear rank",
         {"Wq.nuclear_rank", "Wk.nuclear_rank", "Wv.nuclear_rank", "Wo.nuclear_rank"})
      .line(d, "d");
  out.panel("Figures 7, 10: embedding and head, " + run.label, {"step"}, log_axis("rank"))
      .curve(prefix + nuclear_rank_of("embedding"), "nr of the embedding gradient")
      .curve(prefix + nuclear_rank_of("head"), "nr of the head gradient")
      .curve(indicator, "st of the token indicator, 1/p_max")
      .curve(prefix + stable_rank_of("embedding"), "st(E[id])");
}

void add_ratio_panels(ResultBuilder& out, const Plan& plan) {
  const Run& run = plan.paper_run();
  const std::string prefix = run.name + ".";
  PanelBuilder ratios = out.panel("Condition (1.8), mean over layers, " + run.label, {"step"},
                                  log_axis("nr(G) / st"));
  for (const std::string& block : hidden_blocks(run)) {
    ratios.curve(prefix + "mean." + ratio_of(block), block);
  }
  for (const char* block : {"head", "embedding"})
    ratios.curve(prefix + ratio_of(block), block, {LineStyle::dashed});
  ratios.line(1.0, "nr = st");
  PanelBuilder across = out.panel("Condition (1.8) at W2 in all runs, mean over layers", {"step"},
                                  log_axis("nr(G) / st(S)"));
  for (const Run& each : plan.runs) {
    if (!is_comparable(each, plan)) continue;
    across.curve(each.name + ".mean." + ratio_of("W2"), each.label,
                 {style_of(each), color_of(each, plan)});
  }
  across.line(1.0, "nr = st");
}

/// The printed and the measured shares as bars, the measured ones with their standard error.
void add_table_2(ResultBuilder& out, const Plan& plan) {
  const Table2 table = table_2(plan, out.records());
  if (!table.plain.missing.empty() || !table.gated.missing.empty()) return;
  Series measured{"table_2.share", "activation", {1, 2}, {}, {}};
  for (const Share* share : {&table.plain, &table.gated}) {
    const Summary summary = summarize(share->per_trial);
    measured.mean.push_back(summary.mean);
    measured.std.push_back(summary.std);
  }
  out.series(std::move(measured));
  out.series_of_points("table_2.printed", "activation", {1, 2}, {printed_plain, printed_gated});
  const std::string plain = plan.config.activation;
  out.panel("Table 2: share of Muon's gain over Adam from W2 alone",
            {"", Scale::linear, {plain, "swiglu"}}, {"share of the gain"})
      .curve("table_2.printed", "printed", {LineStyle::bars, 6})
      .curve("table_2.share", "measured, with standard error", {LineStyle::bars, 0, 0.0, true})
      .line(0.0);
}

void add_one_step_panel(ResultBuilder& out, const Run& run) {
  const std::string prefix = run.name + ".", prediction = prefix + "one_step.as_predicted";
  out.series_of_points(prediction, "nr/st", {0.5, 20}, {0.5, 20});
  for (const bool is_early : {true, false}) {
    if (one_step_points(run, is_early).empty()) continue;
    const std::string when = is_early ? early : "";
    out.panel("Best steps of " + run.label + (is_early ? " before step 32" : " from step 32 on") +
                  ": loss decrease along polar(G) over that along G",
              log_axis("nr(G) / st"), log_axis("measured ratio"))
        .curve(prefix + when + batch_ratio, "on the batch that gave G", {LineStyle::points})
        .curve(prefix + when + independent_ratio, "on an independent batch", {LineStyle::points})
        .curve(prediction, "prediction of eq. (1.1)", {LineStyle::dashed})
        .line(1.0, "equal decrease");
  }
}

}  // namespace

Result report(const Plan& plan, const Corpus& corpus, const Records& records) {
  ResultBuilder out(
      "A small GPT trained on real text: stable ranks of its activations, nuclear ranks of its "
      "gradients",
      records);
  out.claims().set_unit(Unit::training);
  for (const Run& run : plan.runs) add_run(out, run);
  out.series(indicator, "step", plan.runs.front().measured);
  judge(plan, records, out.claims());
  if (!records.empty()) add_table_2(out, plan);
  add_loss_panels(out, plan);
  add_rank_panels(out, plan.paper_run());
  add_ratio_panels(out, plan);
  if (plan.config.one_step && !records.empty()) {
    for (const bool is_early : {true, false}) add_one_step(out, plan.runs.front(), is_early);
    add_one_step_panel(out, plan.runs.front());
  }
  out.note("The text is " + corpus.text + " (" + std::to_string(corpus.bytes) +
           " bytes, checksum " + corpus.checksum + "): " + std::to_string(corpus.training.size()) +
           " training tokens and " + std::to_string(corpus.validation.size()) +
           " held-out tokens, with a vocabulary of " + std::to_string(corpus.vocabulary) + ".");
  for (const Run& run : plan.runs) {
    double count = 0;
    for (const TrialRecord& record : records) count += record.scalar(run.name + "." + diverged);
    if (count == 0) continue;
    out.diverged_where(run.name + "." + diverged);
    out.note(run.label + " diverged in " + short_number(count) + " of " +
             counted(records.size(), "trial") +
             ". After a divergence, its curves are means over the other trials only and look "
             "better than they are.");
  }
  return out.take();
}

}  // namespace ranklab::gpt
