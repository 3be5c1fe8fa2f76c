// The two systems of the study examples: a trajectory of [LambdaSkip] eq. (6) and its exact form.
//
// In both systems M + lambda I is lower triangular, so row 1 remains a multiple of e1. With s_k =
// sign(1 + lambda)^k and x_k, the ratio of the entries of row 2,
//   Y(k) = s_k [ 1, 0 ; x_k/h_k, 1/h_k ],  h_k = sqrt(1 + x_k^2),
//   Sys-1: x_0 = 0, x_(k+1) = x_k + 2/(1 + lambda) sqrt(1 + x_k^2)
//   Sys-2: x_k = r^k alpha_0/beta_0, r = (2 + lambda)/(1 + lambda)
// Row 1 . row 2 = x_k/h_k, so mu(k)^2 = 1 - x_k/h_k. Y(k) tends to rank one if |x_k| -> infinity,
// but mu tends to 0 only if x_k > 0.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/record.hpp"
#include "experiments/rank_collapse/examples/config.hpp"
#include "run/trials.hpp"

namespace ranklab::examples {

/// A two-token system at one lambda.
struct TwoTokenSystem {
  bool selective = false;  // Sys-2
  double lambda = 0.0;
  double alpha0 = 0.0, beta0 = 1.0;  // row 2 of Y(0), a unit vector

  double ratio() const { return (2 + lambda) / (1 + lambda); }  // r of Sys-2
  /// Norm of the shorter row of M Y(0) + lambda Y(0), before D.
  double shortest_row() const;
  /// True if a row becomes zero, to the accuracy of D, so that D is undefined: lambda = -1, or
  /// lambda = -2 with alpha_0 = 1.
  bool is_degenerate() const;
};

TwoTokenSystem two_token_system(const ExamplesConfig& config, double lambda);

/// Y(k) in terms of s_k and x_k, for the exact form or the misprinted one.
struct TwoTokenForm {
  double sign_first = 1.0, sign_second = 1.0;  // of rows 1 and 2
  double x = 0.0;                              // may be infinite

  std::array<double, 4> Y() const;  // row by row
  double mu() const;                // for rows of equal sign
};

/// The exact form at layers 0 to `layers`. Requires a system that is not degenerate.
std::vector<TwoTokenForm> exact_forms(const TwoTokenSystem& system, std::uint64_t layers);

/// The form that [LambdaSkip] prints: eq. (13) of Appendix A.10, or the display of Appendix A.11.
/// Row 1 is (1, 0) at every layer, and in eq. (13) x_k is the positive root sqrt(alpha_k - 1).
std::vector<TwoTokenForm> printed_forms(const TwoTokenSystem& system, std::uint64_t layers);

/// Counts one case at layer k. `deviation` is the difference between measured and expected value;
/// it is a violation if it exceeds rounding. Does nothing if it is not finite.
void count_deviation(const TwoTokenSystem& system, std::uint64_t k, double deviation, Tally& tally);

/// The trajectory of eq. (6) computed by the recursion. Entry k of an array is about Y(k).
struct TwoTokenPath {
  // As token_geometry defines them; the residual is undefined for a zero matrix.
  std::vector<double> mu, rank_one_residual;
  std::vector<double> mu_closed_form;  // mu of the exact form; undefined for a degenerate system
  // Tallies of the largest |entry of Y(k) - entry of the form| at each layer; empty for a
  // degenerate system.
  Tally exact, printed;
  std::uint64_t degenerate_rows = 0;  // rows that D set to zero
};

TwoTokenPath iterate(const TwoTokenSystem& system, std::uint64_t layers, const Trial& trial);

}  // namespace ranklab::examples
