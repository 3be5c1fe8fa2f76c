// `random-features --study trajectory`: gradient descent compared with spectral gradient descent on
// random-feature regression, with spectral restarts from the iterates of gradient descent
// ([Spectral] Section 1.2, Figures 3 and 11).
//
//   L(W) = ||W A - W# A||_F^2 / (2 n),   G = grad L(W),   W_0 = 0
//   GD:      W - G / L_F                       L_F = ||A||_op^2 / n
//   SpecGD:  W - (||G||_* / L_op) polar(G)     L_op = ||A||_F^2 / n = st(A) L_F
//   the step decreases L by at least ||G||_F^2 / (2 L_F), or ||G||_*^2 / (2 L_op)     eq. (1.4)
//   the second bound is at least the first if nr(G) >= st(A)                          eq. (1.5)
//
// A (k, n), W and W# (m, k): ensembles/random_features.hpp, with E = (W - W#) U in place of W.
// Differs from [Spectral]: V ~ N(0, 1/d) and W# ~ N(0, 1/k) instead of the standard Gaussians of
// its text, because these reproduce its figure.
#include <algorithm>
#include <limits>
#include <numeric>

#include "ensembles/activations.hpp"
#include "ensembles/random_features.hpp"
#include "experiments/kit.hpp"
#include "experiments/random_features/random_features.hpp"
#include "linalg/spectra.hpp"
#include "nn/optimizers/steps.hpp"

namespace ranklab::trajectory {
namespace {

// The names of runs. A run is one descent: GD or SpecGD from W_0, or SpecGD from an iterate of GD.
constexpr char gd[] = "gd", specgd[] = "specgd", specgd_from_peak[] = "specgd_from_peak";

// A run from W_0, about which there are claims.
struct Method {
  const char *run, *label;
};
constexpr Method methods[] = {{gd, "GD"}, {specgd, "SpecGD"}};

std::string specgd_from(std::uint64_t iteration) {
  return say("specgd_from_{}", iteration);
}

// Flags -------------------------------------------------------------------------------------------

struct Config : Study {
  std::string activation = "relu";
  std::uint64_t m = 100, k = 100, d = 50, n = 400;  // as in Figure 3
  std::uint64_t steps = 1000, restart_every = 100;
  bool from_peak = true;
  std::string scale = "code";
  double step_scale = 1.0, polar_rtol = 0.0;

  std::vector<Field> flags() override;
  Estimate memory() const override;
  Work work() const override;
  std::string title() const override;
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;

  // Whether the step sizes are those of the statements about single steps.
  bool steps_as_stated() const { return step_scale == 1.0 && polar_rtol == 0.0; }
  // The iterations of GD that SpecGD restarts from at multiples of restart_every, ascending.
  std::vector<std::uint64_t> restarts() const;
  // The names of all runs that restart from GD.
  std::vector<std::string> restarted_runs() const;
};

std::vector<Field> Config::flags() {
  constexpr std::uint64_t largest = 1'000'000;
  return {
      choice_field("activation", activation, activation_names(), "sigma",
                   "activation of the features; swiglu is gated"),
      size_field("m", m, 1, largest, "m", "rows of W"),
      size_field("k", k, 1, largest, "k", "features (columns of W)"),
      size_field("d", d, 1, largest, "d", "input dimension"),
      size_field("n", n, 1, largest, "n", "samples"),
      size_field("steps", steps, 1, 100'000'000, "T", "iterations of each optimizer"),
      size_field("restart-every", restart_every, 0, 100'000'000, "",
                 "restart SpecGD from the GD iterates at multiples of this; 0: no such restarts"),
      switch_field("from-peak", from_peak,
                   "restart SpecGD from the GD iterate with the largest nuclear rank"),
      choice_field(
          "scale", scale, {"code", "paper"}, "",
          "scale of the weights; code: V ~ N(0, 1/d), W# ~ N(0, 1/k); paper: both N(0, 1)"),
      excluding_low(real_field("step-scale", step_scale, 0.0, 100.0, "",
                               "factor on the steps of both methods; GD diverges above 2")),
      real_field("polar-rtol", polar_rtol, 0.0, 1.0, "",
                 "singular values up to this fraction of the largest count as 0; 0: max(m, k) eps"),
  };
}

Estimate Config::memory() const {
  const double restart_count =
      restart_every == 0 ? 0 : std::floor((real(steps) - 1) / real(restart_every));
  const double spectral_steps = real(steps) * (1 + restart_count / 2 + (from_peak ? 1 : 0));
  Estimate cost;
  // The features, the Gram matrix and its eigenvectors, the iterates kept for restarts, the
  // workspace of a step, and the series.
  cost.bytes = 8 * (3 * real(k) * real(n) + real(d) * real(n) + 2 * real(k) * real(d) +
                    4 * real(k) * real(k) + (restart_count + 16) * real(m) * real(k) +
                    4 * real(steps) + spectral_steps);
  return cost;
}

std::vector<std::uint64_t> Config::restarts() const {
  std::vector<std::uint64_t> out;
  for (std::uint64_t t = restart_every; restart_every > 0 && t < steps; t += restart_every)
    out.push_back(t);
  return out;
}

std::vector<std::string> Config::restarted_runs() const {
  std::vector<std::string> out;
  for (const std::uint64_t t : restarts()) out.push_back(specgd_from(t));
  if (from_peak) out.emplace_back(specgd_from_peak);
  return out;
}

// What a trial records ----------------------------------------------------------------------------

constexpr Measure
    objective_gap = {"objective_gap", "L(W) - min L", "the loss above its minimum"},
    nuclear_rank_G = {"nuclear_rank", "nr(G)", "nuclear rank of the gradient"},
    stable_rank_A = {"stable_rank_A", "st(A)", "stable rank of the features"},
    nuclear_rank_init = {"nuclear_rank_init", "nr(G)", "nuclear rank of the gradient at W_0"},
    peak_nuclear_rank = {"nuclear_rank_peak", "nr(G)", "the largest along the run"},
    peak_iteration = {"nuclear_rank_peak_iteration", "t", "the iteration of the largest nr(G)"},
    first_ahead = {"first_iteration_specgd_ahead", "t",
                   "the first iteration at which the loss of SpecGD is below that of GD"},
    diverged = {"diverged_trajectories", "", "runs that ended in a loss that is not finite"};
// Of the result. The gaps of single seeds lie decades apart, so the largest dominates their mean.
constexpr Measure log10_gap = {"log10_gap", "log10(L(W) - min L)",
                               "logarithm of the gap; undefined for a gap of 0"},
                  final_log10_gap_ratio = {"final_log10_gap_ratio", "",
                                           "log10 of the ratio of the final gaps, SpecGD over GD"},
                  even_nuclear_rank = {"nuclear_rank.even", "nr(G)", "at even iterations"},
                  odd_nuclear_rank = {"nuclear_rank.odd", "nr(G)", "at odd iterations"};

Quantity gap_of(const std::string& run) {
  return At("run", run) / objective_gap;
}
Quantity nuclear_rank_of(const std::string& run) {
  return At("run", run) / nuclear_rank_G;
}
Quantity log_gap_of(const std::string& run) {
  return At("run", run) / log10_gap;
}
// Of the GD iterate whose gradient has the largest nuclear rank.
Quantity of_peak(const Measure& measure) {
  return At("run", gd) / measure;
}

// Numbers over the iterations of a run are NaN once the loss is not finite. The run from the peak
// is shorter than declared if the peak is not at W_0.
Column over_iterations(const Config& c, Quantity quantity, std::uint64_t start = 0) {
  Column out{std::move(quantity), "iteration", std::vector<double>(c.steps + 1 - start)};
  std::iota(out.x.begin(), out.x.end(), 0.0);
  return out;
}

std::vector<Column> numbers() {
  return {{stable_rank_A},           {nuclear_rank_init}, {of_peak(peak_nuclear_rank)},
          {of_peak(peak_iteration)}, {first_ahead},       {diverged}};
}

std::vector<Column> gaps_of_restarts(const Config& c) {
  std::vector<Column> out;
  for (const std::uint64_t t : c.restarts())
    out.push_back(over_iterations(c, gap_of(specgd_from(t)), t));
  if (c.from_peak) out.push_back(over_iterations(c, gap_of(specgd_from_peak)));
  return out;
}

std::vector<Column> columns_of(const Config& c) {
  std::vector<Column> out = numbers();
  for (const Method& method : methods) {
    out.push_back(over_iterations(c, gap_of(method.run)));
    out.push_back(over_iterations(c, nuclear_rank_of(method.run)));
  }
  for (Column& gap : gaps_of_restarts(c)) out.push_back(std::move(gap));
  return out;
}

// Statements about single steps. A trial counts no case if the steps are not those of the
// statements.
const Place eq_1_4{spectral::eq_1_4, "/", "Section 1.2, after eq. (1.4)"},
    after_1_5{spectral::eq_1_5, "/", "Section 1.2, after eq. (1.5)"};
const Inequality guarantee_gd = eq_1_4.counted("guarantee-gd",
                                               "A Euclidean step 1/L_F decreases the loss by at "
                                               "least ||G||_F^2 / (2 L_F)"),
                 guarantee_specgd = eq_1_4.counted(
                     "guarantee-specgd",
                     "A spectral step ||G||_*/L_op decreases the loss by at least ||G||_*^2 / (2 "
                     "L_op)"),
                 two_sided = after_1_5.counted(
                     "two-sided",
                     "The loss after one spectral step is at most the loss after one Euclidean "
                     "step if nr(G) >= 2 st(A)");

// Slack for rounding in these statements, in units of the current loss.
constexpr double slack = 1e-9;

// A trial -----------------------------------------------------------------------------------------

struct Descent {
  std::string name;
  std::uint64_t start = 0;  // the iteration of GD from which it starts
  arma::mat E;              // the error at its iterate
  bool records_rank = false;
  bool diverged = false;
  Tally guarantee = {}, two_sided = {};
};

// Follows a descent to the last iteration, or until the loss is not finite. step(t, G) takes the
// step from W_t with gradient G, and returns the guaranteed decrease.
template <class Step>
void descend(const RegressionProblem& problem, const Config& c, const Trial& trial,
             Descent& descent, Track& track, const Step& step) {
  double guaranteed = 0.0, previous = 0.0;
  for (std::uint64_t t = 0; t <= c.steps - descent.start; ++t) {
    trial.advance();
    const double gap = problem.objective_gap(descent.E);
    descent.diverged = !std::isfinite(gap);
    if (descent.diverged) return;
    track.set(gap_of(descent.name), gap, t);
    if (t > 0 && c.steps_as_stated())
      descent.guarantee.count(previous - gap < guaranteed - slack * previous);
    previous = gap;
    guaranteed = step(t, problem.gradient(descent.E));
  }
}

// Euclidean steps G / L_F from W_0, whose guaranteed decrease is ||G||_F^2 / (2 L_F). Returns the
// descents of SpecGD: from W_0, from the peak, and from Config::restarts() up to where GD diverged.
std::vector<Descent> run_gradient_descent(const RegressionProblem& problem, const Config& c,
                                          const Trial& trial, Descent& descent, Track& track) {
  std::vector<Descent> out = {{specgd, 0, problem.start, true},
                              {specgd_from_peak, 0, problem.start}};
  const std::vector<std::uint64_t> restarts = c.restarts();
  double largest = -1.0;
  descend(problem, c, trial, descent, track, [&](std::uint64_t t, const arma::mat& G) {
    const double rank = nuclear_rank(G);
    track.set(nuclear_rank_of(gd), rank, t);
    if (rank > largest) {
      largest = rank;
      out[1].start = t;
      out[1].E = descent.E;
    }
    if (std::ranges::binary_search(restarts, t)) out.push_back({specgd_from(t), t, descent.E});
    descent.E = problem.after_euclidean_step(descent.E, c.step_scale);
    return problem.L_F > 0 ? arma::dot(G, G) / (2 * problem.L_F) : 0.0;
  });
  return out;
}

// Spectral steps (||G||_* / L_op) polar(G), whose guaranteed decrease is ||G||_*^2 / (2 L_op).
void run_spectral_descent(const RegressionProblem& problem, const Config& c, const Trial& trial,
                          Descent& descent, Track& track) {
  const double polar_rtol = c.polar_rtol > 0 ? c.polar_rtol : -1.0;
  const std::vector<double>& gap = track.values(gap_of(descent.name));
  double euclidean_gap = 0.0, ratio = 0.0;  // of the last iterate: the gap after one Euclidean step
                                            // from it, and nr(G) / st(A)
  descend(problem, c, trial, descent, track, [&](std::uint64_t t, const arma::mat& G) {
    if (ratio >= 2 && c.steps_as_stated())
      descent.two_sided.count(gap[t] > euclidean_gap + slack * gap[t - 1]);
    const SpectralStep<double> spectral = spectral_step(G, problem.L_op, polar_rtol);
    const double squared_nuclear_norm = spectral.nuclear_norm * spectral.nuclear_norm,
                 squared_norm = arma::dot(G, G),
                 rank = squared_norm > 0 ? squared_nuclear_norm / squared_norm : undefined;
    if (descent.records_rank) track.set(nuclear_rank_of(descent.name), rank, t);
    ratio = rank / problem.stable_rank_A;
    if (ratio >= 2) euclidean_gap = problem.objective_gap(problem.after_euclidean_step(descent.E));
    descent.E += c.step_scale * spectral.step;
    return problem.L_op > 0 ? squared_nuclear_norm / (2 * problem.L_op) : 0.0;
  });
}

RegressionProblem draw_problem(const Config& c, const Trial& trial) {
  const bool standard = c.scale == "paper";
  const double v_std = standard ? 1.0 : 1.0 / std::sqrt(static_cast<double>(c.d));
  const double w_std = standard ? 1.0 : 1.0 / std::sqrt(static_cast<double>(c.k));
  return regression_problem(draw_random_features(trial, {c.m, c.k, c.d, c.n}, c.activation, v_std),
                            draw_gaussian<double>(trial, "W_sharp", c.m, c.k, w_std));
}

double first_below(const std::vector<double>& ahead, const std::vector<double>& behind) {
  for (std::size_t t = 1; t < ahead.size(); ++t) {
    if (ahead[t] < behind[t]) return static_cast<double>(t);
  }
  return undefined;
}

// For the progress bar; a run from the peak may be shorter.
void expect_steps(const Config& c, const Trial& trial) {
  std::uint64_t steps = (c.steps + 1) * (c.from_peak ? 3 : 2);
  for (const std::uint64_t restart : c.restarts()) steps += c.steps + 1 - restart;
  trial.expect(steps, "step");
}

TrialRecord descend_by_both(const Config& c, const Trial& trial) {
  const RegressionProblem problem = draw_problem(c, trial);
  expect_steps(c, trial);
  Track track(columns_of(c));
  Descent euclidean{gd, 0, problem.start};
  // The longest runs come first, so that the threads finish together.
  std::vector<Descent> descents = run_gradient_descent(problem, c, trial, euclidean, track);
  const std::uint64_t peak = descents[1].start;
  if (!c.from_peak) descents.erase(descents.begin() + 1);
  trial.for_each_piece(descents.size(), [&](std::size_t i) {
    run_spectral_descent(problem, c, trial, descents[i], track);
  });

  const std::vector<double>& ranks = track.values(nuclear_rank_of(gd));
  track.set(stable_rank_A, problem.stable_rank_A);
  track.set(nuclear_rank_init, ranks[0]);
  track.set(of_peak(peak_nuclear_rank), ranks[peak]);
  track.set(of_peak(peak_iteration), static_cast<double>(peak));
  track.set(first_ahead, first_below(track.values(gap_of(specgd)), track.values(gap_of(gd))));
  TrialRecord record = track.take();
  if (c.from_peak) {
    const std::string name = gap_of(specgd_from_peak);
    std::vector<double> gap = record.array(name);
    gap.resize(c.steps + 1 - peak);
    record.set(name, std::move(gap));
  }
  record.add(guarantee_gd.id, euclidean.guarantee);
  double not_finite = euclidean.diverged;
  for (const Descent& descent : descents) {
    not_finite += descent.diverged;
    record.add(guarantee_specgd.id, descent.guarantee);
    record.add(two_sided.id, descent.two_sided);
  }
  record.set(diverged, not_finite);
  return record;
}

// Claims ------------------------------------------------------------------------------------------

// Matrices of rank one have nr = st = 1 up to rounding.
constexpr double rounding = 1e-5;
constexpr double early = 0.25;  // of the iterations

// The last objective gap of a run; infinite if the run diverged.
double final_gap(const TrialRecord& record, const std::string& run) {
  const double last = record.array(gap_of(run)).back();
  return std::isnan(last) ? std::numeric_limits<double>::infinity() : last;
}

Divergence divergence_of(const Records& records, const Method& method) {
  return {method.label, per_trial(records, [&](const TrialRecord& record) {
            return std::isinf(final_gap(record, method.run));
          })};
}

std::vector<Divergence> divergences(const Records& records) {
  std::vector<Divergence> out;
  for (const Method& method : methods) out.push_back(divergence_of(records, method));
  return out;
}

// Where and how often one run violates nr(grad L(W_t)) >= st(A). If a run ends in a loss that is
// not finite, its later iterations are no cases, and without a violation before them "at every
// iteration" is undecided.
void judge_condition(const Method& method, const Records& records, Claims& claims) {
  const Statement condition =
      Place{spectral::fig_3, "spectral/eq-1.5/", "Section 1.2, eq. (1.5), and its Figure 3 (i)",
            Part::text, Kind::figure}(
          method.run, say("The nuclear rank of the gradient is at least the stable rank of A at "
                          "every iteration of {} on ReLU features",
                          method.label));
  Tally violated_at;
  const Tally found = tally_of(records, [&](const TrialRecord& record, Tally& tally) {
    const std::vector<double>& nuclear_rank = record.array(nuclear_rank_of(method.run));
    const double stable_rank = record.scalar(stable_rank_A);
    for (std::size_t t = 0; t < nuclear_rank.size(); ++t) {
      const double ratio = nuclear_rank[t] / stable_rank;
      if (!std::isfinite(ratio)) continue;
      const bool violated = ratio < 1 - rounding;
      tally.count(violated, ratio);
      if (violated) violated_at.count(true, static_cast<double>(t));
    }
  });
  std::string detail = found.cases > 0 ? say("smallest nr(grad L(W_t)) / st(A) {}", found.smallest)
                                       : "the gradient or A is zero";
  if (found.violations > 0)
    detail +=
        say(", violated between iterations {} and {}", violated_at.smallest, violated_at.largest);
  const Divergence divergence = divergence_of(records, method);
  const bool cut_off = std::ranges::count(divergence.in_trial, true) > 0;
  Claim claim = judge_tally(condition, found, detail);
  if (claim.verdict == Verdict::holds && cut_off) leave_undecided(claim, "a run diverged");
  const auto of_run = claims.about({divergence});
  claims.add(std::move(claim));
}

// What a figure's caption says.
Place in_caption(const std::string& statement_id, const std::string& source) {
  return {statement_id, statement_id + "/", source, Part::caption, Kind::figure};
}

// log10 of the ratio of the final gaps, SpecGD over GD, in each trial: 0 if they are equal,
// infinite if one method ended at the minimum or diverged, undefined if both diverged.
std::vector<double> final_log_ratio(const Records& records) {
  return per_trial(records, [](const TrialRecord& record) {
    const double spectral = final_gap(record, specgd), euclidean = final_gap(record, gd);
    if (spectral == euclidean) return std::isfinite(spectral) ? 0.0 : undefined;
    return std::log10(spectral / euclidean);
  });
}

// Judges which method ends lower; `allowed` is the region of SpecGD's log ratio to GD.
void judge_order(const Statement& statement, Region allowed, const Records& records,
                 Claims& claims) {
  const auto runs = claims.about(divergences(records));
  claims.mean(statement, final_log_ratio(records), compared(allowed),
              "log10 of the ratio of the final objective gaps, SpecGD over GD");
}

void judge_restarts(const Config& c, const Records& records, Claims& claims) {
  const Statement restarts_ahead = in_caption(spectral::fig_3, "Figure 3, left, dashed curves")(
      "restarts-ahead",
      "The final loss of SpecGD restarted from a GD iterate is below that of GD at the same "
      "total number of iterations, on ReLU features");
  const std::vector<std::string> runs = c.restarted_runs();
  if (!claims.applies(
          restarts_ahead,
          runs.empty() ? "the run has no restarts (--restart-every is 0 or at least --steps)" : ""))
    return;
  Tally found, first_step_up;
  std::vector<std::string> behind;
  for (const std::string& run : runs) {
    const Tally here = tally_of(records, [&](const TrialRecord& record, Tally& tally) {
      const std::vector<double>& gap = record.array(gap_of(run));
      // GD diverged before the restart, or the restarted run has no step.
      if (std::isnan(gap.front()) || gap.size() < 2) return;
      const double of_run = final_gap(record, run), of_gd = final_gap(record, gd);
      // Both ended at the minimum, or both diverged.
      if (of_run == of_gd && (of_run == 0 || std::isinf(of_run))) return;
      tally.count(!(of_run < of_gd));
      first_step_up.count(gap[1] > gap[0]);
    });
    found.add(here);
    if (here.violations > 0)
      behind.push_back(run + " in " + plural(static_cast<std::uint64_t>(here.violations), "trial"));
  }
  claims.never_violated(restarts_ahead, found,
                        behind.empty() ? say("the first step increases the loss in {} restarts",
                                             first_step_up.violations)
                                       : "does not end below GD: " + joined(behind));
}

// The first iteration that violates (1.5), as a fraction of the run, in each trial; 1 if no
// iteration does. Undefined if the run diverges in the first quarter without a violation: then
// the rest of the quarter is unknown.
std::vector<double> first_violation(const Records& records, const std::string& run) {
  return per_trial(records, [&](const TrialRecord& record) {
    const std::vector<double>&nuclear_rank = record.array(nuclear_rank_of(run)),
          &gap = record.array(gap_of(run));
    const double stable_rank = record.scalar(stable_rank_A);
    const auto fraction = [&](const auto& values, auto at) {
      return static_cast<double>(at - values.begin()) / static_cast<double>(values.size() - 1);
    };
    const auto violated =
        std::ranges::find_if(nuclear_rank, [&](double nr) { return nr < stable_rank; });
    if (violated != nuclear_rank.end()) return fraction(nuclear_rank, violated);
    const auto lost = std::ranges::find_if(gap, [](double value) { return std::isnan(value); });
    return lost != gap.end() && fraction(gap, lost) <= early ? undefined : 1.0;
  });
}

void judge_violated_early(const Method& method, const Records& records, Claims& claims) {
  const Place fig_11{spectral::fig_11, "/eq-1.5-violated-early/", "Figure 11, right", Part::text,
                     Kind::figure};
  const Statement violated = fig_11(
      method.run, say("First iteration of {} on SwiGLU features that violates (1.5), "
                      "nr(grad L(W_t)) >= st(A), as a fraction of the run: at most a quarter",
                      method.label));
  const auto of_run = claims.about({divergence_of(records, method)});
  claims.mean(reading(violated, "a quarter of the iterations, ours"),
              first_violation(records, method.run), {0.0, early},
              "first iteration that violates (1.5), as a fraction of the run; 1 if no iteration "
              "does; undefined if the run diverges before it is known");
}

}  // namespace

void Config::judge(const Records& records, Claims& claims) const {
  const auto unless_activation = [&](const char* name) {
    return activation == name
               ? ""
               : say("the statement is about {}; this run uses {}", name, activation);
  };
  // Figure 11, where the paper says that (1.5) is violated, has a claim of its own.
  if (activation == "relu") {
    for (const Method& method : methods) judge_condition(method, records, claims);
  }
  claims.never_violated(guarantee_gd, records, "counted at every step of GD");
  claims.never_violated(guarantee_specgd, records,
                        "counted at every step of SpecGD and of its restarts");
  claims.never_violated(two_sided, records,
                        "counted at every such iterate of SpecGD and of its restarts");
  {
    const auto hypothesis = claims.only_where(unless_activation("relu"));
    judge_order(in_caption(spectral::fig_3, "Figure 3 (ii)")(
                    "specgd-ahead",
                    "log10 of the final loss of SpecGD over that of GD on ReLU features: below 0"),
                at_most(0.0), records, claims);
    judge_restarts(*this, records, claims);
  }
  const auto hypothesis = claims.only_where(unless_activation("swiglu"));
  for (const Method& method : methods) judge_violated_early(method, records, claims);
  judge_order(in_caption(spectral::fig_11, "Figure 11, left")(
                  "gd-ahead",
                  "log10 of the final loss of SpecGD over that of GD on SwiGLU features: above 0"),
              at_least(0.0), records, claims);
}

// The result --------------------------------------------------------------------------------------

namespace {

// True if the mean reverses direction at most steps, because the step 1/L_op overshoots the
// steepest directions.
bool alternates(const Series& series) {
  std::size_t turns = 0;
  for (std::size_t t = 2; t < series.mean.size(); ++t) {
    if ((series.mean[t] - series.mean[t - 1]) * (series.mean[t - 1] - series.mean[t - 2]) < 0)
      ++turns;
  }
  return 2 * turns > series.mean.size();
}

const Quantity even_iterates = At("run", specgd) / even_nuclear_rank,
               odd_iterates = At("run", specgd) / odd_nuclear_rank;

// The iterates t = first, first + 2, ... of a series that alternates; each half is smooth.
void add_every_other(const Column& column, std::size_t first, const Quantity& half, Numbers& out) {
  std::vector<double> x;
  for (std::size_t t = first; t < column.x.size(); t += 2) x.push_back(column.x[t]);
  out.series(half, column.x_name, x, [&](const TrialRecord& record, std::size_t i) {
    return record.array(column.quantity)[first + 2 * i];
  });
}

// The objective gap of a run and its logarithm, as far as every trial has them.
void add_gap(const Records& records, const std::string& run, Column gap, Numbers& out) {
  for (const TrialRecord& record : records)
    gap.x.resize(std::min(gap.x.size(), record.array(gap.quantity).size()));
  out.add({gap});
  out.series(log_gap_of(run), gap.x_name, gap.x, [&](const TrialRecord& record, std::size_t i) {
    const double value = record.array(gap.quantity)[i];
    return value > 0 ? std::log10(value) : undefined;
  });
}

// A run diverged if it ended in a loss that is not finite. A restart whose first loss is undefined
// did not begin, because GD had diverged.
void add_divergences(const Config& c, Numbers& out) {
  const auto add = [&](const std::string& run, bool always_begins) {
    out.diverged(run, per_trial(out.records(), [&](const TrialRecord& record) {
                   const bool begins =
                       always_begins || std::isfinite(record.array(gap_of(run)).front());
                   return begins && std::isinf(final_gap(record, run)) ? 1.0 : 0.0;
                 }));
  };
  for (const Method& method : methods) add(method.run, true);
  for (const std::string& run : c.restarted_runs()) add(run, false);
}

}  // namespace

std::string Config::title() const {
  return say("GD compared with SpecGD on random-feature regression, {} features", activation);
}

void Config::derive(Numbers& out) const {
  out.add(numbers());
  for (const Method& method : methods)
    add_gap(out.records(), method.run, over_iterations(*this, gap_of(method.run)), out);
  for (const Method& method : methods)
    out.add({over_iterations(*this, nuclear_rank_of(method.run))});
  const Column of_specgd = over_iterations(*this, nuclear_rank_of(specgd));
  out.sometimes(!out.declares() && alternates(out.at(of_specgd.quantity)), [&] {
    add_every_other(of_specgd, 0, even_iterates, out);
    add_every_other(of_specgd, 1, odd_iterates, out);
  });
  const std::vector<std::string> runs = restarted_runs();
  const std::vector<Column> gaps = gaps_of_restarts(*this);
  for (std::size_t i = 0; i < runs.size(); ++i) add_gap(out.records(), runs[i], gaps[i], out);
  add_divergences(*this, out);
  out.scalar(final_log10_gap_ratio, final_log_ratio(out.records()));
}

// Figures 3 and 11. A restarted run counts its iterations from 0; its curve is shifted to the
// iteration at which it starts.
void Config::show(Display& out) const {
  const auto mean = [](LineStyle style, int color, double x_offset = 0.0) {
    return CurveLook{style, color, x_offset, BandKind::interval};
  };
  PanelBuilder gap = out.panel("Objective gap", {"iteration"}, {"log10 of the gap L(W) - min L"});
  gap.curve(log_gap_of(gd), "gradient descent (GD)", mean(LineStyle::line, 0))
      .curve(log_gap_of(specgd), "spectral descent (SpecGD)", mean(LineStyle::line, 1));
  const char* label = "SpecGD from a GD iterate";
  for (const std::uint64_t t : restarts()) {
    gap.curve(log_gap_of(specgd_from(t)), label,
              mean(LineStyle::dashed, 1, static_cast<double>(t)));
    label = "";
  }
  const double peak =
      std::round(summarize(scalars_of(out.records(), of_peak(peak_iteration))).mean);
  gap.curve_if_measured(log_gap_of(specgd_from_peak), "SpecGD from the peak of GD's nuclear rank",
                        mean(LineStyle::dotted, 2, peak));
  // Single iterates are judged here, so the bands show the spread.
  PanelBuilder ranks =
      out.panel("Nuclear rank of the gradient", {"iteration"}, rank_axis("nuclear rank nr(G)"));
  ranks.curve(nuclear_rank_of(gd), "gradient descent (GD)", {LineStyle::line, 0});
  if (out.has_series(even_iterates)) {
    out.note(
        "The nuclear rank along SpecGD alternates from step to step; the figure draws even and odd "
        "iterates as separate curves.");
    ranks.curve(even_iterates, "SpecGD, even iterates", {LineStyle::line, 1})
        .curve(odd_iterates, "SpecGD, odd iterates", {LineStyle::dashed, 1});
  } else {
    ranks.curve(nuclear_rank_of(specgd), "spectral descent (SpecGD)", {LineStyle::line, 1});
  }
  ranks.line(summarize(scalars_of(out.records(), stable_rank_A)).mean, "st(A)");
}

Work Config::work() const {
  return each_trial([c = *this](Trial& trial) { return descend_by_both(c, trial); });
}

}  // namespace ranklab::trajectory

namespace ranklab {

std::unique_ptr<Study> make_trajectory_study() {
  return std::make_unique<trajectory::Config>();
}

}  // namespace ranklab
