#include <algorithm>

#include "experiments/one_step_compare/mlp/mlp.hpp"

namespace ranklab::mlp {
namespace {

Divergence divergence_of(const Records& records, const Method& method) {
  return ranklab::divergence_of(records, method.label, diverged_name(method.name));
}

/// GD and the method, which a claim compares.
std::vector<Divergence> with_gd(const Config& config, const Records& records,
                                const Method& method) {
  return {divergence_of(records, config.methods().front()), divergence_of(records, method)};
}

void judge_condition(const Config& config, const Records& records, const Method& method,
                     std::size_t layer, Claims& claims) {
  const Statement statement = condition(method, layer);
  const Tally found = tally_of(records, statement.id);
  std::string detail =
      found.cases > 0 ? say("smallest nr/st {}", found.smallest) : "no finite ratio nr/st";
  if (found.violations > 0) {
    const std::vector<double> iterations = config.iterations();
    const Tally violated_at = tally_of(records, [&](const TrialRecord& record, Tally& at) {
      const std::vector<double>& ratio = record.array(ratio_name(method.name, layer));
      for (std::size_t i = 0; i < ratio.size(); ++i) {
        if (ratio[i] < 1) at.count(true, iterations[i]);
      }
    });
    detail +=
        say(", violated between iterations {} and {}", violated_at.smallest, violated_at.largest);
  }
  // The paper takes spectral steps only on the layers between the first and the last, for this
  // reason.
  if (layer == 1) detail += "; layer 1 takes Euclidean steps";
  const auto run = claims.about({divergence_of(records, method)});
  claims.never_violated(statement, found, detail, WorstCase::smallest);
}

// Figures 1 and 4: squared ReLU -------------------------------------------------------------------

/// The reason why a statement about the sizes of Figures 1 and 4 does not apply to this run, or
/// empty.
std::string not_printed_sizes(const Config& config) {
  const bool same = config.d == 128 && config.width == 512 && config.n == 512;
  return same ? "" : "the figure uses d = 128, width 512 and n = 512";
}

std::string mean_of(const Records& records, const std::string& scalar) {
  return short_number(summarize(scalars_of(records, scalar)).mean);
}

void judge_maximum(const Config& config, const Records& records, const Misprint& statement,
                   const std::string& matrix, Claims& claims) {
  std::string measured = "mean rank at the initial weights: ";
  for (std::size_t l = 1; l <= hidden_layers; ++l) {
    measured +=
        say("{}{}{} {}", l == 1 ? "" : ", ", matrix, l, mean_of(records, rank_name(matrix, l)));
  }
  const auto printed_sizes = claims.only_where(not_printed_sizes(config));
  claims.never_violated(statement.as_printed, records, measured, WorstCase::largest);
  claims.never_violated(statement.corrected, records, measured, WorstCase::largest);
}

void judge_figure_1(const Config& config, const Records& records, Claims& claims) {
  for (const Method& method : config.methods()) {
    const Statement statement = small_stable_rank(method);
    const auto run = claims.about({divergence_of(records, method)});
    claims.never_violated(
        statement, records,
        say("largest stable rank {}; d = {}, st(X) = {}, largest possible rank {}",
            tally_of(records, statement.id).largest, config.d, mean_of(records, stable_rank_X),
            std::min(config.width, config.n)),
        WorstCase::largest);
  }
  judge_maximum(config, records, largest_stable_rank, "A", claims);
  judge_maximum(config, records, largest_nuclear_rank, "W", claims);
}

std::string phase_text(const Records& records) {
  const Summary end = summarize(scalars_of(records, initial_phase_end));
  if (end.n == 0) return "no trial starts with nr >= 2 st at layers 2 and 3 of GD";
  return say(
      "log10 of the loss over that of GD at the end of the initial phase (nr >= 2 st at "
      "layers 2 and 3 of GD), iteration {} on average",
      end.mean);
}

// Steps until the loss has fallen to a tenth of its initial value; infinite if the run diverges
// first. NaN if the run ends before that.
double steps_to_a_tenth(const std::vector<double>& loss) {
  const auto found = std::find_if(loss.begin(), loss.end(),
                                  [&](double value) { return value <= loss.front() / 10; });
  if (found == loss.end())
    return std::isnan(loss.back()) ? std::numeric_limits<double>::infinity() : undefined;
  return static_cast<double>(found - loss.begin());
}

// Another measure of "faster", which a later divergence of a seed does not affect.
void judge_first_to_a_tenth(const Records& records, const Method& method,
                            const Statement& statement, Claims& claims) {
  double fewer = 0, reached = 0;
  const std::vector<double> ratios = per_trial(records, [&](const TrialRecord& record) {
    const double of_gd = steps_to_a_tenth(record.array(loss_name(gd))),
                 other = steps_to_a_tenth(record.array(loss_name(method.name))),
                 ratio = std::log10(other / of_gd);
    if (std::isfinite(ratio)) reached += 1, fewer += other < of_gd;
    return ratio;
  });
  claims.mean(statement, ratios, compared(at_most(0.0)),
              say("log10 of the step count over that of GD; fewer steps in {} of the {} trials in "
                  "which both reach a tenth, of {}",
                  fewer, reached, records.size()));
}

void judge_figure_4(const Config& config, const Records& records, Claims& claims) {
  const Place caption{spectral::fig_4, "/", "Figure 4", Part::caption, Kind::figure},
      text{spectral::fig_4, "/", "Figure 4", Part::text, Kind::figure};
  for (const std::size_t layer : {2u, 3u}) {
    const auto start_over_end = per_trial(records, [&](const TrialRecord& record) {
      const std::vector<double>& rank = record.array(nuclear_rank_name(gd, layer));
      return rank.front() / rank.back();
    });
    const auto run = claims.about({divergence_of(records, config.methods().front())});
    claims.mean(reading(caption(say("nuclear-rank-large-at-first/W{}", layer),
                                say("Nuclear rank of the gradient of W_{} at the start of GD over "
                                    "that at the end: at least 2",
                                    layer)),
                        "a factor of 2, ours"),
                start_over_end, at_least(2.0), "nuclear rank at the start over that at the end");
  }
  for (const Method& method : config.rivals()) {
    claims.mean(shown_of(method, caption("faster-at-first/" + method.name,
                                         say("log10 of the loss of {} over that of GD at the end "
                                             "of the initial phase, in which the nuclear rank is "
                                             "large: at most 0",
                                             method.label))),
                scalars_of(records, early_ratio_name(method.name)), compared(at_most(0.0)),
                phase_text(records));
    const auto runs = claims.about(with_gd(config, records, method));
    judge_first_to_a_tenth(
        records, method,
        shown_of(
            method,
            caption("first-to-a-tenth/" + method.name,
                    say("log10 of the steps in which {} reduces the loss to a tenth of its initial "
                        "value, over those of GD: at most 0",
                        method.label)),
            "a tenth of the loss, ours"),
        claims);
    claims.mean(
        shown_of(method, text("ahead-at-the-end/" + method.name,
                              say("log10 of the final loss of {} over that of GD: at most 0",
                                  method.label))),
        scalars_of(records, final_ratio_name(method.name)), compared(at_most(0.0)),
        "log10 of the final loss over that of GD");
  }
}

// Figure 18: SwiGLU, at a small and at a large batch ----------------------------------------------

// "Essentially coincide": losses within a factor of 1.25 of each other, on average over the run.
const double coincidence = std::log10(1.25);
// "Close to its initial value", as a ratio; and what counts as "about 3".
constexpr Region close_to_initial = {0.8, 1.25}, about_3 = {2.0, 4.0};
// "Early": when one of the two losses has fallen by this fraction of its initial value. Later, too
// many trials have diverged.
constexpr double early_loss = 0.25;

// The figure's batch sizes are 512 and 8196 at width 512. n over the width distinguishes the two
// regimes.
std::string not_small_batch(const Config& config) {
  return config.n <= 2 * config.width
             ? ""
             : "the panel has n = width; this run has n above twice the width";
}
std::string not_large_batch(const Config& config) {
  return config.n >= 8 * config.width
             ? ""
             : "the panel has n = 16 times the width; this run has n below 8 times the width";
}

/// log10 of SpecGD's loss over GD's at the first iteration at which one of them has fallen by
/// early_loss; below 0, SpecGD was faster. NaN if neither ever has.
double early_log_ratio(const TrialRecord& record) {
  for (std::size_t t = 0; t < record.array(loss_name(gd)).size(); ++t) {
    const double of_gd = loss_at(record, gd, t), spec = loss_at(record, specgd, t);
    if (std::min(of_gd, spec) <= (1 - early_loss) * loss_at(record, gd, 0))
      return std::log10(spec / of_gd);
  }
  return undefined;
}

/// |log10(SpecGD's loss over GD's)|, averaged over the iterations: infinite if one of them
/// diverged, NaN if both did.
double mean_distance(const TrialRecord& record) {
  const std::size_t iterations = record.array(loss_name(gd)).size();
  double sum = 0;
  for (std::size_t t = 0; t < iterations; ++t)
    sum += std::abs(std::log10(loss_at(record, specgd, t) / loss_at(record, gd, t)));
  return sum / static_cast<double>(iterations);
}

void judge_losses(const Config& config, const Method& method, const Records& records,
                  Claims& claims) {
  const Place small{spectral::fig_18, "spectral/fig-18a/", "Figure 18 (a)", Part::caption,
                    Kind::figure},
      large{spectral::fig_18, "spectral/fig-18b/", "Figure 18 (b)", Part::caption, Kind::figure};
  const std::string factor = "a factor of 1.25, ours; the paper says \"essentially coincide\"";
  const std::vector<double> early = per_trial(records, early_log_ratio);
  const std::string detail =
      "log10 of SpecGD's loss over GD's at the first iteration at which one of them has fallen by "
      "a quarter";
  const auto runs = claims.about(with_gd(config, records, method));
  {
    const auto small_batch = claims.only_where(not_small_batch(config));
    claims.mean(reading(small("early-advantage",
                              "With SwiGLU at n = 512, log10 of the loss of SpecGD over that of GD "
                              "when one of them has fallen by a quarter: at most 0"),
                        "early means: when one loss has fallen by a quarter; ours"),
                early, compared(at_most(0.0)), detail);
  }
  const auto large_batch = claims.only_where(not_large_batch(config));
  claims.mean(reading(large("no-early-advantage",
                            "With SwiGLU at n = 8196, log10 of the loss of SpecGD over that of GD "
                            "when one of them has fallen by a quarter: at least -log10(1.25)"),
                      factor),
              early, at_least(-coincidence), detail);
  claims.mean(reading(large("coincide",
                            "With SwiGLU at n = 8196, distance of log10 of the losses of GD and "
                            "SpecGD, mean over the run: at most log10(1.25)"),
                      factor),
              per_trial(records, mean_distance), at_most(coincidence),
              "mean of |log10 of the ratio of the losses| over the run");
}

void judge_figure_18(const Config& config, const Records& records, Claims& claims) {
  const Place caption{spectral::fig_18, "/", "Figure 18, caption", Part::caption, Kind::figure};
  if (const auto method = config.method(specgd)) judge_losses(config, *method, records, claims);
  for (const Method& method : config.methods()) {
    if (!method.in_figures) continue;
    const auto run = claims.about({divergence_of(records, method)});
    const auto along = [&](std::size_t layer, bool over_first) {
      return per_trial(records, [&](const TrialRecord& record) {
        const std::vector<double>& st = record.array(stable_rank_name(method.name, layer));
        return over_first ? st.back() / st.front() : st.back();
      });
    };
    for (const std::size_t layer : {1u, 2u}) {
      claims.mean(reading(caption(say("layer{}-keeps-its-rank/{}", layer, method.name),
                                  say("With SwiGLU, the stable rank of layer {} at the end of {} "
                                      "over its initial value: from 0.8 to 1.25",
                                      layer, method.label)),
                          "a ratio from 0.8 to 1.25, ours; the paper says \"close\""),
                  along(layer, true), close_to_initial, "last stable rank over the first");
    }
    claims.mean(
        reading(caption("layer3-drops-to-3/" + method.name,
                        say("With SwiGLU, the stable rank of layer 3 at the end of {}: about 3",
                            method.label)),
                "from 2 to 4, ours"),
        along(3, false), about_3, "last stable rank");
  }
}

}  // namespace

void Config::judge(const Records& records, Claims& claims) const {
  claims.set_unit(Unit::training);
  for (const Method& method : methods()) {
    for (std::size_t l = 1; l <= hidden_layers; ++l)
      judge_condition(*this, records, method, l, claims);
  }
  // Figures 1 and 4 show relu2, Figure 18 shows swiglu; no figure shows another activation.
  if (activation == "relu2") {
    judge_figure_1(*this, records, claims);
    judge_figure_4(*this, records, claims);
  }
  if (activation == "swiglu") judge_figure_18(*this, records, claims);
}

}  // namespace ranklab::mlp
