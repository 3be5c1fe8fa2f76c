// `one-step-compare --study regression`: one Euclidean and one spectral step on L(W) = ||W A -
// Y||_F^2 / (2 n), with a new random (A, W, Y) in every trial ([Spectral] Section 1.2), and the
// variants of that comparison in Sections 4.4 and 4.5. regression.hpp has the equations and shapes.
#include "experiments/one_step_compare/regression/regression.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "ensembles/activations.hpp"
#include "experiments/one_step_compare/one_step_compare.hpp"

namespace ranklab::regression {

// Flags -------------------------------------------------------------------------------------------

namespace {

std::vector<std::string> feature_names() {
  std::vector<std::string> names = {"gaussian", "power-law"};
  names.insert(names.end(), activation_names().begin(), activation_names().end());
  return names;
}

void require_order(const char* size, std::uint64_t low, std::uint64_t high) {
  if (low > high) {
    throw Misfit(
        say("--{}-low: {} is not allowed; allowed: at most --{}-high = {}", size, low, size, high),
        say("{}-low", size), std::to_string(high), {say("{}-high", size)});
  }
}

}  // namespace

std::vector<Field> Config::flags() {
  constexpr std::uint64_t largest_side = 10'000;
  return {
      size_field("m-low", m_low, 1, largest_side, "m",
                 "fewest rows of W; sizes are drawn log-uniformly"),
      size_field("m-high", m_high, 1, largest_side, "m", "most rows of W"),
      size_field("k-low", k_low, 1, largest_side, "k", "fewest features"),
      size_field("k-high", k_high, 1, largest_side, "k", "most features"),
      size_field("n-low", n_low, 1, largest_side, "n", "fewest samples"),
      size_field("n-high", n_high, 1, largest_side, "n", "most samples"),
      choice_list_field("features", features, feature_names(), "A",
                        "construction of A: Gaussian, power-law singular values i^-p, or the "
                        "activation of random features"),
      choice_list_field("labels", labels, {"realizable", "noisy", "arbitrary", "low-rank", "late"},
                        "Y",
                        "construction of Y; low-rank: the residual has low rank; late: W after "
                        "steps of gradient descent"),
      real_field("decay", decay, 0.0, 20.0, "p", "largest exponent of power-law features"),
      real_field("deficient", deficient, 0.0, 1.0, "",
                 "share of gaussian and power-law A without full rank"),
      real_field("scale-decades", scale_decades, 0.0, 6.0, "",
                 "largest |u| of the random scales 10^u of A and W"),
      size_field("late", late, 1, 100'000'000, "t",
                 "most steps of gradient descent for late labels"),
      real_field("coupling-decades", coupling_decades, 0.0, 8.0, "alpha",
                 "largest |u| of the random C_op / L_F = 10^u of eq. (4.16)"),
  };
}

void Config::check() const {
  require_order("m", m_low, m_high);
  require_order("k", k_low, k_high);
  require_order("n", n_low, n_high);
}

// For the largest sizes.
Estimate Config::memory() const {
  const double m = static_cast<double>(m_high), k = static_cast<double>(k_high),
               n = static_cast<double>(n_high);
  return {.bytes = 8 * (12 * k * n + 12 * m * n + 30 * m * k + 4 * k * k)};
}

namespace {

// What a trial records: scalars, NaN if the gradient is zero up to rounding -----------------------

constexpr Measure
    predicted_ratio = {"predicted_ratio", "nr(G) / st(A)",
                       "nuclear rank of the gradient over the stable rank of the features"},
    actual_ratio = {"actual_ratio", "",
                    "decrease of the loss by the spectral step over that by the Euclidean step"},
    nr_G = {"nuclear_rank", "nr(G)", "nuclear rank of the gradient"},
    st_A = {"stable_rank_A", "st(A)", "stable rank of the features"},
    margin_gd = {"margin.guarantee_gd", "",
                 "decrease by the Euclidean step over its guarantee, - 1"},
    margin_spec = {"margin.guarantee_spec", "",
                   "decrease by the spectral step over its guarantee, minus 1"};
// Trials in which nr >= st picks the worse step: in which direction, and by which factor the other
// step is better.
constexpr Measure specgd_behind = {"violations.predicate_specgd_behind", "",
                                   "1 if nr >= st, but the spectral step decreases the loss less"},
                  specgd_ahead = {"violations.predicate_specgd_ahead", "",
                                  "1 if nr < st, but the spectral step decreases the loss more"},
                  wrong_factor = {
                      "predicate_wrong_factor", "",
                      "the better decrease over the worse, if nr >= st picks the worse step"};
constexpr Measure meets_4_16 = {"conditions.eq_4_16", "", "1 if condition (4.16) holds"},
                  meets_4_18 = {"conditions.eq_4_18", "", "1 if condition (4.18) holds"};
constexpr Measure
    conditions_disagree = {"diagonal.conditions_disagree", "",
                           "1 if the printed and the sharp condition on gains differ"},
    condition_wrong = {"diagonal.condition_wrong", "",
                       "1 if the printed condition picks the worse step on gains"},
    condition_wrong_sharp_step =
        {"diagonal.condition_wrong_against_sharp_step", "",
         "1 if it picks the worse step, against the Euclidean step with the sharp constant"},
    sharp_condition_wrong = {"diagonal.sharp_condition_wrong", "",
                             "1 if the sharp condition picks the worse step on gains"},
    constant_ratio = {"diagonal.constant_ratio", "||A||_op^2 / max_i ||a_i||^2",
                      "printed constant of the Euclidean step on gains over the sharp one"};
// Rounding decides the spectral step if a singular value of the gradient is close to its rounding
// error. Another BLAS kernel may then take another step.
constexpr Measure zero_gradient = {"zero_gradient", "", "1 if the gradient is zero up to rounding"},
                  undetermined_step = {"undetermined_step", "",
                                       "1 if rounding decides the spectral step"};
constexpr char features[] = "features", labels[] = "labels";  // indices into the config's lists
// Of the statements after eq. (1.6), for each smooth loss.
constexpr char breaks_gd[] = "1 if the Euclidean step breaks its guarantee, smooth loss",
               breaks_spec[] = "1 if the spectral step breaks its guarantee, smooth loss",
               breaks_printed[] = "1 if the Euclidean step breaks its guarantee as printed";
struct SmoothViolations {
  Measure gd, spec, gd_printed;
};
constexpr SmoothViolations of_log_cosh = {{"violations.log_cosh.guarantee_gd", "", breaks_gd},
                                          {"violations.log_cosh.guarantee_spec", "", breaks_spec},
                                          {"violations.log_cosh.guarantee_gd_as_printed", "",
                                           breaks_printed}},
                           of_logistic = {
                               {"violations.logistic.guarantee_gd", "", breaks_gd},
                               {"violations.logistic.guarantee_spec", "", breaks_spec},
                               {"violations.logistic.guarantee_gd_as_printed", "", breaks_printed}};

// The statements, some with a scalar for their violations -----------------------------------------

const Place eq_1_3{spectral::eq_1_3, "/", "Section 1.2, eq. (1.3)"};
const Inequality expansion =
    eq_1_3.counted("expansion",
                   "The computed difference L(W) - L(W + U) equals the expansion (1.3) up to "
                   "rounding for both steps");

const Inequality guaranteed_ratio =
    Place{spectral::eq_1_1, "/", "Section 1, eq. (1.1), and Section 1.2, eq. (1.5)"}.counted(
        "guarantees",
        "The guaranteed decrease of the spectral step over that of the Euclidean step is "
        "nr(G)/st(A) "
        "up to rounding, so it is at least 1 if and only if nr(G) >= st(A)");

const Place eq_1_4{spectral::eq_1_4, "/", "Section 1.2, after eq. (1.4)"};
const Inequality guarantee_gd = eq_1_4.counted(
    "guarantee-gd", "A Euclidean step 1/L_F decreases the loss by at least ||G||_F^2 / (2 L_F)",
    "violations.guarantee_gd");
const Inequality guarantee_spec = eq_1_4.counted(
    "guarantee-specgd",
    "A spectral step ||G||_*/L_op decreases the loss by at least ||G||_*^2 / (2 L_op)",
    "violations.guarantee_spec");

Place at_1_5(const std::string& source) {
  return {spectral::eq_1_5, "/", source};
}
const std::string after_1_5 = "Section 1.2, after eq. (1.5)";
const Inequality two_sided = at_1_5(after_1_5).counted(
    "two-sided",
    "If nr(G) >= 2 st(A), the loss after one spectral step is at most the loss "
    "after one Euclidean step",
    "violations.two_sided");
const Inequality two_sided_mirrored =
    beyond(at_1_5(after_1_5 + " (the same interval argument, the other way)"))
        .counted("two-sided/mirrored",
                 "If nr(G) <= st(A) / 2, the loss after one Euclidean step is at "
                 "most the loss after one spectral step",
                 "violations.two_sided_mirrored");
const Inequality within_two =
    beyond(at_1_5(after_1_5 + " (the same interval argument)"))
        .counted("within-a-factor-of-two",
                 "The decrease of the spectral step over that of the Euclidean step is "
                 "within a factor of 2 of the predicted ratio nr(G) / st(A)",
                 "violations.within_two");
const Inequality predicate =
    beyond(at_1_5("Section 1.2, eq. (1.5)")
               .counted("predicate",
                        "The spectral step decreases the loss at least as much as the Euclidean "
                        "step if nr(G) >= st(A), and at most as much otherwise",
                        "violations.predicate"));

// Counted over both smooth losses. The scalars are per loss: SmoothViolations.
const Place eq_1_6{spectral::eq_1_6, "/", "Section 1.2, after eq. (1.6)", Part::definition};
const Inequality smooth_gd_printed = showing(
    spectral::eq_1_6_one_over_n,
    eq_1_6.counted(
        "guarantee-gd/as-printed",
        "The Euclidean step 1/(L_F L) decreases f(W A) by at least ||G||_F^2 / (2 L_F L), with "
        "L_F = ||A||_op^2 / n"));
const Inequality smooth_spec_printed = showing(
    spectral::eq_1_6_one_over_n,
    eq_1_6.counted(
        "guarantee-specgd/as-printed",
        "The spectral step ||G||_*/(L_op L) decreases f(W A) by at least ||G||_*^2 / (2 L_op L), "
        "with L_op = ||A||_F^2 / n"));
const Inequality smooth_gd = correcting(
    smooth_gd_printed, eq_1_6.counted("guarantee-gd/corrected",
                                      "The Euclidean step 1/(||A||_op^2 L) decreases "
                                      "f(W A) by at least ||G||_F^2 / (2 ||A||_op^2 L)"));
const Inequality smooth_spec = correcting(
    smooth_spec_printed, eq_1_6.counted("guarantee-specgd/corrected",
                                        "The spectral step ||G||_*/(||A||_F^2 L) decreases f(W A) "
                                        "by at least ||G||_*^2 / (2 ||A||_F^2 L)"));

Place section_4_4(const std::string& statement_id, const std::string& at) {
  return {statement_id, "/", "Section 4.4, " + at};
}
const Inequality eq_4_14 =
    section_4_4(spectral::eq_4_14, "eq. (4.14)")
        .counted("guarantee",
                 "The Euclidean step 1/(L_F + C_op/st(G)) decreases the loss by at least ||G||_F^2 "
                 "/ (2 (L_F + C_op/st(G)))",
                 "violations.eq_4_14");
const Inequality eq_4_15 =
    section_4_4(spectral::eq_4_15, "eq. (4.15)")
        .counted("guarantee",
                 "The spectral step ||G||_*/(L_op + C_op) decreases the loss by at least ||G||_*^2 "
                 "/ (2 (L_op + C_op))",
                 "violations.eq_4_15");
const Inequality eq_4_16_guarantees =
    section_4_4(spectral::eq_4_16, "eq. (4.16)")
        .counted(
            "guarantees",
            "(4.16) holds if and only if the guarantee (4.15) is at least the guarantee (4.14)");
const Inequality stable_at_most_nuclear =
    section_4_4(spectral::eq_4_17, "before eq. (4.17)").counted("st-at-most-nr", "st(G) <= nr(G)");
const Inequality eq_4_17_equivalent =
    section_4_4(spectral::eq_4_18, "eqs. (4.17), (4.18)")
        .counted("equivalent", "(4.17) is equivalent to nr(G) >= st(A), (4.18), for every C_op");
const Inequality implies_4_16 =
    section_4_4(spectral::eq_4_18, "eqs. (4.16) to (4.18)")
        .counted("implies-4.16", "nr(G) >= st(A), (4.18), implies (4.16) for every C_op");
const Inequality implies_4_18 =
    beyond(section_4_4(spectral::eq_4_16, "eqs. (4.16) to (4.18)")
               .counted("implies-4.18",
                        "(4.16) implies nr(G) >= st(A), (4.18), for every C_op (the paper prints "
                        "only the converse)",
                        "violations.eq_4_16_implies_4_18"));

const Place section_4_5{spectral::section_4_5, "/", "Section 4.5"};
const Inequality diagonal_gd =
    section_4_5.counted("guarantee-gd/as-printed",
                        "The Euclidean step on gamma with the constant L = ||A||_op^2 / n "
                        "decreases the loss by at least ||g||_2^2 / (2 (L + C_op/st(g)))");
const Inequality diagonal_sign =
    section_4_5.counted("guarantee-sign",
                        "The sign step on gamma with the constant L_op = ||A||_F^2 / n decreases "
                        "the loss by at least ||g||_1^2 / (2 (L_op + C_op))");
// A trial -----------------------------------------------------------------------------------------

// An inequality between decreases counts as violated beyond this relative excess, because many
// hold with equality up to rounding: a full-rank spectral step with m >= k meets its guarantee
// exactly.
constexpr double decrease_tolerance = 1e-10;

// Allowed error of a computed L(W) - L(W + U), in units of epsilon (||W A||_F + ||Y||_F)^2 / n.
constexpr double expansion_roundings = 1000;

// A ratio closer than this to 1 counts neither as satisfying nor as violating an algebraic
// condition.
constexpr double condition_tolerance = 1e-9;

bool below(double a, double b) {
  return a < b * (1 - decrease_tolerance);
}

// Records numbers and counts cases. If the trial's gradient is zero up to rounding, the numbers are
// undefined and there are no cases.
struct Recorder {
  TrialRecord& record;
  bool defined;

  void value(const Measure& measure, double value) const {
    record.set(measure, defined ? value : undefined);
  }
  void count(const Inequality& statement, bool violated, double shown = undefined) const {
    if (defined) record.count(statement.id, violated, shown);
  }
  // Counts a case if the statement's hypothesis is met.
  void count_where(bool hypothesis, const Inequality& statement, bool violated) const {
    if (hypothesis) return count(statement, violated);
    if (defined) record.add(statement.id, Tally());
  }
};

// Section 1.2: the guarantees after (1.4), the two-sided comparison, and the bare predicate (1.5).
void record_steps(const StepComparison& c, const Recorder& to) {
  const double gd = c.decrease_gd(), specgd = c.decrease_specgd(), predicted = c.predicted_ratio(),
               actual = specgd / gd;
  to.value(st_A, c.stable_rank_A);
  to.value(nr_G, c.nuclear_rank);
  to.value(predicted_ratio, predicted);
  to.value(actual_ratio, actual);
  to.value(margin_gd, gd / c.guarantee_gd() - 1);
  to.value(margin_spec, specgd / c.guarantee_specgd() - 1);
  const double guaranteed = c.guarantee_specgd() / c.guarantee_gd();
  to.count(guaranteed_ratio, below(guaranteed, predicted) || below(predicted, guaranteed),
           std::fabs(guaranteed / predicted - 1));
  to.count(guarantee_gd, below(gd, c.guarantee_gd()));
  to.count(guarantee_spec, below(specgd, c.guarantee_specgd()));
  to.count_where(predicted >= 2, two_sided, below(specgd, gd));
  to.count_where(predicted <= 0.5, two_sided_mirrored, below(gd, specgd));
  to.count(within_two, below(actual, predicted / 2) || below(2 * predicted, actual));
  const bool behind = predicted >= 1 && below(specgd, gd),
             ahead = predicted < 1 && below(gd, specgd);
  to.value(specgd_behind, behind);
  to.value(specgd_ahead, ahead);
  to.count(predicate, behind || ahead);
  to.value(wrong_factor, behind ? 1 / actual : ahead ? actual : undefined);
  // Eq. (1.3): the computed decrease minus that of the expansion, in units of rounding.
  const double error =
      std::max(std::fabs(c.loss_difference_gd - gd), std::fabs(c.loss_difference_specgd - specgd)) /
      std::max(c.loss_rounding, std::numeric_limits<double>::min());
  to.count(expansion, error > expansion_roundings, error);
}

// Section 4.4, at a drawn C_op.
void record_conditions(const StepComparison& c, double alpha, const Recorder& to) {
  const double C_op = alpha * c.L_F;
  to.count(eq_4_14, below(c.decrease_gd(C_op), c.guarantee_gd(C_op)));
  to.count(eq_4_15, below(c.decrease_specgd(C_op), c.guarantee_specgd(C_op)));
  to.count(stable_at_most_nuclear, c.stable_rank_G > c.nuclear_rank * (1 + condition_tolerance));
  const Conditions each = conditions(c.nuclear_rank, c.stable_rank_G, c.stable_rank_A, alpha);
  const double guarantees = c.guarantee_specgd(C_op) / c.guarantee_gd(C_op);
  const auto clear = [](double ratio) { return std::fabs(ratio - 1) > condition_tolerance; };
  // If a ratio is 1 up to rounding, its condition is undecided.
  const bool all_clear =
      clear(each.eq_4_16) && clear(each.eq_4_17) && clear(each.eq_4_18) && clear(guarantees);
  const bool met_16 = each.eq_4_16 >= 1, met_17 = each.eq_4_17 >= 1, met_18 = each.eq_4_18 >= 1;
  to.value(meets_4_16, met_16);
  to.value(meets_4_18, met_18);
  to.count_where(all_clear, eq_4_16_guarantees, met_16 != (guarantees >= 1));
  to.count_where(all_clear, eq_4_17_equivalent, met_17 != met_18);
  to.count_where(all_clear, implies_4_16, met_18 && !met_16);
  to.count_where(all_clear, implies_4_18, met_16 && !met_18);
}

void record_smooth(const SmoothViolations& violations, const SmoothComparison& c,
                   TrialRecord& record) {
  const auto violated = [](double ratio) { return ratio < 1 - decrease_tolerance; };
  const auto set = [&](const Measure& measure, double ratio) {
    record.set(measure, std::isfinite(ratio) ? double(violated(ratio)) : undefined);
  };
  set(violations.gd, c.corrected.gd);
  set(violations.spec, c.corrected.specgd);
  set(violations.gd_printed, c.as_printed.gd);
  const auto count = [&](const Inequality& statement, double ratio) {
    Tally tally;
    if (std::isfinite(ratio)) tally.count(violated(ratio));
    record.add(statement.id, tally);
  };
  count(smooth_gd, c.corrected.gd);
  count(smooth_spec, c.corrected.specgd);
  count(smooth_gd_printed, c.as_printed.gd);
  count(smooth_spec_printed, c.as_printed.specgd);
}

// Section 4.5. The printed condition is compared with the Euclidean step with the printed and with
// the sharp constant, the sharp condition with the sharp one.
void record_diagonal(const DiagonalComparison& c, double alpha, const Recorder& to) {
  const double nr = c.nuclear_rank(), printed = nr / c.stable_rank_A(),
               sharp = nr / c.sharp_rank_A();
  const double sign = c.decrease_sign(), gd = c.decrease_gd(c.L_F),
               sharp_gd = c.decrease_gd(c.L_F_sharp);
  const double C_op = alpha * c.L_F;
  to.value(constant_ratio, c.L_F / c.L_F_sharp);
  to.count(diagonal_gd, below(gd, c.guarantee_gd(c.L_F)) ||
                            below(c.decrease_gd(c.L_F, C_op), c.guarantee_gd(c.L_F, C_op)));
  to.count(diagonal_sign,
           below(sign, c.guarantee_sign()) || below(c.decrease_sign(C_op), c.guarantee_sign(C_op)));
  const auto wrong = [&](double ratio, double euclidean) {
    return ratio >= 1 ? below(sign, euclidean) : below(euclidean, sign);
  };
  to.value(conditions_disagree, (printed >= 1) != (sharp >= 1));
  to.value(condition_wrong, wrong(printed, gd));
  to.value(condition_wrong_sharp_step, wrong(printed, sharp_gd));
  to.value(sharp_condition_wrong, wrong(sharp, sharp_gd));
}

TrialRecord run_trial(const Config& config, const Trial& trial) {
  trial.check_interrupt();
  const OneStepProblem problem = draw_one_step_problem(config, trial);
  const StepComparison steps = compare_steps(problem);
  const double alpha = std::pow(
      10.0, uniform_number(trial, "coupling", -config.coupling_decades, config.coupling_decades));
  TrialRecord record;
  record.set(features, static_cast<double>(problem.features));
  record.set(labels, static_cast<double>(problem.labels));
  record.set(zero_gradient, !steps.defined());
  record.set(undetermined_step, steps.defined() && !steps.determined);
  const Recorder to{record, steps.defined()};
  record_steps(steps, to);
  record_conditions(steps, alpha, to);
  trial.check_interrupt();
  record_smooth(of_log_cosh, compare_smooth_steps(SmoothLoss::log_cosh, problem, trial), record);
  record_smooth(of_logistic, compare_smooth_steps(SmoothLoss::logistic, problem, trial), record);
  trial.check_interrupt();
  const DiagonalComparison diagonal = compare_diagonal_steps(problem, trial);
  record_diagonal(diagonal, alpha, {record, diagonal.defined()});
  return record;
}

// Claims ------------------------------------------------------------------------------------------

Spread spread(const Records& records, const Measure& measure) {
  return spread_of(scalars_of(records, measure));
}

double total(const Records& records, const Measure& measure) {
  double sum = 0;
  for (const double value : scalars_of(records, measure)) sum += std::isfinite(value) ? value : 0.0;
  return sum;
}

std::string margin_text(const Records& records, const Measure& margin) {
  return say("smallest decrease over guarantee, minus 1: {}; a violation is below -{}",
             spread(records, margin).smallest, decrease_tolerance);
}

std::string expansion_text(const Records& records) {
  return say(
      "largest difference {} in units of rounding, epsilon (||W A||_F + ||Y||_F)^2 / n; "
      "allowed {}",
      tally_of(records, expansion.id).largest, expansion_roundings);
}

std::string predicate_text(const Records& records) {
  const Spread factor = spread(records, wrong_factor);
  std::string text =
      say("trials with nr >= st in which SpecGD decreases the loss less: {}; trials with nr < st "
          "in which it decreases the loss more: {}",
          total(records, specgd_behind), total(records, specgd_ahead));
  if (factor.count == 0) return text;
  return say(
      "{}; the larger of the two decreases over the smaller in these trials: median {}, "
      "90th percentile {}, at most {}",
      text, factor.median, factor.upper_tenth, factor.largest);
}

}  // namespace

void Config::judge(const Records& records, Claims& claims) const {
  claims.set_unit(Unit::draw);
  const auto never_violated = [&](const Inequality& statement, const std::string& detail = "") {
    claims.never_violated(statement, records, detail);
  };
  claims.never_violated(guaranteed_ratio, records, "largest relative difference of the two ratios",
                        WorstCase::largest);
  never_violated(expansion, expansion_text(records));
  never_violated(guarantee_gd, margin_text(records, margin_gd));
  never_violated(guarantee_spec, margin_text(records, margin_spec));
  never_violated(two_sided);
  never_violated(two_sided_mirrored);
  never_violated(within_two);
  never_violated(predicate, predicate_text(records));

  const std::string losses =
      "f is (1/n) times a sum of log cosh losses (L = 1/n) or of logistic losses (L = 1/(4 n))";
  const std::string too_long =
      "; L_F and L_op of eq. (1.4) already contain a factor 1/n, so the steps are n times as long "
      "as ||U A||_F^2 <= n L_F ||U||_F^2 allows";
  never_violated(smooth_gd_printed, losses + too_long);
  never_violated(smooth_spec_printed, losses + too_long);
  never_violated(smooth_gd, losses);
  never_violated(smooth_spec, losses);

  const std::string coupling =
      "on the loss plus C_op/2 <u v', W' - W>^2, where u and v are the first singular vectors of "
      "G; both steps attain the full curvature of this term";
  never_violated(eq_4_14, coupling);
  never_violated(eq_4_15, coupling);
  never_violated(eq_4_16_guarantees);
  never_violated(stable_at_most_nuclear);
  never_violated(eq_4_17_equivalent);
  never_violated(implies_4_16);
  never_violated(implies_4_18,
                 say("(4.16) is the weaker condition: it holds in {} trials, (4.18) in {}",
                     total(records, meets_4_16), total(records, meets_4_18)));

  const std::string both = "checked at C_op = 0 and at the drawn C_op";
  never_violated(diagonal_gd, both);
  never_violated(diagonal_sign, both);
}

// The result --------------------------------------------------------------------------------------

namespace {

constexpr Measure
    actual_over_predicted = {"actual_over_predicted", "",
                             "ratio of the decreases over the predicted ratio, mean of the bin"},
    smallest_quotient = {"actual_over_predicted.smallest", "",
                         "smallest ratio of the decreases over the predicted ratio in the bin"},
    median_quotient = {"actual_over_predicted.median", "",
                       "median ratio of the decreases over the predicted ratio in the bin"},
    largest_quotient = {"actual_over_predicted.largest", "",
                        "largest ratio of the decreases over the predicted ratio in the bin"},
    wrong_share = {"predicate_wrong_share", "",
                   "share of the bin in which nr >= st picks the worse step"},
    wrong_percent = {"predicate_wrong_percent", "",
                     "percentage of the bin in which nr >= st picks the worse step", "%"},
    trials_of_bin = {"trials", "", "trials of the bin"},
    predicted = {"predicted", "nr(G) / st(A)", "the prediction"},
    predicted_half = {"predicted.half", "", "half of the prediction"},
    predicted_double = {"predicted.double", "", "twice the prediction"},
    sample = {"actual_ratio.sample", "", "ratio of the decreases in single trials"},
    two_sided_cases = {"cases.two_sided", "", "1 if nr(G) >= 2 st(A)"};

constexpr int bins_per_octave = 4;
constexpr double edge_rounding = 1e-9;     // in bins
constexpr std::size_t drawn_trials = 400;  // points of the scatter plot

// A point, a median or an extreme is one problem, whose value must not depend on rounding.
bool is_drawn(const TrialRecord& record) {
  return std::isfinite(record.scalar(predicted_ratio)) &&
         std::isfinite(record.scalar(actual_ratio)) && record.scalar(undetermined_step) == 0;
}

// Trials by predicted ratio nr/st, in bins of a quarter of an octave whose edges include 1/2, 1
// and 2. Many ratios are exactly 1, so a ratio just below an edge by rounding counts as above it.
struct Bin {
  std::vector<double> actual, actual_over_predicted, wrong;
};
using Bins = std::map<int, Bin>;

Bins binned(const Records& records) {
  Bins bins;
  for (const TrialRecord& record : records) {
    if (!is_drawn(record)) continue;
    const double ratio = record.scalar(predicted_ratio), actual = record.scalar(actual_ratio);
    Bin& bin =
        bins[static_cast<int>(std::floor(std::log2(ratio) * bins_per_octave + edge_rounding))];
    bin.actual.push_back(actual);
    bin.actual_over_predicted.push_back(actual / ratio);
    bin.wrong.push_back(record.tally(predicate.id).violations);
  }
  return bins;
}

// The center of a bin on a logarithmic axis.
double center(int bin) {
  return std::exp2((bin + 0.5) / bins_per_octave);
}

void add_over_bins(const Quantity& quantity, const Bins& bins,
                   const std::function<Summary(const Bin&)>& value, Numbers& out) {
  Series series{quantity, predicted_ratio, {}, {}, {}};
  const int first = bins.empty() ? 0 : bins.begin()->first,
            end = bins.empty() ? 0 : bins.rbegin()->first + 1;
  for (int i = first; i < end; ++i) {
    const auto found = bins.find(i);
    const Summary summary =
        found == bins.end() ? Summary{undefined, undefined, 0} : value(found->second);
    series.x.push_back(center(i));
    series.mean.push_back(summary.mean);
    series.std.push_back(summary.std);
  }
  out.series(quantity, std::move(series));
}

void add_series(Numbers& out) {
  const Bins bins = binned(out.records());
  const auto plain = [](double value) { return Summary{value, 0.0, 1}; };
  const auto add = [&](const Measure& measure, const std::function<Summary(const Bin&)>& value) {
    add_over_bins(measure, bins, value, out);
  };
  const auto of_spread = [&](double Spread::*part) {
    return [=](const Bin& bin) { return plain(spread_of(bin.actual_over_predicted).*part); };
  };
  add(actual_ratio, [](const Bin& bin) { return summarize(bin.actual); });
  add(actual_over_predicted, [](const Bin& bin) { return summarize(bin.actual_over_predicted); });
  add(smallest_quotient, of_spread(&Spread::smallest));
  add(median_quotient, of_spread(&Spread::median));
  add(largest_quotient, of_spread(&Spread::largest));
  add(wrong_share, [&](const Bin& bin) { return plain(summarize(bin.wrong).mean); });
  add(wrong_percent, [&](const Bin& bin) { return plain(100 * summarize(bin.wrong).mean); });
  add(trials_of_bin, [&](const Bin& bin) { return plain(static_cast<double>(bin.actual.size())); });

  std::vector<double> ends;  // first and last bin center
  if (!bins.empty()) ends = {center(bins.begin()->first), center(bins.rbegin()->first)};
  for (const auto& [measure, factor] :
       {std::pair(predicted, 1.0), {predicted_half, 0.5}, {predicted_double, 2.0}}) {
    std::vector<double> y;
    for (const double x : ends) y.push_back(factor * x);
    out.series_of_points(measure, predicted_ratio, ends, y);
  }
  std::vector<double> x, y;
  for (const TrialRecord& record : out.records()) {
    if (x.size() == drawn_trials || !is_drawn(record)) continue;
    x.push_back(record.scalar(predicted_ratio));
    y.push_back(record.scalar(actual_ratio));
  }
  out.series_of_points(sample, predicted_ratio, x, y);
}

void add_scalars(Numbers& out) {
  const auto add = [&](const std::initializer_list<Measure>& measures) {
    for (const Measure& each : measures) out.scalar(each);
  };
  for (const Inequality* each :
       {&guarantee_gd, &guarantee_spec, &two_sided, &two_sided_mirrored, &within_two, &predicate}) {
    out.scalar(*each);
  }
  add({specgd_behind, specgd_ahead, wrong_factor, predicted_ratio, actual_ratio, nr_G, st_A,
       margin_gd, margin_spec});
  out.scalar(two_sided_cases, per_trial(out.records(), [](const TrialRecord& record) {
               return record.has_tally(two_sided.id) ? record.tally(two_sided.id).cases : undefined;
             }));
  out.scalar(eq_4_14);
  out.scalar(eq_4_15);
  add({meets_4_16, meets_4_18});
  out.scalar(implies_4_18);
  for (const SmoothViolations& each : {of_log_cosh, of_logistic})
    add({each.gd, each.spec, each.gd_printed});
  add({conditions_disagree, condition_wrong, condition_wrong_sharp_step, sharp_condition_wrong,
       constant_ratio, zero_gradient, undetermined_step});
}

std::string rounded_percent(double share) {
  return std::isfinite(share) ? short_number(std::round(1000 * share) / 10) + " %" : "-";
}

// One row for each kind of features, then for each kind of labels.
void add_table(const Config& config, Display& out) {
  Table table;
  table.columns = {"drawn as",     "trials",      "nr/st, median",
                   "SpecGD ahead", "nr/st wrong", "by at most"};
  const auto add_rows = [&](const std::string& what, const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      std::vector<double> ratios, ahead, wrong, factor;
      for (const TrialRecord& record : out.records()) {
        const double ratio = record.scalar(predicted_ratio);
        if (record.scalar(what) != static_cast<double>(i) || !std::isfinite(ratio)) continue;
        ratios.push_back(ratio);
        ahead.push_back(record.scalar(actual_ratio) > 1 ? 1.0 : 0.0);
        wrong.push_back(record.tally(predicate.id).violations);
        factor.push_back(record.scalar(wrong_factor));
      }
      const Spread worst = spread_of(factor);
      table.rows.push_back({say("{} {}", what, names[i]), say("{}", ratios.size()),
                            ratios.empty() ? "-" : short_number(spread_of(ratios).median),
                            rounded_percent(summarize(ahead).mean),
                            rounded_percent(summarize(wrong).mean),
                            worst.count == 0 ? "-" : short_number(worst.largest)});
    }
  };
  add_rows(features, config.features);
  add_rows(labels, config.labels);
  out.table(std::move(table));
}

void add_figure(Display& out) {
  const Axis of_prediction = log_axis("predicted ratio nr(G) / st(A)");
  const auto panel = [&](const std::string& title, Axis y) {
    return out.panel(title, of_prediction, std::move(y))
        .band(0.5, 2.0, "predicted ratio from 1/2 to 2");
  };
  panel("Decrease of the loss: spectral over Euclidean", log_axis("measured ratio"))
      .curve(sample, "one problem", {LineStyle::points, 0})
      .curve(predicted, "prediction", {LineStyle::line, 1})
      .curve(predicted_half, "within a factor of 2", {LineStyle::dotted, 1})
      .curve(predicted_double, "", {LineStyle::dotted, 1})
      .line(1.0, "equal");
  panel("Accuracy of the prediction", log_axis("measured over predicted ratio"))
      .curve(median_quotient, "median", {LineStyle::line, 0})
      .curve(smallest_quotient, "smallest and largest", {LineStyle::dashed, 0})
      .curve(largest_quotient, "", {LineStyle::dashed, 0})
      .line(0.5, "limit 1/2")
      .line(2.0, "limit 2");
  panel("How often nr(G) >= st(A) picks the worse step",
        nonnegative_axis("share of the problems (%)"))
      .curve(wrong_percent, "problems with the worse step", {LineStyle::line, 0});
}

}  // namespace

void Config::derive(Numbers& out) const {
  add_scalars(out);
  add_series(out);
}

void Config::show(Display& out) const {
  add_table(*this, out);
  add_figure(out);
  if (const double count = total(out.records(), zero_gradient); count > 0) {
    out.note(say(
        "In {} trials the gradient is zero up to rounding; they are not cases of the statements "
        "about its steps.",
        count));
  }
  if (const double count = total(out.records(), undetermined_step); count > 0) {
    out.note(say(
        "In {} trials a singular value of the gradient is near its rounding error, so the spectral "
        "step depends on rounding; the statements are checked on the steps that were taken, and "
        "the figure leaves these trials out.",
        count));
  }
}

Work Config::work() const {
  return each_trial([c = *this](Trial& trial) { return run_trial(c, trial); });
}

}  // namespace ranklab::regression

namespace ranklab {

std::unique_ptr<Study> make_regression_study() {
  return std::make_unique<regression::Config>();
}

}  // namespace ranklab
