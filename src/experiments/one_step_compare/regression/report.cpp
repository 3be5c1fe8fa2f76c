#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "core/statistics.hpp"
#include "core/undefined.hpp"
#include "experiments/one_step_compare/regression/regression.hpp"
#include "report/builder.hpp"

namespace ranklab::regression {
namespace {

constexpr int bins_per_octave = 4;
constexpr double edge_rounding = 1e-9;     // in bins
constexpr std::size_t drawn_trials = 400;  // points of the scatter plot

// A point, a median or an extreme is one problem, whose value must not depend on rounding.
bool is_drawn(const TrialRecord& record) {
  return std::isfinite(record.scalar(predicted_ratio)) &&
         std::isfinite(record.scalar(actual_ratio)) && record.scalar(undetermined_step) == 0;
}

// Trials by predicted ratio nr/st, in bins of a quarter of an octave whose edges include 1/2, 1
// and 2. Many ratios are exactly 1, so a ratio just below an edge by rounding counts as above it.
struct Bin {
  std::vector<double> actual, actual_over_predicted, wrong;
};
using Bins = std::map<int, Bin>;

Bins binned(const Records& records) {
  Bins bins;
  for (const TrialRecord& record : records) {
    if (!is_drawn(record)) continue;
    const double predicted = record.scalar(predicted_ratio), actual = record.scalar(actual_ratio);
    Bin& bin =
        bins[static_cast<int>(std::floor(std::log2(predicted) * bins_per_octave + edge_rounding))];
    bin.actual.push_back(actual);
    bin.actual_over_predicted.push_back(actual / predicted);
    bin.wrong.push_back(record.tally(predicate.id).violations);
  }
  return bins;
}

// The center of a bin on a logarithmic axis.
double center(int bin) {
  return std::exp2((bin + 0.5) / bins_per_octave);
}

Series over_bins(const std::string& name, const Bins& bins,
                 const std::function<Summary(const Bin&)>& value) {
  Series series{name, predicted_ratio, {}, {}, {}};
  if (bins.empty()) return series;
  for (int i = bins.begin()->first; i <= bins.rbegin()->first; ++i) {
    const auto found = bins.find(i);
    const Summary summary =
        found == bins.end() ? Summary{undefined, undefined, 0} : value(found->second);
    series.x.push_back(center(i));
    series.mean.push_back(summary.mean);
    series.std.push_back(summary.std);
  }
  return series;
}

void add_series(ResultBuilder& out) {
  const Bins bins = binned(out.records());
  const auto of = [](const std::vector<double>& values) { return summarize(values); };
  const auto plain = [](double value) { return Summary{value, 0.0, 1}; };
  const auto of_spread = [&](double Spread::*part) {
    return [=](const Bin& bin) { return plain(spread_of(bin.actual_over_predicted).*part); };
  };
  out.series(over_bins(actual_ratio, bins, [&](const Bin& bin) { return of(bin.actual); }));
  out.series(over_bins("actual_over_predicted", bins,
                       [&](const Bin& bin) { return of(bin.actual_over_predicted); }));
  out.series(over_bins("actual_over_predicted.smallest", bins, of_spread(&Spread::smallest)));
  out.series(over_bins("actual_over_predicted.median", bins, of_spread(&Spread::median)));
  out.series(over_bins("actual_over_predicted.largest", bins, of_spread(&Spread::largest)));
  out.series(over_bins("predicate_wrong_share", bins,
                       [&](const Bin& bin) { return plain(of(bin.wrong).mean); }));
  out.series(over_bins("predicate_wrong_percent", bins,
                       [&](const Bin& bin) { return plain(100 * of(bin.wrong).mean); }));
  out.series(over_bins("trials", bins, [&](const Bin& bin) {
    return plain(static_cast<double>(bin.actual.size()));
  }));

  std::vector<double> ends;  // first and last bin center
  if (!bins.empty()) ends = {center(bins.begin()->first), center(bins.rbegin()->first)};
  for (const auto& [name, factor] :
       {std::pair("predicted", 1.0), {"predicted.half", 0.5}, {"predicted.double", 2.0}}) {
    std::vector<double> y;
    for (const double x : ends) y.push_back(factor * x);
    out.series_of_points(name, predicted_ratio, ends, y);
  }
  std::vector<double> x, y;
  for (const TrialRecord& record : out.records()) {
    if (x.size() == drawn_trials || !is_drawn(record)) continue;
    x.push_back(record.scalar(predicted_ratio));
    y.push_back(record.scalar(actual_ratio));
  }
  out.series_of_points("actual_ratio.sample", predicted_ratio, x, y);
}

void add_scalars(ResultBuilder& out) {
  for (const Inequality* each :
       {&guarantee_gd, &guarantee_spec, &two_sided, &two_sided_mirrored, &within_two, &predicate}) {
    out.scalar(*each);
  }
  out.scalars({specgd_behind, specgd_ahead, wrong_factor, predicted_ratio, actual_ratio, nr_G, st_A,
               margin_gd, margin_spec});
  out.scalar("cases.two_sided", per_trial(out.records(), [](const TrialRecord& record) {
               return record.has_tally(two_sided.id) ? record.tally(two_sided.id).cases : undefined;
             }));
  out.scalar(eq_4_14);
  out.scalar(eq_4_15);
  out.scalars({meets_4_16, meets_4_18});
  out.scalar(implies_4_18);
  for (const char* loss : smooth_losses) {
    for (const Inequality* each : {&smooth_gd, &smooth_spec, &smooth_gd_printed})
      out.scalar(smooth_violations(loss, *each));
  }
  out.scalars({conditions_disagree, condition_wrong, condition_wrong_sharp_step,
               sharp_condition_wrong, constant_ratio, zero_gradient, undetermined_step});
}

std::string rounded_percent(double share) {
  return std::isfinite(share) ? short_number(std::round(1000 * share) / 10) + " %" : "-";
}

// One row for each kind of features, then for each kind of labels.
void add_table(ResultBuilder& out, const RegressionConfig& config) {
  Table& table = out.result().table;
  table.columns = {"drawn as",     "trials",      "nr/st, median",
                   "SpecGD ahead", "nr/st wrong", "by at most"};
  const auto add_rows = [&](const std::string& what, const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      std::vector<double> predicted, ahead, wrong, factor;
      for (const TrialRecord& record : out.records()) {
        const double ratio = record.scalar(predicted_ratio);
        if (record.scalar(what) != static_cast<double>(i) || !std::isfinite(ratio)) continue;
        predicted.push_back(ratio);
        ahead.push_back(record.scalar(actual_ratio) > 1 ? 1.0 : 0.0);
        wrong.push_back(record.tally(predicate.id).violations);
        factor.push_back(record.scalar(wrong_factor));
      }
      const Spread worst = spread_of(factor);
      table.rows.push_back({what + " " + names[i], std::to_string(predicted.size()),
                            predicted.empty() ? "-" : short_number(spread_of(predicted).median),
                            rounded_percent(summarize(ahead).mean),
                            rounded_percent(summarize(wrong).mean),
                            worst.count == 0 ? "-" : short_number(worst.largest)});
    }
  };
  add_rows(features, config.features);
  add_rows(labels, config.labels);
}

void add_figure(ResultBuilder& out) {
  const Axis predicted = log_axis("predicted ratio nr(G) / st(A)");
  const auto panel = [&](const std::string& title, Axis y) {
    return out.panel(title, predicted, std::move(y))
        .band(0.5, 2.0, "predicted ratio from 1/2 to 2");
  };
  panel("Decrease of the loss: spectral over Euclidean", log_axis("measured ratio"))
      .curve("actual_ratio.sample", "one problem", {LineStyle::points, 0})
      .curve("predicted", "prediction", {LineStyle::line, 1})
      .curve("predicted.half", "within a factor of 2", {LineStyle::dotted, 1})
      .curve("predicted.double", "", {LineStyle::dotted, 1})
      .line(1.0, "equal");
  panel("Accuracy of the prediction", log_axis("measured over predicted ratio"))
      .curve("actual_over_predicted.median", "median", {LineStyle::line, 0})
      .curve("actual_over_predicted.smallest", "smallest and largest", {LineStyle::dashed, 0})
      .curve("actual_over_predicted.largest", "", {LineStyle::dashed, 0})
      .line(0.5, "limit 1/2")
      .line(2.0, "limit 2");
  panel("How often nr(G) >= st(A) picks the worse step",
        nonnegative_axis("share of the problems (%)"))
      .curve("predicate_wrong_percent", "problems with the worse step", {LineStyle::line, 0});
}

}  // namespace

Result report(const RegressionConfig& config, const Records& records) {
  ResultBuilder out("One Euclidean and one spectral step on random regression problems", records);
  out.claims().set_unit(Unit::draw);
  add_scalars(out);
  add_series(out);
  judge(records, out.claims());
  add_table(out, config);
  add_figure(out);
  const auto trials_with = [&](const char* property) {
    double count = 0;
    for (const double each : scalars_of(records, property)) count += each;
    return count;
  };
  if (const double count = trials_with(zero_gradient); count > 0) {
    out.note("In " + short_number(count) +
             " trials the gradient is zero up to rounding; they are not cases of the statements "
             "about its steps.");
  }
  if (const double count = trials_with(undetermined_step); count > 0) {
    out.note("In " + short_number(count) +
             " trials a singular value of the gradient is near its rounding error, so the spectral "
             "step depends on rounding; the statements are checked on the steps that were taken, "
             "and the figure leaves these trials out.");
  }
  return out.take();
}

}  // namespace ranklab::regression
