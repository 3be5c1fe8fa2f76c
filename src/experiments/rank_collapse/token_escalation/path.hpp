// Shared by the studies escalation and escalation-rate: the path of a representation through the
// blocks, with the steps inside each block, and statements about every block that are judged from
// means over trials. Steps 1 to 4 of [Shallow] Algorithm 1 are attention and skip, norm,
// feed-forward net and skip, norm.
#pragma once

#include <armadillo>
#include <array>
#include <functional>
#include <map>

#include "experiments/kit.hpp"
#include "experiments/rank_collapse/token_escalation/measures.hpp"
#include "nn/blocks/model_spec.hpp"

namespace ranklab::token_escalation {

struct PathConfig {
  // [Shallow] Section 2.4.
  ModelSpec spec = {.model = "post-norm", .layers = 20, .tokens = 64, .dim = 512};
  double lambda = 1.0;  // strength of the skip in step 1; 1 in the paper

  /// `models` are the architectures that the study can run.
  std::vector<Field> path_flags(const std::vector<std::string>& models);
  /// Of a path through all blocks.
  Estimate memory() const;

  StepStrength strength() const { return step_strength(spec, lambda); }
  /// Whether the blocks are those of Algorithm 1, the subject of the paper's statements.
  bool is_algorithm_1() const;
  /// Why statements about [Shallow] Section 2.4 do not apply to the run; empty if they do. Sizes do
  /// not matter.
  std::string unmet_setting() const;
};

// The path ----------------------------------------------------------------------------------------

/// One block: its input X (d, N), P' (N, N) of each head, and the outputs of steps 1 to 4. The last
/// output is the X of the next block.
struct BlockPassage {
  arma::mat X;
  std::vector<arma::mat> P;
  std::array<arma::mat, 4> steps;
  std::array<TokenParts, 5> parts;  // of X, and after each step
  std::vector<HeadMeasures> heads;
};

/// Draws the input of the trial and calls visit(k, passage) for the blocks k = 0 to K - 1, or up to
/// the one that diverges. Returns the quantities named below.
TrialRecord follow_path(
    const PathConfig& config, const Trial& trial,
    const std::function<void(std::uint64_t k, const BlockPassage& passage)>& visit);

/// Arrays over the K blocks that hold NaN, so that they are undefined after a divergence.
using BlockArrays = std::map<std::string, std::vector<double>>;
BlockArrays undefined_blocks(const PathConfig& config, std::initializer_list<const char*> names);

// What a path records; NaN after a divergence -----------------------------------------------------

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

/// The value of an array at block k, from 0.
inline double at(const TrialRecord& record, const std::string& name, std::size_t k) {
  return record.array(name)[k];
}

/// The trials count this in every step that they measure.
inline const Inequality eq_6 =
    Place{"shallow/prop-2.3", "shallow/", "Proposition 2.3, eq. (6)"}.counted(
        "eq-6",
        "The escalation rate of a step from X to Y is 1 + (xi_1/xi_2 - 1) t_sim(X), up to "
        "rounding");
/// Counts a case of eq_6 if the step is defined. `similarity` is that of its X.
void count_identity(const Escalation& step, double similarity, Tally& tally);

// Judging -----------------------------------------------------------------------------------------

/// Relative, for inequalities that hold exactly.
inline constexpr double slack = tolerance::residual<double>;

/// The blocks, ascending and from 0, whose input and output have diversities above rounding noise.
std::vector<std::size_t> clean_blocks(const TrialRecord& record);

/// values[k][t] belongs to block k of trial t; NaN if the block is not clean.
using BlockValues = std::vector<std::vector<double>>;
BlockValues clean_values(const Records& records, const ValueAtSize& value);
/// The same for a recorded quantity.
BlockValues clean_values(const Records& records, const std::string& name);

/// Judges whether the mean lies in the region at every block. The claim holds if judge_mean holds
/// at all blocks and fails if it fails at one. Blocks without a value are excluded, and the detail
/// lists them. `measured` is the mean that is farthest outside, or nearest to a bound.
Claim judge_blocks(const Statement& statement, const BlockValues& values, Region allowed,
                   const std::string& detail = "");

void judge_identity(const Records& records, Claims& claims);

/// Judges [Shallow] eq. (11), averaged over heads. If the trials differ only in W, one record is
/// enough.
void judge_bounds(const Records& records, Claims& claims);

}  // namespace ranklab::token_escalation
