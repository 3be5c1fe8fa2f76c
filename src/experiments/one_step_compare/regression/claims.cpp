#include <cmath>

#include "core/statistics.hpp"
#include "core/undefined.hpp"
#include "experiments/one_step_compare/regression/regression.hpp"

namespace ranklab::regression {
namespace {

Spread spread(const Records& records, const char* name) {
  return spread_of(scalars_of(records, name));
}

double total(const Records& records, const char* name) {
  double sum = 0;
  for (const double value : scalars_of(records, name)) sum += std::isfinite(value) ? value : 0.0;
  return sum;
}

std::string percent_of_trials(const Records& records, const char* name) {
  return percent(summarize(scalars_of(records, name)).mean);
}

std::string margin_text(const Records& records, const char* margin) {
  return "smallest decrease over guarantee, minus 1: " +
         short_number(spread(records, margin).smallest) + "; a violation is below -" +
         short_number(decrease_tolerance);
}

std::string expansion_text(const Records& records) {
  const Tally tally = tally_of(records, expansion.id);
  return "largest difference " + short_number(tally.cases > 0 ? tally.largest : undefined) +
         " in units of rounding, epsilon (||W A||_F + ||Y||_F)^2 / n; allowed " +
         short_number(expansion_roundings);
}

std::string predicate_text(const Records& records) {
  const Spread factor = spread(records, wrong_factor);
  std::string text = "trials with nr >= st in which SpecGD decreases the loss less: " +
                     short_number(total(records, specgd_behind)) +
                     "; trials with nr < st in which it decreases the loss more: " +
                     short_number(total(records, specgd_ahead));
  if (factor.count == 0) return text;
  return text + "; the larger of the two decreases over the smaller in these trials: median " +
         short_number(factor.median) + ", 90th percentile " + short_number(factor.upper_tenth) +
         ", at most " + short_number(factor.largest);
}

std::string diagonal_text(const Records& records) {
  return "the condition with st(A) and the condition with ||A||_F^2 / max_i ||a_i||^2 disagree "
         "in " +
         percent_of_trials(records, conditions_disagree) +
         " of the trials; compared with the Euclidean step with the sharp constant, the first is "
         "wrong in " +
         percent_of_trials(records, condition_wrong_sharp_step) + ", the second in " +
         percent_of_trials(records, sharp_condition_wrong) +
         "; compared with the Euclidean step as printed, the first is wrong in " +
         percent_of_trials(records, condition_wrong);
}

}  // namespace

void judge(const Records& records, Claims& claims) {
  const auto never_violated = [&](const Inequality& statement, const std::string& detail = "") {
    claims.never_violated(statement, records, detail);
  };
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
  never_violated(implies_4_18, "(4.16) is the weaker condition: it holds in " +
                                   short_number(total(records, meets_4_16)) +
                                   " trials, (4.18) in " +
                                   short_number(total(records, meets_4_18)));

  const std::string both = "checked at C_op = 0 and at the drawn C_op";
  const Spread excess = spread(records, constant_ratio);
  never_violated(diagonal_gd, both);
  never_violated(diagonal_sign, both);
  never_violated(diagonal_gd_sharp, both + "; printed constant over the sharp one: median " +
                                        short_number(excess.median) + ", at most " +
                                        short_number(excess.largest));
  never_violated(diagonal_two_sided);
  never_violated(diagonal_two_sided_sharp_step, diagonal_text(records));
  never_violated(diagonal_two_sided_sharp);
}

}  // namespace ranklab::regression
