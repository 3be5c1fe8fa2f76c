// Claims about Theorems 3.2 and 3.4 and Lemma 3.5 of [Spectral].
#include <cmath>
#include <limits>
#include <numbers>

#include "core/text.hpp"
#include "core/tolerances.hpp"
#include "experiments/spike_plus_bulk/features/claims.hpp"

namespace ranklab {
namespace {

using std::numbers::pi;
constexpr double infinity = std::numeric_limits<double>::infinity();

double real(std::uint64_t x) {
  return static_cast<double>(x);
}

// The order of the error terms of (3.4) and (3.6).
double remainder_order(const FeatureSize& size) {
  return real(size.k) * std::pow(std::log(real(size.k)), 2) / (real(size.d) * real(size.d));
}

double sampling_order(const FeatureSize& size) {
  return std::sqrt(real(size.d) / real(size.n)) + real(size.d) / real(size.n);
}

std::vector<Claim> mean_claims(const FeatureRun& run) {
  const std::string where = "Section 3.1.1, before Theorem 3.2";
  const std::string coefficient = "least-squares coefficient of the sample mean on the row norms";
  const std::string spike = "product of the means of both halves of the samples, over ||V||_F^2";
  return {
      judge_constant(run, {"spectral/thm-3.2/mean-vector/as-printed", where, "mu_i = ||v_i|| / (2 pi)"}, "mean_coefficient",
                     0.5 / pi, coefficient_band, coefficient),
      judge_constant(run, {"spectral/thm-3.2/mean-vector/corrected", where, "mu_i = ||v_i|| / sqrt(2 pi)"}, "mean_coefficient",
                     1.0 / std::sqrt(2.0 * pi), coefficient_band, coefficient),
      judge_constant(run, {"spectral/thm-3.2/spike/as-printed", where, "||mu||^2 = ||V||_F^2 / (4 pi^2)"}, "spike_coefficient",
                     0.25 / (pi * pi), coefficient_band, spike),
      judge_constant(run, {"spectral/thm-3.2/spike/corrected", where, "||mu||^2 = ||V||_F^2 / (2 pi)"}, "spike_coefficient",
                     0.5 / pi, coefficient_band, spike),
  };
}

// The number that (3.3) calls epsilon, and whether the theorem's hypothesis is met by it.
bool near_unit_rows(const TrialRecord& record, const FeatureSize& size) {
  return record.scalar(size.prefix() + "squared_norm_deviation") < 1.0;
}

// The proof bounds the Hadamard square by its Lemma 3.1 (2) and leaves out the largest diagonal entry.
std::vector<Claim> hadamard_claims(const FeatureRun& run) {
  const auto quotient = [](const TrialRecord& record, const FeatureSize& size) {
    return record.scalar(size.prefix() + "hadamard_norm") / record.scalar(size.prefix() + "linear_norm");
  };
  const auto with_diagonal = [quotient](const TrialRecord& record, const FeatureSize& size) {
    return quotient(record, size) / record.scalar(size.prefix() + "largest_squared_norm");
  };
  const auto at_most_one = [](const SizeMetric& value) {
    return [value](const TrialRecord& record, const FeatureSize& size) {
      return 1.0 + tolerance::residual<double> - value(record, size);
    };
  };
  return {
      judge_everywhere(run, {"spectral/thm-3.2/hadamard-square/as-printed", "Theorem 3.2, proof", "||(V V')^(o 2)|| <= ||V V'||"},
                       at_most_one(quotient),
                       "quotient " + range_text(run, quotient) + "; false for orthogonal rows longer than 1"),
      judge_everywhere(
          run, {"spectral/thm-3.2/hadamard-square/corrected", "Theorem 3.2, proof", "||(V V')^(o 2)|| <= max ||v_i||^2 ||V V'||"},
          at_most_one(with_diagonal), "quotient " + range_text(run, with_diagonal))};
}

std::vector<Claim> conditioning_claims(const FeatureRun& run) {
  std::vector<Claim> claims;
  const ClaimText lower{"spectral/eq-3.4/lower", "Theorem 3.2, eq. (3.4)",
                        "Sigma >= V V'/4 + ((pi - 3)(1 - eps)/(4 pi) + O(k log^2 k/d^2)) I"};
  const ClaimText upper{"spectral/eq-3.4/upper", "Theorem 3.2, eq. (3.4)",
                        "Sigma <= ((1 + 1/(pi (1 - eps)))/4 ||V||^2 + (pi - 3)(1 + eps)/(4 pi) + O(k log^2 k/d^2)) I"};
  double outside = 0.0;
  for (const auto& record : run.records) {
    for (const auto& size : run.sizes) outside += near_unit_rows(record, size) ? 0.0 : 1.0;
  }
  const auto lower_bound = [](const TrialRecord& record, const FeatureSize& size) {
    return (pi - 3.0) / (4.0 * pi) * (1.0 - record.scalar(size.prefix() + "squared_norm_deviation"));
  };
  const auto upper_bound = [](const TrialRecord& record, const FeatureSize& size) {
    const double e = record.scalar(size.prefix() + "squared_norm_deviation");
    return (1.0 + 1.0 / (pi * (1.0 - e))) / 4.0 * record.scalar(size.prefix() + "linear_norm") +
           (pi - 3.0) / (4.0 * pi) * (1.0 + e);
  };
  if (outside > 0.0) {
    const std::string reason =
        "hypothesis (3.3) asks for squared row norms within eps < 1 of 1, and " + short_number(outside) + " draws of V have none";
    claims.push_back(not_applicable(lower.id, lower.source, lower.statement, reason));
    claims.push_back(not_applicable(upper.id, upper.source, upper.statement, reason));
  } else {
    const std::string with = "eps is the smallest that (3.3) allows; the O term is the measured norm of the remainder of (3.6)";
    claims.push_back(judge_everywhere(
        run, lower,
        [&](const TrialRecord& record, const FeatureSize& size) {
          return record.scalar(size.prefix() + "sigma_minus_linear_min") + record.scalar(size.prefix() + "remainder_norm") -
                 lower_bound(record, size);
        },
        with + "; smallest eigenvalue of Sigma - V V'/4 is " + range_text(run, metric("sigma_minus_linear_min")) + ", the bound " +
            range_text(run, lower_bound) + " without the O term: the Hadamard square, dropped as >= 0, has about 1/(4 pi)"));
    claims.push_back(judge_everywhere(
        run, upper,
        [&](const TrialRecord& record, const FeatureSize& size) {
          return upper_bound(record, size) + record.scalar(size.prefix() + "remainder_norm") -
                 record.scalar(size.prefix() + "sigma_norm");
        },
        with + "; ||Sigma|| is " + range_text(run, metric("sigma_norm")) + ", the bound " + range_text(run, upper_bound)));
  }
  claims.push_back(judge_exponent(run,
                                  {"spectral/eq-3.6/remainder", "Theorem 3.2, eq. (3.6)",
                                   "the remainder of the expansion of Sigma is O(k log^2 k/d^2) in operator norm"},
                                  metric_over("remainder_norm", remainder_order), -infinity, exponent_slack,
                                  "remainder over k log^2 k/d^2 does not grow"));
  const std::string residual = "Frobenius norm of what the identity leaves, over that of E/(2 pi)";
  const auto exact = [](const char* name) {
    return [name](const TrialRecord& record, const FeatureSize& size) {
      return record.scalar(size.prefix() + "remainder_rounding") - record.scalar(size.prefix() + name);
    };
  };
  claims.push_back(judge_everywhere(
      run, {"spectral/eq-3.6/as-printed", "Theorem 3.2, eq. (3.6)", "the last term is E/(2 pi), with the E of K's expansion"},
      exact("remainder_as_printed"), residual + ": " + range_text(run, metric("remainder_as_printed"))));
  claims.push_back(judge_everywhere(run,
                                    {"spectral/eq-3.6/corrected", "Theorem 3.2, eq. (3.6)",
                                     "the last term is Lambda E Lambda/(2 pi), as conjugation by Lambda makes it"},
                                    exact("remainder_corrected"),
                                    residual + ": " + range_text(run, metric("remainder_corrected"))));
  for (Claim& claim : hadamard_claims(run)) claims.push_back(std::move(claim));
  return claims;
}

std::vector<Claim> sampling_claims(const FeatureRun& run) {
  std::vector<Claim> claims;
  claims.push_back(judge_exponent(run,
                                  {"spectral/thm-3.4/spike", "Theorem 3.4", "the squared norm of the empirical mean is of order d"},
                                  metric("mean_squared_norm"), 1.0 - exponent_slack, 1.0 + exponent_slack,
                                  "||mu-bar||^2 is " + range_text(run, metric("mean_squared_norm"))));
  const ClaimText below{"spectral/thm-3.4/bulk-below", "Theorem 3.4",
                        "the empirical covariance is bounded below, Sigma-bar >= C_1 I"};
  claims.push_back(run.singular() ? not_applicable(below.id, below.source, below.statement,
                                                   "n <= k: the theorem asks for n >= C_0 d with a C_0 that is large enough")
                                  : judge_exponent(run, below, metric("sample_bulk_min"), -exponent_slack, infinity,
                                                   "smallest eigenvalue " + range_text(run, metric("sample_bulk_min"))));
  claims.push_back(judge_exponent(
      run, {"spectral/thm-3.4/bulk-above", "Theorem 3.4", "the empirical covariance is bounded above, Sigma-bar <= C_2 I"},
      metric("sample_bulk_max"), -infinity, exponent_slack, "largest eigenvalue " + range_text(run, metric("sample_bulk_max"))));
  claims.push_back(
      judge_exponent(run,
                     {"spectral/thm-3.4/covariance-concentration", "Theorem 3.4, proof",
                      "||Sigma-bar - Sigma|| is O((sqrt(d/n) + d/n) ||Sigma||)"},
                     metric_over("sigma_error", sampling_order), -infinity, exponent_slack,
                     "relative error over sqrt(d/n) + d/n is " + range_text(run, metric_over("sigma_error", sampling_order))));
  const auto mean_order = [](const FeatureSize& size) { return std::sqrt(real(size.d) / real(size.n)); };
  claims.push_back(judge_exponent(
      run, {"spectral/thm-3.4/mean-concentration", "Theorem 3.4, proof", "||mu-bar - mu|| is O(sqrt(d/n))"},
      metric_over("mean_shift", mean_order), -infinity, exponent_slack,
      "over sqrt(d/n): " + range_text(run, metric_over("mean_shift", mean_order)) + ", with mu_i = ||v_i||/sqrt(2 pi)"));
  const ClaimText condition{"spectral/lemma-3.5/condition", "Lemma 3.5",
                            "the condition number of T = (I - eta B) B is bounded at eta = 1/(c + ||B||)"};
  claims.push_back(run.singular() ? not_applicable(condition.id, condition.source, condition.statement,
                                                   "n <= k: B is singular, and Assumption E asks for a positive definite bulk")
                                  : judge_exponent(run, condition, metric("condition"), -infinity, exponent_slack,
                                                   "condition number " + range_text(run, metric("condition")) +
                                                       ", c = " + short_number(run.config.offset)));
  claims.push_back(judge_everywhere(
      run,
      {"spectral/lemma-3.5/interlacing", "Lemma 3.5, proof",
       "lambda_i(Sigma-bar) >= lambda_(i+1)(B) >= lambda_(i+1)(Sigma-bar) for i up to k - 1"},
      [](const TrialRecord& record, const FeatureSize& size) { return -record.scalar(size.prefix() + "interlacing_violations"); },
      "every index of every matrix; the paper's range ends at d - 1, where k - 1 is meant"));
  return claims;
}

// What other activations share with relu: the sampled moments against the formulas of this program.
std::vector<Claim> formula_claims(const FeatureRun& run) {
  return {
      judge_at_largest(run,
                       {"spectral/thm-3.2/covariance", "Section 3.1.1, before Theorem 3.2",
                        "Sigma_ij = ||v_i|| ||v_j|| phi(t_ij)/(2 pi), or the Hermite form where the activation is not homogeneous"},
                       "sigma_squared_error", -squared_error_band, squared_error_band,
                       "relative squared error of the formula, by the product of two independent halves of the samples"),
      judge_at_largest(run,
                       {"spectral/thm-3.2/mean-entries", "Section 3.1.1, before Theorem 3.2",
                        "the sample mean scatters about the formula for E a, with mu_i = ||v_i||/sqrt(2 pi) for relu, as its "
                        "covariance says"},
                       "mean_error", 0.8, 1.25, "n ||mu-bar - mu||^2 / tr Sigma, whose expectation is 1"),
  };
}

}  // namespace

std::vector<Claim> gram_claims(const FeatureRun& run) {
  std::vector<Claim> claims = formula_claims(run);
  const std::size_t general = claims.size();
  for (const auto& part : {mean_claims(run), conditioning_claims(run), sampling_claims(run)}) {
    claims.insert(claims.end(), part.begin(), part.end());
  }
  only_about_relu(run, claims, general);
  return claims;
}

}  // namespace ranklab
