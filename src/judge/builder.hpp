// Builds a Result from the records of a run: scalars, series, panels of curves.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/track.hpp"
#include "judge/claims.hpp"
#include "result/figure.hpp"
#include "result/result.hpp"

namespace ranklab {

/// The look of a curve that is not a plain line in the next color.
struct CurveLook {
  LineStyle style = LineStyle::line;
  int color = -1;         // palette index; -1: next
  double x_offset = 0.0;  // added to x when drawn
  BandKind band = BandKind::std;
};

/// One panel of the figure that a result gets last. It refers to the result, which must not be
/// moved, and is used before the next figure begins.
class PanelBuilder {
 public:
  PanelBuilder(Result& result, Figure& figure)
      : result_(result), figure_(figure), index_(figure.panels.size() - 1) {}

  /// Throws std::logic_error if the result has no such series.
  PanelBuilder& curve(const std::string& series, const std::string& label, CurveLook look = {});
  /// Like curve(), but does nothing if the result has no such series because this run did not
  /// measure it.
  PanelBuilder& curve_if_measured(const std::string& series, const std::string& label,
                                  CurveLook look = {});
  /// A horizontal line; does nothing if y is not finite.
  PanelBuilder& line(double y, const std::string& label = "");
  PanelBuilder& band(double x_low, double x_high, const std::string& label, int color = -1);
  /// Makes the panel one of a group of small multiples, which share their axes and their legend.
  PanelBuilder& group(std::string name);

 private:
  Panel& panel() { return figure_.panels[index_]; }

  Result& result_;
  Figure& figure_;
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

  // Scalars ---------------------------------------------------------------------------------------
  /// Adds the scalar that every record has under this name.
  void scalar(const Quantity& quantity);
  void scalars(std::initializer_list<const char*> names);
  void scalar(Quantity quantity, std::vector<double> per_trial);
  /// Adds the violations of an inequality in each trial, under the name that it declares; NaN if a
  /// trial has no tally.
  void scalar(const Inequality& inequality);

  // Series ----------------------------------------------------------------------------------------
  /// Adds the array that every record has under this name, over x = first_x, first_x + 1, ...
  void series(const Quantity& quantity, const std::string& x_name, double first_x = 0.0);
  /// Like the above, over given x.
  void series(const Quantity& quantity, const std::string& x_name, std::vector<double> x);
  /// Adds value(record, i) at x[i].
  void series(const Quantity& quantity, const std::string& x_name, std::vector<double> x,
              const ValueAtSize& value);
  /// Adds points without a spread.
  void series_of_points(const Quantity& quantity, const std::string& x_name, std::vector<double> x,
                        std::vector<double> y);
  /// Adds the scalars and series of columns, which the records have at that place.
  void add(const std::vector<Column>& columns, const At& at = {});
  void series(Series series) { result_.series.push_back(std::move(series)); }
  bool has_series(const std::string& name) const;

  // Figures ---------------------------------------------------------------------------------------
  PanelBuilder panel(std::string title, Axis x, Axis y);
  /// Sets the number of panels per row of the current figure.
  void columns(std::size_t columns) { figure().columns = columns; }
  /// Adds a table above the panels of the current figure.
  void figure_table(FigureTable table) { figure().tables.push_back(std::move(table)); }
  /// Begins a further figure, for details that the first one leaves out.
  void next_figure(std::string title) { result_.more_figures.push_back({std::move(title)}); }

  // The rest --------------------------------------------------------------------------------------
  void note(std::string sentence) { result_.notes.push_back(std::move(sentence)); }
  /// If any of these numbers, one of each trial, is above 0, the method diverged in these trials.
  void diverged(const std::string& method, const std::vector<double>& per_trial);
  Claims& claims() { return claims_; }
  /// Access to the parts that the methods above do not cover: the table and the skipped items.
  Result& result() { return result_; }
  const Records& records() const { return records_; }

  /// The result, without panels that have no curve and figures that have no panel.
  Result take();

 private:
  Figure& figure() {
    return result_.more_figures.empty() ? result_.figure : result_.more_figures.back();
  }

  const Records& records_;
  Result result_;
  Claims claims_;
};

/// Leaves the values of single trials only in series that a curve shows trial by trial, and of at
/// most 20 trials.
void drop_unused_trials(Result& result);

}  // namespace ranklab
