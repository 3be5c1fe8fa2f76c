#include "experiments/rank_collapse/ablation/claims.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.hpp"
#include "experiments/rank_collapse/depth/report.hpp"
#include "models/blocks/model_row.hpp"

namespace ranklab {
namespace {

using Records = std::vector<TrialRecord>;
constexpr double infinity = std::numeric_limits<double>::infinity();

// The paper's figures are of trained models.
std::string weights_of(const AblationConfig& config) {
  return config.model.checkpoint != nullptr ? "published weights" : "at random initialisation, where this need not appear";
}
// "a dramatic increase", "instability": the paper gives no number.
constexpr double dramatic_factor = 2.0, unstable_orders = 2.0;

Claim judge_final(const std::string& id, const std::string& source, const std::string& statement, const std::string& curve,
                  bool collapses, const AblationConfig& config, const Records& records) {
  const double threshold = config.threshold;
  return judge_mean(id, source, statement, final_values(curve, "mu_normalized", records), collapses ? -infinity : threshold,
                    collapses ? threshold : infinity,
                    "normalised mu after the last layer; collapsed: below " + short_number(threshold) + "; " + weights_of(config));
}

// How often mu_normalized first falls and then rises by the factor: per trial, (last / least) where the least is below the input.
std::vector<double> rise_after_drop(const std::string& curve, const Records& records) {
  std::vector<double> factors;
  for (const TrialRecord& record : records) {
    const auto& mu = record.array(curve + ".mu_normalized");
    const double least = *std::min_element(mu.begin(), mu.end());
    factors.push_back(least < mu.front() ? mu.back() / least : 1.0);
  }
  return factors;
}

std::vector<double> orders_of_growth(const std::string& curve, const Records& records) {
  std::vector<double> orders;
  for (const TrialRecord& record : records) {
    const auto& norm = record.array(curve + ".log10_norm");
    // Beyond the range of the numbers is more than any number of orders.
    orders.push_back(std::isnan(norm.back()) ? std::numeric_limits<double>::max_exponent10 : norm.back() - norm.front());
  }
  return orders;
}

std::vector<Claim> gating_claims(const AblationConfig& config, const Records& records) {
  const std::string id = "lambda-skip/fig-3/", source = "Section 5.2, Figure 3";
  const auto name = [](bool gate, bool norm) { return ablation_name("gating", gate, norm); };
  std::vector<Claim> claims = {
      judge_final(id + "no-gate-with-norm-collapses", source, "without the gate and with the norm, mu approaches zero",
                  name(false, true), true, config, records),
      judge_final(id + "gate-with-norm-keeps", source, "the gate prevents collapse (norm on)", name(true, true), false, config,
                  records),
      judge_final(id + "gate-without-norm-keeps", source, "the gate prevents collapse (norm off)", name(true, false), false, config,
                  records),
      judge_mean(id + "no-gate-no-norm-rises", source, "without gate and norm, mu first drops and then increases dramatically",
                 rise_after_drop(name(false, false), records), dramatic_factor, infinity,
                 "last normalised mu over the least; dramatic: by a factor of " + short_number(dramatic_factor) + "; " +
                     weights_of(config))};
  for (const bool gate : {true, false}) {
    claims.push_back(judge_mean(id + "no-norm-unstable/gating=" + (gate ? "on" : "off"), source,
                                "without the norm the model is unstable", orders_of_growth(name(gate, false), records),
                                unstable_orders, infinity,
                                "orders of magnitude by which ||Y||_F grows from the input to the last layer; unstable: by " +
                                    short_number(unstable_orders) + "; " + weights_of(config)));
  }
  return claims;
}

}  // namespace

std::vector<Claim> ablation_claims(const AblationConfig& config, const Records& records) {
  if (records.empty()) return {};
  if (config.part() == "gating") return gating_claims(config, records);
  std::vector<Claim> claims;
  if (config.model.row().ablation != Ablation::figure_4) {
    const std::string name = ablation_name("skip", false, true);
    claims.push_back(judge_final("lambda-skip/section-4.2.1/" + name, "Section 4.2.1, Theorems 4.2 and 4.3",
                                 "with the norm and without a skip, the tokens collapse", name, true, config, records));
    return claims;
  }
  for (const bool skip : {true, false}) {
    for (const bool norm : {true, false}) {
      const std::string name = ablation_name("skip", skip, norm);
      claims.push_back(judge_final("lambda-skip/fig-4/" + name, "Appendix A.13.1, Figure 4", "S4D does not collapse with " + name,
                                   name, false, config, records));
    }
  }
  return claims;
}

}  // namespace ranklab
