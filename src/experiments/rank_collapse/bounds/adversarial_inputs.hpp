// [LambdaSkip] Appendix A.13.1: an "adversarial" input can make the tokens of every Transformer and
// every selective state-space model collapse, but not those of an LTI state-space model.
//
// Stacks of four layers without norm and skip, with the weights of the trial. "Collapse" means that
// mu / ||Y||_F is at least 0.1 at the input and falls below a tenth of that. Y (d, N) has one token
// per column.
//
//   LTI        Y^0 = W^(1)^-1 ... W^(4)^-1 Z for tokens Z that differ by a thousandth: exact, of
//   full
//              rank, and possible for every W whose diagonal K[0] is not 0
//   attention  Y^0 times a small number: then M is nearly 1 1'/N
//   selective  multiples y_i v of one direction: M Y = s (y_i^3 + y_i h_i) v with s = v'S v, h_i =
//              sum_{j<i} alpha^(i-j) y_j^2, which grows with y_i and takes every value
#pragma once

#include <armadillo>
#include <cmath>
#include <cstdint>

#include "experiments/rank_collapse/bounds/bounds.hpp"

namespace ranklab::bounds {

namespace adversarial {

inline const std::string prefix = "lambda-skip/section-A.13.1/", source = "Appendix A.13.1";
inline const Place lti = {lambda_skip::section_A_13_1_lti, prefix, source, Part::text},
                   others = {lambda_skip::section_A_13_1_adversarial, prefix, source, Part::text};
inline const char tenth[] = "a tenth of mu / ||Y||_F of the input";
// The sentence is read in two ways. For arbitrary inputs, a violation is a stack for which an input
// was found; the reading by the size of the input holds.
inline const Statement lti_as_printed = showing(
    lambda_skip::section_A_13_1_lti_input,
    lti("lti/as-printed",
        "No input that can be computed from the weights takes mu / ||Y||_F of an LTI state-space "
        "model from at least 0.1 to less than a tenth of its value: only the weights decide"));
inline const Statement lti_size = correcting(
    lti_as_printed,
    lti("lti/corrected",
        "The size of the input does not change mu / ||Y||_F of an LTI state-space model"));
// A violation is a stack for which no input was found.
inline const Statement attention = reading(
    others("attention", "For all weights of attention some input makes the tokens collapse"),
    tenth);
inline const Statement selective = reading(
    others("selective-ssm",
           "For all weights of a selective state-space model some input makes the tokens collapse"),
    tenth);

inline constexpr std::uint64_t layers = 4;

}  // namespace adversarial

/// Tokens Y (d, N) with W Y = Z in the paper's layout, for a lower triangular W (N, N) without
/// zeros on its diagonal.
arma::mat lti_preimage(const arma::mat& W, const arma::mat& Z);

/// The y (N) with s (y_i^3 + y_i h_i) = z_i, h_i = sum_{j<i} alpha^(i-j) y_j^2. s is not 0.
arma::vec selective_preimage(double s, double alpha, const arma::vec& z);

/// log(mu / ||Y||_F) at the input and after the last layer.
struct Collapse {
  double before = 0, after = 0;

  bool defined() const { return !std::isnan(before) && !std::isnan(after); }
  bool occurs() const;
};

/// Counts an LTI stack with its adversarial input, if the numbers are defined.
void judge_lti_input(const Collapse& collapse, TrialRecord& record);

/// All stacks of the trial at these sizes.
void judge_adversarial_inputs(const Config& config, Sizes sizes, const Trial& trial,
                              TrialRecord& record);

void judge_adversarial_claims(const StackClaims& stacks);

}  // namespace ranklab::bounds
