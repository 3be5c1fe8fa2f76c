// State-space models without a skip, in which tokens collapse: [LambdaSkip] Theorems 4.3 (rows
// normalized, tokens in a cone), A.7, A.8 and A.10 (no norm), and Lemmas A.4 to A.6 and A.9.
//
// The symbols are defined in with_skip.hpp. S = W_C W_B' (d, d) is that of a selective state-space
// model, M_ij = alpha^(i-j) y_i'S y_j for i >= j. Bounds that leave the range of a double are
// stored as natural logarithms.
#pragma once

#include "experiments/rank_collapse/bounds/bounds.hpp"

namespace ranklab::bounds {

// Theorem 4.3: a selective state-space model with normalized rows ---------------------------------

namespace thm_4_3 {

inline const Place place = {lambda_skip::thm_4_3, "/", "Theorem 4.3"},
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
          "mu(Y^K) <= sqrt(N) (1 - (c lambda_min alpha^(N-1) / (N lambda_max))^2)^(K/2) if 0 < "
          "alpha <= 1, W_B = W_C and M_ij >= lambda_min phi alpha^(N-1) for i >= j"));
inline const Statement lemma_A_4 =
    showing(lambda_skip::lemma_A_4_off_diagonal,
            Statement{lambda_skip::lemma_A_4, lambda_skip::lemma_A_4, "Lemma A.4",
                      "M_ij >= lambda_min phi alpha^N for i >= j"});
inline const Misprint lambda_min_limit =
    Place{lambda_skip::section_4_2_1_lambda_min, "lambda-skip/section-4.2.1/",
          "Section 4.2.1, after Theorem 4.3"}
        .misprint(
            lambda_skip::section_4_2_1_lambda_min, "lambda-min",
            "mu(Y^K) tends to 0 under the hypotheses of Theorem 4.3 for every lambda_min <= "
            "2/(c^2 alpha^(2N)); its limit for tokens that do not move",
            "mu(Y^K) tends to 0 for every lambda_min > 0 if 0 < alpha <= 1, W_B = W_C and M_ij "
            ">= lambda_min phi alpha^(N-1) for i >= j: mu(Y^K) is at most the corrected bound "
            "of Theorem 4.3");
inline const Statement bound_decays = beyond(
    Statement{lambda_skip::section_4_2_1_lambda_min, "lambda-skip/section-4.2.1/lambda-min/bound",
              "not in the paper, which prints lambda_min for lambda_min^2",
              "The printed bound of Theorem 4.3 decays if and only if lambda_min^2 < 2/(c^2 "
              "alpha^(2N))"});
// Section 4.2.1: without a skip, attention and selective state-space models "can" collapse.
inline const Place no_skip = {lambda_skip::section_4_2_1_no_skip, "/", "Section 4.2.1"};
inline const Statement halving =
    no_skip("selective-ssm",
            "mu(Y^K) <= 2^-K tan(20 degrees)/sqrt 2 in a selective state-space model with "
            "normalized rows and no skip: W_B = W_C = I, alpha = 1, two tokens 20 degrees apart");

inline constexpr Measure c = {"thm-4.3.c", "c",
                              "smallest inner product of two tokens of the input"},
                         lambda_min = {"thm-4.3.lambda_min", "lambda_min",
                                       "smallest eigenvalue of the symmetric part of W_C W_B'"},
                         lambda_max = {"thm-4.3.lambda_max", "lambda_max",
                                       "largest eigenvalue of the symmetric part of W_C W_B'"};
inline constexpr Measure mu_curve = {"thm-4.3.mu", "mu(Y)",
                                     "distance of the tokens from their mean"},
                         as_printed_curve = {"thm-4.3.as_printed", "",
                                             "bound of Theorem 4.3 on mu as printed"},
                         half_exponent_curve = {"thm-4.3.half_exponent", "",
                                                "bound of Theorem 4.3 on mu with the exponent K/2"},
                         corrected_curve = {"thm-4.3.corrected", "",
                                            "corrected bound of Theorem 4.3 on mu"};

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

/// Counts whether the factor of Theorem 4.3 lies between -1 and 1 for lambda_min^2 just below
/// 2/(c^2 alpha^(2N)), and not just above it.
void judge_lambda_min(const SelectiveNorms& norms, TrialRecord& record);

/// `selective-ssm` with W_B = W_C, normalized rows and no skip, for tokens in a cone.
void judge_selective(const Config& config, Sizes sizes, const Trial& trial, TrialRecord& record);

void judge_theorem_4_3(const StackClaims& stacks);

// Theorems A.7 and A.8: an LTI state-space model without norm -------------------------------------

struct LtiNumbers {
  Worst slope, normalized_ratio, rank_one_residual;
  Measure mu_curve, bound_curve, normalized_curve;
};
/// Takes their names.
constexpr LtiNumbers lti_numbers(const char* slope, const char* normalized_ratio,
                                 const char* rank_one_residual, const char* mu, const char* bound,
                                 const char* normalized) {
  return {
      {{slope, "", "slope of log mu per layer for W scaled to norm 0.9, largest over the sizes"},
       larger_is_worse},
      {{normalized_ratio, "", "mu/||Y||_F after the last layer over that of the input"},
       larger_is_worse},
      {{rank_one_residual, "1 - sigma_1(Y)^2/||Y||_F^2",
        "after the last layer: squared distance from rank one over the squared norm"},
       larger_is_worse},
      {mu, "mu(Y)", "distance of the tokens from their mean, for W scaled to norm 0.9"},
      {bound, "", "bound of the theorem on mu, for W scaled to norm 0.9"},
      {normalized, "mu(Y)/||Y||_F",
       "distance of the tokens from their mean over the norm of the tokens"}};
}
struct LtiTheorem : LtiNumbers {
  std::string share_weights;  // on (A.7) | off (A.8)
  Statement bound, norm, normalized;
};
inline LtiTheorem lti_theorem(const LtiNumbers& numbers, const std::string& statement_id,
                              const std::string& number, const std::string& share_weights,
                              const std::string& weights) {
  const Place place = {statement_id, "/", "Theorem " + number},
              remark = {place.statement_id, place.prefix, place.source + ", remark after the proof",
                        Part::text};
  return {numbers, share_weights,
          place("bound", "mu(Y^K) <= prod_k ||W^(k)||_2 ||Y^0||_F with " + weights),
          asymptotic(remark("norm", "mu(Y^K) decays exponentially if ||W||_F < 1, with " + weights +
                                        ": slope of log mu per layer"),
                     falling_line),
          beyond(Statement{place.statement_id, place.prefix + "normalised",
                           "not in the paper, whose rank collapse is about mu",
                           "mu / ||Y||_F vanishes with the depth for all sizes, with " + weights +
                               ": its value after the last layer over that of the input"})};
}
inline const LtiTheorem thm_A_7 =
                            lti_theorem(lti_numbers("thm-A.7.slope", "thm-A.7.normalised_ratio",
                                                    "thm-A.7.rank_one_residual", "thm-A.7.mu",
                                                    "thm-A.7.bound", "thm-A.7.mu_normalized"),
                                        lambda_skip::thm_A_7, "A.7", "on", "one W for all layers"),
                        thm_A_8 = lti_theorem(
                            lti_numbers("thm-A.8.slope", "thm-A.8.normalised_ratio",
                                        "thm-A.8.rank_one_residual", "thm-A.8.mu", "thm-A.8.bound",
                                        "thm-A.8.mu_normalized"),
                            lambda_skip::thm_A_8, "A.8", "off", "a separate W for each layer");

/// `lti-ssm` without norm and skip.
void judge_lti(const Config& config, const LtiTheorem& theorem, Sizes sizes, const Trial& trial,
               TrialRecord& record);

void judge_lti_theorem(const LtiTheorem& theorem, const StackClaims& stacks);

// Theorem A.10: a selective state-space model without norm ----------------------------------------

namespace thm_A_10 {

inline const Place place = {lambda_skip::thm_A_10, "/", "Theorem A.10"};
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
              "norm and skip: each step of log mu is three times the previous one: the factor",
              Part::text},
    cubic_growth);
inline const Place lemma_A_9 = {lambda_skip::lemma_A_9, "/", "Lemma A.9"},
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

inline constexpr Worst growth = {
    {"thm-A.10.growth", "",
     "growth factor of the later steps of log mu, farthest from 3 over the sizes"},
    distance_to_three};
inline constexpr Measure
    rate = {"thm-A.10.rate", "log10(mu(Y^k))/3^k",
            "logarithm of the distance of the tokens from their mean, over 3^k at layer k"},
    rate_as_printed = {"thm-A.10.rate_as_printed", "",
                       "log10 of the bound of Theorem A.10 as printed, over 3^k"},
    rate_corrected = {"thm-A.10.rate_corrected", "",
                      "log10 of the corrected bound of Theorem A.10, over 3^k"};

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

void judge_theorem_A_10(const StackClaims& stacks);

// Lemma A.5 ---------------------------------------------------------------------------------------

inline const Misprint lemma_A_5 =
    Place{lambda_skip::lemma_A_5, "lambda-skip/", "Lemma A.5"}.misprint(
        lambda_skip::lemma_A_5_lambda_max, "lemma-A.5",
        "D_ii >= 1/(N^(3/2) lambda_max) in a selective state-space model with normalized rows and "
        "no "
        "skip, where lambda_max is the largest eigenvalue of (S + S')/2, S = W_C W_B'",
        "D_ii >= 1/(N sigma_max(S))");

/// Counts Lemma A.5 for every row of M Y, with D_ii = 1/||row i of M Y||, and the corrected bound
/// of footnote 2 on ||M||_F. Y (d, N) has unit columns. Rows that D sets to zero are left out, and
/// so is the printed form if lambda_max <= 0.
void judge_scales(const arma::mat& Y, const arma::mat& M, const arma::mat& S, double slack,
                  TrialRecord& record);

/// Selective stacks with S = I + skew (G - G'), for Gaussian G: (S + S')/2 = I, so lambda_min =
/// lambda_max = 1 as Theorem 4.3 allows, but S has larger singular values.
inline constexpr double skews[] = {0, 0.5, 5};
void judge_skewed(const Config& config, Sizes sizes, const Trial& trial, TrialRecord& record);

// Lemma A.6 and Theorem A.8 -----------------------------------------------------------------------

inline const Statement lemma_A_6 = {
    lambda_skip::lemma_A_6, lambda_skip::lemma_A_6, "Lemma A.6",
    "||Y^k||_F <= ||W||_2^k ||Y^0||_F in an LTI state-space model without norm and skip, with one "
    "W for all layers"};
inline const Misprint step_A_8 =
    Place{lambda_skip::thm_A_8, "/", "Theorem A.8, proof", Part::proof}.misprint(
        lambda_skip::thm_A_8_sqrt_n, "step-norm",
        "sqrt(N) ||Y^K||_F <= prod_k ||W^(k)||_F ||Y^0||_F",
        "||Y^K||_F <= prod_k ||W^(k)||_2 ||Y^0||_F");
inline const Statement norm_not_needed = beyond(Statement{
    lambda_skip::section_A_13_1_norm_below_1, lambda_skip::section_A_13_1_norm_below_1,
    "not in the paper, which calls ||W^(k)||_F < 1 sufficient",
    "mu vanishes with the depth in some LTI stacks with ||W||_F = 1.5: ||W||_F < 1 is not "
    "necessary"});
// Counts the stacks with ||W||_F = 1.5; a "violation" is a stack in which mu vanishes.
inline const std::string large_norm_vanishes = norm_not_needed.id + "/vanishes";

/// Logarithms of an LTI stack after k layers with the matrices W^(1), ..., W^(k).
struct LtiLogs {
  double N = 0, k = 0;
  double start = 0, norm = 0;          // log ||Y^0||_F and log ||Y^k||_F
  double spectral = 0, frobenius = 0;  // sums of log ||W||_2 and of log ||W||_F
  double mu_start = 0, mu = 0;         // log mu(Y^0) and log mu(Y^k)
};
/// Counts Lemma A.6, for equal matrices.
void judge_growth(const LtiLogs& logs, double slack, TrialRecord& record);
/// Counts the step of Theorem A.8.
void judge_step_A_8(const LtiLogs& logs, double slack, TrialRecord& record);
/// Counts whether mu vanishes although every W is scaled to ||W||_F = 1.5.
void count_large_norm(const LtiLogs& logs, TrialRecord& record);

void judge_lemma_A_5(const StackClaims& stacks);
void judge_lemma_A_6(const StackClaims& stacks);

}  // namespace ranklab::bounds
