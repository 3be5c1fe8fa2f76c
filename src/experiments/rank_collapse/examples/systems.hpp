// The two systems of the study examples: one trajectory of [LambdaSkip] eq. (6), and its exact form.
//
// In both systems M + lambda I is lower triangular, so that row 1 stays a multiple of e1 and row 2 keeps the plane. With
// s_k = sign(1 + lambda)^k and x_k, the ratio of row 2's entries,
//   Y(k) = s_k [ 1, 0 ; x_k/h_k, 1/h_k ],  h_k = sqrt(1 + x_k^2),
//   Sys-1: x_0 = 0, x_(k+1) = x_k + 2/(1 + lambda) sqrt(1 + x_k^2)
//   Sys-2: x_k = r^k alpha_0/beta_0, r = (2 + lambda)/(1 + lambda)
// Row 1 . row 2 = x_k/h_k, so that mu(k)^2 = 1 - x_k/h_k: rank one is |x_k| -> infinity, and mu sees it where x_k > 0 alone.
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
  bool selective = false;            // Sys-2
  double flag = 0.0, lambda = 0.0;   // as the flag says it, and as the arithmetic of the run rounds it
  double alpha0 = 0.0, beta0 = 1.0;  // row 2 of Y(0), a unit vector

  double ratio() const { return (2 + lambda) / (1 + lambda); }  // Sys-2's r
  /// Norm of the shorter row of M Y(0) + lambda Y(0), before D.
  double shortest_row() const;
  /// A row becomes zero, to the accuracy of D, which is not defined there: lambda = -1, or lambda = -2 with alpha_0 = 1.
  bool is_degenerate() const;
};

/// `lambda` is rounded to single precision where the run is.
TwoTokenSystem two_token_system(const ExamplesConfig& config, double lambda, bool single_precision);

/// Y(k) of the exact form, or of a misprinted one, by s_k and x_k.
struct TwoTokenForm {
  double sign_first = 1.0, sign_second = 1.0;  // of rows 1 and 2
  double x = 0.0;                              // may be infinite

  std::array<double, 4> Y() const;  // row by row
  double mu() const;                // for rows of equal sign
};

/// The exact form at layers 0 ... `layers`. Needs a system that is not degenerate.
std::vector<TwoTokenForm> exact_forms(const TwoTokenSystem& system, std::uint64_t layers);

/// As [LambdaSkip] prints it: eq. (13) of Appendix A.10, or the display of Appendix A.11. Row 1 is (1, 0) at every layer, and in
/// eq. (13) x_k is the positive root sqrt(alpha_k - 1).
std::vector<TwoTokenForm> printed_forms(const TwoTokenSystem& system, std::uint64_t layers);

/// A case at layer k, where `by` is a number: what was measured misses the expectation by so much, more than rounding or not.
void count_miss(const TwoTokenSystem& system, std::uint64_t k, bool single_precision, double by, Tally& tally);

/// The trajectory of eq. (6) by the recursion itself; entry k of an array is Y(k).
struct TwoTokenPath {
  std::vector<double> mu, rank_one_residual;  // as token_geometry defines them; residual undefined for a zero matrix
  std::vector<double> mu_closed_form;         // of the exact form; undefined where degenerate
  Tally exact, printed;                       // of each layer's largest |entry of Y(k) - entry of the form|; none where degenerate
  std::uint64_t degenerate_rows = 0;          // rows that D set to zero
};

TwoTokenPath iterate(const TwoTokenSystem& system, std::uint64_t layers, bool single_precision, const Trial& trial);

}  // namespace ranklab::examples
