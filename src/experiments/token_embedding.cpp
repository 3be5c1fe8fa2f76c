#include "experiments/token_embedding.hpp"

#include <cmath>

#include "core/text.hpp"
#include "core/tolerances.hpp"
#include "core/undefined.hpp"

namespace ranklab {

double embedding_bound(double eps, double inverse_p_max) {
  return eps < 1 ? (1 + eps) / (1 - eps) * inverse_p_max : undefined;
}

double embedding_slack() {
  return tolerance::residual<double>;
}

void judge_lemma_2_9(const Records& records,
                     const std::function<EmbeddedSequence(const TrialRecord&)>& measured,
                     Claims& claims) {
  Tally eps;
  const Tally over_bound = tally_of(records, [&](const TrialRecord& record, Tally& tally) {
    const EmbeddedSequence X = measured(record);
    eps.count(false, X.norm_deviation);
    const double ratio = X.stable_rank / embedding_bound(X.norm_deviation, X.inverse_p_max);
    if (X.norm_deviation < 1) tally.count(!(ratio <= 1 + embedding_slack()), ratio);
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
