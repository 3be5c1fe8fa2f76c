#include "experiments/rank_collapse/lambda_sweep/config.hpp"

#include <algorithm>

#include "experiments/rank_collapse/lambda_sweep/report.hpp"
#include "experiments/rank_collapse/lambda_sweep/trial.hpp"
#include "experiments/rank_collapse/model_fields.hpp"
#include "experiments/rank_collapse/model_files.hpp"

namespace ranklab {
namespace {

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
    std::vector<DepthGroup> groups;
    for (const StackedModel& swept : stacked_models(config_.model, config_.also)) {
      groups.push_back({swept.spec, std::vector<DepthCurve>(config_.lambda.size() + 2 * config_.refine)});
    }
    return depth_cost(groups);
  }

  Result run(Runner& runner) const override {
    const bool single = runner.single_precision();
    const auto records = runner.run_batches(trials_per_batch(config_.model), [&](std::vector<Trial>& trials) {
      return single ? lambda_sweep_trials<float>(config_, trials) : lambda_sweep_trials<double>(config_, trials);
    });
    return lambda_sweep_result(config_, records);
  }

 private:
  LambdaSweepConfig config_;
};

}  // namespace

std::vector<double> LambdaSweepConfig::ascending_lambda() const {
  std::vector<double> ascending = lambda;
  std::sort(ascending.begin(), ascending.end());
  return ascending;
}

std::unique_ptr<Study> make_lambda_sweep_study() {
  return std::make_unique<LambdaSweepStudy>();
}

}  // namespace ranklab
