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

inline const Place place = {"lambda-skip/section-4.1/own-lambda", "lambda-skip/thm-4.1/own-lambda/",
                            "Section 4.1, after Remark 4.1"};
// The text prints mu_{k+1} >= a mu_k, without the squares of Definition 4.1. This is weaker,
// because a < 1.
inline const Statement layer =
    place("layer",
          "mu_{k+1}^2 >= a mu_k^2 if lambda_k meets the adapted eq. (7) and mu_k^2 >= 2 |lambda_k| "
          "N d S_k C_Mk / (lambda_k^2 - a (S_k C_Mk + |lambda_k|)^2)");
inline const Statement stack =
    place("stack",
          "mu(Y^K)^2 >= (prod_k a_k) mu(Y^0)^2, with one rate or with different rates, if every "
          "lambda_k meets the adapted eq. (7) and mu_k^2 meets the condition of its own layer");
inline const Statement layer_sharper =
    ours(place, "layer/sharper", "a weaker condition",
         "mu_{k+1}^2 >= a mu_k^2 if lambda_k meets the adapted eq. (7) and mu_k^2 >= 2 |lambda_k| "
         "N sigma_max(C_V) ||M||_2 / (lambda_k^2 - a (S_k C_Mk + |lambda_k|)^2)");
inline const Statement saves =
    ours(place, "saves", "mu_k^2 >= a^k mu_0^2",
         "No lambda_k is larger than the one lambda that Theorem 4.1 requires for all layers, with "
         "our weaker condition");

/// Names of curves over 1 - a, for the last sizes: the largest |lambda_k|, and the one |lambda| for
/// all layers, if it is within the range of --lambda.
inline constexpr char largest[] = ".largest_own_lambda", single[] = ".one_lambda";

}  // namespace own_lambda

/// The condition on mu_k: as the text has it, or ours with tau in place of d S C_M.
enum class Condition { of_the_text, sharper };

/// The smallest |lambda| at which the condition of one layer holds with the rate a. Infinite if mu
/// is 0.
double own_lambda_for(double a, double mu, const StackNorms& norms, Condition condition);

/// Stacks of `model` in which every layer gets its own lambda_k, with each sign: 1 % above
/// own_lambda_for, by either condition.
void judge_own_lambdas(const Config& config, const std::string& model, Sizes sizes,
                       const Trial& trial, TrialRecord& record);

void judge_own_lambda_claims(const Config& config, const Records& records, Claims& claims);

// Remark 4.1 --------------------------------------------------------------------------------------

namespace remark_4_1 {

// The numbers of the remark.
inline constexpr double rate = 0.9999, largest_in_figure_2 = 5;
inline constexpr std::uint64_t layers = 64;

inline const Place place = {"lambda-skip/remark-4.1", "lambda-skip/remark-4.1/", "Remark 4.1"};
inline const Misprint value_norm = [] {
  Place number = place;
  number.kind = Kind::printed_number;
  return number.misprint(place.prefix + "S", "S", "S = sup ||C_V||_F = 1 in Mamba, where C_V = I",
                         "S = sqrt d in Mamba, where C_V = I");
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
// Section 5.1 calls the condition of Theorem 4.1 conservative, with Figure 2 as its evidence.
inline const Statement in_figure_2 =
    reading(Statement{"lambda-skip/section-5.1/conservative",
                      place.prefix + "fig-2",
                      "Section 5.1, Figure 2",
                      "At |lambda| = 5, the largest of Figure 2, mu/||Y||_F is above 0.1 after 64 "
                      "layers of the selective stack, although eq. (7) with a = 0.9999 and S = 1 "
                      "requires a larger |lambda|",
                      Part::text,
                      Kind::reading,
                      {"Figure 2"}},
            "mu/||Y||_F of 0.1 after 64 layers, at |lambda| = 5");
inline constexpr double least_mu = 0.1;
// "Much smaller": 5 is at most a tenth of what eq. (7) requires.
inline constexpr double much_larger = 10 * largest_in_figure_2;

/// Scalars at the last sizes: ||C_V||_F; the smallest |lambda| that meets eq. (7) with S = 1, and
/// the smallest one at which our weaker condition on mu(Y^0) holds; and, after 64 layers at lambda
/// = 5 and -5, the smaller mu/||Y||_F and the smaller rank-one residual.
inline constexpr char S[] = "remark-4.1.S", lambda_printed[] = "remark-4.1.lambda_needed",
                      lambda_corrected[] = "remark-4.1.lambda_needed_corrected",
                      mu_at_5[] = "remark-4.1.mu_at_5",
                      residual_at_5[] = "remark-4.1.rank_one_residual_at_5";

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

void judge_remark_claims(const Config& config, const Records& records, Claims& claims);

}  // namespace ranklab::bounds
