// [Spectral] Lemma 2.9, for the studies that embed tokens. If a sequence X (d, n) of token
// embeddings x_t satisfies (1 - eps) d <= ||x_t||^2 <= (1 + eps) d and its most frequent token has
// the frequency p_max, then
//
//   st(X) <= (1 + eps) / (1 - eps) / p_max
#pragma once

#include <functional>

#include "core/text.hpp"
#include "core/tolerances.hpp"
#include "core/undefined.hpp"
#include "judge/claims.hpp"

namespace ranklab {

inline const Statement lemma_2_9 = {
    spectral::lemma_2_9, spectral::lemma_2_9, "Lemma 2.9",
    "st(X) <= (1 + eps)/(1 - eps)/p_max if (1 - eps) d <= ||x_t||^2 <= (1 + eps) d for every t"};

/// The quantities of the lemma, as measured in one trial.
struct EmbeddedSequence {
  double stable_rank;     // st(X)
  double norm_deviation;  // eps, the largest | ||x_t||^2 / d - 1 |
  double inverse_p_max;
};

/// The right-hand side of the lemma; NaN for eps >= 1, to which the lemma does not apply.
inline double embedding_bound(double eps, double inverse_p_max) {
  return eps < 1 ? (1 + eps) / (1 - eps) * inverse_p_max : undefined;
}

/// The relative excess of st(X) over its bound that rounding can cause.
inline constexpr double embedding_slack = tolerance::residual<double>;

/// Judges one case for each trial with eps < 1.
inline void judge_lemma_2_9(const Records& records,
                            const std::function<EmbeddedSequence(const TrialRecord&)>& measured,
                            Claims& claims) {
  Tally eps;
  const Tally over_bound = tally_of(records, [&](const TrialRecord& record, Tally& tally) {
    const EmbeddedSequence X = measured(record);
    eps.count(false, X.norm_deviation);
    const double ratio = X.stable_rank / embedding_bound(X.norm_deviation, X.inverse_p_max);
    if (X.norm_deviation < 1) tally.count(!(ratio <= 1 + embedding_slack), ratio);
  });
  const std::string unmet =
      say("the lemma needs eps < 1, but in every trial a squared column norm differs from d by a "
          "fraction of at least 1 (at most {}); a larger d lowers it",
          eps.largest);
  if (!claims.applies(lemma_2_9, eps.cases > 0 && over_bound.cases == 0 ? unmet : "")) return;
  claims.never_violated(lemma_2_9, over_bound,
                        over_bound.cases == 0
                            ? ""
                            : say("largest measured eps {}; largest st(X) over its bound {}",
                                  eps.largest, over_bound.largest),
                        WorstCase::largest);
}

}  // namespace ranklab
