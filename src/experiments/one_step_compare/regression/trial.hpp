// One trial of the study regression: what is recorded, and the tolerances that inequalities are judged with.
#pragma once

#include "experiments/one_step_compare/regression/config.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// An inequality between decreases counts as violated beyond this relative excess: many equalities (a full-rank spectral step
/// with m >= k meets its guarantee exactly) are met to rounding alone.
double decrease_tolerance(bool single_precision);

/// Records, all numbers: m, k, n, features, labels (indices into the config's lists); of the steps predicted_ratio,
/// actual_ratio, margin.*, violations.*, of Section 4.4 cond.*, of (1.6) smooth.*, of Section 4.5 diagonal.*. Undefined (NaN)
/// where the gradient is zero to rounding.
TrialRecord regression_trial(const RegressionConfig& config, bool single_precision, const Trial& trial);

}  // namespace ranklab
