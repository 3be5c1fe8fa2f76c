#include "experiments/random_features/random_features.hpp"

namespace ranklab {

Experiment random_features_experiment() {
  return {
      "random-features",
      "GD compared with SpecGD on random-feature regression; stable rank of post-activations",
      {
          {"trajectory",
           "objective and nuclear rank along GD, SpecGD, and SpecGD restarted from GD (Figures "
           "3, 11)",
           12, make_trajectory_study},
          {"stable-rank",
           "stable rank of post-activations compared with Theorems 2.6 to 2.8, Lemma 2.9, eq. "
           "(2.15) (Figure 12)",
           10, make_stable_rank_study},
          {"concentration",
           "stable rank of a sample compared with that of its law (Theorems 2.2, 2.3, 2.8, B.1, "
           "B.2, Lemmas 2.1, 2.5, 2.11, 2.12)",
           24, make_concentration_study},
      }};
}

}  // namespace ranklab
