// The fixed path of the study escalation-rate, and one trial's redraw of step 1 along it.
//
// W acts on the span of the tokens alone. In an orthonormal basis Q (d, r) of it, r = min(d, N), X = QR and W'X = (Q'W)'R, where
// the entries of Q'W (r, d) are independent and normal as those of W are: a trial draws Q'W in the place of W.
#pragma once

#include <armadillo>
#include <vector>

#include "experiments/rank_collapse/escalation/config.hpp"
#include "linalg/similarity.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// One block of the path: its input X (d, N), the triangular factor R (r, N) of X, and the heads' P' (N, N).
template <class T>
struct FixedBlock {
  arma::Mat<T> X, R;
  std::vector<arma::Mat<T>> P;
  TokenParts parts;  // of X
};

/// What all trials share.
template <class T>
struct FixedPath {
  std::vector<FixedBlock<T>> blocks;  // up to a divergence
  /// Over states 0 ... K `token_similarity`, `token_diversity`; over blocks `omega`, `delta`, `mu_1`, `mu_2` (squared) and their
  /// bounds `mu_1_bound`, `mu_2_bound`, `lambda_2`, `estimate_1`, `estimate_2`, means over heads; `omega_plus_delta`,
  /// `asymmetry`, the largest over heads; the scalars `diverged` and
  /// `degenerate_rows`.
  TrialRecord measures;
};

/// The path in the blocks of `first`, trial 0 of the run.
template <class T>
FixedPath<T> fixed_path(const EscalationConfig& config, const Trial& first);

/// Records the path's measures, and over blocks `xi_1`, `xi_2`, `xi_ratio_minus_1`, `rate` and `identity_error` of eq. (6), all of
/// step 1 with the trial's own W. Streams: `layer<k>.W_in_span`, Q'W.
template <class T>
TrialRecord escalation_rate_trial(const EscalationConfig& config, const FixedPath<T>& path, const Trial& trial);

}  // namespace ranklab
