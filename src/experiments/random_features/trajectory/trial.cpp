#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/undefined.hpp"
#include "experiments/random_features/trajectory/trajectory.hpp"
#include "linalg/spectra.hpp"
#include "models/random_features.hpp"
#include "nn/optimizers/steps.hpp"

namespace ranklab::trajectory {
namespace {

// Slack for rounding in statements about single steps, in units of the current loss.
constexpr double slack = 1e-9;

// One run of an optimizer. Entry t belongs to W_t; after a non-finite loss the entries are
// undefined.
struct Path {
  explicit Path(std::uint64_t steps)
      : gap(steps + 1, undefined), nuclear_rank(steps + 1, undefined) {}

  std::vector<double> gap, nuclear_rank;
  bool diverged = false;
  Tally guarantee, two_sided;
};

// Follows the error E for as many steps as the path has room for, or until the loss is not finite.
// step(t, G, E) takes the step from W_t, records the nuclear rank of its gradient G, and returns
// the guaranteed decrease.
template <class Step>
void descend(const RegressionProblem& problem, const Plan& plan, const Trial& trial, arma::mat E,
             Path& path, const Step& step) {
  double guaranteed = 0.0;
  for (std::uint64_t t = 0; t < path.gap.size(); ++t) {
    trial.advance();
    const double gap = problem.objective_gap(E);
    path.diverged = !std::isfinite(gap);
    if (path.diverged) return;
    path.gap[t] = gap;
    if (t > 0 && plan.as_stated) {
      const double previous = path.gap[t - 1];
      path.guarantee.count(previous - gap < guaranteed - slack * previous);
    }
    guaranteed = step(t, problem.gradient(E), E);
  }
}

// The start of a run of SpecGD: the error E after `iteration` steps of GD.
struct Start {
  std::string run;
  std::uint64_t iteration = 0;
  arma::mat E;
};

struct GradientDescentRun {
  Path path;
  std::vector<Start> restarts;  // at the plan's iterations, up to where GD diverged
  Start peak;                   // where the gradient's nuclear rank is largest
};

// Euclidean steps G / L_F from W_0, whose guaranteed decrease is ||G||_F^2 / (2 L_F).
GradientDescentRun run_gradient_descent(const RegressionProblem& problem, const Plan& plan,
                                        const Trial& trial) {
  GradientDescentRun run{Path(plan.config.steps), {}, {specgd_from_peak, 0, problem.start}};
  auto next_restart = plan.restarts.begin();
  double largest = -1.0;
  descend(problem, plan, trial, problem.start, run.path,
          [&](std::uint64_t t, const arma::mat& G, arma::mat& E) {
            run.path.nuclear_rank[t] = nuclear_rank(G);
            if (run.path.nuclear_rank[t] > largest) {
              largest = run.path.nuclear_rank[t];
              run.peak.iteration = t;
              run.peak.E = E;
            }
            if (next_restart != plan.restarts.end() && *next_restart == t) {
              run.restarts.push_back({specgd_from(t), t, E});
              ++next_restart;
            }
            E = problem.after_euclidean_step(E, plan.config.step_scale);
            return problem.L_F > 0 ? arma::dot(G, G) / (2 * problem.L_F) : 0.0;
          });
  return run;
}

// Spectral steps (||G||_* / L_op) polar(G) from a start to the last iteration; the guaranteed
// decrease is ||G||_*^2 / (2 L_op).
Path run_spectral_descent(const RegressionProblem& problem, const Plan& plan, const Trial& trial,
                          const Start& start) {
  const double polar_rtol = plan.config.polar_rtol > 0 ? plan.config.polar_rtol : -1.0;
  Path path(plan.config.steps - start.iteration);
  double euclidean_gap = 0.0, ratio = 0.0;  // of the last iterate: the gap after one Euclidean step
                                            // from it, and nr(G) / st(A)
  descend(
      problem, plan, trial, start.E, path, [&](std::uint64_t t, const arma::mat& G, arma::mat& E) {
        if (ratio >= 2 && plan.as_stated)
          path.two_sided.count(path.gap[t] > euclidean_gap + slack * path.gap[t - 1]);
        const SpectralStep<double> spectral = spectral_step(G, problem.L_op, polar_rtol);
        const double squared_norm = arma::dot(G, G);
        path.nuclear_rank[t] = squared_norm > 0
                                   ? spectral.nuclear_norm * spectral.nuclear_norm / squared_norm
                                   : undefined;
        ratio = path.nuclear_rank[t] / problem.stable_rank_A;
        if (ratio >= 2) euclidean_gap = problem.objective_gap(problem.after_euclidean_step(E));
        E += plan.config.step_scale * spectral.step;
        return problem.L_op > 0 ? spectral.nuclear_norm * spectral.nuclear_norm / (2 * problem.L_op)
                                : 0.0;
      });
  return path;
}

RegressionProblem draw_problem(const TrajectoryConfig& config, const Trial& trial) {
  const bool standard = config.scale == "paper";
  const double v_std = standard ? 1.0 : 1.0 / std::sqrt(static_cast<double>(config.d));
  const double w_std = standard ? 1.0 : 1.0 / std::sqrt(static_cast<double>(config.k));
  const FeatureSizes sizes = {config.m, config.k, config.d, config.n};
  return regression_problem(draw_random_features(trial, sizes, config.activation, v_std),
                            draw_gaussian<double>(trial, "W_sharp", sizes.m, sizes.k, w_std));
}

double first_below(const std::vector<double>& ahead, const std::vector<double>& behind) {
  for (std::size_t t = 1; t < ahead.size(); ++t) {
    if (ahead[t] < behind[t]) return static_cast<double>(t);
  }
  return undefined;
}

// For the progress bar; a run from the peak may be shorter.
void expect_steps(const Plan& plan, const Trial& trial) {
  std::uint64_t steps = (plan.config.steps + 1) * (plan.config.from_peak ? 3 : 2);
  for (const std::uint64_t restart : plan.restarts) steps += plan.config.steps + 1 - restart;
  trial.expect(steps, "step");
}

}  // namespace

Plan::Plan(const TrajectoryConfig& given)
    : config(given), as_stated(given.step_scale == 1.0 && given.polar_rtol == 0.0) {
  const std::uint64_t every = config.restart_every;
  for (std::uint64_t t = every; every > 0 && t < config.steps; t += every) {
    restarts.push_back(t);
    restarted_runs.push_back(specgd_from(t));
  }
  if (config.from_peak) restarted_runs.emplace_back(specgd_from_peak);
}

TrialRecord run_trial(const Plan& plan, const Trial& trial) {
  const RegressionProblem problem = draw_problem(plan.config, trial);
  expect_steps(plan, trial);
  GradientDescentRun descent = run_gradient_descent(problem, plan, trial);
  const std::uint64_t peak = descent.peak.iteration;
  // The longest runs come first, so that the threads finish together.
  std::vector<Start> starts = {{specgd, 0, problem.start}};
  if (plan.config.from_peak) starts.push_back(std::move(descent.peak));
  std::move(descent.restarts.begin(), descent.restarts.end(), std::back_inserter(starts));
  std::vector<Path> paths(starts.size(), Path(0));
  trial.for_each_part(starts.size(), [&](std::size_t i) {
    paths[i] = run_spectral_descent(problem, plan, trial, starts[i]);
  });

  TrialRecord record;
  record.set(stable_rank_A, problem.stable_rank_A);
  record.set(nuclear_rank_init, descent.path.nuclear_rank[0]);
  record.set(peak_nuclear_rank, descent.path.nuclear_rank[peak]);
  record.set(peak_iteration, static_cast<double>(peak));
  record.set(first_ahead, first_below(paths[0].gap, descent.path.gap));
  record.add(guarantee_gd.id, descent.path.guarantee);
  double not_finite = descent.path.diverged;
  for (const Path& path : paths) {
    not_finite += path.diverged;
    record.add(guarantee_specgd.id, path.guarantee);
    record.add(two_sided.id, path.two_sided);
  }
  record.set(diverged, not_finite);
  record.set(gap_of(gd), std::move(descent.path.gap));
  record.set(nuclear_rank_of(gd), std::move(descent.path.nuclear_rank));
  record.set(nuclear_rank_of(specgd), std::move(paths[0].nuclear_rank));
  // If GD diverged before an iterate, the restart from that iterate is undefined.
  for (const std::uint64_t t : plan.restarts)
    record.set(gap_of(specgd_from(t)), Path(plan.config.steps - t).gap);
  for (std::size_t i = 0; i < paths.size(); ++i)
    record.set(gap_of(starts[i].run), std::move(paths[i].gap));
  return record;
}

}  // namespace ranklab::trajectory
