#include <algorithm>
#include <cmath>
#include <variant>

#include "core/statistics.hpp"
#include "core/text.hpp"
#include "experiments/rank_collapse/train_lambdas/lambdas.hpp"
#include "nn/mixers.hpp"

namespace ranklab::train {
namespace {

// Margins in standard errors, and differences of accuracy: the spreads in the paper's own tables.
constexpr double clear_margin = 10, chance_margin = 5;
constexpr double printed_spread = 0.0433, printed_drop = 0.0336;
constexpr double saturated = 0.995;

struct Accuracy {
  double mean, error;
};

/// The accuracy of one run; a run that diverged counts as guessing.
double accuracy_in(const TrialRecord& record, const Curve& curve, const Task& task) {
  const double accuracy = record.scalar(curve.name + "." + final_accuracy);
  return std::isfinite(accuracy) ? accuracy : task.chance();
}

std::vector<double> accuracies(const Curve& curve, const Task& task, const Records& records) {
  return per_trial(records,
                   [&](const TrialRecord& record) { return accuracy_in(record, curve, task); });
}

/// The scope of claims that count the runs of this curve.
Claims::Scope counting(const Curve& curve, const Records& records, Claims& claims) {
  return claims.about({divergence_of(records, curve.name, curve.name + "." + diverged)}, false,
                      "which count as guessing");
}

/// The mean over trials of a curve's accuracy and its standard error. The standard error is the
/// larger of that over trials and that of a binomial count of all answers.
Accuracy accuracy_of(const Curve& curve, const Task& task, const Records& records) {
  const Summary summary = summarize(accuracies(curve, task, records));
  const double p = summary.mean, answers = task.cases() * static_cast<double>(summary.n);
  const double sampled = std::sqrt(std::max(p * (1 - p), 1 / answers) / answers),
               spread = standard_error(summary);
  return {p, std::max(sampled, std::isfinite(spread) ? spread : 0)};
}

std::vector<double> differences(const Curve& a, const Curve& b, const Task& task,
                                const Records& records) {
  return per_trial(records, [&](const TrialRecord& record) {
    return accuracy_in(record, a, task) - accuracy_in(record, b, task);
  });
}

/// The place for claims about models or settings that the figure or table does not show.
Place ours(Place place) {
  place.source = "not in the paper; " + joined(place.figures) + " shows other models";
  place.part = Part::ours;
  place.kind = Kind::beyond;
  return place;
}

// Effect of lambda on accuracy --------------------------------------------------------------------

Place figure_5_place(const Plan& plan, const Curve& group) {
  Place place = in_figure("lambda-skip/fig-5", "lambda-skip/fig-5/" + group.group + "/",
                          "Section A.13.2, Figure 5", {"Figure 5"});
  return is_in_figure_5(plan, group) ? place : ours(place);
}

Place table_1_place(const Curve& group) {
  Place place = in_figure("lambda-skip/table-1", "lambda-skip/table-1/" + group.group + "/",
                          "Section 5.1, Table 1", {"Table 1"});
  return is_in_table_1(group) ? place : ours(place);
}

/// A reading of the paper, unless the statement is not in the paper.
Statement reading_unless_ours(const Statement& statement, const std::string& threshold) {
  return statement.part == Part::ours ? statement : reading(statement, threshold);
}

/// The hypothesis of the statements that compare lambdas: the model learns with lambda = 1. Returns
/// the reason if it does not, otherwise an empty string.
std::string does_not_learn(const Accuracy& at_1, const Task& task) {
  if (at_1.mean > task.best_guess() + clear_margin * at_1.error) return "";
  return "lambda = 1 reaches " + percent(at_1.mean) + " +- " + percent(at_1.error) +
         ", not 10 standard errors above guessing";
}

/// The size of our models of Figure 5.
std::string scale_text(const Plan& plan, const Curve& group, const Task& task) {
  return say("here: {} layers of width {} on images of {} pixels; the paper: the image task of LRA",
             group.layers, plan.config.dim, task.shape().length);
}

/// Whether the accuracy of one run is at most the best guess plus 5 standard errors.
bool is_guess(double accuracy, const Task& task) {
  const double guess = task.best_guess();
  return accuracy <= guess + chance_margin * std::sqrt(guess * (1 - guess) / task.cases());
}

// Runs are counted, not averaged: each seed either learns or guesses, so a mean over seeds says
// little.
void judge_zero(const Plan& plan, const Curve& group, const Task& task, const Records& records,
                Claims& claims) {
  const Curve *const zero = plan.with_lambda(group, 0), *const one = plan.with_lambda(group, 1);
  if (!zero || !one) return;
  const Statement statement = figure_5_place(plan, group)(
      "lambda-0",
      "Accuracy without a skip (lambda = 0) is at most 5 standard errors "
      "above guessing in every run (" +
          group.group + ")");
  const Accuracy at_1 = accuracy_of(*one, task, records);
  if (!claims.applies(statement, does_not_learn(at_1, task))) return;
  Tally learned;
  for (const double accuracy : accuracies(*zero, task, records))
    learned.count(!is_guess(accuracy, task), accuracy);
  const auto runs = counting(*zero, records, claims);
  claims.in_every_unit(
      statement, learned,
      clauses("accuracy from " + percent(learned.smallest) + " to " + percent(learned.largest) +
                  ", " + percent(at_1.mean) + " at lambda = 1; guessing gives " +
                  percent(task.chance()) + " to " + percent(task.best_guess()),
              is_in_figure_5(plan, group) ? scale_text(plan, group, task) : ""),
      WorstCase::largest);
}

/// One claim about several comparisons: every mean lies within `margin` of zero. It holds if the
/// interval of each comparison lies within the margin, which needs no correction (an
/// intersection-union test). It fails if that of one comparison, corrected for the choice among all
/// of them (Bonferroni), lies outside. The claim shows the decisive comparison.
Claim judge_alike(const Statement& statement, const std::vector<std::vector<double>>& comparisons,
                  double margin) {
  std::vector<Claim> alike, undecided, different;
  for (const std::vector<double>& differences : comparisons) {
    Claim claim = judge_equivalence(statement, differences, margin);
    if (claim.verdict == Verdict::holds) {
      alike.push_back(std::move(claim));
      continue;
    }
    claim = judge_mean(statement, differences, within(0, margin), "",
                       static_cast<double>(comparisons.size()));
    const MeanEvidence at = std::get<MeanEvidence>(claim.evidence);  // accuracies are finite
    claim.evidence = EquivalenceEvidence{at.mean, at.low, at.high, margin, at.level, at.n};
    (claim.verdict == Verdict::fails ? different : undecided).push_back(std::move(claim));
  }
  const std::vector<Claim>& decisive = !different.empty()   ? different
                                       : !undecided.empty() ? undecided
                                                            : alike;
  return *std::max_element(decisive.begin(), decisive.end(), [](const Claim& a, const Claim& b) {
    return std::abs(a.measured) < std::abs(b.measured);
  });
}

/// Compares every other lambda with lambda = 1. lambda = -1 is left out: training with -lambda has
/// the same law as training with lambda.
void judge_other_lambdas(const Plan& plan, const Curve& group, const Task& task,
                         const Records& records, Claims& claims) {
  const Curve* const one = plan.with_lambda(group, 1);
  if (!one) return;
  const Statement statement = reading_unless_ours(
      figure_5_place(plan, group)(
          "others-alike",
          "Accuracy at every lambda other than 0, 1 and -1 is within 4.33 points "
          "of accuracy at lambda = 1, the spread in the paper (" +
              group.group + ")"),
      "4.33 points");
  std::vector<std::vector<double>> compared;
  std::string list = percent(accuracy_of(*one, task, records).mean) + " at 1";
  for (const Curve& curve : plan.curves) {
    if (curve.group != group.group || curve.learns || curve.lambda == 0 ||
        std::abs(curve.lambda) == 1)
      continue;
    compared.push_back(differences(curve, *one, task, records));
    list += ", " + percent(accuracy_of(curve, task, records).mean) + " at " +
            series_number(curve.lambda);
  }
  if (compared.empty() ||
      !claims.applies(statement, does_not_learn(accuracy_of(*one, task, records), task)))
    return;
  Claim claim = judge_alike(statement, compared, printed_spread);
  claim.detail = clauses(claim.detail, list);
  claims.add(std::move(claim));
}

// Learned lambda ----------------------------------------------------------------------------------

void judge_learned(const Plan& plan, const Curve& group, const Task& task, const Records& records,
                   Claims& claims) {
  const Curve *const learned = plan.learned(group), *const one = plan.with_lambda(group, 1);
  if (!learned || !one) return;
  const Statement statement = reading_unless_ours(
      table_1_place(group)(
          "learned-no-worse",
          "Accuracy with a learned lambda is at most 3.36 points below accuracy with "
          "lambda = 1, the largest drop in the paper (" +
              group.group + ")"),
      "3.36 points");
  if (!claims.applies(statement, does_not_learn(accuracy_of(*one, task, records), task))) return;
  claims.no_worse(statement, differences(*learned, *one, task, records), printed_drop,
                  percent(accuracy_of(*one, task, records).mean) + " at lambda = 1, " +
                      percent(accuracy_of(*learned, task, records).mean) +
                      " with a learned lambda");
}

/// Judges the model of Table 1 that gains most, with an interval that corrects for the choice among
/// the models (Bonferroni).
void judge_gain(const Plan& plan, const Task& task, const Records& records, Claims& claims) {
  const Statement statement =
      in_figure("lambda-skip/table-1", "lambda-skip/table-1/", "Section 5.1, Table 1", {"Table 1"})(
          "learned-better",
          "Accuracy with a learned lambda exceeds accuracy with lambda = 1 in at least "
          "one model of the table");
  std::vector<std::pair<std::string, std::vector<double>>> gains;
  bool compared = false, any = false;
  for (const Curve* group : plan.groups()) {
    const Curve *const learned = plan.learned(*group), *const one = plan.with_lambda(*group, 1);
    if (!learned || !one || !is_in_table_1(*group)) continue;
    compared = true;
    const Accuracy at_1 = accuracy_of(*one, task, records);
    if (!does_not_learn(at_1, task).empty()) continue;
    any = true;
    if (at_1.mean <= saturated)
      gains.emplace_back(group->group, differences(*learned, *one, task, records));
  }
  if (!compared) return;
  if (!claims.applies(
          statement,
          !any ? "no model learns at lambda = 1"
          : gains.empty()
              ? "every model that learns at lambda = 1 answers more than 99.5 % correctly"
              : ""))
    return;
  const auto most = std::max_element(gains.begin(), gains.end(), [](const auto& a, const auto& b) {
    return summarize(a.second).mean < summarize(b.second).mean;
  });
  claims.mean(statement, most->second, positive(),
              most->first + " gains most among " + plural(gains.size(), "model"),
              static_cast<double>(gains.size()));
}

// Table 1: recall ---------------------------------------------------------------------------------

// Runs are counted, not averaged: each seed either learns to recall in one jump or never does.
void judge_recall(const Plan& plan, const Task& task, const Records& records, Claims& claims) {
  if (plan.config.task != "recall") return;
  const double limit = task.chance() + 0.05;
  const std::string one_number = "; every run is our reading; the paper prints one number, ";
  for (const Curve* group : plan.groups()) {
    const Curve* const one = plan.with_lambda(*group, 1);
    if (!one) continue;
    const MixerRow::Recall recall = mixer_row(one->model).recall;
    const Place place = table_1_place(*group);
    const bool solves = recall == MixerRow::Recall::solves,
               learns = recall == MixerRow::Recall::learns;
    Tally seeds;
    for (const double accuracy : accuracies(*one, task, records)) {
      seeds.count(solves   ? !(accuracy > 0.9)
                  : learns ? !(accuracy > limit)
                           : !(accuracy <= limit),
                  accuracy);
    }
    const auto runs = counting(*one, records, claims);
    const std::string range =
        "accuracy from " + percent(seeds.smallest) + " to " + percent(seeds.largest);
    if (solves) {
      claims.in_every_unit(
          reading_unless_ours(place("solves-recall", "Accuracy of " + group->group +
                                                         " on recall is above 90 % in every run"),
                              "90 %"),
          seeds, range + one_number + (one->model == "attention" ? "99.6 %" : "97.3 %"),
          WorstCase::smallest);
    }
    if (learns) {
      claims.in_every_unit(
          reading_unless_ours(
              place("learns-to-recall", "Accuracy of " + group->group +
                                            " on recall is more than 5 points above guessing among "
                                            "the values shown in every run"),
              "5 points"),
          seeds, range + one_number + "81.5 %", WorstCase::smallest);
    }
    if (recall == MixerRow::Recall::fails) {
      claims.in_every_unit(
          reading_unless_ours(place("fails-at-recall",
                                    "Accuracy of " + group->group +
                                        " on recall is at most 5 points above guessing among the "
                                        "values shown in every run"),
                              "5 points"),
          seeds, range + one_number + "1.6 %", WorstCase::largest);
    }
  }
}

}  // namespace

void judge_groups(const Plan& plan, const Task& task, const Records& records, Claims& claims) {
  for (const Curve* group : plan.groups()) {
    judge_zero(plan, *group, task, records, claims);
    judge_other_lambdas(plan, *group, task, records, claims);
    judge_learned(plan, *group, task, records, claims);
  }
}

namespace {

// Collapse and guessing over the runs of some curves.
struct Cause {
  Tally collapsed_guess, guesses_collapsed;
  std::vector<std::string> learned, distinct;  // curves with a violation

  void count(const Curve& curve, const Task& task, const Records& records);
};

void Cause::count(const Curve& curve, const Task& task, const Records& records) {
  bool any_learned = false, any_distinct = false;
  for (const TrialRecord& record : records) {
    const std::string prefix = curve.name + ".";
    const double reached = record.scalar(prefix + final_accuracy),
                 start = record.array(prefix + "start." + mu_normalized).back(),
                 end = record.array(prefix + "end." + mu_normalized).back();
    if (!std::isfinite(reached) || !std::isfinite(end)) continue;
    const bool collapses = start < collapsed && end < collapsed, guessing = is_guess(reached, task);
    if (collapses) collapsed_guess.count(!guessing, reached), any_learned |= !guessing;
    if (guessing && !curve.learns && curve.lambda == 0)
      guesses_collapsed.count(!collapses, end), any_distinct |= !collapses;
  }
  if (any_learned) learned.push_back(curve.name);
  if (any_distinct) distinct.push_back(curve.name);
}

void judge_collapsed_guess(const Statement& statement, const Cause& cause, const std::string& scale,
                           Claims& claims) {
  claims.never_violated(
      statement, cause.collapsed_guess,
      cause.collapsed_guess.cases > 0
          ? clauses(
                "largest accuracy of these runs: " + percent(cause.collapsed_guess.largest),
                clauses(
                    cause.learned.empty() ? "" : "collapsed but learned: " + joined(cause.learned),
                    scale))
          : "no run has collapsed tokens both at the start and at the end");
}

}  // namespace

/// Judges both directions: runs whose tokens collapse in the last layer at the start and at the end
/// only guess, and runs without a skip that only guess have collapsed tokens. Figure 5 says the
/// first of its own models.
void judge_cause(const Plan& plan, const Task& task, const Records& records, Claims& claims) {
  const Place place = in_figure("lambda-skip/fig-5", "lambda-skip/fig-5/",
                                "Section A.13.2, Figure 5", {"Figure 5"});
  const std::string text =
      "Accuracy is at most 5 standard errors above guessing in every run with rank collapse in the "
      "last layer (mu / ||R|| < 0.001 at the start and at the end)";
  Cause shown, others, all;
  std::string scale;
  bool any_other = false;
  for (const Curve& curve : plan.curves) {
    all.count(curve, task, records);
    if (is_in_figure_5(plan, curve)) {
      shown.count(curve, task, records);
      scale = scale_text(plan, curve, task);
    } else {
      others.count(curve, task, records);
      any_other = true;
    }
  }
  if (!scale.empty())
    judge_collapsed_guess(place("because-of-collapse", text), shown, scale, claims);
  if (any_other)
    judge_collapsed_guess(ours(place)("because-of-collapse/other-models", text), others, "",
                          claims);
  claims.never_violated(
      beyond(Statement{place.statement_id, place.prefix + "only-collapse", "not in the paper",
                       "mu / ||R|| in the last layer is below 0.001 at the start and at the end of "
                       "every run with lambda = 0 that only guesses"}),
      all.guesses_collapsed,
      all.guesses_collapsed.cases > 0
          ? clauses(
                "largest mu / ||R|| of these runs at the end: " +
                    short_number(all.guesses_collapsed.largest),
                all.distinct.empty() ? "" : "guessing without collapse: " + joined(all.distinct))
          : "every run with lambda = 0 learns, or there is no such run");
}

void judge_table_1(const Plan& plan, const Task& task, const Records& records, Claims& claims) {
  judge_gain(plan, task, records, claims);
  judge_recall(plan, task, records, claims);
}

}  // namespace ranklab::train
