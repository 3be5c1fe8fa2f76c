#include "experiments/one_step_compare/regression/report.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "core/text.hpp"
#include "experiments/one_step_compare/regression/claims.hpp"
#include "experiments/one_step_compare/regression/trial.hpp"

namespace ranklab {
namespace {

using Records = std::vector<TrialRecord>;
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr int bins_per_octave = 4;
constexpr std::size_t drawn_trials = 400;  // of the scatter plot

// Trials by predicted ratio nr/st, in bins of a quarter of an octave whose edges include 1/2, 1 and 2.
struct Bin {
  std::vector<double> actual, actual_over_predicted, wrong;
};
using Bins = std::map<int, Bin>;

Bins binned(const Records& records) {
  Bins bins;
  for (const TrialRecord& record : records) {
    const double predicted = record.scalar("predicted_ratio"), actual = record.scalar("actual_ratio");
    if (!std::isfinite(predicted) || !std::isfinite(actual)) continue;
    Bin& bin = bins[static_cast<int>(std::floor(std::log2(predicted) * bins_per_octave))];
    bin.actual.push_back(actual);
    bin.actual_over_predicted.push_back(actual / predicted);
    bin.wrong.push_back(record.scalar("violations.predicate"));
  }
  return bins;
}

// The middle of a bin, on a logarithmic axis.
double centre(int bin) {
  return std::exp2((bin + 0.5) / bins_per_octave);
}

Series over_bins(const std::string& name, const Bins& bins, const std::function<Summary(const Bin&)>& value) {
  Series series{name, "predicted_ratio", {}, {}, {}};
  if (bins.empty()) return series;
  for (int i = bins.begin()->first; i <= bins.rbegin()->first; ++i) {
    const auto found = bins.find(i);
    const Summary summary = found == bins.end() ? Summary{nan_value, nan_value, 0} : value(found->second);
    series.x.push_back(centre(i));
    series.mean.push_back(summary.mean);
    series.std.push_back(summary.std);
  }
  return series;
}

// y = factor x over the range of the bins.
Series bound_line(const std::string& name, const Bins& bins, double factor) {
  Series series{name, "predicted_ratio", {}, {}, {}};
  if (bins.empty()) return series;
  for (const double x : {centre(bins.begin()->first), centre(bins.rbegin()->first)}) {
    series.x.push_back(x);
    series.mean.push_back(factor * x);
    series.std.push_back(0.0);
  }
  return series;
}

Series scatter(const Records& records) {
  Series series{"actual_ratio.sample", "predicted_ratio", {}, {}, {}};
  for (std::size_t i = 0; i < records.size() && series.x.size() < drawn_trials; ++i) {
    const double predicted = records[i].scalar("predicted_ratio"), actual = records[i].scalar("actual_ratio");
    if (!std::isfinite(predicted) || !std::isfinite(actual)) continue;
    series.x.push_back(predicted);
    series.mean.push_back(actual);
    series.std.push_back(0.0);
  }
  return series;
}

void add_series(Result& result, const Records& records) {
  const Bins bins = binned(records);
  const auto of = [](const std::vector<double>& values) { return summarise(values); };
  const auto plain = [](double value) { return Summary{value, 0.0, 1}; };
  const auto of_spread = [&](double Spread::*part) {
    return [=](const Bin& bin) { return plain(spread_of(bin.actual_over_predicted).*part); };
  };
  result.series = {
      over_bins("actual_ratio", bins, [&](const Bin& bin) { return of(bin.actual); }),
      over_bins("actual_over_predicted", bins, [&](const Bin& bin) { return of(bin.actual_over_predicted); }),
      over_bins("actual_over_predicted.smallest", bins, of_spread(&Spread::smallest)),
      over_bins("actual_over_predicted.median", bins, of_spread(&Spread::median)),
      over_bins("actual_over_predicted.largest", bins, of_spread(&Spread::largest)),
      over_bins("predicate_wrong_share", bins, [&](const Bin& bin) { return plain(of(bin.wrong).mean); }),
      over_bins("trials", bins, [&](const Bin& bin) { return plain(static_cast<double>(bin.actual.size())); }),
      bound_line("predicted", bins, 1.0),
      bound_line("predicted.half", bins, 0.5),
      bound_line("predicted.double", bins, 2.0),
      scatter(records),
  };
}

void add_scalars(Result& result, const Records& records) {
  for (const char* name : {"violations.guarantee_gd",
                           "violations.guarantee_spec",
                           "violations.two_sided",
                           "violations.two_sided_mirrored",
                           "violations.within_two",
                           "violations.predicate",
                           "violations.predicate_specgd_behind",
                           "violations.predicate_specgd_ahead",
                           "predicate_wrong_factor",
                           "predicted_ratio",
                           "actual_ratio",
                           "nuclear_rank",
                           "stable_rank_A",
                           "margin.guarantee_gd",
                           "margin.guarantee_spec",
                           "cases.two_sided",
                           "violations.eq_4_14",
                           "violations.eq_4_15",
                           "conditions.eq_4_16",
                           "conditions.eq_4_18",
                           "violations.eq_4_16_implies_4_18",
                           "violations.log_cosh.guarantee_gd",
                           "violations.log_cosh.guarantee_spec",
                           "violations.log_cosh.guarantee_gd_as_printed",
                           "violations.logistic.guarantee_gd",
                           "violations.logistic.guarantee_spec",
                           "violations.logistic.guarantee_gd_as_printed",
                           "diagonal.conditions_disagree",
                           "diagonal.condition_wrong",
                           "diagonal.condition_wrong_against_sharp_step",
                           "diagonal.sharp_condition_wrong",
                           "diagonal.constant_ratio",
                           "zero_gradient"}) {
    result.scalars.push_back({name, scalars_of(records, name)});
  }
}

std::string percent(double share) {
  return std::isfinite(share) ? short_number(std::round(1000 * share) / 10) + " %" : "-";
}

// One row for each value of the features, then of the labels.
void add_table(Result& result, const RegressionConfig& config, const Records& records) {
  result.table.columns = {"drawn as", "trials", "nr/st, median", "SpecGD ahead", "nr/st wrong", "by at most"};
  const auto add_rows = [&](const std::string& what, const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      std::vector<double> predicted, ahead, wrong, factor;
      for (const TrialRecord& record : records) {
        const double ratio = record.scalar("predicted_ratio");
        if (record.scalar(what) != static_cast<double>(i) || !std::isfinite(ratio)) continue;
        predicted.push_back(ratio);
        ahead.push_back(record.scalar("actual_ratio") > 1 ? 1.0 : 0.0);
        wrong.push_back(record.scalar("violations.predicate"));
        factor.push_back(record.scalar("predicate_wrong_factor"));
      }
      const Spread worst = spread_of(factor);
      result.table.rows.push_back({what + " " + names[i], std::to_string(predicted.size()),
                                   predicted.empty() ? "-" : short_number(spread_of(predicted).median),
                                   percent(summarise(ahead).mean), percent(summarise(wrong).mean),
                                   worst.count == 0 ? "-" : short_number(worst.largest)});
    }
  };
  add_rows("features", config.features);
  add_rows("labels", config.labels);
}

Figure regression_figure() {
  const Band undecided{0.5, 2.0, "nr/st from 1/2 to 2"};
  const Axis predicted{"predicted ratio nr(G) / st(A)", Scale::log};
  Panel ratios{"Decreases, SpecGD over GD", predicted, {"actual ratio", Scale::log}, {}, {{1.0, "equal"}}, {undecided}};
  ratios.curves = {{"actual_ratio.sample", "one trial", LineStyle::points, 0},
                   {"predicted", "as predicted", LineStyle::line, 1},
                   {"predicted.half", "half, twice", LineStyle::dotted, 1},
                   {"predicted.double", "", LineStyle::dotted, 1}};
  Panel precision{"How good the prediction is", predicted, {"actual over predicted", Scale::log}, {}, {}, {undecided}};
  precision.curves = {{"actual_over_predicted.median", "median", LineStyle::line_points, 0},
                      {"actual_over_predicted.smallest", "smallest, largest", LineStyle::dashed, 0},
                      {"actual_over_predicted.largest", "", LineStyle::dashed, 0}};
  precision.lines = {{0.5, "half, twice"}, {2.0, ""}};
  Panel wrong{"Where nr >= st names the worse step", predicted, {"share of the trials"}, {}, {}, {undecided}};
  wrong.curves = {{"predicate_wrong_share", "", LineStyle::line_points, 0}};
  return {{ratios, precision, wrong}};
}

}  // namespace

Result regression_result(const RegressionConfig& config, const Records& records, bool single_precision) {
  Result result;
  result.title = "One Euclidean and one spectral step on random regression problems";
  add_scalars(result, records);
  add_series(result, records);
  result.claims = regression_claims(records, decrease_tolerance(single_precision));
  add_table(result, config, records);
  result.figure = regression_figure();
  double zero = 0;
  for (const double each : scalars_of(records, "zero_gradient")) zero += each;
  if (zero > 0) {
    result.notes.push_back("In " + short_number(zero) +
                           " trials the gradient is zero to rounding; they count in no statement about steps.");
  }
  return result;
}

}  // namespace ranklab
