#include "core/undefined.hpp"
#include "experiments/one_step_compare/gpt/claims.hpp"
#include "experiments/one_step_compare/gpt/figure.hpp"

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
  for (const auto& [name, layer, what] : rank_series(run)) {
    if (run.is_main() || !layer) out.series(prefix + name, "step", run.measured);
    if (run.is_main() && !run.probed.empty())
      out.series(prefix + std::string(prefix_of(MeasuredOn::held_out_text)) + name, "step",
                 run.probed);
    if (layer == 0) add_mean_over_layers(out, run, what);
  }
  for (const char* name : {final_validation_loss, violations, violations_early, diverged})
    out.scalar(prefix + name);
  if (!run.follows_advice()) return;
  for (const std::string& block : hidden_blocks(run)) out.scalar(prefix + advised_of(block));
}

/// Adds the measured ratios over the predicted ones: one point for each block and step, whose x is
/// the mean of nr / st over trials. A block and step without a gradient in any trial has no point.
void add_one_step(ResultBuilder& out, const Run& run, bool is_early) {
  const std::vector<double> steps = one_step_points(run, is_early);
  if (steps.empty()) return;
  const std::string prefix = run.name + "." + (is_early ? early : "");
  const std::vector<std::vector<double>> x = arrays_of(out.records(), prefix + predicted_ratio);
  std::vector<double> means;
  std::vector<std::size_t> defined;
  for (std::size_t i = 0; i < x.front().size(); ++i) {
    const Summary predicted = summarize(per_trial(out.records(), [&](const TrialRecord& record) {
      const std::vector<double>& ratios = record.array(prefix + predicted_ratio);
      return i < ratios.size() ? ratios[i] : undefined;
    }));
    if (predicted.n == 0) continue;
    means.push_back(predicted.mean);
    defined.push_back(i);
  }
  for (const char* name : {batch_ratio, independent_ratio}) {
    if (defined.empty()) continue;
    const auto measured = per_trial(out.records(), [&](const TrialRecord& record) {
      const std::vector<double>& all = record.array(prefix + name);
      std::vector<double> kept;
      for (const std::size_t i : defined) kept.push_back(i < all.size() ? all[i] : undefined);
      return kept;
    });
    out.series(series_over_trials(prefix + name, "nr/st", means, measured));
  }
  for (const char* name : {joint_batch_ratio, joint_independent_ratio})
    out.series(prefix + name, "step", steps);
}

/// The measured shares of Table 2 and the printed ones, without and with a gate.
void add_shares(ResultBuilder& out, const Plan& plan) {
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
  add_shares(out, plan);
  if (plan.config.one_step) {
    for (const Run& run : plan.runs) {
      for (const bool is_early : {true, false}) add_one_step(out, run, is_early);
    }
  }
  draw(out, plan);
  out.note(
      say("The text is {} ({} bytes, checksum {}): {} training tokens and {} held-out tokens, "
          "with a vocabulary of {}.",
          corpus.text, corpus.bytes, corpus.checksum, corpus.training.size(),
          corpus.validation.size(), corpus.vocabulary));
  for (const Run& run : plan.runs) {
    double count = 0;
    for (const TrialRecord& record : records) count += record.scalar(run.name + "." + diverged);
    if (count == 0) continue;
    out.diverged_where(run.name + "." + diverged);
    out.note(
        say("{} diverged in {} of {}. After a divergence, its curves show the other trials only "
            "and look better than they are.",
            figure_label(run), count, counted(records.size(), "trial")));
  }
  return out.take();
}

}  // namespace ranklab::gpt
