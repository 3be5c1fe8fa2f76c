// phi(t) = 2 pi Cov(sigma(g), sigma(t g + sqrt(1 - t^2) h)) and its expansion (3.5), [Spectral]
// Theorem 3.2 and Figure 16.
#include <algorithm>
#include <limits>
#include <numbers>

#include "experiments/spike_plus_bulk/features/features.hpp"
#include "models/feature_moments.hpp"

namespace ranklab::features {

using std::numbers::pi;

// 2 pi Cov(sigma(g), sigma(t g + sqrt(1 - t^2) h)) and its standard error, from the same g and h at
// every t.
void measure_phi(const Config& c, const Trial& trial, TrialRecord& record) {
  const Activation& activation = find_activation(c.activation);
  arma::vec g(c.phi_samples), h(c.phi_samples);
  trial.stream("phi.g").fill_normal({g.memptr(), g.n_elem});
  trial.stream("phi.h").fill_normal({h.memptr(), h.n_elem});
  arma::vec a = g;
  apply(activation, a);
  a -= arma::mean(a);
  const double n = static_cast<double>(c.phi_samples);
  std::vector<double> estimates, errors;
  for (const double t : c.phi_at()) {
    trial.check_interrupt();
    arma::vec b = t * g + std::sqrt((1.0 - t) * (1.0 + t)) * h;
    apply(activation, b);
    const arma::vec product = a % (b - arma::mean(b));
    estimates.push_back(2.0 * pi * arma::accu(product) / (n - 1.0));
    errors.push_back(2.0 * pi * arma::stddev(product) / std::sqrt(n));
  }
  record.set(phi_monte_carlo, estimates);
  record.set(phi_standard_error, errors);
}

namespace {

// Compares the estimates of all trials together with the formula, point by point.
void judge_figure(const Config& c, const SizeClaims& over_d) {
  const Activation& activation = find_activation(c.activation);
  const Records& records = over_d.records;
  const std::vector<double> points = c.phi_at();
  Tally deviations;
  for (std::size_t i = 0; i < points.size(); ++i) {
    double sum = 0.0, variance = 0.0;
    for (const TrialRecord& record : records) {
      sum += record.array(phi_monte_carlo).at(i);
      variance += std::pow(record.array(phi_standard_error).at(i), 2);
    }
    const double n = static_cast<double>(records.size());
    const double deviation =
        std::fabs(sum / n - feature_phi(activation, points[i])) / (std::sqrt(variance) / n);
    deviations.count(!(deviation <= tolerance::standard_errors), deviation);
  }
  Place figure = in_figure("spectral/fig-16", "spectral/fig-16/", "Section 3.1.1 and Figure 16",
                           {"Figure 16"});
  figure.part = Part::caption;
  over_d.claims.never_violated(
      figure("phi", "phi(t) is 2 pi times the covariance of two features at correlation t"),
      deviations,
      say("sampled pairs at every t of the figure: largest deviation {} standard errors, {} "
          "allowed",
          std::max(0.0, deviations.largest), tolerance::standard_errors),
      WorstCase::largest);
}

void judge_derivatives(Claims& claims) {
  const std::vector<double> printed = {0.0, pi / 2.0, 1.0, 0.0, 1.0, 0.0};
  const std::vector<double> found =
      feature_phi_derivatives(find_activation("relu"), printed.size());
  Tally tally;
  std::vector<std::string> list;
  for (std::size_t m = 0; m < printed.size(); ++m) {
    tally.count(std::fabs(found[m] - printed[m]) > 1e-9);
    list.push_back(short_number(std::fabs(found[m]) < 1e-12 ? 0.0 : found[m]));
  }
  claims.never_violated(
      {"spectral/thm-3.2", "spectral/fig-16/derivatives", "Theorem 3.2, proof",
       "The derivatives of phi at 0 of orders 0 to 5 are 0, pi/2, 1, 0, 1, 0", Part::proof},
      tally,
      "2 pi m! times the squared Hermite coefficients of relu, by quadrature: " + joined(list));
}

// |phi(t) - pi t/2 - t^2/2| <= max |phi''''| t^4/4! on [-T, T], T the largest cosine of the run;
// phi''''(t) = (1 + 2 t^2)(1 - t^2)^(-5/2) is largest at T. The smallest margin over a grid.
double taylor_margin(const AtSize& at) {
  constexpr int points = 200;
  const Activation& relu = find_activation("relu");
  double smallest = std::numeric_limits<double>::infinity();
  const double T = std::min(1.0, at(row_cosine));
  const double fourth = (1.0 + 2.0 * T * T) * std::pow(1.0 - T * T, -2.5);
  for (int i = -points; i <= points; ++i) {
    const double t = T * i / points;
    const double rest = std::fabs(feature_phi(relu, t) - pi / 2.0 * t - t * t / 2.0);
    smallest =
        std::min(smallest, fourth * std::pow(t, 4) / 24.0 + tolerance::closed_form<double> - rest);
  }
  return smallest;
}

void judge_interval(const Config& c, const SizeClaims& over_d) {
  const Place proof{"spectral/thm-3.2", "spectral/eq-3.5/", "Theorem 3.2, proof, eq. (3.5)",
                    Part::proof},
      after{proof.statement_id, proof.prefix, "Theorem 3.2, proof, after eq. (3.5)", Part::proof},
      with_3_3{proof.statement_id, proof.prefix, after.source + ", and eq. (3.3)", Part::proof};
  over_d.everywhere(proof("remainder",
                          "|phi(t) - pi t/2 - t^2/2| is at most max |phi''''| t^4/4! for |t| up to "
                          "the largest cosine of the run"),
                    taylor_margin, "largest cosine " + over_d.range(row_cosine));
  const Metric scaled = ratio(row_cosine, [](const AtSize& at) { return 1.0 / std::sqrt(at.x); });
  const Metric with_log = ratio(row_cosine, root_log_k_over_d(c));
  // The points xi are between 0 and the cosines t, near t/sqrt(15) for small t.
  const std::string points =
      "The points at which D takes the fourth derivative, between 0 and the cosines of the rows of "
      "V, lie in ";
  const Statement printed = showing(
      "spectral/thm-3.2/interval",
      asymptotic(after("interval/as-printed", points + "[-c/sqrt(d), c/sqrt(d)] for a constant c"),
                 "none: an exponent above 0 at 99 %"));
  over_d.exponent(
      printed, scaled, at_most(0.0),
      say("largest cosine times sqrt(d) is {}; judged without slack because log k grows "
          "slowly",
          over_d.range(scaled)));
  const std::string corrected = points + "[-c sqrt(log(k)/d), c sqrt(log(k)/d)] for a constant c";
  over_d.exponent(correcting(printed, with_3_3("interval/corrected", corrected)), with_log,
                  does_not_grow, "largest cosine over sqrt(log(k)/d) is " + over_d.range(with_log));
}

}  // namespace

void judge_phi(const Config& c, const SizeClaims& over_d) {
  judge_figure(c, over_d);
  const auto relu = over_d.claims.only_where(c.not_relu());
  judge_derivatives(over_d.claims);
  judge_interval(c, over_d);
}

}  // namespace ranklab::features
