// Internal header of the study trajectory: what a trial records, the statements that are judged
// from the records, and the steps from records to the result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "experiments/random_features/trajectory/config.hpp"
#include "report/claims.hpp"
#include "run/trials.hpp"

namespace ranklab::trajectory {

// Recorded along each run of an optimizer: arrays over its iterations, NaN once the loss is not
// finite ------------------------------------------------------------------------------------------

inline constexpr char gd[] = "gd", specgd[] = "specgd", specgd_from_peak[] = "specgd_from_peak";
inline constexpr char specgd_nuclear_rank_even[] = "specgd.nuclear_rank.even",
                      specgd_nuclear_rank_odd[] = "specgd.nuclear_rank.odd";
inline const auto specgd_from = [](std::uint64_t iteration) {
  return "specgd_from_" + std::to_string(iteration);
};
inline const auto gap_of = [](const std::string& run) {
  return run + ".objective_gap";
};  // L(W_t) - min L
inline const auto nuclear_rank_of = [](const std::string& run) {
  return run + ".nuclear_rank";
};  // of the gradient; gd, specgd

/// Quantities that follow from the config.
struct Plan {
  explicit Plan(const TrajectoryConfig& given);

  TrajectoryConfig config;
  bool as_stated;  // the step sizes are those of the statements about single steps
  std::vector<std::uint64_t> restarts;      // iterations of GD that SpecGD restarts from, ascending
  std::vector<std::string> restarted_runs;  // the names of those runs, and of the one from the peak
};

// Numbers of a trial, by the names of their scalars -----------------------------------------------

inline constexpr char stable_rank_A[] = "stable_rank_A";
inline constexpr char nuclear_rank_init[] =
    "nuclear_rank_init";  // at W_0; below: at the GD iterate with the largest nuclear rank, and its
                          // iteration
inline constexpr char peak_nuclear_rank[] = "gd.nuclear_rank_peak",
                      peak_iteration[] = "gd.nuclear_rank_peak_iteration";
inline constexpr char first_ahead[] =
    "first_iteration_specgd_ahead";  // the first t at which SpecGD's loss is below GD's
inline constexpr char diverged[] =
    "diverged_trajectories";  // number of runs that ended in a loss that is not finite

// Statements --------------------------------------------------------------------------------------

/// Eq. (1.5), nr(grad L(W_t)) >= st(A), at every iteration of one run.
struct RankCondition {
  const char* run;
  Statement statement;
};
inline const Place fig_3_i{
    "spectral/fig-3", "spectral/eq-1.5/", "Section 1.2, eq. (1.5), and its Figure 3 (i)",
    Part::text,       Kind::figure,       {"Figure 3"}};
inline const RankCondition rank_conditions[] = {
    {gd, fig_3_i(gd,
                 "The nuclear rank of the gradient is at least the stable rank of A at every "
                 "iteration of GD on ReLU features")},
    {specgd, fig_3_i(specgd,
                     "The nuclear rank of the gradient is at least the stable rank of A at every "
                     "iteration of SpecGD on ReLU features")}};

// Statements about single steps, counted in the trials. A trial counts no case if --step-scale
// differs from 1, because the statements are about the unscaled step.
inline const Place eq_1_4{"spectral/eq-1.4", "spectral/eq-1.4/", "Section 1.2, after eq. (1.4)"},
    after_1_5{"spectral/eq-1.5", "spectral/eq-1.5/", "Section 1.2, after eq. (1.5)"};
inline const Inequality guarantee_gd = eq_1_4.counted(
    "guarantee-gd", "A Euclidean step 1/L_F decreases the loss by at least ||G||_F^2 / (2 L_F)");
inline const Inequality guarantee_specgd = eq_1_4.counted(
    "guarantee-specgd",
    "A spectral step ||G||_*/L_op decreases the loss by at least ||G||_*^2 / (2 L_op)");
inline const Inequality two_sided =
    after_1_5.counted("two-sided",
                      "The loss after one spectral step is at most the loss after one Euclidean "
                      "step if nr(G) >= 2 st(A)");

/// What a figure's caption says.
inline const auto in_caption = [](const std::string& statement_id, const std::string& source,
                                  const std::string& figure) {
  return Place{statement_id, statement_id + "/", source, Part::caption, Kind::figure, {figure}};
};
inline const Statement specgd_ahead = in_caption("spectral/fig-3", "Figure 3 (ii)", "Figure 3")(
    "specgd-ahead", "The final loss of SpecGD is below that of GD on ReLU features");
inline const Statement restarts_ahead =
    in_caption("spectral/fig-3", "Figure 3, left, dashed curves", "Figure 3")(
        "restarts-ahead",
        "The final loss of SpecGD restarted from a GD iterate is below that of GD at the same "
        "total number of iterations, on ReLU features");

inline constexpr double early = 0.25;  // of the iterations
inline Statement violated_early(const std::string& run) {
  return reading(Place{"spectral/fig-11",
                       "spectral/fig-11/eq-1.5-violated-early/",
                       "Figure 11, right",
                       Part::text,
                       Kind::figure,
                       {"Figure 11"}}(
                     run,
                     "Eq. (1.5), nr(grad L(W_t)) >= st(A), is violated within the first quarter "
                     "of the iterations of " +
                         std::string(run == gd ? "GD" : "SpecGD") + " on SwiGLU features"),
                 "the first quarter of the iterations");
}
inline const Statement gd_ahead = in_caption("spectral/fig-11", "Figure 11, left", "Figure 11")(
    "gd-ahead", "The final loss of GD is below that of SpecGD on SwiGLU features");

// From a trial to the result ----------------------------------------------------------------------

/// The numbers, arrays and tallies above.
TrialRecord run_trial(const Plan& plan, const Trial& trial);

void judge(const Plan& plan, const Records& records, Claims& claims);

Result report(const Plan& plan, const Records& records);

}  // namespace ranklab::trajectory
