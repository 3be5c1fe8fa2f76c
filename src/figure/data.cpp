#include "figure/data.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"
#include "core/undefined.hpp"
#include "figure/text.hpp"
#include "result/changes.hpp"

namespace ranklab {
namespace {

constexpr std::size_t max_panels = 64, max_entries = 500, max_columns = 100;
// Sums and differences of numbers of this size do not overflow.
constexpr double largest = 1e290;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw Failure("figure: " + where + " " + what);
}

std::string in_quotes(const std::string& name) {
  return "'" + shorten(one_line(name), 1.0, 60.0) + "'";
}

template <class List>
void require_short(const List& list, const char* name, const std::string& where,
                   std::size_t longest = max_entries) {
  if (list.size() > longest)
    fail(where,
         "has more than " + std::to_string(longest) + " entries in '" + std::string(name) + "'");
}

void require_number(double value, const char* name, const std::string& where) {
  if (!(std::abs(value) <= largest)) fail(where, "needs a number as '" + std::string(name) + "'");
}

void check_axis(const Axis& axis, const std::string& where) {
  require_short(axis.ticks, "ticks", where);
  require_short(axis.covers, "covers", where);
  if (std::isfinite(axis.floor)) require_number(axis.floor, "floor", where);
}

void check_panel(const Panel& panel, const std::string& where) {
  check_axis(panel.x, where + ", axis x");
  check_axis(panel.y, where + ", axis y");
  require_short(panel.curves, "curves", where);
  require_short(panel.lines, "lines", where);
  require_short(panel.bands, "bands", where);
  for (const Curve& curve : panel.curves) {
    require_number(curve.x_offset, "x_offset", where + ", curve of " + in_quotes(curve.series));
    if (curve.style == LineStyle::bars && panel.x.scale == Scale::log)
      fail(where, "has bars on a log x axis");
  }
  for (const ReferenceLine& line : panel.lines) {
    if (!std::isnan(line.y)) require_number(line.y, "y", where + ", a line");
  }
  for (const Band& band : panel.bands) {
    if (!(band.x_low <= band.x_high) || std::abs(band.x_low) > largest ||
        std::abs(band.x_high) > largest)
      fail(where + ", a band", "needs numbers 'x_low' <= 'x_high'");
  }
}

void check_figure(const Figure& figure) {
  if (figure.panels.empty() && figure.tables.empty())
    throw Failure("the result has no figure (no panels)");
  require_short(figure.panels, "panels", "the document", max_panels);
  require_short(figure.tables, "tables", "the document", max_panels);
  for (const FigureTable& table : figure.tables) {
    require_short(table.columns, "columns", "table " + in_quotes(table.title));
    require_short(table.rows, "rows", "table " + in_quotes(table.title));
  }
  for (std::size_t i = 0; i < figure.panels.size(); ++i)
    check_panel(figure.panels[i], "panel " + std::to_string(i + 1));
}

void drop_huge(std::vector<double>& values) {
  for (double& value : values) {
    if (!(std::abs(value) <= largest)) value = undefined;
  }
}

Series drawable(Series series) {
  require_short(series.trials, "trials", "series " + in_quotes(series.name));
  for (std::vector<double>* values : {&series.x, &series.mean, &series.std}) drop_huge(*values);
  for (std::vector<double>& trial : series.trials) drop_huge(trial);
  return series;
}

// Takes only the series that curves name; the figure does not depend on the others.
void take_series(const ResultFile& result, FigureData& data) {
  std::map<std::string, const Series*> by_name;
  for (const Series& series : result.series) by_name.emplace(series.name, &series);
  for (const Panel& panel : data.figure.panels) {
    for (const Curve& curve : panel.curves) {
      if (data.series.contains(curve.series)) continue;
      const auto found = by_name.find(curve.series);
      if (found == by_name.end())
        throw Failure("figure: a curve names the series " + in_quotes(curve.series) +
                      ", which the result does not have");
      data.series.emplace(curve.series, drawable(*found->second));
    }
  }
}

}  // namespace

FigureData figure_data(const ResultFile& result, std::size_t which) {
  if (which > result.more_figures.size()) throw Failure("the result has no such figure");
  require_short(result.more_figures, "more_figures", "the document", max_panels);
  FigureData data{result.title,
                  result.status,
                  changes_text(result),
                  result.trials,
                  which == 0 ? result.figure : result.more_figures[which - 1],
                  {}};
  check_figure(data.figure);
  for (Panel& panel : data.figure.panels)
    std::erase_if(panel.lines, [](const ReferenceLine& line) { return std::isnan(line.y); });
  if (data.figure.columns > max_columns) data.figure.columns = 0;
  take_series(result, data);
  return data;
}

}  // namespace ranklab
