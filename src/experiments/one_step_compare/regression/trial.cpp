#include "experiments/one_step_compare/regression/trial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "experiments/one_step_compare/regression/diagonal.hpp"
#include "experiments/one_step_compare/regression/smooth.hpp"
#include "experiments/one_step_compare/regression/steps.hpp"

namespace ranklab {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
// Two ratios closer than this to the point where an algebraic condition turns are not told apart.
constexpr double condition_tolerance = 1e-9;

// Sets flags to 0 or 1, or to NaN where the trial has no case; and their tolerance.
class Judge {
 public:
  Judge(TrialRecord& record, bool defined, double tolerance) : record_(record), defined_(defined), tolerance_(tolerance) {}

  void flag(const std::string& name, bool violated) const { record_.set(name, defined_ ? double(violated) : undefined); }
  void value(const std::string& name, double value) const { record_.set(name, defined_ ? value : undefined); }
  bool below(double a, double b) const { return a < b * (1 - tolerance_); }

 private:
  TrialRecord& record_;
  bool defined_;
  double tolerance_;
};

// Section 1.2: the guarantees after (1.4), the two-sided comparison, and the bare predicate (1.5).
void record_steps(const StepComparison& c, const Judge& judge) {
  const double gd = c.decrease_gd(), specgd = c.decrease_specgd(), predicted = c.predicted_ratio(), actual = specgd / gd;
  judge.value("stable_rank_A", c.stable_rank_A);
  judge.value("stable_rank_G", c.stable_rank_G);
  judge.value("nuclear_rank", c.nuclear_rank);
  judge.value("predicted_ratio", predicted);
  judge.value("actual_ratio", actual);
  judge.value("margin.guarantee_gd", gd / c.guarantee_gd() - 1);
  judge.value("margin.guarantee_spec", specgd / c.guarantee_specgd() - 1);
  judge.flag("violations.guarantee_gd", judge.below(gd, c.guarantee_gd()));
  judge.flag("violations.guarantee_spec", judge.below(specgd, c.guarantee_specgd()));
  judge.flag("cases.two_sided", predicted >= 2);
  judge.flag("violations.two_sided", predicted >= 2 && judge.below(specgd, gd));
  judge.flag("cases.two_sided_mirrored", predicted <= 0.5);
  judge.flag("violations.two_sided_mirrored", predicted <= 0.5 && judge.below(gd, specgd));
  judge.flag("violations.within_two", judge.below(actual, predicted / 2) || judge.below(2 * predicted, actual));
  const bool behind = predicted >= 1 && judge.below(specgd, gd), ahead = predicted < 1 && judge.below(gd, specgd);
  judge.flag("violations.predicate_specgd_behind", behind);
  judge.flag("violations.predicate_specgd_ahead", ahead);
  judge.flag("violations.predicate", behind || ahead);
  judge.value("predicate_wrong_factor", behind ? 1 / actual : ahead ? actual : undefined);
  // Eq. (1.3): what the loss lost, as computed, against the expansion, over what rounding may do.
  judge.value("expansion_error", std::max(std::fabs(c.loss_difference_gd - gd), std::fabs(c.loss_difference_specgd - specgd)) /
                                     std::max(c.loss_rounding, std::numeric_limits<double>::min()));
}

// Section 4.4, at a drawn C_op.
void record_conditions(const StepComparison& c, double alpha, const Judge& judge) {
  const double C_op = alpha * c.L_F;
  judge.flag("violations.eq_4_14", judge.below(c.decrease_gd(C_op), c.guarantee_gd(C_op)));
  judge.flag("violations.eq_4_15", judge.below(c.decrease_specgd(C_op), c.guarantee_specgd(C_op)));
  judge.flag("violations.stable_rank_above_nuclear_rank", c.stable_rank_G > c.nuclear_rank * (1 + condition_tolerance));
  const Conditions each = conditions(c.nuclear_rank, c.stable_rank_G, c.stable_rank_A, alpha);
  const auto met = [](double ratio) { return ratio >= 1; };
  const auto clear = [](double ratio) { return std::fabs(ratio - 1) > condition_tolerance; };
  // Where a ratio is 1 to rounding, a condition is neither met nor missed.
  const double guarantees = c.guarantee_specgd(C_op) / c.guarantee_gd(C_op);
  const bool all_clear = clear(each.eq_4_16) && clear(each.eq_4_17) && clear(each.eq_4_18) && clear(guarantees);
  judge.flag("cases.conditions", all_clear);
  judge.flag("conditions.eq_4_16", met(each.eq_4_16));
  judge.flag("conditions.eq_4_18", met(each.eq_4_18));
  judge.flag("violations.eq_4_16_guarantees", all_clear && met(each.eq_4_16) != met(guarantees));
  judge.flag("violations.eq_4_17_equivalent", all_clear && met(each.eq_4_17) != met(each.eq_4_18));
  judge.flag("violations.eq_4_18_implies_4_16", all_clear && met(each.eq_4_18) && !met(each.eq_4_16));
  judge.flag("violations.eq_4_16_implies_4_18", all_clear && met(each.eq_4_16) && !met(each.eq_4_18));
}

void record_smooth(const std::string& name, const SmoothComparison& c, TrialRecord& record, double tolerance) {
  const auto flag = [&](const std::string& which, double ratio) {
    record.set("violations." + name + "." + which, std::isfinite(ratio) ? double(ratio < 1 - tolerance) : undefined);
  };
  flag("guarantee_gd", c.corrected.gd);
  flag("guarantee_spec", c.corrected.specgd);
  flag("guarantee_gd_as_printed", c.as_printed.gd);
  flag("guarantee_spec_as_printed", c.as_printed.specgd);
}

// Section 4.5; each condition against the Euclidean step with its own constant, and against the sharp one.
void record_diagonal(const DiagonalComparison& c, double alpha, const Judge& judge) {
  const double nr = c.nuclear_rank(), printed = nr / c.stable_rank_A(), sharp = nr / c.sharp_rank_A();
  const double sign = c.decrease_sign(), gd = c.decrease_gd(c.L_F), sharp_gd = c.decrease_gd(c.L_F_sharp);
  const double C_op = alpha * c.L_F;
  judge.value("diagonal.predicted_ratio", printed);
  judge.value("diagonal.predicted_ratio_sharp", sharp);
  judge.value("diagonal.constant_ratio", c.L_F / c.L_F_sharp);
  judge.flag("violations.diagonal.guarantee_gd",
             judge.below(gd, c.guarantee_gd(c.L_F)) || judge.below(c.decrease_gd(c.L_F, C_op), c.guarantee_gd(c.L_F, C_op)));
  judge.flag("violations.diagonal.guarantee_gd_sharp",
             judge.below(sharp_gd, c.guarantee_gd(c.L_F_sharp)) ||
                 judge.below(c.decrease_gd(c.L_F_sharp, C_op), c.guarantee_gd(c.L_F_sharp, C_op)));
  judge.flag("violations.diagonal.guarantee_sign",
             judge.below(sign, c.guarantee_sign()) || judge.below(c.decrease_sign(C_op), c.guarantee_sign(C_op)));
  judge.flag("violations.diagonal.sharp_above_printed", c.L_F_sharp > c.L_F * (1 + condition_tolerance));
  judge.flag("diagonal.conditions_disagree", (printed >= 1) != (sharp >= 1));
  judge.flag("cases.diagonal.two_sided", printed >= 2);
  judge.flag("violations.diagonal.two_sided", printed >= 2 && judge.below(sign, gd));
  judge.flag("violations.diagonal.two_sided_against_sharp_step", printed >= 2 && judge.below(sign, sharp_gd));
  judge.flag("cases.diagonal.two_sided_sharp", sharp >= 2);
  judge.flag("violations.diagonal.two_sided_sharp", sharp >= 2 && judge.below(sign, sharp_gd));
  const auto wrong = [&](double ratio, double euclidean) {
    return ratio >= 1 ? judge.below(sign, euclidean) : judge.below(euclidean, sign);
  };
  judge.flag("diagonal.condition_wrong", wrong(printed, gd));
  judge.flag("diagonal.condition_wrong_against_sharp_step", wrong(printed, sharp_gd));
  judge.flag("diagonal.sharp_condition_wrong", wrong(sharp, sharp_gd));
}

template <class T>
TrialRecord measure(const RegressionConfig& config, double tolerance, const Trial& trial) {
  trial.check_interrupt();
  const OneStepProblem<T> problem = draw_one_step_problem<T>(config, trial);
  TrialRecord record;
  record.set("m", static_cast<double>(problem.W.n_rows));
  record.set("k", static_cast<double>(problem.A.n_rows));
  record.set("n", static_cast<double>(problem.A.n_cols));
  record.set("features", static_cast<double>(problem.features));
  record.set("labels", static_cast<double>(problem.labels));
  const StepComparison steps = compare_steps(problem);
  const double alpha = std::pow(10.0, uniform_number(trial, "coupling", -config.coupling_decades, config.coupling_decades));
  const Judge judge(record, steps.defined(), tolerance);
  record.set("zero_gradient", double(!steps.defined()));
  record_steps(steps, judge);
  record_conditions(steps, alpha, judge);
  trial.check_interrupt();
  record_smooth("log_cosh", compare_smooth_steps<T>(SmoothLoss::log_cosh, problem, trial), record, tolerance);
  record_smooth("logistic", compare_smooth_steps<T>(SmoothLoss::logistic, problem, trial), record, tolerance);
  trial.check_interrupt();
  const DiagonalComparison diagonal = compare_diagonal_steps<T>(problem, trial);
  record_diagonal(diagonal, alpha, Judge(record, diagonal.defined(), tolerance));
  return record;
}

}  // namespace

double decrease_tolerance(bool single_precision) {
  return single_precision ? 1e-5 : 1e-10;
}

TrialRecord regression_trial(const RegressionConfig& config, bool single_precision, const Trial& trial) {
  const double tolerance = decrease_tolerance(single_precision);
  return single_precision ? measure<float>(config, tolerance, trial) : measure<double>(config, tolerance, trial);
}

}  // namespace ranklab
