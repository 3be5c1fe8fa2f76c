// Claims of the study mlp, figure by figure. Each is not applicable to a run of another activation or size than the figure's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiments/one_step_compare/mlp/claims.hpp"

namespace ranklab::mlp {

/// "Small" in Figure 1: below this part of the input dimension.
inline constexpr double small_part = 0.1;

/// The words of a claim.
struct Text {
  std::string id, source, statement;
};

/// What `judge` says, or not applicable where there is a reason for that.
Claim unless(const Text& text, const std::string& reason, const std::function<Claim()>& judge);

void add_figure_1_claims(const MlpConfig& config, const std::vector<TrialRecord>& records, std::vector<Claim>& out);
void add_figure_4_claims(const MlpConfig& config, const std::vector<TrialRecord>& records, std::vector<Claim>& out);
void add_figure_18_claims(const MlpConfig& config, const std::vector<TrialRecord>& records, std::vector<Claim>& out);

}  // namespace ranklab::mlp
