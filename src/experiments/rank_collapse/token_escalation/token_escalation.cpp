#include "experiments/rank_collapse/token_escalation/token_escalation.hpp"

#include <algorithm>
#include <cmath>

#include "core/undefined.hpp"
#include "experiments/rank_collapse/model_fields.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab {

EscalationConfig::EscalationConfig() {
  spec.model = "post-norm";
  spec.layers = 20;
  spec.tokens = 64;
  spec.dim = 512;
}

bool EscalationConfig::is_algorithm_1() const {
  return spec.row().figure == DepthFigure::shallow_2;
}

std::vector<Field> escalation_fields(EscalationConfig& config,
                                     const std::vector<std::string>& models) {
  std::vector<Field> fields = model_fields(config.spec, models);
  fields.push_back(real_field("lambda", config.lambda, -1e6, 1e6, "lambda",
                              "strength of the skip in step 1; 1: the plain residual"));
  return fields;
}

Estimate path_estimate(const EscalationConfig& config) {
  const ModelSpec& spec = config.spec;
  const double N = static_cast<double>(spec.tokens), d = static_cast<double>(spec.dim),
               h = static_cast<double>(spec.heads),
               q = spec.has_mlp() ? static_cast<double>(spec.ffn) : 0,
               weights = parameters_per_block(spec);
  constexpr double states = 12, head_matrices = 6;
  // Memory of one block at a time: its weights, states, feed-forward layer and attention matrices,
  // and the copies for the measures of a head.
  return {.bytes = 8 * (weights + states * d * N + q * N + (h + head_matrices) * N * N)};
}

namespace token_escalation {
namespace {

// Why statements about [Shallow] Section 2.4 do not apply to a run.
std::string unmet_setting_of(const EscalationConfig& config) {
  const ModelSpec& spec = config.spec;
  const auto differs = [](const std::string& what) { return "the statement is about " + what; };
  if (!config.is_algorithm_1())
    return differs("the blocks of Algorithm 1, not --model " + spec.model);
  if (spec.alpha != 1) return differs("alpha = 1, not --alpha " + short_number(spec.alpha));
  if (config.lambda != 1)
    return differs("the plain residual, not --lambda " + short_number(config.lambda));
  if (spec.weight_scale != 1)
    return differs("--weight-scale 1, not " + short_number(spec.weight_scale));
  if (spec.norm != "layer") return differs("layer normalization, not --norm " + spec.norm);
  if (!spec.has_mlp()) return differs("blocks with a feed-forward net, not --mlp off");
  if (spec.shares_weights()) return differs("fresh weights at every block, not --share-weights on");
  if (spec.input != "gaussian")
    return differs("standard Gaussian input, not --input " + spec.input);
  return "";
}

// "block 3", "blocks 1 to 3, 7": ascending.
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

std::string range_text(const Tally& tally) {
  return tally.smallest == tally.largest ? short_number(tally.smallest)
                                         : ranklab::range_text(tally.smallest, tally.largest);
}

}  // namespace

Plan::Plan(const EscalationConfig& config_of_run)
    : config(config_of_run), unmet_setting(unmet_setting_of(config)) {}

bool Plan::is_clean(const TrialRecord& record, std::size_t k) const {
  constexpr double smallest_diversity = tolerance::smallest_diversity<double>;
  const std::vector<double>& diversity = record.array(token_diversity);
  return diversity[k] >= smallest_diversity && diversity[k + 1] >= smallest_diversity;
}

std::vector<std::size_t> Plan::clean_blocks(const TrialRecord& record) const {
  std::vector<std::size_t> blocks;
  for (std::size_t k = 0; k < config.spec.layers; ++k) {
    if (is_clean(record, k)) blocks.push_back(k);
  }
  return blocks;
}

ValueAtSize recorded(const std::string& name) {
  return [name](const TrialRecord& record, std::size_t k) { return record.array(name)[k]; };
}

BlockValues clean_values(const Plan& plan, const Records& records, const ValueAtSize& value) {
  BlockValues values;
  for (std::size_t k = 0; k < plan.config.spec.layers; ++k) {
    values.push_back(per_trial(records, [&](const TrialRecord& record) {
      return plan.is_clean(record, k) ? value(record, k) : undefined;
    }));
  }
  return values;
}

Claim judge_blocks(const Statement& statement, const BlockValues& values, Region allowed,
                   const std::string& detail) {
  std::vector<std::size_t> outside, undecided, ties, unmeasured;  // blocks, from 1
  Tally means, means_outside;
  Claim worst;
  double worst_excess = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Claim at_block = judge_mean(statement, values[k], allowed);
    if (std::holds_alternative<CountEvidence>(at_block.evidence)) {  // a value is infinite
      undecided.push_back(k + 1);
      continue;
    }
    const double mean = at_block.measured,
                 excess = std::max(allowed.low - mean, mean - allowed.high);
    if (std::isnan(mean)) {
      unmeasured.push_back(k + 1);
      continue;
    }
    if (means.cases == 0 || excess > worst_excess) worst = at_block, worst_excess = excess;
    means.count(at_block.verdict == Verdict::fails, mean);
    if (at_block.verdict == Verdict::not_applicable) undecided.push_back(k + 1);
    if (!tie_text(values[k], allowed).empty()) ties.push_back(k + 1);
    if (at_block.verdict != Verdict::fails) continue;
    outside.push_back(k + 1);
    means_outside.count(true, mean);
  }
  if (means.cases == 0) return not_applicable(statement, "no block has a defined value");
  std::string text = (means.smallest == means.largest ? "mean " : "means from ") +
                     range_text(means) + " over " +
                     counted(static_cast<std::uint64_t>(means.cases), "block") + ", " +
                     counted(values.front().size(), "trial");
  if (!outside.empty())
    text += "; outside at " + block_list(outside) + ": " + range_text(means_outside);
  if (!undecided.empty()) text += "; undecided at " + block_list(undecided);
  if (!ties.empty()) text += "; a tie in every trial at " + block_list(ties);
  if (!unmeasured.empty())
    text += "; excluded as undefined or rounding noise: " + block_list(unmeasured);
  worst.verdict = !outside.empty()     ? Verdict::fails
                  : !undecided.empty() ? Verdict::not_applicable
                                       : Verdict::holds;
  worst.undecided = worst.verdict == Verdict::not_applicable;
  worst.detail = clauses(text, detail);
  return worst;
}

void judge_identity(const Records& records, Claims& claims) {
  const double largest = std::max(0.0, tally_of(records, eq_6.id).largest);
  claims.never_violated(eq_6, records,
                        "an identity, so more cases show no more than one; largest error divided "
                        "by max(1, rate): " +
                            short_number(largest));
}

void judge_bounds(const Plan& plan, const Records& records, Claims& claims) {
  const Statement eq_11 = {
      "shallow/lemma-2.4", "shallow/eq-11",
      "Lemma 2.4, eq. (11), and Section 2.2.2 for several heads",
      "mu_1^2 >= (1 - omega)^2 and mu_2^2 <= delta^2, with all four averaged over heads"};
  // If P mixes completely, delta^2 is rounding noise.
  constexpr double noise = slack * slack;
  Tally first, second;
  for (const TrialRecord& record : records) {
    for (const std::size_t k : plan.clean_blocks(record)) {
      const double mu[] = {record.array(mu_1)[k], record.array(mu_2)[k]};
      const double bound[] = {record.array(mu_1_bound)[k], record.array(mu_2_bound)[k]};
      if (!std::isfinite(mu[0] + bound[0] + mu[1] + bound[1])) continue;
      first.count(mu[0] < bound[0] * (1 - slack), mu[0] - bound[0]);
      second.count(mu[1] > bound[1] * (1 + slack) + noise, bound[1] - mu[1]);
    }
  }
  Tally both = first;
  both.add(second);
  claims.never_violated(eq_11, both,
                        both.cases > 0 ? "smallest margins " + short_number(first.smallest) +
                                             " and " + short_number(second.smallest)
                                       : "");
}

}  // namespace token_escalation
}  // namespace ranklab
