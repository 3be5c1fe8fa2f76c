#include "experiments/rank_collapse/train_variants/variants.hpp"

#include <cmath>

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

double attention_share(const TrialRecord& record, const Curve& curve, const Curve& other,
                       const std::string& moment) {
  const auto& own = record.array(curve.name + "." + moment + branch_ratio);
  const auto& others = record.array(other.name + "." + moment + branch_ratio);
  double sum = 0;
  for (std::uint64_t l = 1; l < curve.layers; ++l) sum += std::log(own[l] / others[l]);
  return std::exp(sum / static_cast<double>(curve.layers - 1));
}

}  // namespace ranklab::train
