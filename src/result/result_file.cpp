#include "result/result_file.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"
#include "core/undefined.hpp"
#include "result/result_json.hpp"
#include "result/result_members.hpp"

namespace ranklab {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

OrderedJson range_json(double low, double high) {
  return OrderedJson::array({to_json_value(low), to_json_value(high)});
}

// Two numbers; null is an open end.
std::pair<double, double> range_from(const Json& json) {
  const auto is_bound = [](const Json& bound) { return bound.is_number() || bound.is_null(); };
  if (!json.is_array() || json.size() != 2 || !is_bound(json[0]) || !is_bound(json[1]))
    throw ReadError("", "must be a list of two entries, numbers or null");
  return {json[0].is_null() ? -infinity : json[0].get<double>(),
          json[1].is_null() ? infinity : json[1].get<double>()};
}

// In the order of the alternatives of Evidence.
constexpr std::array<std::string_view, 5> evidence_types = {"none", "mean", "count", "number",
                                                            "equivalence"};

template <std::size_t index>
bool read_evidence(const Json& json, const std::string& type, Evidence& evidence) {
  if (type != evidence_types[index]) return false;
  auto& alternative = evidence.emplace<index>();
  if constexpr (index > 0) read_object(json, alternative);
  return true;
}

void require_equal_lengths(const Series& series) {
  const auto require = [&](std::size_t size, const std::string& what) {
    if (size != series.x.size()) throw ReadError("", "has x and " + what + " of unequal length");
  };
  require(series.mean.size(), "mean");
  require(series.std.size(), "std");
  if (!series.n.empty()) require(series.n.size(), "n");
  for (const std::vector<double>& trial : series.trials) require(trial.size(), "a trial");
}

// A file that does not say what a number is, such as one of the earlier schema, has its name alone.
// The values of a scalar are apart from its mean, which says what it is.
void place_quantities(ResultFile& file) {
  std::map<std::string_view, const ScalarMean*> by_name;
  for (auto& [name, mean] : file.means) {
    if (mean.quantity.empty()) mean.quantity = name;
    by_name.emplace(name, &mean);
  }
  for (Scalar& scalar : file.scalars) {
    const auto mean = by_name.find(scalar.name);
    if (mean == by_name.end()) continue;
    scalar.quantity = mean->second->quantity;
    scalar.at = mean->second->at;
  }
  for (Series& series : file.series) {
    if (series.quantity.empty()) series.quantity = series.name;
  }
}

template <class AnyTable>
void read_table(const Json& json, AnyTable& table) {
  read_object(json, table);
  for (const std::vector<std::string>& row : table.rows) {
    if (row.size() != table.columns.size())
      throw ReadError("rows", "must have a cell for every column");
  }
}

}  // namespace

OrderedJson to_json_value(const Expected& expected) {
  if (const auto* value = std::get_if<double>(&expected)) return to_json_value(*value);
  if (const auto* range = std::get_if<std::pair<double, double>>(&expected))
    return range_json(range->first, range->second);
  return nullptr;
}

void from_json_value(const Json& json, Expected& expected) {
  expected = std::monostate();
  if (json.is_number()) expected = json.get<double>();
  if (json.is_structured()) expected = range_from(json);
  if (json.is_string() || json.is_boolean())
    throw ReadError("", "must be a number, a list of two, or null");
}

DifferencePlace difference(const Expected& a, const Expected& b, const Equality& equal) {
  if (a.index() != b.index()) return "";
  if (const auto* value = std::get_if<double>(&a))
    return difference(*value, std::get<double>(b), equal);
  const auto* range = std::get_if<std::pair<double, double>>(&a);
  return range == nullptr ? DifferencePlace()
                          : difference(*range, std::get<std::pair<double, double>>(b), equal);
}

OrderedJson to_json_value(const Domain& domain) {
  return range_json(domain.low, domain.high);
}

void from_json_value(const Json& json, Domain& domain) {
  std::tie(domain.low, domain.high) = range_from(json);
}

bool operator==(const Domain& a, const Domain& b) {
  return a.low == b.low && a.high == b.high;
}

DifferencePlace difference(const Domain& a, const Domain& b, const Equality& equal) {
  return difference(std::pair(a.low, a.high), std::pair(b.low, b.high), equal);
}

OrderedJson to_json_value(const Figure& figure) {
  return figure.panels.empty() && figure.tables.empty() ? OrderedJson(nullptr)
                                                        : object_json(figure);
}

void from_json_value(const Json& json, Figure& figure) {
  figure = {};
  if (!json.is_null()) read_object(json, figure);
}

void from_json_value(const Json& json, Series& series) {
  read_object(json, series);
  require_equal_lengths(series);
}

void from_json_value(const Json& json, Table& table) {
  read_table(json, table);
}

void from_json_value(const Json& json, FigureTable& table) {
  read_table(json, table);
}

OrderedJson to_json_value(const Evidence& evidence) {
  OrderedJson out = {{"type", evidence_types[evidence.index()]}};
  std::visit(
      [&](const auto& alternative) {
        if constexpr (HasMembers<std::decay_t<decltype(alternative)>>)
          out.update(object_json(alternative));
      },
      evidence);
  return out;
}

void from_json_value(const Json& json, Evidence& evidence) {
  std::string type;
  const Json& given = member(json, "type");
  if (given.is_string()) type = given.get<std::string>();
  if (!read_evidence<0>(json, type, evidence) && !read_evidence<1>(json, type, evidence) &&
      !read_evidence<2>(json, type, evidence) && !read_evidence<3>(json, type, evidence) &&
      !read_evidence<4>(json, type, evidence))
    throw ReadError("type",
                    "must be one of " + joined({evidence_types.begin(), evidence_types.end()}));
}

DifferencePlace difference(const Evidence& a, const Evidence& b, const Equality& equal) {
  if (a.index() != b.index()) return ".type";
  return std::visit(
      [&](const auto& alternative) -> DifferencePlace {
        using Alternative = std::decay_t<decltype(alternative)>;
        if constexpr (HasMembers<Alternative>) {
          return difference(alternative, std::get<Alternative>(b), equal);
        } else {
          return {};
        }
      },
      a);
}

OrderedJson to_json_value(const std::vector<Scalar>& scalars) {
  Named<std::vector<double>> values;
  for (const Scalar& scalar : scalars) values.emplace_back(scalar.name, scalar.per_trial);
  return to_json_value(values);
}

void from_json_value(const Json& json, std::vector<Scalar>& scalars) {
  Named<std::vector<double>> values;
  from_json_value(json, values);
  scalars.clear();
  for (auto& [name, per_trial] : values) scalars.push_back({name, std::move(per_trial)});
}

OrderedJson to_json_value(const std::map<std::string, Coordinate>& at) {
  OrderedJson out = OrderedJson::object();
  for (const auto& [axis, value] : at)
    std::visit([&, &axis = axis](const auto& each) { out[axis] = each; }, value);
  return out;
}

void from_json_value(const Json& json, std::map<std::string, Coordinate>& at) {
  if (!json.is_object()) throw ReadError("", "must be an object");
  at.clear();
  for (const auto& [axis, value] : json.items()) {
    if (!value.is_number() && !value.is_string())
      throw ReadError(printable_key(axis), "must be a number or text");
    at[axis] =
        value.is_number() ? Coordinate(value.get<double>()) : Coordinate(value.get<std::string>());
  }
}

DifferencePlace difference(const std::map<std::string, Coordinate>& a,
                           const std::map<std::string, Coordinate>& b, const Equality& equal) {
  const auto text = [](const std::map<std::string, Coordinate>& at) {
    return to_json_value(at).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  };
  return difference(text(a), text(b), equal);
}

DifferencePlace difference(const Scalar& a, const Scalar& b, const Equality& equal) {
  const DifferencePlace name = difference(a.name, b.name, equal);
  return name ? name : difference(a.per_trial, b.per_trial, equal);
}

NamedMeans by_name(NamedMeans means) {
  std::stable_sort(means.begin(), means.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return means;
}

std::uint64_t count_non_finite(const ResultFile& file) {
  std::uint64_t out = 0;
  const auto count = [&](const std::vector<double>& values) {
    for (const double value : values) out += std::isfinite(value) ? 0 : 1;
  };
  for (const auto& [name, summary] : file.means) count({summary.mean, summary.std});
  for (const Scalar& scalar : file.scalars) count(scalar.per_trial);
  for (const Series& series : file.series) {
    for (const std::vector<double>* values : {&series.x, &series.mean, &series.std}) count(*values);
    for (const std::vector<double>& trial : series.trials) count(trial);
  }
  return out;
}

void add_result(ResultFile& file, Result result) {
  if (!file.title.empty()) result.title = file.title;
  if (result.diverged && file.status == Status::complete) file.status = Status::diverged;
  std::vector<Scalar> scalars = std::exchange(result.scalars, {});
  static_cast<Result&>(file) = std::move(result);
  for (Scalar& scalar : scalars) add_scalar(file, std::move(scalar));
  file.non_finite = count_non_finite(file);
}

void add_scalar(ResultFile& file, Scalar scalar) {
  file.means.emplace_back(scalar.name,
                          ScalarMean{summarize(scalar.per_trial), scalar.quantity, scalar.at});
  file.scalars.push_back(std::move(scalar));
}

OrderedJson result_json(const ResultFile& file) {
  return to_json_value(file);
}

bool is_result_schema(const nlohmann::json& schema) {
  return schema == result_schema || schema == "ranklab.result/2";
}

std::string result_text(const ResultFile& file) {
  return format_json(result_json(file));
}

void require_same_trials(const ResultFile& file, const std::string& label) {
  std::string first;
  std::size_t trials = 0;
  const auto require = [&](const std::string& place, std::size_t count) {
    if (first.empty()) first = place, trials = count;
    if (count != trials)
      throw Failure(say("{}: {}: has {}, and {} has {}", label, place, plural(count, "trial"),
                        first, trials));
  };
  for (const Scalar& scalar : file.scalars)
    require("trial_values." + printable_key(scalar.name), scalar.per_trial.size());
  std::set<std::string> names;
  for (std::size_t i = 0; i < file.series.size(); ++i) {
    const Series& series = file.series[i];
    if (!names.insert(series.name).second)
      throw Failure(say("{}: series[{}].name: another curve has the name '{}'", label, i,
                        printable_key(series.name)));
    if (!series.trials.empty()) require(say("series[{}].trials", i), series.trials.size());
  }
}

ResultFile result_from(const Json& document, const std::string& label) {
  if (document.is_object() && document.contains("config") && document.contains("command") &&
      !document.contains("schema"))
    throw Failure(label + ": not a result file but a preset; `ranklab run NAME` writes a result");
  if (!is_result_schema(member(document, "schema")))
    throw Failure(label + ": not a result file: its \"schema\" is not \"" + result_schema + "\"");
  // Up to 0.3, `ranks` was a study whose ratio was one number for all steps.
  if (member(document, "command") == "one-step-compare" && member(document, "study") == "files")
    throw Failure(label +
                  ": was written by `ranks` of an earlier version; make it again with `ranklab "
                  "ranks PATH... --out FILE`");
  ResultFile out;
  try {
    from_json_value(document, out);
    out.schema = result_schema;
    if (!out.config.is_object()) throw ReadError("config", "must be an object");
    if (!out.environment.is_object()) throw ReadError("environment", "must be an object");
    place_quantities(out);
  } catch (const ReadError& error) {
    throw Failure(label + ": " + error.what());
  }
  return out;
}

ResultFile read_result(const std::string& path) {
  return result_from(read_json(path), printable(path));
}

std::string first_difference(const ResultFile& a, const ResultFile& b) {
  const Equality exact = {[](double x, double y) { return x == y; },
                          [](const std::string& x, const std::string& y) { return x == y; }};
  const auto computed = [](ResultFile file) {
    file.config = file.environment = nullptr;
    file.timing = {};
    file.changed.clear();
    file.see.clear();
    file.finding.reset();
    file.report = nullptr;
    file.means = by_name(std::move(file.means));  // a reader does not keep the order of an object
    std::ranges::sort(file.scalars, {}, &Scalar::name);
    return file;
  };
  const DifferencePlace place = difference(computed(a), computed(b), exact);
  return place ? place->substr(1) : "";
}

}  // namespace ranklab
