#include "experiments/spike_plus_bulk/features/trial.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ranklab {
namespace {

using std::numbers::pi;

// 2 pi Cov(sigma(g), sigma(t g + sqrt(1 - t^2) h)) and its standard error, from the same g and h at every t.
void measure_phi(const FeaturesConfig& config, const Activation& activation, const Trial& trial, TrialRecord& record) {
  arma::vec g(config.phi_samples), h(config.phi_samples);
  trial.stream("phi.g").fill_normal({g.memptr(), g.n_elem});
  trial.stream("phi.h").fill_normal({h.memptr(), h.n_elem});
  arma::vec a = g;
  apply(activation, a);
  a -= arma::mean(a);
  const double n = static_cast<double>(config.phi_samples);
  std::vector<double> estimates, errors;
  for (const double t : phi_grid(config)) {
    trial.check_interrupt();
    arma::vec b = t * g + std::sqrt((1.0 - t) * (1.0 + t)) * h;
    apply(activation, b);
    const arma::vec product = a % (b - arma::mean(b));
    estimates.push_back(2.0 * pi * arma::accu(product) / (n - 1.0));
    errors.push_back(2.0 * pi * arma::stddev(product) / std::sqrt(n));
  }
  record.set("phi_monte_carlo", estimates);
  record.set("phi_standard_error", errors);
}

}  // namespace

const std::vector<const char*>& feature_metrics(LabelModel model) {
  static const std::vector<const char*> gram = {"spike",
                                                "bulk_max",
                                                "bulk_min",
                                                "spike_formula",
                                                "mean_ratio",
                                                "mean_coefficient",
                                                "spike_coefficient",
                                                "mean_error",
                                                "mean_shift",
                                                "mean_squared_norm",
                                                "squared_norm_deviation",
                                                "row_cosine",
                                                "frobenius_deviation",
                                                "norm_excess",
                                                "sigma_squared_error",
                                                "sigma_error",
                                                "sigma_entry_error",
                                                "sigma_norm",
                                                "sigma_min",
                                                "sample_bulk_min",
                                                "sample_bulk_max",
                                                "interlacing_violations",
                                                "condition",
                                                "sigma_minus_linear_min",
                                                "linear_norm",
                                                "remainder_norm",
                                                "remainder_as_printed",
                                                "remainder_corrected",
                                                "remainder_rounding",
                                                "hadamard_norm",
                                                "largest_squared_norm"};
  static const std::vector<const char*> cross = {"cross_spike",
                                                 "cross_bulk_max",
                                                 "mean_coefficient",
                                                 "teacher_mean_coefficient",
                                                 "mean_order",
                                                 "definition_as_printed",
                                                 "definition_corrected",
                                                 "coefficient_linear",
                                                 "coefficient_ones",
                                                 "cross_squared_error",
                                                 "error_as_printed",
                                                 "error_corrected",
                                                 "rank_one_as_printed",
                                                 "rank_one_corrected",
                                                 "spike_right_norm",
                                                 "spike_left_norm",
                                                 "gram_bulk_min",
                                                 "gram_bulk_max",
                                                 "sigma_1",
                                                 "sigma_d",
                                                 "sigma_d_plus_1",
                                                 "linear_sigma_1",
                                                 "linear_sigma_d",
                                                 "ratio",
                                                 "nuclear_rank_1",
                                                 "distance_gram",
                                                 "distance_cross",
                                                 "alignment_defect",
                                                 "distance_gram_bound",
                                                 "distance_cross_bound"};
  return model == LabelModel::realizable ? gram : cross;
}

arma::mat draw_weights(const Trial& trial, const FeatureSize& size, const char* name, std::uint64_t columns) {
  arma::mat M(size.k, columns);
  trial.stream(size.stream(name)).fill_normal({M.memptr(), M.n_elem}, 1.0 / std::sqrt(static_cast<double>(size.d)));
  return M;
}

double rank_two_norm(const arma::vec& a, const arma::vec& b, const arma::vec& c, const arma::vec& d) {
  // The squared singular values of P Q', P = [a c], Q = [b -d], are the eigenvalues of (P'P)(Q'Q).
  const double p11 = arma::dot(a, a), p12 = arma::dot(a, c), p22 = arma::dot(c, c);
  const double q11 = arma::dot(b, b), q12 = -arma::dot(b, d), q22 = arma::dot(d, d);
  const double trace = p11 * q11 + 2.0 * p12 * q12 + p22 * q22;
  const double determinant = (p11 * p22 - p12 * p12) * (q11 * q22 - q12 * q12);
  return std::sqrt(std::max(0.0, trace + std::sqrt(std::max(0.0, trace * trace - 4.0 * determinant))) / 2.0);
}

TrialRecord features_trial(const FeaturesConfig& config, bool single_precision, Trial& trial) {
  const Activation& activation = find_activation(config.activation);
  const bool teacher = config.model == LabelModel::teacher;
  const std::vector<FeatureSize> sizes = feature_sizes(config);
  std::vector<TrialRecord> parts(sizes.size());
  trial.for_each_part(sizes.size(), [&](std::size_t i) {
    const FeatureSize& size = sizes[i];
    const arma::mat V = draw_weights(trial, size, "V", size.d);
    const arma::mat V_bar = teacher ? draw_weights(trial, size, "V-bar", size.d) : arma::mat();
    const FeatureSamples samples = sample_features(trial, size, activation, V, V_bar, single_precision);
    trial.check_interrupt();
    if (teacher) {
      measure_cross_gram(size, activation, config.offset, V, V_bar, samples, trial, parts[i]);
    } else {
      measure_gram(size, activation, config.offset, V, samples, trial, parts[i]);
    }
  });

  TrialRecord record;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (const auto& [name, values] : parts[i].arrays()) record.set(sizes[i].prefix() + name, values);
  }
  if (!teacher) measure_phi(config, activation, trial, record);
  return record;
}

Estimate features_estimate(const FeaturesConfig& config) {
  const bool teacher = config.model == LabelModel::teacher;
  const auto real = [](std::uint64_t x) { return static_cast<double>(x); };
  Estimate cost;
  double largest = 0.0;
  for (const FeatureSize& size : feature_sizes(config)) {
    const double k = real(size.k), d = real(size.d), n = real(size.n), columns = std::min(n, 1024.0);
    const double maps = teacher ? 2.0 : 1.0;
    // Features and their products; then 7 spectra of symmetric matrices at 4/3 k^3, or those of the teacher with vectors.
    cost.flops += maps * 2.0 * k * d * n + (teacher ? 3.0 : 1.0) * k * k * n + (teacher ? 40.0 : 16.0) * k * k * k;
    if (!teacher) cost.flops += 40.0 * k * k;
    // Sums of two halves, temporaries of the same size, one block of features.
    largest = std::max(largest, (teacher ? 16.0 : 10.0) * k * k + 3.0 * maps * k * d + 3.0 * (maps * k + d) * columns);
  }
  if (!teacher) {
    cost.flops += real(config.phi_points) * real(config.phi_samples) * 30.0;
    largest = std::max(largest, 8.0 * real(config.phi_samples));
  }
  cost.bytes = 8.0 * largest;
  return cost;
}

}  // namespace ranklab
