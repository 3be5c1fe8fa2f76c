#include "experiments/rank_collapse/escalation/escalation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "core/undefined.hpp"
#include "experiments/rank_collapse/escalation/config.hpp"
#include "experiments/rank_collapse/figure_labels.hpp"
#include "experiments/rank_collapse/model_fields.hpp"
#include "experiments/rank_collapse/model_files.hpp"
#include "experiments/rank_collapse/token_escalation/path.hpp"
#include "nn/blocks/model_row.hpp"
#include "report/builder.hpp"

namespace ranklab {
namespace escalation {
namespace {

// A trial -----------------------------------------------------------------------------------------

TrialRecord measure(const EscalationConfig& config, const Trial& trial) {
  const std::vector<double> none(config.spec.layers, undefined);
  std::vector<double> rates = none, diversity_ratios = none;
  std::array<std::vector<double>, xi_ratios.size()> ratios;
  ratios.fill(none);
  Tally identity;
  TrialRecord record =
      follow_path(config, trial, [&](std::uint64_t k, const BlockPassage& passage) {
        for (std::size_t s = 0; s < ratios.size(); ++s) {
          const TokenParts &before = passage.parts[s], &after = passage.parts[s + 1];
          const Escalation step = measure_escalation(before, after);
          ratios[s][k] = step.xi_ratio();
          if (s == 0) rates[k] = step.rate;
          count_identity(step, before.similarity(), identity);
        }
        diversity_ratios[k] = passage.parts.back().diversity() / passage.parts.front().diversity();
      });
  for (std::size_t s = 0; s < ratios.size(); ++s) record.set(xi_ratios[s], std::move(ratios[s]));
  record.set(rate, std::move(rates));
  record.set(diversity_ratio, std::move(diversity_ratios));
  record.add(eq_6.id, identity);
  return record;
}

double first_state_near_maximum(const std::vector<double>& similarity) {
  for (std::size_t k = 0; k < similarity.size(); ++k) {
    if (similarity[k] > near_maximum) return static_cast<double>(k);
  }
  return undefined;
}

double count_decreases(const Plan& plan, const TrialRecord& record) {
  const std::vector<double>& diversity = record.array(token_diversity);
  const std::vector<std::size_t> blocks = plan.clean_blocks(record);
  return static_cast<double>(std::ranges::count_if(
      blocks, [&](std::size_t k) { return diversity[k + 1] > diversity[k]; }));
}

// The geometric mean of ratio(record, k) over late blocks.
double over_late_blocks(const Plan& plan, const TrialRecord& record, const ValueAtSize& ratio) {
  double logarithms = 0, blocks = 0;
  for (const std::size_t k : plan.clean_blocks(record)) {
    if (!(record.array(token_similarity)[k] > near_maximum)) continue;
    logarithms += std::log(ratio(record, k));
    blocks += 1;
  }
  return blocks > 0 ? std::exp(logarithms / blocks) : undefined;
}

// Claims ------------------------------------------------------------------------------------------

// The paper's "before block 15", and our thresholds for "about 2", "about 1", "far less than 1",
// "approach 0" (last block relative to the first) and the late factor of Remark 2.8.
constexpr std::size_t paper_blocks = 15;
constexpr double near_two = 0.5, near_one = 0.1;  // margins
constexpr double far_below_one = 0.5, toward_zero = 0.1, rate_margin = 0.1;

const std::vector<std::string> figure_2 = {"Figure 2"};
const Place left = in_figure("shallow/fig-2", "shallow/fig-2-", "Section 2.4, Figure 2 (left)",
                             figure_2),
            middle = in_figure("shallow/fig-2", "shallow/fig-2-", "Section 2.4, Figure 2 (middle)",
                               figure_2),
            right = in_figure("shallow/fig-2", "shallow/fig-2-", "Section 2.4, Figure 2 (right)",
                              figure_2),
            other_steps = in_figure("shallow/sec-2.4/other-steps", "shallow/fig-2-",
                                    "Section 2.4, Figure 2 (middle)", figure_2);

void judge_similarity(const Plan& plan, const Records& records, Claims& claims) {
  const auto rise = [](const TrialRecord& record, std::size_t k) {
    return record.array(token_diversity)[k] - record.array(token_diversity)[k + 1];
  };
  const std::vector<double> counts = scalars_of(records, decreases);
  const double falls = std::accumulate(counts.begin(), counts.end(), 0.0);
  claims.add(judge_blocks(
      left("monotone", "The mean token similarity rises at every block"),
      clean_values(plan, records, rise), compared(at_least(0)),
      "rise of t_sim per block; number of decreases in single trials: " + short_number(falls)));

  const Statement maximum =
      reading(left("maximum", "The token similarity is near its maximum (above " +
                                  short_number(near_maximum) + ") before block " +
                                  std::to_string(paper_blocks)),
              short_number(near_maximum));
  const bool deep = plan.config.spec.layers + 1 >= paper_blocks;
  const std::string too_shallow =
      "requires at least " + std::to_string(paper_blocks - 1) + " blocks";
  if (!claims.applies(maximum, deep ? "" : too_shallow)) return;
  const double first = summarize(scalars_of(records, first_near_maximum)).mean;
  claims.mean(
      maximum,
      per_trial(records,
                [](const TrialRecord& record) {
                  return record.array(token_similarity)[paper_blocks - 1];
                }),
      {near_maximum, 1.0},
      "t_sim after block " + std::to_string(paper_blocks - 1) +
          "; first block that exceeds the threshold, mean over trials: " + short_number(first));
}

void judge_steps(const Plan& plan, const Records& records, Claims& claims) {
  for (std::size_t s = 0; s < xi_ratios.size(); ++s) {
    const double level = s == 0 ? 2 : 1, margin = s == 0 ? near_two : near_one;
    const Region allowed = within(level, margin);
    const std::string step = std::to_string(s + 1);
    const Statement about =
        reading((s == 0 ? middle : other_steps)(
                    "step" + step, "The mean xi_1/xi_2 of step " + step + " is about " +
                                       short_number(level) + " (in [" + short_number(allowed.low) +
                                       ", " + short_number(allowed.high) + "]) at every block"),
                short_number(margin));
    claims.add(judge_blocks(about, clean_values(plan, records, recorded(xi_ratios[s])), allowed));
  }
}

// Only over the blocks that are not rounding noise, as in all claims.
double last_over_first(const Plan& plan, const TrialRecord& record, const std::string& quantity) {
  const std::vector<double>& values = record.array(quantity);
  const std::vector<std::size_t> blocks = plan.clean_blocks(record);
  return blocks.empty() || blocks.back() == 0 ? undefined : values[blocks.back()] / values[0];
}

void judge_gap(const Plan& plan, const Records& records, const std::string& quantity,
               Claims& claims) {
  const Statement below =
      reading(right(quantity, "The mean " + quantity + " is far below 1 (at most " +
                                  short_number(far_below_one) + ") at every block"),
              short_number(far_below_one));
  claims.add(
      judge_blocks(below, clean_values(plan, records, recorded(quantity)), {0.0, far_below_one}));

  const Statement falls = reading(
      right(quantity + "/to-zero", quantity + " falls toward 0: at the last block it is at most " +
                                       short_number(toward_zero) + " of its value at the first"),
      short_number(toward_zero) + " of the first");
  const std::string too_few = "requires at least " + std::to_string(paper_blocks) +
                              " blocks, the depth at which the similarity saturates";
  if (!claims.applies(falls, plan.config.spec.layers < paper_blocks ? too_few : "")) return;
  claims.mean(
      falls,
      per_trial(records,
                [&](const TrialRecord& record) { return last_over_first(plan, record, quantity); }),
      {0.0, toward_zero}, quantity + " at the last block divided by its value at the first");
}

// [Shallow] Section 2.4 prints the variance h/d for the entries of W, and xi_1/xi_2 of about 2 for
// step 1. P and X of block 1 do not depend on W.
void judge_variance(const Plan& plan, const Records& records, Claims& claims) {
  const Place place{"shallow/sec-2.4/variance", "shallow/sec-2.4/",
                    "Section 2.4, variance of the W_k", Part::definition, Kind::reading};
  const auto text = [](const std::string& variance) {
    return "With entries of W of variance " + variance +
           ", E[xi_1]/E[xi_2] of step 1 by (29) is about 2 (within " + short_number(near_two) +
           ") at block 1";
  };
  const Misprint variance =
      place.misprint("shallow/sec-2.4/variance", "variance", text("h/d"), text("1/d"));
  const std::string unmet =
      plan.config.spec.heads == 1 ? "with one head, h/d and 1/d are the same" : "";
  for (const auto& [statement, of_W] :
       {std::pair(variance.as_printed, "h/d"), {variance.corrected, "1/d"}}) {
    const Statement judged = reading(statement, short_number(near_two));
    if (!claims.applies(judged, unmet)) continue;
    ModelSpec spec = plan.config.spec;
    spec.weight_variance = of_W;
    const StepStrength strength = step_strength(spec, plan.config.lambda);
    claims.mean(judged,
                per_trial(records,
                          [&](const TrialRecord& record) {
                            return 1 + expected_excess(strength, record.array(mu_1).front(),
                                                       record.array(mu_2).front());
                          }),
                within(2, near_two), "from the mu-bar of the attention matrices");
  }
}

// [Shallow] Remark 2.8. If lambda and sigma differ from the paper's, 1/(1 + alpha^2) becomes
// E[xi_2]/E[xi_1] at omega = delta = 0.
void judge_late_ratio(const Plan& plan, const std::string& id, const std::string& what,
                      const std::vector<double>& ratios, Claims& claims) {
  const double limit =
      1 / (1 + expected_excess(step_strength(plan.config.spec, plan.config.lambda), 1.0, 0.0));
  const std::string margin = short_number(100 * rate_margin) + " %";
  const Statement statement = asymptotic(
      Statement{"shallow/rem-2.8", id, "Remark 2.8",
                "The diversity shrinks by the factor 1/(1 + alpha^2 d sigma^2/lambda^2) = " +
                    short_number(limit) + " (within " + margin + ") in " + what},
      margin);
  const std::string late =
      "t_sim above " + short_number(near_maximum) + " and diversity above rounding noise";
  std::string unmet;
  if (!plan.config.is_algorithm_1()) {
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

void judge(const Plan& plan, const Records& records, Claims& claims) {
  const auto path = claims.about({divergence_of(records, "the path", diverged)});
  {
    const auto setting = claims.only_where(plan.unmet_setting);
    judge_similarity(plan, records, claims);
    judge_steps(plan, records, claims);
    judge_gap(plan, records, delta, claims);
    judge_gap(plan, records, omega, claims);
    judge_variance(plan, records, claims);
  }
  judge_identity(records, claims);
  judge_bounds(plan, records, claims);
  judge_late_ratio(plan, "shallow/rem-2.8", "a late block", scalars_of(records, late_ratio),
                   claims);
  judge_late_ratio(plan, "shallow/rem-2.8/step1", "step 1 of a late block",
                   scalars_of(records, late_ratio_of_step_1), claims);
}

// The result --------------------------------------------------------------------------------------

void add_figure(const Plan& plan, ResultBuilder& out) {
  const BandKind band = BandKind::interval;
  out.panel("Token similarity", {"number of blocks"}, unit_axis("token similarity"))
      .curve(token_similarity, figure_label(plan.config.spec), {.band = band});
  PanelBuilder steps = out.panel("Effect of each step on the token similarity", {"block"},
                                 {"xi_1/xi_2: growth of mean part over the rest"});
  const char* const labels[] = {"step 1: attention and skip", "step 2: norm",
                                "step 3: feed-forward net and skip", "step 4: norm"};
  for (std::size_t s = 0; s < xi_ratios.size(); ++s)
    steps.curve(xi_ratios[s], labels[s], {.band = band});
  steps.line(1, "1: no effect");
  out.panel("How far attention is from plain averaging", {"block"}, log_axis("mean over heads"))
      .curve(delta, "delta: differences that P keeps", {.band = band})
      .curve(omega, "omega: differences that P adds to the mean", {.band = band});
}

}  // namespace

void add_numbers(const Plan& plan, TrialRecord& record) {
  const std::vector<double>& similarity = record.array(token_similarity);
  record.set(final_similarity, similarity.back());
  record.set(first_near_maximum, first_state_near_maximum(similarity));
  record.set(decreases, count_decreases(plan, record));
  record.set(late_ratio, over_late_blocks(plan, record, recorded(diversity_ratio)));
  record.set(late_ratio_of_step_1,
             over_late_blocks(plan, record, [](const TrialRecord& of, std::size_t k) {
               return 1 / of.array(rate)[k];
             }));
}

TrialRecord run_trial(const Plan& plan, const Trial& trial) {
  TrialRecord record = measure(plan.config, trial);
  add_numbers(plan, record);
  return record;
}

Result report(const Plan& plan, const Records& records) {
  const bool is_algorithm_1 = plan.config.is_algorithm_1();
  const ModelSpec& spec = plan.config.spec;
  const std::string blocks =
      is_algorithm_1 ? "post-norm Transformer blocks" : "the blocks of " + spec.model;
  ResultBuilder out("Token similarity over " + blocks + ", step by step", records);
  out.claims().set_unit(independent_unit(spec));
  out.scalars({token_escalation::degenerate_rows, diverged, final_similarity, first_near_maximum,
               decreases, late_ratio, late_ratio_of_step_1});
  out.diverged_where(diverged);
  for (const char* name : {token_similarity, token_diversity}) out.series(name, "block");
  for (const char* name : {delta, omega, mu_1, mu_2, rate, diversity_ratio})
    out.series(name, "block", 1);
  for (const char* name : xi_ratios) out.series(name, "block", 1);
  judge(plan, records, out.claims());
  add_figure(plan, out);
  for (std::string& line : file_notes(spec)) out.note(std::move(line));
  out.note("mu_1 and mu_2 are the squares of eq. (10), averaged over heads.");
  if (is_algorithm_1 && spec.weight_variance == "1/d") {
    out.note(
        "The entries of W have variance 1/d. The paper prints h/d (--weight-variance h/d), which "
        "does not reproduce its figure.");
  }
  return out.take();
}

}  // namespace escalation

namespace {

class EscalationStudy : public Study {
 public:
  std::vector<Field> fields() override {
    std::vector<Field> fields =
        escalation_fields(config_, models_that([](const ModelRow& row) { return row.has_steps; }));
    for (Field& field : file_fields(config_.spec)) fields.push_back(std::move(field));
    return fields;
  }
  void adopt_files() override { ranklab::adopt_files(config_.spec); }
  std::uint64_t trials_in_files() const override { return ranklab::trials_in_files(config_.spec); }
  void resolve_defaults() override { resolve_defaults_with_files(config_.spec); }
  void validate() const override {
    if (config_.spec.checkpoint != nullptr && !config_.spec.row().has_steps) {
      throw UsageError(
          "--weights " + printable(config_.spec.weights) + " contains " + config_.spec.model +
          ", which has no post-norm blocks; allowed with --study escalation: " +
          joined(models_that([](const ModelRow& row) { return row.has_steps && row.published; }),
                 "|"));
    }
  }
  Estimate estimate() const override { return path_estimate(config_); }

  Work work() const override {
    return each_trial([plan = token_escalation::Plan(config_)](Trial& trial) {
      return escalation::run_trial(plan, trial);
    });
  }
  Result report(const Records& records) const override {
    return escalation::report(token_escalation::Plan(config_), records);
  }

 private:
  EscalationConfig config_;
};

}  // namespace

std::unique_ptr<Study> make_escalation_study() {
  return std::make_unique<EscalationStudy>();
}

}  // namespace ranklab
