#include "experiments/one_step_compare/regression/claims.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/statistics.hpp"
#include "core/text.hpp"

namespace ranklab {
namespace {

using Records = std::vector<TrialRecord>;

// Rounding of L(W) and L(W + U) by themselves, in units of epsilon (||W A||_F + ||Y||_F)^2 / n.
constexpr double expansion_roundings = 1000;

double total(const Records& records, const std::string& name) {
  double sum = 0;
  for (const double value : scalars_of(records, name)) sum += std::isfinite(value) ? value : 0.0;
  return sum;
}

double defined(const Records& records, const std::string& name) {
  return static_cast<double>(summarise(scalars_of(records, name)).n);
}

struct Text {
  std::string id, source, statement;
};

// A statement about every trial in which the flag is defined.
Claim for_all(const Records& records, const Text& text, const std::string& flag, const std::string& detail = "") {
  return judge_violations("spectral/" + text.id, text.source, text.statement, total(records, "violations." + flag),
                          defined(records, "violations." + flag), detail);
}

// A statement about the trials that meet its hypothesis.
Claim where(const Records& records, const Text& text, const std::string& flag, const std::string& hypothesis,
            const std::string& detail = "") {
  return judge_violations("spectral/" + text.id, text.source, text.statement, total(records, "violations." + flag),
                          total(records, "cases." + hypothesis), detail);
}

std::string margin_text(const Records& records, const std::string& name, double tolerance) {
  return "smallest decrease over guarantee, less 1: " + short_number(spread_of(scalars_of(records, "margin." + name)).smallest) +
         "; a violation lies below -" + short_number(tolerance);
}

void add_expansion_claim(const Records& records, std::vector<Claim>& claims) {
  double violations = 0;
  for (const double error : scalars_of(records, "expansion_error")) violations += error > expansion_roundings ? 1 : 0;
  claims.push_back(judge_violations(
      "spectral/eq-1.3/expansion", "Section 1.2, eq. (1.3)",
      "L(W) - L(W + U), both computed, is what the expansion says, for both steps", violations, defined(records, "expansion_error"),
      "largest difference " + short_number(spread_of(scalars_of(records, "expansion_error")).largest) +
          " units of rounding, epsilon (||W A||_F + ||Y||_F)^2 / n; allowed " + short_number(expansion_roundings)));
}

std::string predicate_text(const Records& records) {
  const Spread factor = spread_of(scalars_of(records, "predicate_wrong_factor"));
  std::string text = "nr >= st but SpecGD falls less: " + short_number(total(records, "violations.predicate_specgd_behind")) +
                     "; nr < st but SpecGD falls more: " + short_number(total(records, "violations.predicate_specgd_ahead"));
  if (factor.count == 0) return text;
  return text + "; the better decrease is then larger by a factor of median " + short_number(factor.median) +
         ", upper tenth from " + short_number(factor.upper_tenth) + ", at most " + short_number(factor.largest);
}

void add_section_1_2_claims(const Records& records, double tolerance, std::vector<Claim>& claims) {
  const std::string after = "Section 1.2, after eq. (1.4)", two_sided = "Section 1.2, after eq. (1.5)";
  add_expansion_claim(records, claims);
  claims.push_back(
      for_all(records, {"eq-1.4/guarantee-gd", after, "a Euclidean step 1/L_F decreases the loss by at least ||G||_F^2 / (2 L_F)"},
              "guarantee_gd", margin_text(records, "guarantee_gd", tolerance)));
  claims.push_back(for_all(
      records,
      {"eq-1.4/guarantee-specgd", after, "a spectral step ||G||_*/L_op decreases the loss by at least ||G||_*^2 / (2 L_op)"},
      "guarantee_spec", margin_text(records, "guarantee_spec", tolerance)));
  claims.push_back(
      where(records, {"eq-1.5/two-sided", two_sided, "where nr(G) >= 2 st(A), one spectral step ends no higher than one Euclidean"},
            "two_sided", "two_sided"));
  claims.push_back(where(records,
                         {"eq-1.5/two-sided/mirrored", two_sided + " (the same interval argument, the other way)",
                          "where nr(G) <= st(A) / 2, one Euclidean step ends no higher than one spectral step"},
                         "two_sided_mirrored", "two_sided_mirrored"));
  claims.push_back(for_all(records,
                           {"eq-1.5/within-a-factor-of-two", two_sided + " (the same interval argument)",
                            "the ratio of the decreases lies within a factor of 2 of the predicted ratio nr(G) / st(A)"},
                           "within_two"));
  claims.push_back(
      for_all(records,
              {"eq-1.5/predicate", "Section 1.2, eq. (1.5)",
               "the bare predicate tells the better step: the spectral one where nr(G) >= st(A), the Euclidean one elsewhere"},
              "predicate", predicate_text(records)));
}

void add_smooth_claims(const Records& records, std::vector<Claim>& claims) {
  const std::string source = "Section 1.2, after eq. (1.6)";
  const auto add = [&](const std::string& method, const std::string& flag, const std::string& statement,
                       const std::string& detail) {
    double violations = 0, cases = 0;
    for (const std::string loss : {"violations.log_cosh.", "violations.logistic."}) {
      violations += total(records, loss + flag);
      cases += defined(records, loss + flag);
    }
    claims.push_back(judge_violations("spectral/eq-1.6/" + method, source, statement, violations, cases, detail));
  };
  const std::string losses = "f = (1/n) sum of log cosh (L = 1/n), and of logistic losses (L = 1/(4 n))";
  const std::string printed = losses +
                              "; with L_F and L_op of eq. (1.4), which hold a factor 1/n of their own, the steps are n times "
                              "what ||U A||_F^2 <= n L_F ||U||_F^2 allows";
  add("guarantee-gd/as-printed", "guarantee_gd_as_printed",
      "the step 1/(L_F L) decreases f(W A) by at least ||G||_F^2 / (2 L_F L), with L_F = ||A||_op^2 / n", printed);
  add("guarantee-specgd/as-printed", "guarantee_spec_as_printed",
      "the step ||G||_*/(L_op L) decreases f(W A) by at least ||G||_*^2 / (2 L_op L), with L_op = ||A||_F^2 / n", printed);
  add("guarantee-gd/corrected", "guarantee_gd",
      "the step 1/(||A||_op^2 L) decreases f(W A) by at least ||G||_F^2 / (2 ||A||_op^2 L)", losses);
  add("guarantee-specgd/corrected", "guarantee_spec",
      "the step ||G||_*/(||A||_F^2 L) decreases f(W A) by at least ||G||_*^2 / (2 ||A||_F^2 L)", losses);
}

void add_section_4_4_claims(const Records& records, std::vector<Claim>& claims) {
  const std::string model =
      "the loss plus C_op/2 <u v', W' - W>^2 with G's first singular vectors, whose curvature both steps meet in full";
  claims.push_back(for_all(records,
                           {"eq-4.14/guarantee", "Section 4.4, eq. (4.14)",
                            "the Euclidean step 1/(L_F + C_op/st(G)) decreases the loss by at least half of its ||G||_F^2"},
                           "eq_4_14", model));
  claims.push_back(for_all(records,
                           {"eq-4.15/guarantee", "Section 4.4, eq. (4.15)",
                            "the spectral step ||G||_*/(L_op + C_op) decreases the loss by at least ||G||_*^2 / (2 (L_op + C_op))"},
                           "eq_4_15", model));
  claims.push_back(
      where(records,
            {"eq-4.16/guarantees", "Section 4.4, eq. (4.16)", "(4.16) holds exactly where the guarantee (4.15) is at least (4.14)"},
            "eq_4_16_guarantees", "conditions"));
  claims.push_back(for_all(records, {"eq-4.17/st-at-most-nr", "Section 4.4, before eq. (4.17)", "st(G) <= nr(G)"},
                           "stable_rank_above_nuclear_rank"));
  claims.push_back(where(records,
                         {"eq-4.18/equivalent", "Section 4.4, eqs. (4.17), (4.18)",
                          "(4.17) is equivalent to nr(G) >= st(A), (4.18), whatever C_op is"},
                         "eq_4_17_equivalent", "conditions"));
  claims.push_back(where(
      records,
      {"eq-4.18/implies-4.16", "Section 4.4, eqs. (4.16) to (4.18)", "nr(G) >= st(A), (4.18), implies (4.16), whatever C_op is"},
      "eq_4_18_implies_4_16", "conditions"));
  claims.push_back(where(records,
                         {"eq-4.16/implies-4.18", "Section 4.4, eqs. (4.16) to (4.18)",
                          "(4.16) is equivalent to (4.18) too. Not printed: the text has (4.16) implied by (4.17) alone"},
                         "eq_4_16_implies_4_18", "conditions",
                         "(4.16) is the weaker condition: it holds in " + short_number(total(records, "conditions.eq_4_16")) +
                             " trials, (4.18) in " + short_number(total(records, "conditions.eq_4_18"))));
}

std::string diagonal_text(const Records& records) {
  const auto share = [&](const std::string& name) {
    return short_number(100 * summarise(scalars_of(records, "diagonal." + name)).mean) + " %";
  };
  return "the condition with st(A) and that with ||A||_F^2 / max ||a_i||^2 disagree in " + share("conditions_disagree") +
         " of the trials; against the Euclidean step with the sharp constant the first is wrong in " +
         share("condition_wrong_against_sharp_step") + ", the second in " + share("sharp_condition_wrong") +
         "; the first against the step as printed in " + share("condition_wrong");
}

void add_section_4_5_claims(const Records& records, std::vector<Claim>& claims) {
  const std::string source = "Section 4.5", id = "section-4.5/";
  const std::string both = "at C_op = 0 and at the drawn C_op";
  claims.push_back(
      for_all(records,
              {id + "guarantee-gd/as-printed", source, "the Euclidean step on gamma keeps its guarantee with L_F = ||A||_op^2 / n"},
              "diagonal.guarantee_gd", both));
  claims.push_back(for_all(records,
                           {id + "guarantee-gd/corrected", source,
                            "it keeps it with the sharp constant, the largest squared row norm max_i ||a_i||^2 / n"},
                           "diagonal.guarantee_gd_sharp", both));
  claims.push_back(for_all(records, {id + "guarantee-sign", source, "the sign step keeps its guarantee with L_op = ||A||_F^2 / n"},
                           "diagonal.guarantee_sign", both));
  const Spread excess = spread_of(scalars_of(records, "diagonal.constant_ratio"));
  claims.push_back(
      for_all(records, {id + "sharp-constant", source, "the largest squared row norm is at most ||A||_op^2, the printed constant"},
              "diagonal.sharp_above_printed",
              "the printed constant is larger by a factor of median " + short_number(excess.median) + ", at most " +
                  short_number(excess.largest)));
  claims.push_back(where(records,
                         {id + "two-sided/as-printed", source,
                          "where ||g||_1^2/||g||_2^2 >= 2 st(A), the sign step ends no higher than the Euclidean step as printed"},
                         "diagonal.two_sided", "diagonal.two_sided"));
  claims.push_back(where(records,
                         {id + "two-sided/sharp-step", source,
                          "where ||g||_1^2/||g||_2^2 >= 2 st(A), the sign step ends no higher than the Euclidean step with the "
                          "sharp constant"},
                         "diagonal.two_sided_against_sharp_step", "diagonal.two_sided", diagonal_text(records)));
  claims.push_back(where(records,
                         {id + "two-sided/corrected", source,
                          "where ||g||_1^2/||g||_2^2 >= 2 ||A||_F^2 / max ||a_i||^2, the sign step ends no higher than the "
                          "Euclidean step with the sharp constant"},
                         "diagonal.two_sided_sharp", "diagonal.two_sided_sharp"));
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (values.empty()) return {0, nan, nan, nan, nan};
  std::sort(values.begin(), values.end());
  const std::size_t tenth = (values.size() * 9) / 10;
  return {values.size(), values.front(), median(values), values[std::min(tenth, values.size() - 1)], values.back()};
}

std::vector<Claim> regression_claims(const Records& records, double tolerance) {
  std::vector<Claim> claims;
  add_section_1_2_claims(records, tolerance, claims);
  add_smooth_claims(records, claims);
  add_section_4_4_claims(records, claims);
  add_section_4_5_claims(records, claims);
  return claims;
}

}  // namespace ranklab
