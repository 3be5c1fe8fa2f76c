#include "experiments/rank_collapse/rank_collapse.hpp"

#include "experiments/rank_collapse/ablation.hpp"
#include "experiments/rank_collapse/eta.hpp"
#include "experiments/rank_collapse/examples.hpp"
#include "experiments/rank_collapse/lambda_sweep.hpp"
#include "experiments/rank_collapse/layers.hpp"

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
      }};
}

}  // namespace ranklab
