#include "experiments/rank_collapse/escalation/claims.hpp"

#include <cmath>

#include "core/text.hpp"
#include "experiments/rank_collapse/escalation/trial.hpp"
#include "models/token_escalation.hpp"

namespace ranklab {
namespace {

using namespace escalation;

// "Before block 15"; "about 2", "about 1"; "far less than 1"; "approach 0", by the last block against the first; 1/2 late.
constexpr std::size_t paper_blocks = 15;
constexpr double about_two[] = {1.5, 2.5}, about_one[] = {0.9, 1.1}, far_below_one = 0.5, towards_zero = 0.1, rate_margin = 0.1;

Claim monotone_claim(const Evidence& run) {
  const Text text{"shallow/fig-2-monotone", "Section 2.4, Figure 2 (left)", "mean token similarity rises at every block"};
  return judge_in_setting(run, text, [&] {
    double falls = 0;
    for (const TrialRecord& record : run.records) falls += decreases(run, record);
    const BlockValues rise = clean_values(run, [](const TrialRecord& record, std::size_t k) {
      return record.array("token_diversity")[k] - record.array("token_diversity")[k + 1];
    });
    return judge_blocks(text, rise, 0.0, infinity,
                        "rise of t_sim per block; in single trials it falls " + short_number(falls) + " times");
  });
}

Claim maximum_claim(const Evidence& run) {
  const Text text{"shallow/fig-2-maximum", "Section 2.4, Figure 2 (left)",
                  "token similarity is near its maximum, above " + short_number(near_maximum) + ", before block " +
                      std::to_string(paper_blocks)};
  return judge_in_setting(run, text, [&] {
    if (run.config.spec.layers + 1 < paper_blocks) {
      return not_applicable(text.id, text.source, text.statement, "needs " + std::to_string(paper_blocks - 1) + " blocks");
    }
    std::vector<double> similarity, first;
    for (const TrialRecord& record : run.records) {
      similarity.push_back(record.array("token_similarity")[paper_blocks - 1]);
      first.push_back(first_near_maximum(record));
    }
    return judge_mean(text.id, text.source, text.statement, similarity, near_maximum, 1.0,
                      "t_sim after block " + std::to_string(paper_blocks - 1) + "; reached after block " +
                          short_number(summarise(first).mean) + " on average");
  });
}

Claim step_claim(const Evidence& run, int step) {
  const auto& range = step == 1 ? about_two : about_one;
  const Text text{"shallow/fig-2-step" + std::to_string(step), "Section 2.4, Figure 2 (middle)",
                  "mean xi_1/xi_2 of step " + std::to_string(step) + " is about " + (step == 1 ? "2" : "1") + ", in [" +
                      short_number(range[0]) + ", " + short_number(range[1]) + "], at every block"};
  return judge_in_setting(run, text,
                          [&] { return judge_blocks(text, clean_values(run, recorded(xi_ratio_of(step))), range[0], range[1]); });
}

// Over the blocks that are not rounding noise, as all claims.
double last_over_first(const Evidence& run, const TrialRecord& record, const std::string& quantity) {
  const std::vector<double>& values = record.array(quantity);
  std::size_t last = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (run.is_clean(record, k)) last = k;
  }
  return last == 0 ? undefined : values[last] / values[0];
}

void add_gap_claims(const Evidence& run, const std::string& quantity, std::vector<Claim>& out) {
  const std::string id = "shallow/fig-2-" + quantity, source = "Section 2.4, Figure 2 (right)";
  const Text below{id, source, "mean " + quantity + " is far below 1, under " + short_number(far_below_one) + ", at every block"};
  out.push_back(
      judge_in_setting(run, below, [&] { return judge_blocks(below, clean_values(run, recorded(quantity)), 0.0, far_below_one); }));
  const Text falls{id + "/to-zero", source,
                   quantity + " falls towards 0: at the last block to " + short_number(towards_zero) + " of the first, or less"};
  out.push_back(judge_in_setting(run, falls, [&] {
    if (run.config.spec.layers < paper_blocks) {
      return not_applicable(falls.id, falls.source, falls.statement,
                            "needs " + std::to_string(paper_blocks) + " blocks, as many as similarity takes to saturate");
    }
    std::vector<double> ratios;
    for (const TrialRecord& record : run.records) ratios.push_back(last_over_first(run, record, quantity));
    return judge_mean(falls.id, falls.source, falls.statement, ratios, 0.0, towards_zero, "last over first");
  }));
}

// [Shallow] Remark 2.8; with lambda and sigma other than the paper's, 1/(1 + alpha^2) becomes E[xi_2]/E[xi_1] at omega = delta = 0.
Claim rate_claim(const Evidence& run, const std::string& id, const std::string& what,
                 double (*late_ratio)(const Evidence&, const TrialRecord&)) {
  const double limit = 1 / (1 + expected_excess(step_strength(run.config.spec, run.config.lambda), 1.0, 0.0));
  const Text text{id, "Remark 2.8",
                  "late diversity shrinks by the factor 1/(1 + alpha^2 d sigma^2/lambda^2) = " + short_number(limit) + ", within " +
                      short_number(100 * rate_margin) + " %, at " + what};
  if (!run.config.is_algorithm_1()) {
    return not_applicable(text.id, text.source, text.statement,
                          "the statement is about W of independent entries without a projection after it");
  }
  if (!(limit > 0)) return not_applicable(text.id, text.source, text.statement, "without a skip the factor is 0");
  std::vector<double> ratios;
  bool any = false;
  for (const TrialRecord& record : run.records) {
    ratios.push_back(late_ratio(run, record));
    any = any || std::isfinite(ratios.back());
  }
  const std::string late = "t_sim above " + short_number(near_maximum) + " and diversity above rounding noise";
  if (!any) return not_applicable(text.id, text.source, text.statement, "no block begins with " + late);
  return judge_mean(text.id, text.source, text.statement, ratios, limit * (1 - rate_margin), limit * (1 + rate_margin),
                    "geometric mean over the blocks that begin with " + late);
}

double late_ratio(const Evidence& run, const TrialRecord& record, const ValueAtBlock& ratio) {
  double logarithms = 0, blocks = 0;
  for (std::size_t k = 0; k < run.config.spec.layers; ++k) {
    if (!run.is_clean(record, k) || !(record.array("token_similarity")[k] > near_maximum)) continue;
    logarithms += std::log(ratio(record, k));
    blocks += 1;
  }
  return blocks > 0 ? std::exp(logarithms / blocks) : undefined;
}

}  // namespace

double escalation::first_near_maximum(const TrialRecord& record) {
  const std::vector<double>& similarity = record.array("token_similarity");
  for (std::size_t k = 0; k < similarity.size(); ++k) {
    if (similarity[k] > near_maximum) return static_cast<double>(k);
  }
  return undefined;
}

double escalation::decreases(const Evidence& run, const TrialRecord& record) {
  const std::vector<double>& diversity = record.array("token_diversity");
  double count = 0;
  for (std::size_t k = 0; k + 1 < diversity.size(); ++k) {
    if (run.is_clean(record, k) && diversity[k + 1] > diversity[k]) count += 1;
  }
  return count;
}

double escalation::late_ratio_of_step_1(const Evidence& run, const TrialRecord& record) {
  return late_ratio(run, record, [](const TrialRecord& r, std::size_t k) { return 1 / r.array("rate")[k]; });
}

double escalation::late_ratio_of_block(const Evidence& run, const TrialRecord& record) {
  return late_ratio(run, record, recorded("diversity_ratio"));
}

std::vector<Claim> escalation_claims(const Evidence& run) {
  std::vector<Claim> claims = {monotone_claim(run), maximum_claim(run)};
  for (int step = 1; step <= steps; ++step) claims.push_back(step_claim(run, step));
  add_gap_claims(run, "delta", claims);
  add_gap_claims(run, "omega", claims);
  claims.push_back(identity_claim(run));
  claims.push_back(bounds_claim(run, run.records));
  claims.push_back(rate_claim(run, "shallow/rem-2.8", "the block", late_ratio_of_block));
  claims.push_back(rate_claim(run, "shallow/rem-2.8/step1", "step 1", late_ratio_of_step_1));
  return claims;
}

}  // namespace ranklab
