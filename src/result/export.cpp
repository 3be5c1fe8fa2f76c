#include "result/export.hpp"

#include <algorithm>
#include <initializer_list>
#include <set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "result/changes.hpp"
#include "result/result_members.hpp"

namespace ranklab {
namespace {

// A spreadsheet computes what begins with one of these signs, unless it is a number or a list.
bool is_formula(const std::string& text) {
  return text.find_first_of("=+-@") == 0 &&
         text.find_first_not_of("0123456789.,eE+- ") != std::string::npos;
}

/// One cell: a number as in the result file, or a printable text, in quotes if it needs them and
/// with an apostrophe before a formula.
struct Cell {
  Cell(const std::string& value) {
    const std::string shown = (is_formula(value) ? "'" : "") + printable(value);
    text = shown;
    if (text.find_first_of(",\"") == std::string::npos) return;
    text = "\"";
    for (const char c : shown) text += c == '"' ? std::string("\"\"") : std::string(1, c);
    text += "\"";
  }
  Cell(const char* value) : Cell(std::string(value)) {}
  Cell(double value) : text(std::isfinite(value) ? OrderedJson(value).dump() : "") {}
  Cell(std::uint64_t value) : text(std::to_string(value)) {}
  Cell(bool value) : text(value ? "true" : "") {}
  template <class Enumeration>
  requires std::is_enum_v<Enumeration> Cell(Enumeration value)
      : text(Names<Enumeration>::list[static_cast<std::size_t>(value)]) {}

  std::string text;
};

class Csv {
 public:
  // If there are several results, each row begins with the cells of its result. A parameter with
  // the name of a column is called config.NAME.
  void header(std::initializer_list<const char*> names) {
    if (!text.empty()) return;
    std::vector<Cell> cells;
    for (const std::string& name : leading_names) {
      const bool is_column = std::find(names.begin(), names.end(), name) != names.end();
      cells.emplace_back((is_column ? "config." : "") + name);
    }
    cells.insert(cells.end(), names.begin(), names.end());
    add(cells);
  }
  void row(std::initializer_list<Cell> values) {
    std::vector<Cell> cells = leading;
    cells.insert(cells.end(), values);
    add(cells);
  }

  std::string text;
  std::vector<std::string> leading_names;
  std::vector<Cell> leading;

 private:
  void add(const std::vector<Cell>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) text += (i > 0 ? "," : "") + cells[i].text;
    text += "\n";
  }
};

// "block=W2; layer=1"
std::string place_text(const std::map<std::string, Coordinate>& at) {
  std::vector<std::string> out;
  for (const auto& [axis, value] : at) out.push_back(axis + "=" + coordinate_text(value));
  return joined(out, "; ");
}

void add_scalars(const ResultFile& result, Csv& out) {
  out.header({"name", "mean", "std", "n", "quantity", "at"});
  for (const auto& [name, of] : result.means)
    out.row({name, of.mean, of.std, of.n, of.quantity, place_text(of.at)});
}

void add_series(const ResultFile& result, Csv& out) {
  out.header({"name", "x_name", "x", "mean", "std", "n", "quantity", "at"});
  for (const Series& series : result.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i)
      out.row({series.name, series.x_name, series.x[i], series.mean[i], series.std[i],
               series.n.empty() ? result.trials.completed : series.n[i], series.quantity,
               place_text(series.at)});
  }
}

void add_trials(const ResultFile& result, Csv& out) {
  out.header({"name", "trial", "value"});
  for (const Scalar& scalar : result.scalars) {
    for (std::size_t trial = 0; trial < scalar.per_trial.size(); ++trial)
      out.row({scalar.name, trial, scalar.per_trial[trial]});
  }
}

void add_curves(const ResultFile& result, Csv& out) {
  out.header({"series", "trial", "x", "value"});
  bool has_curves = false;
  for (const Series& series : result.series) {
    has_curves |= !series.trials.empty();
    for (std::size_t trial = 0; trial < series.trials.size(); ++trial) {
      for (std::size_t i = 0; i < series.x.size(); ++i)
        out.row({series.name, trial, series.x[i], series.trials[trial][i]});
    }
  }
  if (!has_curves)
    throw Failure("the result has no curves of single trials; a run with --keep-trials has them");
}

void add_figure(const ResultFile& result, Csv& out) {
  out.header({"figure", "panel", "curve", "series", "x_name", "y_name", "x", "mean", "std", "n"});
  std::vector<const Figure*> figures = {&result.figure};
  for (const Figure& figure : result.more_figures) figures.push_back(&figure);
  for (std::size_t f = 0; f < figures.size(); ++f) {
    for (const Panel& panel : figures[f]->panels) {
      for (const Curve& curve : panel.curves) {
        const auto series = std::ranges::find(result.series, curve.series, &Series::name);
        if (series == result.series.end())
          throw Failure("figure: a curve names the series '" + printable_key(curve.series) +
                        "', which the result does not have");
        for (std::size_t i = 0; i < series->x.size(); ++i)
          out.row({f + 1, panel.title, curve.label, curve.series, panel.x.label, panel.y.label,
                   series->x[i] + curve.x_offset, series->mean[i], series->std[i],
                   series->n.empty() ? result.trials.completed : series->n[i]});
      }
    }
  }
}

/// The cells of a claim's evidence.
struct EvidenceCells {
  Cell type = "none", violations = "", cases = "", worst = "", low = "", high = "", margin = "",
       level = "", n = "", units_violated = "";

  void operator()(std::monostate) {}
  void operator()(const NumberEvidence&) { type = "number"; }
  void operator()(const CountEvidence& e) {
    type = "count";
    violations = e.violations;
    cases = e.cases;
    worst = e.worst;
    if (e.units == 0) return;
    n = e.units_with_case;
    units_violated = e.units_violated;
  }
  void operator()(const MeanEvidence& e) {
    type = "mean";
    interval(e);
  }
  void operator()(const EquivalenceEvidence& e) {
    type = "equivalence";
    margin = e.margin;
    interval(e);
  }
  template <class Interval>
  void interval(const Interval& e) {
    low = e.low;
    high = e.high;
    level = e.level;
    n = e.n;
  }
};

std::pair<double, double> expected_range(const Claim& claim) {
  if (const auto* value = std::get_if<double>(&claim.expected)) return {*value, *value};
  const auto* range = std::get_if<std::pair<double, double>>(&claim.expected);
  return range == nullptr ? std::pair(undefined, undefined) : *range;
}

void add_claims(const ResultFile& result, Csv& out) {
  out.header({"id",
              "statement_id",
              "part",
              "kind",
              "slip",
              "misprint_of",
              "paper",
              "figures",
              "source",
              "statement",
              "claim",
              "verdict",
              "undecided",
              "holm_undecided",
              "shortened",
              "judged_in",
              "measured",
              "expected_low",
              "expected_high",
              "threshold",
              "unit",
              "evidence",
              "violations",
              "cases",
              "worst",
              "low",
              "high",
              "margin",
              "level",
              "n",
              "units_violated",
              "detail"});
  for (const Claim& c : result.claims) {
    EvidenceCells e;
    std::visit(e, c.evidence);
    const auto [low, high] = expected_range(c);
    out.row({c.id,
             c.statement_id,
             c.part,
             c.kind,
             c.slip,
             c.misprint_of,
             c.paper,
             joined(c.figures, "; "),
             c.source,
             c.statement,
             c.formula,
             c.verdict,
             c.undecided,
             c.holm_undecided,
             c.shortened,
             c.judged_in,
             c.measured,
             low,
             high,
             c.threshold,
             c.unit,
             e.type,
             e.violations,
             e.cases,
             e.worst,
             e.low,
             e.high,
             e.margin,
             e.level,
             e.n,
             e.units_violated,
             c.detail});
  }
}

void add_part(const ResultFile& result, const std::string& part, Csv& out) {
  if (part == "series") return add_series(result, out);
  if (part == "trials") return add_trials(result, out);
  if (part == "curves") return add_curves(result, out);
  if (part == "figure") return add_figure(result, out);
  if (part == "claims") return add_claims(result, out);
  add_scalars(result, out);
}

// Parameters that do not have the same value in all results.
std::vector<std::string> differing_keys(const std::vector<ResultFile>& results) {
  std::set<std::string> keys;
  for (const ResultFile& result : results) {
    for (const auto& [key, unused] : result.config.items()) keys.insert(key);
  }
  std::vector<std::string> out;
  for (const std::string& key : keys) {
    const OrderedJson first = results.front().config.value(key, OrderedJson());
    const auto differs = [&](const ResultFile& result) {
      return result.config.value(key, OrderedJson()) != first;
    };
    if (std::any_of(results.begin(), results.end(), differs)) out.push_back(key);
  }
  return out;
}

Cell parameter_cell(const OrderedJson& value) {
  if (value.is_null()) return "";
  return value.is_array() || value.is_string() ? flag_text(value) : value.dump();
}

}  // namespace

std::string export_csv(const ResultFile& result, const std::string& part) {
  Csv out;
  add_part(result, part, out);
  return out.text;
}

std::string export_csv(const std::vector<ResultFile>& results,
                       const std::vector<std::string>& files, const std::string& part) {
  const std::vector<std::string> keys = differing_keys(results);
  Csv out;
  out.leading_names = {"file"};
  out.leading_names.insert(out.leading_names.end(), keys.begin(), keys.end());
  for (std::size_t i = 0; i < results.size(); ++i) {
    out.leading = {files[i]};
    for (const std::string& key : keys)
      out.leading.push_back(parameter_cell(results[i].config.value(key, OrderedJson())));
    try {
      add_part(results[i], part, out);
    } catch (const Failure& error) {
      throw Failure(printable(files[i]) + ": " + error.what());
    }
  }
  return out.text;
}

}  // namespace ranklab
