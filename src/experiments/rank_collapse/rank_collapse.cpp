#include "experiments/rank_collapse/rank_collapse.hpp"

#include "experiments/rank_collapse/ablation/config.hpp"
#include "experiments/rank_collapse/bounds/config.hpp"
#include "experiments/rank_collapse/describe.hpp"
#include "experiments/rank_collapse/escalation/config.hpp"
#include "experiments/rank_collapse/escalation_rate/config.hpp"
#include "experiments/rank_collapse/eta/config.hpp"
#include "experiments/rank_collapse/examples/config.hpp"
#include "experiments/rank_collapse/lambda_sweep/config.hpp"
#include "experiments/rank_collapse/layers/config.hpp"
#include "experiments/rank_collapse/train/config.hpp"

namespace ranklab {

Experiment rank_collapse_experiment() {
  return {
      "rank-collapse",
      "depth dynamics of token representations: lambda-skip connections, token similarity escalation",
      {
          {"layers", "token geometry after every layer ([LambdaSkip] Figure 1; [Shallow] Figures 1, 4, 5)", 8, make_layers_study},
          {"lambda-sweep", "the last layer against the strength of the skip, and the smallest that prevents collapse (Figure 2)", 8,
           make_lambda_sweep_study},
          {"ablation", "gate, skip and norm removed ([LambdaSkip] Figures 3, 4)", 8, make_ablation_study},
          {"escalation", "token similarity and the steps of the Transformer block ([Shallow] Figure 2)", 50, make_escalation_study},
          {"escalation-rate", "expected escalation as W alone is redrawn, beside its estimates ([Shallow] Figure 3)", 1000,
           make_escalation_rate_study},
          {"eta", "how closely xi_1/xi_2 follows the quotient of its expectations ([Shallow] Figure 8)", 50, make_eta_study},
          {"bounds", "the theorems about mu beside random stacks ([LambdaSkip] Theorems 4.1 to 4.3, A.2 to A.10)", 8,
           make_bounds_study},
          {"examples", "two tokens in exact recursion ([LambdaSkip] Propositions A.10.1, 4.3.1, 4.3.2)", 1, make_examples_study},
          {"train",
           "what lambda, and taking the mean token out, do to learning: recall, images, text ([LambdaSkip] Table 1, Figure 5; "
           "[Shallow] Figures 6, 7)",
           5, make_train_study},
      },
      {{"describe", "what published weights are (.safetensors, or the index.json of shards), and what running them would cost",
        describe_weights}}};
}

}  // namespace ranklab
