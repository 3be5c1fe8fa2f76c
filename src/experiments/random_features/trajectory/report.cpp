#include "experiments/random_features/trajectory/report.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace ranklab {
namespace {

using Records = std::vector<TrialRecord>;
constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<double> column(const Records& records, const std::function<double(const TrialRecord&)>& value) {
  std::vector<double> out;
  for (const auto& record : records) out.push_back(value(record));
  return out;
}

double total(const Records& records, const std::string& name, std::size_t entry) {
  double sum = 0;
  for (const auto& record : records) sum += record.array(name).at(entry);
  return sum;
}

std::vector<std::string> restart_names(const TrajectoryConfig& config) {
  std::vector<std::string> names;
  if (config.restart_every == 0) return names;
  for (std::uint64_t t = config.restart_every; t < config.steps; t += config.restart_every)
    names.push_back("specgd_from_" + std::to_string(t));
  return names;
}

// [Spectral] eq. (1.5), nr(grad L(W_t)) >= st(A), along one trajectory: where and how often it is violated.
struct Condition {
  double cases = 0, violations = 0, first = infinity, last = -1, smallest_ratio = infinity;
};

Condition condition_along(const Records& records, const std::string& method) {
  Condition out;
  for (const auto& record : records) {
    const double stable_rank = record.scalar("stable_rank_A");
    const auto& nuclear_rank = record.array(method + ".nuclear_rank");
    for (std::size_t t = 0; t < nuclear_rank.size(); ++t) {
      const double ratio = nuclear_rank[t] / stable_rank;
      if (!std::isfinite(ratio)) continue;
      out.cases += 1;
      out.smallest_ratio = std::min(out.smallest_ratio, ratio);
      if (ratio >= 1) continue;
      out.violations += 1;
      out.first = std::min(out.first, static_cast<double>(t));
      out.last = std::max(out.last, static_cast<double>(t));
    }
  }
  return out;
}

Claim condition_claim(const Records& records, const std::string& method, const std::string& name) {
  const Condition found = condition_along(records, method);
  std::string detail = "smallest nr/st " + short_number(found.smallest_ratio);
  if (found.violations > 0)
    detail += ", violated between iterations " + short_number(found.first) + " and " + short_number(found.last);
  return judge_violations("spectral/eq-1.5/" + method, "Section 1.2, eq. (1.5), and its Figure 3 (i)",
                          "along " + name + " the gradient's nuclear rank is at least the stable rank of A, at every iteration",
                          found.violations, found.cases, found.cases > 0 ? detail : "the gradient or A is zero");
}

// Statements about single steps; no case is counted where --step-scale is not the step that they are about.
void add_step_claims(Result& result, const Records& records) {
  result.claims.push_back(judge_violations("spectral/eq-1.4/guarantee-gd", "Section 1.2, after eq. (1.4)",
                                           "a Euclidean step 1/L_F decreases the loss by at least ||G||_F^2 / (2 L_F)",
                                           total(records, "checks.gd", 1), total(records, "checks.gd", 0), "every step of GD"));
  result.claims.push_back(judge_violations("spectral/eq-1.4/guarantee-specgd", "Section 1.2, after eq. (1.4)",
                                           "a spectral step ||G||_*/L_op decreases the loss by at least ||G||_*^2 / (2 L_op)",
                                           total(records, "checks.specgd", 1), total(records, "checks.specgd", 0),
                                           "every step of SpecGD, restarts included"));
  result.claims.push_back(judge_violations("spectral/eq-1.5/two-sided", "Section 1.2, after eq. (1.5)",
                                           "where nr(G) >= 2 st(A), one spectral step ends no higher than one Euclidean step",
                                           total(records, "checks.specgd", 3), total(records, "checks.specgd", 2),
                                           "every such iterate of SpecGD, restarts included"));
}

double log_ratio(double a, double b) {
  return std::log10(a / b);
}

// log10 of SpecGD's last gap over GD's, per trial.
std::vector<double> final_log_ratio(const Records& records, const std::string& series) {
  return column(records, [&](const TrialRecord& record) {
    return log_ratio(record.array(series + ".objective_gap").back(), record.array("gd.objective_gap").back());
  });
}

Claim restarts_claim(const TrajectoryConfig& config, const Records& records) {
  const std::string id = "spectral/fig-3/restarts-ahead", source = "Figure 3, left, dashed curves";
  const std::string statement = "SpecGD restarted from a GD iterate ends below GD, after as many iterations in all";
  std::vector<std::string> names = restart_names(config);
  if (config.from_peak) names.push_back("specgd_from_peak");
  if (config.activation != "relu")
    return not_applicable(id, source, statement, "the figure is about relu, this run about " + config.activation);
  if (names.empty()) return not_applicable(id, source, statement, "no restarts (--restart-every 0, or not below --steps)");
  double cases = 0, violations = 0, first_step_up = 0;
  std::string behind;
  for (const auto& name : names) {
    double behind_here = 0;
    for (const auto& record : records) {
      const auto& gap = record.array(name + ".objective_gap");
      cases += 1;
      if (!(gap.back() < record.array("gd.objective_gap").back())) behind_here += 1;
      if (gap.size() > 1 && gap[1] > gap[0]) first_step_up += 1;
    }
    violations += behind_here;
    if (behind_here > 0) behind += (behind.empty() ? "behind: " : ", ") + name + " in " + short_number(behind_here) + " trials";
  }
  return judge_violations(id, source, statement, violations, cases,
                          behind.empty() ? "first step raises the loss in " + short_number(first_step_up) + " restarts" : behind);
}

void add_figure_3_claims(Result& result, const TrajectoryConfig& config, const Records& records) {
  const std::string statement = "on ReLU features SpecGD ends below GD";
  if (config.activation == "relu") {
    result.claims.push_back(judge_mean("spectral/fig-3/specgd-ahead", "Figure 3 (ii)", statement,
                                       final_log_ratio(records, "specgd"), -infinity, 0.0,
                                       "log10 of the ratio of the last objective gaps, SpecGD over GD"));
  } else {
    result.claims.push_back(
        not_applicable("spectral/fig-3/specgd-ahead", "Figure 3 (ii)", statement, "the run's activation is " + config.activation));
  }
  result.claims.push_back(restarts_claim(config, records));
}

// The first iteration that violates (1.5), as a part of the run, averaged over the trials; 1 where none does.
std::vector<double> first_violation(const Records& records, const std::string& method) {
  return column(records, [&](const TrialRecord& record) {
    const auto& nuclear_rank = record.array(method + ".nuclear_rank");
    const double stable_rank = record.scalar("stable_rank_A");
    const auto found = std::find_if(nuclear_rank.begin(), nuclear_rank.end(), [&](double nr) { return nr < stable_rank; });
    const double steps = static_cast<double>(nuclear_rank.size() - 1);
    return found == nuclear_rank.end() ? 1.0 : static_cast<double>(found - nuclear_rank.begin()) / steps;
  });
}

void add_figure_11_claims(Result& result, const TrajectoryConfig& config, const Records& records) {
  const std::string ahead = "with SwiGLU features GD ends below SpecGD";
  const std::string reason = "the run's activation is " + config.activation;
  const bool applies = config.activation == "swiglu";
  for (const std::string method : {"gd", "specgd"}) {
    const std::string id = "spectral/fig-11/eq-1.5-violated-early/" + method, source = "Figure 11, right";
    const std::string statement =
        "with SwiGLU features eq. (1.5) is violated early, within the first quarter of the iterations, along " + method;
    result.claims.push_back(applies ? judge_mean(id, source, statement, first_violation(records, method), 0.0, 0.25,
                                                 "first violation as a part of the run; 1 where there is none")
                                    : not_applicable(id, source, statement, reason));
  }
  result.claims.push_back(applies
                              ? judge_mean("spectral/fig-11/gd-ahead", "Figure 11, left", ahead, final_log_ratio(records, "specgd"),
                                           0.0, infinity, "log10 of the ratio of the last objective gaps, SpecGD over GD")
                              : not_applicable("spectral/fig-11/gd-ahead", "Figure 11, left", ahead, reason));
}

// True where the mean turns up or down at most steps, as the step 1/L_op overshoots the steepest directions.
bool alternates(const Series& series) {
  std::size_t turns = 0;
  for (std::size_t t = 2; t < series.mean.size(); ++t) {
    if ((series.mean[t] - series.mean[t - 1]) * (series.mean[t - 1] - series.mean[t - 2]) < 0) ++turns;
  }
  return 2 * turns > series.mean.size();
}

Figure trajectory_figure(const TrajectoryConfig& config, const Records& records, bool with_peak) {
  const double stable_rank = summarise(scalars_of(records, "stable_rank_A")).mean;
  const double peak = std::round(summarise(scalars_of(records, "gd.nuclear_rank_peak_iteration")).mean);
  Panel gap{"Objective gap", {"iteration"}, {"L(W) - min L", Scale::log}, {}, {}};
  gap.curves.push_back({"gd.objective_gap", "GD", LineStyle::line, 0});
  gap.curves.push_back({"specgd.objective_gap", "SpecGD", LineStyle::line, 1});
  bool first = true;
  for (const auto& name : restart_names(config)) {
    gap.curves.push_back(
        {name + ".objective_gap", first ? "SpecGD from a GD iterate" : "", LineStyle::dashed, 1, std::stod(name.substr(12))});
    first = false;
  }
  if (with_peak)
    gap.curves.push_back(
        {"specgd_from_peak.objective_gap", "SpecGD from the peak of GD's nuclear rank", LineStyle::dotted, 2, peak});
  Panel rank{"Nuclear rank of the gradient", {"iteration"}, {"nr", Scale::log}, {}, {}};
  rank.curves.push_back({"gd.nuclear_rank", "GD", LineStyle::line, 0});
  rank.curves.push_back({"specgd.nuclear_rank", "SpecGD", LineStyle::line, 1});
  if (std::isfinite(stable_rank)) rank.lines.push_back({stable_rank, "st(A)"});
  return {{gap, rank}};
}

}  // namespace

Result trajectory_result(const TrajectoryConfig& config, const Records& records) {
  Result result;
  result.title = "GD against SpecGD on random-feature regression, " + config.activation + " features";
  for (const char* name : {"stable_rank_A", "nuclear_rank_init", "gd.nuclear_rank_peak", "gd.nuclear_rank_peak_iteration",
                           "first_iteration_specgd_ahead", "diverged_trajectories"}) {
    result.scalars.push_back({name, scalars_of(records, name)});
    if (std::string(name) == "diverged_trajectories") {
      for (const double count : result.scalars.back().per_trial) result.diverged |= count > 0;
    }
  }
  result.scalars.push_back({"final_log10_gap_ratio", final_log_ratio(records, "specgd")});

  std::vector<std::string> names = {"gd.objective_gap", "specgd.objective_gap", "gd.nuclear_rank", "specgd.nuclear_rank"};
  for (const auto& name : restart_names(config)) names.push_back(name + ".objective_gap");
  if (config.from_peak) names.push_back("specgd_from_peak.objective_gap");
  for (const auto& name : names) {
    result.series.push_back(series_over_trials(name, "iteration", arrays_of(records, name)));
    if (name == "specgd.nuclear_rank" && alternates(result.series.back())) {
      result.notes.push_back(
          "The nuclear rank along SpecGD goes up and down from step to step; its curve in the figure is that zigzag.");
    }
  }

  result.claims.push_back(condition_claim(records, "gd", "GD"));
  result.claims.push_back(condition_claim(records, "specgd", "SpecGD"));
  add_step_claims(result, records);
  add_figure_3_claims(result, config, records);
  add_figure_11_claims(result, config, records);
  result.figure = trajectory_figure(config, records, config.from_peak);
  return result;
}

}  // namespace ranklab
