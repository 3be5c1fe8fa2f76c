#include "experiments/rank_collapse/bounds/claims.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/rank_collapse/bounds/trial.hpp"

namespace ranklab::bounds {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The mean over trials of a number `<model>.<suffix>`, over models, at each model's best rate: "from ... to ...".
std::string range_of_needed(const Evidence& run, const std::string& form) {
  double low = infinity, high = 0;
  for (const std::string& model : run.config.models) {
    double best = infinity;
    for (const double a : run.config.a) {
      const std::string name = model + (form == "_turning" ? "" : ".a=" + series_number(a)) + ".lambda_needed" + form;
      std::vector<double> needed;
      for (const TrialRecord& record : run.records) {
        if (record.has(name)) needed.push_back(record.scalar(name));
      }
      best = std::min(best, summarise(needed).mean);
    }
    low = std::min(low, best);
    high = std::max(high, best);
  }
  return "at the last N and d and " + count_text(static_cast<double>(run.config.spec.layers)) +
         " layers it speaks from |lambda| = " + short_number(low) + " to " + short_number(high) + " (models)";
}

std::string by_sign(const Evidence& run, const std::string& name) {
  return "lambda > 0: " + violations_text(run.random(name + "/positive")) +
         ", lambda < 0: " + violations_text(run.random(name + "/negative"));
}

void add_proof_steps(const Evidence& run, std::vector<Claim>& out) {
  const std::string proof = "Theorem 4.1, proof (Appendix A.4)";
  out.push_back(
      inequality_claim(run, {"thm-4.1/step-cross-term/as-printed", proof, "mu(Y~)^2 >= lambda^2 mu(Y)^2 - 2 lambda N d S C_M",
                             "for lambda < 0 the printed term has the wrong sign"}));
  out.push_back(inequality_claim(
      run, {"thm-4.1/step-cross-term/corrected", proof, "mu(Y~)^2 >= lambda^2 mu(Y)^2 - 2 |lambda| N sigma_max(C_V) ||M||_2",
            "Cauchy-Schwarz; the factor d and the Frobenius norms are not needed"}));
  out.push_back(
      inequality_claim(run, {"thm-4.1/step-row-normalisation/as-printed", proof, "mu(D Y~)^2 >= mu(Y~)^2 / max_i ||Y~_i||^2",
                             "rows of one direction and different lengths have mu(Y~) > 0 and mu(D Y~) = 0; worked "
                             "example: (1, 0), (2, 0)"}));
  out.push_back(inequality_claim(run, {"thm-4.1/step-row-normalisation/corrected", proof,
                                       "mu(D Y~) >= (mu(Y~) - sqrt(sum_i (||Y~_i|| - mean)^2)) / max_i ||Y~_i||",
                                       "the spread of the rows' lengths is taken off first"}));
  out.push_back(inequality_claim(
      run, {"thm-4.1/step-largest-row/as-printed", proof, "max_i ||Y~_i|| <= S C_M + |lambda|",
            "||Y||_F = sqrt N is missing, for which S = ||C_V||_F, up to sqrt d times sigma_max(C_V), may make up; "
            "worked example: d = 1, a row of M adds N equal tokens to the length N, while S C_M is sqrt N"}));
  out.push_back(inequality_claim(
      run, {"thm-4.1/step-largest-row/corrected", proof,
            "max_i ||Y~_i|| <= sqrt(N) sigma_max(C_V) max_i ||row i of M||_2 + |lambda|", "the missing sqrt N is ||Y||_F"}));
}

void add_layers(const Evidence& run, std::vector<Claim>& out) {
  const std::string source = "Theorem 4.1, proof sketch";
  out.push_back(inequality_claim(
      run, {"thm-4.1/per-layer/as-printed", source, "mu_{k+1}^2 >= (lambda^2 mu_k^2 - 2 lambda N d S C_M) / (S C_M + |lambda|)^2",
            by_sign(run, "thm-4.1/per-layer/as-printed")}));
  const Tally informed = run.random("thm-4.1/per-layer/corrected/positive"),
              turned = run.random("thm-4.1/per-layer/turning/positive");
  out.push_back(inequality_claim(
      run, {"thm-4.1/per-layer/corrected", source,
            "mu_{k+1}^2 >= (lambda^2 mu_k^2 - 2 |lambda| N sigma_max(C_V) ||M||_2) / (S C_M + |lambda|)^2",
            "above 0 in " + count_text(informed.violations) +
                " cases; true although two steps of the printed proof are wrong: token i turns by an angle of sine at most "
                "||row i of M Y C_V||/|lambda|, from which it follows even without the denominator"}));
  out.push_back(inequality_claim(run, {"thm-4.1/per-layer/turning", "not in the paper; by |x/|x| - y/|y|| <= 2 |x - y|/(|x| + |y|)",
                                       "mu_{k+1} >= mu_k - 2 sqrt(N) sigma_max(C_V) ||M||_2 / |lambda|",
                                       "above 0 in " + count_text(turned.violations) + " cases"}));
}

void add_statements(const Evidence& run, std::vector<Claim>& out) {
  const std::string conclusion = ": mu(Y^K)^2 >= a^K mu(Y^0)^2", unmet = "no stack met eq. (7) and mu(Y^0)^2 >= b";
  out.push_back(inequality_claim(
      run,
      {"thm-4.1/statement/as-printed", "Theorem 4.1", "eq. (7) and mu(Y^0)^2 >= b as printed" + conclusion,
       clauses(by_sign(run, "thm-4.1/statement/as-printed"), range_of_needed(run, "")) +
           ", where b <= N at the best a; for lambda < 0 the printed b is negative and asks for nothing: worked example Sys-1 at "
           "lambda = -0.9, a = 0.04, one layer"}));
  out.push_back(inequality_claim(
      run,
      {"thm-4.1/statement/corrected", "Theorem 4.1",
       "eq. (7) and mu(Y^0)^2 >= a^-K 2 |lambda| N sigma_max(C_V) ||M||_2 / (lambda^2 - a (S C_M + |lambda|)^2)" + conclusion,
       clauses(count_text(run.random("thm-4.1/condition-7").cases) + " cases met eq. (7)", range_of_needed(run, "_corrected"))},
      unmet));
  out.push_back(inequality_claim(run,
                                 {"thm-4.1/statement/turning", "not in the paper; the per-layer bound, K times",
                                  "mu(Y^K) >= mu(Y^0) - 2 K sqrt(N) sup sigma_max(C_V) ||M||_2 / |lambda|, where that is positive",
                                  clauses("asks for no a, no eq. (7), no b", range_of_needed(run, "_turning"))},
                                 "no stack has a positive bound"));
}

}  // namespace

Tally Evidence::example(const std::string& inequality) const {
  const auto found = examples.tallies.find(inequality);
  return found == examples.tallies.end() ? Tally{} : found->second;
}

std::string violations_text(const Tally& tally) {
  return count_text(tally.violations) + " of " + count_text(tally.cases);
}

Claim without_case(const Text& text, const std::string& unmet) {
  return not_applicable("lambda-skip/" + text.id, text.source, text.statement, clauses(unmet, text.detail));
}

Claim inequality_claim(const Evidence& run, const Text& text, const std::string& unmet) {
  const Tally random = run.random(text.id), example = run.example(text.id);
  Tally all = random;
  all.add(example);
  if (all.cases == 0) return without_case(text, unmet);
  std::string detail = text.detail;
  if (all.closest > 0 && std::isfinite(all.closest)) {
    detail = clauses("smallest ratio of the two sides " + short_number(all.closest), detail);
  }
  if (example.cases > 0) {
    detail = clauses("random stacks " + violations_text(random) + ", worked examples " + violations_text(example), detail);
  }
  return judge_violations("lambda-skip/" + text.id, text.source, text.statement, all.violations, all.cases, detail);
}

std::vector<Claim> skip_claims(const Evidence& run) {
  std::vector<Claim> out;
  out.push_back(inequality_claim(
      run, {"thm-4.1/cap", "Section 3.1, eq. (4)", "mu^2 <= N, as rows have norm 1: with b > N Theorem 4.1 says nothing", ""}));
  out.push_back(inequality_claim(
      run, {"thm-4.1/threshold", "Section 4.1", "eq. (7) is the same as |lambda| > (a + sqrt a) S C_M / (1 - a)", ""}));
  add_proof_steps(run, out);
  add_layers(run, out);
  add_statements(run, out);
  return out;
}

}  // namespace ranklab::bounds
