#include "judge/builder.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "core/undefined.hpp"

namespace ranklab {
namespace {

bool has_series(const Result& result, const std::string& name) {
  return std::any_of(result.series.begin(), result.series.end(),
                     [&](const Series& series) { return series.name == name; });
}

Series with_trials(Series series, std::vector<std::vector<double>> per_trial) {
  for (std::vector<double>& values : per_trial) values.resize(series.x.size(), undefined);
  series.trials = std::move(per_trial);
  return series;
}

}  // namespace

PanelBuilder& PanelBuilder::curve(const std::string& series, const std::string& label,
                                  CurveLook look) {
  if (!has_series(result_, series))
    throw std::logic_error("a curve names the series " + series +
                           ", which the result does not have");
  panel().curves.push_back({series, label, look.style, look.color, look.x_offset, look.band});
  return *this;
}

PanelBuilder& PanelBuilder::curve_if_measured(const std::string& series, const std::string& label,
                                              CurveLook look) {
  return has_series(result_, series) ? curve(series, label, look) : *this;
}

PanelBuilder& PanelBuilder::line(double y, const std::string& label) {
  if (std::isfinite(y)) panel().lines.push_back({y, label});
  return *this;
}

PanelBuilder& PanelBuilder::band(double x_low, double x_high, const std::string& label, int color) {
  panel().bands.push_back({x_low, x_high, label, color});
  return *this;
}

PanelBuilder& PanelBuilder::group(std::string name) {
  panel().group = std::move(name);
  return *this;
}

void ResultBuilder::scalar(const Quantity& quantity) {
  scalar(quantity, scalars_of(records_, quantity));
}

void ResultBuilder::scalars(std::initializer_list<const char*> names) {
  for (const char* name : names) scalar(name);
}

void ResultBuilder::scalar(Quantity quantity, std::vector<double> per_trial) {
  result_.scalars.push_back({std::move(quantity), std::move(per_trial)});
}

void ResultBuilder::scalar(const Inequality& inequality) {
  scalar(inequality.scalar, per_trial(records_, [&](const TrialRecord& record) {
           return record.has_tally(inequality.id) ? record.tally(inequality.id).violations
                                                  : undefined;
         }));
}

void ResultBuilder::series(const Quantity& quantity, const std::string& x_name, double first_x) {
  std::vector<std::vector<double>> values = arrays_of(records_, quantity);
  Series all = series_over_trials(quantity, x_name, values, first_x);
  series(with_trials(std::move(all), std::move(values)));
}

void ResultBuilder::series(const Quantity& quantity, const std::string& x_name,
                           std::vector<double> x) {
  std::vector<std::vector<double>> values = arrays_of(records_, quantity);
  Series all = series_over_trials(quantity, x_name, std::move(x), values);
  series(with_trials(std::move(all), std::move(values)));
}

void ResultBuilder::series(const Quantity& quantity, const std::string& x_name,
                           std::vector<double> x, const ValueAtSize& value) {
  auto measured = per_trial(records_, [&](const TrialRecord& record) {
    std::vector<double> values;
    for (std::size_t i = 0; i < x.size(); ++i) values.push_back(value(record, i));
    return values;
  });
  Series all = series_over_trials(quantity, x_name, std::move(x), measured);
  series(with_trials(std::move(all), std::move(measured)));
}

void ResultBuilder::series_of_points(const Quantity& quantity, const std::string& x_name,
                                     std::vector<double> x, std::vector<double> y) {
  std::vector<double> spread(y.size(), 0.0);
  series({quantity, x_name, std::move(x), std::move(y), std::move(spread)});
}

void ResultBuilder::add(const std::vector<Column>& columns, const At& at) {
  for (const Column& column : columns) {
    if (column.x_name.empty())
      scalar(at / column.quantity);
    else
      series(at / column.quantity, column.x_name, column.x);
  }
}

bool ResultBuilder::has_series(const std::string& name) const {
  return ranklab::has_series(result_, name);
}

PanelBuilder ResultBuilder::panel(std::string title, Axis x, Axis y) {
  figure().panels.push_back({std::move(title), std::move(x), std::move(y)});
  return {result_, figure()};
}

void ResultBuilder::diverged(const std::string& method, const std::vector<double>& per_trial) {
  const auto trials = std::ranges::count_if(per_trial, [](double number) { return number > 0; });
  if (trials == 0) return;
  result_.diverged = true;
  result_.diverged_methods.push_back({method, static_cast<std::uint64_t>(trials)});
}

Result ResultBuilder::take() {
  std::vector<Claim> claims = claims_.take();
  result_.claims.insert(result_.claims.end(), std::make_move_iterator(claims.begin()),
                        std::make_move_iterator(claims.end()));
  const auto drop_empty = [](Figure& figure) {
    std::erase_if(figure.panels, [](const Panel& panel) { return panel.curves.empty(); });
  };
  drop_empty(result_.figure);
  for (Figure& figure : result_.more_figures) drop_empty(figure);
  std::erase_if(result_.more_figures, [](const Figure& figure) { return figure.panels.empty(); });
  return std::move(result_);
}

void drop_unused_trials(Result& result) {
  std::set<std::string> shown;
  const auto collect = [&](const Figure& figure) {
    for (const Panel& panel : figure.panels) {
      for (const Curve& curve : panel.curves) {
        if (curve.band == BandKind::trials) shown.insert(curve.series);
      }
    }
  };
  collect(result.figure);
  for (const Figure& figure : result.more_figures) collect(figure);
  for (Series& series : result.series) {
    if (!shows_each(series.trials.size()) || !shown.contains(series.name)) series.trials.clear();
  }
}

}  // namespace ranklab
