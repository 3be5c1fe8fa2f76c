#include "experiments/one_step_compare/one_step_compare.hpp"

namespace ranklab {

Experiment one_step_compare_experiment() {
  return {
      "one-step-compare",
      "one Euclidean step compared with one spectral step: regression, MLPs, transformers",
      {
          {"regression",
           "one step of each on many random problems, compared with the guarantees (Section 1.2, "
           "eqs. (4.14) to (4.18))",
           2000, make_regression_study},
          {"mlp",
           "a four-layer network trained by GD and by SpecGD or Muon, with the ranks of each layer "
           "(Figures 1, 4, 18)",
           6, make_mlp_study},
          {"mlp-init",
           "stable ranks of the same network at initialization, against the batch size (Figure 17)",
           12, make_mlp_init_study},
          {"transformer-init",
           "stable ranks inside a transformer at initialization (Lemma 2.9, Proposition 2.14, "
           "Corollary 2.15)",
           10, make_transformer_init_study},
          {"curvature",
           "the curvature of a small network by layers, over training, and its bounds (Sections "
           "4.1 to 4.4)",
           10, make_curvature_study},
          {"gpt",
           "a small GPT trained on real text, with every rank tracked (Figures 2 and 5 to 10, "
           "Table 2)",
           3, make_gpt_study},
      }};
}

}  // namespace ranklab
