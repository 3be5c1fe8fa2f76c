#include "experiments/rank_collapse/escalation/judges.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/tolerances.hpp"

namespace ranklab::escalation {
namespace {

std::string range_text(double low, double high) {
  return short_number(low) + (low == high ? "" : " to " + short_number(high));
}

// What judge_blocks found at the blocks, counted from 1.
struct BlockVerdicts {
  std::vector<std::size_t> outside, undecided, empty;
  double outside_low = infinity, outside_high = -infinity, low = infinity, high = -infinity;
  double worst = undefined, worst_excess = -infinity;
  std::size_t judged = 0;

  void add(std::size_t block, const std::vector<double>& values, double allowed_low, double allowed_high) {
    const Claim claim = judge_mean("", "", "", values, allowed_low, allowed_high);
    if (std::isnan(claim.measured)) {
      empty.push_back(block);
      return;
    }
    ++judged;
    low = std::min(low, claim.measured);
    high = std::max(high, claim.measured);
    const double excess = std::max(allowed_low - claim.measured, claim.measured - allowed_high);
    if (std::isnan(worst) || excess > worst_excess) worst = claim.measured, worst_excess = excess;
    if (claim.verdict == Verdict::not_applicable) undecided.push_back(block);
    if (claim.verdict != Verdict::fails) return;
    outside.push_back(block);
    outside_low = std::min(outside_low, claim.measured);
    outside_high = std::max(outside_high, claim.measured);
  }

  std::string text(std::size_t trials) const {
    std::string out = (low == high ? "mean " : "means from ") + range_text(low, high) + " over " + counted(judged, "block") + ", " +
                      counted(trials, "trial");
    if (!outside.empty()) out += "; outside at " + block_list(outside) + ": " + range_text(outside_low, outside_high);
    if (!undecided.empty()) out += "; undecided at " + block_list(undecided);
    if (!empty.empty()) out += "; left out as undefined or rounding noise: " + block_list(empty);
    return out;
  }
};

// Why a statement about [Shallow] Section 2.4 does not concern a run.
std::optional<std::string> other_setting(const EscalationConfig& config) {
  const ModelSpec& spec = config.spec;
  const auto differs = [](const std::string& what) { return "the statement is about " + what; };
  if (!config.is_algorithm_1()) return differs("the blocks of Algorithm 1, not --model " + spec.model);
  if (spec.alpha != 1) return differs("alpha = 1, not --alpha " + short_number(spec.alpha));
  if (config.lambda != 1) return differs("the plain residual, not --lambda " + short_number(config.lambda));
  if (spec.weight_scale != 1) return differs("--weight-scale 1, not " + short_number(spec.weight_scale));
  if (spec.norm != "layer") return differs("layer normalisation, not --norm " + spec.norm);
  if (!spec.has_mlp()) return differs("blocks with a feed-forward net, not --mlp off");
  if (spec.shares_weights()) return differs("fresh weights at every block, not --share-weights on");
  if (spec.input != "gaussian") return differs("standard Gaussian input, not --input " + spec.input);
  return std::nullopt;
}

}  // namespace

Evidence::Evidence(const EscalationConfig& config_of_run, bool single_precision, const std::vector<TrialRecord>& records_of_run)
    : config(config_of_run),
      records(records_of_run),
      smallest_diversity(single_precision ? tolerance::smallest_diversity<float> : tolerance::smallest_diversity<double>),
      slack(single_precision ? tolerance::residual<float> : tolerance::residual<double>) {}

bool Evidence::is_clean(const TrialRecord& record, std::size_t k) const {
  const std::vector<double>& diversity = record.array("token_diversity");
  return diversity[k] >= smallest_diversity && diversity[k + 1] >= smallest_diversity;
}

ValueAtBlock recorded(const std::string& array) {
  return [array](const TrialRecord& record, std::size_t k) { return record.array(array)[k]; };
}

BlockValues clean_values(const Evidence& run, const ValueAtBlock& value) {
  BlockValues values(run.config.spec.layers);
  for (std::size_t k = 0; k < values.size(); ++k) {
    for (const TrialRecord& record : run.records) {
      values[k].push_back(run.is_clean(record, k) ? value(record, k) : undefined);
    }
  }
  return values;
}

std::string block_list(const std::vector<std::size_t>& blocks) {
  std::string out = blocks.size() == 1 ? "block " : "blocks ";
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < blocks.size() && blocks[last + 1] == blocks[last] + 1) ++last;
    out += (i == 0 ? "" : ", ") + std::to_string(blocks[i]);
    if (last > i) out += (last == i + 1 ? ", " : " to ") + std::to_string(blocks[last]);
    i = last;
  }
  return out;
}

Claim judge_blocks(const Text& text, const BlockValues& values, double low, double high, const std::string& detail) {
  BlockVerdicts verdicts;
  for (std::size_t k = 0; k < values.size(); ++k) verdicts.add(k + 1, values[k], low, high);
  if (verdicts.judged == 0) return not_applicable(text.id, text.source, text.statement, "no block has a defined value");
  Claim claim{text.id, text.source, text.statement, Verdict::holds, verdicts.worst, std::pair(low, high), ""};
  if (!verdicts.undecided.empty()) claim.verdict = Verdict::not_applicable;
  if (!verdicts.outside.empty()) claim.verdict = Verdict::fails;
  claim.detail = verdicts.text(values.empty() ? 0 : values.front().size()) + (detail.empty() ? "" : "; " + detail);
  return claim;
}

Claim identity_claim(const Evidence& run) {
  double violations = 0, cases = 0, largest = 0;
  for (const TrialRecord& record : run.records) {
    for (const double error : record.array("identity_error")) {
      if (!std::isfinite(error)) continue;
      cases += 1;
      largest = std::max(largest, error);
      if (error > tolerance::closed_form<double>) violations += 1;
    }
  }
  return judge_violations("shallow/eq-6", "Proposition 2.3, eq. (6)",
                          "the escalation rate of a step from X to Y is 1 + (xi_1/xi_2 - 1) t_sim(X), to rounding", violations,
                          cases, "largest error over max(1, rate) " + short_number(largest));
}

Claim bounds_claim(const Evidence& run, const std::vector<TrialRecord>& records) {
  double violations = 0, cases = 0, tightest_1 = infinity, tightest_2 = infinity;
  for (const TrialRecord& record : records) {
    for (std::size_t k = 0; k < run.config.spec.layers; ++k) {
      if (!run.is_clean(record, k)) continue;
      const double mu_1 = record.array("mu_1")[k], mu_1_bound = record.array("mu_1_bound")[k];
      const double mu_2 = record.array("mu_2")[k], mu_2_bound = record.array("mu_2_bound")[k];
      if (!std::isfinite(mu_1 + mu_1_bound + mu_2 + mu_2_bound)) continue;
      cases += 2;
      // delta^2 of a P that mixes completely is rounding noise itself.
      const double noise = run.slack * run.slack;
      violations += (mu_1 < mu_1_bound * (1 - run.slack) ? 1 : 0) + (mu_2 > mu_2_bound * (1 + run.slack) + noise ? 1 : 0);
      tightest_1 = std::min(tightest_1, mu_1 - mu_1_bound);
      tightest_2 = std::min(tightest_2, mu_2_bound - mu_2);
    }
  }
  return judge_violations("shallow/eq-11", "Lemma 2.4, eq. (11), and Section 2.2.2 for several heads",
                          "mu_1^2 >= (1 - omega)^2 and mu_2^2 <= delta^2, all averaged over heads", violations, cases,
                          cases > 0 ? "smallest differences " + short_number(tightest_1) + " and " + short_number(tightest_2) : "");
}

Claim judge_in_setting(const Evidence& run, const Text& text, const std::function<Claim()>& judge) {
  const auto reason = other_setting(run.config);
  return reason ? not_applicable(text.id, text.source, text.statement, *reason) : judge();
}

}  // namespace ranklab::escalation
