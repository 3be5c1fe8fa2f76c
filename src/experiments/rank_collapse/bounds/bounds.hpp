// The study bounds inside: what a trial records, the statements of [LambdaSkip] that it counts, and the way from records to the
// result.
//
// A trial has parts, each with stacks of its own. Curves over the layers belong to one representative stack of each part: that of
// the last sizes in the lists, and for Theorem 4.3 of the first number of tokens: its bound is strictest where they are few.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/text.hpp"
#include "experiments/rank_collapse/bounds/config.hpp"
#include "report/claims.hpp"
#include "run/trials.hpp"

namespace ranklab::bounds {

/// N and d of one stack.
struct Sizes {
  std::uint64_t tokens = 0, dim = 0;
};
/// Every N of the list with every d.
std::vector<Sizes> all_sizes(const BoundsConfig& config);
/// Whether the stack's curves stand for its theorem: the last sizes of the lists.
bool representative(const BoundsConfig& config, Sizes sizes);

/// The settled spec of one bare stack. Switches that the model does not have keep their defaults.
ModelSpec stack_spec(const BoundsConfig& config, const std::string& model, Sizes sizes, const std::string& norm);

// What is recorded of a stack (study.cpp) -----------------------------------------------------------------------------------

/// Counts the case `smaller <= larger`, where rounding may break it by `slack`, and shows larger / smaller where both are
/// positive. Returns whether it is violated.
bool compare(TrialRecord& record, const Statement& statement, double smaller, double larger, double slack);
/// The same for natural logarithms; the slack is relative to their size.
bool compare_logs(TrialRecord& record, const Statement& statement, double smaller, double larger, double slack);

/// A number that every stack has, of which a trial keeps the worst of its sizes.
struct Worst {
  std::string name;           // of the scalar
  double (*badness)(double);  // how bad a number is
};
inline constexpr auto as_large = [](double x) { return x; };
inline constexpr auto as_small = [](double x) { return -x; };
inline constexpr auto away_from_three = [](double x) { return std::abs(x - 3); };

/// Into the record where it is finite and worse than what stands there; NaN stands there until a value is finite.
void keep_worst(TrialRecord& record, const Worst& number, double value);
std::vector<double> worst_of(const Records& records, const Worst& number);

inline constexpr char degenerate_rows[] = "degenerate_rows";  // rows that D set to zero, over all stacks of the trial
void add_degenerate_rows(TrialRecord& record, std::uint64_t rows);

// Theorem 4.1: a skip prevents collapse -------------------------------------------------------------------------------------

namespace thm_4_1 {

inline const std::string prefix = "lambda-skip/thm-4.1/";
inline const Statement cap = {prefix + "cap", "Section 3.1, eq. (4)",
                              "mu^2 <= N, as rows have norm 1: with b > N Theorem 4.1 says nothing"};
inline const Statement threshold = {prefix + "threshold", "Section 4.1",
                                    "eq. (7) is the same as |lambda| > (a + sqrt a) S C_M / (1 - a)"};

inline const Place proof = {prefix + "step-", "Theorem 4.1, proof (Appendix A.4)"};
inline const Misprint cross_term = proof.misprint("cross-term", "mu(Y~)^2 >= lambda^2 mu(Y)^2 - 2 lambda N d S C_M",
                                                  "mu(Y~)^2 >= lambda^2 mu(Y)^2 - 2 |lambda| N sigma_max(C_V) ||M||_2");
inline const Misprint row_normalisation = proof.misprint("row-normalisation", "mu(D Y~)^2 >= mu(Y~)^2 / max_i ||Y~_i||^2",
                                                         "mu(D Y~) >= (mu(Y~) - sqrt(sum_i (||Y~_i|| - mean)^2)) / max_i ||Y~_i||");
inline const Misprint largest_row = proof.misprint("largest-row", "max_i ||Y~_i|| <= S C_M + |lambda|",
                                                   "max_i ||Y~_i|| <= sqrt(N) sigma_max(C_V) max_i ||row i of M||_2 + |lambda|");

inline const Misprint per_layer = Place{prefix, "Theorem 4.1, proof sketch"}.misprint(
    "per-layer", "mu_{k+1}^2 >= (lambda^2 mu_k^2 - 2 lambda N d S C_M) / (S C_M + |lambda|)^2",
    "mu_{k+1}^2 >= (lambda^2 mu_k^2 - 2 |lambda| N sigma_max(C_V) ||M||_2) / (S C_M + |lambda|)^2");
inline const Statement per_layer_turning = {prefix + "per-layer/turning",
                                            "not in the paper; by |x/|x| - y/|y|| <= 2 |x - y|/(|x| + |y|)",
                                            "mu_{k+1} >= mu_k - 2 sqrt(N) sigma_max(C_V) ||M||_2 / |lambda|"};

inline const std::string conclusion = ": mu(Y^K)^2 >= a^K mu(Y^0)^2";
inline const Misprint stack = Place{prefix, "Theorem 4.1"}.misprint(
    "statement", "eq. (7) and mu(Y^0)^2 >= b as printed" + conclusion,
    "eq. (7) and mu(Y^0)^2 >= a^-K 2 |lambda| N sigma_max(C_V) ||M||_2 / (lambda^2 - a (S C_M + |lambda|)^2)" + conclusion);
inline const Statement stack_turning = {
    prefix + "statement/turning", "not in the paper; the per-layer bound, K times",
    "mu(Y^K) >= mu(Y^0) - 2 K sqrt(N) sup sigma_max(C_V) ||M||_2 / |lambda|, where that is positive"};

// Parts of these counts: stacks and rates that meet eq. (7); cases by the sign of lambda; cases that say more than mu >= 0.
inline const std::string meets_7 = prefix + "condition-7";
inline std::string of_sign(const Statement& statement, double lambda) {
  return statement.id + (lambda < 0 ? "/negative" : "/positive");
}
inline std::string informed(const Statement& statement) {
  return statement.id + "/informed";
}

/// The smallest |lambda| at which Theorem 4.1 may say anything at the last sizes: as printed, corrected, and by turning, for
/// which a does not matter.
inline std::string lambda_needed(const std::string& model, double a) {
  return model + ".a=" + series_number(a) + ".lambda_needed";
}
inline std::string lambda_needed_corrected(const std::string& model, double a) {
  return lambda_needed(model, a) + "_corrected";
}
inline std::string lambda_needed_turning(const std::string& model, double = 0) {
  return model + ".lambda_needed_turning";
}

/// Curves: mu over the layers; over lambda, behind the model's name and over sqrt N, mu after the last layer and its lower bounds.
inline std::string mu(const std::string& model, double lambda) {
  return model + ".lambda=" + series_number(lambda) + ".mu";
}
inline constexpr char final_mu[] = ".final_mu", promised_as_printed[] = ".promised_as_printed",
                      promised_by_turning[] = ".promised_by_turning";

}  // namespace thm_4_1

// Theorem 4.2 (A.2): attention with normalised rows -------------------------------------------------------------------------

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

// Theorem A.3: attention without norm ---------------------------------------------------------------------------------------

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

// Theorem 4.3: a selective state-space model with normalised rows -----------------------------------------------------------

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
    place("corrected", "mu(Y^K) <= sqrt(N) (1 - (c lambda_min alpha^(N-1) / (N lambda_max))^2)^(K/2)");
inline const Statement lemma_A_4 = {"lambda-skip/lemma-A.4", "Lemma A.4", "M_ij >= lambda_min phi alpha^N for i >= j"};

inline constexpr char c[] = "thm-4.3.c", lambda_min[] = "thm-4.3.lambda_min", lambda_max[] = "thm-4.3.lambda_max";
inline constexpr char mu_curve[] = "thm-4.3.mu", as_printed_curve[] = "thm-4.3.as_printed",
                      half_exponent_curve[] = "thm-4.3.half_exponent", corrected_curve[] = "thm-4.3.corrected";

}  // namespace thm_4_3

// Theorems A.7 and A.8: an LTI state-space model without norm ---------------------------------------------------------------

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

// Theorem A.10: a selective state-space model without norm ------------------------------------------------------------------

namespace thm_A_10 {

inline const Place place = {"lambda-skip/thm-A.10/", "Theorem A.10"};
inline const Statement as_printed = place("as-printed", "mu(Y^k) <= (sqrt(N) ||W_BC||_F)^((3^(k-1)+1)/2) ||Y^0||_F^(3^k)");
inline const Statement corrected = place("corrected", "the same with the exponent (3^k - 1)/2 of Lemma A.9");
inline const Statement sharper = {place.prefix + "sharper", "not in the paper; |entries of 1SS(alpha)| <= 1",
                                  "mu(Y^k) <= ||W_BC||_F^((3^k-1)/2) ||Y^0||_F^(3^k)"};
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

// From a trial to the result ------------------------------------------------------------------------------------------------

/// Small cases, worked by hand, in which printed statements or steps of their proofs fail. They go through the same judges as the
/// random stacks, under the same names, and are counted once per run.
TrialRecord worked_examples();

/// All parts, for every model and size of the lists.
TrialRecord run_trial(const BoundsConfig& config, bool single_precision, const Trial& trial);

void judge(const BoundsConfig& config, const Records& records, Claims& claims);

Result report(const BoundsConfig& config, const Records& records);

}  // namespace ranklab::bounds
