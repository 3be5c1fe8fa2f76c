#include <cmath>
#include <limits>

#include "core/text.hpp"
#include "experiments/rank_collapse/bounds/claims.hpp"
#include "experiments/rank_collapse/bounds/report.hpp"
#include "experiments/rank_collapse/bounds/trial.hpp"

namespace ranklab::bounds {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// The growth of the steps of log mu counts as cubic within this of 3, and as exponential within this of 1.
constexpr double growth_margin = 0.1;
// A normalised mu vanishes where less than this share of the input's is left after the run's layers.
constexpr double vanished = 0.1;

// Not applicable, because of `unmet`, where no trial has a finite value.
Claim mean_claim(const Text& text, const std::vector<double>& per_trial, double low, double high, const std::string& unmet) {
  if (summarise(per_trial).n == 0) return without_case(text, unmet);
  return judge_mean("lambda-skip/" + text.id, text.source, text.statement, per_trial, low, high, text.detail);
}

std::string mean_text(const std::vector<double>& per_trial) {
  return short_number(summarise(per_trial).mean);
}

void add_attention(const Evidence& run, std::vector<Claim>& out) {
  const auto worst = [&](const char* quantity, Badness badness) {
    return worst_size(run.config, run.records, "thm-4.2", quantity, badness);
  };
  const Tally hypothesis = run.random("thm-4.2/hypothesis");
  const std::string unmet = "no stack starts with phi >= 0 and mu > 0", source = "Theorem 4.2 (A.2)";
  const std::string met = "phi(Y^0) >= 0 in " + count_text(hypothesis.cases - hypothesis.violations) + " of " +
                          count_text(hypothesis.cases) + " stacks, tokens in a cone";
  out.push_back(mean_claim({"thm-4.2/exponential", source,
                            "attention with orthogonal W_V, normalised rows, no skip: mu(Y^K) decays at least exponentially",
                            "slope of log mu per layer, the slowest of a trial's sizes, down to where rounding hides mu; " + met},
                           worst("slope", as_large), -infinity, 0.0, unmet));
  out.push_back(inequality_claim(
      run,
      {"thm-4.2/bound", source,
       "mu(Y^K) <= C (1 - epsilon^(2r))^(K/(2r)), N epsilon <= 1, with r = 1, C = sqrt N, epsilon the "
       "smallest attention weight",
       "the theorem leaves C and epsilon open; smallest epsilon of a trial " + mean_text(worst("epsilon", as_small))},
      unmet));
  out.push_back(inequality_claim(run,
                                 {"thm-4.2/angles", source + ", proof in Wu et al.",
                                  "phi, the smallest inner product of two tokens, does not fall from layer to layer", met},
                                 unmet));
  out.push_back(mean_claim(
      {"thm-4.2/not-doubly", "Section 4, introduction",
       "with the norm collapse is exponential, and doubly exponential only without it: steps of log mu stay equal",
       "growth of the later steps, of a trial's sizes the farthest from 3, the growth of Theorem A.3" +
           std::string(run.config.spec.causal ? ""
                                              : "; under full attention all tokens become nearly one average, whose direction a "
                                                "norm of the rows keeps, and a causal mask slows it: --causal on")},
      worst("growth", away_from_three), 1 - growth_margin, 1 + growth_margin, unmet + ", and falls below a thousandth of mu(Y^0)"));
}

void add_pure_attention(const Evidence& run, std::vector<Claim>& out) {
  const auto worst = [&](const char* quantity, Badness badness) {
    return worst_size(run.config, run.records, "thm-A.3", quantity, badness);
  };
  out.push_back(without_case(
      {"thm-A.3/as-printed", "Theorem A.3 and Corollary A.3.1",
       "||res(Y^K)|| <= (4 gamma beta / sqrt d)^((3^K-1)/2) ||res(Y^0)||^(3^K)",
       "the smallest constant in place of 4 gamma beta / sqrt d with which it holds in the Frobenius norm is exp(" +
           mean_text(worst("log_constant", as_large)) + ") at the worst size; the corollary prints the exponent 3 for 3^K"},
      "gamma is not defined in the paper"));
  out.push_back(
      mean_claim({"thm-A.3/cubic", "Theorem A.3",
                  "attention without norm and skip: mu decays doubly exponentially, each step of log mu three times the one "
                  "before",
                  "growth of the later steps, of a trial's sizes the farthest from 3; what tokens share is kept apart from where "
                  "they differ, so that nothing is lost to rounding"},
                 worst("growth", away_from_three), 3 - growth_margin, 3 + growth_margin,
                 "in no stack has mu fallen below a thousandth of the input's: 4 gamma beta / sqrt d is too large, or the layers "
                 "are too few"));
}

void add_selective(const Evidence& run, std::vector<Claim>& out) {
  const Tally hypothesis = run.random("thm-4.3/hypothesis"), lambda_max = run.random("thm-4.3/lambda-max");
  const std::string unmet =
      "no stack met c <= phi(Y^0) < 1 with c > 0, lambda_min > 0, positive row sums and c lambda_min alpha^N <= 1";
  const std::string met = "hypotheses met by " + count_text(hypothesis.cases - hypothesis.violations) + " of " +
                          count_text(hypothesis.cases) + " stacks, M scaled to a smallest row sum of 1, where the bound is weakest";
  const std::string source = "Theorem 4.3";
  out.push_back(inequality_claim(run,
                                 {"thm-4.3/as-printed", source, "mu(Y^K) <= sqrt(N) (1 - c^2 lambda_min^2 alpha^(2N))^K",
                                  met + "; the proof ends with 1 - phi, which is of the order mu^2, so that its exponent is K/2"},
                                 unmet));
  out.push_back(inequality_claim(
      run,
      {"thm-4.3/half-exponent", source + ", proof (Appendix A.7)", "the same with the exponent K/2, under the theorem's hypotheses",
       "worked example: two tokens 20 degrees apart, W_B = W_C = I, alpha = 1; the proof also takes lambda_max <= 1/N, which " +
           count_text(lambda_max.cases - lambda_max.violations) + " of " + count_text(lambda_max.cases) +
           " stacks meet; and D scales M away, while the bound changes with the scale of W_B and W_C"},
      unmet));
  out.push_back(inequality_claim(
      run,
      {"thm-4.3/hypotheses", source + ", proof (Appendix A.7)",
       "lambda_max <= 1/N and row sums of at least 1 exclude each other: the first row sum is M_11 = y_1'S y_1 <= lambda_max", ""},
      unmet));
  out.push_back(
      inequality_claim(run,
                       {"thm-4.3/corrected", source, "mu(Y^K) <= sqrt(N) (1 - (c lambda_min alpha^(N-1) / (N lambda_max))^2)^(K/2)",
                        "where Lemma A.4 holds; without lambda_max <= 1/N and without row sums of at least 1"},
                       unmet + ", and M_ij >= lambda_min phi alpha^(N-1)"));
  out.push_back(
      inequality_claim(run, {"lemma-A.4", "Lemma A.4", "M_ij >= lambda_min phi alpha^N for i >= j",
                             "y_i'S y_j is not bounded by lambda_min y_i.y_j unless i = j; worked example: tokens 50 degrees "
                             "apart, S = ((1, 0.9), (0.9, 1)), M_21 < 0"}));
}

void add_lti(const Evidence& run, const std::string& theorem, const std::string& weights, std::vector<Claim>& out) {
  const std::string source = "Theorem " + theorem.substr(4);
  const auto worst = [&](const char* quantity) { return worst_size(run.config, run.records, theorem, quantity, as_large); };
  out.push_back(inequality_claim(run, {theorem + "/bound", source, "mu(Y^K) <= prod_k ||W^(k)||_2 ||Y^0||_F, " + weights, ""}));
  out.push_back(
      mean_claim({theorem + "/norm", source + ", remark after the proof", "where ||W||_F < 1, mu(Y^K) decays exponentially",
                  "slope of log mu per layer with W scaled to ||W||_F = 0.9, the slowest of a trial's sizes"},
                 worst("slope"), -infinity, 0.0, "no M or no mu differs from 0"));
  out.push_back(
      mean_claim({theorem + "/normalised", source + ", remark after the proof",
                  "and this is rank collapse: mu / ||Y||_F vanishes too, whatever the sizes",
                  "mu / ||Y||_F after the last layer over that of the input, the largest of a trial's sizes; a factor of W "
                  "moves mu and ||Y||_F alike; 1 - sigma_1^2/||Y||_F^2 is then at most " +
                      mean_text(worst("rank_one_residual")) +
                      ": tokens of one direction and of different lengths are of rank one, and have a large mu"},
                 worst("normalised_ratio"), -infinity, vanished, "no M or no mu differs from 0"));
}

void add_pure_selective(const Evidence& run, std::vector<Claim>& out) {
  std::string by_weights;
  for (const double factor : weight_factors) {
    const Tally tally = run.random("thm-A.10/as-printed/weights=" + series_number(factor));
    by_weights += (by_weights.empty() ? "violations with weights times " : ", ") + series_number(factor) + ": " +
                  count_text(tally.violations) + " of " + count_text(tally.cases);
  }
  const std::string source = "Theorem A.10";
  out.push_back(
      inequality_claim(run, {"thm-A.10/as-printed", source, "mu(Y^k) <= (sqrt(N) ||W_BC||_F)^((3^(k-1)+1)/2) ||Y^0||_F^(3^k)",
                             by_weights + "; M of a layer enters every later one three times: the exponent is (3^k - 1)/2"}));
  out.push_back(inequality_claim(run, {"thm-A.10/corrected", source, "the same with the exponent (3^k - 1)/2 of Lemma A.9", ""}));
  out.push_back(inequality_claim(run, {"thm-A.10/sharper", "not in the paper; |entries of 1SS(alpha)| <= 1",
                                       "mu(Y^k) <= ||W_BC||_F^((3^k-1)/2) ||Y^0||_F^(3^k)", "no sqrt N is needed"}));
  out.push_back(mean_claim({"thm-A.10/doubly-exponential", "Section 4.2.1",
                            "mu shrinks or grows doubly exponentially: each step of log mu is three times the one before",
                            "growth of the later steps, of a trial's sizes the farthest from 3"},
                           worst_size(run.config, run.records, "thm-A.10", "growth", away_from_three), 3 - growth_margin,
                           3 + growth_margin, "a ratio of two steps needs two layers and tokens that differ"));
  out.push_back(
      inequality_claim(run, {"lemma-A.9/bound", "Lemma A.9", "||Y^k||_F <= (sqrt(N) ||W_BC||_F)^((3^k-1)/2) ||Y^0||_F^(3^k)", ""}));
  out.push_back(
      inequality_claim(run, {"lemma-A.9/semiseparable", "Lemma A.9, proof", "||1SS(alpha)||_F <= sqrt(N)",
                             "its diagonal alone has that norm, so that any alpha other than 0 breaks it; the lemma stands, as "
                             "||A o B||_F <= max |A_ij| ||B||_F needs the entries alone"}));
}

}  // namespace

std::vector<Claim> collapse_claims(const Evidence& run) {
  std::vector<Claim> out;
  add_attention(run, out);
  add_selective(run, out);
  add_pure_attention(run, out);
  add_lti(run, "thm-A.7", "one W for all layers", out);
  add_lti(run, "thm-A.8", "a W for each layer", out);
  add_pure_selective(run, out);
  return out;
}

}  // namespace ranklab::bounds
