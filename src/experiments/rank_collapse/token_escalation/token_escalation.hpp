// Shared by the studies escalation and escalation-rate: the config, the names of the quantities
// that a path through blocks (path.hpp) records, and statements about every block that are judged
// from means over trials.
#pragma once

#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/tolerances.hpp"
#include "experiments/study.hpp"
#include "nn/blocks/model_spec.hpp"
#include "report/claims.hpp"

namespace ranklab {

struct EscalationConfig {
  EscalationConfig();  // [Shallow] Section 2.4: post-norm, 20 blocks, n = 64, d = 512

  ModelSpec spec;
  double lambda = 1.0;  // strength of the skip in step 1; 1 in the paper

  /// Whether the blocks are those of Algorithm 1, the subject of the paper's statements.
  bool is_algorithm_1() const;
};

/// `models` are the architectures that the study can run.
std::vector<Field> escalation_fields(EscalationConfig& config,
                                     const std::vector<std::string>& models);

/// Memory of a path through all blocks.
Estimate path_estimate(const EscalationConfig& config);

namespace token_escalation {

// Names of the quantities that a path records; NaN after a divergence -----------------------------

// Over the states 0 to K; state 0 is the input.
inline constexpr char token_similarity[] = "token_similarity",
                      token_diversity[] = "token_diversity";
// Over the blocks 1 to K, means over the heads of the attention matrices: [Shallow] eq. (12),
// eq. (10) squared, eq. (11).
inline constexpr char omega[] = "omega", delta[] = "delta";
inline constexpr char mu_1[] = "mu_1", mu_2[] = "mu_2", mu_1_bound[] = "mu_1_bound",
                      mu_2_bound[] = "mu_2_bound";
// Over the blocks, recorded by the studies: eq. (5) of step 1.
inline constexpr char rate[] = "rate";
// For the whole path: 0 or 1, and the number of tokens that the norm `rows` set to zero.
inline constexpr char diverged[] = "diverged", degenerate_rows[] = "degenerate_rows";

// Judging -----------------------------------------------------------------------------------------

/// Relative, for inequalities that hold exactly.
inline constexpr double slack = tolerance::residual<double>;

/// The settings of a run, and their consequences for its claims.
struct Plan {
  explicit Plan(const EscalationConfig& config);

  EscalationConfig config;
  // Why statements about [Shallow] Section 2.4 do not apply to the run; empty if they do. Sizes do
  // not matter.
  std::string unmet_setting;

  /// Whether the diversities of the input and of the output of block k (from 0) are above rounding
  /// noise.
  bool is_clean(const TrialRecord& record, std::size_t k) const;
  /// The clean blocks, ascending.
  std::vector<std::size_t> clean_blocks(const TrialRecord& record) const;
};

/// A recorded quantity at block k, from 0.
ValueAtSize recorded(const std::string& name);

/// values[k][t] belongs to block k of trial t; NaN if the block is not clean.
using BlockValues = std::vector<std::vector<double>>;
BlockValues clean_values(const Plan& plan, const Records& records, const ValueAtSize& value);

/// Judges whether the mean lies in the region at every block. The claim holds if judge_mean holds
/// at all blocks and fails if it fails at one. Blocks without a value are excluded, and the detail
/// lists them. `measured` is the mean that is farthest outside, or nearest to a bound.
Claim judge_blocks(const Statement& statement, const BlockValues& values, Region allowed,
                   const std::string& detail = "");

/// The trials count this in every step that they measure (count_identity in path.hpp).
inline const Inequality eq_6 =
    Place{"shallow/prop-2.3", "shallow/", "Proposition 2.3, eq. (6)"}.counted(
        "eq-6",
        "The escalation rate of a step from X to Y is 1 + (xi_1/xi_2 - 1) t_sim(X), up to "
        "rounding");
void judge_identity(const Records& records, Claims& claims);

/// Judges [Shallow] eq. (11), averaged over heads. If the trials differ only in W, one record is
/// enough.
void judge_bounds(const Plan& plan, const Records& records, Claims& claims);

}  // namespace token_escalation
}  // namespace ranklab
