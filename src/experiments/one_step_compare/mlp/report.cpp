#include "experiments/one_step_compare/mlp/report.hpp"

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "experiments/one_step_compare/mlp/claims.hpp"
#include "experiments/one_step_compare/mlp/descent.hpp"
#include "experiments/one_step_compare/mlp/figure.hpp"

namespace ranklab {
namespace {

using namespace mlp;
using Records = std::vector<TrialRecord>;

void add_scalars(Result& result, const MlpConfig& config, const Records& records) {
  const auto recorded = [&](const std::string& name) { result.scalars.push_back({name, scalars_of(records, name)}); };
  for (const Method& method : methods(config)) {
    for (const char* name : {".diverged", ".diverged_at", ".final_loss"}) recorded(method.name + name);
    for (std::size_t l = 1; l <= hidden_layers; ++l) {
      result.scalars.push_back(
          {method.name + ".W" + std::to_string(l) + ".condition_share", condition_shares(records, method.name, l)});
    }
    if (method.name == "gd") continue;
    result.scalars.push_back({method.name + ".early_log10_loss_ratio", early_log_ratios(config, records, method.name)});
    result.scalars.push_back({method.name + ".final_log10_loss_ratio", final_log_ratios(records, method.name)});
  }
  Scalar phase{"initial_phase_end", {}};
  for (const TrialRecord& record : records) phase.per_trial.push_back(phase_end(config, record));
  result.scalars.push_back(std::move(phase));
  recorded("X.stable_rank");
  for (const char* matrix : {"A", "W"})
    for (std::size_t l = 1; l <= hidden_layers; ++l) recorded(matrix + std::to_string(l) + ".rank");
}

void add_series(Result& result, const MlpConfig& config, const Records& records) {
  const std::vector<double> iterations = recorded_iterations(config);
  for (const Method& method : methods(config)) {
    const std::string loss = method.name + ".loss";
    result.series.push_back(series_over_trials(loss, "iteration", arrays_of(records, loss)));
    for (const auto& name_of : {stable_rank_name, nuclear_rank_name, ratio_name}) {
      for (std::size_t l = 1; l <= hidden_layers; ++l) {
        const std::string name = name_of(method.name, l);
        result.series.push_back(series_over_trials(name, "iteration", iterations, arrays_of(records, name)));
      }
    }
  }
}

void note_divergence(Result& result, const Method& method, const Records& records) {
  std::string trials;
  double count = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].scalar(method.name + ".diverged") == 0) continue;
    count += 1;
    trials += (trials.empty() ? "" : ", ") + std::to_string(i) + " (iteration " +
              short_number(records[i].scalar(method.name + ".diverged_at")) + ")";
  }
  if (count == 0) return;
  result.diverged = true;
  result.notes.push_back(method.label + " diverged in " + short_number(count) + " of " + std::to_string(records.size()) +
                         " trials, counted from 0: " + trials + ". Its loss was not finite or beyond " +
                         short_number(divergence_factor) +
                         " times its start; from there on its curves are means over the other trials, which flatters it.");
}

}  // namespace

Result mlp_result(const MlpConfig& config, const Records& records) {
  Result result;
  result.title = "A net of four layers learns x1 x2 x3: GD, SpecGD and the ranks that tell them apart";
  add_scalars(result, config, records);
  add_series(result, config, records);
  result.claims = claims(config, records);
  result.figure = figure(config, records);
  for (const Method& method : methods(config)) note_divergence(result, method, records);
  if (!config.dump.empty() && !records.empty() && records.front().scalar(config.optimizer.front() + ".diverged") != 0)
    result.notes.push_back("Nothing was written to --dump: trial 0 of " + config.optimizer.front() + " diverged.");
  return result;
}

}  // namespace ranklab
