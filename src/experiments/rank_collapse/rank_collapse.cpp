#include "experiments/rank_collapse/rank_collapse.hpp"

namespace ranklab {

Experiment rank_collapse_experiment() {
  return {"rank-collapse", "depth dynamics of token representations: lambda-skip connections, token similarity escalation", {}};
}

}  // namespace ranklab
