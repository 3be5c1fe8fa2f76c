// Claims of the study examples: the propositions as printed, and as the exact forms correct them.
#pragma once

#include <vector>

#include "experiments/rank_collapse/examples/outcomes.hpp"
#include "report/result.hpp"

namespace ranklab {

std::vector<Claim> example_claims(const ExamplesConfig& config, const TrialRecord& record, bool single_precision);

}  // namespace ranklab
