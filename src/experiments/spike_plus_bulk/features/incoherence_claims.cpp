// Claims about Lemma 3.3 of [Spectral]: rows of a Gaussian V.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/text.hpp"
#include "experiments/spike_plus_bulk/features/claims.hpp"

namespace ranklab {
namespace {

double log_k_over_d(const FeatureSize& size) {
  return std::log(static_cast<double>(size.k)) / static_cast<double>(size.d);
}

// (3.7) fails with probability at most 4/k; here as the part of the sizes of one trial at which it fails.
Claim rows_claim(const FeatureRun& run) {
  const ClaimText text{"spectral/eq-3.7", "Lemma 3.3, eq. (3.7)",
                       "cosines between rows and deviations of their squared norms from 1 are at most 4 sqrt(log(k)/d), with "
                       "probability 1 - 4/k"};
  std::vector<FeatureSize> covered;
  double allowed = 0.0;
  for (const FeatureSize& size : run.sizes) {
    if (log_k_over_d(size) > 0.25) continue;
    covered.push_back(size);
    allowed += std::min(1.0, 4.0 / static_cast<double>(size.k));
  }
  if (covered.empty()) return not_applicable(text.id, text.source, text.statement, "log(k)/d exceeds 1/4 at every size");
  const double count = static_cast<double>(covered.size());
  std::vector<double> failed;
  for (const TrialRecord& record : run.records) {
    double failures = 0.0;
    for (const FeatureSize& size : covered) {
      const double bound = 4.0 * std::sqrt(log_k_over_d(size));
      const bool held =
          record.scalar(size.prefix() + "row_cosine") <= bound && record.scalar(size.prefix() + "squared_norm_deviation") <= bound;
      failures += held ? 0.0 : 1.0;
    }
    failed.push_back(failures / count);
  }
  const auto unit = [](const FeatureSize& size) { return std::sqrt(log_k_over_d(size)); };
  return judge_mean(text.id, text.source, text.statement, failed, 0.0, allowed / count,
                    "part of the sizes at which it fails; over sqrt(log(k)/d), cosines reach " +
                        range_text(run, metric_over("row_cosine", unit)) + ", deviations " +
                        range_text(run, metric_over("squared_norm_deviation", unit)));
}

std::vector<Claim> norm_claims(const FeatureRun& run) {
  const ClaimText rows{"spectral/eq-3.3", "Theorem 3.2, eq. (3.3), and the text before Lemma 3.3",
                       "rows of a Gaussian V are incoherent: squared norms within eps < 1 of 1, cosines at most c sqrt(log(k)/d)"};
  const auto needed = [](const TrialRecord& record, const FeatureSize& size) {
    const double excess = record.scalar(size.prefix() + "norm_excess");
    return std::max(excess, record.scalar(size.prefix() + "frobenius_deviation")) * std::sqrt(static_cast<double>(size.d));
  };
  return {
      judge_everywhere(
          run, rows,
          [](const TrialRecord& record, const FeatureSize& size) {
            const double bound = 4.0 * std::sqrt(log_k_over_d(size));
            if (bound >= 1.0) return std::numeric_limits<double>::quiet_NaN();
            return std::min(1.0 - record.scalar(size.prefix() + "squared_norm_deviation"),
                            bound - record.scalar(size.prefix() + "row_cosine"));
          },
          "at the sizes where 4 sqrt(log(k)/d) of Lemma 3.3 is below 1, with its c = 4; eps is " +
              range_text(run, metric("squared_norm_deviation"))),
      judge_everywhere(
          run,
          {"spectral/eq-3.8", "Lemma 3.3, eq. (3.8)",
           "||V|| <= sqrt(k/d) + 1 + delta and | ||V||_F^2/k - 1 | <= delta, with probability 1 - 4 exp(-c delta^2 d)"},
          [&](const TrialRecord& record, const FeatureSize& size) { return 4.0 - needed(record, size); },
          "at delta = 4/sqrt(d), where 4 exp(-c delta^2 d) = 0.0013 with the usual c = 1/2 (the paper gives none); "
          "smallest possible delta sqrt(d) is " +
              range_text(run, needed)),
  };
}

// Lemma 3.3 at the edge of its hypothesis, by tail probabilities instead of samples: such a k cannot be drawn.
std::vector<Claim> hypothesis_claims() {
  constexpr std::array<double, 8> dimensions = {16, 32, 64, 128, 256, 512, 1024, 4096};
  constexpr double proven = 0.16;
  double failures = 0.0, open = 0.0, worst_lower = -std::numeric_limits<double>::infinity(), worst_upper = worst_lower, first = 0.0;
  for (const double d : dimensions) {
    const double lower = log_lemma_3_3_lower(d, 0.25);
    if (lower > 0.0 && first == 0.0) first = d;
    failures += lower > 0.0 ? 1.0 : 0.0;
    worst_lower = std::max(worst_lower, lower);
    for (int i = 1; i <= 16; ++i) {
      const double ratio = proven * i / 16.0;
      if (ratio * d < std::log(2.0)) continue;
      const double upper = log_lemma_3_3_upper(d, ratio);
      open += upper > 0.0 ? 1.0 : 0.0;
      worst_upper = std::max(worst_upper, upper);
    }
  }
  const std::string where = "Lemma 3.3, hypothesis of eq. (3.7)";
  return {
      judge_violations("spectral/lemma-3.3/hypothesis/as-printed", where, "log(k)/d <= 1/4 is enough for a failure probability 4/k",
                       failures, static_cast<double>(dimensions.size()),
                       "at log k = d/4 for d from 16 to 4096: P(some ||v_i||^2 > 3), from the chi-squared tail, over 4/k reaches "
                       "exp(" +
                           short_number(worst_lower) + "), and exceeds 1 from d = " + short_number(first) + " on"),
      judge_violations("spectral/lemma-3.3/hypothesis/corrected", where, "log(k)/d <= 4/25 is enough for a failure probability 4/k",
                       open, static_cast<double>(dimensions.size()) * 16.0,
                       "union bound over both tails of the norms and over the cosines, over 4/k, at most exp(" +
                           short_number(worst_upper) + ") for 16 ratios up to 4/25 and d from 16 to 4096"),
  };
}

}  // namespace

double log_chi_squared_tail(double degrees, double excess) {
  // Q(a, x) Gamma(a) = exp(-x) x^a / (x + 1 - a - 1(1 - a)/(x + 3 - a - 2(2 - a)/(x + 5 - a - ...))), from the far end.
  const double a = degrees / 2.0, x = a * (1.0 + excess);
  constexpr int terms = 20000;
  double fraction = x + 2.0 * terms + 1.0 - a;
  for (int i = terms; i >= 1; --i) fraction = x + 2.0 * i - 1.0 - a - i * (i - a) / fraction;
  return -x + a * std::log(x) - std::lgamma(a) - std::log(fraction);
}

double log_lemma_3_3_lower(double d, double ratio) {
  const double log_k = ratio * d, log_p = log_chi_squared_tail(d, 4.0 * std::sqrt(ratio));
  // 1 - (1 - p)^k, with k p for its logarithm where p is tiny.
  const double log_kp = log_k + log_p;
  const double some = log_kp < -20.0 ? log_kp : std::log(-std::expm1(-std::exp(log_kp)));
  return some - (std::log(4.0) - log_k);
}

double log_lemma_3_3_upper(double d, double ratio) {
  const double log_k = ratio * d, u = 4.0 * std::sqrt(ratio);
  // Relative to 1/k: k^2 times the upper tail; the lower tail is at most exp(-d u^2/4) = k^-4 for u < 1 and empty above;
  // a cosine exceeds u with probability at most 2 exp(-d u^2/2) = 2 k^-8, of k^2/2 pairs.
  const double norms = std::exp(2.0 * log_k + log_chi_squared_tail(d, u));
  return std::log(norms + std::exp(-2.0 * log_k) + std::exp(-5.0 * log_k)) - std::log(4.0);
}

std::vector<Claim> incoherence_claims(const FeatureRun& run) {
  std::vector<Claim> claims = {rows_claim(run)};
  for (const auto& part : {norm_claims(run), hypothesis_claims()}) claims.insert(claims.end(), part.begin(), part.end());
  return claims;
}

}  // namespace ranklab
