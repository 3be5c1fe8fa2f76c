// [Spectral] Lemma 2.9, for the studies that embed tokens: a sequence X (d, n) of token embeddings x_t with
// (1 - eps) d <= ||x_t||^2 <= (1 + eps) d, whose commonest token has the frequency p_max, has
//
//   st(X) <= (1 + eps) / (1 - eps) / p_max
#pragma once

#include <functional>

#include "core/record.hpp"
#include "report/claims.hpp"

namespace ranklab {

inline const Statement lemma_2_9 = {
    "spectral/lemma-2.9", "Lemma 2.9",
    "st(X) <= (1 + eps)/(1 - eps)/p_max, where (1 - eps) d <= ||x_t||^2 <= (1 + eps) d for every t"};

/// What the lemma speaks of, as one trial measured it.
struct EmbeddedSequence {
  double stable_rank;     // st(X)
  double norm_deviation;  // eps, the largest | ||x_t||^2 / d - 1 |
  double inverse_p_max;
};

/// The right-hand side; NaN for eps >= 1, where the lemma says nothing.
double embedding_bound(double eps, double inverse_p_max);

/// How far rounding may carry st(X) above its bound, relative: where X is held in single precision, its entries alone move st(X) by
/// up to (1 + sqrt(st(X))) epsilon, while eps is measured in double.
double embedding_slack(bool single_precision);

/// A case for each trial with eps < 1; `single_precision` is that of X.
void judge_lemma_2_9(const Records& records, const std::function<EmbeddedSequence(const TrialRecord&)>& measured,
                     bool single_precision, Claims& claims);

}  // namespace ranklab
