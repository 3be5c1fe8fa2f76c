// The study features: what is shown; flags, memory, work.
#include <algorithm>
#include <numbers>

#include "ensembles/feature_moments.hpp"
#include "experiments/spike_plus_bulk/commands.hpp"
#include "experiments/spike_plus_bulk/features/features.hpp"

namespace ranklab::features {
namespace {

// Series that are derived from the numbers of a trial.
constexpr Measure
    error_order = {"error_order", "sqrt(k)/d", "order of the error in Theorem 3.7"},
    inverse_d = {"inverse_d", "1/d", "order of the distances in (3.21) and (3.22)"},
    linear_limit_above = {"linear_limit_above", "(sqrt(k/d) + 1)^2", "limit of s_1(V-bar V')"},
    linear_limit_below = {"linear_limit_below", "(sqrt(k/d) - 1)^2", "limit of s_d(V-bar V')"},
    ratio_squared = {"ratio_squared", "||M-bar||_*^2 / ||W-bar||_F^2", "the square of (3.19)"},
    wide_order = {"wide_order", "sqrt(k)/d", "order of the error in Theorem 3.7, k = d^(7/4)"},
    lower_bound = {"eq_3_4_lower", "", "lower bound (3.4) on Sigma, without its O term"},
    upper_bound = {"eq_3_4_upper", "", "upper bound (3.4) on Sigma, without its O term"},
    remainder_order = {"remainder_order", "k log(k)^2/d^2", "order of the remainder in (3.6)"},
    mean_relative_error = {"mean_relative_error", "||mu-bar - mu|| / ||mu-bar||",
                           "relative error of the sample mean of the features"},
    spike_as_printed = {"spike_as_printed", "||V||_F^2/(4 pi^2)",
                        "squared norm of the mean feature, as printed"};
// phi and its derivatives at 0; differences are from the formula of phi.
constexpr char derivative_of_phi[] = "derivative of phi at 0, by its formula",
               by_taylor[] = "Taylor polynomial of phi at 0",
               minus_phi[] = "Taylor polynomial of phi at 0, minus phi";
constexpr Measure phi = {"phi", "phi(t)", "2 pi times the covariance of two features, by formula"},
                  phi_derivatives[] = {{"phi_derivative_0", "phi(0)", derivative_of_phi},
                                       {"phi_derivative_1", "phi'(0)", derivative_of_phi},
                                       {"phi_derivative_2", "phi''(0)", derivative_of_phi},
                                       {"phi_derivative_3", "phi^(3)(0)", derivative_of_phi},
                                       {"phi_derivative_4", "phi^(4)(0)", derivative_of_phi},
                                       {"phi_derivative_5", "phi^(5)(0)", derivative_of_phi},
                                       {"phi_derivative_6", "phi^(6)(0)", derivative_of_phi}},
                  sampled_difference = {"phi_monte_carlo_difference", "", "sampled phi minus phi"},
                  sampled_points = {"phi_monte_carlo_points", "phi(t)",
                                    "sampled phi at the points that the figure shows"};
struct Taylor {
  std::size_t degree;
  Measure polynomial, difference;
};
constexpr Taylor
    taylor_1 = {1, {"phi_taylor_1", "", by_taylor}, {"phi_taylor_1_difference", "", minus_phi}},
    taylor_2 = {2, {"phi_taylor_2", "", by_taylor}, {"phi_taylor_2_difference", "", minus_phi}},
    taylor_4 = {4, {"phi_taylor_4", "", by_taylor}, {"phi_taylor_4_difference", "", minus_phi}};

// The steps to an error over d: "relative_time_teacher_0.1".
Quantity to_error(const Measure& time, double error) {
  return {say("{}_{}", time.name, error), time, At("error", error)};
}

// Every number at every size as a scalar, and as a series over k, in this order.
void add_sizes(const Config& c, Numbers& out) {
  const Sizes sizes = sizes_over_d(c.sizes(), &Size::place);
  const std::vector<double> k = of_each(c.sizes(), &Size::k);
  const auto add = [&](std::initializer_list<Measure> measures) {
    for (const Measure& each : measures) {
      for (const At& place : sizes.places) out.scalar(place / each);
      out.series(each, "k", k, sizes.at_sizes(each));
    }
  };
  if (c.teacher()) {
    add({cross_spike, cross_bulk_max, mean_coefficient, teacher_mean_coefficient});
    add({mean_order, definition_as_printed, definition_corrected});
    add({coefficient_linear, coefficient_ones, cross_squared_error, error_as_printed,
         error_corrected});
    add({rank_one_as_printed, rank_one_corrected, spike_right_norm, spike_left_norm, gram_bulk_min,
         gram_bulk_max});
    add({sigma_1, sigma_d, sigma_d_plus_1, linear_sigma_1, linear_sigma_d, norm_ratio,
         nuclear_rank_1});
    add({distance_gram, distance_cross, alignment_defect, distance_gram_bound,
         distance_cross_bound});
    add({cross_cosine, fourth_derivative, taylor_remainder, square_mean, square_error, row_trace,
         row_sum, norm_defect, fourth_powers, largest_squared_norm});
    add({spike, bulk_max, bulk_min, mean_shift, teacher_mean_shift, cross_sigma_error, factor_bound,
         population_as_printed, population_corrected, tail_as_printed, tail_corrected,
         cross_interlacing, cross_sigma_r, cross_sigma_d});
    add({block_row, block_column, angle_error, step_factor, corner, corner_row, corner_error, D_max,
         D_min, Q_max, Q_min, blocked_min, rank_quotient, H_nuclear, H_frobenius, M_nuclear,
         W_frobenius, W_norm});
    add({stable_rank_A, hessian_ratio[0], hessian_ratio[1], gradient_rank[0], gradient_rank[1],
         polar_gain[0], polar_gain[1], decay});
  } else {
    add({spike, bulk_max, bulk_min, spike_formula});
    add({mean_ratio, mean_coefficient, spike_coefficient, mean_error, mean_shift,
         mean_squared_norm});
    add({squared_norm_deviation, row_cosine, frobenius_deviation, norm_excess});
    add({sigma_squared_error, sigma_error, sigma_entry_error, sigma_norm, sigma_min,
         sample_bulk_min, sample_bulk_max});
    add({interlacing_violations, condition, sigma_minus_linear_min, linear_norm});
    add({remainder_norm, remainder_as_printed, remainder_corrected, remainder_rounding,
         hadamard_norm, largest_squared_norm});
  }
}

// Points of the curve of phi at which the figure shows the sampled pairs; more would hide it.
constexpr std::size_t shown_pairs = 11;

// The formula, its Taylor polynomials at 0, the sampled pairs, and differences from the formula.
void add_phi(const Config& c, Numbers& out) {
  const Activation& activation = find_activation(c.activation);
  const std::vector<double> t = c.phi_at();
  const std::vector<double> derivatives =
      feature_phi_derivatives(activation, std::size(phi_derivatives) - 1);
  for (std::size_t m = 0; m < derivatives.size(); ++m) {
    out.scalar(phi_derivatives[m], std::vector<double>(out.records().size(), derivatives[m]));
  }
  std::vector<double> exact;
  for (const double at : t) exact.push_back(feature_phi(activation, at));
  out.series(phi, "t", t, [&](const TrialRecord&, std::size_t i) { return exact[i]; });
  for (const auto& [degree, polynomial, difference] : {taylor_1, taylor_2, taylor_4}) {
    const std::vector<double> kept(derivatives.begin(),
                                   derivatives.begin() + static_cast<std::ptrdiff_t>(degree) + 1);
    out.series(polynomial, "t", t,
               [&](const TrialRecord&, std::size_t i) { return taylor_polynomial(kept, t[i]); });
    out.series(difference, "t", t, [&](const TrialRecord&, std::size_t i) {
      return taylor_polynomial(kept, t[i]) - exact[i];
    });
  }
  out.series(phi_monte_carlo, "t", t);
  out.series(sampled_difference, "t", t, [&](const TrialRecord& record, std::size_t i) {
    return record.array(phi_monte_carlo).at(i) - exact[i];
  });
  const std::size_t every = std::max<std::size_t>((t.size() - 1) / (shown_pairs - 1), 1);
  std::vector<double> shown;
  for (std::size_t i = 0; i < t.size(); i += every) shown.push_back(t[i]);
  out.series(sampled_points, "t", shown, [&](const TrialRecord& record, std::size_t i) {
    return record.array(phi_monte_carlo).at(i * every);
  });
}

void add_bounds(const Config& c, Numbers& out) {
  const Sizes sizes = sizes_over_d(c.sizes(), &Size::place);
  const std::vector<double> k = of_each(c.sizes(), &Size::k);
  const auto add = [&](const Measure& measure, const Metric& metric) {
    out.series(measure, "k", k, sizes.at_sizes(metric));
  };
  add(lower_bound, eq_3_4_lower);
  add(upper_bound, eq_3_4_upper);
  add(remainder_order, of_order(c.sizes(), k_log_k_over_d_squared));
  add(mean_relative_error,
      [](const AtSize& at) { return at(mean_shift) / std::sqrt(at(mean_squared_norm)); });
  // ||mu||^2 is ||V||_F^2/(2 pi) for relu; the paper prints ||V||_F^2/(4 pi^2).
  if (!c.relu()) return;
  add(spike_as_printed,
      [](const AtSize& at) { return at(spike_formula) / (2.0 * std::numbers::pi); });
}

// The verdicts are about means over the trials, so every band is a confidence interval of the mean.
CurveLook look(LineStyle style, int color) {
  return {.style = style, .color = color, .band = BandKind::interval};
}

constexpr char number_of_features[] = "number of features k";

void add_phi_panels(Display& out) {
  const Axis t{"t, cosine between two rows of V"};
  const std::string label = "sampled pairs of features";
  out.panel("phi(t): 2 pi times the covariance of two features", t, {"phi(t)"})
      .curve(phi, "formula", look(LineStyle::line, 0))
      .curve(sampled_points, label, look(LineStyle::points, 1));
  out.panel("Differences from the formula", t, {"difference from phi(t)"})
      .curve(taylor_2.difference, "Taylor polynomial, degree 2", look(LineStyle::dashed, 2))
      .curve(taylor_4.difference, "Taylor polynomial, degree 4", look(LineStyle::dotted, 3))
      .curve(sampled_difference, label, look(LineStyle::line, 1));
}

void add_spectrum_panels(const Config& c, Display& out) {
  const Axis k = log_axis(number_of_features), eigenvalue = log_axis("eigenvalue");
  out.panel("Spike: the largest eigenvalue of A A'/n", k, eigenvalue)
      .curve(spike, "measured", look(LineStyle::points, 0))
      .curve(spike_formula,
             c.relu() ? "prediction ||mu||^2 = ||V||_F^2/(2 pi)" : "prediction ||mu||^2",
             look(LineStyle::line, 1))
      .curve_if_measured(spike_as_printed, "as printed, ||V||_F^2/(4 pi^2)",
                         look(LineStyle::dashed, 6));
  PanelBuilder bulk =
      out.panel("Bulk: the other eigenvalues of A A'/n", k, eigenvalue)
          .curve(bulk_max, "second largest eigenvalue", look(LineStyle::line_points, 2))
          .curve(bulk_min, "smallest eigenvalue", look(LineStyle::line_points, 3))
          .curve(sigma_norm, "largest eigenvalue of the covariance Sigma",
                 look(LineStyle::dotted, 2))
          .curve(sigma_min, "smallest eigenvalue of Sigma", look(LineStyle::dotted, 3));
  if (!c.relu()) return;
  bulk.curve(upper_bound, "bounds (3.4) on Sigma", look(LineStyle::dashed, 6))
      .curve(lower_bound, "", look(LineStyle::dashed, 6));
}

void add_error_panels(const Config& c, Display& out) {
  const Axis k = log_axis(number_of_features);
  const std::string n = c.n == 0 ? "2k" : word(c.n);
  out.panel(say("Sampled mean and covariance, n = {} samples", n), k, log_axis("relative error"))
      .curve(mean_relative_error, "mean vector (Euclidean norm)", look(LineStyle::line_points, 0))
      .curve(sigma_error, "covariance Sigma (operator norm)", look(LineStyle::line_points, 1));
  out.panel(say("Entries of the sampled covariance, n = {} samples", n), k,
            log_axis("largest error of an entry"))
      .curve(sigma_entry_error, "covariance Sigma (largest entry)",
             look(LineStyle::line_points, 1));
  if (!c.relu()) return;
  out.panel("Expansion (3.6) of Sigma", k, log_axis("operator norm of the remainder"))
      .curve(remainder_norm, "measured", look(LineStyle::line_points, 1))
      .curve(remainder_order, "order in the theorem, k log(k)^2/d^2", look(LineStyle::dashed, 6));
}

void add_gram_figures(const Config& c, Display& out) {
  add_phi_panels(out);
  add_spectrum_panels(c, out);
  out.next_figure("Errors of the sampled moments and of the expansion (3.6)");
  add_error_panels(c, out);
}

// The steps to each error over d, one series per error.
void add_times(const Sizes& sizes, Numbers& out) {
  const auto add = [&](const Measure& time, const std::array<double, 3>& errors) {
    for (std::size_t j = 0; j < errors.size(); ++j) {
      out.series(to_error(time, errors[j]), "d", sizes.x,
                 sizes.at_sizes([time, j](const AtSize& at) {
                   return at.record.array(at.place / time).at(j) / at.x;
                 }));
    }
  };
  for (const Measure& time : relative_time) add(time, relative_errors);
  for (const Measure& time : absolute_time) add(time, absolute_errors);
}

void add_cross_series(const Config& c, Numbers& out) {
  const Sizes sizes = sizes_over_d(c.sizes(), &Size::place);
  const std::vector<double> k = of_each(c.sizes(), &Size::k);
  std::vector<double> indices;
  for (double i = 1; i <= k.back(); ++i) indices.push_back(i);
  for (const Measure& each : {cross_singular_values, cross_bulk_singular_values}) {
    out.series(each, "index", indices,
               [of = sizes.places.back() / each](const TrialRecord& record, std::size_t i) {
                 return record.array(of).at(i);
               });
  }
  const auto add = [&](const Measure& measure, const Metric& metric) {
    out.series(measure, "k", k, sizes.at_sizes(metric));
  };
  add(error_order, [&](const AtSize& at) { return std::sqrt(k[at.i]) / at.x; });
  add(inverse_d, [](const AtSize& at) { return 1.0 / at.x; });
  // s_1 and s_d of V-bar V' are at most and at least (sqrt(k/d) +- 1)^2 in the limit.
  add(linear_limit_above,
      [&](const AtSize& at) { return std::pow(std::sqrt(k[at.i] / at.x) + 1.0, 2); });
  add(linear_limit_below,
      [&](const AtSize& at) { return std::pow(std::sqrt(k[at.i] / at.x) - 1.0, 2); });
  add(ratio_squared, [](const AtSize& at) { return std::pow(at(norm_ratio), 2); });
  const Sizes wide = sizes_over_d(c.wide(), &Size::wide_place);
  for (const Measure& each : {wide_ones, wide_norms}) {
    for (const At& place : wide.places) out.scalar(place / each);
    out.series(each, "d", wide.x, wide.at_sizes(each));
  }
  out.series(wide_order, "d", wide.x, wide.at_sizes(of_order(c.wide(), root_k_over_d)));
  add_times(sizes, out);
}

constexpr LineStyle measured = LineStyle::line_points, formula = LineStyle::dashed;

void add_cross_figure(const Config& c, Display& out) {
  const Axis k = log_axis(number_of_features);
  out.panel(say("Singular values, k = {}", c.sizes().back().k),
            log_axis("index of the singular value"), log_axis("singular value"))
      .curve(cross_singular_values, "cross-Gram matrix", look(LineStyle::line, 0))
      .curve(cross_bulk_singular_values, "its bulk", look(formula, 1));
  if (c.relu()) {
    out.panel("Theorem 3.7: error of the expansion", k, log_axis("operator norm of the error"))
        .curve(error_as_printed, "as printed", look(measured, 0))
        .curve(error_corrected, "with 1/4 and 1/(4 pi)", look(measured, 1))
        .curve(error_order, "sqrt(k)/d", look(formula, 6));
    out.panel("(3.17): nonzero singular values of V-bar V'", k, log_axis("singular value"))
        .curve(linear_sigma_1, "largest", look(measured, 0))
        .curve(linear_limit_above, "(sqrt(k/d) + 1)^2", look(formula, 0))
        .curve(linear_sigma_d, "smallest", look(measured, 1))
        .curve(linear_limit_below, "(sqrt(k/d) - 1)^2", look(formula, 1));
  }
  out.panel("(3.19), (3.20): the gradient after one step", k, log_axis("nuclear rank"))
      .curve(nuclear_rank_1, "nr at W_1", look(measured, 0))
      .curve(ratio_squared, "(3.19), squared", look(measured, 1))
      .curve(norm_ratio, "(3.19) as printed", look(formula, 6))
      .curve(gradient_rank[0], "nr at W_0", look(measured, 2));
  out.panel("(3.21), (3.22): distance from the spike", k, log_axis("distance of unit vectors"))
      .curve(distance_gram, "Gram matrix (3.21)", look(measured, 0))
      .curve(distance_gram_bound, "Davis-Kahan bound", look(formula, 0))
      .curve(distance_cross, "cross-Gram matrix (3.22)", look(measured, 1))
      .curve(distance_cross_bound, "Wedin bound", look(formula, 1))
      .curve(inverse_d, "1/d", look(LineStyle::dotted, 6));
  out.panel("(1.9): both sides at the first iterates", k, log_axis("J/L and nuclear rank"))
      .curve(gradient_rank[1], "nr at W_1", look(measured, 0))
      .curve(gradient_rank[0], "nr at W_0", look(measured, 2))
      .curve(hessian_ratio[1], "J/L at W_1", look(measured, 1))
      .curve(stable_rank_A, "st(A)", look(formula, 6));
}

void add_proof_figure(const Config& c, Display& out) {
  if (!c.relu()) return;
  out.next_figure("Proofs of Section 3.2.1 and 3.2.3, and the time of gradient descent");
  const Axis k = log_axis(number_of_features), d = log_axis("input dimension d");
  out.panel("Theorem 3.7 with k = d^(7/4) features", d, log_axis("error"))
      .curve(wide_ones, "with 11'/(4 pi d), lower bound", look(measured, 0))
      .curve(wide_norms, "with nu mu'/(2d)", look(measured, 1))
      .curve(wide_order, "sqrt(k)/d", look(formula, 6));
  out.panel("Corollary 3.8 for infinitely many samples", k, log_axis("operator norm"))
      .curve(population_as_printed, "||E|| as printed", look(measured, 0))
      .curve(population_corrected, "||E|| corrected", look(measured, 1))
      .curve(tail_as_printed, "s_(d+1) as printed", look(formula, 0))
      .curve(tail_corrected, "s_(d+1) corrected", look(formula, 1));
  out.panel("Theorem 3.9: the matrix Q of the proof", k, log_axis("size"))
      .curve(Q_max, "s_1(Q)", look(measured, 0))
      .curve(Q_min, "s_k(Q)", look(measured, 1))
      .curve(block_row, "||r_0'L_0||", look(measured, 2))
      .curve(corner_error, "||E||", look(measured, 3));
  const auto add_times = [&](const std::string& title, const TwoMeasures& times,
                             const std::array<double, 3>& errors, const std::string& symbol) {
    PanelBuilder panel = out.panel(title, d, log_axis("steps / d"));
    for (std::size_t j = 0; j < errors.size(); ++j) {
      const int color = static_cast<int>(j);
      panel
          .curve(to_error(times[0], errors[j]), say("{} = {}", symbol, errors[j]),
                 look(measured, color))
          .curve(to_error(times[1], errors[j]), "", look(formula, color));
    }
  };
  add_times("Steps to a relative error (dashed: teacher)", relative_time, relative_errors, "delta");
  add_times("Steps to an absolute error (dashed: teacher)", absolute_time, absolute_errors, "eps");
}

}  // namespace

std::string Config::title() const {
  return teacher() ? say("Cross-Gram matrix of two maps of {} features", activation)
                   : say("Spike and bulk of {} features", activation);
}

void Config::derive(Numbers& out) const {
  add_sizes(*this, out);
  if (teacher()) return add_cross_series(*this, out);
  add_phi(*this, out);
  add_bounds(*this, out);
}

void Config::show(Display& out) const {
  if (teacher()) {
    add_cross_figure(*this, out);
    add_proof_figure(*this, out);
  } else {
    add_gram_figures(*this, out);
  }
  const std::string unmet = why_no_rates();
  if (!unmet.empty()) out.note(say("No exponents of d are judged: {}.", unmet));
}

// Flags, memory, work -----------------------------------------------------------------------------

std::vector<Field> Config::flags() {
  constexpr std::uint64_t largest_wide_d = 512;  // 55,000 features
  std::vector<std::string> pointwise;
  for (const std::string& name : activation_names()) {
    if (!find_activation(name).gated) pointwise.push_back(name);
  }
  std::vector<Field> fields = {
      size_list_field("k", k, 2, largest_size, "k",
                      "numbers of features, with one row of results each"),
      size_field("d", d, 0, largest_size, "d", "input dimension; 0: k/2 for each k"),
      size_field("n", n, 0, 100'000'000, "n", "samples, at least 4; 0: 2k for each k"),
      choice_field("activation", activation, pointwise, "sigma", "activation of the features"),
      excluding_low(real_field("eta-offset", offset, 0.0, 1e6, "c",
                               "constant of the step 1/(c + ||B||) in Lemma 3.5 and Theorem 3.9")),
  };
  if (!teacher()) {
    fields.push_back(size_field("phi-points", phi_points, 3, 10001, "",
                                "number of points from -1 to 1 at which phi is shown"));
    fields.push_back(size_field("phi-samples", phi_samples, 100, 100'000'000, "",
                                "samples of the Monte Carlo estimate of phi"));
  } else {
    fields.push_back(size_list_field("wide-d", wide_d, 2, largest_wide_d, "d",
                                     "input dimensions at which Theorem 3.7 is measured with "
                                     "d^(7/4) features"));
  }
  return fields;
}

void Config::check() const {
  if (n != 0 && n < 4) throw UsageError(say("--n {} is not allowed: 0, or at least 4 samples", n));
}

Estimate Config::memory() const {
  const double maps = teacher() ? 2.0 : 1.0;
  double largest = 0.0, of_helper = 0.0, blocks = 0.0;
  for (const Size& size : sizes()) {
    const double features = real(size.k), dim = real(size.d), samples = real(size.n),
                 columns = std::min(samples, real(block_columns));
    // Sums of two halves, temporaries of the same size, one block of features.
    largest = std::max(largest, (teacher() ? 24.0 : 10.0) * features * features +
                                    3.0 * maps * features * dim +
                                    3.0 * (maps * features + dim) * columns);
    // A helper multiplies a block or computes a spectrum.
    of_helper =
        std::max(of_helper, 3.0 * features * features + 3.0 * (maps * features + dim) * columns);
    blocks = std::max(blocks, samples / columns);
  }
  if (!teacher()) {
    largest = std::max(largest, 8.0 * real(phi_samples));
  } else {
    for (const Size& size : wide()) {
      const double features = real(size.k), dim = real(size.d);
      largest = std::max(largest, 6.0 * features * features + 4.0 * features * dim);
    }
  }
  Estimate cost;
  cost.bytes = 8.0 * largest;
  cost.helper_bytes = 8.0 * of_helper;
  cost.helpers = static_cast<std::uint64_t>(std::max(blocks, 8.0));
  return cost;
}

Work Config::work() const {
  return each_trial([config = *this](Trial& trial) { return run_trial(config, trial); });
}

}  // namespace ranklab::features

namespace ranklab {

std::unique_ptr<Study> make_features_study(LabelModel model) {
  return std::make_unique<features::Config>(model);
}

}  // namespace ranklab
