// [Spectral] Lemma 2.9, for the studies that embed tokens. If a sequence X (d, n) of token
// embeddings x_t satisfies (1 - eps) d <= ||x_t||^2 <= (1 + eps) d and its most frequent token has
// the frequency p_max, then
//
//   st(X) <= (1 + eps) / (1 - eps) / p_max
#pragma once

#include <functional>

#include "core/record.hpp"
#include "report/claims.hpp"

namespace ranklab {

inline const Statement lemma_2_9 = {
    "spectral/lemma-2.9", "spectral/lemma-2.9", "Lemma 2.9",
    "st(X) <= (1 + eps)/(1 - eps)/p_max if (1 - eps) d <= ||x_t||^2 <= (1 + eps) d for every t"};

/// The quantities of the lemma, as measured in one trial.
struct EmbeddedSequence {
  double stable_rank;     // st(X)
  double norm_deviation;  // eps, the largest | ||x_t||^2 / d - 1 |
  double inverse_p_max;
};

/// The right-hand side of the lemma; NaN for eps >= 1, to which the lemma does not apply.
double embedding_bound(double eps, double inverse_p_max);

/// The relative excess of st(X) over its bound that rounding can cause.
double embedding_slack();

/// Judges one case for each trial with eps < 1.
void judge_lemma_2_9(const Records& records,
                     const std::function<EmbeddedSequence(const TrialRecord&)>& measured,
                     Claims& claims);

}  // namespace ranklab
