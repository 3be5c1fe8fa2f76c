// Internal header of the study gradient-rank: the plan of a run, the numbers that a trial records,
// and the steps from records to the result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "experiments/spike_plus_bulk/gradient_rank/config.hpp"
#include "report/claims.hpp"
#include "run/trials.hpp"

namespace ranklab::gradient_rank {

// The plan ----------------------------------------------------------------------------------------

/// The shapes at one k: X (d, n); V, V-bar (k, d); A, A-bar (k, n); W (m, k).
struct Size {
  std::uint64_t m, k, d, n;
  /// The name of a number at this k: "k64." + quantity.
  std::string at(const std::string& quantity) const {
    return "k" + std::to_string(k) + "." + quantity;
  }
};

struct Plan {
  GradientRankConfig config;
  LabelModel model;
  std::vector<Size> sizes;             // by k, ascending
  std::vector<double> k;               // of the sizes
  std::vector<std::uint64_t> sampled;  // iterations to record, ascending
  double theorem_offset;  // of the step 1 / (||B|| + offset) at which Lemma 3.5 and Theorem 3.9 are
                          // judged: eta_offset, or 1

  bool teacher() const { return model == LabelModel::teacher; }
  /// Why a statement about relu does not apply to this run, or "".
  std::string not_relu() const {
    return config.activation == "relu"
               ? ""
               : "the statement is about relu; this run uses " + config.activation;
  }
};

/// Throws a UsageError that names the flags if d or n would round to 0, or if --sample-steps is
/// neither "all" nor a list of different integers from 0 to --steps.
Plan make_plan(const GradientRankConfig& config, LabelModel model);

/// Number of steps at which the closed form is compared with an iteration of W.
inline constexpr std::uint64_t iterated_steps = 64;
/// The smallest number of values of k for which a fit over k is judged or drawn.
inline constexpr std::size_t fewest_k = 3;

// Numbers of a trial ------------------------------------------------------------------------------

// At every k, named by Size::at; NaN if undefined.
inline constexpr char curve[] = "nuclear_rank";                         // over the plan's `sampled`
inline constexpr char nuclear_rank_0[] = "nuclear_rank_0";              // at W_0
inline constexpr char nuclear_rank_1[] = "nuclear_rank_1";              // at W_1
inline constexpr char nuclear_rank_0_bound[] = "nuclear_rank_0_bound";  // Section 3.1.2, 3.2.2
inline constexpr char nuclear_rank_W[] = "nuclear_rank_W";              // of W# or W-bar
inline constexpr char nuclear_rank_1_offset[] =
    "nuclear_rank_1_offset";                                      // at W_1, by the theorem's step
inline constexpr char condition_T[] = "condition_T";              // of T = (I - eta B) B, Lemma 3.5
inline constexpr char condition_T_bound[] = "condition_T_bound";  // with the run's c_1, c_2
inline constexpr char stable_rank_A[] = "stable_rank_A", B_norm[] = "B_norm";  // st(A), ||B||
inline constexpr char spike_B[] = "spike";  // ||u||^2 of B = u u' + bulk
inline constexpr char bulk_smallest[] = "bulk_smallest", bulk_largest[] = "bulk_largest";
inline constexpr char cross_spike[] =
    "cross_spike";  // ||u|| ||v|| of the cross-Gram matrix v u' + bulk; teacher only
inline constexpr char cross_bulk_largest[] = "cross_bulk_largest",
                      cross_bulk_d[] = "cross_bulk_d";                               // s_1, s_d
inline constexpr char window_start[] = "window_start", window_end[] = "window_end";  // of nr >= d/4
inline constexpr char minimum_ratio[] = "minimum_ratio";  // min L / L(W_0)
// Once, at the smallest k.
inline constexpr char closed_form_error[] = "closed_form_error",
                      closed_form_tolerance[] = "closed_form_tolerance";

// From a trial to the result ----------------------------------------------------------------------

TrialRecord run_trial(const Plan& plan, const Trial& trial);

void judge(const Plan& plan, const Records& records, Claims& claims);

Result report(const Plan& plan, const Records& records);

}  // namespace ranklab::gradient_rank
