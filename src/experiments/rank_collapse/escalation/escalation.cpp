// `rank-collapse --study escalation`: token similarity over post-norm Transformer blocks, and the
// effect of each of the four steps of a block ([Shallow] Figure 2).
//
// A trial follows a path through fresh blocks (token_escalation.hpp) and measures every step.
#include <algorithm>
#include <numeric>

#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/rank_collapse/stacked_model.hpp"
#include "experiments/rank_collapse/token_escalation.hpp"

namespace ranklab::escalation {
namespace {

using namespace token_escalation;

// Flags -------------------------------------------------------------------------------------------

struct Config : PathConfig {
  std::vector<Field> flags() override {
    std::vector<Field> fields =
        path_flags(models_that([](const ModelRow& row) { return row.has_steps; }));
    for (Field& field : file_fields(spec)) fields.push_back(std::move(field));
    return fields;
  }
  void adopt_files() override { ranklab::adopt_files(spec); }
  std::uint64_t trials_in_files() const override { return ranklab::trials_in_files(spec); }
  std::vector<Contradiction> contradictions() const override {
    return ranklab::contradictions(spec);
  }
  void fill_defaults() override { resolve_defaults_with_files(spec); }
  void check() const override {
    if (spec.checkpoint == nullptr || spec.row().has_steps) return;
    throw UsageError(
        say("--weights {} contains {}, which has no post-norm blocks; allowed with --study "
            "escalation: {}",
            printable(spec.weights), spec.model,
            joined(models_that([](const ModelRow& row) { return row.has_steps && row.published; }),
                   "|")));
  }
  Work work() const override;
  std::string title() const override;
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;
};

// What a trial records, in addition to the path ---------------------------------------------------

// An array over blocks for each step of Algorithm 1. `rate` is that of step 1.
constexpr Measure xi_ratio = {"xi_ratio", "xi_1/xi_2",
                              "growth of the tokens' mean part over that of the rest"};
constexpr std::size_t steps = 4;

// `step` counts from 1.
Quantity of_step(std::size_t step, const Measure& measure) {
  return At("step", step, say("step{}", step)) / measure;
}

// Of the result.
constexpr Measure
    final_similarity = {"final_token_similarity", "t_sim(X_K)",
                        "token similarity after the last block"},
    first_near_maximum = {"first_state_above_0.99", "",
                          "first state with a token similarity above 0.99; 0 is the input"},
    decrease_count = {"decreases", "", "blocks that decrease the token similarity"},
    diversity_ratio = {"diversity_ratio", "", "token diversity after a block over that before it"},
    late_ratio = {"late_diversity_ratio", "",
                  "token diversity after a block or step over that before it: geometric mean over "
                  "blocks whose input has a token similarity above 0.99"};

TrialRecord run_trial(const Config& c, const Trial& trial) {
  std::vector<std::string> names = {rate};
  for (std::size_t s = 1; s <= steps; ++s) names.push_back(of_step(s, xi_ratio));
  BlockArrays arrays = undefined_blocks(c, names);
  Tally identity;
  TrialRecord record = follow_path(c, trial, [&](std::uint64_t k, const BlockPassage& passage) {
    for (std::size_t s = 1; s <= steps; ++s) {
      const TokenParts &before = passage.parts[s - 1], &after = passage.parts[s];
      const Escalation step = measure_escalation(before, after);
      arrays[of_step(s, xi_ratio)][k] = step.xi_ratio();
      if (s == 1) arrays[rate][k] = step.rate;
      count_identity(step, before.similarity(), identity);
    }
  });
  for (auto& [name, values] : arrays) record.set(name, std::move(values));
  record.add(eq_6.id, identity);
  return record;
}

Work Config::work() const {
  return each_trial([this](Trial& trial) { return run_trial(*this, trial); });
}

// Numbers of a trial ------------------------------------------------------------------------------

// Similarity above this counts as near its maximum. A block whose input exceeds it is late.
constexpr double near_maximum = 0.99;

// 0: the input; NaN if no state is near the maximum.
double first_state_near_maximum(const TrialRecord& record) {
  const std::vector<double>& similarity = record.array(token_similarity);
  for (std::size_t k = 0; k < similarity.size(); ++k) {
    if (similarity[k] > near_maximum) return static_cast<double>(k);
  }
  return undefined;
}

// The number of blocks that decrease t_sim, without those that are rounding noise.
double decreases(const TrialRecord& record) {
  const std::vector<double>& diversity = record.array(token_diversity);
  return static_cast<double>(std::ranges::count_if(
      clean_blocks(record), [&](std::size_t k) { return diversity[k + 1] > diversity[k]; }));
}

// Diversity after divided by diversity before, for a block and for its step 1.
double ratio_of_block(const TrialRecord& record, std::size_t k) {
  return at(record, token_diversity, k + 1) / at(record, token_diversity, k);
}
double ratio_of_step_1(const TrialRecord& record, std::size_t k) {
  return 1 / at(record, rate, k);
}

// The geometric means of a ratio over late blocks; NaN for a trial without a late block.
std::vector<double> over_late_blocks(const Records& records,
                                     double (*ratio)(const TrialRecord&, std::size_t k)) {
  return per_trial(records, [&](const TrialRecord& record) {
    double logarithms = 0, blocks = 0;
    for (const std::size_t k : clean_blocks(record)) {
      if (!(at(record, token_similarity, k) > near_maximum)) continue;
      logarithms += std::log(ratio(record, k));
      blocks += 1;
    }
    return blocks > 0 ? std::exp(logarithms / blocks) : undefined;
  });
}

// Claims ------------------------------------------------------------------------------------------

// The paper's "before block 15", and our thresholds for "about 2", "about 1", "far less than 1",
// "approach 0" (last block relative to the first) and the late factor of Remark 2.8.
constexpr std::size_t paper_blocks = 15;
constexpr double near_two = 0.5, near_one = 0.1;  // margins
constexpr double far_below_one = 0.5, toward_zero = 0.1, rate_margin = 0.1;

const Place left = in_figure(shallow::fig_2, "shallow/fig-2-", "Section 2.4, Figure 2 (left)"),
            middle = in_figure(shallow::fig_2, "shallow/fig-2-", "Section 2.4, Figure 2 (middle)"),
            right = in_figure(shallow::fig_2, "shallow/fig-2-", "Section 2.4, Figure 2 (right)"),
            other_steps = in_figure(shallow::sec_2_4_other_steps, "shallow/fig-2-",
                                    "Section 2.4, Figure 2 (middle)");

void judge_similarity(const Config& c, const Records& records, Claims& claims) {
  const auto rise = [](const TrialRecord& record, std::size_t k) {
    return at(record, token_diversity, k) - at(record, token_diversity, k + 1);
  };
  const std::vector<double> counts = per_trial(records, decreases);
  claims.add(judge_blocks(left("monotone",
                               "The mean token similarity rises at every block: smallest mean rise "
                               "of t_sim in a block"),
                          clean_values(records, rise), compared(at_least(0)),
                          say("number of decreases in single trials: {}",
                              std::accumulate(counts.begin(), counts.end(), 0.0))));

  const Statement maximum = reading(
      left("maximum", say("The token similarity is near its maximum (above {}) before block {}: "
                          "t_sim after block {}",
                          near_maximum, paper_blocks, paper_blocks - 1)),
      say("{}, ours", near_maximum));
  const bool deep = c.spec.layers + 1 >= paper_blocks;
  if (!claims.applies(maximum, deep ? "" : say("requires at least {} blocks", paper_blocks - 1)))
    return;
  claims.mean(maximum,
              per_trial(records,
                        [](const TrialRecord& record) {
                          return at(record, token_similarity, paper_blocks - 1);
                        }),
              at_least(near_maximum),
              say("first block that exceeds the threshold, mean over trials: {}",
                  summarize(per_trial(records, first_state_near_maximum)).mean));
}

void judge_steps(const Records& records, Claims& claims) {
  for (std::size_t s = 1; s <= steps; ++s) {
    const double level = s == 1 ? 2 : 1, margin = s == 1 ? near_two : near_one;
    const Region allowed = within(level, margin);
    const Statement about = reading(
        (s == 1 ? middle : other_steps)(
            say("step{}", s),
            say("The mean xi_1/xi_2 of step {} is about {} at every block: the mean that is "
                "farthest from {}",
                s, level, level)),
        say("within {} at every block, ours", margin));
    claims.add(judge_blocks(about, clean_values(records, of_step(s, xi_ratio)), allowed));
  }
}

// Only over the blocks that are not rounding noise, as in all claims.
double last_over_first(const TrialRecord& record, const std::string& quantity) {
  const std::vector<std::size_t> blocks = clean_blocks(record);
  return blocks.empty() || blocks.back() == 0
             ? undefined
             : at(record, quantity, blocks.back()) / at(record, quantity, 0);
}

void judge_gap(const Config& c, const Records& records, const std::string& quantity,
               Claims& claims) {
  const Statement below = reading(
      right(quantity,
            say("The mean {} over heads is far below 1 at every block: the largest", quantity)),
      say("{}, ours", far_below_one));
  claims.add(judge_blocks(below, clean_values(records, quantity), at_most(far_below_one)));

  const Statement falls =
      reading(right(quantity + "/to-zero",
                    say("{} falls toward 0: {} at the last block divided by that at the first",
                        quantity, quantity)),
              say("{} of the first, ours", toward_zero));
  if (!claims.applies(falls, c.spec.layers < paper_blocks
                                 ? say("requires at least {} blocks, the depth at which the "
                                       "similarity saturates",
                                       paper_blocks)
                                 : ""))
    return;
  claims.mean(
      falls,
      per_trial(records,
                [&](const TrialRecord& record) { return last_over_first(record, quantity); }),
      at_most(toward_zero));
}

// [Shallow] Section 2.4 prints the variance h/d for the entries of W, and xi_1/xi_2 of about 2 for
// step 1. P and X of block 1 do not depend on W.
void judge_variance(const Config& c, const Records& records, Claims& claims) {
  const Place place{shallow::sec_2_4_variance, "shallow/sec-2.4/",
                    "Section 2.4, variance of the W_k", Part::definition, Kind::reading};
  const auto text = [](const std::string& variance) {
    return say(
        "With entries of W of variance {}, E[xi_1]/E[xi_2] of step 1 at block 1 is about 2, by "
        "(29) "
        "with the mu-bar measured here: the mean quotient",
        variance);
  };
  const Misprint variance =
      place.misprint(shallow::sec_2_4_variance, "variance", text("h/d"), text("1/d"));
  const std::string unmet = c.spec.heads == 1 ? "with one head, h/d and 1/d are the same" : "";
  for (const auto& [statement, of_W] :
       {std::pair(variance.as_printed, "h/d"), {variance.corrected, "1/d"}}) {
    const Statement judged = reading(statement, say("within {}, ours", near_two));
    if (!claims.applies(judged, unmet)) continue;
    Config other = c;
    other.spec.weight_variance = of_W;
    claims.mean(judged,
                per_trial(records,
                          [&](const TrialRecord& record) {
                            return 1 + expected_excess(other.strength(), at(record, mu_1, 0),
                                                       at(record, mu_2, 0));
                          }),
                within(2, near_two));
  }
}

// [Shallow] Remark 2.8. If lambda and sigma differ from the paper's, 1/(1 + alpha^2) becomes
// E[xi_2]/E[xi_1] at omega = delta = 0.
void judge_late_ratio(const Config& c, const std::string& id, const std::string& what,
                      const std::vector<double>& ratios, Claims& claims) {
  const double limit = 1 / (1 + expected_excess(c.strength(), 1.0, 0.0));
  const std::string margin = say("{} %", 100 * rate_margin);
  const Statement statement = asymptotic(
      Statement{shallow::rem_2_8, id, "Remark 2.8",
                say("The diversity shrinks by the factor 1/(1 + alpha^2 d sigma^2/lambda^2) = {} "
                    "in {}: mean factor",
                    limit, what)},
      say("within {}, ours", margin));
  const std::string late = say("t_sim above {} and diversity above rounding noise", near_maximum);
  std::string unmet;
  if (!c.is_algorithm_1()) {
    unmet = "the statement assumes W with independent entries and no projection after it";
  } else if (!(limit > 0)) {
    unmet = "without a skip the factor is 0";
  } else if (summarize(ratios).n == 0) {
    unmet = "no block has an input with " + late;
  }
  if (!claims.applies(statement, unmet)) return;
  claims.mean(statement, ratios, {limit * (1 - rate_margin), limit * (1 + rate_margin)},
              "diversity after divided by diversity before, geometric mean over the blocks whose "
              "input has " +
                  late);
}

// The first block, from 1, that shrinks the diversity by the late factor, within the margin; NaN if
// none does.
double first_block_at_rate(const TrialRecord& record, double limit) {
  for (const std::size_t k : clean_blocks(record)) {
    if (std::abs(ratio_of_block(record, k) / limit - 1) <= rate_margin)
      return static_cast<double>(k + 1);
  }
  return undefined;
}

// [Shallow] Remark 2.8: the rate 1/2 "occurs quite early". The paper gives no block; half of the
// depth of its Figure 2 is ours.
void judge_early(const Config& c, const Records& records, Claims& claims) {
  constexpr std::uint64_t early = 10;
  const double limit = 1 / (1 + expected_excess(c.strength(), 1.0, 0.0));
  const Statement statement = reading(
      Statement{shallow::rem_2_8, "shallow/rem-2.8/early", "Remark 2.8",
                say("The rate {} occurs early: the first block that shrinks the diversity by this "
                    "factor, within {} %",
                    limit, 100 * rate_margin)},
      say("block {} of 20, ours", early));
  if (!claims.applies(statement,
                      c.spec.layers < early ? say("requires at least {} blocks", early) : ""))
    return;
  claims.mean(
      statement,
      per_trial(records,
                [&](const TrialRecord& record) { return first_block_at_rate(record, limit); }),
      at_most(static_cast<double>(early)));
}

void Config::judge(const Records& records, Claims& claims) const {
  claims.set_unit(independent_unit(spec));
  const auto path = claims.about({divergence_of(records, "the path", diverged)});
  {
    const auto setting = claims.only_where(unmet_setting());
    judge_similarity(*this, records, claims);
    judge_steps(records, claims);
    judge_gap(*this, records, delta, claims);
    judge_gap(*this, records, omega, claims);
    judge_variance(*this, records, claims);
    judge_early(*this, records, claims);
  }
  judge_identity(records, claims);
  judge_bounds(records, claims);
  judge_late_ratio(*this, shallow::rem_2_8, "a late block",
                   over_late_blocks(records, ratio_of_block), claims);
  judge_late_ratio(*this, "shallow/rem-2.8/step1", "step 1 of a late block",
                   over_late_blocks(records, ratio_of_step_1), claims);
}

// The result --------------------------------------------------------------------------------------

std::string Config::title() const {
  return say("Token similarity over {}, step by step",
             is_algorithm_1() ? "post-norm Transformer blocks" : "the blocks of " + spec.model);
}

void Config::derive(Numbers& out) const {
  const Records& records = out.records();
  out.scalar(token_escalation::degenerate_rows);
  out.scalar(diverged);
  out.scalar(final_similarity, per_trial(records, [](const TrialRecord& record) {
               return record.array(token_similarity).back();
             }));
  out.scalar(first_near_maximum, per_trial(records, first_state_near_maximum));
  out.scalar(decrease_count, per_trial(records, decreases));
  out.scalar(late_ratio, over_late_blocks(records, ratio_of_block));
  out.scalar(of_step(1, late_ratio), over_late_blocks(records, ratio_of_step_1));
  out.diverged("path", scalars_of(records, diverged));
  const std::vector<double> blocks = layers_from(1, spec);
  for (const Measure& each : {token_similarity, token_diversity})
    out.series(each, "block", layers_from(0, spec));
  for (const Measure& each : {delta, omega, mu_1, mu_2, rate}) out.series(each, "block", blocks);
  out.series(diversity_ratio, "block", blocks, ratio_of_block);
  for (std::size_t s = 1; s <= steps; ++s) out.series(of_step(s, xi_ratio), "block", blocks);
}

void Config::show(Display& out) const {
  const BandKind band = BandKind::interval;
  out.panel("Token similarity", {"number of blocks"}, unit_axis("token similarity"))
      .curve(token_similarity, figure_label(spec), {.band = band});
  PanelBuilder by_step = out.panel("Effect of each step on the token similarity", {"block"},
                                   {"xi_1/xi_2: growth of mean part over the rest"});
  const char* const labels[] = {"step 1: attention and skip", "step 2: norm",
                                "step 3: feed-forward net and skip", "step 4: norm"};
  for (std::size_t s = 1; s <= steps; ++s)
    by_step.curve(of_step(s, xi_ratio), labels[s - 1], {.band = band});
  by_step.line(1, "1: no effect");
  out.panel("How far attention is from plain averaging", {"block"}, log_axis("mean over heads"))
      .curve(delta, "delta: differences that P keeps", {.band = band})
      .curve(omega, "omega: differences that P adds to the mean", {.band = band});
  for (std::string& line : file_notes(spec)) out.note(std::move(line));
  out.note("mu_1 and mu_2 are the squares of eq. (10), averaged over heads.");
  if (is_algorithm_1() && spec.weight_variance == "1/d") {
    out.note(
        "The entries of W have variance 1/d. The paper prints h/d (--weight-variance h/d), which "
        "does not reproduce its figure.");
  }
}

}  // namespace
}  // namespace ranklab::escalation

namespace ranklab {

std::unique_ptr<Study> make_escalation_study() {
  return std::make_unique<escalation::Config>();
}

}  // namespace ranklab
