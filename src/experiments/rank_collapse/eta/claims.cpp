#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/fits.hpp"
#include "core/statistics.hpp"
#include "core/undefined.hpp"
#include "experiments/rank_collapse/eta/eta.hpp"

namespace ranklab::eta {
namespace {

constexpr Region small_t = {.high = 0.25};  // X is close to rank one
constexpr Region large_t = {.low = 0.75};   // t is close to 1

// Our thresholds for "close to 0"; E[xi_1]/E[xi_2] is about 2. With known expectations the spread
// of eta is sqrt(6/d) for every small t, and the threshold is what fifty samples can resolve. With
// sample means the spread vanishes with t.
constexpr double close_to_zero = 0.25, close_to_zero_with_sample_means = 0.01;
constexpr double significantly = 1.25;   // (b): our threshold for the factor between the spreads
constexpr double comparison_errors = 4;  // in standard errors; there are hundreds of comparisons

double sum(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0);
}

bool contains(Region range, double t) {
  return range.low <= t && t <= range.high;
}

bool any_t(const Plan& plan, Region range) {
  return std::any_of(plan.t.begin(), plan.t.end(), [&](double t) { return contains(range, t); });
}

// The mean of f(eta) over the t in the range, for each sample.
std::vector<double> mean_over_t(const Plan& plan, const Records& records, Reading reading,
                                std::uint64_t d, Region range, double (*f)(double)) {
  std::vector<double> mean(records.size(), 0.0);
  double count = 0;
  for (std::size_t i = 0; i < plan.t.size(); ++i) {
    if (!contains(range, plan.t[i])) continue;
    const std::vector<double> values = eta_values(records, reading, d, i);
    for (std::size_t sample = 0; sample < mean.size(); ++sample) mean[sample] += f(values[sample]);
    count += 1;
  }
  for (double& value : mean) value /= count;
  return mean;
}

// The paper's three observations about Figure 8.
void judge_figure(const Plan& plan, const Records& records, Reading expected, Claims& claims) {
  const bool exact = expected == Reading::expectation, any_small = any_t(plan, small_t),
             any_large = any_t(plan, large_t);
  const auto observation = [&](const std::string& part, const std::string& text) {
    const std::string figure = "Figure 8 (" + part + ")";
    return in_figure("shallow/fig-8", "shallow/fig-8", figure + ", end of Appendix A.3", {figure})(
        part + (exact ? "" : "/sample-means"),
        text + (exact ? " (E[xi_i] from eq. (9))" : " (sample means for E[xi_i])"));
  };
  const auto magnitudes = [&](std::uint64_t d, Region range) {
    return mean_over_t(plan, records, expected, d, range, [](double eta) { return std::abs(eta); });
  };
  const std::string up_to = short_number(small_t.high), from = short_number(large_t.low);

  const double close = exact ? close_to_zero : close_to_zero_with_sample_means;
  const Statement a =
      reading(observation("a", "E[eta] is close to 0 for small t, even at the smallest d"),
              short_number(close));
  if (claims.applies(a, any_small ? "" : "no t up to " + up_to)) {
    const std::uint64_t d = plan.dim.front();
    claims.equivalent(
        a, mean_over_t(plan, records, expected, d, small_t, [](double eta) { return eta; }), close,
        "mean of eta over t <= " + up_to + " at d = " + std::to_string(d));
  }

  // The paper does not say what varies. With the exact expectations the size of eta is our reading.
  const Statement size =
      observation("b", "The mean |eta| near t = 1 is at least 1.25 times its value at small t");
  const Statement b = exact ? beyond(size) : reading(size, "a factor of 1.25");
  if (claims.applies(
          b, any_small && any_large ? "" : "requires values t <= " + up_to + " and t >= " + from)) {
    std::vector<double> excess(records.size(), 0.0);
    double near_one = 0, at_small = 0;
    for (const std::uint64_t d : plan.dim) {
      const auto large = magnitudes(d, large_t), small = magnitudes(d, small_t);
      for (std::size_t i = 0; i < excess.size(); ++i)
        excess[i] += large[i] - significantly * small[i];
      near_one += summarize(large).mean;
      at_small += summarize(small).mean;
    }
    const double ratio = near_one / at_small;  // undefined with one sample and its own mean
    claims.mean(b, excess, compared(at_least(0)),
                "mean |eta| at t >= " + from + " divided by its mean at t <= " + up_to + ": " +
                    (std::isfinite(ratio) ? short_number(ratio) : "undefined") +
                    "; measured: mean |eta| at large t minus 1.25 times that at small t, summed "
                    "over d");
  }

  const Statement c = observation("c", "|eta| at large t decreases as d increases");
  if (claims.applies(c, plan.dim.size() >= 2 && any_large
                            ? ""
                            : "requires two values of d, and values t >= " + from)) {
    std::vector<std::vector<double>> by_dim;
    for (const std::uint64_t d : plan.dim) by_dim.push_back(magnitudes(d, large_t));
    const std::vector<double> dim(plan.dim.begin(), plan.dim.end());
    std::vector<double> exponents;
    for (std::size_t sample = 0; sample < records.size(); ++sample) {
      std::vector<double> of_sample;
      for (const auto& values : by_dim) of_sample.push_back(values[sample]);
      exponents.push_back(fit_power(dim, of_sample).slope);
    }
    claims.mean(c, exponents, compared(at_most(0)),
                "exponent of d in a power-law fit of the mean |eta| over t >= " + from);
  }
}

// [Shallow] eq. (9), tested with the exact standard deviation of xi_i.
void judge_expectation(const Plan& plan, const Records& records, Claims& claims) {
  const Statement eq_9 = {"shallow/lemma-2.4", "shallow/eq-9", "Lemma 2.4, eq. (9)",
                          "E[xi_i] = 1 + alpha^2 d sigma^2 mu_i^2"};
  const bool enough = records.size() >= fewest_samples;
  const std::string too_few = "requires at least " + std::to_string(fewest_samples) + " trials";
  if (!claims.applies(eq_9, enough ? "" : too_few)) return;
  Tally tally;
  for (const std::uint64_t d : plan.dim) {
    for (std::size_t t = 0; t < plan.t.size(); ++t) {
      for (const std::size_t i : {0u, 1u}) {
        const auto fixed = [&](const char* name) {
          return records.front().array(at_dim(d, name)).at(t);
        };
        const Summary measured = summarize(over_trials(records, d, xi[i], t));
        const double expected = fixed(expected_xi[i]),
                     error = fixed(deviation[i]) / std::sqrt(static_cast<double>(measured.n));
        // For small t the deviation of xi_2 is below rounding.
        const double away =
            std::abs(measured.mean - expected) / std::max(error, rounding * expected);
        tally.count(away > comparison_errors, away);
      }
    }
  }
  claims.never_violated(eq_9, tally,
                        "sample means at every d and t; a violation is a distance of more than " +
                            short_number(comparison_errors) +
                            " standard errors; the largest distance is " +
                            short_number(std::max(0.0, tally.largest)),
                        WorstCase::largest);
}

}  // namespace

std::vector<double> over_trials(const Records& records, std::uint64_t d, const char* quantity,
                                std::size_t t_index) {
  const std::string name = at_dim(d, quantity);
  return per_trial(records,
                   [&](const TrialRecord& record) { return record.array(name).at(t_index); });
}

std::vector<double> eta_values(const Records& records, Reading reading, std::uint64_t d,
                               std::size_t t_index) {
  if (reading == Reading::expectation) return over_trials(records, d, eta_by_expectation, t_index);
  return ratio_gap_pseudo_values(over_trials(records, d, xi[0], t_index),
                                 over_trials(records, d, xi[1], t_index));
}

std::vector<double> ratio_gap_pseudo_values(const std::vector<double>& x,
                                            const std::vector<double>& y) {
  const std::size_t count = x.size();
  if (count < fewest_samples) return std::vector<double>(count, undefined);
  const double n = static_cast<double>(count), x_sum = sum(x), y_sum = sum(y);
  double ratio_sum = 0;
  for (std::size_t i = 0; i < count; ++i) ratio_sum += x[i] / y[i];
  const double gap = x_sum / y_sum - ratio_sum / n;
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    const double without = (x_sum - x[i]) / (y_sum - y[i]) - (ratio_sum - x[i] / y[i]) / (n - 1);
    values.push_back(n * gap - (n - 1) * without);
  }
  const double shift = gap - sum(values) / n;
  for (double& value : values) value += shift;
  return values;
}

void judge(const Plan& plan, const Records& records, Claims& claims) {
  for (const Reading reading : {Reading::expectation, Reading::sample_means})
    judge_figure(plan, records, reading, claims);
  judge_expectation(plan, records, claims);

  // These are about fixed matrices, so one sample is enough.
  const Tally bounds = records.front().tally(eq_11.id),
              gamma = records.front().tally(gamma_bound.id);
  claims.never_violated(eq_11, bounds,
                        "largest mu_2^2 / delta^2 " + short_number(std::max(0.0, bounds.largest)),
                        WorstCase::largest);
  claims.never_violated(lemma_A_1, records, "one case per sample, d and t, with s = min(|eta|, 1)");
  const std::string unmet = plan.alpha != 1    ? "--alpha is not 1"
                            : gamma.cases == 0 ? "mu_1 is above 1 at every d and t"
                                               : "";
  if (!claims.applies(gamma_bound, unmet)) return;
  claims.never_violated(gamma_bound, gamma,
                        "the paper states it for mu_1 = 1, and gamma decreases with mu_1; smallest "
                        "gamma " +
                            short_number(gamma.smallest),
                        WorstCase::smallest);
}

}  // namespace ranklab::eta
