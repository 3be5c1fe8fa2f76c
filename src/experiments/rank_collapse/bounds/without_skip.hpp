// The theorems of [LambdaSkip] about stacks without a skip, in which tokens collapse: their
// statements, their bounds (as printed in the text used here, and corrected) as functions of
// measured quantities, and the stacks that test them. Each part of a trial is independent of the
// other parts.
//
// The symbols are defined in with_skip.hpp. Bounds that leave the range of a double are stored as
// natural logarithms.
#pragma once

#include <armadillo>
#include <array>
#include <cmath>
#include <string>

#include "experiments/rank_collapse/bounds/bounds.hpp"

namespace ranklab::bounds {

struct SplitState;

/// The growth of the steps of log mu counts as cubic within this distance of 3.
inline constexpr double growth_margin = 0.1;
inline const std::string cubic_growth = "0.1 in the growth factor 3 of the steps of log mu",
                         falling_line = "a negative slope of log mu per layer",
                         growth_detail =
                             "growth factor of the later steps of log mu, farthest from 3 over the "
                             "sizes of a trial";

// Theorem 4.2 (A.2): attention with normalized rows (without_skip_attention.cpp) ------------------

namespace thm_4_2 {

inline const Place place = {"lambda-skip/thm-4.2", "lambda-skip/thm-4.2/", "Theorem 4.2 (A.2)"},
                   in_appendix = {"lambda-skip/thm-A.2", place.prefix, "Theorem A.2"};
// Counts the stacks; a violation is a stack that does not start with phi >= 0.
inline const std::string hypothesis = place.prefix + "hypothesis";
inline const Statement exponential = asymptotic(
    place("exponential",
          "mu(Y^K) decays at least exponentially in attention with orthogonal W_V, normalized rows "
          "and no skip"),
    falling_line);
inline const Statement bound =
    asymptotic(in_appendix("bound", "mu(Y^K) <= C (1 - epsilon^(2r))^(K/(2r)) with N epsilon <= 1"),
               "r = 1, C = sqrt(N) and the smallest attention weight of the run as epsilon");
inline const Statement angles =
    ours(in_appendix, "angles", "a step of the proof in Wu et al.",
         "phi, the smallest inner product of two tokens, does not decrease from layer to layer in "
         "attention with normalized rows and no skip");
inline const Statement cubic =
    ours(place, "growth", "",
         "With normalized rows each step of log mu is three times the previous one too, as without "
         "a norm (Theorem A.3)");

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
void judge_attention(const Config& config, Sizes sizes, const Trial& trial, TrialRecord& record);

void judge_theorem_4_2(const Config& config, const Records& records, Claims& claims);

// Theorem A.3: attention without norm (without_skip_attention.cpp) --------------------------------

namespace thm_A_3 {

inline const Place place = {"lambda-skip/thm-A.3", "lambda-skip/thm-A.3/", "Theorem A.3"};
inline const Statement as_printed =
    place("as-printed", "||res(Y^K)|| <= (4 gamma beta / sqrt d)^((3^K-1)/2) ||res(Y^0)||^(3^K)");
inline const Statement cubic =
    asymptotic(place("cubic",
                     "mu decays doubly exponentially in attention without norm and skip: each "
                     "step of log mu is three times the previous one"),
               cubic_growth);

inline const Worst growth = {"thm-A.3.growth", distance_to_three};
// The logarithm of the smallest constant for which the bound holds.
inline const Worst log_constant = {"thm-A.3.log_constant", larger_is_worse};
inline constexpr char log10_mu[] = "thm-A.3.log10_mu", growth_curve[] = "thm-A.3.growth";

}  // namespace thm_A_3

// Corollary A.3.1, the same in the Frobenius norm.
namespace cor_A_3_1 {

inline const std::string statement_id = "lambda-skip/cor-A.3.1", prefix = statement_id + "/";
inline const Misprint exponent = Place{statement_id, prefix, "Corollary A.3.1"}.misprint(
    prefix + "exponent", "exponent",
    "The bound (4 gamma sqrt(min(N, d)) beta / sqrt d)^((3^K-1)/2) ||res(Y^0)||_F^3 does not grow "
    "more slowly with the scale of the input than ||res(Y^K)||_F, if W_Q W_K' is divided by the "
    "square of the scale",
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

void judge_theorem_A_3(const Records& records, Claims& claims);

// Theorem 4.3: a selective state-space model with normalized rows (without_skip_state_space.cpp) --

namespace thm_4_3 {

inline const Place place = {"lambda-skip/thm-4.3", "lambda-skip/thm-4.3/", "Theorem 4.3"},
                   proof = {place.statement_id, place.prefix, "Theorem 4.3, proof (Appendix A.7)",
                            Part::proof};
// Counts the stacks; a violation is a stack that does not meet the hypotheses.
inline const std::string hypothesis = place.prefix + "hypothesis";
inline const Statement as_printed =
    showing(place.prefix + "rate",
            place("as-printed", "mu(Y^K) <= sqrt(N) (1 - c^2 lambda_min^2 alpha^(2N))^K"));
inline const Statement half_exponent =
    ours(place, "half-exponent", "the proof bounds 1 - phi, which is of the order mu^2",
         "mu(Y^K) <= sqrt(N) (1 - c^2 lambda_min^2 alpha^(2N))^(K/2)");
inline const Statement small_lambda_max = showing(
    place.prefix + "lambda-max",
    proof("step-lambda-max/as-printed", "lambda_max <= 1/N under the theorem's hypotheses"));
inline const Statement hypotheses = correcting(
    small_lambda_max,
    proof("hypotheses",
          "lambda_max >= sum_j M_1j >= 1, so lambda_max <= 1/N is impossible for N >= 2"));
inline const Statement corrected = correcting(
    as_printed,
    place("corrected",
          "mu(Y^K) <= sqrt(N) (1 - (c lambda_min alpha^(N-1) / (N lambda_max))^2)^(K/2) if W_B = "
          "W_C and M_ij >= lambda_min phi alpha^(N-1) for i >= j"));
inline const Statement lemma_A_4 =
    showing("lambda-skip/lemma-A.4/off-diagonal",
            Statement{"lambda-skip/lemma-A.4", "lambda-skip/lemma-A.4", "Lemma A.4",
                      "M_ij >= lambda_min phi alpha^N for i >= j"});
inline const Misprint lambda_min_limit =
    Place{"lambda-skip/section-4.2.1/lambda-min", "lambda-skip/section-4.2.1/",
          "Section 4.2.1, after Theorem 4.3"}
        .misprint("lambda-skip/section-4.2.1/lambda-min", "lambda-min",
                  "The bound of Theorem 4.3 decays for every lambda_min <= 2/(c^2 alpha^(2N))",
                  "The bound of Theorem 4.3 decays if and only if lambda_min^2 < 2/(c^2 "
                  "alpha^(2N))");

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

/// 1 - c^2 lambda_min^2 alpha^(2N), the factor of Theorem 4.3 for each layer.
inline double selective_factor(const SelectiveNorms& norms) {
  return 1 - square(norms.c * norms.lambda_min * std::pow(norms.alpha, norms.N));
}

/// sqrt(N) (1 - c^2 lambda_min^2 alpha^(2N))^K.
inline double selective_printed(const SelectiveNorms& norms, double K) {
  return std::sqrt(norms.N) * std::pow(selective_factor(norms), K);
}

/// The same with the exponent K/2.
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

/// Counts whether the factor of Theorem 4.3 lies between -1 and 1 just below the corrected limit of
/// lambda_min, and not just above it.
void judge_lambda_min(const SelectiveNorms& norms, TrialRecord& record);

/// `selective-ssm` with W_B = W_C, normalized rows and no skip, for tokens in a cone.
void judge_selective(const Config& config, Sizes sizes, const Trial& trial, TrialRecord& record);

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
  const Place place = {"lambda-skip/" + name, "lambda-skip/" + name + "/", "Theorem " + number},
              remark = {place.statement_id, place.prefix, place.source + ", remark after the proof",
                        Part::text};
  return {share_weights,
          place("bound", "mu(Y^K) <= prod_k ||W^(k)||_2 ||Y^0||_F with " + weights),
          asymptotic(remark("norm", "mu(Y^K) decays exponentially if ||W||_F < 1, with " + weights),
                     falling_line),
          beyond(Statement{place.statement_id, place.prefix + "normalised",
                           "not in the paper, whose rank collapse is about mu",
                           "mu / ||Y||_F vanishes with the depth for all sizes, with " + weights}),
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
void judge_lti(const Config& config, const LtiTheorem& theorem, Sizes sizes, const Trial& trial,
               TrialRecord& record);

void judge_lti_theorem(const LtiTheorem& theorem, const Records& records, Claims& claims);

// Theorem A.10: a selective state-space model without norm (without_skip_state_space.cpp) ---------

namespace thm_A_10 {

inline const Place place = {"lambda-skip/thm-A.10", "lambda-skip/thm-A.10/", "Theorem A.10"};
inline const Statement as_printed =
    showing(place.prefix + "exponent",
            place("as-printed", "mu(Y^k) <= (sqrt(N) ||W_BC||_F)^((3^(k-1)+1)/2) ||Y^0||_F^(3^k)"));
inline const Statement corrected = correcting(
    as_printed,
    place("corrected",
          "mu(Y^k) <= (sqrt(N) ||W_BC||_F)^((3^k-1)/2) ||Y^0||_F^(3^k), with the exponent of Lemma "
          "A.9"));
inline const Statement sharper = ours(place, "sharper", "|entries of 1SS(alpha)| <= 1",
                                      "mu(Y^k) <= ||W_BC||_F^((3^k-1)/2) ||Y^0||_F^(3^k)");
inline const Statement doubly_exponential = asymptotic(
    Statement{place.statement_id, place.prefix + "doubly-exponential", "Section 4.2.1",
              "mu shrinks or grows doubly exponentially in a selective state-space model without "
              "norm and skip: each step of log mu is three times the previous one",
              Part::text},
    cubic_growth);
inline const Place lemma_A_9 = {"lambda-skip/lemma-A.9", "lambda-skip/lemma-A.9/", "Lemma A.9"},
                   lemma_A_9_proof = {lemma_A_9.statement_id, lemma_A_9.prefix, "Lemma A.9, proof",
                                      Part::proof};
inline const Statement growth_bound =
    lemma_A_9("bound", "||Y^k||_F <= (sqrt(N) ||W_BC||_F)^((3^k-1)/2) ||Y^0||_F^(3^k)");
inline const Statement semiseparable =
    showing(lemma_A_9.prefix + "semiseparable",
            lemma_A_9_proof("semiseparable", "||1SS(alpha)||_F <= sqrt(N)"));
inline const Statement hadamard = correcting(
    semiseparable, lemma_A_9_proof("semiseparable/corrected", "||1SS(alpha) o B||_F <= ||B||_F"));

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

/// W_C W_B' (d, d) of a selective block's weights.
arma::mat w_bc(const ModelSpec& spec, Tensors<double>& tensors);

/// `selective-ssm` without norm and skip, with the same weights at every layer.
void judge_pure_selective(const Config& config, Sizes sizes, const Trial& trial,
                          TrialRecord& record);

void judge_theorem_A_10(const Config& config, const Records& records, Claims& claims);

}  // namespace ranklab::bounds
