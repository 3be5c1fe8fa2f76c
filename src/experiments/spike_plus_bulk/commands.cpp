#include "experiments/spike_plus_bulk/commands.hpp"

namespace ranklab {

Experiment spiked_model_experiment() {
  constexpr LabelModel model = LabelModel::realizable;
  return {"spiked-model",
          "nuclear rank of the gradient along GD on spike-plus-bulk Gram matrices, with realizable "
          "labels",
          {
              {"gradient-rank",
               "nuclear rank at W_0, W_1, ... and its growth with the number of features (Figures "
               "14a, 15a)",
               12, [] { return make_gradient_rank_study(model); }},
              {"features",
               "spike and bulk of random features compared with Theorems 3.2 to 3.5 (Figure 16)", 8,
               [] { return make_features_study(model); }},
              {"multi-spike",
               "burn-in and window of a large nuclear rank, with synthetic spikes (Theorem 3.6)",
               16, [] { return make_multi_spike_study(model); }},
          }};
}

Experiment teacher_student_experiment() {
  constexpr LabelModel model = LabelModel::teacher;
  return {"teacher-student",
          "the same as spiked-model, with labels from a different feature map",
          {
              {"gradient-rank",
               "nuclear rank at W_0, W_1, ... and its growth with the number of features (Figures "
               "14b, 15b)",
               12, [] { return make_gradient_rank_study(model); }},
              {"features", "cross-Gram matrix compared with Theorems 3.7 to 3.9", 8,
               [] { return make_features_study(model); }},
              {"multi-spike",
               "burn-in and window of a large nuclear rank, with synthetic spikes (Theorem 3.11, "
               "Corollary 3.12)",
               16, [] { return make_multi_spike_study(model); }},
          }};
}

}  // namespace ranklab
