// The study features: what is shown; flags, memory, work.
#include <algorithm>
#include <numbers>

#include "ensembles/feature_moments.hpp"
#include "experiments/spike_plus_bulk/commands.hpp"
#include "experiments/spike_plus_bulk/features/features.hpp"

namespace ranklab::features {
namespace {

// Series that are derived from the numbers of a trial. The differences are from the formula of phi.
constexpr char error_order[] = "error_order", inverse_d[] = "inverse_d",
               linear_limit_above[] = "linear_limit_above",
               linear_limit_below[] = "linear_limit_below", ratio_squared[] = "ratio_squared",
               wide_order[] = "wide_order", lower_bound[] = "eq_3_4_lower",
               upper_bound[] = "eq_3_4_upper", remainder_order[] = "remainder_order",
               mean_relative_error[] = "mean_relative_error",
               spike_as_printed[] = "spike_as_printed";
constexpr char phi[] = "phi", from_formula[] = "_difference", sampled_points[] = "_points";

std::string phi_taylor(std::size_t degree) {
  return say("phi_taylor_{}", degree);
}

std::string of_error(const char* time, double error) {
  return say("{}_{}", time, error);
}

// Every number at every size as a scalar, and as a series over k, in this order.
void add_sizes(ResultBuilder& out, const FeatureClaims& over_d) {
  const std::vector<double> k = of_each(over_d.sizes, &Size::k);
  const auto add = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      for (const Size& size : over_d.sizes) out.scalar(size.place() / name);
      out.series(name, "k", k, over_d.at_sizes(name));
    }
  };
  if (over_d.config.teacher()) {
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
void add_phi(ResultBuilder& out, const Config& c) {
  const Activation& activation = find_activation(c.activation);
  const std::vector<double> t = c.phi_at();
  const std::vector<double> derivatives = feature_phi_derivatives(activation, 6);
  for (std::size_t m = 0; m < derivatives.size(); ++m) {
    out.scalar(say("phi_derivative_{}", m),
               std::vector<double>(out.records().size(), derivatives[m]));
  }
  std::vector<double> exact;
  for (const double at : t) exact.push_back(feature_phi(activation, at));
  out.series(phi, "t", t, [&](const TrialRecord&, std::size_t i) { return exact[i]; });
  for (const std::size_t degree : {1u, 2u, 4u}) {
    const std::string name = phi_taylor(degree);
    const std::vector<double> kept(derivatives.begin(),
                                   derivatives.begin() + static_cast<std::ptrdiff_t>(degree) + 1);
    out.series(name, "t", t,
               [&](const TrialRecord&, std::size_t i) { return taylor_polynomial(kept, t[i]); });
    out.series(name + from_formula, "t", t, [&](const TrialRecord&, std::size_t i) {
      return taylor_polynomial(kept, t[i]) - exact[i];
    });
  }
  out.series(phi_monte_carlo, "t", t);
  const std::string sampled = phi_monte_carlo;
  out.series(sampled + from_formula, "t", t, [&](const TrialRecord& record, std::size_t i) {
    return record.array(phi_monte_carlo).at(i) - exact[i];
  });
  const std::size_t every = std::max<std::size_t>((t.size() - 1) / (shown_pairs - 1), 1);
  std::vector<double> shown;
  for (std::size_t i = 0; i < t.size(); i += every) shown.push_back(t[i]);
  out.series(sampled + sampled_points, "t", shown, [&](const TrialRecord& record, std::size_t i) {
    return record.array(phi_monte_carlo).at(i * every);
  });
}

void add_bounds(ResultBuilder& out, const FeatureClaims& over_d) {
  const std::vector<double> k = of_each(over_d.sizes, &Size::k);
  const auto add = [&](const char* name, const Metric& metric) {
    out.series(name, "k", k, over_d.at_sizes(metric));
  };
  add(lower_bound, eq_3_4_lower);
  add(upper_bound, eq_3_4_upper);
  add(remainder_order, over_d.of_order(k_log_k_over_d_squared));
  add(mean_relative_error,
      [](const AtSize& at) { return at(mean_shift) / std::sqrt(at(mean_squared_norm)); });
  // ||mu||^2 is ||V||_F^2/(2 pi) for relu; the paper prints ||V||_F^2/(4 pi^2).
  if (!over_d.config.relu()) return;
  add(spike_as_printed,
      [](const AtSize& at) { return at(spike_formula) / (2.0 * std::numbers::pi); });
}

// The verdicts are about means over the trials, so every band is a confidence interval of the mean.
CurveLook look(LineStyle style, int color) {
  return {.style = style, .color = color, .band = BandKind::interval};
}

constexpr char number_of_features[] = "number of features k";

void add_phi_panels(ResultBuilder& out) {
  const Axis t{"t, cosine between two rows of V"};
  const std::string sampled = phi_monte_carlo, label = "sampled pairs of features";
  out.panel("phi(t): 2 pi times the covariance of two features", t, {"phi(t)"})
      .curve(phi, "formula", look(LineStyle::line, 0))
      .curve(sampled + sampled_points, label, look(LineStyle::points, 1));
  out.panel("Differences from the formula", t, {"difference from phi(t)"})
      .curve(phi_taylor(2) + from_formula, "Taylor polynomial, degree 2",
             look(LineStyle::dashed, 2))
      .curve(phi_taylor(4) + from_formula, "Taylor polynomial, degree 4",
             look(LineStyle::dotted, 3))
      .curve(sampled + from_formula, label, look(LineStyle::line, 1));
}

void add_spectrum_panels(ResultBuilder& out, const Config& c) {
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

void add_error_panels(ResultBuilder& out, const Config& c) {
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

void add_gram_figures(ResultBuilder& out, const Config& c) {
  add_phi_panels(out);
  add_spectrum_panels(out, c);
  out.next_figure("Errors of the sampled moments and of the expansion (3.6)");
  add_error_panels(out, c);
}

// The steps to each error over d, one series per error: "relative_time_teacher_0.1".
void add_times(ResultBuilder& out, const FeatureClaims& over_d) {
  const auto add = [&](const char* name, const std::array<double, 3>& errors) {
    for (std::size_t j = 0; j < errors.size(); ++j) {
      out.series({of_error(name, errors[j]), name, At("error", errors[j])}, "d", over_d.x,
                 over_d.at_sizes([name, j](const AtSize& at) {
                   return at.record.array(at.place / name).at(j) / at.x;
                 }));
    }
  };
  for (const char* name : relative_time) add(name, relative_errors);
  for (const char* name : absolute_time) add(name, absolute_errors);
}

void add_cross_series(ResultBuilder& out, const FeatureClaims& over_d) {
  const std::vector<double> k = of_each(over_d.sizes, &Size::k);
  for (const char* name : {cross_singular_values, cross_bulk_singular_values}) {
    out.series(series_over_trials(name, "index",
                                  arrays_of(out.records(), over_d.places.back() / name), 1.0));
  }
  const auto add = [&](const char* name, const Metric& metric) {
    out.series(name, "k", k, over_d.at_sizes(metric));
  };
  add(error_order, [&](const AtSize& at) { return std::sqrt(k[at.i]) / at.x; });
  add(inverse_d, [](const AtSize& at) { return 1.0 / at.x; });
  // s_1 and s_d of V-bar V' are at most and at least (sqrt(k/d) +- 1)^2 in the limit.
  add(linear_limit_above,
      [&](const AtSize& at) { return std::pow(std::sqrt(k[at.i] / at.x) + 1.0, 2); });
  add(linear_limit_below,
      [&](const AtSize& at) { return std::pow(std::sqrt(k[at.i] / at.x) - 1.0, 2); });
  add(ratio_squared, [](const AtSize& at) { return std::pow(at(norm_ratio), 2); });
  const FeatureClaims wide = over_wide_sizes(over_d.config, out.records(), out.claims());
  for (const char* name : {wide_ones, wide_norms}) {
    for (const Size& size : wide.sizes) out.scalar(size.wide_place() / name);
    out.series(name, "d", wide.x, wide.at_sizes(name));
  }
  out.series(wide_order, "d", wide.x, wide.at_sizes(wide.of_order(root_k_over_d)));
  add_times(out, over_d);
}

constexpr LineStyle measured = LineStyle::line_points, formula = LineStyle::dashed;

void add_cross_figure(ResultBuilder& out, const Config& c) {
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

void add_proof_figure(ResultBuilder& out, const Config& c) {
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
  const auto add_times = [&](const std::string& title, const std::array<const char*, 2>& names,
                             const std::array<double, 3>& errors, const std::string& symbol) {
    PanelBuilder panel = out.panel(title, d, log_axis("steps / d"));
    for (std::size_t j = 0; j < errors.size(); ++j) {
      const int color = static_cast<int>(j);
      panel
          .curve(of_error(names[0], errors[j]), say("{} = {}", symbol, errors[j]),
                 look(measured, color))
          .curve(of_error(names[1], errors[j]), "", look(formula, color));
    }
  };
  add_times("Steps to a relative error (dashed: teacher)", relative_time, relative_errors, "delta");
  add_times("Steps to an absolute error (dashed: teacher)", absolute_time, absolute_errors, "eps");
}

}  // namespace

Result report(const Config& c, const Records& records) {
  ResultBuilder out(c.teacher() ? say("Cross-Gram matrix of two maps of {} features", c.activation)
                                : say("Spike and bulk of {} features", c.activation),
                    records);
  const FeatureClaims over_d = over_sizes(c, records, out.claims());
  add_sizes(out, over_d);
  judge(over_d);
  if (c.teacher()) {
    add_cross_series(out, over_d);
    add_cross_figure(out, c);
    add_proof_figure(out, c);
  } else {
    add_phi(out, c);
    add_bounds(out, over_d);
    add_gram_figures(out, c);
  }
  if (!over_d.no_exponents.empty())
    out.note(say("No exponents of d are judged: {}.", over_d.no_exponents));
  return out.take();
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

namespace {

Work work(const Config& config) {
  return each_trial([config](Trial& trial) { return run_trial(config, trial); });
}

}  // namespace

}  // namespace ranklab::features

namespace ranklab {

std::unique_ptr<Study> make_features_study(LabelModel model) {
  return study_of<features::Config>(features::work, features::report, {model});
}

}  // namespace ranklab
