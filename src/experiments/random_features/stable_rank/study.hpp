// random-features --study stable-rank: the stable rank of post-activations beside [Spectral] Figure 12 and the bounds of
// Theorems 2.6 to 2.8, Lemma 2.9 and eq. (2.15).
#pragma once

#include <memory>

#include "experiments/study.hpp"

namespace ranklab {

std::unique_ptr<Study> make_stable_rank_study();

}  // namespace ranklab
