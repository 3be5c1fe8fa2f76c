// The study features: flags and plan; scalars, series and figure from its trials' records.
#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "experiments/spike_plus_bulk/features/features.hpp"
#include "models/activations.hpp"
#include "models/feature_moments.hpp"
#include "report/figure/builder.hpp"

namespace ranklab {
namespace features {
namespace {

// Why the sizes of this run do not satisfy "k proportional to d, d growing"; empty if they do.
std::string why_no_rates(const Plan& plan) {
  if (plan.sizes.size() < 3)
    return "--k has fewer than three sizes, so no exponent can be fitted with an error";
  if (plan.d.front() == plan.d.back())
    return "--d is fixed; the statement is about a d that grows with k";
  std::vector<double> samples;  // n/d
  for (std::size_t i = 0; i < plan.d.size(); ++i) samples.push_back(plan.n[i] / plan.d[i]);
  const auto [smallest, largest] = std::minmax_element(samples.begin(), samples.end());
  return *largest > 1.1 * *smallest ? "n is not proportional to d over the sizes of this run" : "";
}

// The result --------------------------------------------------------------------------------------

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

void add_phi(ResultBuilder& out, const Plan& plan) {
  const Activation& activation = find_activation(plan.config.activation);
  const std::vector<double>& t = plan.phi_at;
  const std::vector<double> derivatives = feature_phi_derivatives(activation, 6);
  for (std::size_t m = 0; m < derivatives.size(); ++m) {
    out.scalar("phi_derivative_" + std::to_string(m),
               std::vector<double>(out.records().size(), derivatives[m]));
  }
  out.series("phi", "t", t,
             [&](const TrialRecord&, std::size_t i) { return feature_phi(activation, t[i]); });
  for (const std::size_t degree : {1u, 2u, 4u}) {
    const std::vector<double> kept(derivatives.begin(),
                                   derivatives.begin() + static_cast<std::ptrdiff_t>(degree) + 1);
    out.series("phi_taylor_" + std::to_string(degree), "t", t,
               [&](const TrialRecord&, std::size_t i) { return taylor_polynomial(kept, t[i]); });
  }
  out.series(phi_monte_carlo, "t", t);
}

void add_bounds(ResultBuilder& out, const Plan& plan, const SizeClaims& over_d) {
  out.series("eq_3_4_lower", "k", plan.k, over_d.at_sizes(eq_3_4_lower));
  out.series("eq_3_4_upper", "k", plan.k, over_d.at_sizes(eq_3_4_upper));
  out.series("remainder_order", "k", plan.k, over_d.at_sizes([&](const AtSize& at) {
    const double k = plan.k[at.i];
    return k * std::pow(std::log(k) / at.x, 2);
  }));
}

void add_gram_figure(ResultBuilder& out, const Plan& plan) {
  constexpr LineStyle measured = LineStyle::line_points, formula = LineStyle::dashed,
                      dotted = LineStyle::dotted;
  out.panel("phi, 2 pi times the covariance of two features", {"t, cosine of the angle"},
            {"phi(t)"})
      .curve("phi", "formula")
      .curve("phi_taylor_2", "Taylor, degree 2", {formula})
      .curve("phi_taylor_4", "Taylor, degree 4", {dotted})
      .curve(phi_monte_carlo, "sampled pairs", {LineStyle::points});
  PanelBuilder spectrum =
      out.panel("Spike and bulk of A A'/n", log_axis("k"), log_axis("eigenvalue"))
          .curve(spike, "largest", {measured})
          .curve(spike_formula, "norm of the mean vector, squared", {formula})
          .curve(bulk_max, "second", {measured})
          .curve(bulk_min, "smallest", {measured})
          .curve(sigma_norm, "largest of Sigma", {dotted})
          .curve(sigma_min, "smallest of Sigma", {dotted});
  PanelBuilder errors =
      out.panel("Errors of the formulas, and of (3.6)", log_axis("k"), log_axis("error"))
          .curve(sigma_error, "Sigma, n = 2k samples, relative", {measured})
          .curve(sigma_entry_error, "Sigma, largest entry", {measured})
          .curve(mean_shift, "mean vector", {measured});
  if (!plan.relu()) return;
  spectrum.curve("eq_3_4_upper", "bounds (3.4)", {formula, 7})
      .curve("eq_3_4_lower", "", {formula, 7});
  errors.curve(remainder_norm, "remainder of (3.6)", {measured})
      .curve("remainder_order", "k log(k)^2/d^2", {formula});
}

void add_cross_series(ResultBuilder& out, const Plan& plan, const SizeClaims& over_d) {
  for (const char* name : {cross_singular_values, cross_bulk_singular_values}) {
    out.series(series_over_trials(
        name, "index", arrays_of(out.records(), plan.sizes.back().prefix() + name), 1.0));
  }
  out.series("error_order", "k", plan.k,
             over_d.at_sizes([&](const AtSize& at) { return std::sqrt(plan.k[at.i]) / at.x; }));
  out.series("inverse_d", "k", plan.k,
             over_d.at_sizes([](const AtSize& at) { return 1.0 / at.x; }));
}

void add_cross_figure(ResultBuilder& out, const Plan& plan) {
  constexpr LineStyle measured = LineStyle::line_points, formula = LineStyle::dashed;
  out.panel("Singular values, k = " + std::to_string(plan.sizes.back().k), log_axis("index"),
            log_axis("singular value"))
      .curve(cross_singular_values, "cross-Gram matrix")
      .curve(cross_bulk_singular_values, "its bulk", {formula});
  if (plan.relu()) {
    out.panel("Theorem 3.7: error of the expansion", log_axis("k"), log_axis("operator norm"))
        .curve(error_as_printed, "as printed", {measured})
        .curve(error_corrected, "with 1/4 and 1/(4 pi)", {measured})
        .curve("error_order", "sqrt(k)/d", {formula});
  }
  out.panel("(3.21), (3.22): distance from the spike", log_axis("k"),
            log_axis("distance of unit vectors"))
      .curve(distance_gram, "Gram matrix (3.21)", {measured, 0})
      .curve(distance_gram_bound, "Davis-Kahan bound", {formula, 0})
      .curve(distance_cross, "cross-Gram matrix (3.22)", {measured, 1})
      .curve(distance_cross_bound, "Wedin bound", {formula, 1})
      .curve("inverse_d", "1/d", {LineStyle::dotted, 7});
}

}  // namespace

Plan make_plan(const FeaturesConfig& config, LabelModel model) {
  Plan plan{config, model, {}, {}, {}, {}, std::vector<double>(config.phi_points), "", false};
  for (const std::uint64_t k : config.k) {
    plan.sizes.push_back({k, config.d == 0 ? k / 2 : config.d,
                          config.n == 0 ? std::max<std::uint64_t>(2 * k, 4) : config.n});
  }
  std::sort(plan.sizes.begin(), plan.sizes.end(),
            [](const Size& a, const Size& b) { return a.k < b.k; });
  for (const Size& size : plan.sizes) {
    plan.k.push_back(static_cast<double>(size.k));
    plan.d.push_back(static_cast<double>(size.d));
    plan.n.push_back(static_cast<double>(size.n));
    plan.singular |= size.n <= size.k;
  }
  for (std::size_t i = 0; i < plan.phi_at.size(); ++i) {
    plan.phi_at[i] =
        -1.0 + 2.0 * static_cast<double>(i) / static_cast<double>(plan.phi_at.size() - 1);
  }
  plan.no_rates = why_no_rates(plan);
  return plan;
}

Result report(const Plan& plan, const Records& records) {
  const std::string& activation = plan.config.activation;
  ResultBuilder out(plan.teacher() ? "Cross-Gram matrix of two maps of " + activation + " features"
                                   : "Spike and bulk of " + activation + " features",
                    records);
  const SizeClaims over_d = over_sizes(plan, records, out.claims());
  add_sizes(out, plan, over_d);
  judge(plan, records, out.claims());
  if (plan.teacher()) {
    add_cross_series(out, plan, over_d);
    add_cross_figure(out, plan);
  } else {
    add_phi(out, plan);
    add_bounds(out, plan, over_d);
    add_gram_figure(out, plan);
  }
  if (!plan.no_rates.empty()) out.note("No exponents of d are judged: " + plan.no_rates + ".");
  return out.take();
}

}  // namespace features

namespace {

class FeaturesStudy : public Study {
 public:
  explicit FeaturesStudy(LabelModel model) : model_(model) {}

  std::vector<Field> fields() override {
    FeaturesConfig& c = config_;
    std::vector<std::string> pointwise;
    for (const std::string& name : activation_names()) {
      if (!find_activation(name).gated) pointwise.push_back(name);
    }
    std::vector<Field> fields = {
        size_list_field("k", c.k, 2, largest_size, "k",
                        "numbers of features, with one row of results each"),
        size_field("d", c.d, 0, largest_size, "d", "input dimension; 0: k/2 for each k"),
        size_field("n", c.n, 0, 100'000'000, "n", "samples, at least 4; 0: 2k for each k"),
        choice_field("activation", c.activation, pointwise, "sigma", "activation of the features"),
        excluding_low(
            real_field("eta-offset", c.offset, 0.0, 1e6, "c",
                       "constant of the step 1/(c + ||B||) in Lemma 3.5 and Theorem 3.9")),
    };
    if (model_ == LabelModel::realizable) {
      fields.push_back(size_field("phi-points", c.phi_points, 3, 10001, "",
                                  "number of points from -1 to 1 at which phi is shown"));
      fields.push_back(size_field("phi-samples", c.phi_samples, 100, 100'000'000, "",
                                  "samples of the Monte Carlo estimate of phi"));
    }
    return fields;
  }

  void validate() const override {
    if (config_.n != 0 && config_.n < 4) {
      throw UsageError("--n " + std::to_string(config_.n) +
                       " is not allowed: 0, or at least 4 samples");
    }
  }

  Estimate estimate() const override {
    const features::Plan run = plan();
    const bool teacher = run.teacher();
    Estimate cost;
    double largest = 0.0;
    for (std::size_t i = 0; i < run.sizes.size(); ++i) {
      const double k = run.k[i], d = run.d[i], n = run.n[i], maps = teacher ? 2.0 : 1.0,
                   columns = std::min(n, static_cast<double>(features::block_columns));
      // Features and their products; then 7 spectra of symmetric matrices at 4/3 k^3, or the
      // teacher's, with vectors.
      cost.flops += maps * 2.0 * k * d * n + (teacher ? 3.0 : 1.0) * k * k * n +
                    (teacher ? 40.0 : 16.0) * k * k * k;
      if (!teacher) cost.flops += 40.0 * k * k;
      // Sums of two halves, temporaries of the same size, one block of features.
      largest = std::max(largest, (teacher ? 16.0 : 10.0) * k * k + 3.0 * maps * k * d +
                                      3.0 * (maps * k + d) * columns);
    }
    if (!teacher) {
      const double samples = static_cast<double>(config_.phi_samples);
      cost.flops += static_cast<double>(config_.phi_points) * samples * 30.0;
      largest = std::max(largest, 8.0 * samples);
    }
    cost.bytes = 8.0 * largest;
    return cost;
  }

  Result run(Runner& runner) const override {
    const features::Plan run = plan();
    const bool single_precision = runner.single_precision();
    return features::report(
        run, runner.run([&](Trial& t) { return features::run_trial(run, single_precision, t); }));
  }

 private:
  features::Plan plan() const { return features::make_plan(config_, model_); }

  LabelModel model_;
  FeaturesConfig config_;
};

}  // namespace

std::unique_ptr<Study> make_features_study(LabelModel model) {
  return std::make_unique<FeaturesStudy>(model);
}

}  // namespace ranklab
