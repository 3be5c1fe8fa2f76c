#include "experiments/rank_collapse/eta/report.hpp"

#include <cmath>

#include "experiments/rank_collapse/eta/claims.hpp"
#include "experiments/rank_collapse/eta/trial.hpp"

namespace ranklab {
namespace {

using eta::at_dim;

// A number for each t that is not one per sample.
Series plain_series(const EtaRun& run, std::uint64_t d, const char* quantity) {
  return {at_dim(d, quantity), "t", run.t, {}, std::vector<double>(run.t.size(), 0.0)};
}

void add_series(const EtaRun& run, Result& result) {
  for (const std::uint64_t d : run.dim) {
    for (const char* name : {"eta", "xi_1", "xi_2", "expected_xi_1", "expected_xi_2", "mu_1_squared", "mu_2_squared"}) {
      result.series.push_back(series_over_trials(at_dim(d, name), "t", run.t, arrays_of(run.records, at_dim(d, name))));
    }
    Series spread = plain_series(run, d, "eta_std"), means = plain_series(run, d, "eta_sample_means"),
           error = plain_series(run, d, "eta_sample_means_error");
    for (std::size_t i = 0; i < run.t.size(); ++i) {
      const Summary by_means = summarise(eta_values(run, EtaReading::sample_means, d, i));
      spread.mean.push_back(summarise(eta_values(run, EtaReading::expectation, d, i)).std);
      means.mean.push_back(by_means.mean);
      error.mean.push_back(confidence_half_width(by_means, 1.0));
    }
    result.series.insert(result.series.end(), {spread, means, error});
  }
}

void add_notes(const EtaRun& run, Result& result) {
  result.notes = {
      "v and Q are only said to be randomly chosen; here their entries are N(0, 1), and v, Q, W_q, W_k are drawn once for each d, "
      "while W is drawn anew for every sample, d and t.",
      "eta takes E[xi_i] = 1 + alpha^2 d sigma^2 mu_i^2 exactly, from eq. (9); eta_sample_means takes the means of xi_i over the " +
          std::to_string(run.records.size()) + " samples instead, as the paper's \"(sample mean)\" may say.",
      "With the exact expectation eta keeps the spread of xi_1, about sqrt(4 alpha^2 + 2 alpha^4)/sqrt(d), however small t is; "
      "with sample means that spread cancels, and what is left falls with t.",
  };
}

void add_scalars(const EtaRun& run, Result& result) {
  for (const std::uint64_t d : run.dim) {
    Scalar magnitude{at_dim(d, "mean_abs_eta"), {}};
    for (const TrialRecord& record : run.records) {
      double sum = 0;
      for (const double value : record.array(at_dim(d, "eta"))) sum += std::abs(value);
      magnitude.per_trial.push_back(sum / static_cast<double>(run.t.size()));
    }
    result.scalars.push_back(std::move(magnitude));
  }
  // Nothing is normalised here; every study of the command has this count.
  result.scalars.push_back({"degenerate_rows", std::vector<double>(run.records.size(), 0.0)});
}

Figure eta_figure(const EtaRun& run) {
  Panel exact{"E[xi] by eq. (9)", {"t"}, {"eta: mean and spread over W"}, {}, {{0.0, ""}}};
  Panel means{"E[xi] by sample means", {"t"}, {"eta: mean over W"}, {}, {{0.0, ""}}};
  Panel spread{"Spread over W", {"t"}, {"standard deviation", Scale::log}, {}, {}};
  int colour = 0;
  for (const std::uint64_t d : run.dim) {
    const std::string label = "d = " + std::to_string(d);
    exact.curves.push_back({at_dim(d, "eta"), label, LineStyle::line_points, colour});
    means.curves.push_back({at_dim(d, "eta_sample_means"), label, LineStyle::line_points, colour});
    spread.curves.push_back({at_dim(d, "eta_std"), label + ", eta", LineStyle::line_points, colour});
    spread.curves.push_back({at_dim(d, "eta_sample_means_error"), label + ", its mean by sample means", LineStyle::dashed, colour});
    ++colour;
  }
  return {{exact, means, spread}};
}

}  // namespace

Result eta_result(const EtaRun& run, bool single_precision) {
  Result result;
  result.title = "Concentration of xi_1/xi_2 as W is redrawn";
  if (run.records.empty()) return result;
  add_scalars(run, result);
  add_series(run, result);
  result.claims = eta_claims(run, single_precision);
  result.figure = eta_figure(run);
  add_notes(run, result);
  return result;
}

}  // namespace ranklab
