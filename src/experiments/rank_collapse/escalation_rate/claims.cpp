#include "experiments/rank_collapse/escalation_rate/claims.hpp"

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "core/tolerances.hpp"
#include "models/token_escalation.hpp"

namespace ranklab {
namespace {

using namespace escalation;

constexpr double nearly_identical = 0.05;  // largest difference between two curves over the smaller
constexpr const char* sharpened = "sharpened by the expectations (9) as control variates";

double at(const TrialRecord& record, const char* name, std::size_t k) {
  return record.array(name)[k];
}

StepStrength strength(const Evidence& run) {
  return step_strength(run.config.spec, run.config.lambda);
}

double largest_on_path(const Evidence& run, const char* name) {
  double largest = undefined;
  for (const double value : run.records.front().array(name)) {
    if (!(largest >= value) && std::isfinite(value)) largest = value;
  }
  return largest;
}

// [Shallow] Theorem 2.6 for several heads: the bounds (11) are averaged before they enter eq. (16).
double guaranteed_excess(const Evidence& run, const TrialRecord& record, std::size_t k) {
  return expected_excess(strength(run), at(record, "mu_1_bound", k), at(record, "mu_2_bound", k));
}

Claim hypothesis_claim(const Evidence& run) {
  const TrialRecord& path = run.records.front();
  double violations = 0, cases = 0, room = infinity;
  for (std::size_t k = 0; k < run.config.spec.layers; ++k) {
    const double sum = at(path, "omega_plus_delta", k);
    if (!run.is_clean(path, k) || !std::isfinite(sum)) continue;
    cases += 1;
    violations += sum < 1 ? 0 : 1;
    room =
        std::min(room, std::max(at(path, "mu_1", k) - at(path, "mu_1_bound", k), at(path, "mu_2_bound", k) - at(path, "mu_2", k)));
  }
  return judge_violations("shallow/thm-2.6-hypothesis", "Theorem 2.6", "omega + delta < 1 for every head of every block",
                          violations, cases,
                          cases > 0 ? "largest omega + delta " + short_number(largest_on_path(run, "omega_plus_delta")) +
                                          "; smallest left-hand side of (15) " + short_number(room)
                                    : "");
}

Claim guarantee_claim(const Evidence& run) {
  const Text text{"shallow/eq-16", "Theorem 2.6, eq. (16)",
                  "E[r] is at least 1 plus the averaged Estimate 1 times t_sim, at every block with omega + delta < 1"};
  if (strength(run).attention == 0) return not_applicable(text.id, text.source, text.statement, "step 1 has no attention");
  const BlockValues margin = clean_values(run, [&](const TrialRecord& record, std::size_t k) {
    if (!(at(record, "omega_plus_delta", k) < 1)) return undefined;
    return (sharpened_excess(run, record, k) - guaranteed_excess(run, record, k)) * at(record, "token_similarity", k);
  });
  return judge_blocks(text, margin, 0.0, infinity, std::string("rate less bound, ") + sharpened);
}

// [Shallow] eq. (17) is a bound for symmetric P; where P is not, its distance from the mean is reported and not judged.
Claim symmetric_claim(const Evidence& run) {
  const Text text{"shallow/eq-17", "Corollary 2.7, eq. (17)", "for symmetric P, E[r] is at least 1 plus Estimate 2 times t_sim"};
  const BlockValues margin = clean_values(run, [&](const TrialRecord& record, std::size_t k) {
    return (sharpened_excess(run, record, k) - at(record, "estimate_2", k)) * at(record, "token_similarity", k);
  });
  Claim claim = judge_blocks(text, margin, 0.0, infinity, std::string("rate less Estimate 2's, ") + sharpened);
  const double asymmetric = largest_on_path(run, "asymmetry");
  if (asymmetric <= run.slack) return claim;
  claim.verdict = Verdict::not_applicable;
  claim.detail =
      "P is not symmetric: ||P - P'||_F/||P||_F up to " + short_number(asymmetric) + "; compared all the same: " + claim.detail;
  return claim;
}

// Estimate 2 is the closer one exactly where the mean lies on its side of the middle.
Claim closer_claim(const Evidence& run) {
  const Text text{"shallow/fig-3-closer", "Section 2.4, Figure 3 (middle)",
                  "Estimate 2 is closer to the mean of xi_1/xi_2 - 1 than Estimate 1, at every block"};
  return judge_in_setting(run, text, [&] {
    const BlockValues side = clean_values(run, [&](const TrialRecord& record, std::size_t k) {
      const double first = at(record, "estimate_1", k), second = at(record, "estimate_2", k);
      if (first == second) return undefined;
      return (second > first ? 1 : -1) * (sharpened_excess(run, record, k) - (first + second) / 2);
    });
    return judge_blocks(text, side, 0.0, infinity,
                        std::string("distance of the mean from the middle of the two, towards Estimate 2, ") + sharpened);
  });
}

Claim identical_claim(const Evidence& run) {
  const Text text{"shallow/fig-3-rates", "Section 2.4, Figure 3 (right)",
                  "the mean rate and its two estimates are nearly identical, within " + short_number(100 * nearly_identical) +
                      " %, at every block"};
  return judge_in_setting(run, text, [&] {
    const BlockValues spread = clean_values(run, [&](const TrialRecord& record, std::size_t k) {
      const double similarity = at(record, "token_similarity", k);
      const auto [low, high] = std::minmax({escalation_rate(sharpened_excess(run, record, k), similarity),
                                            escalation_rate(at(record, "estimate_1", k), similarity),
                                            escalation_rate(at(record, "estimate_2", k), similarity)});
      return std::isfinite(low + high) ? high / low - 1 : undefined;
    });
    return judge_blocks(text, spread, 0.0, nearly_identical, std::string("largest relative difference, ") + sharpened);
  });
}

// [Shallow] eq. (9) and (29). Many means are compared, hence more standard errors than for one.
Claim expectation_claim(const Evidence& run) {
  const std::string id = "shallow/eq-9", source = "Lemma 2.4, eq. (9), and Lemma A.6, eq. (29)",
                    statement = "E[xi_i] = lambda^2 + alpha^2 d sigma^2 mu_i^2 (the paper's lambda is 1), within " +
                                short_number(tolerance::standard_errors) + " standard errors at every block";
  double violations = 0, cases = 0, farthest = 0, width = 0;
  for (const auto& [xi, mu] : {std::pair{"xi_1", "mu_1"}, {"xi_2", "mu_2"}}) {
    const BlockValues sampled = clean_values(run, recorded(xi));
    for (std::size_t k = 0; k < sampled.size(); ++k) {
      const Summary summary = summarise(sampled[k]);
      const double error = confidence_half_width(summary, 1.0);
      const double expected = expected_xi(strength(run), at(run.records.front(), mu, k)),
                   distance = std::abs(summary.mean - expected);
      if (!std::isfinite(error) || !std::isfinite(expected)) continue;
      cases += 1;
      violations += distance > tolerance::standard_errors * error + run.slack * expected ? 1 : 0;
      if (error > 0) farthest = std::max(farthest, distance / error);
      width = std::max(width, error / expected);
    }
  }
  if (cases == 0) return not_applicable(id, source, statement, "a standard error needs two trials and a defined block");
  return judge_violations(id, source, statement, violations, cases,
                          "farthest " + short_number(farthest) + " standard errors, which are at most " +
                              short_number(100 * width) + " % of the expectation");
}

Claim expected_rate_claim(const Evidence& run) {
  double violations = 0, cases = 0;
  std::vector<double> eta(run.config.spec.layers, undefined);
  for (const TrialRecord& record : run.records) {
    for (std::size_t k = 0; k < run.config.spec.layers; ++k) {
      const double expected = expected_excess_at(run, record, k), ratio = at(record, "xi_1", k) / at(record, "xi_2", k);
      const double deviation = (1 + expected) - ratio, rate = at(record, "rate", k);  // eta of eq. (14)
      if (!run.is_clean(record, k) || !std::isfinite(deviation + rate)) continue;
      cases += 1;
      const double predicted = escalation_rate(expected - deviation, at(record, "token_similarity", k));
      violations +=
          std::abs(predicted - rate) > tolerance::closed_form<double> * (1 + std::abs(expected) + std::abs(deviation)) ? 1 : 0;
    }
  }
  const BlockValues means = clean_values(run, [&](const TrialRecord& record, std::size_t k) {
    return expected_excess_at(run, record, k) - sharpened_excess(run, record, k);
  });
  double low = infinity, high = -infinity;
  for (const auto& values : means) {
    const double mean = summarise(values).mean;
    if (!std::isfinite(mean)) continue;
    low = std::min(low, mean), high = std::max(high, mean);
  }
  const bool one_head = run.config.spec.heads == 1;
  return judge_violations(
      one_head ? "shallow/eq-13" : "shallow/eq-18", one_head ? "Proposition 2.5, eq. (13)" : "Proposition 2.9, eq. (18)",
      "the rate is 1 + (E[xi_1]/E[xi_2] - 1 - eta) t_sim with eta of eq. (14), to rounding in every trial", violations, cases,
      cases > 0 ? "E[eta] from " + short_number(low) + " to " + short_number(high) + " over blocks, " + sharpened : "");
}

}  // namespace

double escalation::expected_excess_at(const Evidence& run, const TrialRecord& record, std::size_t k) {
  return expected_excess(strength(run), at(record, "mu_1", k), at(record, "mu_2", k));
}

double escalation::sharpened_excess(const Evidence& run, const TrialRecord& record, std::size_t k) {
  const double E_1 = expected_xi(strength(run), at(record, "mu_1", k)), E_2 = expected_xi(strength(run), at(record, "mu_2", k));
  return at(record, "xi_ratio_minus_1", k) - (at(record, "xi_1", k) - E_1) / E_2 +
         (at(record, "xi_2", k) - E_2) * E_1 / (E_2 * E_2);
}

std::vector<Claim> escalation_rate_claims(const Evidence& run) {
  if (run.records.empty()) return {};
  return {guarantee_claim(run),   symmetric_claim(run),     closer_claim(run),   identical_claim(run),
          expectation_claim(run), expected_rate_claim(run), identity_claim(run), bounds_claim(run, {run.records.front()}),
          hypothesis_claim(run)};
}

}  // namespace ranklab
