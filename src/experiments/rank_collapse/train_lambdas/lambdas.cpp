#include "experiments/rank_collapse/train_lambdas/lambdas.hpp"

namespace ranklab::train {

const Purpose& comparison_of_lambdas() {
  static const Purpose purpose = {
      .title =
          "Training models with lambda-skip connections: effect of lambda on accuracy and tokens",
      .interim_cases = 256,
      .follows_test_loss = false,
      .looks_ahead = false,
      .representation_series =
          [](const std::string& moment) {
            return moment == "start." || moment == "end."
                       ? std::vector<std::string>{mu_normalized, token_similarity, dispersion}
                       : std::vector<std::string>{};
          },
      .block_series =
          [](const std::string& moment) {
            if (moment == "half.") return std::vector<std::string>{};
            if (moment == "start.") return std::vector<std::string>{block_gradient, mixer_gradient};
            return std::vector<std::string>{block_gradient};
          },
      .judge =
          [](const Plan& plan, const Task& task, const Records& records, Claims& claims) {
            judge_groups(plan, task, records, claims);
            judge_cause(plan, task, records, claims);
            judge_table_1(plan, task, records, claims);
          },
      .draw = draw_lambdas};
  return purpose;
}

}  // namespace ranklab::train
