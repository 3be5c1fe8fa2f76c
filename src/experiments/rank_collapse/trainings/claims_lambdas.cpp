// Claims of [LambdaSkip] about lambda: Table 1 and Figure 5. A run that diverged counts as
// guessing.
#include <algorithm>
#include <variant>

#include "experiments/rank_collapse/trainings/train.hpp"
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

// A run that diverged has the accuracy of guessing.
std::string diverged_text(const Trained& all, const Run& run) {
  const double times = all.of(run).times_diverged();
  return times == 0 ? ""
                    : say("diverged in {} of {}, which count as guessing", times,
                          plural(all.records.size(), "trial"));
}

/// Returns the reason if so many trainings of a run diverged that their mean says nothing,
/// otherwise an empty string.
std::string mostly_diverged(const Trained& all, const Run& run) {
  const double times = all.of(run).times_diverged();
  return times > 0 && 2 * times >= static_cast<double>(all.records.size())
             ? "at least half of the trials diverged"
             : "";
}

/// The mean over trials of a run's accuracy and its standard error. The standard error is the
/// larger of that over trials and that of a binomial count of all answers.
Accuracy accuracy_of(const Trained& all, const Run& run) {
  const Summary summary = summarize(all.accuracies(run));
  const double p = summary.mean, answers = all.task().cases() * static_cast<double>(summary.n);
  const double sampled = std::sqrt(std::max(p * (1 - p), 1 / answers) / answers),
               spread = standard_error(summary);
  return {p, std::max(sampled, std::isfinite(spread) ? spread : 0)};
}

std::string percent_of(const Trained& all, const Run& run) {
  return percent(accuracy_of(all, run).mean);
}

std::vector<double> gains(const Trained& all, const Run& of, const Run& over) {
  return differences(all.accuracies(of), all.accuracies(over));
}

/// The place for claims about models or settings that the figure or table does not show.
Place ours(Place place) {
  place.source = "not in the paper; " + joined(figures_in(place.source)) + " shows other models";
  return beyond(place);
}

// Effect of lambda on accuracy --------------------------------------------------------------------

Place figure_5_place(const Config& config, const Run& run) {
  Place place = in_figure(lambda_skip::fig_5, "/" + run.group() + "/", "Section A.13.2, Figure 5");
  return is_in_figure_5(config, run) ? place : ours(place);
}

bool is_in_table_1(const Run& run) {
  constexpr std::uint64_t most_layers = 4;
  return row_of_table_1(run.model) != nullptr && run.layers <= most_layers;
}

Place table_1_place(const Run& run) {
  Place place = in_figure(lambda_skip::table_1, "/" + run.group() + "/", "Section 5.1, Table 1");
  return is_in_table_1(run) ? place : ours(place);
}

/// A reading of the paper, unless the statement is not in the paper.
Statement reading_unless_ours(const Statement& statement, const std::string& threshold) {
  return statement.kind == Kind::beyond ? statement : reading(statement, threshold);
}

/// The hypothesis of the statements that compare lambdas: the model learns with lambda = 1. Returns
/// the reason if it does not, otherwise an empty string.
std::string does_not_learn(const Trained& all, const Run& one) {
  const Accuracy at_1 = accuracy_of(all, one);
  if (at_1.mean > all.task().best_guess() + clear_margin * at_1.error) return "";
  return say("lambda = 1 reaches {} +- {}, not 10 standard errors above guessing",
             percent(at_1.mean), percent(at_1.error));
}

/// The size of our models of Figure 5.
std::string scale_text(const Trained& all, const Run& run) {
  return say("here: {} layers of width {} on images of {} pixels; the paper: the image task of LRA",
             run.layers, all.config.dim, all.task().shape().length);
}

/// The best guess plus 5 standard errors of one test.
double most_of_a_guess(const Task& task) {
  const double guess = task.best_guess();
  return guess + chance_margin * std::sqrt(guess * (1 - guess) / task.cases());
}
bool is_guess(double accuracy, const Task& task) {
  return accuracy <= most_of_a_guess(task);
}

// The paper prints one number, so the mean over the seeds is judged. Each seed either learns or
// guesses; the detail says how many guess.
void judge_zero(const Trained& all, const Group& group, Claims& claims) {
  const Run *const zero = with_lambda(group, 0), *const one = with_lambda(group, 1);
  if (!zero || !one) return;
  const Statement statement = reading_unless_ours(
      figure_5_place(all.config, *one)(
          "lambda-0", say("Mean accuracy without a skip (lambda = 0) is at most 5 standard errors "
                          "of one test above guessing ({})",
                          group_name(*one))),
      "5 standard errors");
  if (!claims.applies(statement, does_not_learn(all, *one))) return;
  const std::vector<double> accuracies = all.accuracies(*zero);
  const Tally guessed =
      count(accuracies, [&](double accuracy) { return is_guess(accuracy, all.task()); });
  const auto scope = claims.only_where(mostly_diverged(all, *zero), Claims::Unmet::verdict_alone);
  claims.mean(
      statement, accuracies, at_most(most_of_a_guess(all.task())),
      clauses(
          say("{} of {} only guess; accuracy from {} to {}, {} at lambda = 1; guessing gives {} "
              "to {}",
              count_text(guessed.cases - guessed.violations),
              plural(static_cast<std::uint64_t>(guessed.cases), "run"), percent(guessed.smallest),
              percent(guessed.largest), percent_of(all, *one), percent(all.task().chance()),
              percent(all.task().best_guess())),
          clauses(is_in_figure_5(all.config, *one) ? scale_text(all, *one) : "",
                  diverged_text(all, *zero))));
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
    // Accuracies are finite; equal differences are counted.
    if (const auto* at = std::get_if<MeanEvidence>(&claim.evidence))
      claim.evidence = EquivalenceEvidence{at->mean, at->low, at->high, margin, at->level, at->n};
    (claim.verdict == Verdict::fails ? different : undecided).push_back(std::move(claim));
  }
  const std::vector<Claim>& decisive = !different.empty()   ? different
                                       : !undecided.empty() ? undecided
                                                            : alike;
  return *std::max_element(decisive.begin(), decisive.end(), [](const Claim& a, const Claim& b) {
    return std::abs(a.measured) < std::abs(b.measured);
  });
}

/// Compares every other lambda with lambda = 1. From symmetric initial weights, training with
/// -lambda has the same law as training with lambda, so that a difference of -1 from 1 is noise.
void judge_other_lambdas(const Trained& all, const Group& group, Claims& claims) {
  const Run* const one = with_lambda(group, 1);
  if (!one) return;
  const Statement statement = reading_unless_ours(
      figure_5_place(all.config, *one)(
          "others-alike",
          say("Accuracy at every lambda other than 0 is within 4.33 points of accuracy at lambda = "
              "1, the spread in the paper ({}): largest mean difference",
              group_name(*one))),
      "4.33 points");
  std::vector<std::vector<double>> compared;
  std::string list = percent_of(all, *one) + " at 1";
  for (const Run* run : group) {
    if (run->skip.learned || run->skip.lambda == 0 || run->skip.lambda == 1) continue;
    compared.push_back(gains(all, *run, *one));
    list += say(", {} at {}", percent_of(all, *run), run->skip.text());
  }
  if (compared.empty() || !claims.applies(statement, does_not_learn(all, *one))) return;
  Claim claim = judge_alike(statement, compared, printed_spread);
  claim.detail = clauses(claim.detail, list);
  claims.add(std::move(claim));
}

// Learned lambda ----------------------------------------------------------------------------------

void judge_learned(const Trained& all, const Group& group, Claims& claims) {
  const Run *const learns = learned(group), *const one = with_lambda(group, 1);
  if (!learns || !one) return;
  const Statement statement = reading_unless_ours(
      table_1_place(*one)(
          "learned-no-worse",
          say("Accuracy with a learned lambda is at most 3.36 points below accuracy with lambda = "
              "1, the largest drop in the paper ({}): mean difference",
              group_name(*one))),
      "3.36 points");
  if (!claims.applies(statement, does_not_learn(all, *one))) return;
  claims.no_worse(statement, gains(all, *learns, *one), printed_drop,
                  say("{} at lambda = 1, {} with a learned lambda", percent_of(all, *one),
                      percent_of(all, *learns)));
}

/// Judges the model of Table 1 that gains most, with an interval that corrects for the choice among
/// the models (Bonferroni).
void judge_gain(const Trained& all, Claims& claims) {
  const Statement statement = in_figure(lambda_skip::table_1, "/", "Section 5.1, Table 1")(
      "learned-better",
      "Accuracy with a learned lambda exceeds accuracy with lambda = 1 in at least one model of "
      "the table: largest mean gain");
  std::vector<std::pair<std::string, std::vector<double>>> of_models;
  bool compared = false, any = false;
  for (const Group& group : all.groups()) {
    const Run *const learns = learned(group), *const one = with_lambda(group, 1);
    if (!learns || !one || !is_in_table_1(*one)) continue;
    compared = true;
    if (!does_not_learn(all, *one).empty()) continue;
    any = true;
    if (accuracy_of(all, *one).mean <= saturated)
      of_models.emplace_back(group_name(*one), gains(all, *learns, *one));
  }
  if (!compared) return;
  if (!claims.applies(
          statement,
          !any ? "no model learns at lambda = 1"
          : of_models.empty()
              ? "every model that learns at lambda = 1 answers more than 99.5 % correctly"
              : ""))
    return;
  const auto most =
      std::max_element(of_models.begin(), of_models.end(), [](const auto& a, const auto& b) {
        return summarize(a.second).mean < summarize(b.second).mean;
      });
  claims.mean(statement, most->second, positive(),
              say("{} gains most among {}", most->first, plural(of_models.size(), "model")),
              static_cast<double>(of_models.size()));
}

// Table 1: recall ---------------------------------------------------------------------------------

// The paper prints one number, so the mean over the seeds is judged. Each seed either learns to
// recall in one jump or never does; the detail counts them.
void judge_recall(const Trained& all, Claims& claims) {
  if (all.config.task != "recall") return;
  const double limit = all.task().chance() + 0.05;
  for (const Group& group : all.groups()) {
    const Run* const one = with_lambda(group, 1);
    if (!one) continue;
    const auto judge = [&](const char* id, const char* what, const char* threshold,
                           const char* printed, bool is_high, double bound) {
      const std::vector<double> accuracies = all.accuracies(*one);
      const Tally tally = count(accuracies, [&](double accuracy) {
        return is_high ? accuracy > bound : accuracy <= bound;
      });
      const auto scope =
          claims.only_where(mostly_diverged(all, *one), Claims::Unmet::verdict_alone);
      claims.mean(
          reading_unless_ours(table_1_place(*one)(id, say("Mean accuracy of {} on recall is {}",
                                                          group_name(*one), what)),
                              threshold),
          accuracies, is_high ? at_least(bound) : at_most(bound),
          clauses(say("in {} of {}; accuracy from {} to {}; the paper prints {}, after a sweep of "
                      "four learning rates; here at one rate",
                      count_text(tally.cases - tally.violations),
                      plural(static_cast<std::uint64_t>(tally.cases), "run"),
                      percent(tally.smallest), percent(tally.largest), printed),
                  diverged_text(all, *one)));
    };
    switch (mixer_row(one->model).recall) {
      case MixerRow::Recall::solves:
        judge("solves-recall", "above 90 %", "90 %",
              one->model == "attention" ? "99.6 %" : "97.3 %", true, 0.9);
        break;
      case MixerRow::Recall::learns:
        judge("learns-to-recall", "more than 5 points above guessing among the values shown",
              "5 points", "81.5 %", true, limit);
        break;
      case MixerRow::Recall::fails:
        judge("fails-at-recall", "at most 5 points above guessing among the values shown",
              "5 points", "1.6 %", false, limit);
        break;
      default:
        break;
    }
  }
}

}  // namespace

void judge_groups(const Trained& all, Claims& claims) {
  for (const Group& group : all.groups()) {
    judge_zero(all, group, claims);
    judge_other_lambdas(all, group, claims);
    judge_learned(all, group, claims);
  }
}

namespace {

// The collapsed trainings of some runs; one that does not guess is a violation.
struct Cause {
  Tally collapsed_guess;
  std::vector<std::string> learned;  // runs with a violation

  void count(const Trained& all, const Run& run);
};

void Cause::count(const Trained& all, const Run& run) {
  const Tally of_collapsed = all.of(run).tally([&](const InTrial& trained, Tally& tally) {
    const double reached = trained(final_accuracy),
                 start = trained.array(at_moment("start", mu_normalized)).back(),
                 end = trained.array(at_moment("end", mu_normalized)).back();
    if (!std::isfinite(reached) || !std::isfinite(end)) return;
    if (start < collapsed && end < collapsed) tally.count(!is_guess(reached, all.task()), reached);
  });
  collapsed_guess.add(of_collapsed);
  if (of_collapsed.violations > 0) learned.push_back(run.name());
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

/// Judges that runs whose tokens collapse in the last layer at the start and at the end only guess.
/// Figure 5 says this of its own models.
void judge_cause(const Trained& all, Claims& claims) {
  const Place place = in_figure(lambda_skip::fig_5, "/", "Section A.13.2, Figure 5");
  const std::string text =
      "Accuracy is at most 5 standard errors above guessing in every run with rank collapse in the "
      "last layer (mu / ||R|| < 0.001 at the start and at the end)";
  Cause shown, others;
  std::string scale;
  bool any_other = false;
  for (const Run& run : all.runs) {
    if (is_in_figure_5(all.config, run)) {
      shown.count(all, run);
      scale = scale_text(all, run);
    } else {
      others.count(all, run);
      any_other = true;
    }
  }
  if (!scale.empty())
    judge_collapsed_guess(reading(place("because-of-collapse", text),
                                  "every run; 0.001 of mu / ||R||; 5 standard errors"),
                          shown, scale, claims);
  if (any_other)
    judge_collapsed_guess(ours(place)("because-of-collapse/other-models", text), others, "",
                          claims);
}

void judge_table_1(const Trained& all, Claims& claims) {
  judge_gain(all, claims);
  judge_recall(all, claims);
}

}  // namespace ranklab::train
