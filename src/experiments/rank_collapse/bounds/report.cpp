#include "experiments/rank_collapse/bounds/report.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/rank_collapse/bounds/claims.hpp"
#include "experiments/rank_collapse/bounds/examples.hpp"
#include "experiments/rank_collapse/bounds/trial.hpp"

namespace ranklab::bounds {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
using Records = std::vector<TrialRecord>;

// A scalar of each trial, NaN in trials that do not have it.
std::vector<double> optional_scalars(const Records& records, const std::string& name) {
  std::vector<double> values;
  for (const TrialRecord& record : records) values.push_back(record.has(name) ? record.scalar(name) : undefined);
  return values;
}

void add_counts(Result& result, const Records& records) {
  std::vector<std::string> inequalities;
  for (const Claim& claim : result.claims) {
    const std::string name = claim.id.substr(std::string("lambda-skip/").size());
    const bool counted =
        std::any_of(records.begin(), records.end(), [&](const auto& record) { return record.has("tally/" + name); });
    if (counted) inequalities.push_back(name);
  }
  for (const std::string& name : inequalities) {
    Scalar scalar{"violations." + name, {}};
    for (const TrialRecord& record : records) {
      scalar.per_trial.push_back(record.has("tally/" + name) ? record.array("tally/" + name).at(1) : 0.0);
    }
    std::replace(scalar.name.begin(), scalar.name.end(), '/', '.');
    result.scalars.push_back(std::move(scalar));
  }
}

void add_scalars(Result& result, const BoundsConfig& config, const Records& records) {
  result.scalars.push_back({"degenerate_rows", scalars_of(records, "degenerate_rows")});
  for (const std::string& model : config.models) {
    for (const double a : config.a) {
      const std::string name = model + ".a=" + series_number(a) + ".lambda_needed";
      for (const char* form : {"", "_corrected"}) result.scalars.push_back({name + form, optional_scalars(records, name + form)});
    }
    const std::string name = model + ".lambda_needed_turning";
    result.scalars.push_back({name, optional_scalars(records, name)});
  }
  const auto add = [&](const std::string& theorem, const std::string& quantity, Badness badness) {
    result.scalars.push_back({theorem + "." + quantity, worst_size(config, records, theorem, quantity, badness)});
  };
  add("thm-4.2", "slope", as_large);
  add("thm-4.2", "epsilon", as_small);
  add("thm-4.2", "C", as_large);
  add("thm-4.2", "growth", away_from_three);
  add("thm-A.3", "growth", away_from_three);
  add("thm-A.3", "log_constant", as_large);
  for (const char* theorem : {"thm-A.7", "thm-A.8"}) {
    for (const char* quantity : {"slope", "normalised_ratio", "rank_one_residual"}) add(theorem, quantity, as_large);
  }
  add("thm-A.10", "growth", away_from_three);
  for (const char* name : {"thm-4.3.c", "thm-4.3.lambda_min", "thm-4.3.lambda_max"}) {
    result.scalars.push_back({name, optional_scalars(records, name)});
  }
  add_counts(result, records);
}

// A curve of every trial that has it; none is left out of the result where no trial does.
void add_curve(Result& result, const Records& records, const std::string& name, const std::string& x_name, std::vector<double> x) {
  std::vector<std::vector<double>> curves;
  for (const TrialRecord& record : records) {
    if (record.has(name)) curves.push_back(record.array(name));
  }
  if (!curves.empty()) result.series.push_back(series_over_trials(name, x_name, std::move(x), curves));
}

std::vector<double> layers_from(double first, std::uint64_t last) {
  std::vector<double> x;
  for (double k = first; k <= static_cast<double>(last); ++k) x.push_back(k);
  return x;
}

void add_series(Result& result, const BoundsConfig& config, const Records& records) {
  const std::uint64_t K = config.spec.layers;
  for (const std::string& model : config.models) {
    for (const double lambda : config.lambda) {
      add_curve(result, records, skip_prefix(model, lambda) + "mu", "layer", layers_from(0, K));
    }
    for (const char* name : {".final_mu", ".promised_as_printed", ".promised_by_turning"}) {
      add_curve(result, records, model + name, "lambda", config.lambda);
    }
  }
  for (const char* name : {"thm-4.2.log10_mu", "thm-4.2.log10_bound", "thm-4.3.mu", "thm-4.3.as_printed", "thm-4.3.half_exponent",
                           "thm-4.3.corrected", "thm-A.3.log10_mu", "thm-A.7.mu", "thm-A.7.bound", "thm-A.7.mu_normalized",
                           "thm-A.8.mu", "thm-A.8.bound", "thm-A.8.mu_normalized"}) {
    add_curve(result, records, name, "layer", layers_from(0, K));
  }
  for (const char* name : {"thm-4.2.growth", "thm-A.3.growth"}) add_curve(result, records, name, "layer", layers_from(2, K));
  for (const char* name : {"thm-A.10.rate", "thm-A.10.rate_as_printed", "thm-A.10.rate_corrected"}) {
    add_curve(result, records, name, "layer", layers_from(1, K));
  }
}

// The curves of a panel that the result has.
Panel panel_of(const Result& result, Panel panel, const std::vector<Curve>& curves) {
  for (const Curve& curve : curves) {
    const bool known =
        std::any_of(result.series.begin(), result.series.end(), [&](const Series& series) { return series.name == curve.series; });
    if (known) panel.curves.push_back(curve);
  }
  return panel;
}

Panel skip_panel(const Result& result, const BoundsConfig& config) {
  Panel panel{"Theorem 4.1: mu / sqrt N after K = " + std::to_string(config.spec.layers) + " layers",
              {"lambda > 0", Scale::log},
              {"mu / sqrt N"},
              {},
              {}};
  std::vector<Curve> curves;
  for (std::size_t i = 0; i < config.models.size(); ++i) {
    curves.push_back({config.models[i] + ".final_mu", config.models[i], LineStyle::line_points, static_cast<int>(i)});
  }
  const int next = static_cast<int>(config.models.size());
  const std::string& model = config.models.front();
  curves.push_back({model + ".promised_by_turning", "by turning, " + model, LineStyle::dashed, next});
  curves.push_back({model + ".promised_as_printed", "as printed, " + model, LineStyle::dotted, next + 1});
  return panel_of(result, std::move(panel), curves);
}

Figure bounds_figure(const Result& result, const BoundsConfig& config) {
  Figure figure;
  figure.panels.push_back(skip_panel(result, config));
  figure.panels.push_back(panel_of(result, {"Attention without skip", {"layer"}, {"log10 mu"}, {}, {}},
                                   {{"thm-A.3.log10_mu", "no norm (A.3)", LineStyle::line_points, 0},
                                    {"thm-4.2.log10_mu", "normalised rows (A.2)", LineStyle::line_points, 1},
                                    {"thm-4.2.log10_bound", "bound (A.2)", LineStyle::dashed, 2}}));
  figure.panels.push_back(panel_of(
      result, {"Theorem 4.3: selective, N = " + std::to_string(config.tokens.front()), {"layer"}, {"mu", Scale::log}, {}, {}},
      {{"thm-4.3.mu", "measured", LineStyle::line_points, 0},
       {"thm-4.3.corrected", "corrected", LineStyle::dashed, 1},
       {"thm-4.3.half_exponent", "exponent K/2", LineStyle::dashed, 2},
       {"thm-4.3.as_printed", "as printed", LineStyle::dotted, 3}}));
  Panel growth{"Attention without skip: the steps of log mu", {"layer"}, {"step over the one before"}, {}, {}};
  growth.lines = {{3.0, "cubic"}, {1.0, "exponential"}};
  figure.panels.push_back(panel_of(result, std::move(growth),
                                   {{"thm-A.3.growth", "no norm (A.3)", LineStyle::line_points, 0},
                                    {"thm-4.2.growth", "normalised rows (A.2)", LineStyle::line_points, 1}}));
  figure.panels.push_back(panel_of(result, {"Theorem A.7: LTI, no norm, ||W||_F = 0.9", {"layer"}, {"mu", Scale::log}, {}, {}},
                                   {{"thm-A.7.mu", "measured", LineStyle::line_points, 0},
                                    {"thm-A.7.bound", "bound", LineStyle::dashed, 1},
                                    {"thm-A.7.mu_normalized", "mu / ||Y||_F", LineStyle::line, 2}}));
  figure.panels.push_back(panel_of(result, {"Theorem A.10: selective, no norm", {"layer k"}, {"log10 mu / 3^k"}, {}, {}},
                                   {{"thm-A.10.rate", "measured", LineStyle::line_points, 0},
                                    {"thm-A.10.rate_corrected", "corrected", LineStyle::dashed, 1},
                                    {"thm-A.10.rate_as_printed", "as printed", LineStyle::dotted, 2}}));
  std::erase_if(figure.panels, [](const Panel& panel) { return panel.curves.empty(); });
  return figure;
}

}  // namespace

std::vector<double> worst_size(const BoundsConfig& config, const Records& records, const std::string& theorem,
                               const std::string& quantity, Badness badness) {
  std::vector<double> out;
  for (const TrialRecord& record : records) {
    double worst = undefined;
    for (const std::uint64_t N : config.tokens) {
      for (const std::uint64_t d : config.dim) {
        const double value = record.scalar(theorem + ".N=" + std::to_string(N) + ",d=" + std::to_string(d) + "." + quantity);
        if (!std::isfinite(value)) continue;
        if (std::isnan(worst) || badness(value) > badness(worst)) worst = value;
      }
    }
    out.push_back(worst);
  }
  return out;
}

Result bounds_result(const BoundsConfig& config, const Records& records) {
  Result result;
  result.title = "Bounds of Theorems 4.1 to 4.3, A.2, A.3, A.7, A.8 and A.10 on random bare stacks";
  const Evidence run{config, records, worked_examples()};
  for (const auto& claims : {skip_claims(run), collapse_claims(run)}) {
    result.claims.insert(result.claims.end(), claims.begin(), claims.end());
  }
  add_scalars(result, config, records);
  add_series(result, config, records);
  result.figure = bounds_figure(result, config);
  result.notes.push_back(
      "S = ||C_V||_F and C_M = ||M||_F as Section 4.1 defines them, so that S = sqrt d for the state-space models, whose C_V = I; "
      "Remark 4.1 has S = 1.");
  result.notes.push_back("Curves belong to the last sizes of --tokens and --dim; those of Theorem 4.3 to the first of --tokens.");
  return result;
}

}  // namespace ranklab::bounds
