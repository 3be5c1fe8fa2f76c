#include <algorithm>
#include <cmath>
#include <limits>

#include "core/undefined.hpp"
#include "experiments/one_step_compare/regression/problem.hpp"
#include "experiments/one_step_compare/regression/regression.hpp"

namespace ranklab::regression {
namespace {

// A ratio closer than this to 1 counts neither as satisfying nor as violating an algebraic
// condition.
constexpr double condition_tolerance = 1e-9;

// Records numbers and counts cases. If the trial's gradient is zero up to rounding, the numbers are
// undefined and there are no cases.
class Judge {
 public:
  Judge(TrialRecord& record, bool defined) : record_(record), defined_(defined) {}

  void value(const char* name, double value) const {
    record_.set(name, defined_ ? value : undefined);
  }
  void count(const Inequality& statement, bool violated, double shown = undefined) const {
    if (defined_) record_.count(statement.id, violated, shown);
  }
  /// Counts a case if the statement's hypothesis is met.
  void count_where(bool hypothesis, const Inequality& statement, bool violated) const {
    if (hypothesis) return count(statement, violated);
    if (defined_) record_.add(statement.id, Tally());
  }
  bool below(double a, double b) const { return a < b * (1 - decrease_tolerance); }

 private:
  TrialRecord& record_;
  bool defined_;
};

// Section 1.2: the guarantees after (1.4), the two-sided comparison, and the bare predicate (1.5).
void record_steps(const StepComparison& c, const Judge& judge) {
  const double gd = c.decrease_gd(), specgd = c.decrease_specgd(), predicted = c.predicted_ratio(),
               actual = specgd / gd;
  judge.value(st_A, c.stable_rank_A);
  judge.value(nr_G, c.nuclear_rank);
  judge.value(predicted_ratio, predicted);
  judge.value(actual_ratio, actual);
  judge.value(margin_gd, gd / c.guarantee_gd() - 1);
  judge.value(margin_spec, specgd / c.guarantee_specgd() - 1);
  judge.count(guarantee_gd, judge.below(gd, c.guarantee_gd()));
  judge.count(guarantee_spec, judge.below(specgd, c.guarantee_specgd()));
  judge.count_where(predicted >= 2, two_sided, judge.below(specgd, gd));
  judge.count_where(predicted <= 0.5, two_sided_mirrored, judge.below(gd, specgd));
  judge.count(within_two, judge.below(actual, predicted / 2) || judge.below(2 * predicted, actual));
  const bool behind = predicted >= 1 && judge.below(specgd, gd),
             ahead = predicted < 1 && judge.below(gd, specgd);
  judge.value(specgd_behind, behind);
  judge.value(specgd_ahead, ahead);
  judge.count(predicate, behind || ahead);
  judge.value(wrong_factor, behind ? 1 / actual : ahead ? actual : undefined);
  // Eq. (1.3): the computed decrease minus that of the expansion, in units of rounding.
  const double error =
      std::max(std::fabs(c.loss_difference_gd - gd), std::fabs(c.loss_difference_specgd - specgd)) /
      std::max(c.loss_rounding, std::numeric_limits<double>::min());
  judge.count(expansion, error > expansion_roundings, error);
}

// Section 4.4, at a drawn C_op.
void record_conditions(const StepComparison& c, double alpha, const Judge& judge) {
  const double C_op = alpha * c.L_F;
  judge.count(eq_4_14, judge.below(c.decrease_gd(C_op), c.guarantee_gd(C_op)));
  judge.count(eq_4_15, judge.below(c.decrease_specgd(C_op), c.guarantee_specgd(C_op)));
  judge.count(stable_at_most_nuclear, c.stable_rank_G > c.nuclear_rank * (1 + condition_tolerance));
  const Conditions each = conditions(c.nuclear_rank, c.stable_rank_G, c.stable_rank_A, alpha);
  const double guarantees = c.guarantee_specgd(C_op) / c.guarantee_gd(C_op);
  const auto clear = [](double ratio) { return std::fabs(ratio - 1) > condition_tolerance; };
  // If a ratio is 1 up to rounding, its condition is undecided.
  const bool all_clear =
      clear(each.eq_4_16) && clear(each.eq_4_17) && clear(each.eq_4_18) && clear(guarantees);
  const bool met_16 = each.eq_4_16 >= 1, met_17 = each.eq_4_17 >= 1, met_18 = each.eq_4_18 >= 1;
  judge.value(meets_4_16, met_16);
  judge.value(meets_4_18, met_18);
  judge.count_where(all_clear, eq_4_16_guarantees, met_16 != (guarantees >= 1));
  judge.count_where(all_clear, eq_4_17_equivalent, met_17 != met_18);
  judge.count_where(all_clear, implies_4_16, met_18 && !met_16);
  judge.count_where(all_clear, implies_4_18, met_16 && !met_18);
}

void record_smooth(const std::string& loss, const SmoothComparison& c, TrialRecord& record) {
  const auto count = [&](const Inequality& statement, double ratio) {
    const bool defined = std::isfinite(ratio), violated = ratio < 1 - decrease_tolerance;
    if (!statement.scalar.empty())
      record.set(smooth_violations(loss, statement), defined ? double(violated) : undefined);
    Tally tally;
    if (defined) tally.count(violated);
    record.add(statement.id, tally);
  };
  count(smooth_gd, c.corrected.gd);
  count(smooth_spec, c.corrected.specgd);
  count(smooth_gd_printed, c.as_printed.gd);
  count(smooth_spec_printed, c.as_printed.specgd);
}

// Section 4.5. The printed condition is compared with the Euclidean step with the printed and with
// the sharp constant, the sharp condition with the sharp one.
void record_diagonal(const DiagonalComparison& c, double alpha, const Judge& judge) {
  const double nr = c.nuclear_rank(), printed = nr / c.stable_rank_A(),
               sharp = nr / c.sharp_rank_A();
  const double sign = c.decrease_sign(), gd = c.decrease_gd(c.L_F),
               sharp_gd = c.decrease_gd(c.L_F_sharp);
  const double C_op = alpha * c.L_F;
  const auto breaks_guarantee = [&](double L) {
    return judge.below(c.decrease_gd(L), c.guarantee_gd(L)) ||
           judge.below(c.decrease_gd(L, C_op), c.guarantee_gd(L, C_op));
  };
  judge.value(constant_ratio, c.L_F / c.L_F_sharp);
  judge.count(diagonal_gd, breaks_guarantee(c.L_F));
  judge.count(diagonal_gd_sharp, breaks_guarantee(c.L_F_sharp));
  judge.count(diagonal_sign, judge.below(sign, c.guarantee_sign()) ||
                                 judge.below(c.decrease_sign(C_op), c.guarantee_sign(C_op)));
  judge.count_where(printed >= 2, diagonal_two_sided, judge.below(sign, gd));
  judge.count_where(printed >= 2, diagonal_two_sided_sharp_step, judge.below(sign, sharp_gd));
  judge.count_where(sharp >= 2, diagonal_two_sided_sharp, judge.below(sign, sharp_gd));
  const auto wrong = [&](double ratio, double euclidean) {
    return ratio >= 1 ? judge.below(sign, euclidean) : judge.below(euclidean, sign);
  };
  judge.value(conditions_disagree, (printed >= 1) != (sharp >= 1));
  judge.value(condition_wrong, wrong(printed, gd));
  judge.value(condition_wrong_sharp_step, wrong(printed, sharp_gd));
  judge.value(sharp_condition_wrong, wrong(sharp, sharp_gd));
}

}  // namespace

std::string smooth_violations(const std::string& loss, const Inequality& statement) {
  return "violations." + loss + "." + statement.scalar;
}

TrialRecord run_trial(const RegressionConfig& config, const Trial& trial) {
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
  const Judge judge(record, steps.defined());
  record_steps(steps, judge);
  record_conditions(steps, alpha, judge);
  trial.check_interrupt();
  record_smooth(smooth_losses[0], compare_smooth_steps(SmoothLoss::log_cosh, problem, trial),
                record);
  record_smooth(smooth_losses[1], compare_smooth_steps(SmoothLoss::logistic, problem, trial),
                record);
  trial.check_interrupt();
  const DiagonalComparison diagonal = compare_diagonal_steps(problem, trial);
  record_diagonal(diagonal, alpha, Judge(record, diagonal.defined()));
  return record;
}

}  // namespace ranklab::regression
