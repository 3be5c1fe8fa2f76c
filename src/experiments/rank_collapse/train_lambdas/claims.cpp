#include <algorithm>
#include <cmath>

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

/// The mean over trials of a curve's accuracy and its standard error. The standard error is the
/// larger of that over trials and that of a binomial count of all answers.
Accuracy accuracy_of(const Curve& curve, const Task& task, const Records& records) {
  const Summary summary = summarize(scalars_of(records, curve.name + "." + final_accuracy));
  const double p = summary.mean, answers = task.cases() * static_cast<double>(summary.n);
  const double sampled = std::sqrt(std::max(p * (1 - p), 1 / answers) / answers),
               spread = standard_error(summary);
  return {p, std::max(sampled, std::isfinite(spread) ? spread : 0)};
}

std::vector<double> differences(const Curve& a, const Curve& b, const char* what,
                                const Records& records) {
  return per_trial(records, [&](const TrialRecord& record) {
    return record.scalar(a.name + "." + what) - record.scalar(b.name + "." + what);
  });
}

// Effect of lambda on accuracy --------------------------------------------------------------------

/// The paper's Figure 5 shows attention with at least eight layers. Claims about other models go
/// beyond the paper.
Place figure_5(const Curve& group) {
  Place place =
      in_figure("lambda-skip/fig-5/" + group.group + "/", "Section A.13.2, Figure 5", {"Figure 5"});
  if (group.model != "attention" || group.layers < 8) place.kind = Kind::beyond;
  return place;
}

/// The hypothesis of the statements that compare lambdas: the model learns with lambda = 1. Returns
/// the reason if it does not, otherwise an empty string.
std::string does_not_learn(const Accuracy& at_1, const Task& task) {
  if (at_1.mean > task.best_guess() + clear_margin * at_1.error) return "";
  return "lambda = 1 reaches " + percent(at_1.mean) + " +- " + percent(at_1.error) +
         ", not 10 standard errors above guessing";
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
  const Statement statement = figure_5(group)("lambda-0",
                                              "Accuracy without a skip (lambda = 0) is at most 5 "
                                              "standard errors above guessing in every run (" +
                                                  group.group + ")");
  const Accuracy at_1 = accuracy_of(*one, task, records);
  if (!claims.applies(statement, does_not_learn(at_1, task))) return;
  Tally learned;
  for (const TrialRecord& record : records) {
    const double accuracy = record.scalar(zero->name + "." + final_accuracy);
    if (std::isfinite(accuracy)) learned.count(!is_guess(accuracy, task), accuracy);
  }
  claims.in_every_unit(statement, learned,
                       "accuracy from " + percent(learned.smallest) + " to " +
                           percent(learned.largest) + ", " + percent(at_1.mean) +
                           " at lambda = 1; guessing gives " + percent(task.chance()) + " to " +
                           percent(task.best_guess()),
                       WorstCase::largest);
}

/// Compares every other lambda with lambda = 1 by an equivalence test and reports the worst case.
/// lambda = -1 is left out: training with -lambda has the same law as training with lambda.
void judge_other_lambdas(const Plan& plan, const Curve& group, const Task& task,
                         const Records& records, Claims& claims) {
  const Curve* const one = plan.with_lambda(group, 1);
  if (!one) return;
  const Statement statement =
      reading(figure_5(group)("others-alike",
                              "Accuracy at every lambda other than 0, 1 and -1 is within 4.33 "
                              "points of accuracy at lambda = 1, the spread in the paper (" +
                                  group.group + ")"),
              "4.33 points");
  std::vector<Claim> compared;
  std::string list = percent(accuracy_of(*one, task, records).mean) + " at 1";
  for (const Curve& curve : plan.curves) {
    if (curve.group != group.group || curve.learns || curve.lambda == 0 ||
        std::abs(curve.lambda) == 1)
      continue;
    compared.push_back(judge_equivalence(
        statement, differences(curve, *one, final_accuracy, records), printed_spread));
    list += ", " + percent(accuracy_of(curve, task, records).mean) + " at " +
            series_number(curve.lambda);
  }
  if (compared.empty() ||
      !claims.applies(statement, does_not_learn(accuracy_of(*one, task, records), task)))
    return;
  // A failing comparison decides, then an undecided one.
  const auto rank = [](const Claim& claim) {
    return std::pair(claim.verdict == Verdict::fails            ? 2
                     : claim.verdict == Verdict::not_applicable ? 1
                                                                : 0,
                     std::abs(claim.measured));
  };
  Claim worst =
      *std::max_element(compared.begin(), compared.end(),
                        [&](const Claim& a, const Claim& b) { return rank(a) < rank(b); });
  worst.detail = clauses(worst.detail, list);
  claims.add(std::move(worst));
}

// Learned lambda ----------------------------------------------------------------------------------

void judge_learned(const Plan& plan, const Curve& group, const Task& task, const Records& records,
                   Claims& claims) {
  const Curve *const learned = plan.learned(group), *const one = plan.with_lambda(group, 1);
  if (!learned || !one) return;
  const Statement statement =
      reading(in_figure("lambda-skip/table-1/" + group.group + "/", "Section 5.1, Table 1",
                        {"Table 1"})("learned-no-worse",
                                     "Accuracy with a learned lambda is at most 3.36 points below "
                                     "accuracy with lambda = 1, the largest drop in the paper (" +
                                         group.group + ")"),
              "3.36 points");
  if (!claims.applies(statement, does_not_learn(accuracy_of(*one, task, records), task))) return;
  claims.no_worse(statement, differences(*learned, *one, final_accuracy, records), printed_drop,
                  percent(accuracy_of(*one, task, records).mean) + " at lambda = 1, " +
                      percent(accuracy_of(*learned, task, records).mean) +
                      " with a learned lambda");
}

/// Judges the model that gains most, with an interval that corrects for the choice among the models
/// (Bonferroni).
void judge_gain(const Plan& plan, const Task& task, const Records& records, Claims& claims) {
  const Statement statement =
      in_figure("lambda-skip/table-1/", "Section 5.1, Table 1", {"Table 1"})(
          "learned-better",
          "Accuracy with a learned lambda exceeds accuracy with lambda = 1 in at least one model");
  std::vector<std::pair<std::string, std::vector<double>>> gains;
  bool compared = false, any = false;
  for (const Curve* group : plan.groups()) {
    const Curve *const learned = plan.learned(*group), *const one = plan.with_lambda(*group, 1);
    if (!learned || !one) continue;
    compared = true;
    const Accuracy at_1 = accuracy_of(*one, task, records);
    if (!does_not_learn(at_1, task).empty()) continue;
    any = true;
    if (at_1.mean <= saturated)
      gains.emplace_back(group->group, differences(*learned, *one, final_accuracy, records));
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
              most->first + " gains most among " + counted(gains.size(), "model"),
              static_cast<double>(gains.size()));
}

// Table 1: recall ---------------------------------------------------------------------------------

// Runs are counted, not averaged: each seed either learns to recall in one jump or never does.
void judge_recall(const Plan& plan, const Task& task, const Records& records, Claims& claims) {
  if (plan.config.task != "recall") return;
  const double limit = task.chance() + 0.05;
  for (const Curve* group : plan.groups()) {
    const Curve* const one = plan.with_lambda(*group, 1);
    if (!one) continue;
    const MixerRow::Recall recall = mixer_row(one->model).recall;
    const Place place =
        in_figure("lambda-skip/table-1/" + group->group + "/", "Table 1", {"Table 1"});
    const bool solves = recall == MixerRow::Recall::solves,
               learns = recall == MixerRow::Recall::learns;
    Tally seeds;
    for (const double accuracy : scalars_of(records, one->name + "." + final_accuracy)) {
      if (std::isfinite(accuracy)) {
        seeds.count(solves   ? !(accuracy > 0.9)
                    : learns ? !(accuracy > limit)
                             : !(accuracy <= limit),
                    accuracy);
      }
    }
    const std::string range =
        "accuracy from " + percent(seeds.smallest) + " to " + percent(seeds.largest);
    if (solves) {
      claims.in_every_unit(
          reading(place("solves-recall",
                        "Accuracy of " + group->group + " on recall is above 90 % in every run"),
                  "90 %"),
          seeds, range + "; in the paper: " + (one->model == "attention" ? "above 98 %" : "97.3 %"),
          WorstCase::smallest);
    }
    if (learns) {
      claims.in_every_unit(
          reading(place("learns-to-recall", "Accuracy of " + group->group +
                                                " on recall is more than 5 points above guessing "
                                                "among the values shown in every run"),
                  "5 points"),
          seeds, range + "; in the paper: 81.5 %", WorstCase::smallest);
    }
    if (recall == MixerRow::Recall::fails) {
      claims.in_every_unit(
          reading(place("fails-at-recall", "Accuracy of " + group->group +
                                               " on recall is at most 5 points above guessing "
                                               "among the values shown in every run"),
                  "5 points"),
          seeds, range + "; in the paper: 1.6 %", WorstCase::largest);
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

/// Judges both directions: runs whose tokens collapse in the last layer at the start and at the end
/// only guess, and runs without a skip that only guess have collapsed tokens.
void judge_cause(const Plan& plan, const Task& task, const Records& records, Claims& claims) {
  Tally collapsed_guess, guesses_collapsed;
  std::vector<std::string> learned, distinct;
  for (const Curve& curve : plan.curves) {
    bool any_learned = false, any_distinct = false;
    for (const TrialRecord& record : records) {
      const std::string prefix = curve.name + ".";
      const double reached = record.scalar(prefix + final_accuracy),
                   start = record.array(prefix + "start." + mu_normalized).back(),
                   end = record.array(prefix + "end." + mu_normalized).back();
      if (!std::isfinite(reached) || !std::isfinite(end)) continue;
      const bool collapses = start < collapsed && end < collapsed,
                 guessing = is_guess(reached, task);
      if (collapses) collapsed_guess.count(!guessing, reached), any_learned |= !guessing;
      if (guessing && !curve.learns && curve.lambda == 0)
        guesses_collapsed.count(!collapses, end), any_distinct |= !collapses;
    }
    if (any_learned) learned.push_back(curve.name);
    if (any_distinct) distinct.push_back(curve.name);
  }
  const Place place{"lambda-skip/fig-5/", "Section A.13.2", Kind::figure};
  claims.never_violated(
      place("because-of-collapse",
            "Accuracy is at most 5 standard errors above guessing in every run with rank collapse "
            "in the last layer (mu / ||R|| < 0.001 at the start and at the end)"),
      collapsed_guess,
      collapsed_guess.cases > 0
          ? clauses("largest accuracy of these runs: " + percent(collapsed_guess.largest),
                    learned.empty() ? "" : "collapsed but learned: " + joined(learned))
          : "no run has collapsed tokens both at the start and at the end");
  claims.never_violated(
      beyond(place("only-collapse",
                   "mu / ||R|| in the last layer is below 0.001 at the start and at the end of "
                   "every run with lambda = 0 that only guesses")),
      guesses_collapsed,
      guesses_collapsed.cases > 0
          ? clauses("largest mu / ||R|| of these runs at the end: " +
                        short_number(guesses_collapsed.largest),
                    distinct.empty() ? "" : "guessing without collapse: " + joined(distinct))
          : "every run with lambda = 0 learns, or there is no such run");
}

void judge_table_1(const Plan& plan, const Task& task, const Records& records, Claims& claims) {
  judge_gain(plan, task, records, claims);
  judge_recall(plan, task, records, claims);
}

}  // namespace ranklab::train
