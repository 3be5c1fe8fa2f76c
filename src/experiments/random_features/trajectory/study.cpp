#include "experiments/random_features/trajectory/config.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "experiments/random_features/trajectory/report.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"
#include "models/activations.hpp"
#include "optim/steps.hpp"

namespace ranklab {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

// One run of an optimiser. Entry t belongs to W_t; after a non-finite loss the entries are undefined.
struct Path {
  explicit Path(std::uint64_t steps) : gap(steps + 1, undefined), nuclear_rank(steps + 1, undefined) {}

  /// Notes the gap at W_t; false where it is not finite, and the trajectory ends.
  bool record_gap(std::uint64_t t, double value) {
    diverged = !std::isfinite(value);
    if (!diverged) gap[t] = value;
    return !diverged;
  }

  std::vector<double> gap, nuclear_rank;
  bool diverged = false;
};

// Violations of the statements about single steps; each is compared with a slack of rounding size.
struct StepChecks {
  double cases = 0, guarantee_violations = 0;
  double two_sided_cases = 0, two_sided_violations = 0;
};

constexpr double rounding_slack = 1e-9;  // of the current loss; single precision loses more, see slack()

template <class T>
double slack() {
  return std::is_same_v<T, float> ? 1e-3 : rounding_slack;
}

// Where a run of SpecGD starts: the error E after `iteration` steps of GD.
template <class T>
struct Start {
  std::string name;  // of its series
  std::uint64_t iteration = 0;
  arma::Mat<T> E;
};

template <class T>
struct GradientDescentRun {
  Path path;
  StepChecks checks;
  std::vector<Start<T>> restarts;  // at iterations restart_every, 2 restart_every, ...
  Start<T> peak;                   // where the gradient's nuclear rank is largest
};

template <class T>
GradientDescentRun<T> run_gradient_descent(const RegressionProblem<T>& problem, const TrajectoryConfig& config,
                                           const Trial& trial) {
  GradientDescentRun<T> run{Path(config.steps), {}, {}, {}};
  arma::Mat<T> E = problem.start;
  run.peak = {"specgd_from_peak", 0, E};
  double largest = -1.0, promised = 0.0;
  for (std::uint64_t t = 0; t <= config.steps; ++t) {
    trial.check_interrupt();
    const arma::Mat<T> G = problem.gradient(E);
    const double gap = problem.objective_gap(E);
    if (!run.path.record_gap(t, gap)) break;
    const arma::mat G64 = arma::conv_to<arma::mat>::from(G);
    run.path.nuclear_rank[t] = nuclear_rank(G64);
    if (run.path.nuclear_rank[t] > largest) {
      largest = run.path.nuclear_rank[t];
      run.peak.iteration = t;
      run.peak.E = E;
    }
    if (config.restart_every > 0 && t > 0 && t < config.steps && t % config.restart_every == 0) {
      run.restarts.push_back({"specgd_from_" + std::to_string(t), t, E});
    }
    if (t > 0 && config.step_scale == 1.0) {
      run.checks.cases += 1;
      if (run.path.gap[t - 1] - gap < promised - slack<T>() * run.path.gap[t - 1]) run.checks.guarantee_violations += 1;
    }
    // Guaranteed decrease of the step: ||G||_F^2 / (2 L_F).
    promised = problem.L_F > 0 ? arma::dot(G64, G64) / (2 * problem.L_F) : 0.0;
    E = problem.after_euclidean_step(E, config.step_scale);
  }
  return run;
}

template <class T>
struct SpectralDescentRun {
  Path path;
  StepChecks checks;
};

// Spectral gradient descent from the error E for `steps` steps.
template <class T>
SpectralDescentRun<T> run_spectral_descent(const RegressionProblem<T>& problem, arma::Mat<T> E, std::uint64_t steps,
                                           const TrajectoryConfig& config, const Trial& trial) {
  const double polar_rtol = config.polar_rtol > 0 ? config.polar_rtol : -1.0;
  SpectralDescentRun<T> run{Path(steps), {}};
  double promised = 0.0, euclidean_gap = 0.0, ratio = 0.0;
  for (std::uint64_t t = 0; t <= steps; ++t) {
    trial.check_interrupt();
    const arma::Mat<T> G = problem.gradient(E);
    const double gap = problem.objective_gap(E);
    if (!run.path.record_gap(t, gap)) break;
    if (t > 0 && config.step_scale == 1.0) {
      const double previous = run.path.gap[t - 1];
      run.checks.cases += 1;
      if (previous - gap < promised - slack<T>() * previous) run.checks.guarantee_violations += 1;
      if (ratio >= 2) {
        run.checks.two_sided_cases += 1;
        if (gap > euclidean_gap + slack<T>() * previous) run.checks.two_sided_violations += 1;
      }
    }
    SpectralStep<T> spectral = spectral_step(G, problem.L_op, polar_rtol);
    const double squared_norm = static_cast<double>(arma::dot(G, G));
    run.path.nuclear_rank[t] = squared_norm > 0 ? spectral.nuclear_norm * spectral.nuclear_norm / squared_norm : undefined;
    // Guaranteed decrease of the step: ||G||_*^2 / (2 L_op); and the loss that one Euclidean step would have reached from here.
    promised = problem.L_op > 0 ? spectral.nuclear_norm * spectral.nuclear_norm / (2 * problem.L_op) : 0.0;
    ratio = run.path.nuclear_rank[t] / problem.stable_rank_A;
    if (ratio >= 2) euclidean_gap = problem.objective_gap(problem.after_euclidean_step(E));
    E += static_cast<T>(config.step_scale) * spectral.step;
  }
  return run;
}

double first_ahead(const std::vector<double>& ahead, const std::vector<double>& behind) {
  for (std::size_t t = 1; t < ahead.size(); ++t) {
    if (ahead[t] < behind[t]) return static_cast<double>(t);
  }
  return undefined;
}

template <class T>
TrialRecord run_trial(const TrajectoryConfig& config, const Trial& trial) {
  const FeatureSizes& sizes = config.sizes;
  const bool standard = config.scale == "paper";
  const double v_std = standard ? 1.0 : 1.0 / std::sqrt(static_cast<double>(sizes.d));
  const double w_std = standard ? 1.0 : 1.0 / std::sqrt(static_cast<double>(sizes.k));
  const RegressionProblem<T> problem = regression_problem(draw_random_features<T>(trial, sizes, config.activation, v_std),
                                                          draw_gaussian<T>(trial, "W_sharp", sizes.m, sizes.k, w_std));

  GradientDescentRun<T> gd = run_gradient_descent(problem, config, trial);
  const std::uint64_t peak = gd.peak.iteration;
  // The longest runs come first, so that threads end together.
  std::vector<Start<T>> starts = {{"specgd", 0, problem.start}};
  if (config.from_peak) starts.push_back(std::move(gd.peak));
  std::move(gd.restarts.begin(), gd.restarts.end(), std::back_inserter(starts));
  std::vector<SpectralDescentRun<T>> runs(starts.size(), SpectralDescentRun<T>{Path(0), {}});
  trial.for_each_part(starts.size(), [&](std::size_t i) {
    runs[i] = run_spectral_descent(problem, starts[i].E, config.steps - starts[i].iteration, config, trial);
  });

  TrialRecord record;
  StepChecks spectral_checks;
  double diverged = gd.path.diverged;
  for (const auto& run : runs) {
    diverged += run.path.diverged;
    spectral_checks.cases += run.checks.cases;
    spectral_checks.guarantee_violations += run.checks.guarantee_violations;
    spectral_checks.two_sided_cases += run.checks.two_sided_cases;
    spectral_checks.two_sided_violations += run.checks.two_sided_violations;
  }
  record.set("stable_rank_A", problem.stable_rank_A);
  record.set("nuclear_rank_init", gd.path.nuclear_rank[0]);
  record.set("gd.nuclear_rank_peak", gd.path.nuclear_rank[peak]);
  record.set("gd.nuclear_rank_peak_iteration", static_cast<double>(peak));
  record.set("first_iteration_specgd_ahead", first_ahead(runs[0].path.gap, gd.path.gap));
  record.set("diverged_trajectories", diverged);
  record.set("checks.gd", {gd.checks.cases, gd.checks.guarantee_violations});
  record.set("checks.specgd", {spectral_checks.cases, spectral_checks.guarantee_violations, spectral_checks.two_sided_cases,
                               spectral_checks.two_sided_violations});
  record.set("gd.objective_gap", std::move(gd.path.gap));
  record.set("gd.nuclear_rank", std::move(gd.path.nuclear_rank));
  record.set("specgd.nuclear_rank", std::move(runs[0].path.nuclear_rank));
  for (std::size_t i = 0; i < runs.size(); ++i) record.set(starts[i].name + ".objective_gap", std::move(runs[i].path.gap));
  return record;
}

class TrajectoryStudy : public Study {
 public:
  std::vector<Field> fields() override {
    constexpr std::uint64_t largest = 1'000'000;
    FeatureSizes& sizes = config_.sizes;
    return {
        choice_field("activation", config_.activation, activation_names(), "sigma", "activation of the features; swiglu is gated"),
        size_field("m", sizes.m, 1, largest, "m", "rows of W"),
        size_field("k", sizes.k, 1, largest, "k", "features: columns of W"),
        size_field("d", sizes.d, 1, largest, "d", "input dimension"),
        size_field("n", sizes.n, 1, largest, "n", "samples"),
        size_field("steps", config_.steps, 1, 100'000'000, "T", "iterations of each optimiser"),
        size_field("restart-every", config_.restart_every, 0, 100'000'000, "",
                   "SpecGD restarts from every so many GD iterates; 0: none"),
        switch_field("from-peak", config_.from_peak, "SpecGD restart from the GD iterate with the largest nuclear rank"),
        choice_field("scale", config_.scale, {"code", "paper"}, "", "code: V ~ N(0, 1/d), W# ~ N(0, 1/k); paper: both N(0, 1)"),
        excluding_low(real_field("step-scale", config_.step_scale, 0.0, 100.0, "",
                                 "multiplies the steps of both methods; GD diverges above 2")),
        real_field("polar-rtol", config_.polar_rtol, 0.0, 1.0, "",
                   "singular values up to this times the largest count as 0; 0: max(m, k) eps"),
    };
  }

  Estimate estimate() const override {
    const auto real = [](std::uint64_t size) { return static_cast<double>(size); };
    const double m = real(config_.sizes.m), k = real(config_.sizes.k), d = real(config_.sizes.d), n = real(config_.sizes.n);
    const double steps = real(config_.steps);
    const double restarts = config_.restart_every == 0 ? 0 : std::floor((steps - 1) / real(config_.restart_every));
    const double spectral_steps = steps * (1 + restarts / 2 + (config_.from_peak ? 1 : 0));
    const double small = std::min(m, k), large = std::max(m, k);
    Estimate cost;
    // The features, the Gram matrix and its eigenvectors, iterates kept for restarts, a step's work space, and the series.
    cost.bytes = 8 * (3 * k * n + d * n + 2 * k * d + 4 * k * k + (restarts + 16) * m * k + 4 * steps + spectral_steps);
    cost.flops = 2 * k * d * n + k * k * n + 9 * k * k * k + steps * (2 * m * k * k + 4 * small * small * large) +
                 spectral_steps * (4 * m * k * k + 22 * small * small * large);
    return cost;
  }

  Result run(Runner& runner) const override {
    const auto records = runner.run([&](Trial& trial) {
      return runner.single_precision() ? run_trial<float>(config_, trial) : run_trial<double>(config_, trial);
    });
    return trajectory_result(config_, records);
  }

 private:
  TrajectoryConfig config_;
};

}  // namespace

std::unique_ptr<Study> make_trajectory_study() {
  return std::make_unique<TrajectoryStudy>();
}

}  // namespace ranklab
