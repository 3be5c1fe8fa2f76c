#include "experiments/rank_collapse/escalation/report.hpp"

#include "experiments/rank_collapse/escalation/claims.hpp"
#include "experiments/rank_collapse/escalation/trial.hpp"
#include "experiments/rank_collapse/model_files.hpp"

namespace ranklab {
namespace {

using namespace escalation;

void add_scalars(const Evidence& run, Result& result) {
  result.scalars.push_back({"degenerate_rows", scalars_of(run.records, "degenerate_rows")});
  result.scalars.push_back({"diverged", scalars_of(run.records, "diverged")});
  for (const double diverged : result.scalars.back().per_trial) result.diverged |= diverged > 0;
  const auto add = [&](const std::string& name, const std::function<double(const TrialRecord&)>& value) {
    Scalar scalar{name, {}};
    for (const TrialRecord& record : run.records) scalar.per_trial.push_back(value(record));
    result.scalars.push_back(std::move(scalar));
  };
  add("final_token_similarity", [](const TrialRecord& record) { return record.array("token_similarity").back(); });
  add("first_state_above_0.99", first_near_maximum);
  add("decreases", [&](const TrialRecord& record) { return decreases(run, record); });
  add("late_diversity_ratio", [&](const TrialRecord& record) { return late_ratio_of_block(run, record); });
  add("step1.late_diversity_ratio", [&](const TrialRecord& record) { return late_ratio_of_step_1(run, record); });
}

void add_series(const std::vector<TrialRecord>& records, Result& result) {
  for (const char* name : {"token_similarity", "token_diversity"}) {
    result.series.push_back(series_over_trials(name, "block", arrays_of(records, name), 0.0));
  }
  std::vector<std::string> names = {"delta", "omega", "mu_1", "mu_2", "rate", "diversity_ratio"};
  for (int step = 1; step <= steps; ++step) names.push_back(xi_ratio_of(step));
  for (const std::string& name : names) {
    result.series.push_back(series_over_trials(name, "block", arrays_of(records, name), 1.0));
  }
}

Figure escalation_figure() {
  Panel similarity{"Token similarity", {"block"}, {"t_sim"}, {}, {}};
  similarity.curves = {{"token_similarity", "", LineStyle::line_points}};
  Panel ratios{"What each step does", {"block"}, {"xi_1 / xi_2"}, {}, {}};
  const char* const labels[] = {"step 1, attention and skip", "step 2, norm", "step 3, feed-forward net", "step 4, norm"};
  for (int step = 1; step <= steps; ++step) ratios.curves.push_back({xi_ratio_of(step), labels[step - 1], LineStyle::line_points});
  Panel gap{"Attention matrices", {"block"}, {"mean over heads", Scale::log}, {}, {}};
  gap.curves = {{"delta", "delta", LineStyle::line_points}, {"omega", "omega", LineStyle::line_points}};
  return {{similarity, ratios, gap}};
}

}  // namespace

Result escalation_result(const EscalationConfig& config, bool single_precision, const std::vector<TrialRecord>& records) {
  const Evidence run(config, single_precision, records);
  Result result;
  result.title = "Token similarity along " +
                 (config.is_algorithm_1() ? std::string("post-norm Transformer blocks") : "the blocks of " + config.spec.model) +
                 ", step by step";
  result.notes = file_notes(config.spec);
  add_scalars(run, result);
  add_series(records, result);
  result.claims = escalation_claims(run);
  result.figure = escalation_figure();
  result.notes.push_back("mu_1 and mu_2 are the squares of eq. (10), averaged over heads.");
  if (config.is_algorithm_1() && config.spec.weight_variance == "1/d") {
    result.notes.push_back(
        "Entries of W have variance 1/d; the h/d that the paper prints (--weight-variance h/d) does not give its figure.");
  }
  return result;
}

}  // namespace ranklab
