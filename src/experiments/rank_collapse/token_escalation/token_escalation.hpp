// What the studies escalation and escalation-rate share: their config, a path through blocks (path.hpp) with the names of what
// it records, and statements about every block, judged from means over trials.
#pragma once

#include <string>
#include <vector>

#include "core/record.hpp"
#include "experiments/study.hpp"
#include "models/blocks/model_spec.hpp"
#include "report/claims.hpp"

namespace ranklab {

struct EscalationConfig {
  EscalationConfig();  // [Shallow] Section 2.4: post-norm, 20 blocks, n = 64, d = 512

  ModelSpec spec;
  double lambda = 1.0;  // strength of the skip in step 1; the paper's is 1

  /// Whether the blocks are those of Algorithm 1, about which the paper's statements are.
  bool is_algorithm_1() const;
};

/// `models` are the architectures that the study can run.
std::vector<Field> escalation_fields(EscalationConfig& config, const std::vector<std::string>& models);

/// Cost of a path through all blocks.
Estimate path_estimate(const EscalationConfig& config);

namespace token_escalation {

// Names of what a path records; NaN after a divergence -----------------------------------------------------------------------

// Over states 0 ... K, of which 0 is the input.
inline constexpr char token_similarity[] = "token_similarity", token_diversity[] = "token_diversity";
// Over blocks 1 ... K: of the attention matrices, means over heads. [Shallow] eq. (12), eq. (10) squared, eq. (11).
inline constexpr char omega[] = "omega", delta[] = "delta";
inline constexpr char mu_1[] = "mu_1", mu_2[] = "mu_2", mu_1_bound[] = "mu_1_bound", mu_2_bound[] = "mu_2_bound";
// Over blocks, by the studies themselves: eq. (5) of step 1.
inline constexpr char rate[] = "rate";
// Of the whole path: 0 or 1, and how many tokens the norm `rows` set to zero.
inline constexpr char diverged[] = "diverged", degenerate_rows[] = "degenerate_rows";

// Judging -------------------------------------------------------------------------------------------------------------------

/// A run's settings, and what follows from them for its claims.
struct Plan {
  Plan(const EscalationConfig& config, bool single_precision);

  EscalationConfig config;
  bool single_precision;
  double smallest_diversity;  // below, t_div is rounding noise in part
  double slack;               // relative, for inequalities that hold exactly
  std::string other_setting;  // why a statement about [Shallow] Section 2.4, at any sizes, does not concern the run; or empty

  /// Whether block k (from 0) of a trial has an input and an output whose diversity is not rounding noise.
  bool is_clean(const TrialRecord& record, std::size_t k) const;
  /// Those blocks, ascending.
  std::vector<std::size_t> clean_blocks(const TrialRecord& record) const;
};

/// A recorded quantity at block k, from 0.
ValueAtSize recorded(const std::string& name);

/// values[k][t] of block k in trial t; NaN where is_clean refuses the block.
using BlockValues = std::vector<std::vector<double>>;
BlockValues clean_values(const Plan& plan, const Records& records, const ValueAtSize& value);

/// A claim that the mean lies in the region at every block: holds where judge_mean holds at each, fails where it fails at one.
/// Blocks without a value are left out, and named. `measured` is the mean that lies farthest out, or nearest to a bound.
Claim judge_blocks(const Statement& statement, const BlockValues& values, Region allowed, const std::string& detail = "");

/// Counted by the trials, in every step that they measure (count_identity in path.hpp).
inline const Inequality eq_6 = Place{"shallow/", "Proposition 2.3, eq. (6)"}.counted(
    "eq-6", "the escalation rate of a step from X to Y is 1 + (xi_1/xi_2 - 1) t_sim(X), to rounding");
void judge_identity(const Records& records, Claims& claims);

/// [Shallow] eq. (11), averaged over heads. Where the trials differ in W alone, one record says all.
void judge_bounds(const Plan& plan, const Records& records, Claims& claims);

}  // namespace token_escalation
}  // namespace ranklab
