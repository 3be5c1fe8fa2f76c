// The theorems of [LambdaSkip] about stacks without a skip, in which tokens collapse: their
// statements, their bounds (as printed in the text used here, and corrected) as functions of
// measured quantities, and the stacks that test them. Each part of a trial is computed in type T
// and is independent of the other parts.
//
// The symbols are defined in with_skip.hpp. Bounds that leave the range of a double are stored as
// natural logarithms.
#pragma once

#include <array>
#include <cmath>
#include <string>

#include "experiments/rank_collapse/bounds/bounds.hpp"

namespace ranklab::bounds {

/// The growth of the steps of log mu counts as cubic within this distance of 3, and as exponential
/// within this distance of 1.
inline constexpr double growth_margin = 0.1;

// Theorem 4.2 (A.2): attention with normalized rows (without_skip_attention.cpp) ------------------

namespace thm_4_2 {

inline const Place place = {"lambda-skip/thm-4.2/", "Theorem 4.2 (A.2)"};
// Counts the stacks; a violation is a stack that does not start with phi >= 0.
inline const std::string hypothesis = place.prefix + "hypothesis";
inline const Statement exponential =
    place("exponential",
          "mu(Y^K) decays at least exponentially in attention with orthogonal W_V, normalized rows "
          "and no skip");
inline const Statement bound = place(
    "bound",
    "mu(Y^K) <= C (1 - epsilon^(2r))^(K/(2r)) with N epsilon <= 1, for r = 1, C = sqrt N and the "
    "smallest attention weight as epsilon");
inline const Statement angles = {
    place.prefix + "angles", place.source + ", proof in Wu et al.",
    "phi, the smallest inner product of two tokens, does not decrease from layer to layer in "
    "attention with normalized rows and no skip"};
inline const Statement not_doubly = {
    place.prefix + "not-doubly", "Section 4, introduction",
    "Collapse is exponential, not doubly exponential, in attention with normalized rows: the steps "
    "of log mu stay equal"};

// Of log mu per layer, up to the layer at which rounding hides mu.
inline const Worst slope = {"thm-4.2.slope", larger_is_worse};
inline const Worst epsilon = {"thm-4.2.epsilon",
                              smaller_is_worse};        // the smallest attention weight
inline const Worst C = {"thm-4.2.C", larger_is_worse};  // the smallest C for which the bound holds
inline const Worst growth = {"thm-4.2.growth", distance_to_three};
inline constexpr char log10_mu[] = "thm-4.2.log10_mu", log10_bound[] = "thm-4.2.log10_bound",
                      growth_curve[] = "thm-4.2.growth";

}  // namespace thm_4_2

/// sqrt(N) (1 - epsilon^2)^(K/2), where epsilon is the smallest attention weight: Theorem A.2 for
/// diameter r = 1 and C = sqrt N.
inline double attention_bound(double N, double epsilon, double K) {
  return std::sqrt(N) * std::pow(1 - square(epsilon), K / 2);
}

/// Attention with orthogonal W_V, normalized rows and no skip, for tokens in a cone.
template <class T>
void judge_attention(const BoundsConfig& config, Sizes sizes, const Trial& trial,
                     TrialRecord& record);

void judge_theorem_4_2(const BoundsConfig& config, const Records& records, Claims& claims);

// Theorem A.3: attention without norm (without_skip_attention.cpp) --------------------------------

namespace thm_A_3 {

inline const std::string prefix = "lambda-skip/thm-A.3/";
inline const Statement as_printed = {
    prefix + "as-printed", "Theorem A.3 and Corollary A.3.1",
    "||res(Y^K)|| <= (4 gamma beta / sqrt d)^((3^K-1)/2) ||res(Y^0)||^(3^K)"};
inline const Statement cubic = {
    prefix + "cubic", "Theorem A.3",
    "mu decays doubly exponentially in attention without norm and skip: each step of log mu is "
    "three times the previous one"};

inline const Worst growth = {"thm-A.3.growth", distance_to_three};
// The logarithm of the smallest constant for which the bound holds.
inline const Worst log_constant = {"thm-A.3.log_constant", larger_is_worse};
inline constexpr char log10_mu[] = "thm-A.3.log10_mu", growth_curve[] = "thm-A.3.growth";

}  // namespace thm_A_3

/// Attention without norm and skip.
template <class T>
void judge_pure_attention(const BoundsConfig& config, Sizes sizes, const Trial& trial,
                          TrialRecord& record);

void judge_theorem_A_3(const Records& records, Claims& claims);

// Theorem 4.3: a selective state-space model with normalized rows (without_skip_state_space.cpp) --

namespace thm_4_3 {

inline const Place place = {"lambda-skip/thm-4.3/", "Theorem 4.3"},
                   proof = {place.prefix, "Theorem 4.3, proof (Appendix A.7)"};
// `hypothesis` counts the stacks; a violation is a stack that does not meet the hypotheses.
// `lambda_max_above` counts the stacks that do; a violation is one with lambda_max > 1/N.
inline const std::string hypothesis = place.prefix + "hypothesis",
                         lambda_max_above = place.prefix + "lambda-max";
inline const Statement as_printed =
    place("as-printed", "mu(Y^K) <= sqrt(N) (1 - c^2 lambda_min^2 alpha^(2N))^K");
inline const Statement half_exponent =
    proof("half-exponent",
          "mu(Y^K) <= sqrt(N) (1 - c^2 lambda_min^2 alpha^(2N))^(K/2), under the theorem's "
          "hypotheses");
inline const Statement hypotheses =
    proof("hypotheses",
          "lambda_max <= 1/N and row sums of at least 1 exclude each other, because the first row "
          "sum is M_11 = y_1'S y_1 <= lambda_max");
inline const Statement corrected = correcting(
    as_printed,
    place("corrected",
          "mu(Y^K) <= sqrt(N) (1 - (c lambda_min alpha^(N-1) / (N lambda_max))^2)^(K/2)"));
inline const Statement lemma_A_4 = {"lambda-skip/lemma-A.4", "Lemma A.4",
                                    "M_ij >= lambda_min phi alpha^N for i >= j"};

inline constexpr char c[] = "thm-4.3.c", lambda_min[] = "thm-4.3.lambda_min",
                      lambda_max[] = "thm-4.3.lambda_max";
inline constexpr char mu_curve[] = "thm-4.3.mu", as_printed_curve[] = "thm-4.3.as_printed",
                      half_exponent_curve[] = "thm-4.3.half_exponent",
                      corrected_curve[] = "thm-4.3.corrected";

}  // namespace thm_4_3

/// A selective state-space model with transition alpha. lambda_min and lambda_max are the extreme
/// eigenvalues of (W_B W_C' + W_C W_B')/2.
struct SelectiveNorms {
  double N = 0.0, alpha = 0.0, c = 0.0;  // c <= the smallest inner product of two tokens
  double lambda_min = 0.0, lambda_max = 0.0;
};

/// sqrt(N) (1 - c^2 lambda_min^2 alpha^(2N))^K.
inline double selective_printed(const SelectiveNorms& norms, double K) {
  return std::sqrt(norms.N) *
         std::pow(1 - square(norms.c * norms.lambda_min * std::pow(norms.alpha, norms.N)), K);
}

/// The same with the exponent K/2, which the proof actually gives.
inline double selective_half(const SelectiveNorms& norms, double K) {
  return selective_printed(norms, K / 2);
}

/// sqrt(N) (1 - q)^(K/2), q = (c lambda_min alpha^(N-1) / (N lambda_max))^2. By Lemma A.4, the rows
/// of M divided by their sums are stochastic and give token 1 a weight of at least sqrt q. Division
/// by a norm below 1 increases inner products. This bound requires neither lambda_max <= 1/N nor
/// row sums of at least 1.
inline double selective_corrected(const SelectiveNorms& norms, double K) {
  const double first = norms.c * norms.lambda_min * std::pow(norms.alpha, norms.N - 1) /
                       (norms.N * norms.lambda_max);
  return std::sqrt(norms.N) * std::pow(1 - square(first), K / 2);
}

/// Counts the cases of mu after K layers: the bound as printed, with the exponent K/2, and, if
/// Lemma A.4 holds, the corrected bound.
void compare_selective(const SelectiveNorms& norms, double K, double mu, bool lemma_holds,
                       double slack, TrialRecord& record);

/// `selective-ssm` with W_B = W_C, normalized rows and no skip, for tokens in a cone.
template <class T>
void judge_selective(const BoundsConfig& config, Sizes sizes, const Trial& trial,
                     TrialRecord& record);

void judge_theorem_4_3(const Records& records, Claims& claims);

// Theorems A.7 and A.8: an LTI state-space model without norm (without_skip_state_space.cpp) ------

struct LtiTheorem {
  std::string share_weights;  // on (A.7) | off (A.8)
  Statement bound, norm, normalized;
  Worst slope, normalized_ratio, rank_one_residual;
  std::string mu_curve, bound_curve, normalized_curve;
};
inline LtiTheorem lti_theorem(const std::string& number, const std::string& share_weights,
                              const std::string& weights) {
  const std::string name = "thm-" + number;
  const Place place = {"lambda-skip/" + name + "/", "Theorem " + number},
              remark = {place.prefix, place.source + ", remark after the proof"};
  return {
      share_weights,
      place("bound", "mu(Y^K) <= prod_k ||W^(k)||_2 ||Y^0||_F with " + weights),
      remark("norm", "mu(Y^K) decays exponentially if ||W||_F < 1, with " + weights),
      remark("normalised",
             "mu / ||Y||_F vanishes with the depth (rank collapse) for all sizes, with " + weights),
      {name + ".slope", larger_is_worse},
      {name + ".normalised_ratio", larger_is_worse},
      {name + ".rank_one_residual", larger_is_worse},
      name + ".mu",
      name + ".bound",
      name + ".mu_normalized"};
}
inline const LtiTheorem thm_A_7 = lti_theorem("A.7", "on", "one W for all layers"),
                        thm_A_8 = lti_theorem("A.8", "off", "a separate W for each layer");

/// `lti-ssm` without norm and skip.
template <class T>
void judge_lti(const BoundsConfig& config, const LtiTheorem& theorem, Sizes sizes,
               const Trial& trial, TrialRecord& record);

void judge_lti_theorem(const LtiTheorem& theorem, const Records& records, Claims& claims);

// Theorem A.10: a selective state-space model without norm (without_skip_state_space.cpp) ---------

namespace thm_A_10 {

inline const Place place = {"lambda-skip/thm-A.10/", "Theorem A.10"};
inline const Statement as_printed =
    place("as-printed", "mu(Y^k) <= (sqrt(N) ||W_BC||_F)^((3^(k-1)+1)/2) ||Y^0||_F^(3^k)");
inline const Statement corrected = correcting(
    as_printed,
    place("corrected",
          "mu(Y^k) <= (sqrt(N) ||W_BC||_F)^((3^k-1)/2) ||Y^0||_F^(3^k), with the exponent of Lemma "
          "A.9"));
inline const Statement sharper = {
    place.prefix + "sharper", "not in the paper; |entries of 1SS(alpha)| <= 1",
    "mu(Y^k) <= ||W_BC||_F^((3^k-1)/2) ||Y^0||_F^(3^k)", Kind::beyond};
inline const Statement doubly_exponential = {
    place.prefix + "doubly-exponential", "Section 4.2.1",
    "mu shrinks or grows doubly exponentially in a selective state-space model without norm and "
    "skip: each step of log mu is three times the previous one"};
inline const Statement lemma_A_9 = {
    "lambda-skip/lemma-A.9/bound", "Lemma A.9",
    "||Y^k||_F <= (sqrt(N) ||W_BC||_F)^((3^k-1)/2) ||Y^0||_F^(3^k)"};
inline const Statement semiseparable = {"lambda-skip/lemma-A.9/semiseparable", "Lemma A.9, proof",
                                        "||1SS(alpha)||_F <= sqrt(N)"};

/// The theorem is judged at these multiples of --weight-scale. M scales with the square of the
/// factor, and k layers with its (3^k - 1)-th power.
inline constexpr std::array weight_factors = {0.1, 1.0, 10.0, 100.0};
/// The tally that counts the cases of `as_printed` at one factor.
inline std::string at_weights(double factor) {
  return as_printed.id + "/weights=" + series_number(factor);
}

inline const Worst growth = {"thm-A.10.growth", distance_to_three};
// log10 mu and its bounds, divided by 3^k.
inline constexpr char rate[] = "thm-A.10.rate", rate_as_printed[] = "thm-A.10.rate_as_printed",
                      rate_corrected[] = "thm-A.10.rate_corrected";

}  // namespace thm_A_10

/// The logarithm of (sqrt(N) ||W_BC||_F)^((3^(k-1)+1)/2) ||Y0||_F^(3^k).
inline double cubic_printed(double k, double N, double log_w, double log_norm) {
  return (std::pow(3, k - 1) + 1) / 2 * (std::log(N) / 2 + log_w) + std::pow(3, k) * log_norm;
}
/// The logarithm of ||W_BC||_F^((3^k-1)/2) ||Y0||_F^(3^k): the exponent of Lemma A.9 without sqrt
/// N. The entries of 1SS(alpha) are at most 1, so ||M||_F <= ||W_BC||_F ||Y||_F^2.
inline double cubic_sharper(double k, double log_w, double log_norm) {
  return (std::pow(3, k) - 1) / 2 * log_w + std::pow(3, k) * log_norm;
}
/// The same with sqrt N, as in Lemma A.9.
inline double cubic_corrected(double k, double N, double log_w, double log_norm) {
  return cubic_sharper(k, std::log(N) / 2 + log_w, log_norm);
}

/// ||1SS(alpha)||_F for N tokens if all transitions are alpha, in [0, 1].
inline double semiseparable_norm(double N, double alpha) {
  double sum = 0, power = 1;  // N - l entries are alpha^l
  for (double l = 0; l < N; ++l, power *= alpha * alpha) sum += (N - l) * power;
  return std::sqrt(sum);
}

/// `selective-ssm` without norm and skip, with the same weights at every layer.
template <class T>
void judge_pure_selective(const BoundsConfig& config, Sizes sizes, const Trial& trial,
                          TrialRecord& record);

void judge_theorem_A_10(const Records& records, Claims& claims);

}  // namespace ranklab::bounds
