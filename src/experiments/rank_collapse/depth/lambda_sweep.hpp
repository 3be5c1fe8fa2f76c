// For the tests of the study lambda-sweep: the strength that keeps the tokens apart, measured on a
// grid, and required by [LambdaSkip] Theorem 4.1.
#pragma once

#include <cstddef>
#include <vector>

namespace ranklab::lambda_sweep {

/// The smallest strength such that it and all larger ones keep the tokens apart lies in (fails,
/// keeps], for one sign. keeps is NaN if the largest strength of the grid does not keep them apart;
/// fails is NaN if all strengths do.
struct SkipBracket {
  double fails, keeps;
};

/// `lambda` is ascending, and `kept` says for each lambda whether the tokens are kept apart. `sign`
/// is +1 or -1. Strengths are absolute values; 0 counts for both signs.
SkipBracket skip_bracket(const std::vector<double>& lambda, const std::vector<bool>& kept,
                         int sign);

/// Evenly spaced strengths inside the bracket, ascending; none if an end is undefined.
std::vector<double> points_inside(const SkipBracket& bracket, std::size_t points);

/// The constants of Theorem 4.1 on a run: S = sup ||C_V||_F, C_M = sup ||M||_F.
struct SkipTheorem {
  double S = 0, C_M = 0;
  double tokens = 0, dim = 0, layers = 0;
  double mu_squared = 0;  // mu(Y^(0))^2

  /// The collapse rate a for which a^K mu(Y^(0))^2 = `least`, the required lower bound on
  /// mu(Y^(K))^2; NaN outside (0, 1).
  double collapse_rate(double least) const;
  /// Eq. (7): abs(lambda) > (a + sqrt a) S C_M / (1 - a).
  double condition_threshold(double a) const;
  /// The smallest abs(lambda) that meets (7) and mu(Y^(0))^2 >= b = a^-K 2 abs(lambda) N d S C_M /
  /// (lambda^2 - a (S C_M + abs(lambda))^2).
  double hypothesis_threshold(double a) const;
};

}  // namespace ranklab::lambda_sweep
