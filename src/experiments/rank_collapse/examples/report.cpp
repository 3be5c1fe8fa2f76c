#include "experiments/rank_collapse/examples/report.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/tolerances.hpp"
#include "experiments/rank_collapse/examples/claims.hpp"
#include "experiments/rank_collapse/examples/outcomes.hpp"
#include "report/figure/palette.hpp"

namespace ranklab {
namespace {

using Records = std::vector<TrialRecord>;
using Outcomes = std::vector<ExampleOutcome>;

constexpr std::size_t drawn_layers = 12;
const std::string residual_name = "rank_one_residual";

void add_numbers(Result& result, const ExamplesConfig& config, const Records& records) {
  Scalar degenerate{"degenerate_rows", std::vector<double>(records.size(), 0.0)};
  Scalar error{"closed_form_error", std::vector<double>(records.size(), 0.0)};
  for (const double lambda : config.lambda) {
    const std::string prefix = lambda_prefix(lambda);
    for (const char* name : {"mu", "rank_one_residual", "mu_closed_form"}) {
      result.series.push_back(series_over_trials(prefix + name, "layer", arrays_of(records, prefix + name)));
    }
    for (std::size_t t = 0; t < records.size(); ++t) {
      degenerate.per_trial[t] += records[t].scalar(prefix + "degenerate_rows");
      for (const double miss : records[t].array(prefix + "exact_error")) error.per_trial[t] = std::max(error.per_trial[t], miss);
    }
  }
  result.scalars = {degenerate, error};
}

// In words, from the run's numbers: which lambdas collapse, and who sees it.
void add_notes(Result& result, const ExamplesConfig& config, const Outcomes& outcomes) {
  const auto note = [&](const std::string& words, const auto& belongs) {
    const std::string lambdas = lambdas_where(outcomes, belongs);
    if (!lambdas.empty()) result.notes.push_back(words + ": lambda = " + lambdas + ".");
  };
  const auto unseen = [](const ExampleOutcome& o) { return o.settled && o.tends_to_rank_one() && !o.mu_tends_to(0); };
  note("Collapse in the sense of mu, which tends to 0", [](const ExampleOutcome& o) { return o.settled && o.mu_tends_to(0); });
  note("Rank one with anti-parallel rows, a collapse that rank_one_residual alone sees while mu tends to sqrt 2",
       [&](const ExampleOutcome& o) { return unseen(o) && o.mu_tends_to(std::numbers::sqrt2); });
  note(
      "Rank one with rows that are parallel at one layer and anti-parallel at the next, so that mu alternates and "
      "rank_one_residual alone sees the collapse",
      [&](const ExampleOutcome& o) { return unseen(o) && !o.mu_tends_to(std::numbers::sqrt2); });
  note("No collapse, in either sense",
       [](const ExampleOutcome& o) { return o.settled && !o.tends_to_rank_one() && !o.mu_tends_to(0); });
  note("A row becomes zero, for which D is not defined; it stays zero here",
       [](const ExampleOutcome& o) { return o.system.is_degenerate(); });
  note("Critical, or too slow to tell in " + std::to_string(config.layers) + " layers",
       [](const ExampleOutcome& o) { return !o.settled && !o.system.is_degenerate(); });
}

// What the figure draws: the first layers, where the limits show, and the last two against lambda.
void add_drawn_series(Result& result, const ExamplesConfig& config, const Outcomes& outcomes, const Records& records) {
  for (const double lambda : config.lambda) {
    for (const char* name : {"mu", "mu_closed_form", "rank_one_residual"}) {
      auto early = arrays_of(records, lambda_prefix(lambda) + name);
      for (auto& trial : early) {
        trial.resize(std::min<std::size_t>(trial.size(), drawn_layers + 1));
        // Below the rounding of the residual, which is absolute.
        for (double& value : trial) {
          if (name == residual_name && value < tolerance::epsilon<double>) value = std::nan("");
        }
      }
      result.series.push_back(series_over_trials("early." + lambda_prefix(lambda) + name, "layer", early));
    }
  }
  Outcomes ascending = outcomes;
  std::sort(ascending.begin(), ascending.end(), [](const auto& a, const auto& b) { return a.lambda < b.lambda; });
  std::vector<double> x, mu, previous, residual;
  for (const ExampleOutcome& outcome : ascending) {
    x.push_back(outcome.lambda);
    mu.push_back(outcome.mu[1]);
    previous.push_back(outcome.mu[0]);
    residual.push_back(outcome.rank_one_residual[1]);
  }
  result.series.push_back(series_over_trials("final.mu", "lambda", x, {mu}));
  result.series.push_back(series_over_trials("previous.mu", "lambda", x, {previous}));
  result.series.push_back(series_over_trials("final.rank_one_residual", "lambda", x, {residual}));
}

Figure examples_figure(const Outcomes& outcomes) {
  Panel mu{"First layers, with the exact form", {"layer"}, {"mu"}, {}, {}};
  Panel rank{"First layers: distance from rank one", {"layer"}, {"1 - sigma_1^2 / ||Y||_F^2", Scale::log}, {}, {}};
  Panel last{"The last two layers", {"lambda"}, {""}, {}, {{std::numbers::sqrt2, "sqrt 2: anti-parallel rows"}}};
  int colour = 0;
  for (const ExampleOutcome& outcome : outcomes) {
    const std::string prefix = lambda_prefix(outcome.lambda), early = "early." + prefix,
                      label = prefix.substr(0, prefix.size() - 1);
    const bool repeated = colour >= static_cast<int>(palette.size());
    if (!outcome.system.is_degenerate()) {
      mu.curves.push_back({early + "mu_closed_form", "", repeated ? LineStyle::dashed : LineStyle::line, colour});
      rank.curves.push_back({early + residual_name, label, repeated ? LineStyle::dashed : LineStyle::line_points, colour});
    }
    mu.curves.push_back({early + "mu", label, LineStyle::points, colour});
    ++colour;
  }
  last.curves = {{"final.mu", "mu, last layer", LineStyle::points},
                 {"previous.mu", "mu, last but one", LineStyle::points},
                 {"final.rank_one_residual", "1 - sigma_1^2 / ||Y||_F^2, last layer", LineStyle::points}};
  return {{mu, rank, last}};
}

}  // namespace

Result examples_result(const ExamplesConfig& config, const Records& records, bool single_precision) {
  Result result;
  const bool sys1 = config.system == "sys1";
  result.title = sys1 ? "Sys-1, M = [[1, 0], [2, 1]] and Y(0) = I, with lambda-skip connections"
                      : "Sys-2, M = [[1, 0], [y1.y2, 1]], with lambda-skip connections";
  add_numbers(result, config, records);
  if (records.empty()) return result;
  const Outcomes outcomes = example_outcomes(config, records.front(), single_precision);
  result.claims = example_claims(config, records.front(), single_precision);
  add_drawn_series(result, config, outcomes, records);
  result.figure = examples_figure(outcomes);
  add_notes(result, config, outcomes);
  return result;
}

}  // namespace ranklab
