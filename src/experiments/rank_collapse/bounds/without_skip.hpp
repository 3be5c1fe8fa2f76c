// The theorems of [LambdaSkip] about stacks without a skip, in which tokens collapse: what they say, their bounds as functions of
// what a stack measures, as printed in the text used here and corrected, and the stacks that are held against them. Each part of a
// trial is computed in T, and independent of the others.
//
// Symbols are those of skips.hpp. Bounds that leave the range of a double are natural logarithms.
#pragma once

#include <array>
#include <cmath>
#include <string>

#include "experiments/rank_collapse/bounds/bounds.hpp"

namespace ranklab::bounds {

/// The growth of the steps of log mu counts as cubic within this of 3, and as exponential within this of 1.
inline constexpr double growth_margin = 0.1;

// Theorem 4.2 (A.2): attention with normalised rows (attention.cpp) ----------------------------------------------------------

namespace thm_4_2 {

inline const Place place = {"lambda-skip/thm-4.2/", "Theorem 4.2 (A.2)"};
inline const std::string hypothesis = place.prefix + "hypothesis";  // stacks, and those that do not start with phi >= 0
inline const Statement exponential =
    place("exponential", "attention with orthogonal W_V, normalised rows, no skip: mu(Y^K) decays at least exponentially");
inline const Statement bound = place("bound",
                                     "mu(Y^K) <= C (1 - epsilon^(2r))^(K/(2r)), N epsilon <= 1, with r = 1, C = sqrt N, epsilon "
                                     "the smallest attention weight");
inline const Statement angles = {place.prefix + "angles", place.source + ", proof in Wu et al.",
                                 "phi, the smallest inner product of two tokens, does not fall from layer to layer"};
inline const Statement not_doubly = {
    place.prefix + "not-doubly", "Section 4, introduction",
    "with the norm collapse is exponential, and doubly exponential only without it: steps of log mu stay equal"};

inline const Worst slope = {"thm-4.2.slope", as_large};      // of log mu per layer, down to where rounding hides mu
inline const Worst epsilon = {"thm-4.2.epsilon", as_small};  // the smallest attention weight
inline const Worst C = {"thm-4.2.C", as_large};              // the smallest with which the bound holds
inline const Worst growth = {"thm-4.2.growth", away_from_three};
inline constexpr char log10_mu[] = "thm-4.2.log10_mu", log10_bound[] = "thm-4.2.log10_bound", growth_curve[] = "thm-4.2.growth";

}  // namespace thm_4_2

/// sqrt(N) (1 - epsilon^2)^(K/2), epsilon the smallest attention weight: Theorem A.2 at diameter r = 1 with C = sqrt N.
inline double attention_bound(double N, double epsilon, double K) {
  return std::sqrt(N) * std::pow(1 - square(epsilon), K / 2);
}

/// Attention with orthogonal W_V, norm rows, no skip, tokens in a cone.
template <class T>
void judge_attention(const BoundsConfig& config, Sizes sizes, const Trial& trial, TrialRecord& record);

void judge_theorem_4_2(const BoundsConfig& config, const Records& records, Claims& claims);

// Theorem A.3: attention without norm (attention.cpp) ------------------------------------------------------------------------

namespace thm_A_3 {

inline const std::string prefix = "lambda-skip/thm-A.3/";
inline const Statement as_printed = {prefix + "as-printed", "Theorem A.3 and Corollary A.3.1",
                                     "||res(Y^K)|| <= (4 gamma beta / sqrt d)^((3^K-1)/2) ||res(Y^0)||^(3^K)"};
inline const Statement cubic = {
    prefix + "cubic", "Theorem A.3",
    "attention without norm and skip: mu decays doubly exponentially, each step of log mu three times the one before"};

inline const Worst growth = {"thm-A.3.growth", away_from_three};
inline const Worst log_constant = {"thm-A.3.log_constant", as_large};  // log of the smallest with which the bound holds
inline constexpr char log10_mu[] = "thm-A.3.log10_mu", growth_curve[] = "thm-A.3.growth";

}  // namespace thm_A_3

/// Attention without norm and skip.
template <class T>
void judge_pure_attention(const BoundsConfig& config, Sizes sizes, const Trial& trial, TrialRecord& record);

void judge_theorem_A_3(const Records& records, Claims& claims);

// Theorem 4.3: a selective state-space model with normalised rows (state_space.cpp) ------------------------------------------

namespace thm_4_3 {

inline const Place place = {"lambda-skip/thm-4.3/", "Theorem 4.3"}, proof = {place.prefix, "Theorem 4.3, proof (Appendix A.7)"};
// Stacks, and those that do not meet the hypotheses; of those that do, how many have lambda_max > 1/N.
inline const std::string hypothesis = place.prefix + "hypothesis", lambda_max_above = place.prefix + "lambda-max";
inline const Statement as_printed = place("as-printed", "mu(Y^K) <= sqrt(N) (1 - c^2 lambda_min^2 alpha^(2N))^K");
inline const Statement half_exponent = proof("half-exponent", "the same with the exponent K/2, under the theorem's hypotheses");
inline const Statement hypotheses =
    proof("hypotheses",
          "lambda_max <= 1/N and row sums of at least 1 exclude each other: the first row sum is M_11 = y_1'S y_1 <= lambda_max");
inline const Statement corrected =
    correcting(as_printed, place("corrected", "mu(Y^K) <= sqrt(N) (1 - (c lambda_min alpha^(N-1) / (N lambda_max))^2)^(K/2)"));
inline const Statement lemma_A_4 = {"lambda-skip/lemma-A.4", "Lemma A.4", "M_ij >= lambda_min phi alpha^N for i >= j"};

inline constexpr char c[] = "thm-4.3.c", lambda_min[] = "thm-4.3.lambda_min", lambda_max[] = "thm-4.3.lambda_max";
inline constexpr char mu_curve[] = "thm-4.3.mu", as_printed_curve[] = "thm-4.3.as_printed",
                      half_exponent_curve[] = "thm-4.3.half_exponent", corrected_curve[] = "thm-4.3.corrected";

}  // namespace thm_4_3

/// A selective state-space model of transition alpha; lambda_min and lambda_max are those of (W_B W_C' + W_C W_B')/2.
struct SelectiveNorms {
  double N = 0.0, alpha = 0.0, c = 0.0;  // c <= the smallest inner product of two tokens
  double lambda_min = 0.0, lambda_max = 0.0;
};

/// sqrt(N) (1 - c^2 lambda_min^2 alpha^(2N))^K.
inline double selective_printed(const SelectiveNorms& norms, double K) {
  return std::sqrt(norms.N) * std::pow(1 - square(norms.c * norms.lambda_min * std::pow(norms.alpha, norms.N)), K);
}

/// The exponent K/2 that the proof arrives at.
inline double selective_half(const SelectiveNorms& norms, double K) {
  return selective_printed(norms, K / 2);
}

/// sqrt(N) (1 - q)^(K/2), q = (c lambda_min alpha^(N-1) / (N lambda_max))^2. With Lemma A.4, rows of M over their sums are
/// stochastic and give token 1 a weight of at least sqrt q; dividing by a norm below 1 raises inner products. Neither
/// lambda_max <= 1/N nor row sums of at least 1 are asked for.
inline double selective_corrected(const SelectiveNorms& norms, double K) {
  const double first = norms.c * norms.lambda_min * std::pow(norms.alpha, norms.N - 1) / (norms.N * norms.lambda_max);
  return std::sqrt(norms.N) * std::pow(1 - square(first), K / 2);
}

/// The cases of mu after K layers: the bound as printed, with K/2, and corrected, where Lemma A.4 holds.
void compare_selective(const SelectiveNorms& norms, double K, double mu, bool lemma_holds, double slack, TrialRecord& record);

/// `selective-ssm` with W_B = W_C, norm rows, no skip, tokens in a cone.
template <class T>
void judge_selective(const BoundsConfig& config, Sizes sizes, const Trial& trial, TrialRecord& record);

void judge_theorem_4_3(const Records& records, Claims& claims);

// Theorems A.7 and A.8: an LTI state-space model without norm (state_space.cpp) ----------------------------------------------

struct LtiTheorem {
  std::string share_weights;  // on (A.7) | off (A.8)
  Statement bound, norm, normalised;
  Worst slope, normalised_ratio, rank_one_residual;
  std::string mu_curve, bound_curve, normalised_curve;
};
inline LtiTheorem lti_theorem(const std::string& number, const std::string& share_weights, const std::string& weights) {
  const std::string name = "thm-" + number;
  const Place place = {"lambda-skip/" + name + "/", "Theorem " + number},
              remark = {place.prefix, place.source + ", remark after the proof"};
  return {share_weights,
          place("bound", "mu(Y^K) <= prod_k ||W^(k)||_2 ||Y^0||_F, " + weights),
          remark("norm", "where ||W||_F < 1, mu(Y^K) decays exponentially"),
          remark("normalised", "and this is rank collapse: mu / ||Y||_F vanishes too, whatever the sizes"),
          {name + ".slope", as_large},
          {name + ".normalised_ratio", as_large},
          {name + ".rank_one_residual", as_large},
          name + ".mu",
          name + ".bound",
          name + ".mu_normalized"};
}
inline const LtiTheorem thm_A_7 = lti_theorem("A.7", "on", "one W for all layers"),
                        thm_A_8 = lti_theorem("A.8", "off", "a W for each layer");

/// `lti-ssm` without norm and skip.
template <class T>
void judge_lti(const BoundsConfig& config, const LtiTheorem& theorem, Sizes sizes, const Trial& trial, TrialRecord& record);

void judge_lti_theorem(const LtiTheorem& theorem, const Records& records, Claims& claims);

// Theorem A.10: a selective state-space model without norm (state_space.cpp) -------------------------------------------------

namespace thm_A_10 {

inline const Place place = {"lambda-skip/thm-A.10/", "Theorem A.10"};
inline const Statement as_printed = place("as-printed", "mu(Y^k) <= (sqrt(N) ||W_BC||_F)^((3^(k-1)+1)/2) ||Y^0||_F^(3^k)");
inline const Statement corrected =
    correcting(as_printed, place("corrected", "the same with the exponent (3^k - 1)/2 of Lemma A.9"));
inline const Statement sharper = {place.prefix + "sharper", "not in the paper; |entries of 1SS(alpha)| <= 1",
                                  "mu(Y^k) <= ||W_BC||_F^((3^k-1)/2) ||Y^0||_F^(3^k)", Kind::beyond};
inline const Statement doubly_exponential = {
    place.prefix + "doubly-exponential", "Section 4.2.1",
    "mu shrinks or grows doubly exponentially: each step of log mu is three times the one before"};
inline const Statement lemma_A_9 = {"lambda-skip/lemma-A.9/bound", "Lemma A.9",
                                    "||Y^k||_F <= (sqrt(N) ||W_BC||_F)^((3^k-1)/2) ||Y^0||_F^(3^k)"};
inline const Statement semiseparable = {"lambda-skip/lemma-A.9/semiseparable", "Lemma A.9, proof", "||1SS(alpha)||_F <= sqrt(N)"};

/// It is judged at these multiples of --weight-scale: M takes their square, and k layers their (3^k - 1)-th power.
inline constexpr std::array weight_factors = {0.1, 1.0, 10.0, 100.0};
/// The part of the count of `as_printed` at one of them.
inline std::string at_weights(double factor) {
  return as_printed.id + "/weights=" + series_number(factor);
}

inline const Worst growth = {"thm-A.10.growth", away_from_three};
// log10 mu and its bounds, over 3^k.
inline constexpr char rate[] = "thm-A.10.rate", rate_as_printed[] = "thm-A.10.rate_as_printed",
                      rate_corrected[] = "thm-A.10.rate_corrected";

}  // namespace thm_A_10

/// Logarithms of (sqrt(N) ||W_BC||_F)^((3^(k-1)+1)/2) ||Y0||_F^(3^k), of the same with the exponent (3^k - 1)/2 of Lemma A.9
/// but without sqrt N (the entries of 1SS(alpha) are at most 1, so ||M||_F <= ||W_BC||_F ||Y||_F^2), and of that with sqrt N.
inline double cubic_printed(double k, double N, double log_w, double log_norm) {
  return (std::pow(3, k - 1) + 1) / 2 * (std::log(N) / 2 + log_w) + std::pow(3, k) * log_norm;
}
inline double cubic_sharper(double k, double log_w, double log_norm) {
  return (std::pow(3, k) - 1) / 2 * log_w + std::pow(3, k) * log_norm;
}
inline double cubic_corrected(double k, double N, double log_w, double log_norm) {
  return cubic_sharper(k, std::log(N) / 2 + log_w, log_norm);
}

/// ||1SS(alpha)||_F of N tokens, all transitions alpha in [0, 1].
inline double semiseparable_norm(double N, double alpha) {
  double sum = 0, power = 1;  // N - l entries are alpha^l
  for (double l = 0; l < N; ++l, power *= alpha * alpha) sum += (N - l) * power;
  return std::sqrt(sum);
}

/// `selective-ssm` without norm and skip, the same weights at every layer.
template <class T>
void judge_pure_selective(const BoundsConfig& config, Sizes sizes, const Trial& trial, TrialRecord& record);

void judge_theorem_A_10(const Records& records, Claims& claims);

}  // namespace ranklab::bounds
