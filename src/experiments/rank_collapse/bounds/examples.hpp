// For the tests of the study examples.
#pragma once

#include <array>
#include <numbers>

#include "experiments/kit.hpp"

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
  bool starts_at_45_degrees() const;
};

struct Config : Study {
  // sys1: M = [[1, 0], [2, 1]], Y(0) = I; sys2: M = [[1, 0], [y1.y2, 1]].
  std::string system = "sys1";
  // Values on both sides of the critical values -2, -3/2 and -1.
  std::vector<double> lambda = {-3, -2.5, -2, -1.75, -1.5, -1.25, -1, -0.75, -0.5, 0, 1, 2};
  std::uint64_t layers = 400;  // K
  // sys2: row 2 of Y(0) is (alpha_0, sqrt(1 - alpha_0^2)); in (0, 1].
  double alpha0 = 1 / std::numbers::sqrt2;

  std::vector<Field> flags() override;
  void check() const override;
  Estimate memory() const override;
  Work work() const override;
  std::string title() const override;
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;

  bool selective() const { return system == "sys2"; }
  TwoTokenSystem system_at(double lambda) const;
  std::vector<TwoTokenSystem> systems() const;  // one for each lambda
};

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

/// lambda^2 - a (S C_M + |lambda|)^2 of eq. (7) for Sys-2 at its rate a = r^-2, with S = ||I||_F =
/// sqrt 2 and C_M^2 = 2 + (y_1.y_2)^2.
double margin_of_eq_7(double lambda, double largest_cosine);
/// For -1 < lambda < this value the margin is positive for every cosine: -sqrt 6/(1 + sqrt 6).
inline const double highest_attained = -std::sqrt(6.0) / (1 + std::sqrt(6.0));

}  // namespace ranklab::examples
