#include "experiments/spike_plus_bulk/features/report.hpp"

#include <cmath>
#include <numbers>

#include "experiments/spike_plus_bulk/features/claims.hpp"
#include "experiments/spike_plus_bulk/features/trial.hpp"
#include "models/activations.hpp"
#include "models/feature_moments.hpp"

namespace ranklab {
namespace {

using std::numbers::pi;
using Records = std::vector<TrialRecord>;

void add_sizes(const FeatureRun& run, Result& result) {
  std::vector<double> k;
  for (const FeatureSize& size : run.sizes) k.push_back(static_cast<double>(size.k));
  for (const char* name : feature_metrics(run.config.model)) {
    std::vector<std::vector<double>> rows(run.records.size());
    for (const FeatureSize& size : run.sizes) {
      result.scalars.push_back({size.prefix() + name, run.values(size, name)});
      for (std::size_t t = 0; t < rows.size(); ++t) rows[t].push_back(run.records[t].scalar(size.prefix() + name));
    }
    result.series.push_back(series_over_trials(name, "k", k, rows));
  }
}

// A curve that is the same in every trial.
void add_constant_series(const FeatureRun& run, const std::string& name, const std::string& x_name, const std::vector<double>& x,
                         const std::vector<double>& y, Result& result) {
  result.series.push_back(series_over_trials(name, x_name, x, std::vector<std::vector<double>>(run.records.size(), y)));
}

// A formula over k, from the numbers of each trial.
void add_formula(const FeatureRun& run, const std::string& name, const SizeMetric& value, Result& result) {
  std::vector<double> k;
  std::vector<std::vector<double>> rows(run.records.size());
  for (const FeatureSize& size : run.sizes) {
    k.push_back(static_cast<double>(size.k));
    for (std::size_t t = 0; t < rows.size(); ++t) rows[t].push_back(value(run.records[t], size));
  }
  result.series.push_back(series_over_trials(name, "k", k, rows));
}

void add_phi(const FeatureRun& run, Result& result) {
  const Activation& activation = find_activation(run.config.activation);
  const std::vector<double> t = phi_grid(run.config);
  const std::vector<double> derivatives = feature_phi_derivatives(activation, 6);
  for (std::size_t m = 0; m < derivatives.size(); ++m) {
    result.scalars.push_back({"phi_derivative_" + std::to_string(m), std::vector<double>(run.records.size(), derivatives[m])});
  }
  std::vector<double> phi;
  for (const double x : t) phi.push_back(feature_phi(activation, x));
  add_constant_series(run, "phi", "t", t, phi, result);
  for (const std::size_t degree : {std::size_t{1}, std::size_t{2}, std::size_t{4}}) {
    const std::vector<double> kept(derivatives.begin(), derivatives.begin() + static_cast<std::ptrdiff_t>(degree) + 1);
    std::vector<double> y;
    for (const double x : t) y.push_back(taylor_polynomial(kept, x));
    add_constant_series(run, "phi_taylor_" + std::to_string(degree), "t", t, y, result);
  }
  result.series.push_back(series_over_trials("phi_monte_carlo", "t", t, arrays_of(run.records, "phi_monte_carlo")));
}

void add_bounds(const FeatureRun& run, Result& result) {
  const auto deviation = [](const TrialRecord& r, const FeatureSize& s) { return r.scalar(s.prefix() + "squared_norm_deviation"); };
  add_formula(
      run, "eq_3_4_lower",
      [&](const TrialRecord& r, const FeatureSize& s) { return (pi - 3.0) * (1.0 - deviation(r, s)) / (4.0 * pi); }, result);
  add_formula(
      run, "eq_3_4_upper",
      [&](const TrialRecord& r, const FeatureSize& s) {
        const double e = deviation(r, s);
        return (1.0 + 1.0 / (pi * (1.0 - e))) / 4.0 * r.scalar(s.prefix() + "linear_norm") + (pi - 3.0) * (1.0 + e) / (4.0 * pi);
      },
      result);
  add_formula(
      run, "remainder_order",
      [](const TrialRecord&, const FeatureSize& s) {
        return static_cast<double>(s.k) * std::pow(std::log(static_cast<double>(s.k)) / static_cast<double>(s.d), 2);
      },
      result);
}

Figure gram_figure(const std::string& activation) {
  Panel phi{"phi, 2 pi times the covariance of two features", {"t, cosine of the angle"}, {"phi(t)"}, {}, {}};
  phi.curves = {{"phi", "formula", LineStyle::line},
                {"phi_taylor_2", "Taylor, degree 2", LineStyle::dashed},
                {"phi_taylor_4", "Taylor, degree 4", LineStyle::dotted},
                {"phi_monte_carlo", "sampled pairs", LineStyle::points}};
  Panel spectrum{"Spike and bulk of A A'/n", {"k", Scale::log}, {"eigenvalue", Scale::log}, {}, {}};
  spectrum.curves = {{"spike", "largest", LineStyle::line_points},
                     {"spike_formula", "norm of the mean vector, squared", LineStyle::dashed},
                     {"bulk_max", "second", LineStyle::line_points},
                     {"bulk_min", "smallest", LineStyle::line_points},
                     {"sigma_norm", "largest of Sigma", LineStyle::dotted},
                     {"sigma_min", "smallest of Sigma", LineStyle::dotted}};
  Panel errors{"Formulas against samples, and (3.6)", {"k", Scale::log}, {"error", Scale::log}, {}, {}};
  errors.curves = {{"sigma_error", "Sigma, n = 2k samples, relative", LineStyle::line_points},
                   {"sigma_entry_error", "Sigma, largest entry", LineStyle::line_points},
                   {"mean_shift", "mean vector", LineStyle::line_points}};
  if (activation == "relu") {
    spectrum.curves.push_back({"eq_3_4_upper", "bounds (3.4)", LineStyle::dashed, 7});
    spectrum.curves.push_back({"eq_3_4_lower", "", LineStyle::dashed, 7});
    errors.curves.push_back({"remainder_norm", "remainder of (3.6)", LineStyle::line_points});
    errors.curves.push_back({"remainder_order", "k log(k)^2/d^2", LineStyle::dashed});
  }
  return {{phi, spectrum, errors}};
}

Figure cross_figure(const std::string& activation, std::uint64_t k) {
  Panel values{"Singular values, k = " + std::to_string(k), {"index", Scale::log}, {"singular value", Scale::log}, {}, {}};
  values.curves = {{"cross_singular_values", "cross-Gram matrix", LineStyle::line},
                   {"cross_bulk_singular_values", "its bulk", LineStyle::dashed}};
  Panel errors{"Theorem 3.7: error of the expansion", {"k", Scale::log}, {"operator norm", Scale::log}, {}, {}};
  errors.curves = {{"error_as_printed", "as printed", LineStyle::line_points},
                   {"error_corrected", "with 1/4 and 1/(4 pi)", LineStyle::line_points},
                   {"error_order", "sqrt(k)/d", LineStyle::dashed}};
  Panel alignment{"(3.21), (3.22): distance from the spike", {"k", Scale::log}, {"distance of unit vectors", Scale::log}, {}, {}};
  alignment.curves = {{"distance_gram", "Gram matrix (3.21)", LineStyle::line_points, 0},
                      {"distance_gram_bound", "Davis-Kahan bound", LineStyle::dashed, 0},
                      {"distance_cross", "cross-Gram matrix (3.22)", LineStyle::line_points, 1},
                      {"distance_cross_bound", "Wedin bound", LineStyle::dashed, 1},
                      {"inverse_d", "1/d", LineStyle::dotted, 7}};
  if (activation != "relu") return {{values, alignment}};
  return {{values, errors, alignment}};
}

void add_cross_series(const FeatureRun& run, Result& result) {
  const std::string prefix = run.largest().prefix();
  for (const std::string name : {"cross_singular_values", "cross_bulk_singular_values"}) {
    result.series.push_back(series_over_trials(name, "index", arrays_of(run.records, prefix + name), 1.0));
  }
  const auto real = [](std::uint64_t x) { return static_cast<double>(x); };
  add_formula(
      run, "error_order", [&](const TrialRecord&, const FeatureSize& s) { return std::sqrt(real(s.k)) / real(s.d); }, result);
  add_formula(
      run, "inverse_d", [&](const TrialRecord&, const FeatureSize& s) { return 1.0 / real(s.d); }, result);
}

}  // namespace

Result features_result(const FeaturesConfig& config, const Records& records) {
  const FeatureRun run(config, records);
  Result result;
  add_sizes(run, result);
  if (config.model == LabelModel::realizable) {
    result.title = "Spike and bulk of " + config.activation + " features";
    add_phi(run, result);
    add_bounds(run, result);
    for (const auto& claims : {phi_claims(run), gram_claims(run), incoherence_claims(run)}) {
      result.claims.insert(result.claims.end(), claims.begin(), claims.end());
    }
    result.figure = gram_figure(config.activation);
  } else {
    result.title = "Cross-Gram matrix of two maps of " + config.activation + " features";
    add_cross_series(run, result);
    result.claims = cross_gram_claims(run);
    result.figure = cross_figure(config.activation, run.largest().k);
  }
  if (!run.no_rates.empty()) result.notes.push_back("No exponents in d: " + run.no_rates + ".");
  return result;
}

}  // namespace ranklab
