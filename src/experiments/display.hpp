// What a result shows: figures, tables and notes, made from the series that it has.
#pragma once

#include <string>

#include "core/record.hpp"
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

/// What Study::show() fills.
class Display {
 public:
  /// Of a result that has its numbers; it and the records outlive this.
  Display(Result& result, const Records& records) : result_(result), records_(records) {}
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;

  const Records& records() const { return records_; }
  bool has_series(const std::string& name) const;

  PanelBuilder panel(std::string title, Axis x, Axis y);
  /// Sets the number of panels per row of the current figure.
  void columns(std::size_t columns) { figure().columns = columns; }
  /// Adds a table above the panels of the current figure.
  void figure_table(FigureTable table) { figure().tables.push_back(std::move(table)); }
  /// Begins a further figure, for details that the first one leaves out.
  void next_figure(std::string title) { result_.more_figures.push_back({std::move(title)}); }

  void note(std::string sentence) { result_.notes.push_back(std::move(sentence)); }
  /// The main findings as text.
  void table(Table table) { result_.table = std::move(table); }
  void skipped(std::vector<Skipped> left_out) { result_.skipped = std::move(left_out); }
  void failed_gates(std::vector<std::string> gates) { result_.failed_gates = std::move(gates); }

  /// Removes panels that have no curve and figures that have no panel.
  void drop_empty();

 private:
  Figure& figure() {
    return result_.more_figures.empty() ? result_.figure : result_.more_figures.back();
  }

  Result& result_;
  const Records& records_;
};

}  // namespace ranklab
