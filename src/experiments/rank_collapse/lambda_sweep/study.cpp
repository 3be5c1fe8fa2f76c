#include <algorithm>

#include "experiments/rank_collapse/lambda_sweep/lambda_sweep.hpp"
#include "experiments/rank_collapse/model_fields.hpp"
#include "experiments/rank_collapse/model_files.hpp"

namespace ranklab::lambda_sweep {
namespace {

Plan plan_of(const LambdaSweepConfig& config) {
  Plan plan{stacked_models(config.model, config.also), config.lambda, config.threshold, config.refine};
  std::sort(plan.lambda.begin(), plan.lambda.end());
  return plan;
}

class LambdaSweepStudy : public Study {
 public:
  std::vector<Field> fields() override {
    std::vector<Field> fields = model_fields(config_.model);
    for (Field& field : file_fields(config_.model)) fields.push_back(std::move(field));
    fields.push_back(real_list_field("lambda", config_.lambda, -1e12, 1e12, "lambda", "strengths of the skip"));
    fields.push_back(also_field(config_.also));
    fields.push_back(real_field("threshold", config_.threshold, 0.0, 1.0, "",
                                "to be kept by mu_normalized and by rank_one_residual at every layer"));
    fields.push_back(size_field("refine", config_.refine, 0, 1000, "",
                                "further strengths between the largest that fails and the smallest that keeps"));
    return fields;
  }

  void adopt_files() override { ranklab::adopt_files(config_.model, config_.also); }
  std::uint64_t trials_in_files() const override { return sequences_in_files(config_.model); }
  void settle() override { settle_with_files(config_.model); }

  void validate() const override { stacked_models(config_.model, config_.also); }

  Estimate estimate() const override {
    const Plan plan = plan_of(config_);
    std::vector<DepthGroup> groups;
    for (const StackedModel& model : plan.models) {
      groups.push_back({model.spec, std::vector<DepthCurve>(plan.lambda.size() + 2 * plan.refine)});
    }
    return depth_cost(groups);
  }

  Result run(Runner& runner) const override {
    const Plan plan = plan_of(config_);
    const auto records = runner.run_batches(trials_per_batch(config_.model), [&](std::vector<Trial>& trials) {
      return run_batch(plan, trials, runner.single_precision());
    });
    return report(plan, records);
  }

 private:
  LambdaSweepConfig config_;
};

}  // namespace
}  // namespace ranklab::lambda_sweep

std::unique_ptr<ranklab::Study> ranklab::make_lambda_sweep_study() {
  return std::make_unique<lambda_sweep::LambdaSweepStudy>();
}
