// Token similarity escalation, the theory of [Shallow] Section 2.2: how much a step from X to Y
// increases the shared part of the tokens and the rest, and what the attention matrices predict
// about it. The step is step 1 of Algorithm 1,
//
//   Y = lambda X + alpha [P_1 X W_1 ... P_h X W_h]
//
// Steps 1 to 4 of Algorithm 1 are attention and skip, norm, feed-forward net and skip, norm.
//
// Tokens are columns: the paper's X is X' here. The P of a head is passed as P' (N, N), whose
// columns sum to one, as attention_matrices returns it. All computations are in double precision.
#pragma once

#include <armadillo>
#include <array>
#include <functional>
#include <map>
#include <vector>

#include "experiments/kit.hpp"
#include "judge/distances.hpp"
#include "linalg/similarity.hpp"
#include "nn/blocks/model_spec.hpp"

namespace ranklab {

/// Pi_i A with tokens as columns: i = 0 is the shared part, whose columns are all their mean; i = 1
/// is the rest.
arma::mat part(const arma::mat& A, std::size_t i);

/// A step from X to Y. Values are NaN or infinite if one part of X or Y is zero.
struct Escalation {
  double xi_1 = 0.0, xi_2 = 0.0;  // eq. (7): xi_i = ||Pi_i Y||_F^2 / ||Pi_i X||_F^2
  double rate = 0.0;  // eq. (5): r = t_div(X) / t_div(Y); above 1 if the similarity rises

  double xi_ratio() const { return xi_1 / xi_2; }
};
Escalation measure_escalation(const TokenParts& X, const TokenParts& Y);

/// [Shallow] eq. (6): r = 1 + excess t_sim(X), where excess = xi_1/xi_2 - 1.
double rate_from_excess(double excess, double similarity);

/// The error of the identity (6) divided by max(1, r), which is only rounding. `similarity` is
/// t_sim(X).
double identity_error(const Escalation& step, double similarity);

/// The measures of one head for one X. Values are NaN or infinite if a part of X is zero.
struct HeadMeasures {
  double omega = 0.0;  // eq. (12): ||e'P Pi_2 X|| / ||e'X||, e = 1/sqrt(N)
  double delta = 0.0;  // eq. (12): ||Pi_2 P||_2
  double mu_1_squared = 0.0, mu_2_squared = 0.0;  // eq. (10): mu_i = ||Pi_i P X||_F / ||Pi_i X||_F

  /// The bounds (11): mu_1^2 >= (1 - omega)^2, also for omega above 1, and mu_2^2 <= delta^2.
  double mu_1_bound() const { return (1 - omega) * (1 - omega); }
  double mu_2_bound() const { return delta * delta; }
};

/// P (N, N) and X (d, N). Throws Failure if an entry of P is not finite.
HeadMeasures head_measures(const arma::mat& P, const arma::mat& X);

/// Means over the heads of one step, which replace (10), (11) and (12) in [Shallow] Proposition
/// 2.9.
struct AttentionMeasures {
  double omega = 0.0, delta = 0.0;
  double mu_1_squared = 0.0, mu_2_squared = 0.0;  // mu-bar_1^2 and mu-bar_2^2
  double mu_1_bound = 0.0, mu_2_bound = 0.0;      // means of (1 - omega_k)^2 and of delta_k^2
};
AttentionMeasures mean_over_heads(const std::vector<HeadMeasures>& heads);

/// |lambda_2(P)|: the largest modulus of the eigenvalues without the 1 of the vector of ones.
/// Throws the same exceptions as spectral_radius.
double second_eigenvalue(const arma::mat& P);

/// ||P - P'||_F / ||P||_F.
double asymmetry(const arma::mat& P);

/// The strengths of the two terms of step 1: lambda^2, and alpha^2 d sigma^2, where sigma^2 is the
/// variance of the entries of W.
struct StepStrength {
  double skip = 1.0, attention = 1.0;
};
StepStrength step_strength(const ModelSpec& spec, double lambda);

/// E[xi_i] over W: lambda^2 + alpha^2 d sigma^2 mu_i^2, with mu_i^2 averaged over heads. [Shallow]
/// eq. (9) and (29) have lambda = 1; the terms linear in W have mean zero for any lambda.
double expected_xi(const StepStrength& strength, double mu_squared);

/// E[xi_1]/E[xi_2] - 1 = alpha^2 d sigma^2 (mu_1^2 - mu_2^2) / (lambda^2 + alpha^2 d sigma^2
/// mu_2^2): [Shallow] eq. (13), (18). Estimate 1, eq. (16), replaces mu_1^2 and mu_2^2 by the
/// bounds (11). Estimate 2, eq. (17), replaces them by 1 and |lambda_2|^2.
double expected_excess(const StepStrength& strength, double mu_1_squared, double mu_2_squared);

/// The random variable xi = ||A + alpha B W||_F^2 / ||A||_F^2 for fixed A and B (N, d), where the
/// entries of W (d, d) are N(0, 1/d).
struct XiLaw {
  double mean = 0.0;  // [Shallow] eq. (9): 1 + alpha^2 ||B||_F^2 / ||A||_F^2
  // Standard deviation. The variance of ||A||_F^2 xi is (4 alpha^2 ||B'A||_F^2 + 2 alpha^4
  // ||B'B||_F^2) / d.
  double deviation = 0.0;
};

/// Takes A' and B' (d, N).
XiLaw xi_law(const arma::mat& A, const arma::mat& B, double alpha);

/// X = e v' + t Q and the weights of its attention, drawn once in a run for each d, from the
/// streams of its first trial. v (d), Q (n, d): N(0, 1); W_q, W_k (d, d): uniform on (-1,
/// 1)/sqrt(d); every entry of e (n) is 1/sqrt(n).
struct DrawnTokens {
  arma::mat ev, Q;  // (d, n)
  arma::mat W_q, W_k;

  DrawnTokens(std::uint64_t tokens, std::uint64_t d, const Trial& first);
};

/// Shared by the studies escalation and escalation-rate: the path of a representation through the
/// blocks, with the steps inside each block, and statements about every block that are judged from
/// means over trials.
/// Our number for "bounded away from zero", the hypothesis of Theorem 2.6 about the left-hand side
/// of (15).
inline constexpr double away_from_zero = 1e-4;

namespace token_escalation {

struct PathConfig : Study {
  // [Shallow] Section 2.4.
  ModelSpec spec = {.model = "post-norm", .layers = 20, .tokens = 64, .dim = 512};
  double lambda = 1.0;  // strength of the skip in step 1; 1 in the paper

  /// `models` are the architectures that the study can run.
  std::vector<Field> path_flags(const std::vector<std::string>& models);
  /// Of a path through all blocks.
  Estimate memory() const override;

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
BlockArrays undefined_blocks(const PathConfig& config, const std::vector<std::string>& names);

// What a path records; NaN after a divergence -----------------------------------------------------

// Over the states 0 to K; state 0 is the input.
inline constexpr Measure
    token_similarity = {"token_similarity", "t_sim(X)",
                        "share of the squared norm in the part that all tokens have in common"},
    token_diversity = {"token_diversity", "t_div(X)",
                       "share of the squared norm in which the tokens differ, 1 - t_sim"};
// Over the blocks 1 to K, means over the heads of the attention matrices: [Shallow] eq. (12),
// eq. (10) squared, eq. (11).
inline constexpr Measure
    omega = {"omega", "omega", "differences between tokens that attention adds to their mean"},
    delta = {"delta", "delta", "largest share of a difference between tokens that attention keeps"},
    mu_1 = {"mu_1", "mu_1^2", "factor of attention on the squared norm of the mean part"},
    mu_2 = {"mu_2", "mu_2^2", "factor of attention on the squared norm of the rest"},
    mu_1_bound = {"mu_1_bound", "(1 - omega)^2", "lower bound (11) on mu_1^2"},
    mu_2_bound = {"mu_2_bound", "delta^2", "upper bound (11) on mu_2^2"};
// Over the blocks, recorded by the studies: eq. (5) of step 1.
inline constexpr Measure rate = {"rate", "r", "token diversity before step 1 over that after it"};
// For the whole path: 0 or 1, and the number of tokens that the norm `rows` set to zero.
inline constexpr Measure diverged = {"diverged", "", "1 if a state of the path is not finite"},
                         degenerate_rows = {"degenerate_rows", "",
                                            "tokens that a norm of rows set to zero"};

/// The value of an array at block k, from 0.
inline double at(const TrialRecord& record, const std::string& name, std::size_t k) {
  return record.array(name)[k];
}

/// The trials count this in every step that they measure.
inline const Inequality eq_6 =
    Place{shallow::prop_2_3, "shallow/", "Proposition 2.3, eq. (6)"}.counted(
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

}  // namespace token_escalation
}  // namespace ranklab
