// Claims about phi, Figure 16, and its expansion (3.5).
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/text.hpp"
#include "core/tolerances.hpp"
#include "experiments/spike_plus_bulk/features/claims.hpp"
#include "models/activations.hpp"
#include "models/feature_moments.hpp"

namespace ranklab {
namespace {

using std::numbers::pi;

// The estimates of all trials together against the formula, point by point.
Claim monte_carlo_claim(const FeatureRun& run) {
  const Activation& activation = find_activation(run.config.activation);
  const std::vector<double> grid = phi_grid(run.config);
  double cases = 0.0, violations = 0.0, worst = 0.0;
  for (std::size_t i = 0; i < grid.size() && !run.records.empty(); ++i) {
    double sum = 0.0, variance = 0.0;
    for (const TrialRecord& record : run.records) {
      sum += record.array("phi_monte_carlo").at(i);
      variance += std::pow(record.array("phi_standard_error").at(i), 2);
    }
    const double n = static_cast<double>(run.records.size());
    const double deviation = std::fabs(sum / n - feature_phi(activation, grid[i])) / (std::sqrt(variance) / n);
    cases += 1.0;
    worst = std::max(worst, deviation);
    if (!(deviation <= tolerance::standard_errors)) violations += 1.0;
  }
  return judge_violations("spectral/fig-16/phi", "Section 3.1.1 and Figure 16",
                          "phi is 2 pi times the covariance of two features at correlation t", violations, cases,
                          "at every t of the figure, from sampled pairs: largest deviation " + short_number(worst) +
                              " standard errors, " + short_number(tolerance::standard_errors) + " allowed");
}

Claim derivatives_claim() {
  const std::vector<double> printed = {0.0, pi / 2.0, 1.0, 0.0, 1.0, 0.0};
  const std::vector<double> found = feature_phi_derivatives(find_activation("relu"), printed.size());
  double violations = 0.0;
  std::string list;
  for (std::size_t m = 0; m < printed.size(); ++m) {
    if (std::fabs(found[m] - printed[m]) > 1e-9) violations += 1.0;
    list += (m == 0 ? "" : ", ") + short_number(std::fabs(found[m]) < 1e-12 ? 0.0 : found[m]);
  }
  return judge_violations("spectral/fig-16/derivatives", "Theorem 3.2, proof",
                          "the derivatives of phi at 0, orders 0 to 5, are 0, pi/2, 1, 0, 1, 0", violations,
                          static_cast<double>(printed.size()),
                          "2 pi m! times the squared Hermite coefficients of relu, by quadrature: " + list);
}

// |phi(t) - pi t/2 - t^2/2| <= max |phi''''| t^4/4! on [-T, T], T the largest cosine of the run;
// phi''''(t) = (1 + 2 t^2)(1 - t^2)^(-5/2) is largest at T.
Claim remainder_claim(const FeatureRun& run) {
  constexpr int points = 200;
  const Activation& relu = find_activation("relu");
  const auto margin = [&](const TrialRecord& record, const FeatureSize& size) {
    double smallest = std::numeric_limits<double>::infinity();
    const double T = std::min(1.0, record.scalar(size.prefix() + "row_cosine"));
    const double fourth = (1.0 + 2.0 * T * T) * std::pow(1.0 - T * T, -2.5);
    for (int i = -points; i <= points; ++i) {
      const double t = T * i / points;
      const double rest = std::fabs(feature_phi(relu, t) - pi / 2.0 * t - t * t / 2.0);
      smallest = std::min(smallest, fourth * std::pow(t, 4) / 24.0 + tolerance::closed_form<double> - rest);
    }
    return smallest;
  };
  return judge_everywhere(run,
                          {"spectral/eq-3.5/remainder", "Theorem 3.2, proof, eq. (3.5)",
                           "phi differs from pi t/2 + t^2/2 by at most max |phi''''| t^4/4! on the run's own cosines"},
                          margin, "largest cosine " + range_text(run, metric("row_cosine")));
}

std::vector<Claim> interval_claims(const FeatureRun& run) {
  const std::string where = "Theorem 3.2, proof, after eq. (3.5)";
  const auto root_d = [](const FeatureSize& size) { return 1.0 / std::sqrt(static_cast<double>(size.d)); };
  const auto with_log = [](const FeatureSize& size) {
    return std::sqrt(std::log(static_cast<double>(size.k)) / static_cast<double>(size.d));
  };
  return {
      judge_exponent(run,
                     {"spectral/eq-3.5/interval/as-printed", where,
                      "the cosines between rows lie in [-c/sqrt(d), c/sqrt(d)] for a constant c"},
                     metric_over("row_cosine", root_d), -std::numeric_limits<double>::infinity(), 0.0,
                     "largest cosine times sqrt(d) is " + range_text(run, metric_over("row_cosine", root_d)) +
                         "; judged without slack, as log k grows slowly"),
      judge_exponent(run,
                     {"spectral/eq-3.5/interval/corrected", where + ", and eq. (3.3)",
                      "the cosines between rows lie in [-c sqrt(log(k)/d), c sqrt(log(k)/d)] for a constant c"},
                     metric_over("row_cosine", with_log), -std::numeric_limits<double>::infinity(), exponent_slack,
                     "largest cosine over sqrt(log(k)/d) is " + range_text(run, metric_over("row_cosine", with_log))),
  };
}

}  // namespace

std::vector<Claim> phi_claims(const FeatureRun& run) {
  std::vector<Claim> claims = {monte_carlo_claim(run)};
  const std::size_t general = claims.size();
  claims.push_back(derivatives_claim());
  claims.push_back(remainder_claim(run));
  for (Claim& claim : interval_claims(run)) claims.push_back(std::move(claim));
  only_about_relu(run, claims, general);
  return claims;
}

}  // namespace ranklab
