// [LambdaSkip] Theorem 4.1 as a rule for the choice of lambda: one lambda_k for each layer, as the
// text after Remark 4.1 allows, and one lambda for Mamba with the numbers of Remark 4.1.
//
// The symbols and the bounds are defined in with_skip.hpp.
#pragma once

#include <armadillo>
#include <string>
#include <vector>

#include "experiments/rank_collapse/bounds/with_skip.hpp"

namespace ranklab::bounds {

// One lambda for each layer -----------------------------------------------------------------------

namespace own_lambda {

inline const Place place = {"lambda-skip/thm-4.1/own-lambda/", "Section 4.1, after Remark 4.1"};
// The text prints mu_{k+1} >= a mu_k, without the squares of Definition 4.1. This is weaker,
// because a < 1.
inline const Misprint layer =
    place.misprint("layer", "mu_{k+1} >= a mu_k if lambda_k^2 > a (S_k C_Mk + |lambda_k|)^2",
                   "mu_{k+1}^2 >= a_k mu_k^2 if also mu_k^2 >= 2 |lambda_k| N sigma_max(C_V) "
                   "||M||_2 / (lambda_k^2 "
                   "- a_k (S_k C_Mk + |lambda_k|)^2)");
inline const Statement stack = {place.prefix + "stack", place.source,
                                "mu(Y^K)^2 >= (prod_k a_k) mu(Y^0)^2 if every lambda_k meets the "
                                "corrected condition of its own "
                                "layer, with one rate or with different rates"};
inline const Statement saves = {
    place.prefix + "saves", "not in the paper; mu_k^2 >= a^k mu_0^2",
    "No lambda_k is larger than the one lambda that Theorem 4.1 requires for all layers, with its "
    "condition corrected",
    Kind::beyond};

/// Names of curves over 1 - a, for the last sizes: the largest |lambda_k|, and the one |lambda| for
/// all layers, if it is within the range of --lambda.
inline constexpr char largest[] = ".largest_own_lambda", single[] = ".one_lambda";

}  // namespace own_lambda

/// The smallest |lambda| at which the corrected condition of one layer holds with the rate a.
/// Infinite if mu is 0.
double own_lambda_for(double a, double mu, const StackNorms& norms);

/// Stacks of `model` in which every layer gets its own lambda_k, with each sign: 1 % above the
/// threshold of eq. (7), and 1 % above own_lambda_for.
template <class T>
void judge_own_lambdas(const BoundsConfig& config, const std::string& model, Sizes sizes,
                       const Trial& trial, TrialRecord& record);

void judge_own_lambda_claims(const BoundsConfig& config, const Records& records, Claims& claims);

// Remark 4.1 --------------------------------------------------------------------------------------

namespace remark_4_1 {

// The numbers of the remark.
inline constexpr double rate = 0.9999, largest_in_figure_2 = 5;
inline constexpr std::uint64_t layers = 64;

inline const Place place = {"lambda-skip/remark-4.1/", "Remark 4.1"};
inline const Misprint value_norm = place.misprint(
    "S", "S = sup ||C_V||_F = 1 in Mamba, where C_V = I", "S = sqrt d in Mamba, where C_V = I");
inline const Statement below_1 =
    place("rate-below-1", "No lambda meets eq. (7) with a rate a >= 1 in Mamba");
inline const Misprint prevents = place.misprint(
    "prevents",
    "mu(Y^64)^2 >= 0.9999^64 mu(Y^0)^2 in Mamba if lambda meets eq. (7) with a = 0.9999 and S = 1",
    "mu(Y^64)^2 >= 0.9999^64 mu(Y^0)^2 in Mamba if also mu(Y^0)^2 >= a^-64 2 |lambda| N ||M||_2 / "
    "(lambda^2 - a (sqrt(d) C_M + |lambda|)^2)");
inline const Statement in_figure_2 = {
    place.prefix + "fig-2",
    place.source + ", Figure 2",
    "A lambda of Figure 2, |lambda| <= 5, meets eq. (7) with a = 0.9999 and S = 1",
    Kind::theorem,
    {"Figure 2"}};

/// Scalars at the last sizes: the smallest |lambda| that meets eq. (7) with S = 1, and the smallest
/// one at which the corrected condition on mu(Y^0) holds.
inline constexpr char lambda_printed[] = "remark-4.1.lambda_needed",
                      lambda_corrected[] = "remark-4.1.lambda_needed_corrected";

}  // namespace remark_4_1

/// Counts the conclusion of Remark 4.1 for a stack that ended, as printed and corrected, each if
/// its conditions hold.
void judge_remark(const StackEnd& end, double slack, TrialRecord& record);

/// Selective stacks of 64 layers with C_V = I, rows normalized, for Gaussian tokens and for tokens
/// in a cone: lambda with each sign, 1 % above the threshold of the remark, and 1 % above the
/// |lambda| of the corrected condition.
template <class T>
void judge_mamba(const BoundsConfig& config, Sizes sizes, const Trial& trial, TrialRecord& record);

/// Counts the remark for N tokens for which eq. (7) does not suffice: W_C = e_2, W_B = e_1, alpha =
/// 1, and all tokens but the last one equal e_1. Their rows of M are zero. The last one, 45 degrees
/// away, takes the sum of all tokens with equal weights: it turns by up to sqrt(N) C_M / lambda.
void judge_last_token(double N, double slack, TrialRecord& record);

void judge_remark_claims(const Records& records, Claims& claims);

}  // namespace ranklab::bounds
