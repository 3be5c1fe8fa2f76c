// Claims about one run: activations, gradients, condition (1.8), embedding and head.
#include "experiments/one_step_compare/gpt/claims.hpp"

namespace ranklab::gpt {

double mean_of_finite(const std::vector<double>& values) {
  double sum = 0, count = 0;
  for (const double value : values) {
    if (std::isfinite(value)) sum += value, count += 1;
  }
  return sum / count;
}

double mean_log(std::vector<double> values) {
  for (double& value : values) value = value > 0 ? std::log(value) : undefined;
  return mean_of_finite(values);
}

std::vector<std::string> RunRecords::in_layers(const MatrixMeasure& measure,
                                               const std::vector<std::string>& of) const {
  std::vector<std::string> out;
  for (std::size_t l = 0; l < layers(); ++l) {
    for (const std::string& each : of) out.push_back(in_layer(l, measure.of(each)));
  }
  return out;
}

std::vector<std::size_t> RunRecords::steps(Region when, MeasuredOn text) const {
  const std::vector<double>& all = run_.steps_of(text);
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (when.low <= all[i] && all[i] <= when.high) out.push_back(i);
  }
  return out;
}

std::vector<double> RunRecords::points(const TrialRecord& record,
                                       const std::vector<std::string>& names, Region when,
                                       MeasuredOn text) const {
  const std::vector<std::size_t> at = steps(when, text);
  std::vector<double> out;
  for (const std::string& name : names) {
    const std::vector<double>& values = series(record, name, text);
    for (const std::size_t i : at) {
      if (std::isfinite(values[i])) out.push_back(values[i]);
    }
  }
  return out;
}

double RunRecords::mean_at(const TrialRecord& record, const std::vector<std::string>& names,
                           std::size_t i) const {
  double sum = 0;
  for (const std::string& name : names) sum += series(record, name).at(i);
  return sum / static_cast<double>(names.size());
}

namespace {

bool any(double) {
  return true;
}

void judge_activations(const RunRecords& view, const Named& named, Claims& claims) {
  const double width = static_cast<double>(view.run().hidden_width()), d = view.dim();
  std::vector<std::string> inputs = view.in_layers(stable_rank, {"A", "Am"});
  inputs.push_back(stable_rank.of("Af"));
  const Tally post = view.count(view.in_layers(stable_rank, {"S"}),
                                [&](double st) { return st < 0.1 * width; }),
              pre = view.count(view.in_layers(stable_rank, {"Z"}), any),
              normed = view.count(inputs, [&](double st) { return st < d / 4; });
  claims.never_violated(
      named(Place{spectral::fig_2, "/", "Figure 2", Part::caption, Kind::figure}, "s-low",
            "The stable ranks of the MLP post-activations are below a tenth of the MLP width in "
            "every layer at every measured step",
            "a tenth of the width, ours; the paper says \"far below\""),
      post,
      say("largest {} of width {}; largest stable rank before the activation, where the authors' "
          "published code records it, {}",
          post.largest, width, pre.largest),
      WorstCase::largest);
  claims.never_violated(
      named(in_text(spectral::fig_6, "/", "Figure 6"), "rms-low",
            "The stable ranks of the RMS-normalized inputs of attention, MLP and head are below "
            "d/4 in every layer at every measured step",
            "a quarter of d, ours; the paper says \"low\""),
      normed, say("largest {} of d = {}", normed.largest, d), WorstCase::largest);
}

/// The paper gives no number for "large". Beyond a ratio of 2 its two-sided comparison decides for
/// the spectral step.
void judge_mlp_gradients(const RunRecords& view, const Named& named, Claims& claims) {
  const double d = view.dim();
  const Place place = in_text(spectral::fig_5, "/", "Figure 5");
  const std::vector<std::string> ratios = view.in_layers(rank_ratio, {"W1", "W2"});
  const auto mean_ratio = view.mean_over_steps(
      [&](const TrialRecord& record, std::size_t i) { return view.mean_at(record, ratios, i); },
      late.steps);
  claims.mean(
      named(place, "mlp-ratio",
            "nr(G)/st of the incoming activation, mean over W1 and W2 of all layers and the "
            "measured steps from 32 on: at least 2",
            "2, the factor of the paper's two-sided comparison; the paper says \"large\""),
      mean_ratio, at_least(2.0));
  const Tally large = view.count(
      view.in_layers(gradient_rank, {"W1", "W2"}), [&](double nr) { return nr > d / 4; },
      at_least(50));
  claims.never_violated(
      named(beyond(place), "mlp-nr",
            "The nuclear ranks of the MLP gradients are above d/4 in every layer at every measured "
            "step from 50 on"),
      large,
      large.cases > 0
          ? say("nuclear ranks from {}, d = {}", range_text(large.smallest, large.largest), d)
          : "no step from 50 on was measured",
      WorstCase::smallest);
}

/// Mean over layers and steps from 32 on of log(nr(Wv) / min(nr(Wq), nr(Wk), nr(Wo))), for the
/// gradients of these matrices.
double mean_log_Wv_over_smallest(const RunRecords& view, const TrialRecord& record,
                                 MeasuredOn text) {
  std::vector<double> logs;
  for (std::size_t l = 0; l < view.layers(); ++l) {
    for (const std::size_t i : view.steps(late.steps, text)) {
      const auto rank = [&](const char* block) {
        return view.series(record, gradient_rank.of(in_layer(l, block)), text)[i];
      };
      logs.push_back(std::log(rank("Wv") / std::min({rank("Wq"), rank("Wk"), rank("Wo")})));
    }
  }
  return mean_of_finite(logs);
}

void judge_attention_gradients(const RunRecords& view, const Named& named, Claims& claims) {
  for (const MeasuredOn text : {MeasuredOn::training_batch, MeasuredOn::held_out_text}) {
    const bool held_out = text == MeasuredOn::held_out_text;
    const auto ratios = view.of_whole_runs(
        [&](const TrialRecord& record) { return mean_log_Wv_over_smallest(view, record, text); });
    // The paper shows gradients of the training batch.
    const Place place = in_text(
        spectral::fig_8, held_out ? "spectral/fig-8/probe/" : "spectral/fig-8/", "Figures 8, 9");
    claims.mean(
        named(held_out ? beyond(place) : place, "attn-nr",
              say("Logarithm of the nuclear rank of the gradient of Wv over the smallest of "
                  "those of Wq, Wk and Wo, mean over layers and steps from 32 on{}: at "
                  "most 0",
                  held_out ? ", on held-out text" : "")),
        ratios, compared(at_most(0.0)),
        "mean over layers and steps from 32 on of log(nr(Wv) / the smallest of nr(Wq), "
        "nr(Wk), nr(Wo))");
  }
}

/// (1.8) is a criterion. The paper says that its run typically meets it on the training batch: no
/// number, and not at every step. That every matrix meets it at every step is ours.
void judge_condition(const RunRecords& view, const Named& named, Claims& claims) {
  const std::string source = "Section 1.2.1, eq. (1.8)";
  const auto holds = [](double ratio) { return ratio >= 1; };
  if (named.is_paper_run()) {
    const std::vector<std::string> all = view.in_layers(rank_ratio, view.run().blocks());
    const Tally cases = view.count(all, holds, late.steps);
    claims.mean(
        named(in_text(spectral::section_1_2_1_activated, "/", "Section 1.2.1, summary"), "share",
              "Share of the matrices inside the layers and measured steps from 32 on with nr(G) >= "
              "st(A), (1.8): at least 0.9",
              "0.9 and step 32, ours; the paper says \"typically\""),
        view.of_whole_runs([&](const TrialRecord& record) {
          const std::vector<double> ratios = view.points(record, all, late.steps);
          return static_cast<double>(std::ranges::count_if(ratios, holds)) /
                 static_cast<double>(ratios.size());
        }),
        at_least(0.9), say("{} of {} cases", cases.cases - cases.violations, cases.cases));
  }
  const struct {
    const char *prefix, *where;
    MeasuredOn text;
    Region when;
  } cases[] = {
      {"/", "from step 32 on", MeasuredOn::training_batch, late.steps},
      {"/early/", "before step 32", MeasuredOn::training_batch, early.steps},
      {"/probe/", "on held-out text from step 32 on", MeasuredOn::held_out_text, late.steps}};
  for (const auto& [prefix, where, text, when] : cases) {
    Tally all;
    std::vector<std::string> rates;
    for (const std::string& block : view.run().blocks()) {
      const Tally of_block = view.count(view.in_layers(rank_ratio, {block}), holds, when, text);
      if (of_block.violations > 0)
        rates.push_back(say("{} {} %", block, 100 * of_block.violations / of_block.cases));
      all.add(of_block);
    }
    claims.never_violated(named(beyond(in_text(spectral::eq_1_8, prefix, source)), "criterion",
                                say("nr(G) >= st(A) for every matrix inside the layers {}", where)),
                          all,
                          all.cases > 0
                              ? clauses(say("smallest nr/st {}", all.smallest),
                                        rates.empty() ? "" : "violation rates: " + joined(rates))
                              : "",
                          WorstCase::smallest);
  }
}

// Embedding and head ------------------------------------------------------------------------------

/// The last finite entry of a series over the first. NaN if the first finite entry is later than
/// step 4, since it then says nothing about the start of training.
double last_over_first(const std::vector<double>& values, const std::vector<double>& steps) {
  const auto finite = [](double value) { return std::isfinite(value); };
  const auto first = std::find_if(values.begin(), values.end(), finite);
  if (first == values.end() || steps[static_cast<std::size_t>(first - values.begin())] > 4)
    return undefined;
  return *std::find_if(values.rbegin(), values.rend(), finite) / *first;
}

/// `figure` is the statement of the catalog, and with a slash the beginning of the ids.
void judge_outer_ratio(const RunRecords& view, const Named& named, const std::string& figure,
                       const std::string& name, const std::string& id, const std::string& block,
                       const std::string& what, Claims& claims) {
  const Place place = in_text(figure, figure + "/", "Section 1.2.1, " + name),
              above = in_text(figure, figure + "/above-1/", place.source);
  // Over 1, or over the median of the ratios of the matrices inside the layers.
  const auto mean_ratios = [&](bool over_hidden) {
    return view.mean_over_steps(
        [&](const TrialRecord& record, std::size_t i) {
          std::vector<double> hidden;
          for (const std::string& each : view.in_layers(rank_ratio, view.run().blocks()))
            hidden.push_back(view.series(record, each)[i]);
          return view.series(record, rank_ratio.of(block))[i] /
                 (over_hidden ? median(hidden) : 1.0);
        },
        late.steps);
  };
  claims.mean(
      named(above, id, say("nr/st of {}, mean over the measured steps from 32 on: above 1", what),
            "from step 32 on, ours"),
      mean_ratios(false), compared(at_least(1.0)),
      "mean of nr/st over the measured steps from 32 on");
  claims.mean(named(place, id,
                    say("nr/st of {} over the median nr/st of the matrices inside the layers, mean "
                        "over the measured steps from 32 on: at most one half",
                        what),
                    "one half, ours; the paper says \"much smaller\""),
              mean_ratios(true), at_most(0.5),
              "nr/st over that median, mean over the measured steps from 32 on");
}

void judge_embedding(const RunRecords& view, const Named& named, Claims& claims) {
  const auto looseness = [&](const TrialRecord& record, std::size_t i) {
    return view.series(record, stable_rank.of("embedding"))[i] / view.series(record, indicator)[i];
  };
  const Tally loose = view.count_at_steps(looseness, [](double st) { return st <= 1; });
  claims.never_violated(
      named(in_text(spectral::fig_10, "spectral/section-2.2.1/", "Section 2.2.1"), "emb-loose",
            "st(E[id]) <= 1/p_max, where p_max is the largest token frequency in the batch"),
      loose,
      say("st(E[id]) over 1/p_max is {} on average, at most {}",
          mean_of_finite(view.at_steps(looseness)), loose.largest),
      WorstCase::largest);
  const auto growth = view.of_whole_runs([&](const TrialRecord& record) {
    return last_over_first(view.series(record, gradient_rank.of("embedding")), view.run().measured);
  });
  claims.mean(
      named(in_text(spectral::fig_10, "/", "Figure 10"), "emb-grow",
            "Nuclear rank of the last embedding gradient over that of the first nonzero one: at "
            "least 2",
            "2, ours; the paper prints about 100 and 400"),
      growth, at_least(2.0),
      "last over first, which is measured by step 4; in the paper it grows from 100 to 400");
  judge_outer_ratio(view, named, spectral::fig_10, "Figure 10", "emb-mild", "embedding",
                    "the embedding", claims);
  judge_outer_ratio(view, named, spectral::fig_7, "Figure 7", "head-mild", "head", "the head",
                    claims);
}

const Place indicator_place = in_text(spectral::fig_10, "/", "Section 2.2.1, Figure 10");

/// 1 / p_max belongs to the batches, which all runs share.
void judge_indicator(const RunRecords& view, Claims& claims) {
  std::vector<double> spread, means;
  for (const TrialRecord& record : view.records()) {
    const Summary summary = summarize(view.series(record, indicator));
    spread.push_back(summary.n > 1 ? summary.std / summary.mean : undefined);
    means.push_back(summary.mean);
  }
  claims.mean(reading(indicator_place("indicator",
                                      "Standard deviation over the steps, over the mean, of the "
                                      "stable rank of the token indicator, 1/p_max of the batch: "
                                      "at most a quarter"),
                      "a quarter, ours; the paper says \"about 26 throughout\""),
              spread, at_most(0.25),
              say("standard deviation over mean; the mean is {}", summarize(means).mean));
}

void judge_indicator_above(const RunRecords& view, Claims& claims) {
  const std::vector<std::string> inside = view.in_layers(stable_rank, {"A", "Am", "H", "S"});
  const Tally above = view.count_at_steps(
      [&](const TrialRecord& record, std::size_t i) {
        double largest = view.series(record, stable_rank.of("Af"))[i];
        for (const std::string& name : inside)
          largest = std::max(largest, view.series(record, name)[i]);
        return largest / view.series(record, indicator)[i];
      },
      [](double share) { return share < 1; });
  claims.never_violated(
      indicator_place("above-internal/indicator",
                      "The stable rank of the token indicator is above those of all normalized "
                      "inputs, values H and MLP post-activations at every measured step"),
      above,
      say("largest stable rank of an activation over that of the indicator {}", above.largest),
      WorstCase::largest);
}

}  // namespace

void judge(const Trained& all, Claims& claims) {
  const Plan& plan = all.plan;
  claims.set_unit(Unit::training);
  judge_indicator({plan.shown_run(), all.records}, claims);
  if (plan.paper_run()) {
    const auto of_run = claims.about(all.divergences({plan.paper_run()}));
    judge_indicator_above({*plan.paper_run(), all.records}, claims);
  }
  for (const Run& run : plan.runs) {
    if (!run.is_main) continue;
    const auto of_run = claims.about(all.divergences({&run}));
    const RunRecords view(run, all.records);
    const Named named(plan, run);
    judge_activations(view, named, claims);
    judge_mlp_gradients(view, named, claims);
    judge_attention_gradients(view, named, claims);
    judge_condition(view, named, claims);
    judge_embedding(view, named, claims);
    if (run.config.one_step && run.is_first()) judge_one_step(view, named, claims);
  }
  judge_comparisons(all, claims);
}

}  // namespace ranklab::gpt
