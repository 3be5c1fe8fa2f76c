#include <algorithm>
#include <cmath>

#include "core/statistics.hpp"
#include "core/tolerances.hpp"
#include "core/undefined.hpp"
#include "experiments/rank_collapse/escalation_rate/escalation_rate.hpp"
#include "experiments/rank_collapse/token_escalation/measures.hpp"

namespace ranklab::escalation_rate {
namespace {

bool has_one_head(const Plan& plan) {
  return plan.config.spec.heads == 1;
}

StepStrength strength_of(const Plan& plan) {
  return step_strength(plan.config.spec, plan.config.lambda);
}

// Our threshold: the largest difference between two curves relative to the smaller one.
constexpr double nearly_identical = 0.05;
const std::string too_few = "a standard error requires two trials and a defined block";
const std::string by_control_variates =
    "with the expectations (9) as control variates, which reduces the spread";

// The statements about E[r] are for large d.
std::string large_d(const Plan& plan) {
  return "d = " + std::to_string(plan.config.spec.dim) + " counts as large";
}

// [Shallow] Theorem 2.6 for several heads: the means of the bounds (11) over heads enter eq. (16).
void judge_guarantee(const Plan& plan, const Records& records, Claims& claims) {
  const StepStrength strength = strength_of(plan);
  const Statement eq_16 =
      asymptotic(Statement{"shallow/thm-2.6", "shallow/eq-16", "Theorem 2.6, eq. (16)",
                           "E[r] >= 1 + Estimate 1 (averaged over heads) times t_sim at every "
                           "block with omega + delta < 1"},
                 large_d(plan));
  if (!claims.applies(eq_16, strength.attention == 0 ? "step 1 has no attention" : "")) return;
  const auto margin = [&](const TrialRecord& record, std::size_t k) {
    if (!(at(record, largest_sum, k) < 1)) return undefined;
    const double guaranteed =
        expected_excess(strength, at(record, mu_1_bound, k), at(record, mu_2_bound, k));
    return (at(record, sharpened_excess, k) - guaranteed) * at(record, token_similarity, k);
  };
  claims.add(judge_blocks(eq_16, clean_values(plan, records, margin), at_least(0),
                          "mean rate minus its bound, " + by_control_variates));
}

// [Shallow] eq. (17) is a bound for symmetric P. If P is not symmetric, its distance from the mean
// is reported but not judged.
void judge_symmetric(const Plan& plan, const Records& records, Claims& claims) {
  const auto margin = [](const TrialRecord& record, std::size_t k) {
    return (at(record, sharpened_excess, k) - at(record, estimate_2, k)) *
           at(record, token_similarity, k);
  };
  const double asymmetric = spread_of(records.front().array(largest_asymmetry)).largest;
  const std::string unmet =
      "P is not symmetric: ||P - P'||_F/||P||_F up to " + short_number(asymmetric);
  const auto symmetric =
      claims.only_where(asymmetric <= slack ? "" : unmet, Claims::Unmet::verdict_alone);
  const Statement eq_17 =
      asymptotic(Statement{"shallow/cor-2.7", "shallow/eq-17", "Corollary 2.7, eq. (17)",
                           "E[r] >= 1 + Estimate 2 times t_sim at every block if P is symmetric"},
                 large_d(plan));
  claims.add(judge_blocks(eq_17, clean_values(plan, records, margin), at_least(0),
                          "mean rate minus the rate from Estimate 2, " + by_control_variates));
}

void judge_estimates(const Plan& plan, const Records& records, Claims& claims) {
  // Estimate 2 is closer if and only if the mean is on its side of the midpoint.
  const auto side = [](const TrialRecord& record, std::size_t k) {
    const double first = at(record, estimate_1, k), second = at(record, estimate_2, k);
    if (first == second) return undefined;
    return (second > first ? 1 : -1) * (at(record, sharpened_excess, k) - (first + second) / 2);
  };
  claims.add(judge_blocks(
      in_figure("shallow/fig-3", "shallow/", "Section 2.4, Figure 3 (middle)", {"Figure 3"})(
          "fig-3-closer",
          "Estimate 2 is closer to the mean of xi_1/xi_2 - 1 than Estimate 1 at every block"),
      clean_values(plan, records, side), compared(at_least(0)),
      "distance of the mean from the midpoint of the two estimates, positive toward Estimate 2, " +
          by_control_variates));

  const auto spread = [](const TrialRecord& record, std::size_t k) {
    const double mean =
        rate_from_excess(at(record, sharpened_excess, k), at(record, token_similarity, k));
    const auto [low, high] = std::minmax({mean, at(record, rate_1, k), at(record, rate_2, k)});
    return std::isfinite(low + high) ? high / low - 1 : undefined;
  };
  const std::string within_this = short_number(100 * nearly_identical) + " %";
  claims.add(judge_blocks(
      reading(
          in_figure("shallow/fig-3", "shallow/", "Section 2.4, Figure 3 (right)", {"Figure 3"})(
              "fig-3-rates", "The mean rate and its two estimates are nearly identical (within " +
                                 within_this + ") at every block"),
          within_this),
      clean_values(plan, records, spread), {0.0, nearly_identical},
      "largest relative difference of the three rates, " + by_control_variates));
}

// [Shallow] eq. (9), and (29) for several heads. Many means are compared, so more standard errors
// are allowed than for one mean.
void judge_expectation(const Plan& plan, const Records& records, Claims& claims) {
  const Place place = has_one_head(plan)
                          ? Place{"shallow/lemma-2.4", "shallow/", "Lemma 2.4, eq. (9)"}
                          : Place{"shallow/lemma-A.6", "shallow/", "Lemma A.6, eq. (29)"};
  const Statement expectation = place(
      has_one_head(plan) ? "eq-9" : "eq-29",
      "E[xi_i] = lambda^2 + alpha^2 d sigma^2 mu_i^2 (lambda = 1 in the paper" +
          std::string(has_one_head(plan) ? "" : ", mu_i^2 averaged over heads") + "), within " +
          short_number(tolerance::standard_errors) + " standard errors at every block");
  Tally tally;
  double width = 0;
  for (const auto& [xi, mu] : {std::pair<const char*, const char*>{xi_1, mu_1}, {xi_2, mu_2}}) {
    const BlockValues sampled = clean_values(plan, records, recorded(xi));
    for (std::size_t k = 0; k < sampled.size(); ++k) {
      const Summary summary = summarize(sampled[k]);
      const double error = standard_error(summary),
                   expected = expected_xi(strength_of(plan), at(records.front(), mu, k)),
                   distance = std::abs(summary.mean - expected);
      if (!std::isfinite(error) || !std::isfinite(expected)) continue;
      tally.count(distance > tolerance::standard_errors * error + slack * expected,
                  error > 0 ? distance / error : 0);
      width = std::max(width, error / expected);
    }
  }
  if (!claims.applies(expectation, tally.cases == 0 ? too_few : "")) return;
  claims.never_violated(expectation, tally,
                        "largest distance of a sample mean from the expectation " +
                            short_number(tally.largest) + " standard errors, which are at most " +
                            short_number(100 * width) + " % of the expectation",
                        WorstCase::largest);
}

// The quotient of the means of xi_1 and xi_2 with its standard error by the delta method: the error
// of mean(xi_1 - q xi_2)/mean(xi_2). NaN where a block is not clean.
struct Quotient {
  double value, error;
};
Quotient quotient_of_means(const std::vector<double>& xi_1_values,
                           const std::vector<double>& xi_2_values) {
  const double below = summarize(xi_2_values).mean, value = summarize(xi_1_values).mean / below;
  std::vector<double> rest;
  for (std::size_t t = 0; t < xi_1_values.size(); ++t)
    rest.push_back(xi_1_values[t] - value * xi_2_values[t]);
  return {value, standard_error(summarize(rest)) / below};
}

// [Shallow] eq. (13), and (18) for several heads: their quotient E[xi_1]/E[xi_2]. The rest of both
// is the identity (6) and the definition (14) of eta.
void judge_expected_rate(const Plan& plan, const Records& records, Claims& claims) {
  const bool one = has_one_head(plan);
  const Place place = one ? Place{"shallow/prop-2.5", "shallow/", "Proposition 2.5, eq. (13)"}
                          : Place{"shallow/prop-2.9", "shallow/", "Proposition 2.9, eq. (18)"};
  const Statement statement = place(
      one ? "eq-13" : "eq-18",
      "In E[r] = 1 + (E[xi_1]/E[xi_2] - 1 - E[eta]) t_sim, the quotient of expectations is "
      "(lambda^2 "
      "+ alpha^2 d sigma^2 mu_1^2)/(lambda^2 + alpha^2 d sigma^2 mu_2^2) (lambda = 1 in the paper" +
          std::string(one ? "" : ", mu_i^2 averaged over heads") + "), within " +
          short_number(tolerance::standard_errors) + " standard errors at every block");
  const BlockValues first = clean_values(plan, records, recorded(xi_1)),
                    second = clean_values(plan, records, recorded(xi_2));
  Tally tally;
  double width = 0;
  for (std::size_t k = 0; k < first.size(); ++k) {
    const Quotient measured = quotient_of_means(first[k], second[k]);
    const double expected = 1 + expected_excess(strength_of(plan), at(records.front(), mu_1, k),
                                                at(records.front(), mu_2, k)),
                 distance = std::abs(measured.value - expected);
    if (!std::isfinite(measured.error) || !std::isfinite(expected)) continue;
    tally.count(distance > tolerance::standard_errors * measured.error + slack * expected,
                measured.error > 0 ? distance / measured.error : 0);
    width = std::max(width, measured.error / expected);
  }
  if (!claims.applies(statement, tally.cases == 0 ? too_few : "")) return;
  claims.never_violated(statement, tally,
                        "quotient of the sample means of xi_1 and xi_2; largest distance from the "
                        "formula " +
                            short_number(tally.largest) + " standard errors, which are at most " +
                            short_number(100 * width) + " % of it",
                        WorstCase::largest);
}

void judge_hypothesis(const Plan& plan, const TrialRecord& path, Claims& claims) {
  Tally tally;
  for (const std::size_t k : plan.clean_blocks(path)) {
    const double sum = at(path, largest_sum, k);
    if (!std::isfinite(sum)) continue;
    tally.count(sum >= 1, std::max(at(path, mu_1, k) - at(path, mu_1_bound, k),
                                   at(path, mu_2_bound, k) - at(path, mu_2, k)));
  }
  claims.never_violated(
      beyond(Statement{"shallow/thm-2.6", "shallow/thm-2.6-hypothesis", "Theorem 2.6",
                       "The hypothesis omega + delta < 1 is met for every head of every block"}),
      tally,
      tally.cases > 0
          ? "largest omega + delta " + short_number(spread_of(path.array(largest_sum)).largest) +
                "; smallest left-hand side of (15) " + short_number(tally.smallest)
          : "");
}

}  // namespace

void judge(const Plan& plan, const Records& records, Claims& claims) {
  const auto path = claims.about({divergence_of(records, "the path", diverged)});
  judge_guarantee(plan, records, claims);
  judge_symmetric(plan, records, claims);
  {
    const auto setting = claims.only_where(plan.unmet_setting);
    judge_estimates(plan, records, claims);
  }
  judge_expectation(plan, records, claims);
  judge_expected_rate(plan, records, claims);
  judge_identity(records, claims);
  judge_bounds(plan, {records.front()}, claims);
  judge_hypothesis(plan, records.front(), claims);
}

}  // namespace ranklab::escalation_rate
