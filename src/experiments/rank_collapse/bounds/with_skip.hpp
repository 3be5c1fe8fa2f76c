// [LambdaSkip] Theorem 4.1, a skip prevents collapse: its statements, its bounds (as printed in the
// text used here, and corrected) as functions of measured quantities, and the stacks that test
// them; Theorem 4.1 as a rule for the choice of lambda, with one lambda_k for each layer, as the
// text after Remark 4.1 allows; and one lambda for Mamba with the numbers of Remark 4.1.
//
// Y (d, N) has one of N tokens of dimension d per column. M (N, N) has row i for output token i.
// C_V is (d, d). mu is that of [LambdaSkip] eq. (5).
#pragma once

#include "experiments/rank_collapse/bounds/bounds.hpp"

namespace ranklab::bounds {

// Theorem 4.1: statements -------------------------------------------------------------------------

namespace thm_4_1 {

inline const std::string statement_id = lambda_skip::thm_4_1, prefix = statement_id + "/",
                         absolute_value = prefix + "absolute-value";  // a slip
inline const Place place = {statement_id, prefix, "Theorem 4.1"};
inline const Statement cap =
    ours(place, "cap", "rows have norm 1", "mu^2 <= N; if b > N, Theorem 4.1 is vacuous");
inline const Statement threshold = {
    lambda_skip::section_4_1_threshold, prefix + "threshold", "Section 4.1, after Theorem 4.1",
    "Eq. (7) is equivalent to |lambda| > (a + sqrt a) S C_M / (1 - a)"};

inline const Place proof = {statement_id, prefix, "Theorem 4.1, proof (Appendix A.4)", Part::proof};
inline const Misprint cross_term = proof.misprint(
    absolute_value, "step-cross-term", "mu(Y~)^2 >= lambda^2 mu(Y)^2 - 2 lambda N d S C_M",
    "mu(Y~)^2 >= lambda^2 mu(Y)^2 - 2 |lambda| N sigma_max(C_V) ||M||_2");
inline const Misprint row_normalization =
    proof.misprint(prefix + "row-normalization", "step-row-normalisation",
                   "mu(D Y~)^2 >= mu(Y~)^2 / max_i ||Y~_i||^2",
                   "mu(D Y~) >= (mu(Y~) - sqrt(sum_i (||Y~_i|| - mean)^2)) / max_i ||Y~_i||");
inline const Misprint largest_row =
    proof.misprint(prefix + "largest-row", "step-largest-row", "max_i ||Y~_i|| <= S C_M + |lambda|",
                   "max_i ||Y~_i|| <= sqrt(N) sigma_max(C_V) max_i ||row i of M||_2 + |lambda|");

inline const Misprint per_layer = proof.misprint(
    absolute_value, "per-layer",
    "mu_{k+1}^2 >= (lambda^2 mu_k^2 - 2 lambda N d S C_M) / (S C_M + |lambda|)^2; false for lambda "
    "< 0 only",
    "mu_{k+1}^2 >= (lambda^2 mu_k^2 - 2 |lambda| N sigma_max(C_V) ||M||_2) / (S C_M + |lambda|)^2");
inline const Misprint per_layer_sketch =
    Place{statement_id, prefix, "Theorem 4.1, proof sketch", Part::proof}.misprint(
        prefix + "sketch-s", "per-layer/sketch",
        "mu_{k+1}^2 >= (lambda^2 mu_k^2 - 2 lambda N d C_M) / (S C_M + |lambda|)^2 for lambda > 0",
        "mu_{k+1}^2 >= (lambda^2 mu_k^2 - 2 lambda N d S C_M) / (S C_M + |lambda|)^2 for lambda > "
        "0");
inline const Statement per_layer_turning =
    ours(place, "per-layer/turning", "by |x/|x| - y/|y|| <= 2 |x - y|/(|x| + |y|)",
         "mu_{k+1} >= mu_k - 2 sqrt(N) sigma_max(C_V) ||M||_2 / |lambda|");

inline const std::string conclusion = "mu(Y^K)^2 >= a^K mu(Y^0)^2 if eq. (7) holds and ";
inline const Misprint stack = place.misprint(
    absolute_value, "statement",
    conclusion + "mu(Y^0)^2 >= b as printed, without |lambda|; false for lambda < 0 only",
    conclusion +
        "mu(Y^0)^2 >= a^-K 2 |lambda| N sigma_max(C_V) ||M||_2 / (lambda^2 - a (S C_M + "
        "|lambda|)^2)");
inline const Statement stack_turning =
    ours(place, "statement/turning", "the per-layer bound, K times",
         "mu(Y^K) >= mu(Y^0) - 2 K sqrt(N) sup sigma_max(C_V) ||M||_2 / |lambda|, if the "
         "right-hand side is positive");

// Further tallies: the pairs of stack and rate that meet eq. (7); the cases by the sign of lambda;
// and the cases whose bound is nontrivial, that is, above 0.
inline const std::string meets_7 = prefix + "condition-7";
inline std::string sign_tally(const Statement& statement, double lambda) {
  return statement.id + (lambda < 0 ? "/negative" : "/positive");
}
inline std::string nontrivial_tally(const Statement& statement) {
  return statement.id + "/informed";
}

/// Scalars: the smallest |lambda| at which Theorem 4.1 can apply at the last sizes, as printed,
/// corrected, and for the turning bound, which does not depend on a.
inline Quantity lambda_needed(const std::string& model, double a) {
  constexpr Measure as_printed = {"lambda_needed", "|lambda|",
                                  "smallest strength at which Theorem 4.1 can apply, as printed"};
  return At("model", model) / At("a", a) / as_printed;
}
inline Quantity lambda_needed_corrected(const std::string& model, double a) {
  constexpr Measure corrected = {"lambda_needed_corrected", "|lambda|",
                                 "smallest strength at which Theorem 4.1 can apply, corrected"};
  return At("model", model) / At("a", a) / corrected;
}
inline Quantity lambda_needed_turning(const std::string& model, double = 0) {
  constexpr Measure turning = {"lambda_needed_turning", "|lambda|",
                               "smallest strength at which our bound can be positive"};
  return At("model", model) / turning;
}

/// Curves: mu over the layers; and over lambda, at the model, mu / sqrt N after the last layer. Its
/// lower bounds are closed forms, over `Config::strengths`, with the norms of the stack with the
/// strongest skip.
inline Quantity mu(const std::string& model, double lambda) {
  constexpr Measure spread = {"mu", "mu(Y)", "distance of the tokens from their mean"};
  return At("model", model) / At("lambda", lambda) / spread;
}
inline constexpr Measure
    final_mu = {"final_mu", "mu(Y^K)/sqrt(N)",
                "distance of the tokens from their mean after the last layer, over sqrt N"},
    promised_as_printed = {"promised_as_printed", "",
                           "lower bound of Theorem 4.1 on mu after the last layer as printed, over "
                           "sqrt N, at the best a in (0, 1)"},
    promised_by_turning = {"promised_by_turning", "",
                           "our lower bound on mu after the last layer, over sqrt N"};

}  // namespace thm_4_1

// Bounds ------------------------------------------------------------------------------------------

/// The norms of a stack, or of one layer, that enter Theorem 4.1.
struct StackNorms {
  double N = 0.0, d = 0.0;
  double S = 0.0;    // sup ||C_V||_F
  double C_M = 0.0;  // sup ||M||_F
  double tau = 0.0;  // sup sigma_max(C_V) ||M||_2, at most S C_M
  double row = 0.0;  // sup sigma_max(C_V) max_i ||row i of M||_2, at most tau

  double mix() const { return S * C_M; }
  /// Makes these the suprema over one more layer of the same N and d.
  void cover(const StackNorms& layer);
};

/// The left-hand side of eq. (7), lambda^2 - a (S C_M + |lambda|)^2 > 0.
inline double margin_7(double lambda, double a, double mix) {
  return square(lambda) - a * square(mix + std::abs(lambda));
}
inline bool condition_7(double lambda, double a, double mix) {
  return margin_7(lambda, a, mix) > 0;
}

/// (a + sqrt a) S C_M / (1 - a): by Section 4.1, eq. (7) requires a larger |lambda|.
inline double threshold_7(double a, double mix) {
  return (a + std::sqrt(a)) * mix / (1 - a);
}

/// Strengths this close to the threshold of eq. (7), on both sides of it, show its constant.
inline constexpr double near_threshold = 1e-6;

/// b = a^-K 2 lambda N d S C_M / (lambda^2 - a (S C_M + |lambda|)^2). Requires eq. (7). Negative
/// for lambda < 0.
inline double hypothesis_printed(double lambda, double a, double K, const StackNorms& norms) {
  return std::pow(a, -K) * 2 * lambda * norms.N * norms.d * norms.mix() /
         margin_7(lambda, a, norms.mix());
}

/// The same with |lambda|, and with tau in place of d S C_M.
inline double hypothesis_corrected(double lambda, double a, double K, const StackNorms& norms) {
  return std::pow(a, -K) * 2 * std::abs(lambda) * norms.N * norms.tau /
         margin_7(lambda, a, norms.mix());
}

/// The smallest |lambda| at which b is at most N, the largest possible mu^2, so that Theorem 4.1
/// can apply. It is the larger root of (1 - a) x^2 - 2 (a mix + p) x - a mix^2 = 0, where p is the
/// factor of the cross term.
inline double lambda_for(double a, double mix, double p) {
  const double half = a * mix + p;
  return (half + std::sqrt(half * half + (1 - a) * a * mix * mix)) / (1 - a);
}
inline double lambda_for_printed(double a, double K, const StackNorms& norms) {
  return lambda_for(a, norms.mix(), std::pow(a, -K) * norms.d * norms.mix());
}
inline double lambda_for_corrected(double a, double K, const StackNorms& norms) {
  return lambda_for(a, norms.mix(), std::pow(a, -K) * norms.tau);
}
/// The |lambda| above which `turning_bound` is positive for mu = sqrt N.
inline double lambda_for_turning(double K, const StackNorms& norms) {
  return 2 * K * norms.tau;
}

/// mu^2 after one layer is at least (lambda^2 mu^2 - 2 lambda N d S C_M) / (S C_M + |lambda|)^2.
inline double layer_printed(double mu, double lambda, const StackNorms& norms) {
  return (square(lambda * mu) - 2 * lambda * norms.N * norms.d * norms.mix()) /
         square(norms.mix() + std::abs(lambda));
}

/// The same without S in the cross term, as the proof sketch prints it.
inline double layer_sketched(double mu, double lambda, const StackNorms& norms) {
  return (square(lambda * mu) - 2 * lambda * norms.N * norms.d * norms.C_M) /
         square(norms.mix() + std::abs(lambda));
}

/// The same with |lambda|, and with tau in place of d S C_M. The printed proof does not give this
/// bound, because it compares every row with the largest row; the derivation in the catalog does
/// (lambda-skip/thm-4.1/absolute-value).
inline double layer_corrected(double mu, double lambda, const StackNorms& norms) {
  return (square(lambda * mu) - 2 * std::abs(lambda) * norms.N * norms.tau) /
         square(norms.mix() + std::abs(lambda));
}

/// mu after K layers is at least mu - 2 K sqrt(N) tau / |lambda|, for every mu, because
/// |x/|x| - y/|y|| <= 2 |x - y| / (|x| + |y|) bounds the chords by 2 s_i and mu is a seminorm. Not
/// in the paper.
inline double turning_bound(double K, double mu, double lambda, const StackNorms& norms) {
  return mu - 2 * K * std::sqrt(norms.N) * norms.tau / std::abs(lambda);
}

// Judging one layer and one stack -----------------------------------------------------------------

/// Norms of C_V, which are the same for all skips.
struct ValueNorms {
  double frobenius = 0.0, largest = 0.0;  // ||C_V||_F, sigma_max(C_V)
};
ValueNorms value_norms(const arma::mat& C_V);

/// One layer of a bare stack, with the intermediate quantities that the proof of Theorem 4.1 uses.
struct Layer {
  StackNorms norms;
  double lambda = 0.0;
  double mu = 0.0;           // of the input Y
  double mu_mixed = 0.0;     // of Y~ = M Y C_V + lambda Y
  double mu_next = 0.0;      // of D Y~
  double largest_row = 0.0;  // max_i ||Y~_i||
  double row_spread = 0.0;   // sqrt(sum_i (||Y~_i|| - their mean)^2)
};

/// `next` (d, N) is D Y~ as the stack computed it.
Layer open_layer(const arma::mat& Y, const arma::mat& M, const arma::mat& C_V,
                 const ValueNorms& values, double lambda, const arma::mat& next);

/// Counts every inequality about one layer with lambda != 0, as printed and corrected.
void judge_layer(const Layer& layer, double slack, TrialRecord& record);

/// A stack of K layers, with the suprema over these layers.
struct StackEnd {
  StackNorms norms;
  double lambda = 0.0, K = 0.0, mu_0 = 0.0, mu_K = 0.0;
};
/// Counts whether eq. (7) fails just below its threshold and holds just above it, at every collapse
/// rate a.
void judge_threshold(const StackNorms& norms, const std::vector<double>& a, TrialRecord& record);

/// Counts Theorem 4.1 for a stack at every collapse rate a: eq. (7), b, and the conclusion.
void judge_stack(const StackEnd& end, const std::vector<double>& a, double slack,
                 TrialRecord& record);

// The part of a trial, and the claims -------------------------------------------------------------

/// Judges one stack of `model` per skip strength. All stacks have the same weights
/// and the same input.
void judge_skips(const Config& config, const std::string& model, Sizes sizes, const Trial& trial,
                 TrialRecord& record);

void judge_theorem_4_1(const StackClaims& stacks);

// One lambda for each layer -----------------------------------------------------------------------

namespace layer_lambda {

inline const Place place = {lambda_skip::section_4_1_own_lambda, "lambda-skip/thm-4.1/own-lambda/",
                            "Section 4.1, after Remark 4.1"};
// The text prints mu_{k+1} >= a mu_k, without the squares of Definition 4.1. This is weaker,
// because a < 1.
inline const Statement as_printed = showing(
    lambda_skip::section_4_1_own_lambda_absolute_value,
    place(
        "layer/as-printed",
        "mu_{k+1} >= a mu_k if lambda_k meets the adapted eq. (7) and mu_k^2 >= 2 lambda_k N d "
        "S_k C_Mk / (lambda_k^2 - a (S_k C_Mk + |lambda_k|)^2), the printed b without |lambda_k|; "
        "false for lambda_k < 0 only"));
inline const Statement layer = correcting(
    as_printed,
    place("layer",
          "mu_{k+1}^2 >= a mu_k^2 if lambda_k meets the adapted eq. (7) and mu_k^2 >= 2 |lambda_k| "
          "N d S_k C_Mk / (lambda_k^2 - a (S_k C_Mk + |lambda_k|)^2)"));
inline const Statement stack = correcting(
    as_printed,
    place("stack",
          "mu(Y^K)^2 >= (prod_k a_k) mu(Y^0)^2, with one rate or with different rates, if every "
          "lambda_k meets the adapted eq. (7) and mu_k^2 meets the corrected condition of its own "
          "layer"));
inline const Statement layer_sharper =
    ours(place, "layer/sharper", "a weaker condition",
         "mu_{k+1}^2 >= a mu_k^2 if lambda_k meets the adapted eq. (7) and mu_k^2 >= 2 |lambda_k| "
         "N sigma_max(C_V) ||M||_2 / (lambda_k^2 - a (S_k C_Mk + |lambda_k|)^2)");
inline const Statement saves =
    ours(place, "saves", "mu_k^2 >= a^k mu_0^2",
         "No lambda_k is larger than the one lambda that Theorem 4.1 requires for all layers, with "
         "our weaker condition");

/// Curves over 1 - a, for the last sizes. The second one is undefined beyond the range of --lambda.
inline constexpr Measure largest = {"largest_own_lambda", "max_k |lambda_k|",
                                    "largest strength if each layer has its own"},
                         single = {"one_lambda", "|lambda|",
                                   "the one strength that Theorem 4.1 requires for all layers"};

}  // namespace layer_lambda

/// The condition on mu_k: as the text has it, or ours with tau in place of d S C_M.
enum class Condition { of_the_text, sharper };

/// The smallest |lambda| at which the condition of one layer holds with the rate a. Infinite if mu
/// is 0.
double layer_lambda_for(double a, double mu, const StackNorms& norms, Condition condition);

/// Stacks of `model` in which every layer gets its own lambda_k, with each sign: 1 % above
/// layer_lambda_for, by either condition.
void judge_layer_lambdas(const Config& config, const std::string& model, Sizes sizes,
                         const Trial& trial, TrialRecord& record);

void judge_layer_lambda_claims(const StackClaims& stacks);

// Remark 4.1 --------------------------------------------------------------------------------------

namespace remark_4_1 {

// The numbers of the remark.
inline constexpr double rate = 0.9999, largest_in_figure_2 = 5;
inline constexpr std::uint64_t layers = 64;

inline const Place place = {lambda_skip::remark_4_1, "/", "Remark 4.1"};
inline const Misprint value_norm = [] {
  Place number = place;
  number.kind = Kind::printed_number;
  number.part = Part::definition;
  return number.misprint(place.prefix + "S", "S",
                         "S = sup ||C_V||_F is 1 in Mamba, where C_V = I; S at the largest width d",
                         "S = sup ||C_V||_F is sqrt d in Mamba, where C_V = I; S at the largest "
                         "width d");
}();
inline const Statement below_1 =
    place("rate-below-1", "Eq. (7) has a solution lambda if and only if a < 1, in Mamba");
inline const Statement prevents =
    place("prevents",
          "mu(Y^64)^2 >= 0.9999^64 mu(Y^0)^2 in Mamba if lambda meets eq. (7) with a = 0.9999 and "
          "S = 1, and mu(Y^0)^2 >= b = a^-64 2 |lambda| N d C_M / (lambda^2 - a (C_M + "
          "|lambda|)^2)");
inline const Statement prevents_sharper =
    ours(place, "prevents/sharper", "a weaker condition",
         "mu(Y^64)^2 >= 0.9999^64 mu(Y^0)^2 in Mamba if lambda meets eq. (7) with a = 0.9999 and S "
         "= sqrt d, and mu(Y^0)^2 >= a^-64 2 |lambda| N ||M||_2 / (lambda^2 - a (sqrt(d) C_M + "
         "|lambda|)^2)");
// Section 5.1 calls the condition of Theorem 4.1 conservative for the models of Figure 2, which are
// not of the form of eq. (6).
inline const Statement in_figure_2 = beyond(
    Statement{lambda_skip::section_5_1_conservative, place.prefix + "fig-2",
              "not in the paper, which speaks of ALBERT and Mamba-2",
              "mu/||Y||_F after 64 layers of the selective stack of eq. (6), at |lambda| = 5, "
              "the largest of Figure 2, is above 0.1, although eq. (7) with a = 0.9999 and S "
              "= 1 requires a larger |lambda|"});
inline constexpr double least_mu = 0.1;
// "Much smaller": 5 is at most a tenth of what eq. (7) requires.
inline constexpr double much_larger = 10 * largest_in_figure_2;

/// Scalars at the last sizes.
inline constexpr Measure
    S = {"remark-4.1.S", "S", "Frobenius norm of C_V"},
    lambda_printed = {"remark-4.1.lambda_needed", "|lambda|",
                      "smallest strength that meets eq. (7) with S = 1"},
    lambda_corrected = {"remark-4.1.lambda_needed_corrected", "|lambda|",
                        "smallest strength at which our weaker condition on mu(Y^0) holds"},
    mu_at_5 = {"remark-4.1.mu_at_5", "mu(Y)/||Y||_F",
               "after 64 layers at lambda = 5 and -5: the smaller distance of the tokens from "
               "their mean over their norm"},
    residual_at_5 = {"remark-4.1.rank_one_residual_at_5", "1 - sigma_1(Y)^2/||Y||_F^2",
                     "after 64 layers at lambda = 5 and -5: the smaller squared distance from rank "
                     "one over the squared norm"};

}  // namespace remark_4_1

/// Counts whether eq. (7) fails with a = 1 and holds with a rate just below 1, at a |lambda| of 1e6
/// S C_M.
void judge_rates(double mix, TrialRecord& record);

/// Counts the conclusion of Remark 4.1 for a stack that ended, under the condition of the remark
/// and under ours, each if it holds.
void judge_remark(const StackEnd& end, double slack, TrialRecord& record);

/// Selective stacks of 64 layers with C_V = I, rows normalized, for Gaussian tokens and for tokens
/// in a cone: lambda with each sign, 1 % above the smallest |lambda| of either condition; and for
/// Gaussian tokens of the last sizes at the largest |lambda| of Figure 2.
void judge_mamba(const Config& config, Sizes sizes, const Trial& trial, TrialRecord& record);

void judge_remark_claims(const StackClaims& stacks);

// Footnote 2 of Section 4.1: the size of C_M ------------------------------------------------------

namespace footnote_2 {
inline const Place place = {lambda_skip::section_4_1_footnote_2, "/", "Section 4.1, footnote 2"};
inline const Misprint selective = place.misprint(
    lambda_skip::section_4_1_footnote_2_selective, "selective-ssm",
    "C_M >= ||W_B||_2 ||W_C||_F in selective state-space models; the largest ||M||_F of any input "
    "over the right-hand side, for N = 2, d = 4, W_B = W_C = I",
    "||M||_F <= N ||W_C W_B'||_2 in selective state-space models with normalized rows");
inline const Statement attention = place("attention", "||M||_F <= sqrt N in attention");
}  // namespace footnote_2

void judge_footnote_2(const StackClaims& stacks);

// Lemma A.1 ---------------------------------------------------------------------------------------

inline const Misprint lemma_A_1 =
    Place{lambda_skip::lemma_A_1, "lambda-skip/", "Lemma A.1"}.misprint(
        lambda_skip::lemma_A_1_shape, "lemma-A.1",
        "||AB||_F >= sigma_min(B) ||A||_F for A (m, n) and B (n, p), where sigma_min(B) is the "
        "smallest of the min(n, p) singular values of B",
        "||AB||_F >= sqrt(lambda_min(BB')) ||A||_F, where BB' is (n, n): this is sigma_min(B) if p "
        ">= "
        "n, and 0 if p < n");

/// Counts Lemma A.1 for A (m, n) and B (n, p).
void judge_product(const arma::mat& A, const arma::mat& B, double slack, TrialRecord& record);

/// Gaussian A (N, d) with Gaussian B (d, p), for p below, at and above d; and for each B the row A
/// for which ||AB|| / ||A|| is smallest.
void judge_products(Sizes sizes, const Trial& trial, TrialRecord& record);

void judge_lemma_A_1(const StackClaims& stacks);

}  // namespace ranklab::bounds
