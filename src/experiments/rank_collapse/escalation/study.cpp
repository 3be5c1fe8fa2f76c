#include "experiments/rank_collapse/escalation/config.hpp"

#include "core/error.hpp"
#include "core/text.hpp"
#include "experiments/rank_collapse/escalation/report.hpp"
#include "experiments/rank_collapse/escalation/trial.hpp"
#include "experiments/rank_collapse/model_fields.hpp"
#include "experiments/rank_collapse/model_files.hpp"
#include "models/blocks/model_row.hpp"

namespace ranklab {
namespace {

class EscalationStudy : public Study {
 public:
  std::vector<Field> fields() override {
    std::vector<Field> fields = escalation_fields(config_, models_that([](const ModelRow& row) { return row.has_steps; }));
    for (Field& field : file_fields(config_.spec)) fields.push_back(std::move(field));
    return fields;
  }
  void adopt_files() override { ranklab::adopt_files(config_.spec); }
  std::uint64_t trials_in_files() const override { return sequences_in_files(config_.spec); }
  void settle() override { settle_with_files(config_.spec); }
  void validate() const override {
    if (config_.spec.checkpoint != nullptr && !config_.spec.row().has_steps) {
      throw UsageError("--weights " + printable(config_.spec.weights) + " holds " + config_.spec.model +
                       ", which has no post-norm blocks; --study escalation runs " +
                       joined(models_that([](const ModelRow& row) { return row.has_steps && row.published; }), "|"));
    }
  }
  Estimate estimate() const override { return path_estimate(config_); }

  Result run(Runner& runner) const override {
    const bool single = runner.single_precision();
    const auto records = runner.run(
        [&](Trial& trial) { return single ? escalation_trial<float>(config_, trial) : escalation_trial<double>(config_, trial); });
    return escalation_result(config_, single, records);
  }

 private:
  EscalationConfig config_;
};

}  // namespace

EscalationConfig::EscalationConfig() {
  spec.model = "post-norm";
  spec.layers = 20;
  spec.tokens = 64;
  spec.dim = 512;
}

bool EscalationConfig::is_algorithm_1() const {
  return spec.row().figure == DepthFigure::shallow_2;
}

std::vector<Field> escalation_fields(EscalationConfig& config, const std::vector<std::string>& models) {
  std::vector<Field> fields = model_fields(config.spec, models);
  fields.push_back(real_field("lambda", config.lambda, -1e6, 1e6, "lambda", "strength of the skip in step 1; 1: the residual"));
  return fields;
}

Estimate path_estimate(const EscalationConfig& config) {
  const ModelSpec& spec = config.spec;
  const double N = static_cast<double>(spec.tokens), d = static_cast<double>(spec.dim), h = static_cast<double>(spec.heads),
               q = spec.has_mlp() ? static_cast<double>(spec.ffn) : 0, weights = parameters_per_block(spec);
  constexpr double states = 12, head_matrices = 6, draw = 30, eigenvalues = 10;
  // One block at a time: its weights, states and feed-forward layer, attention matrices, and the copies that measure a head.
  const double bytes = 8 * (weights + states * d * N + q * N + (h + head_matrices) * N * N);
  const double measures = h * (4 * N * N * d + (2 + eigenvalues) * N * N * N);
  return {bytes, static_cast<double>(spec.layers) * (flops_per_block(spec) + draw * weights + measures)};
}

std::unique_ptr<Study> make_escalation_study() {
  return std::make_unique<EscalationStudy>();
}

}  // namespace ranklab
