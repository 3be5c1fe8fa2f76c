#include "experiments/rank_collapse/ablation/config.hpp"

#include "core/error.hpp"
#include "experiments/rank_collapse/ablation/claims.hpp"
#include "experiments/rank_collapse/depth/report.hpp"
#include "experiments/rank_collapse/model_fields.hpp"
#include "experiments/rank_collapse/model_files.hpp"

namespace ranklab {
namespace {

class AblationStudy : public Study {
 public:
  std::vector<Field> fields() override {
    std::vector<Field> fields = model_fields(config_.model);
    for (Field& field : file_fields(config_.model)) fields.push_back(std::move(field));
    fields.push_back(real_field("lambda", config_.lambda, -1e12, 1e12, "lambda", "strength of the skip where it is on"));
    fields.push_back(real_field("threshold", config_.threshold, 0.0, 1.0, "", "a normalised mu below it counts as collapsed"));
    return fields;
  }

  void adopt_files() override { ranklab::adopt_files(config_.model); }
  std::uint64_t trials_in_files() const override { return sequences_in_files(config_.model); }
  void settle() override { settle_with_files(config_.model); }

  void validate() const override {
    if (config_.model.norm == "none") throw UsageError("--norm none is not allowed with --study ablation, which removes it itself");
    if (config_.part() == "gating" && !config_.model.has_gate()) {
      throw UsageError("--gating off is not allowed with --study ablation, which removes it itself");
    }
    if (config_.lambda == 0) throw UsageError("--lambda 0 is not allowed with --study ablation: it is the skip where it is on");
  }

  Estimate estimate() const override { return depth_cost(ablation_groups(config_)); }

  Result run(Runner& runner) const override {
    const bool single = runner.single_precision();
    return result_of(runner.run_batches(trials_per_batch(config_.model), [&](std::vector<Trial>& trials) {
      return single ? measure<float>(trials) : measure<double>(trials);
    }));
  }

 private:
  template <class T>
  std::vector<TrialRecord> measure(const std::vector<Trial>& trials) const {
    const std::vector<DepthGroup> groups = ablation_groups(config_);
    std::vector<TrialRecord> records;
    for (const auto& traces : run_variants<T>(groups, trials)) {
      TrialRecord& record = records.emplace_back();
      for (std::size_t g = 0; g < groups.size(); ++g) {
        record_trace(groups[g].curves.front().name, traces[g].front(), record);
      }
    }
    return records;
  }

  Result result_of(const std::vector<TrialRecord>& records) const {
    Result result;
    result.title = (config_.part() == "gating" ? "Gate and norm removed, " : "Skip and norm removed, ") + config_.model.model;
    result.notes = file_notes(config_.model);
    std::vector<std::string> names;
    for (const DepthGroup& group : ablation_groups(config_)) {
      names.push_back(group.curves.front().name);
      add_depth_series(names.back(), records, result);
      result.scalars.push_back({names.back() + ".final_mu_normalized", final_values(names.back(), "mu_normalized", records)});
    }
    add_depth_scalars(names, records, result);
    result.notes.push_back(collapse_note(names, config_.threshold, records));
    if (config_.part() == "gating") {
      result.notes.push_back("Norm off removes: " + config_.model.norm_off +
                             "; gate off leaves out silu(z) and keeps the per-head skip D.");
    }
    result.claims = ablation_claims(config_, records);
    for (const std::string measure : {"mu_normalized", "rank_one_residual", "log10_norm"}) {
      const std::string label = measure == "mu_normalized"       ? "normalised mu"
                                : measure == "rank_one_residual" ? "rank-one residual"
                                                                 : "log10 of the Frobenius norm";
      Panel panel{label, {"layer"}, {label}, {}, {}};
      for (const std::string& name : names) panel.curves.push_back({name + "." + measure, name, LineStyle::line});
      result.figure.panels.push_back(std::move(panel));
    }
    return result;
  }

  AblationConfig config_;
};

}  // namespace

std::string ablation_name(const std::string& part, bool part_is_on, bool norm_is_on) {
  return part + "=" + (part_is_on ? "on" : "off") + ",norm=" + (norm_is_on ? "on" : "off");
}

std::vector<DepthGroup> ablation_groups(const AblationConfig& config) {
  std::vector<DepthGroup> groups;
  const std::string part = config.part();
  for (const bool part_is_on : {true, false}) {
    for (const bool norm_is_on : {true, false}) {
      ModelSpec spec = config.model;
      if (!norm_is_on) spec.norm = "none";
      if (part == "gating") spec.gating = part_is_on ? "on" : "off";
      const double lambda = part == "skip" && !part_is_on ? 0.0 : config.lambda;
      groups.push_back({spec, {{ablation_name(part, part_is_on, norm_is_on), {lambda}, {}}}});
    }
  }
  return groups;
}

std::unique_ptr<Study> make_ablation_study() {
  return std::make_unique<AblationStudy>();
}

}  // namespace ranklab
