#include "report/figure/json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/error.hpp"
#include "core/text.hpp"
#include "core/undefined.hpp"
#include "report/changes.hpp"
#include "report/figure/text.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

constexpr std::size_t max_panels = 64, max_curves = 500;
// Sums and differences of numbers of this size do not overflow.
constexpr double largest = 1e290;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw Failure("figure: " + where + " " + what);
}

const Json* find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string in_quotes(const std::string& name) {
  return "'" + shorten(one_line(name), 1.0, 60.0) + "'";
}

std::string text(const Json& object, const char* key, const std::string& where,
                 const std::string& fallback = "") {
  const Json* value = find(object, key);
  if (value == nullptr) return fallback;
  if (!value->is_string()) fail(where, std::string("needs text as '") + key + "'");
  return value->get<std::string>();
}

/// The value of an enumeration, by its name in result files.
template <class Value, std::size_t N>
Value choice(const Json& object, const char* key, const std::string& where,
             const std::array<std::string_view, N>& allowed) {
  const std::string value = text(object, key, where, std::string(allowed[0]));
  const auto found = std::find(allowed.begin(), allowed.end(), value);
  if (found != allowed.end()) return static_cast<Value>(found - allowed.begin());
  fail(where, std::string("has the unknown ") + key + " " + in_quotes(value) +
                  "; allowed: " + joined({allowed.begin(), allowed.end()}));
}

double number(const Json& object, const char* key, const std::string& where, double fallback) {
  const Json* value = find(object, key);
  if (value == nullptr) return fallback;
  const double out =
      value->is_number() ? value->get<double>() : std::numeric_limits<double>::infinity();
  if (!(std::abs(out) <= largest)) fail(where, std::string("needs a number as '") + key + "'");
  return out;
}

const Json& list(const Json& object, const char* key, const std::string& where,
                 std::size_t longest) {
  static const Json none = Json::array();
  const Json* value = find(object, key);
  if (value == nullptr) return none;
  if (!value->is_array()) fail(where, std::string("needs a list as '") + key + "'");
  if (value->size() > longest)
    fail(where,
         std::string("has more than ") + std::to_string(longest) + " entries in '" + key + "'");
  for (const Json& entry : *value) {
    static constexpr std::array<std::string_view, 7> plain_lists = {
        "ticks", "covers", "domain", "columns", "rows", "row", "trials"};
    if (!entry.is_object() &&
        std::find(plain_lists.begin(), plain_lists.end(), key) == plain_lists.end())
      fail(where, std::string("needs objects in '") + key + "'");
  }
  return *value;
}

Axis read_axis(const Json& panel, const char* key, const std::string& where) {
  const Json* axis = find(panel, key);
  if (axis == nullptr) return {};
  const std::string here = where + ", axis " + key;
  if (!axis->is_object()) fail(here, "is not an object");
  Axis out{text(*axis, "label", here), choice<Scale>(*axis, "scale", here, scale_names)};
  for (const Json& tick : list(*axis, "ticks", here, max_curves)) {
    if (!tick.is_string()) fail(here, "needs text in 'ticks'");
    out.ticks.push_back(tick.get<std::string>());
  }
  for (const Json& value : list(*axis, "covers", here, max_curves)) {
    if (!value.is_number()) fail(here, "needs numbers in 'covers'");
    out.covers.push_back(value.get<double>());
  }
  const Json& domain = list(*axis, "domain", here, 2);
  if (domain.size() == 2) {
    for (const Json& end : domain) {
      if (!end.is_number() && !end.is_null()) fail(here, "needs numbers or null in 'domain'");
    }
    if (domain[0].is_number()) out.domain.low = domain[0].get<double>();
    if (domain[1].is_number()) out.domain.high = domain[1].get<double>();
  }
  out.floor = number(*axis, "floor", here, out.floor);
  return out;
}

int read_color(const Json& object, const std::string& where) {
  // Results written before 0.3 spell it "colour".
  const double color = number(object, "color", where, number(object, "colour", where, -1.0));
  if (color != std::floor(color) || color < -1 || color > 1000)
    fail(where, "needs a palette index, 0 to 1000, as 'color'");
  return static_cast<int>(color);
}

Curve read_curve(const Json& curve, const std::string& where) {
  Curve out;
  out.series = text(curve, "series", where);
  const std::string here = where + ", curve of " + in_quotes(out.series);
  out.label = text(curve, "label", here);
  out.style = choice<LineStyle>(curve, "style", here, line_style_names);
  out.x_offset = number(curve, "x_offset", here, 0.0);
  out.color = read_color(curve, here);
  out.band = choice<BandKind>(curve, "band", here, band_names);
  return out;
}

Band read_band(const Json& band, const std::string& where) {
  const double low = number(band, "x_low", where, undefined),
               high = number(band, "x_high", where, undefined);
  if (!(low <= high)) fail(where, "needs numbers 'x_low' <= 'x_high'");
  return {low, high, text(band, "label", where), read_color(band, where)};
}

Panel read_panel(const Json& panel, const std::string& where) {
  Panel out{text(panel, "title", where), read_axis(panel, "x", where),
            read_axis(panel, "y", where)};
  out.group = text(panel, "group", where);
  for (const Json& curve : list(panel, "curves", where, max_curves))
    out.curves.push_back(read_curve(curve, where));
  const bool bars = std::any_of(out.curves.begin(), out.curves.end(),
                                [](const Curve& curve) { return curve.style == LineStyle::bars; });
  if (bars && out.x.scale == Scale::log) fail(where, "has bars on a log x axis");
  for (const Json& line : list(panel, "lines", where, max_curves)) {
    const double y = number(line, "y", where + ", a line", undefined);
    if (!std::isnan(y)) out.lines.push_back({y, text(line, "label", where + ", a line")});
  }
  for (const Json& band : list(panel, "bands", where, max_curves))
    out.bands.push_back(read_band(band, where + ", a band"));
  return out;
}

FigureTable read_table(const Json& table, const std::string& where) {
  FigureTable out{text(table, "title", where), {}, {}};
  const auto cell = [&](const Json& value) {
    if (!value.is_string()) fail(where, "needs text in the cells of a table");
    return value.get<std::string>();
  };
  for (const Json& column : list(table, "columns", where, max_curves))
    out.columns.push_back(cell(column));
  for (const Json& row : list(table, "rows", where, max_curves)) {
    if (!row.is_array() || row.size() != out.columns.size())
      fail(where, "needs a cell for every column in each row of a table");
    std::vector<std::string>& cells = out.rows.emplace_back();
    for (const Json& value : row) cells.push_back(cell(value));
  }
  return out;
}

std::vector<double> values(const Json& series, const char* key, const std::string& where) {
  const Json* column = find(series, key);
  if (column == nullptr || !column->is_array())
    fail(where, std::string("needs a list of numbers as '") + key + "'");
  std::vector<double> out;
  out.reserve(column->size());
  for (const Json& value : *column) {
    if (!value.is_number() && !value.is_null())
      fail(where, std::string("needs numbers or null in '") + key + "'");
    const double x = value.is_null() ? undefined : value.get<double>();
    out.push_back(std::abs(x) <= largest ? x : undefined);
  }
  return out;
}

// Reads only the series that curves name; the figure does not depend on the others.
void read_series(const Json& result, FigureSource& source) {
  std::map<std::string, const Json*> by_name;
  const Json* all = find(result, "series");
  if (all != nullptr && all->is_array()) {
    for (const Json& entry : *all) {
      const auto name = entry.is_object() ? entry.find("name") : entry.end();
      if (entry.is_object() && name != entry.end() && name->is_string())
        by_name.emplace(name->get<std::string>(), &entry);
    }
  }
  for (const Panel& panel : source.figure.panels) {
    for (const Curve& curve : panel.curves) {
      if (source.series.contains(curve.series)) continue;
      const auto found = by_name.find(curve.series);
      if (found == by_name.end())
        throw Failure("figure: a curve names the series " + in_quotes(curve.series) +
                      ", which the result does not have");
      const std::string where = "series " + in_quotes(curve.series);
      Series series{curve.series, "", values(*found->second, "x", where),
                    values(*found->second, "mean", where), values(*found->second, "std", where)};
      if (series.x.size() != series.mean.size() || series.x.size() != series.std.size())
        fail(where, "has x, mean and std of unequal length");
      if (found->second->contains("n")) series.n = values(*found->second, "n", where);
      if (!series.n.empty() && series.n.size() != series.x.size())
        fail(where, "has x and n of unequal length");
      for (const Json& trial : list(*found->second, "trials", where, max_curves)) {
        series.trials.push_back(values({{"trial", trial}}, "trial", where));
        if (series.trials.back().size() != series.x.size())
          fail(where, "has x and a trial of unequal length");
      }
      source.series.emplace(curve.series, std::move(series));
    }
  }
}

}  // namespace

std::size_t number_of_figures(const Json& result) {
  const Json* more = result.is_object() ? find(result, "more_figures") : nullptr;
  return 1 + (more != nullptr && more->is_array() ? std::min(more->size(), max_panels) : 0);
}

FigureSource read_figure(const Json& result, std::size_t which) {
  if (!result.is_object()) throw Failure("figure: not a result document");
  if (which >= number_of_figures(result)) throw Failure("the result has no such figure");
  const Json* figure =
      which == 0 ? find(result, "figure") : &(*find(result, "more_figures"))[which - 1];
  if (figure == nullptr) throw Failure("the result has no figure");
  if (!figure->is_object()) fail("the document", "needs an object as 'figure'");
  const Json &panels = list(*figure, "panels", "the document", max_panels),
             &tables = list(*figure, "tables", "the document", max_panels);
  if (panels.empty() && tables.empty()) throw Failure("the result has no figure (no panels)");

  FigureSource source;
  source.title = text(result, "title", "the document");
  source.changes = changes_text(result);
  source.status = text(result, "status", "the document", "complete");
  if (const Json* trials = find(result, "trials"); trials != nullptr && trials->is_object()) {
    source.completed_trials = number(*trials, "completed", "the document", 0.0);
    source.requested_trials = number(*trials, "requested", "the document", 0.0);
    source.trial_unit = text(*trials, "unit", "the document", source.trial_unit);
  }
  source.figure.title = text(*figure, "title", "the document");
  const double columns = number(*figure, "columns", "the document", 0.0);
  if (columns >= 1 && columns <= 100) source.figure.columns = static_cast<std::size_t>(columns);
  for (const Json& table : tables)
    source.figure.tables.push_back(read_table(table, "table " + text(table, "title", "a table")));
  for (std::size_t i = 0; i < panels.size(); ++i)
    source.figure.panels.push_back(read_panel(panels[i], "panel " + std::to_string(i + 1)));
  read_series(result, source);
  return source;
}

}  // namespace ranklab
