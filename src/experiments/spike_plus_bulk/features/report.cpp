// The study features: scalars, series and figures from its trials' records.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "experiments/spike_plus_bulk/features/features.hpp"
#include "models/activations.hpp"
#include "models/feature_moments.hpp"
#include "report/builder.hpp"

namespace ranklab::features {
namespace {

// Every number at every size as a scalar, and as a series over k.
void add_sizes(ResultBuilder& out, const Plan& plan, const SizeClaims& over_d) {
  const auto add = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      for (const Size& size : plan.sizes) out.scalar(size.prefix() + name);
      out.series(name, "k", plan.k, over_d.at_sizes(name));
    }
  };
  if (plan.teacher()) {
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
void add_phi(ResultBuilder& out, const Plan& plan) {
  const Activation& activation = find_activation(plan.config.activation);
  const std::vector<double>& t = plan.phi_at;
  const std::vector<double> derivatives = feature_phi_derivatives(activation, 6);
  for (std::size_t m = 0; m < derivatives.size(); ++m) {
    out.scalar("phi_derivative_" + std::to_string(m),
               std::vector<double>(out.records().size(), derivatives[m]));
  }
  std::vector<double> phi;
  for (const double at : t) phi.push_back(feature_phi(activation, at));
  out.series("phi", "t", t, [&](const TrialRecord&, std::size_t i) { return phi[i]; });
  for (const std::size_t degree : {1u, 2u, 4u}) {
    const std::string name = "phi_taylor_" + std::to_string(degree);
    const std::vector<double> kept(derivatives.begin(),
                                   derivatives.begin() + static_cast<std::ptrdiff_t>(degree) + 1);
    out.series(name, "t", t,
               [&](const TrialRecord&, std::size_t i) { return taylor_polynomial(kept, t[i]); });
    out.series(name + "_difference", "t", t, [&](const TrialRecord&, std::size_t i) {
      return taylor_polynomial(kept, t[i]) - phi[i];
    });
  }
  out.series(phi_monte_carlo, "t", t);
  const std::string sampled = phi_monte_carlo;
  out.series(sampled + "_difference", "t", t, [&](const TrialRecord& record, std::size_t i) {
    return record.array(phi_monte_carlo).at(i) - phi[i];
  });
  const std::size_t every = std::max<std::size_t>((t.size() - 1) / (shown_pairs - 1), 1);
  std::vector<double> shown;
  for (std::size_t i = 0; i < t.size(); i += every) shown.push_back(t[i]);
  out.series(sampled + "_points", "t", shown, [&](const TrialRecord& record, std::size_t i) {
    return record.array(phi_monte_carlo).at(i * every);
  });
}

void add_bounds(ResultBuilder& out, const Plan& plan, const SizeClaims& over_d) {
  out.series("eq_3_4_lower", "k", plan.k, over_d.at_sizes(eq_3_4_lower));
  out.series("eq_3_4_upper", "k", plan.k, over_d.at_sizes(eq_3_4_upper));
  out.series("remainder_order", "k", plan.k, over_d.at_sizes([&](const AtSize& at) {
    const double k = plan.k[at.i];
    return k * std::pow(std::log(k) / at.x, 2);
  }));
  out.series("mean_relative_error", "k", plan.k, over_d.at_sizes([](const AtSize& at) {
    return at(mean_shift) / std::sqrt(at(mean_squared_norm));
  }));
  // ||mu||^2 is ||V||_F^2/(2 pi) for relu; the paper prints ||V||_F^2/(4 pi^2).
  if (!plan.relu()) return;
  out.series("spike_as_printed", "k", plan.k, over_d.at_sizes([](const AtSize& at) {
    return at(spike_formula) / (2.0 * std::numbers::pi);
  }));
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
      .curve("phi", "formula", look(LineStyle::line, 0))
      .curve(sampled + "_points", label, look(LineStyle::points, 1));
  out.panel("Differences from the formula", t, {"difference from phi(t)"})
      .curve("phi_taylor_2_difference", "Taylor polynomial, degree 2", look(LineStyle::dashed, 2))
      .curve("phi_taylor_4_difference", "Taylor polynomial, degree 4", look(LineStyle::dotted, 3))
      .curve(sampled + "_difference", label, look(LineStyle::line, 1));
}

void add_spectrum_panels(ResultBuilder& out, const Plan& plan) {
  const Axis k = log_axis(number_of_features), eigenvalue = log_axis("eigenvalue");
  out.panel("Spike: the largest eigenvalue of A A'/n", k, eigenvalue)
      .curve(spike, "measured", look(LineStyle::points, 0))
      .curve(spike_formula,
             plan.relu() ? "prediction ||mu||^2 = ||V||_F^2/(2 pi)" : "prediction ||mu||^2",
             look(LineStyle::line, 1))
      .curve_if_measured("spike_as_printed", "as printed, ||V||_F^2/(4 pi^2)",
                         look(LineStyle::dashed, 6));
  PanelBuilder bulk =
      out.panel("Bulk: the other eigenvalues of A A'/n", k, eigenvalue)
          .curve(bulk_max, "second largest eigenvalue", look(LineStyle::line_points, 2))
          .curve(bulk_min, "smallest eigenvalue", look(LineStyle::line_points, 3))
          .curve(sigma_norm, "largest eigenvalue of the covariance Sigma",
                 look(LineStyle::dotted, 2))
          .curve(sigma_min, "smallest eigenvalue of Sigma", look(LineStyle::dotted, 3));
  if (!plan.relu()) return;
  bulk.curve("eq_3_4_upper", "bounds (3.4) on Sigma", look(LineStyle::dashed, 6))
      .curve("eq_3_4_lower", "", look(LineStyle::dashed, 6));
}

void add_error_panels(ResultBuilder& out, const Plan& plan) {
  const Axis k = log_axis(number_of_features);
  const std::string n = plan.config.n == 0 ? "2k" : std::to_string(plan.config.n);
  out.panel("Sampled mean and covariance, n = " + n + " samples", k, log_axis("relative error"))
      .curve("mean_relative_error", "mean vector (Euclidean norm)", look(LineStyle::line_points, 0))
      .curve(sigma_error, "covariance Sigma (operator norm)", look(LineStyle::line_points, 1));
  out.panel("Entries of the sampled covariance, n = " + n + " samples", k,
            log_axis("largest error of an entry"))
      .curve(sigma_entry_error, "covariance Sigma (largest entry)",
             look(LineStyle::line_points, 1));
  if (!plan.relu()) return;
  out.panel("Expansion (3.6) of Sigma", k, log_axis("operator norm of the remainder"))
      .curve(remainder_norm, "measured", look(LineStyle::line_points, 1))
      .curve("remainder_order", "order in the theorem, k log(k)^2/d^2", look(LineStyle::dashed, 6));
}

void add_gram_figures(ResultBuilder& out, const Plan& plan) {
  add_phi_panels(out);
  add_spectrum_panels(out, plan);
  out.next_figure("Errors of the sampled moments and of the expansion (3.6)");
  add_error_panels(out, plan);
}

// The steps to each error over d, one series per error: "relative_time_teacher_0.1".
void add_times(ResultBuilder& out, const Plan& plan, const SizeClaims& over_d) {
  const auto add = [&](const char* name, const std::array<double, 3>& errors) {
    for (std::size_t j = 0; j < errors.size(); ++j) {
      out.series(name + ("_" + short_number(errors[j])), "d", plan.d,
                 over_d.at_sizes([name, j](const AtSize& at) {
                   return at.record.array(at.prefix + name).at(j) / at.x;
                 }));
    }
  };
  for (const char* name : relative_time) add(name, relative_errors);
  for (const char* name : absolute_time) add(name, absolute_errors);
}

void add_cross_series(ResultBuilder& out, const Plan& plan, const SizeClaims& over_d,
                      const SizeClaims& wide) {
  for (const char* name : {cross_singular_values, cross_bulk_singular_values}) {
    out.series(series_over_trials(
        name, "index", arrays_of(out.records(), plan.sizes.back().prefix() + name), 1.0));
  }
  const auto add = [&](const char* name, const Metric& metric) {
    out.series(name, "k", plan.k, over_d.at_sizes(metric));
  };
  add("error_order", [&](const AtSize& at) { return std::sqrt(plan.k[at.i]) / at.x; });
  add("inverse_d", [](const AtSize& at) { return 1.0 / at.x; });
  // s_1 and s_d of V-bar V' are at most and at least (sqrt(k/d) +- 1)^2 in the limit.
  add("linear_limit_above",
      [&](const AtSize& at) { return std::pow(std::sqrt(plan.k[at.i] / at.x) + 1.0, 2); });
  add("linear_limit_below",
      [&](const AtSize& at) { return std::pow(std::sqrt(plan.k[at.i] / at.x) - 1.0, 2); });
  add("ratio_squared", [](const AtSize& at) { return std::pow(at(norm_ratio), 2); });
  for (const char* name : {wide_ones, wide_norms}) {
    for (const Size& size : plan.wide) out.scalar(size.wide_prefix() + name);
    out.series(name, "d", plan.wide_d, wide.at_sizes(name));
  }
  out.series("wide_order", "d", plan.wide_d, wide.at_sizes([](const AtSize& at) {
    return std::pow(at.x, wide_power / 2.0 - 1.0);
  }));
  add_times(out, plan, over_d);
}

constexpr LineStyle measured = LineStyle::line_points, formula = LineStyle::dashed;

void add_cross_figure(ResultBuilder& out, const Plan& plan) {
  const Axis k = log_axis(number_of_features);
  out.panel("Singular values, k = " + std::to_string(plan.sizes.back().k),
            log_axis("index of the singular value"), log_axis("singular value"))
      .curve(cross_singular_values, "cross-Gram matrix", look(LineStyle::line, 0))
      .curve(cross_bulk_singular_values, "its bulk", look(formula, 1));
  if (plan.relu()) {
    out.panel("Theorem 3.7: error of the expansion", k, log_axis("operator norm of the error"))
        .curve(error_as_printed, "as printed", look(measured, 0))
        .curve(error_corrected, "with 1/4 and 1/(4 pi)", look(measured, 1))
        .curve("error_order", "sqrt(k)/d", look(formula, 6));
    out.panel("(3.17): nonzero singular values of V-bar V'", k, log_axis("singular value"))
        .curve(linear_sigma_1, "largest", look(measured, 0))
        .curve("linear_limit_above", "(sqrt(k/d) + 1)^2", look(formula, 0))
        .curve(linear_sigma_d, "smallest", look(measured, 1))
        .curve("linear_limit_below", "(sqrt(k/d) - 1)^2", look(formula, 1));
  }
  out.panel("(3.19), (3.20): the gradient after one step", k, log_axis("nuclear rank"))
      .curve(nuclear_rank_1, "nr at W_1", look(measured, 0))
      .curve("ratio_squared", "(3.19), squared", look(measured, 1))
      .curve(norm_ratio, "(3.19) as printed", look(formula, 6))
      .curve(gradient_rank[0], "nr at W_0", look(measured, 2));
  out.panel("(3.21), (3.22): distance from the spike", k, log_axis("distance of unit vectors"))
      .curve(distance_gram, "Gram matrix (3.21)", look(measured, 0))
      .curve(distance_gram_bound, "Davis-Kahan bound", look(formula, 0))
      .curve(distance_cross, "cross-Gram matrix (3.22)", look(measured, 1))
      .curve(distance_cross_bound, "Wedin bound", look(formula, 1))
      .curve("inverse_d", "1/d", look(LineStyle::dotted, 6));
  out.panel("(1.9): both sides at the first iterates", k, log_axis("J/L and nuclear rank"))
      .curve(gradient_rank[1], "nr at W_1", look(measured, 0))
      .curve(gradient_rank[0], "nr at W_0", look(measured, 2))
      .curve(hessian_ratio[1], "J/L at W_1", look(measured, 1))
      .curve(stable_rank_A, "st(A)", look(formula, 6));
}

void add_proof_figure(ResultBuilder& out, const Plan& plan) {
  if (!plan.relu()) return;
  out.next_figure("Proofs of Section 3.2.1 and 3.2.3, and the time of gradient descent");
  const Axis k = log_axis(number_of_features), d = log_axis("input dimension d");
  out.panel("Theorem 3.7 with k = d^(7/4) features", d, log_axis("error"))
      .curve(wide_ones, "with 11'/(4 pi d), lower bound", look(measured, 0))
      .curve(wide_norms, "with nu mu'/(2d)", look(measured, 1))
      .curve("wide_order", "sqrt(k)/d", look(formula, 6));
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
      const std::string end = "_" + short_number(errors[j]);
      const int color = static_cast<int>(j);
      panel.curve(names[0] + end, symbol + " = " + short_number(errors[j]), look(measured, color))
          .curve(names[1] + end, "", look(formula, color));
    }
  };
  add_times("Steps to a relative error (dashed: teacher)", relative_time, relative_errors, "delta");
  add_times("Steps to an absolute error (dashed: teacher)", absolute_time, absolute_errors, "eps");
}

}  // namespace

Result report(const Plan& plan, const Records& records) {
  const std::string& activation = plan.config.activation;
  ResultBuilder out(plan.teacher() ? "Cross-Gram matrix of two maps of " + activation + " features"
                                   : "Spike and bulk of " + activation + " features",
                    records);
  const SizeClaims over_d = over_sizes(plan, records, out.claims());
  add_sizes(out, plan, over_d);
  judge(plan, records, out.claims());
  if (plan.teacher()) {
    add_cross_series(out, plan, over_d, over_wide_sizes(plan, records, out.claims()));
    add_cross_figure(out, plan);
    add_proof_figure(out, plan);
  } else {
    add_phi(out, plan);
    add_bounds(out, plan, over_d);
    add_gram_figures(out, plan);
  }
  if (!plan.no_rates.empty()) out.note("No exponents of d are judged: " + plan.no_rates + ".");
  return out.take();
}

}  // namespace ranklab::features
