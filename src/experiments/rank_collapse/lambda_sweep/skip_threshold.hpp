// How strong a skip must be: measured on a grid of strengths, and what [LambdaSkip] Theorem 4.1 asks for.
#pragma once

#include <vector>

namespace ranklab::lambda_sweep {

/// Where the grid stands for one sign: the strength from which on every larger one keeps the tokens apart lies in
/// (fails, keeps]. keeps is NaN where not even the largest does; fails is NaN where all do, 0 included.
struct SkipBracket {
  double fails, keeps;
};

/// `lambda` ascending, `kept` likewise; `sign` +1 or -1. Strengths are absolute values; 0 counts for both signs.
SkipBracket skip_bracket(const std::vector<double>& lambda, const std::vector<bool>& kept, int sign);

/// Strengths inside the bracket, evenly spaced, ascending; none where an end is undefined.
std::vector<double> inside(const SkipBracket& bracket, std::size_t points);

/// What Theorem 4.1's constants are on a run: S = sup ||C_V||_F, C_M = sup ||M||_F.
struct SkipTheorem {
  double S = 0, C_M = 0;
  double tokens = 0, dim = 0, layers = 0;
  double mu_squared = 0;  // mu(Y^(0))^2

  /// The collapse rate a at which a^K mu(Y^(0))^2 = `least`, the smallest mu(Y^(K))^2 that is still wanted; NaN outside (0, 1).
  double collapse_rate(double least) const;
  /// Eq. (7): abs(lambda) > (a + sqrt a) S C_M / (1 - a).
  double condition_threshold(double a) const;
  /// The smallest abs(lambda) that meets (7) and mu(Y^(0))^2 >= b = a^-K 2 abs(lambda) N d S C_M / (lambda^2 - a (S C_M +
  /// abs(lambda))^2).
  double hypothesis_threshold(double a) const;
};

}  // namespace ranklab::lambda_sweep
