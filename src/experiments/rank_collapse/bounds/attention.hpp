// Attention without a skip, in which tokens collapse: [LambdaSkip] Theorems 4.2 (A.2) and A.3 and
// Corollary A.3.1.
//
// The symbols are defined in with_skip.hpp. Bounds that leave the range of a double are stored as
// natural logarithms.
#pragma once

#include "experiments/rank_collapse/bounds/bounds.hpp"

namespace ranklab::bounds {

// The state ---------------------------------------------------------------------------------------

// The mean token is stored separately from the differences between tokens.
//
// mu falls doubly exponentially and ||Y|| does not fall, so after three or four layers the tokens
// of Y agree to the last bit. Therefore the state is Y = g 1' + 2^s R (one token per column, R 1 =
// 0). Terms of a row's logits that are equal for all tokens cancel in the softmax, which leaves, up
// to the factor 1/sqrt d,
//   p = softmax_j((W_Q'g).(W_K'y_j)),   h_ij = (W_Q'r_i).(W_K'y_j) 2^s,   P_ij = p_j + E_ij,
//   E_ij = p_j (expm1(h_ij) - sum_l p_l expm1(h_il)) / sum_l p_l exp(h_il),   rows of E summing to
//   0,
// and with them P Y = (shared part) + (E - its mean row) R. Because g drops out of E too, h may use
// r_j instead of y_j: h and E are of the order 4^s, and R of the next layer is of the order 8^s.
struct SplitState {
  arma::vec shared;         // g (d), the mean token
  arma::mat rest;           // R (d, N)
  double log2_scale = 0.0;  // s

  /// Splits Y (d, N).
  explicit SplitState(const arma::mat& Y);
  /// Natural logarithm of mu = 2^s ||R||_F; minus infinity if all tokens are equal.
  double log_mu() const;
  /// Y, rounded.
  arma::mat tokens() const;
};

/// One layer: Y <- softmax(Y W_Q W_K' Y' / sqrt d) Y W_V in the paper's layout (one token per row).
/// The weights are (d, d). If an entry overflows, the state is not finite.
void split_attention(SplitState& state, const arma::mat& W_Q, const arma::mat& W_K,
                     const arma::mat& W_V);

/// Scales every token to Euclidean norm 1. With z_i = (2 g.r_i 2^s + |r_i|^2 4^s) / |g|^2 and
/// e_i = (1 + z_i)^(-1/2) - 1, token i becomes (g + 2^s r_i + e_i (g + 2^s r_i)) / |g|, and e_i is
/// of the order 2^s.
void normalize_split_rows(SplitState& state);

// Theorem 4.2 (A.2): attention with normalized rows -----------------------------------------------

namespace thm_4_2 {

inline const Place place = {lambda_skip::thm_4_2, "/", "Theorem 4.2 (A.2)"},
                   in_appendix = {lambda_skip::thm_A_2, place.prefix, "Theorem A.2"};
// Counts the stacks; a violation is a stack that does not start with phi >= 0.
inline const std::string hypothesis = place.prefix + "hypothesis";
inline const Statement exponential = asymptotic(
    place("exponential",
          "mu(Y^K) decays at least exponentially in attention with orthogonal W_V, normalized rows "
          "and no skip: slope of log mu per layer"),
    falling_line);
inline const Statement in_section_4_2_1 =
    asymptotic(Place{lambda_skip::section_4_2_1_no_skip, "/", "Section 4.2.1"}(
                   "attention",
                   "The tokens of attention with normalized rows and no skip collapse "
                   "exponentially: slope of log mu per layer"),
               falling_line);
inline const Statement bound =
    ours(in_appendix, "bound", "which leaves C and epsilon free",
         "mu(Y^K) <= C (1 - epsilon^(2r))^(K/(2r)) with r = 1, C = sqrt(N) and the smallest "
         "attention weight of the run as epsilon");
inline const Statement angles =
    ours(in_appendix, "angles", "a step of the proof in Wu et al.",
         "phi, the smallest inner product of two tokens, does not decrease from layer to layer in "
         "attention with normalized rows and no skip");
inline const Statement cubic =
    ours(place, "growth", "",
         "With normalized rows each step of log mu is three times the previous one too, as without "
         "a norm (Theorem A.3): the factor");

// Of log mu per layer, up to the layer at which rounding hides mu.
inline constexpr Worst
    slope = {{"thm-4.2.slope", "", "slope of log mu per layer, largest over the sizes"},
             larger_is_worse},
    epsilon = {{"thm-4.2.epsilon", "epsilon", "smallest attention weight"}, smaller_is_worse},
    C = {{"thm-4.2.C", "C", "smallest constant for which the bound holds"}, larger_is_worse},
    growth = {{"thm-4.2.growth", "",
               "growth factor of the later steps of log mu, farthest from 3 over the sizes"},
              distance_to_three};
inline constexpr Measure
    log10_mu = {"thm-4.2.log10_mu", "log10 mu(Y)",
                "logarithm of the distance of the tokens from their mean, normalized rows"},
    log10_bound = {"thm-4.2.log10_bound", "", "log10 of the bound of Theorem 4.2 on mu"},
    growth_curve = {"thm-4.2.growth", "", "step of log mu over the previous one, normalized rows"};

}  // namespace thm_4_2

/// sqrt(N) (1 - epsilon^2)^(K/2), where epsilon is the smallest attention weight: Theorem A.2 for
/// diameter r = 1 and C = sqrt N.
inline double attention_bound(double N, double epsilon, double K) {
  return std::sqrt(N) * std::pow(1 - square(epsilon), K / 2);
}

/// Attention with orthogonal W_V, normalized rows and no skip, for tokens in a cone.
void judge_attention(const Config& config, Sizes sizes, const Trial& trial, TrialRecord& record);

void judge_theorem_4_2(const StackClaims& stacks);

// Theorem A.3: attention without norm -------------------------------------------------------------

namespace thm_A_3 {

inline const Place place = {lambda_skip::thm_A_3, "/", "Theorem A.3"};
inline const Statement as_printed =
    place("as-printed", "||res(Y^K)|| <= (4 gamma beta / sqrt d)^((3^K-1)/2) ||res(Y^0)||^(3^K)");
inline const Statement cubic =
    asymptotic(place("cubic",
                     "mu decays doubly exponentially in attention without norm and skip: each "
                     "step of log mu is three times the previous one: the factor"),
               cubic_growth);

inline constexpr Worst
    growth = {{"thm-A.3.growth", "",
               "growth factor of the later steps of log mu, farthest from 3 over the sizes"},
              distance_to_three},
    log_constant = {{"thm-A.3.log_constant", "",
                     "natural logarithm of the smallest constant for which the bound holds"},
                    larger_is_worse};
inline constexpr Measure
    log10_mu = {"thm-A.3.log10_mu", "log10 mu(Y)",
                "logarithm of the distance of the tokens from their mean, no norm"},
    growth_curve = {"thm-A.3.growth", "", "step of log mu over the previous one, no norm"};

}  // namespace thm_A_3

// Corollary A.3.1, the same in the Frobenius norm.
namespace cor_A_3_1 {

inline const std::string statement_id = lambda_skip::cor_A_3_1, prefix = statement_id + "/";
inline const Misprint exponent = Place{statement_id, prefix, "Corollary A.3.1"}.misprint(
    prefix + "exponent", "exponent",
    "The bound (4 gamma sqrt(min(N, d)) beta / sqrt d)^((3^K-1)/2) ||res(Y^0)||_F^3 does not grow "
    "more slowly with the scale s of the input than ||res(Y^K)||_F, if W_Q W_K' is divided by s^2: "
    "decades that it loses per decade of s, for K = 2",
    "The same with ||res(Y^0)||_F^(3^K)");
inline const Misprint norms =
    Place{statement_id, prefix, "Corollary A.3.1, proof", Part::proof}.misprint(
        prefix + "norms", "norms", "||A||_F >= ||A||_1 and ||A||_F >= ||A||_inf",
        "||A||_1 <= sqrt(N) ||A||_F and ||A||_inf <= sqrt(d) ||A||_F, A of size (N, d)");

/// log10(||res(Y^2)||_F / (beta^4 ||res(Y^0)||_F^power)) for two layers of attention with N = 2, d
/// = 1, W_V = 1, W_Q W_K' = beta = 1/s^2 and the tokens s and -s. gamma is the same for every s.
double log_ratio(double s, double power);

}  // namespace cor_A_3_1

/// Counts the inequalities between the norms of A (N, d): ||A||_1 is the largest column sum of
/// absolute values, ||A||_inf the largest row sum.
void judge_matrix_norms(const arma::mat& A, double slack, TrialRecord& record);

/// One layer of attention without a skip, on a state that resolves mu below the rounding error of
/// Y.
void split_layer(const ModelSpec& spec, const Trial& trial, std::uint64_t layer, SplitState& state);

/// Attention without norm and skip.
void judge_pure_attention(const Config& config, Sizes sizes, const Trial& trial,
                          TrialRecord& record);

void judge_theorem_A_3(const StackClaims& stacks);

}  // namespace ranklab::bounds
