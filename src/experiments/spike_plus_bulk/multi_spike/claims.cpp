// Claims about windows of large nuclear rank: Theorem 3.6 and Remark 1, Theorem 3.11, Corollary 3.12 and Remark 2 of [Spectral].
#include "experiments/spike_plus_bulk/multi_spike/claims.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ranklab {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double real(std::uint64_t n) {
  return static_cast<double>(n);
}

// What one claim says and where.
struct Heading {
  std::string id, source, statement;
};

// Why the theorem says nothing about this family, or "".
std::string unmet_hypothesis(const MultiSpikeRun& run, const SpikeFamily& family) {
  const double p = real(run.config.spikes), u = family.pair.high;
  const std::uint64_t smallest = *std::min_element(run.config.d.begin(), run.config.d.end());
  if (family.c < 1) return "the theorem takes c >= 1, this run c = " + short_number(family.c);
  if (run.model == LabelModel::realizable) {
    if (run.config.spikes >= smallest) return "as many spikes as dimensions leave no bulk: M-bar has no column";
    return "";
  }
  if (u > 1) return "Assumption H takes u <= 1, this run u = " + short_number(u);
  if (2 * run.config.spikes >= smallest / 2) {
    return "2 p = " + short_number(2 * p) + " spikes leave no column p + 1 to r - p at d = " + std::to_string(smallest);
  }
  return "";
}

// Corollary 3.12 asks for more than Theorem 3.11.
std::string unmet_hypothesis_of_window(const MultiSpikeRun& run, const SpikeFamily& family) {
  std::string reason = unmet_hypothesis(run, family);
  if (!reason.empty() || run.model == LabelModel::realizable) return reason;
  const double difference = family.pair.high - family.pair.low;
  if (difference >= 0.5) return "u - l = " + short_number(difference) + " is not below 1/2";
  const std::uint64_t largest = *std::max_element(run.config.d.begin(), run.config.d.end());
  const double limit = std::pow(real(largest), 1 - 2 * difference);
  if (real(run.config.spikes) >= limit) {
    return "p = o(d^(1-2(u-l))) cannot be said of p = " + std::to_string(run.config.spikes) + ": d^(1-2(u-l)) is " +
           short_number(limit) + " at d = " + std::to_string(largest);
  }
  return "";
}

// How many trials and sizes leave the level within the predicted span; sizes where the span is empty are no case.
struct Passage {
  double cases = 0, violations = 0;
  std::string empty;  // sizes without a case
};

Passage passages(const MultiSpikeRun& run, const SpikeFamily& family, const std::string& start, const std::string& end,
                 const std::function<Span(std::uint64_t)>& predicted) {
  Passage out;
  for (const std::uint64_t d : run.config.d) {
    const Span span = predicted(d);
    if (span.from > span.to || span.to > horizon(run.config, family, d)) {
      out.empty += (out.empty.empty() ? "d = " : ", ") + std::to_string(d);
      continue;
    }
    for (const TrialRecord& record : run.records) {
      const double first = record.scalar(family.at(d) + start), last = record.scalar(family.at(d) + end);
      out.cases += 1;
      // Between the two first passages every iteration is at the level or above it.
      if (!(first <= real(span.from)) || last <= real(span.to)) out.violations += 1;
    }
  }
  return out;
}

Claim judge_passages(const Heading& heading, const Passage& found, const std::string& detail) {
  std::string text = detail;
  if (!found.empty.empty())
    text += "; the predicted window is empty, or ends after the last iteration looked at, at " + found.empty;
  return judge_violations(heading.id, heading.source, heading.statement, found.violations, found.cases, text);
}

std::string mean_over_sizes(const MultiSpikeRun& run, const SpikeFamily& family, const std::string& quantity,
                            const SizeScale& scale) {
  std::string text;
  for (const std::uint64_t d : run.config.d) {
    const double mean = summarise(scalars_of(run.records, family.at(d) + quantity)).mean;
    text += (text.empty() ? "" : ", ") + short_number(mean / scale(real(d)));
  }
  return text;
}

void add_burn_in_claims(const MultiSpikeRun& run, const SpikeFamily& family, const std::string& id, const std::string& source,
                        std::vector<Claim>& claims) {
  const SizeScale scale = [&](double d) { return burn_in_scale(family.pair, d); };
  const std::string ratios = "burn-in / (d^(u-l) log d): " + mean_over_sizes(run, family, "burn_in_crossing", scale) +
                             "; exponent of d in it " +
                             short_number(summarise(exponents_over_d(run, family.names, "burn_in_crossing", scale)).mean);
  const auto slopes = burn_in_slopes(run, family);
  const double constant = family.c * family.pair.high;
  claims.push_back(judge_exponent(run, id + "/burn-in-at-most", source,
                                  "the burn-in grows no faster than d^(u-l) log d: burn-in / d^(u-l) = a + b log d with b at most "
                                  "the constant c u of the proof",
                                  slopes, -infinity, constant, ratios));
  claims.push_back(judge_exponent(run, id + "/burn-in-of-order", source,
                                  "the burn-in grows like d^(u-l) log d, not more slowly: b > 0 in burn-in / d^(u-l) = a + b log d",
                                  slopes, std::numeric_limits<double>::min(), constant, ratios));
}

void add_remark_claims(const MultiSpikeRun& run, const SpikeFamily& family, const std::string& id, std::vector<Claim>& claims) {
  const std::string name = run.model == LabelModel::realizable ? "Remark 1" : "Remark 2";
  const std::string level = "nr >= d^(1-eps), eps = " + short_number(run.config.epsilon);
  claims.push_back(judge_passages({id + "/window", name, level + ", from c u d^(u-l) log d to c eps d^u log d / (2 c_2)"},
                                  passages(run, family, "remark_burn_in", "remark_window_end",
                                           [&](std::uint64_t d) { return predicted_remark_window(run.config, family, d); }),
                                  "cases are trials and sizes"));
  const SizeScale scale = [&](double d) { return remark_scale(family.pair, d); };
  double error = 0;
  const auto exponents = exponents_over_d(run, family.names, "remark_window_end", scale, &error);
  claims.push_back(judge_exponent(run, id + "/order", name, "the window of " + level + " lasts for at least the order of d^u log d",
                                  exponents, -exponent_tolerance(run.config), infinity,
                                  "end / (d^u log d): " + mean_over_sizes(run, family, "remark_window_end", scale) +
                                      "; standard error of a fit " + short_number(error)));
  double cases = 0, violations = 0;
  for (const std::uint64_t d : run.config.d) {
    if (remark_rank(run.config, d) >= large_rank(run.model, d)) continue;
    for (const TrialRecord& record : run.records) {
      const double end = record.scalar(family.at(d) + "window_end"), longer = record.scalar(family.at(d) + "remark_window_end");
      if (!std::isfinite(end)) continue;
      cases += 1;
      if (longer <= end) violations += 1;  // a longer window that has not ended is undefined, and no violation
    }
  }
  claims.push_back(judge_violations(id + "/longer", name, "the window of " + level + " ends after that of nr of order d",
                                    violations, cases, "sizes with d^(1-eps) below the level of the shorter window"));
}

// (3.11) and Theorem 3.11 over the predicted window, with the constants of the proofs in place of the unspecified ones.
void add_norm_claims(const MultiSpikeRun& run, const SpikeFamily& family, std::vector<Claim>& claims) {
  const bool teacher = run.model == LabelModel::teacher;
  const double p = real(run.config.spikes), c_1 = SpikedShape().bulk_low, c_2 = SpikedShape().bulk_high;
  double cases = 0, low = 0, high = 0, smallest = infinity, largest = 0, positive = 0;
  for (const std::uint64_t d : run.config.d) {
    const Span window = predicted_window(family, d);
    if (window.from > window.to) continue;
    const double leak = teacher ? std::pow(real(d), family.pair.high - family.pair.low) : 1.0, last = teacher ? 1 / real(d) : 0.0;
    for (const TrialRecord& record : run.records) {
      const auto value = [&](const std::string& name) { return record.scalar(family.at(d) + name); };
      const double W_norm = record.scalar(family.pair.names + "d=" + std::to_string(d) + ".W_norm");
      const double lower = value("M_nuclear") - p * leak - last;
      const double upper = value(teacher ? "W_frobenius" : "M_frobenius") + std::sqrt(p) * leak + last;
      const double constant = std::max(c_2, (teacher ? 2 * c_2 : 1.0) * W_norm);
      cases += 1;
      largest = std::max(largest, value("window_frobenius") / upper);
      if (value("window_frobenius") > constant * upper) high += 1;
      if (lower <= 0) continue;
      positive += 1;
      smallest = std::min(smallest, value("window_nuclear") / lower);
      if (value("window_nuclear") < c_1 * std::exp(-2 * c_2) * lower) low += 1;
    }
  }
  const std::string id = claim_id(teacher ? "spectral/thm-3.11" : "spectral/eq-3.11", family.names),
                    source = teacher ? "Theorem 3.11" : "eq. (3.11)";
  const std::string terms = teacher ? "||M-bar||_* - p d^(u-l) - d^(-1)" : "||M-bar||_* - r";
  claims.push_back(judge_violations(
      id + "/nuclear", source, "over the predicted window ||grad L(W_t)||_* >= C (" + terms + "), C = c_1 exp(-2 c_2)", low,
      positive, positive > 0 ? "smallest ratio " + short_number(smallest) : "the right side is not positive"));
  claims.push_back(judge_violations(id + "/frobenius", source,
                                    teacher ? "over the predicted window ||grad L(W_t)||_F <= C (||W-bar||_F + sqrt(p) d^(u-l) + "
                                              "d^(-1)), C = 2 c_2 ||W-bar||_op"
                                            : "over the predicted window ||grad L(W_t)||_F <= C (||M-bar||_F + sqrt(r)), C = "
                                              "max(c_2, ||W#||_op)",
                                    high, cases, "largest ratio " + short_number(largest)));
}

}  // namespace

std::vector<Claim> window_claims(const MultiSpikeRun& run, const SpikeFamily& family) {
  const bool teacher = run.model == LabelModel::teacher;
  const std::string name = teacher ? "cor-3.12" : "thm-3.6", source = teacher ? "Corollary 3.12, eq. (3.27)" : "Theorem 3.6";
  const std::string id = claim_id("spectral/" + name, family.names);
  const std::string level = teacher ? "nr >= 0.2 d" : "nr >= d/4";

  std::vector<Claim> claims;
  const SizeScale scale = [&](double d) { return window_scale(family.pair, d); };
  double error = 0;
  const auto exponents = exponents_over_d(run, family.names, "window_length", scale, &error);
  claims.push_back(
      judge_passages({id + "/window", source, level + " at every iteration from c u d^(u-l) log d to c d^u"},
                     passages(run, family, "burn_in", "window_end", [&](std::uint64_t d) { return predicted_window(family, d); }),
                     "cases are trials and sizes"));
  claims.push_back(judge_exponent(run, id + "/window-order", source,
                                  "the window of " + level + " lasts for at least the order of d^u", exponents,
                                  -exponent_tolerance(run.config), infinity,
                                  "length / d^u: " + mean_over_sizes(run, family, "window_length", scale) +
                                      "; standard error of a fit " + short_number(error)));
  add_burn_in_claims(run, family, id, source, claims);
  add_remark_claims(run, family, claim_id(teacher ? "spectral/remark-2" : "spectral/remark-1", family.names), claims);
  const std::string reason = unmet_hypothesis_of_window(run, family);
  if (!reason.empty()) {
    for (Claim& claim : claims)
      claim = not_applicable(claim.id, claim.source, claim.statement, reason + "; measured: " + claim.detail);
  }
  const std::size_t before = claims.size();
  add_norm_claims(run, family, claims);
  const std::string theorem_reason = unmet_hypothesis(run, family);
  for (std::size_t i = before; i < claims.size() && !theorem_reason.empty(); ++i) {
    claims[i] = not_applicable(claims[i].id, claims[i].source, claims[i].statement, theorem_reason);
  }
  return claims;
}

}  // namespace ranklab
