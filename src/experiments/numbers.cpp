#include "experiments/numbers.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/undefined.hpp"

namespace ranklab {
namespace {

Series with_trials(Series series, std::vector<std::vector<double>> per_trial) {
  for (std::vector<double>& values : per_trial) values.resize(series.x.size(), undefined);
  series.trials = std::move(per_trial);
  return series;
}

}  // namespace

std::vector<DeclaredQuantity> Numbers::declared_by(const std::function<void(Numbers&)>& derive) {
  std::vector<DeclaredQuantity> declared;
  const Records none;
  Numbers numbers(declared, none);
  derive(numbers);
  return declared;
}

void Numbers::declare(const Quantity& quantity, const std::string& x_name, std::vector<double> x,
                      bool has_trials) {
  declared_->push_back({quantity, x_name, std::move(x), always_, has_trials});
}

void Numbers::scalar(const Quantity& quantity) {
  scalar(quantity, scalars_of(records_, quantity));
}

void Numbers::scalar(Quantity quantity, std::vector<double> per_trial) {
  if (declares()) return declare(quantity);
  result_->scalars.push_back({std::move(quantity), std::move(per_trial)});
}

void Numbers::scalar(const Inequality& inequality) {
  Quantity violations(inequality.scalar);
  violations.meaning = "cases of a trial that violate the inequality";
  scalar(violations, per_trial(records_, [&](const TrialRecord& record) {
           return record.has_tally(inequality.id) ? record.tally(inequality.id).violations
                                                  : undefined;
         }));
}

void Numbers::series(const Quantity& quantity, const std::string& x_name, double first_x) {
  if (declares()) return declare(quantity, x_name);
  std::vector<std::vector<double>> values = arrays_of(records_, quantity);
  Series all = series_over_trials(quantity, x_name, values, first_x);
  series(quantity, with_trials(std::move(all), std::move(values)));
}

void Numbers::series(const Quantity& quantity, const std::string& x_name, std::vector<double> x) {
  if (declares()) return declare(quantity, x_name, std::move(x));
  std::vector<std::vector<double>> values = arrays_of(records_, quantity);
  Series all = series_over_trials(quantity, x_name, std::move(x), values);
  series(quantity, with_trials(std::move(all), std::move(values)));
}

void Numbers::series(const Quantity& quantity, const std::string& x_name, std::vector<double> x,
                     const ValueAtSize& value) {
  if (declares()) return declare(quantity, x_name, std::move(x));
  auto measured = per_trial(records_, [&](const TrialRecord& record) {
    std::vector<double> values;
    for (std::size_t i = 0; i < x.size(); ++i) values.push_back(value(record, i));
    return values;
  });
  Series all = series_over_trials(quantity, x_name, std::move(x), measured);
  series(quantity, with_trials(std::move(all), std::move(measured)));
}

void Numbers::series_of_points(const Quantity& quantity, const std::string& x_name,
                               std::vector<double> x, std::vector<double> y) {
  if (declares()) return declare(quantity, x_name, std::move(x), false);
  std::vector<double> spread(y.size(), 0.0);
  series(quantity, {quantity, x_name, std::move(x), std::move(y), std::move(spread)});
}

void Numbers::series(const Quantity& quantity, Series numbers) {
  if (declares()) return declare(quantity, numbers.x_name, std::move(numbers.x), false);
  numbers.name = quantity.name;
  numbers.quantity = quantity.kind;
  numbers.at = quantity.at.coordinates;
  result_->series.push_back(std::move(numbers));
}

void Numbers::add(const std::vector<Column>& columns, const At& at) {
  for (const Column& column : columns) {
    if (column.x_name.empty())
      scalar(at / column.quantity);
    else
      series(at / column.quantity, column.x_name, column.x);
  }
}

const Series& Numbers::at(const std::string& name) const {
  if (declares()) throw std::logic_error("numbers that are declared have no series");
  const auto found = std::ranges::find(result_->series, name, &Series::name);
  if (found == result_->series.end()) throw std::logic_error("no series " + name);
  return *found;
}

void Numbers::diverged(const std::string& method, const std::vector<double>& per_trial) {
  const auto trials = std::ranges::count_if(per_trial, [](double number) { return number > 0; });
  if (trials == 0) return;
  result_->diverged = true;
  result_->diverged_methods.push_back({method, static_cast<std::uint64_t>(trials)});
}

}  // namespace ranklab
