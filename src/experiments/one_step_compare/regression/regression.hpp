// Internals of the study regression: what a trial records, the statements that it counts, and the
// functions from a trial to the result.
#pragma once

#include <string>
#include <vector>

#include "core/record.hpp"
#include "experiments/one_step_compare/regression/config.hpp"
#include "report/claims.hpp"
#include "run/trials.hpp"

namespace ranklab::regression {

// Names of the scalars of a trial; NaN if the gradient is zero up to rounding ---------------------

inline constexpr char predicted_ratio[] = "predicted_ratio";  // nr(G) / st(A)
inline constexpr char actual_ratio[] = "actual_ratio";        // decrease of SpecGD over that of GD
inline constexpr char nr_G[] = "nuclear_rank", st_A[] = "stable_rank_A";
inline constexpr char margin_gd[] = "margin.guarantee_gd",
                      margin_spec[] = "margin.guarantee_spec";  // decrease over guarantee, minus 1
// Trials in which nr >= st picks the worse step: in which direction, and by which factor the other
// step is better.
inline constexpr char specgd_behind[] = "violations.predicate_specgd_behind",
                      specgd_ahead[] = "violations.predicate_specgd_ahead",
                      wrong_factor[] = "predicate_wrong_factor";
inline constexpr char meets_4_16[] = "conditions.eq_4_16", meets_4_18[] = "conditions.eq_4_18";
inline constexpr char conditions_disagree[] = "diagonal.conditions_disagree",
                      condition_wrong[] = "diagonal.condition_wrong",
                      condition_wrong_sharp_step[] = "diagonal.condition_wrong_against_sharp_step",
                      sharp_condition_wrong[] = "diagonal.sharp_condition_wrong",
                      constant_ratio[] = "diagonal.constant_ratio";
inline constexpr char zero_gradient[] = "zero_gradient";  // 0 or 1
// 0 or 1: rounding decides the spectral step, because a singular value of the gradient is close to
// its rounding error. Another BLAS kernel may then take another step.
inline constexpr char undetermined_step[] = "undetermined_step";
inline constexpr char features[] = "features",
                      labels[] = "labels";  // indices into the config's lists
inline constexpr const char* smooth_losses[] = {"log_cosh", "logistic"};

// Statements, some with a scalar for their violations ---------------------------------------------

inline const Place eq_1_3{"spectral/eq-1.3", "spectral/eq-1.3/", "Section 1.2, eq. (1.3)"};
inline const Inequality expansion =
    eq_1_3.counted("expansion",
                   "The computed difference L(W) - L(W + U) equals the expansion (1.3) up to "
                   "rounding for both steps");

inline const Place eq_1_4{"spectral/eq-1.4", "spectral/eq-1.4/", "Section 1.2, after eq. (1.4)"};
inline const Inequality guarantee_gd = eq_1_4.counted(
    "guarantee-gd", "A Euclidean step 1/L_F decreases the loss by at least ||G||_F^2 / (2 L_F)",
    "violations.guarantee_gd");
inline const Inequality guarantee_spec = eq_1_4.counted(
    "guarantee-specgd",
    "A spectral step ||G||_*/L_op decreases the loss by at least ||G||_*^2 / (2 L_op)",
    "violations.guarantee_spec");

inline const auto at_1_5 = [](const std::string& source, Part part = Part::statement,
                              Kind kind = Kind::theorem) {
  return Place{"spectral/eq-1.5", "spectral/eq-1.5/", source, part, kind};
};
inline const std::string after_1_5 = "Section 1.2, after eq. (1.5)";
inline const Inequality two_sided = at_1_5(after_1_5).counted(
    "two-sided",
    "If nr(G) >= 2 st(A), the loss after one spectral step is at most the loss "
    "after one Euclidean step",
    "violations.two_sided");
inline const Inequality two_sided_mirrored =
    at_1_5(after_1_5 + " (the same interval argument, the other way)", Part::ours, Kind::beyond)
        .counted("two-sided/mirrored",
                 "If nr(G) <= st(A) / 2, the loss after one Euclidean step is at "
                 "most the loss after one spectral step",
                 "violations.two_sided_mirrored");
inline const Inequality within_two =
    at_1_5(after_1_5 + " (the same interval argument)", Part::ours, Kind::beyond)
        .counted("within-a-factor-of-two",
                 "The decrease of the spectral step over that of the Euclidean step is "
                 "within a factor of 2 of the predicted ratio nr(G) / st(A)",
                 "violations.within_two");
inline const Inequality predicate =
    beyond(at_1_5("Section 1.2, eq. (1.5)")
               .counted("predicate",
                        "The spectral step decreases the loss at least as much as the Euclidean "
                        "step if nr(G) >= st(A), and at most as much otherwise",
                        "violations.predicate"));

// Counted over both smooth losses. The scalars are per loss, with the prefix "violations.<loss>.".
inline const Place eq_1_6{"spectral/eq-1.6", "spectral/eq-1.6/", "Section 1.2, after eq. (1.6)",
                          Part::definition};
inline constexpr char one_over_n[] = "spectral/eq-1.6/one-over-n";  // the slip
inline const Inequality smooth_gd_printed = showing(
    one_over_n,
    eq_1_6.counted(
        "guarantee-gd/as-printed",
        "The Euclidean step 1/(L_F L) decreases f(W A) by at least ||G||_F^2 / (2 L_F L), with "
        "L_F = ||A||_op^2 / n",
        "guarantee_gd_as_printed"));
inline const Inequality smooth_spec_printed = showing(
    one_over_n,
    eq_1_6.counted(
        "guarantee-specgd/as-printed",
        "The spectral step ||G||_*/(L_op L) decreases f(W A) by at least ||G||_*^2 / (2 L_op L), "
        "with L_op = ||A||_F^2 / n"));
inline const Inequality smooth_gd =
    correcting(smooth_gd_printed, eq_1_6.counted("guarantee-gd/corrected",
                                                 "The Euclidean step 1/(||A||_op^2 L) decreases "
                                                 "f(W A) by at least ||G||_F^2 / (2 ||A||_op^2 L)",
                                                 "guarantee_gd"));
inline const Inequality smooth_spec = correcting(
    smooth_spec_printed, eq_1_6.counted("guarantee-specgd/corrected",
                                        "The spectral step ||G||_*/(||A||_F^2 L) decreases f(W A) "
                                        "by at least ||G||_*^2 / (2 ||A||_F^2 L)",
                                        "guarantee_spec"));

inline const auto section_4_4 = [](const std::string& equation, const std::string& at) {
  return Place{"spectral/" + equation, "spectral/" + equation + "/", "Section 4.4, " + at};
};
inline const Inequality eq_4_14 =
    section_4_4("eq-4.14", "eq. (4.14)")
        .counted("guarantee",
                 "The Euclidean step 1/(L_F + C_op/st(G)) decreases the loss by at least ||G||_F^2 "
                 "/ (2 (L_F + C_op/st(G)))",
                 "violations.eq_4_14");
inline const Inequality eq_4_15 =
    section_4_4("eq-4.15", "eq. (4.15)")
        .counted("guarantee",
                 "The spectral step ||G||_*/(L_op + C_op) decreases the loss by at least ||G||_*^2 "
                 "/ (2 (L_op + C_op))",
                 "violations.eq_4_15");
inline const Inequality eq_4_16_guarantees =
    section_4_4("eq-4.16", "eq. (4.16)")
        .counted(
            "guarantees",
            "(4.16) holds if and only if the guarantee (4.15) is at least the guarantee (4.14)");
inline const Inequality stable_at_most_nuclear =
    section_4_4("eq-4.17", "before eq. (4.17)").counted("st-at-most-nr", "st(G) <= nr(G)");
inline const Inequality eq_4_17_equivalent =
    section_4_4("eq-4.18", "eqs. (4.17), (4.18)")
        .counted("equivalent", "(4.17) is equivalent to nr(G) >= st(A), (4.18), for every C_op");
inline const Inequality implies_4_16 =
    section_4_4("eq-4.18", "eqs. (4.16) to (4.18)")
        .counted("implies-4.16", "nr(G) >= st(A), (4.18), implies (4.16) for every C_op");
inline const Inequality implies_4_18 =
    beyond(section_4_4("eq-4.16", "eqs. (4.16) to (4.18)")
               .counted("implies-4.18",
                        "(4.16) implies nr(G) >= st(A), (4.18), for every C_op (the paper prints "
                        "only the converse)",
                        "violations.eq_4_16_implies_4_18"));

inline const Place section_4_5{"spectral/section-4.5", "spectral/section-4.5/", "Section 4.5"};
inline const Inequality diagonal_gd =
    section_4_5.counted("guarantee-gd/as-printed",
                        "The Euclidean step on gamma with the constant L = ||A||_op^2 / n "
                        "decreases the loss by at least ||g||_2^2 / (2 (L + C_op/st(g)))");
inline const Inequality diagonal_sign =
    section_4_5.counted("guarantee-sign",
                        "The sign step on gamma with the constant L_op = ||A||_F^2 / n decreases "
                        "the loss by at least ||g||_1^2 / (2 (L_op + C_op))");
// Ours: a sharper constant than the printed one, and the interval argument of Section 1.2, whose
// analog the paper does not print.
inline const Inequality diagonal_gd_sharp = beyond(
    section_4_5.counted("guarantee-gd/corrected",
                        "The Euclidean step on gamma with the sharp constant L = max_i ||a_i||^2 / "
                        "n decreases the loss by at least ||g||_2^2 / (2 (L + C_op/st(g)))"));
inline const Inequality diagonal_two_sided = beyond(
    section_4_5.counted("two-sided/as-printed",
                        "If ||g||_1^2/||g||_2^2 >= 2 st(A), the loss after the sign step is at "
                        "most the loss after the Euclidean step with the printed constant"));
inline const Inequality diagonal_two_sided_sharp_step = beyond(
    section_4_5.counted("two-sided/sharp-step",
                        "If ||g||_1^2/||g||_2^2 >= 2 st(A), the loss after the sign step is at "
                        "most the loss after the Euclidean step with the sharp constant"));
inline const Inequality diagonal_two_sided_sharp = beyond(section_4_5.counted(
    "two-sided/corrected",
    "If ||g||_1^2/||g||_2^2 >= 2 ||A||_F^2 / max_i ||a_i||^2, the loss after the sign step is "
    "at most the loss after the Euclidean step with the sharp constant"));

// From a trial to the result ----------------------------------------------------------------------

/// An inequality between decreases counts as violated beyond this relative excess, because many
/// hold with equality up to rounding: a full-rank spectral step with m >= k meets its guarantee
/// exactly.
inline constexpr double decrease_tolerance = 1e-10;

/// Allowed error of a computed L(W) - L(W + U), in units of epsilon (||W A||_F + ||Y||_F)^2 / n.
inline constexpr double expansion_roundings = 1000;

/// The scalar for the violations of a statement after eq. (1.6) by one smooth loss.
std::string smooth_violations(const std::string& loss, const Inequality& statement);

/// Records the scalars and the tallies declared above.
TrialRecord run_trial(const RegressionConfig& config, const Trial& trial);

void judge(const Records& records, Claims& claims);

Result report(const RegressionConfig& config, const Records& records);

}  // namespace ranklab::regression
