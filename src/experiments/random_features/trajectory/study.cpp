#include <algorithm>
#include <cmath>
#include <limits>

#include "core/statistics.hpp"
#include "core/undefined.hpp"
#include "experiments/random_features/trajectory/trajectory.hpp"
#include "models/activations.hpp"
#include "report/builder.hpp"

namespace ranklab {
namespace trajectory {
namespace {

// Claims ------------------------------------------------------------------------------------------

// Matrices of rank one have nr = st = 1 up to rounding.
constexpr double rounding = 1e-5;

// The last objective gap of a run; infinite if the run diverged.
double final_gap(const TrialRecord& record, const std::string& run) {
  const double last = record.array(gap_of(run)).back();
  return std::isnan(last) ? std::numeric_limits<double>::infinity() : last;
}

std::vector<Divergence> divergences(const Records& records, const std::vector<std::string>& runs) {
  std::vector<Divergence> out;
  for (const std::string& run : runs) {
    out.push_back({run == gd ? "GD" : "SpecGD", {}});
    for (const TrialRecord& record : records)
      out.back().in_trial.push_back(std::isinf(final_gap(record, run)));
  }
  return out;
}

// Where and how often one run violates nr(grad L(W_t)) >= st(A). If a run ends in a loss that is
// not finite, its later iterations are no cases, and without a violation before them "at every
// iteration" is undecided.
void judge_condition(const RankCondition& condition, const Records& records, Claims& claims) {
  Tally violated_at;
  const Tally found = tally_of(records, [&](const TrialRecord& record, Tally& tally) {
    const std::vector<double>& nuclear_rank = record.array(nuclear_rank_of(condition.run));
    const double stable_rank = record.scalar(stable_rank_A);
    for (std::size_t t = 0; t < nuclear_rank.size(); ++t) {
      const double ratio = nuclear_rank[t] / stable_rank;
      if (!std::isfinite(ratio)) continue;
      const bool violated = ratio < 1 - rounding;
      tally.count(violated, ratio);
      if (violated) violated_at.count(true, static_cast<double>(t));
    }
  });
  std::string detail = found.cases > 0
                           ? "smallest nr(grad L(W_t)) / st(A) " + short_number(found.smallest)
                           : "the gradient or A is zero";
  if (found.violations > 0) {
    detail += ", violated between iterations " + short_number(violated_at.smallest) + " and " +
              short_number(violated_at.largest);
  }
  const std::vector<Divergence> run = divergences(records, {condition.run});
  const bool cut_off = std::ranges::count(run.front().in_trial, true) > 0;
  Claim claim = judge_tally(condition.statement, found, detail);
  if (claim.verdict == Verdict::holds && cut_off) leave_undecided(claim, "a run diverged");
  const auto of_run = claims.about(run);
  claims.add(std::move(claim));
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

// Judges which method ends lower: `sign` is that of SpecGD's log ratio to GD.
void judge_order(const Statement& statement, double sign, const Records& records, Claims& claims) {
  const auto runs = claims.about(divergences(records, {gd, specgd}));
  claims.mean(statement, final_log_ratio(records),
              compared(sign < 0 ? at_most(0.0) : at_least(0.0)),
              "log10 of the ratio of the final objective gaps, SpecGD over GD");
}

void judge_restarts(const Plan& plan, const Records& records, Claims& claims) {
  const std::string no_restarts =
      "the run has no restarts (--restart-every is 0 or at least --steps)";
  if (!claims.applies(restarts_ahead, plan.restarted_runs.empty() ? no_restarts : "")) return;
  Tally found, first_step_up;
  std::vector<std::string> behind;
  for (const std::string& run : plan.restarted_runs) {
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
      behind.push_back(run + " in " +
                       counted(static_cast<std::uint64_t>(here.violations), "trial"));
  }
  claims.never_violated(restarts_ahead, found,
                        behind.empty() ? "the first step increases the loss in " +
                                             short_number(first_step_up.violations) + " restarts"
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

// The result --------------------------------------------------------------------------------------

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

// The iterates t = first, first + 2, ... of a series that alternates; each half is smooth.
Series every_other(const Series& all, std::size_t first, const std::string& name) {
  Series out{name, all.x_name, {}, {}, {}};
  for (std::size_t t = first; t < all.x.size(); t += 2) {
    out.x.push_back(all.x[t]);
    out.mean.push_back(all.mean[t]);
    out.std.push_back(all.std[t]);
    if (!all.n.empty()) out.n.push_back(all.n[t]);
  }
  return out;
}

void add_series(const Plan& plan, ResultBuilder& out) {
  for (const std::string& name :
       {gap_of(gd), gap_of(specgd), nuclear_rank_of(gd), nuclear_rank_of(specgd)}) {
    out.series(name, "iteration");
  }
  if (alternates(out.result().series.back())) {
    out.note(
        "The nuclear rank along SpecGD alternates from step to step; the figure draws even and odd "
        "iterates as separate curves.");
    const Series zigzag = out.result().series.back();
    out.series(every_other(zigzag, 0, specgd_nuclear_rank_even));
    out.series(every_other(zigzag, 1, specgd_nuclear_rank_odd));
  }
  for (const std::string& run : plan.restarted_runs) out.series(gap_of(run), "iteration");
}

// Figures 3 and 11. A restarted run counts its iterations from 0; its curve is shifted to the
// iteration at which it starts.
void add_figure(const Plan& plan, ResultBuilder& out) {
  const auto mean = [](LineStyle style, int color, double x_offset = 0.0) {
    return CurveLook{style, color, x_offset, BandKind::interval};
  };
  PanelBuilder gap =
      out.panel("Objective gap", {"iteration"}, log_axis("objective gap L(W) - min L"));
  gap.curve(gap_of(gd), "gradient descent (GD)", mean(LineStyle::line, 0))
      .curve(gap_of(specgd), "spectral descent (SpecGD)", mean(LineStyle::line, 1));
  for (const std::uint64_t t : plan.restarts) {
    gap.curve(gap_of(specgd_from(t)), t == plan.restarts.front() ? "SpecGD from a GD iterate" : "",
              mean(LineStyle::dashed, 1, static_cast<double>(t)));
  }
  const double peak = std::round(summarize(scalars_of(out.records(), peak_iteration)).mean);
  gap.curve_if_measured(gap_of(specgd_from_peak), "SpecGD from the peak of GD's nuclear rank",
                        mean(LineStyle::dotted, 2, peak));
  // Single iterates are judged here, so the bands show the spread.
  PanelBuilder ranks =
      out.panel("Nuclear rank of the gradient", {"iteration"}, rank_axis("nuclear rank nr(G)"));
  ranks.curve(nuclear_rank_of(gd), "gradient descent (GD)", {LineStyle::line, 0});
  if (out.has_series(specgd_nuclear_rank_even)) {
    ranks.curve(specgd_nuclear_rank_even, "SpecGD, even iterates", {LineStyle::line, 1})
        .curve(specgd_nuclear_rank_odd, "SpecGD, odd iterates", {LineStyle::dashed, 1});
  } else {
    ranks.curve(nuclear_rank_of(specgd), "spectral descent (SpecGD)", {LineStyle::line, 1});
  }
  ranks.line(summarize(scalars_of(out.records(), stable_rank_A)).mean, "st(A)");
}

}  // namespace

void judge(const Plan& plan, const Records& records, Claims& claims) {
  const std::string& activation = plan.config.activation;
  const auto unless_activation = [&](const std::string& name) {
    return activation == name ? ""
                              : "the statement is about " + name + "; this run uses " + activation;
  };
  // Figure 11, where the paper says that (1.5) is violated, has a claim of its own.
  if (activation == "relu") {
    for (const RankCondition& each : rank_conditions) judge_condition(each, records, claims);
  }
  claims.never_violated(guarantee_gd, records, "counted at every step of GD");
  claims.never_violated(guarantee_specgd, records,
                        "counted at every step of SpecGD and of its restarts");
  claims.never_violated(two_sided, records,
                        "counted at every such iterate of SpecGD and of its restarts");
  {
    const auto hypothesis = claims.only_where(unless_activation("relu"));
    judge_order(specgd_ahead, -1, records, claims);
    judge_restarts(plan, records, claims);
  }
  const auto hypothesis = claims.only_where(unless_activation("swiglu"));
  for (const char* run : {gd, specgd}) {
    const auto of_run = claims.about(divergences(records, {run}));
    claims.mean(violated_early(run), first_violation(records, run), {0.0, early},
                "first iteration that violates (1.5), as a fraction of the run; 1 if no iteration "
                "does; undefined if the run diverges before it is known");
  }
  judge_order(gd_ahead, 1, records, claims);
}

Result report(const Plan& plan, const Records& records) {
  ResultBuilder out("GD compared with SpecGD on random-feature regression, " +
                        plan.config.activation + " features",
                    records);
  out.scalars(
      {stable_rank_A, nuclear_rank_init, peak_nuclear_rank, peak_iteration, first_ahead, diverged});
  out.diverged_where(diverged);
  out.scalar("final_log10_gap_ratio", final_log_ratio(records));
  add_series(plan, out);
  judge(plan, records, out.claims());
  add_figure(plan, out);
  return out.take();
}

}  // namespace trajectory

namespace {

class TrajectoryStudy : public Study {
 public:
  std::vector<Field> fields() override {
    constexpr std::uint64_t largest = 1'000'000;
    TrajectoryConfig& c = config_;
    return {
        choice_field("activation", c.activation, activation_names(), "sigma",
                     "activation of the features; swiglu is gated"),
        size_field("m", c.m, 1, largest, "m", "rows of W"),
        size_field("k", c.k, 1, largest, "k", "features (columns of W)"),
        size_field("d", c.d, 1, largest, "d", "input dimension"),
        size_field("n", c.n, 1, largest, "n", "samples"),
        size_field("steps", c.steps, 1, 100'000'000, "T", "iterations of each optimizer"),
        size_field("restart-every", c.restart_every, 0, 100'000'000, "",
                   "restart SpecGD from the GD iterates at multiples of this; 0: no such restarts"),
        switch_field("from-peak", c.from_peak,
                     "restart SpecGD from the GD iterate with the largest nuclear rank"),
        choice_field(
            "scale", c.scale, {"code", "paper"}, "",
            "scale of the weights; code: V ~ N(0, 1/d), W# ~ N(0, 1/k); paper: both N(0, 1)"),
        excluding_low(real_field("step-scale", c.step_scale, 0.0, 100.0, "",
                                 "factor on the steps of both methods; GD diverges above 2")),
        real_field(
            "polar-rtol", c.polar_rtol, 0.0, 1.0, "",
            "singular values up to this fraction of the largest count as 0; 0: max(m, k) eps"),
    };
  }

  Estimate estimate() const override {
    const auto real = [](std::uint64_t size) { return static_cast<double>(size); };
    const double m = real(config_.m), k = real(config_.k), d = real(config_.d), n = real(config_.n);
    const double steps = real(config_.steps);
    const double restarts =
        config_.restart_every == 0 ? 0 : std::floor((steps - 1) / real(config_.restart_every));
    const double spectral_steps = steps * (1 + restarts / 2 + (config_.from_peak ? 1 : 0));
    Estimate cost;
    // The features, the Gram matrix and its eigenvectors, the iterates kept for restarts, the
    // workspace of a step, and the series.
    cost.bytes = 8 * (3 * k * n + d * n + 2 * k * d + 4 * k * k + (restarts + 16) * m * k +
                      4 * steps + spectral_steps);
    return cost;
  }

  Work work() const override {
    return each_trial([plan = trajectory::Plan(config_)](Trial& trial) {
      return trajectory::run_trial(plan, trial);
    });
  }
  Result report(const Records& records) const override {
    return trajectory::report(trajectory::Plan(config_), records);
  }

 private:
  TrajectoryConfig config_;
};

}  // namespace

std::unique_ptr<Study> make_trajectory_study() {
  return std::make_unique<TrajectoryStudy>();
}

}  // namespace ranklab
