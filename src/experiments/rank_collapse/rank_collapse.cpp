#include "experiments/rank_collapse/rank_collapse.hpp"

#include "experiments/rank_collapse/describe.hpp"

namespace ranklab {

Experiment rank_collapse_experiment() {
  return {
      "rank-collapse",
      "token representations over depth: lambda-skip connections, token similarity escalation",
      {
          {"layers",
           "token geometry after every layer ([LambdaSkip] Figure 1; [Shallow] Figures 1, 4, 5)", 8,
           make_layers_study},
          {"lambda-sweep",
           "last layer for each skip strength, and the smallest strength that prevents collapse "
           "([LambdaSkip] Figure 2)",
           8, make_lambda_sweep_study},
          {"ablation",
           "effect of removing the gate, the skip and the norm ([LambdaSkip] Figures 3, 4)", 8,
           make_ablation_study},
          {"escalation",
           "token similarity over depth, and the effect of each step of a Transformer block "
           "([Shallow] Figure 2)",
           50, make_escalation_study},
          {"escalation-rate",
           "expected escalation if only W is redrawn, compared with its estimates ([Shallow] "
           "Figure 3)",
           1000, make_escalation_rate_study},
          {"eta",
           "how closely xi_1/xi_2 follows the ratio of expectations, E[xi_1]/E[xi_2] ([Shallow] "
           "Figure 8)",
           50, make_eta_study},
          {"escalation-lemmas",
           "the lemmas behind the expected escalation, and doubly stochastic attention ([Shallow] "
           "Lemmas A.2 to A.5, Proposition 2.5, Corollary 2.7)",
           4000, make_escalation_lemmas_study},
          {"spectral-gap",
           "second eigenvalues of random stochastic matrices and of attention before training "
           "([Shallow] Section 2.5)",
           40, make_spectral_gap_study},
          {"bounds",
           "theorems about mu, checked on random stacks ([LambdaSkip] Theorems 4.1 to 4.3, A.2 to "
           "A.10)",
           8, make_bounds_study},
          {"examples",
           "two-token systems, iterated and compared with exact forms ([LambdaSkip] Propositions "
           "A.10.1, 4.3.1, 4.3.2)",
           1, make_examples_study},
          {"train",
           "effect of lambda, and of removing the mean token, on learning: recall, images, text "
           "([LambdaSkip] Table 1, Figure 5; [Shallow] Figures 6, 7)",
           5, make_train_study},
      },
      {{"describe",
        "describe published weights (.safetensors, or the index.json of shards) and estimate the "
        "cost of running them",
        describe_weights}}};
}

}  // namespace ranklab
