// Claims about constant probability (Theorem 2.2) and high probability (Lemmas 2.1 and 2.5,
// Theorems 2.3, B.1 and B.2).
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/statistics.hpp"
#include "experiments/random_features/concentration/concentration.hpp"

namespace ranklab::concentration {
namespace {

std::vector<double> entry_of(const Records& records, const std::string& name, std::size_t i) {
  return per_trial(records, [&](const TrialRecord& record) { return record.array(name).at(i); });
}

double mean_of_entry(const Records& records, const std::string& name, std::size_t i) {
  return summarize(entry_of(records, name, i)).mean;
}

// The size at which the share is largest, among those with used[i].
std::size_t worst_size(const Records& records, const std::string& name,
                       const std::vector<bool>& used) {
  std::size_t worst = used.size();
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    if (worst == used.size() ||
        mean_of_entry(records, name, i) > mean_of_entry(records, name, worst))
      worst = i;
  }
  return worst;
}

double count_used(const std::vector<bool>& used) {
  return static_cast<double>(std::ranges::count(used, true));
}

// Theorem 2.2 -------------------------------------------------------------------------------------

const std::string bound_2_3 =
    "st(Z_n) <= 2/(p0 c0 c) er(M) with probability at least 1 - 2c if n >= ";
const char samples_slip[] = "spectral/thm-2.2/sample-size";
const Misprint theorem_2_2 =
    Place{"spectral/thm-2.2", "spectral/", "Theorem 2.2, eq. (2.3)"}.misprint(
        samples_slip, "thm-2.2", bound_2_3 + "log(1/(2c))/(8 p0)", bound_2_3 + "8 log(1/c)/p0");
const Place proof_of_2_2{"spectral/thm-2.2", "spectral/thm-2.2/", "Theorem 2.2, proof",
                         Part::proof};
const Misprint union_bound = proof_of_2_2.misprint(
    samples_slip, "union-bound",
    "c + exp(-p0 n/8) <= 2c at n = log(1/(2c))/(8 p0), so that the proof's two events fail with "
    "probability at most 2c",
    "c + exp(-p0 n/8) <= 2c at n = 8 log(1/c)/p0");
const Statement trace_markov =
                    proof_of_2_2("trace", "tr(M_n) > tr(M)/c with probability at most c"),
                chernoff = proof_of_2_2("chernoff",
                                        "Fewer than p0 n/2 of n samples are large with "
                                        "probability at most exp(-p0 n/8)");
const Statement necessary =
    beyond(Statement{"spectral/thm-2.2", "spectral/thm-2.2/necessary", "Theorem 2.2",
                     "n must be of order log(1/(2c))/p0, eight times the printed n: at half of "
                     "this (2.3) fails with probability above 2c"});

void judge_share(const Plan& plan, const Records& records, const Statement& statement,
                 std::size_t at, Claims& claims) {
  const double n = plan.spike_n[at], p0 = plan.spike.p0;
  judge_probability(
      statement, entry_of(records, spike_above, at), at_most(2.0 * plan.config.failure_probability),
      "st(Z_n) above the bound " + short_number(plan.spike.bound(plan.config.failure_probability)) +
          " at n = " + count_text(n) + "; no sample is large with probability " +
          short_number(std::pow(1.0 - p0, n)) + "; st(M_n), which the theorem prints, is " +
          "above the bound in a share of " +
          short_number(mean_of_entry(records, spike_above_moment, at)),
      plan, claims);
}

// The Chernoff step, for probabilities and sizes around those of the theorem.
Tally count_chernoff() {
  Tally tally;
  for (const double p : {0.001, 0.01, 0.1, 0.3, 0.6, 0.9}) {
    for (const double expected : {0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 40.0, 80.0}) {
      const auto n = static_cast<std::uint64_t>(std::ceil(expected / p));
      const double threshold = 0.5 * p * static_cast<double>(n);
      // Fewer than the threshold: at most the largest integer below it.
      const double excess = log_binomial_lower_tail(n, p, std::ceil(threshold) - 1.0) +
                            p * static_cast<double>(n) / 8.0;
      tally.count(excess > 0.0, std::exp(excess));
    }
  }
  return tally;
}

}  // namespace

void judge_probability(const Statement& statement, const std::vector<double>& shares,
                       Region allowed, const std::string& detail, const Plan& plan, Claims& claims,
                       double candidates) {
  const double draws = static_cast<double>(plan.config.draws),
               all = draws * static_cast<double>(shares.size());
  double failures = 0.0;
  for (const double share : shares) failures += std::round(std::clamp(share, 0.0, 1.0) * draws);
  const MeanEvidence interval =
      binomial_interval(failures, all, 1.0 - (1.0 - confidence_level) / candidates);
  claims.set_unit(Unit::draw);
  claims.interval(statement, interval, allowed,
                  "binomial interval of the probability " +
                      range_text(interval.low, interval.high) + "; " + detail);
  claims.set_unit(Unit::seed);
}

void judge_constant_probability(const Plan& plan, const Records& records, Claims& claims) {
  const double c = plan.config.failure_probability, p0 = plan.spike.p0;
  const std::size_t needed = plan.spike_n.size() - 1;
  judge_share(plan, records, theorem_2_2.as_printed, at_printed, claims);
  judge_share(plan, records, theorem_2_2.corrected, needed, claims);
  judge_probability(necessary, entry_of(records, spike_above, at_half), at_least(2.0 * c),
                    "st(Z_n) above the bound at n = " + count_text(plan.spike_n[at_half]), plan,
                    claims);
  const auto failure = [&](double n) { return (c + std::exp(-p0 * n / 8.0)) / (2.0 * c); };
  const std::string quotient = "(c + exp(-p0 n/8))/(2c), at c = " + short_number(c);
  claims.number(union_bound.as_printed, failure(printed_samples(p0, c)), at_most(1.0), quotient);
  claims.number(union_bound.corrected, failure(needed_samples(p0, c)), at_most(1.0), quotient,
                1e-12);
  const std::vector<bool> all(plan.spike_n.size(), true);
  const std::size_t worst = worst_size(records, spike_trace, all);
  judge_probability(
      trace_markov, entry_of(records, spike_trace, worst), at_most(c),
      "tr(M_n) > tr(M)/c at n = " + count_text(plan.spike_n[worst]) + ", where it is largest", plan,
      claims, count_used(all));
  const Tally steps = count_chernoff();
  claims.never_violated(chernoff, steps,
                        "binomial probabilities by summation, p0 from 0.001 to 0.9 and p0 n from "
                        "0.5 to 80; largest quotient of both sides " +
                            short_number(steps.largest),
                        WorstCase::largest);
}

// Lemmas 2.1 and 2.5, Theorems 2.3, B.1 and B.2 ---------------------------------------------------

namespace {

// Constants of Lemma 2.5, from its proof.
//
// Mean: let ||X||_psi2 <= K and E X = 0. If |t| K <= 1, exp(x) <= x + exp(x^2) gives E exp(tX) <=
// E exp(t^2 X^2) <= exp(a (tK)^2) with a = log 2. Otherwise tX <= (tK)^2/2 + X^2/(2 K^2) gives the
// same with a = (1 + log 2)/2 = 0.847. So the mean of n copies is below -s with probability at most
// exp(-n s^2/(4 a K^2)), and 1/(4 a) > 1/4.
//
// Second moment: let ||Y||_psi1 <= L, E Y = 0 and |t| L <= 1/2. With y = |Y|/L, E exp(tY) <= 1 +
// E (tY)^2 exp(|tY|)/2, and y^2 exp(y/2)/2 <= (8/e^2) exp(y), so E exp(tY) <= exp(2.166 (tL)^2).
// So the mean of n copies exceeds s with probability at most exp(-n min(s^2/L^2, s/L)/8.67).
constexpr double c_1 = 1.0 / 4.0, c_2 = 1.0 / 9.0;

// The failure probability that Lemma 2.5 allows.
double allowed_failure(const Law& law, double epsilon, double n) {
  const double m = arma::trace(law.M), mu2 = arma::dot(law.mean, law.mean);
  const double relative = epsilon * m / law.L;
  return 2.0 * std::exp(-c_1 * n * epsilon * epsilon * mu2 / (law.K_norm * law.K_norm)) +
         2.0 * std::exp(-c_2 * n * std::min(relative * relative, relative));
}

void judge_noise(const Plan& plan, const Law& law, const Records& records, Claims& claims) {
  const Statement statement = {
      "spectral/lemma-2.5", "spectral/lemma-2.5/" + law.name, "Lemma 2.5",
      "m2-hat/||mu-hat||^2 <= (1 + eps1)/(1 - eps2)^2 m2/||mu||^2 with the printed probability, "
      "with c1 = 1/4 and c2 = 1/9, which its proof gives"};
  if (arma::dot(law.mean, law.mean) == 0.0) return;
  std::vector<bool> used;
  std::vector<double> allowed;
  for (const double n : plan.n) {
    allowed.push_back(allowed_failure(law, plan.config.epsilon, n));
    used.push_back(allowed.back() < 1.0);
  }
  const std::string too_few =
      count_used(used) > 0.0
          ? ""
          : "at every n of the run the lemma allows a failure probability of at least 1";
  if (!claims.applies(statement, too_few)) return;
  const std::string array = law.name + noise_above;
  const std::size_t worst = worst_size(records, array, used);
  judge_probability(
      statement, entry_of(records, array, worst), at_most(allowed[worst]),
      "samples of " + law.text +
          " that violate the inequality at n = " + count_text(plan.n[worst]) +
          ", the size with the largest share among those at which the lemma allows less "
          "than 1; K = " +
          short_number(law.K_norm) + ", L = " + short_number(law.L),
      plan, claims, count_used(used));
}

// The exponent of n in the mean error of each trial.
void judge_consistency(const Plan& plan, const Law& law, const Records& records, Claims& claims) {
  const std::string array = law.name + rank_error;
  const auto slopes = slopes_over(
      records, plan.n,
      [&](const TrialRecord& record, std::size_t i) { return record.array(array).at(i); },
      fit_power, 2);
  claims.mean(
      asymptotic(Statement{"spectral/lemma-2.1", "spectral/lemma-2.1/" + law.name, "Lemma 2.1",
                           "st(Z_n) converges to er(M): |st(Z_n) - er(M)| falls like a "
                           "power of n"},
                 "an exponent of n below 0"),
      slopes, compared(at_most(0.0)),
      "exponent of n in the mean error of each trial; " + law.text +
          ", er(M) = " + short_number(law.effective_rank()) + ", relative error " +
          short_number(mean_of_entry(records, array, plan.n.size() - 1)) +
          " at n = " + count_text(plan.n.back()));
}

// A bound with C = c = 1. The hypothesis n >= C K^8 (er(M) + u) is that of Theorem 2.3.
void judge_bound(const Plan& plan, const Law& law, const Bounded& bounded, bool needs_samples,
                 const Records& records, Claims& claims) {
  const double allowed = bounded.tail * std::exp(-plan.config.u);
  const double needed =
      needs_samples ? std::pow(law.K, 8) * (law.effective_rank() + plan.config.u) : 0.0;
  const Statement statement =
      asymptotic(bounded.place(law.name, bounded.text + " with probability at least 1 - " +
                                             short_number(bounded.tail) + " exp(-cu)"),
                 "C = c = 1");
  std::vector<bool> used;
  for (const double n : plan.n) used.push_back(n >= needed);
  std::string unmet;
  if (allowed >= 1.0) unmet = "at this u the theorem allows a failure probability of at least 1";
  if (count_used(used) == 0.0)
    unmet = "the theorem requires n >= C K^8 (er(M) + u) = " + short_number(needed) +
            " with C = 1; the largest n is " + count_text(plan.n.back());
  if (!claims.applies(statement, unmet)) return;
  const std::string array = law.name + share_above(bounded);
  const std::size_t worst = worst_size(records, array, used);
  double quotient = 0.0;
  for (const TrialRecord& record : records) {
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (used[i])
        quotient = std::max(quotient, record.array(law.name + largest_quotient(bounded)).at(i));
    }
  }
  judge_probability(statement, entry_of(records, array, worst), at_most(allowed),
                    "samples of " + law.text + " above the bound; K = " + short_number(law.K) +
                        ", u = " + short_number(plan.config.u) +
                        "; all samples satisfy the bound with C = " + short_number(quotient),
                    plan, claims, count_used(used));
}

// B.1's proof: ||<z - mu, mu>||_psi2 <= K sqrt(mu' Sigma mu). (B.1) has M in place of Sigma and K
// >=
// 1. Counterexample: z = (mu + sigma g) e_1 with mu^2 = 2 sigma^2, which satisfies (B.1) with K
// = 1.
void judge_cross_term(Claims& claims) {
  const Misprint cross =
      Place{"spectral/thm-B.1", "spectral/thm-B.1/", "Theorem B.1, proof", Part::proof}.misprint(
          "spectral/thm-B.1/cross-term", "cross-term",
          "||<z - mu, mu>||_psi2 <= K sqrt(mu' Sigma mu) under (B.1)",
          "||<z - mu, mu>||_psi2 <= K sqrt(mu' M mu) under (B.1)");
  const double sigma = 1.0, mu = std::sqrt(2.0), M = mu * mu + sigma * sigma;
  const double K = std::max(1.0, gaussian_psi_2 * sigma / std::sqrt(M)),
               norm = gaussian_psi_2 * sigma * mu;
  const std::string law =
      "quotient of both sides for z = (sqrt(2) + g) e_1 and K = " + short_number(K);
  claims.number(cross.as_printed, norm / (K * mu * sigma), at_most(1.0), law);
  claims.number(cross.corrected, norm / (K * mu * std::sqrt(M)), at_most(1.0), law);
}

}  // namespace

void judge_high_probability(const Plan& plan, const Records& records, Claims& claims) {
  for (const Law& law : plan.laws) {
    judge_consistency(plan, law, records, claims);
    judge_bound(plan, law, theorem_2_3, true, records, claims);
    judge_noise(plan, law, records, claims);
    judge_bound(plan, law, theorem_B_1, false, records, claims);
    judge_bound(plan, law, theorem_B_2, false, records, claims);
  }
  judge_cross_term(claims);
  for (const Statement& side : {split_of_moment.as_printed, split_of_moment.corrected})
    claims.never_violated(side, records, "relative difference of both sides", WorstCase::largest);
}

}  // namespace ranklab::concentration
