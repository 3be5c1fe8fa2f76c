// Verdicts of the study bounds.
#pragma once

#include <vector>

#include "core/text.hpp"
#include "experiments/rank_collapse/bounds/config.hpp"
#include "experiments/rank_collapse/bounds/findings.hpp"
#include "report/result.hpp"

namespace ranklab::bounds {

/// What the claims are judged from: the random stacks of all trials, and the worked examples.
struct Evidence {
  const BoundsConfig& config;
  const std::vector<TrialRecord>& records;
  Findings examples;

  Tally random(const std::string& inequality) const { return tally_over(records, inequality); }
  Tally example(const std::string& inequality) const;
};

/// The words of a claim; its id stands behind "lambda-skip/".
struct Text {
  std::string id, source, statement, detail;
};

/// "3 of 12", and two pieces of a detail.
std::string violations_text(const Tally& tally);

/// The claim that is not applicable because of `unmet`.
Claim without_case(const Text& text, const std::string& unmet);

/// Counts of the inequality that is named as the claim's id, over random stacks and worked examples; where there is none,
/// `unmet` says why.
Claim inequality_claim(const Evidence& run, const Text& text, const std::string& unmet = "no case");

/// Theorem 4.1: its parts, its statement, and what takes their place.
std::vector<Claim> skip_claims(const Evidence& run);
/// Theorems A.2, A.3 and 4.3, A.7 and A.8, A.10.
std::vector<Claim> collapse_claims(const Evidence& run);

}  // namespace ranklab::bounds
