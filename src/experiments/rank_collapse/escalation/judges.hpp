// How the studies escalation and escalation-rate judge: a statement about every block, from the means over trials.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "experiments/rank_collapse/escalation/config.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab::escalation {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

/// The words of a claim.
struct Text {
  std::string id, source, statement;
};

/// What claims are judged from.
struct Evidence {
  Evidence(const EscalationConfig& config, bool single_precision, const std::vector<TrialRecord>& records);

  const EscalationConfig& config;
  const std::vector<TrialRecord>& records;
  double smallest_diversity;  // below, t_div is rounding noise in part
  double slack;               // relative, for inequalities that hold exactly

  /// Whether block k (from 0) of a trial has an input and an output whose diversity is not rounding noise. Needs the array
  /// `token_diversity` over states 0 ... K.
  bool is_clean(const TrialRecord& record, std::size_t k) const;
};

/// values[k][t] of block k + 1 in trial t; not finite: left out.
using BlockValues = std::vector<std::vector<double>>;

/// A quantity of a trial at block k, from 0.
using ValueAtBlock = std::function<double(const TrialRecord& record, std::size_t k)>;
ValueAtBlock recorded(const std::string& array);

/// The quantity at every block, without what is_clean refuses.
BlockValues clean_values(const Evidence& run, const ValueAtBlock& value);

/// "1 to 3, 7": blocks, ascending.
std::string block_list(const std::vector<std::size_t>& blocks);

/// A claim that the mean lies in [low, high] at every block: holds where judge_mean holds at each, fails where it fails at one.
/// Blocks without a value are left out, and named. `measured` is the mean that lies farthest out, or nearest to a bound.
Claim judge_blocks(const Text& text, const BlockValues& values, double low, double high, const std::string& detail = "");

/// [Shallow] eq. (6), from the errors `identity_error`.
Claim identity_claim(const Evidence& run);

/// [Shallow] eq. (11), averaged over heads; `records` may be those whose trials differ in P alone.
Claim bounds_claim(const Evidence& run, const std::vector<TrialRecord>& records);

/// A statement about the setting of [Shallow] Section 2.4, at any sizes: `judge`'s claim, or in another setting the claim that
/// does not apply.
Claim judge_in_setting(const Evidence& run, const Text& text, const std::function<Claim()>& judge);

}  // namespace ranklab::escalation
