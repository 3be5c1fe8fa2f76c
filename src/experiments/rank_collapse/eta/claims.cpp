#include "experiments/rank_collapse/eta/claims.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "core/fits.hpp"
#include "core/text.hpp"
#include "core/tolerances.hpp"

namespace ranklab {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// "Close to 0", where E[xi_1]/E[xi_2] is about 2: what fifty samples can tell with a known expectation, where the spread of eta
// stays at sqrt(6/d) however small t is; and with sample means, where it vanishes with t.
constexpr double close_to_zero = 0.25, close_to_zero_with_sample_means = 0.01;
constexpr double significantly = 1.25;   // (b): the factor by which eta must vary more
constexpr double comparison_errors = 4;  // standard errors; there are hundreds of comparisons

using InT = std::function<bool(double)>;

bool is_small(double t) {
  return t <= small_t;
}
bool is_large(double t) {
  return t >= large_t;
}

// Per sample, the mean of f(eta) over the t that `where` picks.
std::vector<double> mean_over_t(const EtaRun& run, EtaReading reading, std::uint64_t d, const InT& where, double (*f)(double)) {
  std::vector<double> mean(run.records.size(), 0.0);
  double count = 0;
  for (std::size_t i = 0; i < run.t.size(); ++i) {
    if (!where(run.t[i])) continue;
    const std::vector<double> values = eta_values(run, reading, d, i);
    for (std::size_t sample = 0; sample < mean.size(); ++sample) mean[sample] += f(values[sample]);
    count += 1;
  }
  for (double& value : mean) value /= count;
  return mean;
}

double itself(double x) {
  return x;
}

double magnitude(double x) {
  return std::abs(x);
}

struct Text {
  std::string id, source, statement;
};

Text figure_text(EtaReading reading, const std::string& part, const std::string& statement) {
  const bool exact = reading == EtaReading::expectation;
  return {"shallow/fig-8" + part + (exact ? "" : "/sample-means"), "Figure 8 (" + part + "), end of Appendix A.3",
          statement + (exact ? ", with E[xi_i] by eq. (9)" : ", with sample means for E[xi_i]")};
}

bool any_t(const EtaRun& run, const InT& where) {
  return std::any_of(run.t.begin(), run.t.end(), where);
}

Claim small_claim(const EtaRun& run, EtaReading reading) {
  const double band = reading == EtaReading::expectation ? close_to_zero : close_to_zero_with_sample_means;
  const std::uint64_t d = run.dim.front();
  const Text text = figure_text(reading, "a", "where t is small E[eta] is close to 0, even at the smallest d");
  if (!any_t(run, is_small)) return not_applicable(text.id, text.source, text.statement, "no t up to " + short_number(small_t));
  return judge_mean(text.id, text.source, text.statement, mean_over_t(run, reading, d, is_small, itself), -band, band,
                    "mean over t <= " + short_number(small_t) + " at d = " + std::to_string(d));
}

Claim variation_claim(const EtaRun& run, EtaReading reading) {
  const Text text = figure_text(reading, "b", "near t = 1 eta varies more, by a quarter at least, than at small t");
  if (!any_t(run, is_small) || !any_t(run, is_large)) {
    return not_applicable(text.id, text.source, text.statement,
                          "needs t up to " + short_number(small_t) + " and from " + short_number(large_t));
  }
  std::vector<double> excess(run.records.size(), 0.0);
  double near_one = 0, at_small = 0;
  for (const std::uint64_t d : run.dim) {
    const auto large = mean_over_t(run, reading, d, is_large, magnitude), small = mean_over_t(run, reading, d, is_small, magnitude);
    for (std::size_t i = 0; i < excess.size(); ++i) excess[i] += large[i] - significantly * small[i];
    near_one += summarise(large).mean;
    at_small += summarise(small).mean;
  }
  return judge_mean(text.id, text.source, text.statement, excess, 0.0, infinity,
                    "mean |eta| at t >= " + short_number(large_t) + " over that at t <= " + short_number(small_t) + ": " +
                        short_number(near_one / at_small) + "; measured: its excess over a quarter more, summed over d");
}

Claim dimension_claim(const EtaRun& run, EtaReading reading) {
  const Text text = figure_text(reading, "c", "eta becomes closer to 0 as d increases, at large t too");
  if (run.dim.size() < 2 || !any_t(run, is_large)) {
    return not_applicable(text.id, text.source, text.statement, "needs two values of d, and t from " + short_number(large_t));
  }
  const std::vector<double> dim(run.dim.begin(), run.dim.end());
  std::vector<std::vector<double>> at;
  for (const std::uint64_t d : run.dim) at.push_back(mean_over_t(run, reading, d, is_large, magnitude));
  std::vector<double> exponents;
  for (std::size_t i = 0; i < run.records.size(); ++i) {
    std::vector<double> magnitudes;
    for (const auto& values : at) magnitudes.push_back(values[i]);
    exponents.push_back(fit_power(dim, magnitudes).slope);
  }
  return judge_mean(text.id, text.source, text.statement, exponents, -infinity, 0.0,
                    "exponent of d in |eta|, averaged over t >= " + short_number(large_t));
}

double rounding(bool single_precision) {
  return single_precision ? tolerance::residual<float> : tolerance::residual<double>;
}

// [Shallow] eq. (9), by the exact standard deviation of xi_i.
Claim expectation_claim(const EtaRun& run, bool single_precision) {
  const Text text{"shallow/eq-9", "Lemma 2.4, eq. (9)", "E[xi_i] = 1 + alpha^2 d sigma^2 mu_i^2"};
  if (run.records.size() < fewest_samples) {
    return not_applicable(text.id, text.source, text.statement, "needs " + std::to_string(fewest_samples) + " trials");
  }
  double cases = 0, violations = 0, largest = 0;
  for (const std::uint64_t d : run.dim) {
    for (std::size_t i = 0; i < run.t.size(); ++i) {
      for (const std::string part : {"1", "2"}) {
        const Summary measured = summarise(run.recorded("xi_" + part, d, i));
        const double expected = run.recorded("expected_xi_" + part, d, i).front(),
                     error = run.recorded("deviation_" + part, d, i).front() / std::sqrt(static_cast<double>(measured.n));
        // As t falls the deviation of xi_2 falls below rounding.
        const double away = std::abs(measured.mean - expected) / std::max(error, rounding(single_precision) * expected);
        cases += 1;
        violations += away > comparison_errors;
        largest = std::max(largest, away);
      }
    }
  }
  return judge_violations(text.id, text.source, text.statement, violations, cases,
                          "sample means within " + short_number(comparison_errors) +
                              " standard errors, at every d and t; the furthest " + short_number(largest));
}

// [Shallow] eq. (11): of the fixed matrices, so that one sample says all.
Claim bound_claim(const EtaRun& run, bool single_precision) {
  const double slack = rounding(single_precision);  // rows of P sum to one to rounding
  double cases = 0, violations = 0, tightest = 0;
  for (const std::uint64_t d : run.dim) {
    for (std::size_t i = 0; i < run.t.size(); ++i) {
      const auto fixed = [&](const char* name) { return run.recorded(name, d, i).front(); };
      cases += 2;
      violations += fixed("mu_1_squared") < fixed("mu_1_bound") - slack;
      violations += fixed("mu_2_squared") > fixed("mu_2_bound") + slack * fixed("mu_1_squared");
      tightest = std::max(tightest, fixed("mu_2_squared") / fixed("mu_2_bound"));
    }
  }
  return judge_violations("shallow/eq-11", "Lemma 2.4, eq. (11)", "mu_1^2 >= (1 - omega)^2 and mu_2^2 <= delta^2", violations,
                          cases, "largest mu_2^2 / delta^2 " + short_number(tightest));
}

// [Shallow] Lemma A.1, sample by sample: |eta| >= s implies max |xi_i - E[xi_i]| >= gamma s, for s up to 1.
void add_lemma_claims(const EtaRun& run, bool single_precision, std::vector<Claim>& out) {
  const double slack = rounding(single_precision);
  double cases = 0, violations = 0, gamma_cases = 0, gamma_violations = 0, least = infinity;
  for (const std::uint64_t d : run.dim) {
    for (std::size_t i = 0; i < run.t.size(); ++i) {
      const auto eta = run.recorded("eta", d, i), xi_1 = run.recorded("xi_1", d, i), xi_2 = run.recorded("xi_2", d, i);
      const double first = run.recorded("expected_xi_1", d, i).front(), second = run.recorded("expected_xi_2", d, i).front();
      const double gamma = second * second / (first + 2 * second);
      for (std::size_t sample = 0; sample < eta.size(); ++sample) {
        const double miss = std::max(std::abs(xi_1[sample] - first), std::abs(xi_2[sample] - second));
        cases += 1;
        violations += miss < gamma * std::min(std::abs(eta[sample]), 1.0) - slack;
      }
      if (run.recorded("mu_1_squared", d, i).front() > 1) continue;
      gamma_cases += 1;
      gamma_violations += gamma < 0.25;
      least = std::min(least, gamma);
    }
  }
  out.push_back(judge_violations("shallow/lemma-A.1", "Lemma A.1, proof",
                                 "|eta| >= s implies max |xi_i - E[xi_i]| >= gamma s, for s in [0, 1]", violations, cases,
                                 "every sample at every d and t, at s = min(|eta|, 1)"));
  const Text text{"shallow/lemma-A.1/gamma", "Lemma A.1, eq. (24)", "gamma >= 1/4 where alpha = 1 and mu_1 is at most 1"};
  if (run.config.alpha != 1 || gamma_cases == 0) {
    out.push_back(not_applicable(text.id, text.source, text.statement,
                                 run.config.alpha != 1 ? "--alpha is not 1" : "mu_1 is above 1 at every d and t"));
    return;
  }
  out.push_back(judge_violations(text.id, text.source, text.statement, gamma_violations, gamma_cases,
                                 "the paper says so for mu_1 = 1; gamma falls as mu_1 grows; least gamma " + short_number(least)));
}

}  // namespace

std::vector<Claim> eta_claims(const EtaRun& run, bool single_precision) {
  std::vector<Claim> claims;
  if (run.records.empty()) return claims;
  for (const EtaReading reading : {EtaReading::expectation, EtaReading::sample_means}) {
    claims.push_back(small_claim(run, reading));
    claims.push_back(variation_claim(run, reading));
    claims.push_back(dimension_claim(run, reading));
  }
  claims.push_back(expectation_claim(run, single_precision));
  claims.push_back(bound_claim(run, single_precision));
  add_lemma_claims(run, single_precision, claims);
  return claims;
}

}  // namespace ranklab
