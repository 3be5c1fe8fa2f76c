#include "experiments/rank_collapse/train_variants/variants.hpp"

#include "experiments/rank_collapse/train_lambdas/lambdas.hpp"

namespace ranklab::train {

const Purpose& comparison_of_variants() {
  static const Purpose purpose = {
      .title =
          "Training post-norm, pre-norm and de-escalated models: effect of norm placement on "
          "losses and tokens",
      .interim_cases = 128,
      .follows_test_loss = true,
      .looks_ahead = true,
      .representation_series =
          [](const std::string& moment) {
            return moment == "start." || moment == "end."
                       ? std::vector<std::string>{mu_normalized, token_similarity, cosine, rms}
                       : std::vector<std::string>{token_similarity, cosine, rms};
          },
      .block_series =
          [](const std::string&) {
            return std::vector<std::string>{block_gradient, branch_ratio};
          },
      .judge =
          [](const Plan& plan, const Task& task, const Records& records, Claims& claims) {
            judge_groups(plan, task, records, claims);  // if several lambdas are given as well
            judge_variants(plan, task, records, claims);
            judge_table_1(plan, task, records, claims);
          },
      .draw = draw_variants};
  return purpose;
}

}  // namespace ranklab::train
