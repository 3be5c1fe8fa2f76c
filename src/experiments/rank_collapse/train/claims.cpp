#include <algorithm>
#include <cmath>

#include "core/statistics.hpp"
#include "core/text.hpp"
#include "experiments/rank_collapse/train/train.hpp"

namespace ranklab::train {
namespace {

// Standard errors, and points of accuracy: the spreads that the paper's own tables show.
constexpr double clear_margin = 10, chance_margin = 5;
constexpr double printed_spread = 0.0433, printed_drop = 0.0336;
constexpr double saturated = 0.995;

struct Accuracy {
  double mean, error;
};

/// The mean over trials of a curve's accuracy, and its standard error: from the trials, but not less than what so many answers
/// leave.
Accuracy accuracy_of(const Curve& curve, const Task& task, const Records& records) {
  const Summary summary = summarise(scalars_of(records, curve.name + "." + final_accuracy));
  const double p = summary.mean, answers = task.cases() * static_cast<double>(summary.n);
  const double sampled = std::sqrt(std::max(p * (1 - p), 1 / answers) / answers), spread = standard_error(summary);
  return {p, std::max(sampled, std::isfinite(spread) ? spread : 0)};
}

std::vector<double> differences(const Curve& a, const Curve& b, const char* what, const Records& records) {
  return per_trial(
      records, [&](const TrialRecord& record) { return record.scalar(a.name + "." + what) - record.scalar(b.name + "." + what); });
}

std::string percent(double share) {
  return short_number(100 * share) + " %";
}

// lambda = 0, and what else lambda does to accuracy ------------------------------------------------------------------------------

/// The paper's Figure 5 is about eight layers or more of attention; of others it says nothing.
Place figure_5(const Curve& group) {
  Place place = in_figure("lambda-skip/fig-5/" + group.group + "/", "Section A.13.2, Figure 5", {"Figure 5"});
  if (group.model != "attention" || group.layers < 8) place.kind = Kind::beyond;
  return place;
}

/// The hypothesis of statements that compare lambdas: with lambda = 1 the model learns. Empty where it does.
std::string does_not_learn(const Accuracy& at_1, const Task& task) {
  if (at_1.mean > task.best_guess() + clear_margin * at_1.error) return "";
  return "lambda = 1 reaches " + percent(at_1.mean) + " +- " + percent(at_1.error) + ", not 10 standard errors above a guess";
}

/// Whether one run does no better than the best guess, by 5 standard errors of so many answers.
bool is_guess(double accuracy, const Task& task) {
  const double guess = task.best_guess();
  return accuracy <= guess + chance_margin * std::sqrt(guess * (1 - guess) / task.cases());
}

// Counted: a seed learns or guesses, so that a mean over seeds says little.
void judge_zero(const Plan& plan, const Curve& group, const Task& task, const Records& records, Claims& claims) {
  const Curve *const zero = plan.with_lambda(group, 0), *const one = plan.with_lambda(group, 1);
  if (!zero || !one) return;
  const Statement statement =
      figure_5(group)("lambda-0", "without a skip (lambda = 0) the model guesses, in every run (" + group.group + ")");
  const Accuracy at_1 = accuracy_of(*one, task, records);
  if (!claims.applies(statement, does_not_learn(at_1, task))) return;
  Tally learnt;
  for (const TrialRecord& record : records) {
    const double accuracy = record.scalar(zero->name + "." + final_accuracy);
    if (std::isfinite(accuracy)) learnt.count(!is_guess(accuracy, task), accuracy);
  }
  claims.in_every_unit(statement, learnt,
                       "accuracies from " + percent(learnt.smallest) + " to " + percent(learnt.largest) + ", " +
                           percent(at_1.mean) + " at lambda = 1; a guess reaches " + percent(task.chance()) + " to " +
                           percent(task.best_guess()),
                       WorstCase::largest);
}

/// Each other strength of the skip against lambda = 1, by an equivalence test; the farthest is shown. A sign alone changes nothing:
/// training with -lambda has the same law.
void judge_others(const Plan& plan, const Curve& group, const Task& task, const Records& records, Claims& claims) {
  const Curve* const one = plan.with_lambda(group, 1);
  if (!one) return;
  const Statement statement = reading(
      figure_5(group)(
          "others-alike",
          "all other lambdas reach about the same accuracy as lambda = 1: within 4.33 points, the spread of the paper's own "
          "(" +
              group.group + ")"),
      "4.33 points");
  std::vector<Claim> compared;
  std::string list = percent(accuracy_of(*one, task, records).mean) + " at 1";
  for (const Curve& curve : plan.curves) {
    if (curve.group != group.group || curve.learns || curve.lambda == 0 || std::abs(curve.lambda) == 1) continue;
    compared.push_back(judge_equivalence(statement, differences(curve, *one, final_accuracy, records), printed_spread));
    list += ", " + percent(accuracy_of(curve, task, records).mean) + " at " + series_number(curve.lambda);
  }
  if (compared.empty() || !claims.applies(statement, does_not_learn(accuracy_of(*one, task, records), task))) return;
  // One that fails decides, else one that is undecided.
  const auto rank = [](const Claim& claim) {
    return std::pair(claim.verdict == Verdict::fails            ? 2
                     : claim.verdict == Verdict::not_applicable ? 1
                                                                : 0,
                     std::abs(claim.measured));
  };
  Claim worst =
      *std::max_element(compared.begin(), compared.end(), [&](const Claim& a, const Claim& b) { return rank(a) < rank(b); });
  worst.detail = clauses(worst.detail, list);
  claims.add(std::move(worst));
}

// Is it the collapse of rank that keeps a model from learning? -------------------------------------------------------------------

/// Both ways: of all runs those whose tokens are equal in the last layer at start and end, of those without a skip those that only
/// guess.
void judge_cause(const Plan& plan, const Task& task, const Records& records, Claims& claims) {
  Tally collapsed_guess, guesses_collapsed;
  std::vector<std::string> learnt, distinct;
  for (const Curve& curve : plan.curves) {
    bool any_learnt = false, any_distinct = false;
    for (const TrialRecord& record : records) {
      const std::string prefix = curve.name + ".";
      const double accuracy = record.scalar(prefix + final_accuracy),
                   start = record.array(prefix + "start." + mu_normalized).back(),
                   end = record.array(prefix + "end." + mu_normalized).back();
      if (!std::isfinite(accuracy) || !std::isfinite(end)) continue;
      const bool collapses = start < collapsed && end < collapsed, guessing = is_guess(accuracy, task);
      if (collapses) collapsed_guess.count(!guessing, accuracy), any_learnt |= !guessing;
      if (guessing && !curve.learns && curve.lambda == 0) guesses_collapsed.count(!collapses, end), any_distinct |= !collapses;
    }
    if (any_learnt) learnt.push_back(curve.name);
    if (any_distinct) distinct.push_back(curve.name);
  }
  const Place place{"lambda-skip/fig-5/", "Section A.13.2", Kind::figure};
  claims.never_violated(
      place(
          "because-of-collapse",
          "rank collapse keeps a model from learning: no run whose tokens are equal in the last layer, mu / ||R|| < 0.001 at start "
          "and end, beats guessing"),
      collapsed_guess,
      collapsed_guess.cases > 0 ? clauses("accuracy of these runs up to " + percent(collapsed_guess.largest),
                                          learnt.empty() ? "" : "collapsed, and learnt all the same: " + joined(learnt))
                                : "in no run are the tokens equal at start and end");
  claims.never_violated(
      beyond(place("only-collapse",
                   "nothing else does: every run without a skip that only guesses has equal tokens in the last layer")),
      guesses_collapsed,
      guesses_collapsed.cases > 0 ? clauses("mu / ||R|| of these runs up to " + short_number(guesses_collapsed.largest),
                                            distinct.empty() ? "" : "not collapsed, and guessing: " + joined(distinct))
                                  : "no run without a skip only guesses");
}

// Learned lambda -----------------------------------------------------------------------------------------------------------------

void judge_learned(const Plan& plan, const Curve& group, const Task& task, const Records& records, Claims& claims) {
  const Curve *const learned = plan.learned(group), *const one = plan.with_lambda(group, 1);
  if (!learned || !one) return;
  const Statement statement =
      reading(in_figure("lambda-skip/table-1/" + group.group + "/", "Section 5.1, Table 1", {"Table 1"})(
                  "learned-no-worse",
                  "learning lambda does not hurt: accuracy falls by no more than 3.36 points, as in the paper's worst case (" +
                      group.group + ")"),
              "3.36 points");
  if (!claims.applies(statement, does_not_learn(accuracy_of(*one, task, records), task))) return;
  claims.no_worse(statement, differences(*learned, *one, final_accuracy, records), printed_drop,
                  percent(accuracy_of(*one, task, records).mean) + " at lambda = 1, " +
                      percent(accuracy_of(*learned, task, records).mean) + " learned");
}

/// The model that gains most, by an interval that allows for the choice among the models (Bonferroni).
void judge_gain(const Plan& plan, const Task& task, const Records& records, Claims& claims) {
  const Statement statement = in_figure("lambda-skip/table-1/", "Section 5.1, Table 1", {"Table 1"})(
      "learned-better", "in some cases learning lambda is better: a model gains accuracy");
  std::vector<std::pair<std::string, std::vector<double>>> gains;
  bool compared = false, any = false;
  for (const Curve* group : plan.groups()) {
    const Curve *const learned = plan.learned(*group), *const one = plan.with_lambda(*group, 1);
    if (!learned || !one) continue;
    compared = true;
    const Accuracy at_1 = accuracy_of(*one, task, records);
    if (!does_not_learn(at_1, task).empty()) continue;
    any = true;
    if (at_1.mean <= saturated) gains.emplace_back(group->group, differences(*learned, *one, final_accuracy, records));
  }
  if (!compared) return;
  if (!claims.applies(statement, !any            ? "no model learns at lambda = 1"
                                 : gains.empty() ? "every model is right in more than 99.5 % of the answers at lambda = 1"
                                                 : ""))
    return;
  const auto most = std::max_element(
      gains.begin(), gains.end(), [](const auto& a, const auto& b) { return summarise(a.second).mean < summarise(b.second).mean; });
  claims.mean(statement, most->second, positive(), most->first + " gains most of " + counted(gains.size(), "model"),
              static_cast<double>(gains.size()));
}

// Table 1: who solves recall -----------------------------------------------------------------------------------------------------

// Counted: a seed learns to recall in one jump, or misses it.
void judge_recall(const Plan& plan, const Task& task, const Records& records, Claims& claims) {
  if (plan.config.task != "recall") return;
  const double limit = task.chance() + 0.05;
  for (const Curve* group : plan.groups()) {
    const Curve* const one = plan.with_lambda(*group, 1);
    if (!one) continue;
    const MixerRow::Recall recall = mixer_of(one->model).recall;
    const Place place = in_figure("lambda-skip/table-1/" + group->group + "/", "Table 1", {"Table 1"});
    const bool solves = recall == MixerRow::Recall::solves;
    Tally seeds;
    for (const double accuracy : scalars_of(records, one->name + "." + final_accuracy))
      if (std::isfinite(accuracy)) seeds.count(solves ? !(accuracy > 0.9) : !(accuracy <= limit), accuracy);
    const std::string range = "accuracies from " + percent(seeds.smallest) + " to " + percent(seeds.largest);
    if (solves) {
      claims.in_every_unit(
          reading(place("solves-recall", group->group + " solves recall in every run: more than 90 % of the answers are right"),
                  "90 %"),
          seeds, range + "; printed: " + (one->model == "attention" ? "above 98 %" : "97.3 %"), WorstCase::smallest);
    }
    if (recall == MixerRow::Recall::fails) {
      claims.in_every_unit(
          reading(place("fails-at-recall",
                        group->group + " does not, in any run: it stays within 5 points of guessing among the values shown"),
                  "5 points"),
          seeds, range + "; printed: 1.6 %", WorstCase::largest);
    }
  }
}

}  // namespace

void judge(const Plan& plan, const Task& task, const Records& records, Claims& claims) {
  if (records.empty()) return;
  for (const Curve* group : plan.groups()) {
    judge_zero(plan, *group, task, records, claims);
    judge_others(plan, *group, task, records, claims);
    judge_learned(plan, *group, task, records, claims);
  }
  if (plan.config.compares_variants()) {
    judge_variants(plan, task, records, claims);
  } else {
    judge_cause(plan, task, records, claims);
  }
  judge_gain(plan, task, records, claims);
  judge_recall(plan, task, records, claims);
}

}  // namespace ranklab::train
