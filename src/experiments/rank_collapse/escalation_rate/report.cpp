#include "experiments/rank_collapse/escalation_rate/report.hpp"

#include "experiments/rank_collapse/escalation_rate/claims.hpp"
#include "models/token_escalation.hpp"

namespace ranklab {
namespace {

using namespace escalation;

Series over_trials(const Evidence& run, const std::string& name, const ValueAtBlock& value) {
  std::vector<std::vector<double>> per_trial;
  for (const TrialRecord& record : run.records) {
    per_trial.emplace_back();
    for (std::size_t k = 0; k < run.config.spec.layers; ++k) per_trial.back().push_back(value(record, k));
  }
  return series_over_trials(name, "block", per_trial, 1.0);
}

void add_series(const Evidence& run, Result& result) {
  result.series.push_back(series_over_trials("token_similarity", "block", arrays_of(run.records, "token_similarity"), 0.0));
  for (const char* name :
       {"xi_ratio_minus_1", "estimate_1", "estimate_2", "rate", "xi_1", "xi_2", "mu_1", "mu_2", "omega", "delta", "lambda_2"}) {
    result.series.push_back(over_trials(run, name, recorded(name)));
  }
  for (const std::string estimate : {"estimate_1", "estimate_2"}) {
    result.series.push_back(over_trials(run, "rate_" + estimate, [&](const TrialRecord& record, std::size_t k) {
      return escalation_rate(record.array(estimate)[k], record.array("token_similarity")[k]);
    }));
  }
  result.series.push_back(over_trials(run, "xi_ratio_minus_1_sharpened",
                                      [&](const TrialRecord& record, std::size_t k) { return sharpened_excess(run, record, k); }));
}

Figure rate_figure() {
  Panel similarity{"Token similarity on the fixed path", {"block"}, {"t_sim"}, {}, {}};
  similarity.curves = {{"token_similarity", "", LineStyle::line_points}};
  Panel excess{"Step 1: xi_1/xi_2 - 1", {"block"}, {"xi_1/xi_2 - 1"}, {}, {}};
  excess.curves = {{"xi_ratio_minus_1", "mean over W", LineStyle::line_points},
                   {"estimate_1", "Estimate 1", LineStyle::dashed},
                   {"estimate_2", "Estimate 2", LineStyle::dotted}};
  Panel rate{"Step 1: escalation rate", {"block"}, {"t_div(X) / t_div(Y)"}, {}, {}};
  rate.curves = {{"rate", "mean over W", LineStyle::line_points},
                 {"rate_estimate_1", "from Estimate 1", LineStyle::dashed},
                 {"rate_estimate_2", "from Estimate 2", LineStyle::dotted}};
  return {{similarity, excess, rate}};
}

}  // namespace

Result escalation_rate_result(const EscalationConfig& config, bool single_precision, const std::vector<TrialRecord>& records) {
  const Evidence run(config, single_precision, records);
  Result result;
  result.title = "Escalation rate of step 1 over redraws of its weights";
  result.scalars.push_back({"degenerate_rows", scalars_of(records, "degenerate_rows")});
  result.scalars.push_back({"diverged", scalars_of(records, "diverged")});
  for (const double diverged : result.scalars.back().per_trial) result.diverged |= diverged > 0;
  add_series(run, result);
  result.claims = escalation_rate_claims(run);
  result.figure = rate_figure();
  result.notes.push_back(
      "Only step 1's W differs between trials; the path through the blocks is that of trial 0 of the study escalation at this "
      "seed.");
  result.notes.push_back("Bands show the spread over W, not the uncertainty of the mean.");
  return result;
}

}  // namespace ranklab
