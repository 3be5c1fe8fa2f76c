// Builds a Result from the records of a run: scalars, series, panels of curves.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "report/claims.hpp"
#include "report/figure/figure.hpp"
#include "report/result.hpp"

namespace ranklab {

/// How a curve is drawn, where that differs from a plain line in the next colour.
struct CurveLook {
  LineStyle style = LineStyle::line;
  int colour = -1;              // palette index; -1: next
  double x_offset = 0.0;        // added to x when drawn
  bool standard_error = false;  // the band: of the mean, where an estimate of it is drawn beside
};

/// One panel of a result's figure. It refers to the result, which must stay where it is.
class PanelBuilder {
 public:
  PanelBuilder(Result& result, std::size_t index) : result_(result), index_(index) {}

  /// Throws std::logic_error where the result has no such series.
  PanelBuilder& curve(const std::string& series, const std::string& label, CurveLook look = {});
  /// The same; nothing where the result has no such series, since this run did not measure it.
  PanelBuilder& curve_if_measured(const std::string& series, const std::string& label, CurveLook look = {});
  /// A horizontal line; nothing where y is not finite.
  PanelBuilder& line(double y, const std::string& label = "");
  PanelBuilder& band(double x_low, double x_high, const std::string& label, int colour = -1);

 private:
  Panel& panel() { return result_.figure.panels[index_]; }

  Result& result_;
  std::size_t index_;
};

class ResultBuilder {
 public:
  ResultBuilder(std::string title, const Records& records) : records_(records) {
    result_.title = std::move(title);
    claims_.set_units(records.size());
  }
  ResultBuilder(const ResultBuilder&) = delete;
  ResultBuilder& operator=(const ResultBuilder&) = delete;

  // Scalars ---------------------------------------------------------------------------------------------------------------
  /// The scalar that every record has under this name.
  void scalar(const std::string& name);
  void scalars(std::initializer_list<const char*> names);
  void scalar(std::string name, std::vector<double> per_trial);
  /// The violations of an inequality in each trial, under the scalar's name that it declares; NaN where a trial has no tally.
  void scalar(const Inequality& inequality);

  // Series ----------------------------------------------------------------------------------------------------------------
  /// The array that every record has under this name, over x = first_x, first_x + 1, ...
  void series(const std::string& name, const std::string& x_name, double first_x = 0.0);
  /// The same over given x.
  void series(const std::string& name, const std::string& x_name, std::vector<double> x);
  /// value(record, i) at x[i].
  void series(const std::string& name, const std::string& x_name, std::vector<double> x, const ValueAtSize& value);
  /// Points without a spread.
  void series_of_points(const std::string& name, const std::string& x_name, std::vector<double> x, std::vector<double> y);
  void series(Series series) { result_.series.push_back(std::move(series)); }
  bool has_series(const std::string& name) const;

  // The rest --------------------------------------------------------------------------------------------------------------
  PanelBuilder panel(std::string title, Axis x, Axis y);
  void note(std::string sentence) { result_.notes.push_back(std::move(sentence)); }
  /// The run has diverged where any of the scalar's values is above 0, which counts what did.
  void diverged_where(const std::string& scalar);
  Claims& claims() { return claims_; }
  /// What the methods above do not cover: the table, what was skipped.
  Result& result() { return result_; }
  const Records& records() const { return records_; }

  /// The result; panels that got no curve are left out.
  Result take();

 private:
  const Records& records_;
  Result result_;
  Claims claims_;
};

}  // namespace ranklab
