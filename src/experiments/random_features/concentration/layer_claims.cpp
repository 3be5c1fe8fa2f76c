// Claims about layers: Theorem 2.8 (quadratic activations), Lemma 2.11 (Gaussian perturbations) and
// Lemma 2.12 (norms after a Gaussian layer).
#include <algorithm>
#include <cmath>

#include "core/statistics.hpp"
#include "experiments/random_features/concentration/concentration.hpp"

namespace ranklab::concentration {
namespace {

constexpr std::uint64_t deepest = 6;  // layers of the exact statements: degree 64
const double log_3 = std::log(3.0);

// Theorem 2.8 -------------------------------------------------------------------------------------

const Place proof_of_2_8{"spectral/thm-2.8", "spectral/thm-2.8/", "Theorem 2.8, proof",
                         Part::proof};
const std::string ratio_text = "E z_i^2/(E z_i)^2 = ";
const Misprint moment_ratio = proof_of_2_8.misprint(
    "spectral/thm-2.8/moment-ratio", "moment-ratio",
    ratio_text + "E g^4/(E g)^2 <= 3^(2^l) for z_i = g^2 and g of degree 2^(l-1)",
    ratio_text + "E g^4/(E g^2)^2 <= 3^(2^l) for z_i = g^2 and g of degree 2^(l-1)");
const Statement hypercontractive = {"spectral/thm-2.8", "spectral/eq-2.13",
                                    "Theorem 2.8, proof, eq. (2.13)",
                                    "E g^4 <= 3^(2p) (E g^2)^2 for g of degree p", Part::proof},
                small_ball = proof_of_2_8("small-ball",
                                          "<z, u_*>^2 >= ||M||/3 with probability at least (4/9) "
                                          "3^(-2^(l+1)) after l quadratic layers");
const Statement every_n = beyond(Statement{
    "spectral/thm-2.8", "spectral/thm-2.8/every-n", "Theorem 2.8, eq. (2.12)",
    "Theorem 2.8 needs no hypothesis on n: with fewer samples than its proof needs, st(A_l) <= n "
    "is below the bound (2.12)"});

// Means of the input; its standard deviation is 1.
constexpr double input_means[] = {0.0, 0.5, 1.0, 2.0, 4.0};

// g(x) = x^p for p = 1, 2, 4, ...: what a quadratic network with one input computes.
void judge_moments(Claims& claims) {
  Tally fourth, printed, corrected, ball;
  for (std::uint64_t l = 0; l <= deepest; ++l) {
    const std::uint64_t p = std::uint64_t{1} << l;
    const double degree = static_cast<double>(p);
    for (const double mean : input_means) {
      const double log_fourth = log_even_moment(4 * p, mean),
                   log_second = log_even_moment(2 * p, mean);
      const double excess = log_fourth - 2.0 * log_second - 2.0 * degree * log_3;
      fourth.count(excess > 1e-12, std::exp(excess));
      // z_i = g^2 is the output of layer l + 1. E g is an even moment of x for p >= 2, and its mean
      // for p = 1.
      corrected.count(excess > 1e-12, std::exp(excess));
      const double log_mean = p == 1 ? std::log(mean) : log_even_moment(p, mean);
      const double log_printed = log_fourth - 2.0 * log_mean - 2.0 * degree * log_3;
      printed.count(log_printed > 1e-12);
    }
    // <z, u_*> = x^p of layer l >= 1 with mean 0: |x| >= (E x^(2p)/3)^(1/(2p)).
    if (l == 0) continue;
    const double threshold = std::exp((log_even_moment(2 * p) - log_3) / (2.0 * degree));
    const double allowed = std::log(4.0 / 9.0) - 2.0 * degree * log_3;
    const double quotient = std::exp(allowed) / std::erfc(threshold / std::sqrt(2.0));
    ball.count(quotient > 1.0, quotient);
  }
  const std::string law = "g = x^p, p = 1 to 64, x Gaussian with means 0 to 4 and variance 1; ";
  const auto largest = [](const Tally& tally) {
    return "largest quotient of both sides " + short_number(tally.largest);
  };
  claims.never_violated(hypercontractive, fourth, law + largest(fourth), WorstCase::largest);
  claims.never_violated(moment_ratio.as_printed, printed,
                        law + "the printed denominator is not homogeneous in g");
  claims.never_violated(moment_ratio.corrected, corrected, law + largest(corrected),
                        WorstCase::largest);
  claims.never_violated(small_ball, ball,
                        "z = x^(2^l), l = 1 to 6, x standard Gaussian; " + largest(ball),
                        WorstCase::largest);
}

// The proof of Theorem 2.8 takes c_0 = 1/3, so Theorem 2.2 needs n >= 18 * 3^(2^(l+1)) log(1/c).
void judge_every_n(Claims& claims) {
  Tally tally;
  for (std::uint64_t l = 1; l <= deepest; ++l) {
    const double power = std::exp2(static_cast<double>(l));
    for (const double c : {1e-9, 1e-6, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.499}) {
      const double log_bound = std::log(27.0 / (2.0 * c)) + 4.0 * power * log_3;
      const double log_needed = std::log(18.0 * std::log(1.0 / c)) + 2.0 * power * log_3;
      tally.count(log_needed > log_bound, std::exp(log_needed - log_bound));
    }
  }
  claims.never_violated(every_n, tally,
                        "layers 1 to 6 and c from 1e-9 to 0.499; largest quotient of the n that "
                        "the proof needs and the bound " +
                            short_number(tally.largest),
                        WorstCase::largest);
}

// (2.3) at every layer, with the p0, c_0 and er(M) of the run's own inputs.
void judge_layers(const Plan& plan, const Records& records, Claims& claims) {
  const double c = plan.config.failure_probability;
  for (std::size_t l = 0; l < plan.config.depth; ++l) {
    const auto at = [&](const char* name) {
      return per_trial(records,
                       [&](const TrialRecord& record) { return record.array(name).at(l); });
    };
    const auto p0 = at(layer_p0), er = at(layer_effective_rank);
    const double smallest = std::ranges::min(p0), n = static_cast<double>(layer_samples);
    const Statement statement = {
        "spectral/thm-2.8", "spectral/thm-2.2/quadratic/layer-" + std::to_string(l + 1),
        "Theorem 2.2, as in the proof of Theorem 2.8",
        "st(A_l) <= 2/(p0 c0 c) er(M) with probability at least 1 - 2c for quadratic activations, "
        "with p0, c0 and er(M) of the inputs' own law",
        Part::proof};
    const double needed = needed_samples(smallest, c);
    const std::string too_few = smallest > 0.0 && n >= needed
                                    ? ""
                                    : "at n = " + count_text(n) + " the theorem needs p0 >= " +
                                          short_number(8.0 * std::log(1.0 / c) / n) +
                                          "; here p0 is at least " + short_number(smallest);
    if (!claims.applies(statement, too_few)) continue;
    const double bound = 2.0 / (smallest * layer_c0 * c) * std::ranges::max(er);
    const double rank = static_cast<double>(std::min(plan.config.width, layer_samples));
    judge_probability(statement, at(layer_above), at_most(2.0 * c),
                      "samples of n = " + count_text(n) + " above the bound; p0 at least " +
                          short_number(smallest) + ", bound at most " + short_number(bound) +
                          (bound < rank ? ", below" : ", not below") +
                          " the largest possible rank " + count_text(rank) + "; mean st(A_l) " +
                          short_number(summarize(at(layer_rank)).mean) + "; p0 and er(M) from " +
                          std::to_string(layer_population) + " other inputs",
                      plan, claims);
  }
}

// Lemma 2.11 --------------------------------------------------------------------------------------

const std::string deviation_text =
    "| ||g||^2 - d | > eps d/4 for g ~ N(0, I_d) with probability at most 2 exp(-eps^2 d/";
const Statement lemma_2_11 = {
    "spectral/lemma-2.11", "spectral/lemma-2.11", "Lemma 2.11",
    "(1 - eps)(||x||^2 + ||g||^2) <= ||x + g||^2 <= (1 + eps)(||x||^2 + ||g||^2) with probability "
    "at least 1 - 4 exp(-eps^2 d/64)"};
const Statement every_x = beyond(Statement{
    "spectral/lemma-2.11", "spectral/lemma-2.11/every-x", "Lemma 2.11",
    "The interval holds for every x unless |<x, g>| > eps ||x|| ||g||, which has a probability of "
    "at most 4 exp(-eps^2 d/64)"});
const Misprint eq_C_1 =
    Place{"spectral/lemma-2.11", "spectral/", "Lemma 2.11, proof, eq. (C.1)", Part::proof}.misprint(
        "spectral/lemma-2.11/chi-square", "eq-C.1", deviation_text + "64)", deviation_text + "70)");

// log of both sides' quotient in (C.1), with exponent eps^2 d / divisor.
double log_quotient(double epsilon, double d, double divisor) {
  return log_chi_squared_deviation(d, epsilon / 4.0) - std::log(2.0) +
         epsilon * epsilon * d / divisor;
}

// The smallest d above 4096 at which (C.1) fails as printed; the quotient grows from there on.
double first_violation(double epsilon) {
  double holds = 4096.0, fails = 65536.0;
  while (fails - holds > 1.0) {
    const double d = std::floor(0.5 * (holds + fails));
    (log_quotient(epsilon, d, 64.0) > 0.0 ? fails : holds) = d;
  }
  return fails;
}

void judge_perturbation(const Plan& plan, const Records& records, Claims& claims) {
  const double epsilon = plan.perturbation_epsilon, d = static_cast<double>(plan.config.vector);
  const double allowed = 4.0 * std::exp(-epsilon * epsilon * d / 64.0);
  const std::string vacuous =
      allowed < 1.0 ? "" : "at this d the lemma allows a failure probability of at least 1";
  if (claims.applies(lemma_2_11, vacuous)) {
    // The norm at which most draws are outside.
    std::vector<double> worst;
    for (std::size_t i = 0; i < perturbation_norms.size(); ++i) {
      const auto shares = per_trial(records, [&](const TrialRecord& record) {
        return record.array(perturbation_outside).at(i);
      });
      if (worst.empty() || summarize(shares).mean > summarize(worst).mean) worst = shares;
    }
    judge_probability(lemma_2_11, worst, at_most(allowed),
                      "outside the interval, the most over ||x||^2 = d/4, d and 4d; eps = " +
                          short_number(epsilon) + ", d = " + count_text(d) + ", sigma = 1",
                      plan, claims, static_cast<double>(perturbation_norms.size()));
  }
  Tally caps, printed, corrected;
  for (const double eps : {0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.45, 0.49, 0.499}) {
    for (const double dimension : {2.0, 16.0, 128.0, 1024.0, 8192.0, 16384.0, 65536.0}) {
      const double exponent = eps * eps * dimension;
      const double cap = cap_probability(dimension, eps) / (4.0 * std::exp(-exponent / 64.0));
      caps.count(cap > 1.0, cap);
      const double over_printed = log_quotient(eps, dimension, 64.0),
                   over_corrected = log_quotient(eps, dimension, 70.0);
      printed.count(over_printed > 0.0, std::exp(over_printed));
      corrected.count(over_corrected > 0.0, std::exp(over_corrected));
    }
  }
  const std::string grid = "eps from 0.01 to 0.499 and d from 2 to 65,536";
  const auto judge = [&](const Statement& statement, const Tally& tally, const std::string& how) {
    claims.never_violated(
        statement, tally,
        how + ", " + grid + "; largest quotient of both sides " + short_number(tally.largest),
        WorstCase::largest);
  };
  judge(every_x, caps, "spherical caps by Student's law");
  judge(eq_C_1.as_printed, printed,
        "at eps = 0.499 violated from d = " + count_text(first_violation(0.499)) +
            " on; both tails of chi-squared");
  judge(eq_C_1.corrected, corrected, "both tails of chi-squared");
}

// Lemma 2.12 --------------------------------------------------------------------------------------

// The last line of the proof says c1 where c_sigma is meant.
const Misprint exponent_constant =
    Place{"spectral/lemma-2.12", "spectral/lemma-2.12/", "Lemma 2.12, proof", Part::proof}.misprint(
        "spectral/lemma-2.12/symbol", "constant", "c1 = tau^2 p/2, read as the c1 of (2.16)",
        "(2.16) holds with c_sigma = tau^2 p/2 and c1 = p/2");

// sigma(t) = 10 max(0, t) with tau = 10 and k = d = n = 1. (2.16) fails if sigma(g)^2 < (1 - eps)
// tau^2 p/2, with probability 1/2 + P(0 < g < sqrt((1 - eps) p/2)).
void judge_exponent_constant(Claims& claims) {
  const double p = small_ball_probability(find_activation("relu"), 1.0), tau = 10.0, epsilon = 0.9;
  const double fails = 0.5 + 0.5 * std::erf(std::sqrt((1.0 - epsilon) * p / 2.0 / 2.0));
  const auto quotient = [&](double c1) {
    return fails / (2.0 * std::exp(-c1 * epsilon * epsilon));
  };
  const std::string example =
      "failure probability over 2n exp(-c1 eps^2 k) for sigma(t) = 10 max(0, t), tau = 10, k = d = "
      "n = 1, eps = 0.9";
  claims.number(exponent_constant.as_printed, quotient(tau * tau * p / 2.0), at_most(1.0), example);
  claims.number(exponent_constant.corrected, quotient(p / 2.0), at_most(1.0), example);
}

}  // namespace

void judge_quadratic_layers(const Plan& plan, const Records& records, Claims& claims) {
  judge_moments(claims);
  judge_every_n(claims);
  judge_layers(plan, records, claims);
}

void judge_blocks(const Plan& plan, const Records& records, Claims& claims) {
  judge_perturbation(plan, records, claims);
  const double k = static_cast<double>(plan.config.k), n = static_cast<double>(plan.config.columns);
  for (const std::string& sigma : plan.activations) {
    const double p = small_ball_probability(find_activation(sigma), block_tau);
    const double epsilon = block_epsilon(p, plan.config.k, plan.config.columns),
                 allowed = 2.0 * n * std::exp(-0.5 * p * epsilon * epsilon * k);
    const Statement statement = {"spectral/lemma-2.12", "spectral/eq-2.16/" + sigma,
                                 "Lemma 2.12, eq. (2.16)",
                                 "||sigma(WA)||_F^2 >= (1 - eps) (1/2) tau^2 p (k/d) ||A||_F^2 "
                                 "with probability at least 1 - "
                                 "2n exp(-c1 eps^2 k), with c1 = p/2, which its proof gives"};
    const std::string too_large =
        epsilon < 1.0 ? ""
                      : "at these sizes (2.16) allows a failure probability of a tenth only with "
                        "eps = " +
                            short_number(epsilon) + ", and the lemma needs eps < 1";
    if (!claims.applies(statement, too_large)) continue;
    const auto share = per_trial(
        records, [&](const TrialRecord& record) { return record.array(block_below(sigma)).at(0); });
    double quotient = 0.0;
    for (const TrialRecord& record : records)
      quotient = std::max(quotient, record.array(block_quotient(sigma)).at(0));
    judge_probability(statement, share, at_most(allowed),
                      "below the bound; tau = " + short_number(block_tau) +
                          ", p = " + short_number(p) + ", eps = " + short_number(epsilon) +
                          ", k = " + count_text(k) + ", n = " + count_text(n) +
                          "; largest quotient of both sides " + short_number(quotient),
                      plan, claims);
  }
  judge_exponent_constant(claims);
}

}  // namespace ranklab::concentration
