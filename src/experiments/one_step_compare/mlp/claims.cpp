#include "experiments/one_step_compare/mlp/claims.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.hpp"
#include "experiments/one_step_compare/mlp/figure_claims.hpp"
#include "experiments/one_step_compare/mlp/methods.hpp"

namespace ranklab::mlp {
namespace {

using Records = std::vector<TrialRecord>;
constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// Where condition (1.8) is violated along one method's trajectories.
struct Condition {
  double cases = 0, violations = 0, first = infinity, last = -infinity, smallest = infinity;
};

Condition condition_along(const MlpConfig& config, const Records& records, const std::string& method, std::size_t layer) {
  const std::vector<double> iterations = recorded_iterations(config);
  Condition out;
  for (const TrialRecord& record : records) {
    const std::vector<double>& ratio = record.array(ratio_name(method, layer));
    for (std::size_t i = 0; i < ratio.size(); ++i) {
      if (!std::isfinite(ratio[i])) continue;
      out.cases += 1;
      out.smallest = std::min(out.smallest, ratio[i]);
      if (ratio[i] >= 1) continue;
      out.violations += 1;
      out.first = std::min(out.first, iterations[i]);
      out.last = std::max(out.last, iterations[i]);
    }
  }
  return out;
}

Claim condition_claim(const MlpConfig& config, const Records& records, const Method& method, std::size_t layer) {
  const Condition found = condition_along(config, records, method.name, layer);
  const std::string l = std::to_string(layer), input = layer == 1 ? "X" : "A_" + std::to_string(layer - 1);
  std::string detail = "no gradient or activation with a rank";
  if (found.cases > 0) {
    detail = "holds at " + short_number(100 * (1 - found.violations / found.cases)) +
             " % of the recorded iterations; smallest nr/st " + short_number(found.smallest);
  }
  if (found.violations > 0)
    detail += ", violated between iterations " + short_number(found.first) + " and " + short_number(found.last);
  // The paper keeps its spectral steps to the layers between the first and the last, for this reason.
  if (layer == 1) detail += "; layer 1 takes Euclidean steps";
  return judge_violations("spectral/eq-1.8/" + method.name + "/W" + l, "Section 1.2.1, eq. (1.8)",
                          "along " + method.label + " the nuclear rank of the gradient of W_" + l +
                              " is at least the stable rank of " + input + ", at every iteration",
                          found.violations, found.cases, detail);
}

double log_ratio_at(const TrialRecord& record, const std::string& method, double iteration) {
  if (std::isnan(iteration)) return undefined;
  const auto t = static_cast<std::size_t>(iteration);
  return std::log10(record.array(method + ".loss").at(t) / record.array("gd.loss").at(t));
}

}  // namespace

std::vector<double> condition_shares(const Records& records, const std::string& method, std::size_t layer) {
  std::vector<double> out;
  for (const TrialRecord& record : records) {
    double cases = 0, holds = 0;
    for (const double ratio : record.array(ratio_name(method, layer))) {
      if (!std::isfinite(ratio)) continue;
      cases += 1;
      holds += ratio >= 1;
    }
    out.push_back(cases > 0 ? holds / cases : undefined);
  }
  return out;
}

double phase_end(const MlpConfig& config, const TrialRecord& record) {
  const std::vector<double> iterations = recorded_iterations(config);
  const std::vector<double>&second = record.array(ratio_name("gd", 2)), &third = record.array(ratio_name("gd", 3));
  std::size_t i = 0;
  while (i < iterations.size() && second[i] >= 2 && third[i] >= 2) ++i;
  return i == 0 ? undefined : iterations[i - 1];
}

std::vector<double> early_log_ratios(const MlpConfig& config, const Records& records, const std::string& method) {
  std::vector<double> out;
  for (const TrialRecord& record : records) out.push_back(log_ratio_at(record, method, phase_end(config, record)));
  return out;
}

std::vector<double> final_log_ratios(const Records& records, const std::string& method) {
  std::vector<double> out;
  for (const TrialRecord& record : records)
    out.push_back(log_ratio_at(record, method, static_cast<double>(record.array("gd.loss").size() - 1)));
  return out;
}

std::vector<Claim> claims(const MlpConfig& config, const Records& records) {
  std::vector<Claim> out;
  for (const Method& method : methods(config))
    for (std::size_t l = 1; l <= hidden_layers; ++l) out.push_back(condition_claim(config, records, method, l));
  // Figures 1 and 4 are about relu2, Figure 18 is about swiglu; another activation has no figure.
  if (config.activation == "relu2") {
    add_figure_1_claims(config, records, out);
    add_figure_4_claims(config, records, out);
  }
  if (config.activation == "swiglu") add_figure_18_claims(config, records, out);
  return out;
}

}  // namespace ranklab::mlp
