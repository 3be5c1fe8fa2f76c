#include <algorithm>
#include <cmath>
#include <limits>

#include "core/statistics.hpp"
#include "experiments/rank_collapse/bounds/bounds.hpp"

namespace ranklab::bounds {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// The growth of the steps of log mu counts as cubic within this of 3, and as exponential within this of 1.
constexpr double growth_margin = 0.1;
// A normalised mu vanishes where less than this share of the input's is left after the run's layers.
constexpr double vanished = 0.1;

std::string violations_text(const Tally& tally) {
  return count_text(tally.violations) + " of " + count_text(tally.cases);
}

std::string cases_left(const Tally& tally) {
  return count_text(tally.cases - tally.violations) + " of " + count_text(tally.cases);
}

// Makes claims of what the random stacks of all trials and the worked examples say.
class Judge {
 public:
  Judge(const BoundsConfig& config, const Records& records, Claims& claims) : config_(config), records_(records), claims_(claims) {}

  void theorem_4_1();
  void theorem_4_2();
  void theorem_4_3();
  void theorem_A_3();
  void theorems_A_7_and_A_8();
  void theorem_A_10();

 private:
  // Over random stacks and worked examples; where there is no case, `unmet` says why.
  void never_violated(const Statement& statement, std::string detail = "", const std::string& unmet = "no case") const {
    const Tally random = tally_of(records_, statement.id), example = examples_.tally(statement.id);
    Tally all = random;
    all.add(example);
    if (!claims_.applies(statement, all.cases == 0 ? clauses(unmet, detail) : "")) return;
    if (all.smallest > 0 && std::isfinite(all.smallest)) {
      detail = clauses("smallest ratio of the two sides " + short_number(all.smallest), detail);
    }
    if (example.cases > 0) {
      detail = clauses("random stacks " + violations_text(random) + ", worked examples " + violations_text(example), detail);
    }
    claims_.never_violated(statement, all, detail);
  }

  // Of the worst of a trial's sizes; not applicable, because of `unmet`, where no trial has a finite value.
  void mean(const Statement& statement, const Worst& number, Region allowed, const std::string& detail,
            const std::string& unmet) const {
    const std::vector<double> per_trial = worst_of(records_, number);
    if (!claims_.applies(statement, summarise(per_trial).n == 0 ? clauses(unmet, detail) : "")) return;
    claims_.mean(statement, per_trial, allowed, detail);
  }

  std::string mean_text(const Worst& number) const { return short_number(summarise(worst_of(records_, number)).mean); }

  std::string by_sign(const Statement& statement) const {
    const auto text = [&](double sign) { return violations_text(tally_of(records_, thm_4_1::of_sign(statement, sign))); };
    return "lambda > 0: " + text(1) + ", lambda < 0: " + text(-1);
  }

  std::string informed_text(const Statement& statement) const {
    return "above 0 in " + count_text(tally_of(records_, thm_4_1::informed(statement)).violations) + " cases";
  }

  // The means over trials of a needed |lambda|, at each model's best rate.
  std::string speaks_from(std::string (*needed)(const std::string& model, double a)) const {
    double low = infinity, high = 0;
    for (const std::string& model : config_.models) {
      double best = infinity;
      for (const double a : config_.a) best = std::min(best, summarise(scalars_of(records_, needed(model, a))).mean);
      low = std::min(low, best);
      high = std::max(high, best);
    }
    return "at the last N and d and " + count_text(static_cast<double>(config_.spec.layers)) +
           " layers it speaks from |lambda| = " + short_number(low) + " to " + short_number(high) + " (models)";
  }

  const BoundsConfig& config_;
  const Records& records_;
  Claims& claims_;
  const TrialRecord examples_ = worked_examples();
};

void Judge::theorem_4_1() {
  using namespace thm_4_1;
  never_violated(cap);
  never_violated(threshold);
  never_violated(cross_term.as_printed, "for lambda < 0 the printed term has the wrong sign");
  never_violated(cross_term.corrected, "Cauchy-Schwarz; the factor d and the Frobenius norms are not needed");
  never_violated(row_normalisation.as_printed,
                 "rows of one direction and different lengths have mu(Y~) > 0 and mu(D Y~) = 0; worked example: (1, 0), (2, 0)");
  never_violated(row_normalisation.corrected, "the spread of the rows' lengths is taken off first");
  never_violated(largest_row.as_printed,
                 "||Y||_F = sqrt N is missing, for which S = ||C_V||_F, up to sqrt d times sigma_max(C_V), may make up; "
                 "worked example: d = 1, a row of M adds N equal tokens to the length N, while S C_M is sqrt N");
  never_violated(largest_row.corrected, "the missing sqrt N is ||Y||_F");
  never_violated(per_layer.as_printed, by_sign(per_layer.as_printed));
  never_violated(per_layer.corrected,
                 informed_text(per_layer.corrected) +
                     "; true although two steps of the printed proof are wrong: token i turns by an angle of sine at most "
                     "||row i of M Y C_V||/|lambda|, from which it follows even without the denominator");
  never_violated(per_layer_turning, informed_text(per_layer_turning));
  never_violated(
      stack.as_printed,
      clauses(by_sign(stack.as_printed), speaks_from(lambda_needed)) +
          ", where b <= N at the best a; for lambda < 0 the printed b is negative and asks for nothing: worked example Sys-1 at "
          "lambda = -0.9, a = 0.04, one layer");
  never_violated(
      stack.corrected,
      clauses(count_text(tally_of(records_, meets_7).cases) + " cases met eq. (7)", speaks_from(lambda_needed_corrected)),
      "no stack met eq. (7) and mu(Y^0)^2 >= b");
  never_violated(stack_turning, clauses("asks for no a, no eq. (7), no b", speaks_from(lambda_needed_turning)),
                 "no stack has a positive bound");
}

void Judge::theorem_4_2() {
  using namespace thm_4_2;
  const std::string unmet = "no stack starts with phi >= 0 and mu > 0";
  const std::string met = "phi(Y^0) >= 0 in " + cases_left(tally_of(records_, hypothesis)) + " stacks, tokens in a cone";
  mean(exponential, slope, at_most(0),
       "slope of log mu per layer, the slowest of a trial's sizes, down to where rounding hides mu; " + met, unmet);
  never_violated(bound, "the theorem leaves C and epsilon open; smallest epsilon of a trial " + mean_text(epsilon), unmet);
  never_violated(angles, met, unmet);
  mean(not_doubly, growth, within(1, growth_margin),
       "growth of the later steps, of a trial's sizes the farthest from 3, the growth of Theorem A.3" +
           std::string(config_.spec.causal
                           ? ""
                           : "; under full attention all tokens become nearly one average, whose direction a norm of the "
                             "rows keeps, and a causal mask slows it: --causal on"),
       unmet + ", and falls below a thousandth of mu(Y^0)");
}

void Judge::theorem_A_3() {
  using namespace thm_A_3;
  claims_.not_applicable(
      as_printed,
      "gamma is not defined in the paper; the smallest constant in place of 4 gamma beta / sqrt d with which it holds in the "
      "Frobenius norm is exp(" +
          mean_text(log_constant) + ") at the worst size; the corollary prints the exponent 3 for 3^K");
  mean(cubic, growth, within(3, growth_margin),
       "growth of the later steps, of a trial's sizes the farthest from 3; what tokens share is kept apart from where they "
       "differ, so that nothing is lost to rounding",
       "in no stack has mu fallen below a thousandth of the input's: 4 gamma beta / sqrt d is too large, or the layers are "
       "too few");
}

void Judge::theorem_4_3() {
  using namespace thm_4_3;
  const std::string unmet =
      "no stack met c <= phi(Y^0) < 1 with c > 0, lambda_min > 0, positive row sums and c lambda_min alpha^N <= 1";
  never_violated(as_printed,
                 "hypotheses met by " + cases_left(tally_of(records_, hypothesis)) +
                     " stacks, M scaled to a smallest row sum of 1, where the bound is weakest; the proof ends with 1 - phi, "
                     "which is of the order mu^2, so that its exponent is K/2",
                 unmet);
  never_violated(half_exponent,
                 "worked example: two tokens 20 degrees apart, W_B = W_C = I, alpha = 1; the proof also takes "
                 "lambda_max <= 1/N, which " +
                     cases_left(tally_of(records_, lambda_max_above)) +
                     " stacks meet; and D scales M away, while the bound changes with the scale of W_B and W_C",
                 unmet);
  never_violated(hypotheses, "", unmet);
  never_violated(corrected, "where Lemma A.4 holds; without lambda_max <= 1/N and without row sums of at least 1",
                 unmet + ", and M_ij >= lambda_min phi alpha^(N-1)");
  never_violated(lemma_A_4,
                 "y_i'S y_j is not bounded by lambda_min y_i.y_j unless i = j; worked example: tokens 50 degrees apart, "
                 "S = ((1, 0.9), (0.9, 1)), M_21 < 0");
}

void Judge::theorems_A_7_and_A_8() {
  const std::string unmet = "no M or no mu differs from 0";
  for (const LtiTheorem& theorem : {thm_A_7, thm_A_8}) {
    never_violated(theorem.bound);
    mean(theorem.norm, theorem.slope, at_most(0),
         "slope of log mu per layer with W scaled to ||W||_F = 0.9, the slowest of a trial's sizes", unmet);
    mean(theorem.normalised, theorem.normalised_ratio, at_most(vanished),
         "mu / ||Y||_F after the last layer over that of the input, the largest of a trial's sizes; a factor of W moves mu and "
         "||Y||_F alike; 1 - sigma_1^2/||Y||_F^2 is then at most " +
             mean_text(theorem.rank_one_residual) +
             ": tokens of one direction and of different lengths are of rank one, and have a large mu",
         unmet);
  }
}

void Judge::theorem_A_10() {
  using namespace thm_A_10;
  std::vector<std::string> by_weights;
  for (const double factor : weight_factors) {
    by_weights.push_back(series_number(factor) + ": " + violations_text(tally_of(records_, at_weights(factor))));
  }
  never_violated(as_printed, "violations with weights times " + joined(by_weights) +
                                 "; M of a layer enters every later one three times: the exponent is (3^k - 1)/2");
  never_violated(corrected);
  never_violated(sharper, "no sqrt N is needed");
  mean(doubly_exponential, growth, within(3, growth_margin), "growth of the later steps, of a trial's sizes the farthest from 3",
       "a ratio of two steps needs two layers and tokens that differ");
  never_violated(lemma_A_9);
  never_violated(semiseparable,
                 "its diagonal alone has that norm, so that any alpha other than 0 breaks it; the lemma stands, as "
                 "||A o B||_F <= max |A_ij| ||B||_F needs the entries alone");
}

}  // namespace

void judge(const BoundsConfig& config, const Records& records, Claims& claims) {
  Judge judge(config, records, claims);
  judge.theorem_4_1();
  judge.theorem_4_2();
  judge.theorem_4_3();
  judge.theorem_A_3();
  judge.theorems_A_7_and_A_8();
  judge.theorem_A_10();
}

}  // namespace ranklab::bounds
