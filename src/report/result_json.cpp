#include "report/result_json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "core/text.hpp"
#include "core/undefined.hpp"
#include "io/atomic_file.hpp"
#include "io/json_file.hpp"
#include "report/claim_json.hpp"

namespace ranklab {
namespace {

using OrderedJson = nlohmann::ordered_json;

// The only place where a double becomes JSON. The library would also write NaN as null, but without
// counting it.
class Numbers {
 public:
  OrderedJson operator()(double value) {
    if (std::isfinite(value)) return value;
    ++non_finite_;
    return nullptr;
  }
  OrderedJson operator()(const std::vector<double>& values) {
    OrderedJson out = OrderedJson::array();
    for (const double value : values) out.push_back((*this)(value));
    return out;
  }
  std::uint64_t non_finite() const { return non_finite_; }

 private:
  std::uint64_t non_finite_ = 0;
};

// Null here means "undefined" or "unbounded", not a failed computation, so it is not counted.
OrderedJson plain_number(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}

OrderedJson claims_json(const Result& result) {
  OrderedJson out = OrderedJson::array();
  for (const Claim& claim : result.claims) out.push_back(claim_json(claim));
  return out;
}

OrderedJson advice_json(const Result& result) {
  OrderedJson out = OrderedJson::array();
  for (const AdvisedLayer& one : result.advice) {
    OrderedJson steps = OrderedJson::array();
    for (const AdvisedStep& step : one.steps)
      steps.push_back({{"direction", step.direction},
                       {"predicted_decrease", plain_number(step.decrease)},
                       {"length", plain_number(step.length)}});
    out.push_back({{"layer", one.layer},
                   {"role", one.role},
                   {"advice", one.advice},
                   {"m", plain_number(one.m)},
                   {"k", plain_number(one.k)},
                   {"n", plain_number(one.n)},
                   {"stable_rank", plain_number(one.stable_rank)},
                   {"nuclear_rank", plain_number(one.nuclear_rank)},
                   {"ratio", plain_number(one.ratio)},
                   {"ratio_low", plain_number(one.ratio_low)},
                   {"ratio_high", plain_number(one.ratio_high)},
                   {"steps", steps}});
  }
  return out;
}

OrderedJson skipped_json(const Result& result) {
  OrderedJson out = OrderedJson::array();
  for (const Skipped& skipped : result.skipped)
    out.push_back({{"name", skipped.name}, {"reason", skipped.reason}});
  return out;
}

OrderedJson trials_json(const ResultFile& file) {
  OrderedJson out = {{"requested", file.trials_requested}, {"completed", file.trials_completed}};
  if (!file.trial_unit.empty()) out["unit"] = file.trial_unit;
  return out;
}

OrderedJson axis_json(const Axis& axis) {
  OrderedJson out = {{"label", axis.label}, {"scale", name_of(axis.scale)}};
  if (!axis.ticks.empty()) out["ticks"] = axis.ticks;
  if (!axis.covers.empty()) out["covers"] = axis.covers;
  if (std::isfinite(axis.domain.low) || std::isfinite(axis.domain.high))
    out["domain"] =
        OrderedJson::array({plain_number(axis.domain.low), plain_number(axis.domain.high)});
  if (std::isfinite(axis.floor)) out["floor"] = axis.floor;
  return out;
}

OrderedJson curve_json(const Curve& curve) {
  OrderedJson out = {
      {"series", curve.series}, {"label", curve.label}, {"style", name_of(curve.style)}};
  if (curve.color >= 0) out["color"] = curve.color;
  if (curve.x_offset != 0) out["x_offset"] = curve.x_offset;
  if (curve.band != BandKind::std) out["band"] = name_of(curve.band);
  return out;
}

OrderedJson panel_json(const Panel& panel) {
  OrderedJson curves = OrderedJson::array(), lines = OrderedJson::array(),
              bands = OrderedJson::array();
  for (const Curve& curve : panel.curves) curves.push_back(curve_json(curve));
  for (const ReferenceLine& line : panel.lines)
    lines.push_back({{"y", line.y}, {"label", line.label}});
  for (const Band& band : panel.bands) {
    bands.push_back({{"x_low", band.x_low}, {"x_high", band.x_high}, {"label", band.label}});
    if (band.color >= 0) bands.back()["color"] = band.color;
  }
  OrderedJson out = {{"title", panel.title},
                     {"x", axis_json(panel.x)},
                     {"y", axis_json(panel.y)},
                     {"curves", curves},
                     {"lines", lines}};
  if (!bands.empty()) out["bands"] = bands;
  if (!panel.group.empty()) out["group"] = panel.group;
  return out;
}

OrderedJson figure_json(const Figure& figure) {
  if (figure.panels.empty() && figure.tables.empty()) return nullptr;
  OrderedJson out = OrderedJson::object();
  if (!figure.title.empty()) out["title"] = figure.title;
  for (const FigureTable& table : figure.tables)
    out["tables"].push_back(
        {{"title", table.title}, {"columns", table.columns}, {"rows", table.rows}});
  out["panels"] = OrderedJson::array();
  for (const Panel& panel : figure.panels) out["panels"].push_back(panel_json(panel));
  if (figure.columns > 0) out["columns"] = figure.columns;
  return out;
}

void append_formatted(std::string& out, const OrderedJson& value, std::size_t indent) {
  const bool plain = std::all_of(value.begin(), value.end(),
                                 [](const OrderedJson& item) { return !item.is_structured(); });
  if (!value.is_structured() || value.empty() || (value.is_array() && plain)) {
    // Texts are UTF-8, except for names in the file system.
    out += value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
    return;
  }
  const std::string line = "\n" + std::string(indent + 1, ' ');
  out += value.is_object() ? "{" : "[";
  bool first = true;
  for (const auto& [key, item] : value.items()) {
    out += (first ? "" : ",") + line;
    if (value.is_object()) out += OrderedJson(key).dump() + ": ";
    append_formatted(out, item, indent + 1);
    first = false;
  }
  out += "\n" + std::string(indent, ' ') + (value.is_object() ? "}" : "]");
}

std::vector<std::string> words(const nlohmann::json& value, const std::string& label,
                               const Field& field) {
  const bool strings = std::holds_alternative<std::string*>(field.target) ||
                       std::holds_alternative<std::vector<std::string>*>(field.target);
  const auto text = [&](const nlohmann::json& item) {
    const bool number_for_word = field.numeric_words && item.is_number();
    if (number_for_word || (strings ? item.is_string() : item.is_number()))
      return item.is_string() ? item.get<std::string>() : item.dump();
    throw UsageError(label + ": " + printable_key(item.dump(-1, ' ', true)) +
                     " is not allowed; allowed: " + field.domain_text());
  };
  std::vector<std::string> out;
  if (!value.is_array()) return {text(value)};
  for (const auto& item : value) out.push_back(text(item));
  return out;
}

}  // namespace

OrderedJson result_json(const ResultFile& file, const Result& result, OrderedJson config,
                        OrderedJson environment) {
  Numbers number;
  OrderedJson scalars = OrderedJson::object(), trial_values = OrderedJson::object(),
              series = OrderedJson::array();
  // Appended without a search for the name, which would take quadratic time for thousands of
  // layers.
  auto &means = scalars.get_ref<OrderedJson::object_t&>(),
       &values = trial_values.get_ref<OrderedJson::object_t&>();
  for (const Scalar& scalar : result.scalars) {
    const Summary summary = summarize(scalar.per_trial);
    means.emplace_back(scalar.name, OrderedJson{{"mean", number(summary.mean)},
                                                {"std", number(summary.std)},
                                                {"n", summary.n}});
    values.emplace_back(scalar.name, number(scalar.per_trial));
  }
  for (const Series& s : result.series) {
    OrderedJson entry = {{"name", s.name},
                         {"x_name", s.x_name},
                         {"x", number(s.x)},
                         {"mean", number(s.mean)},
                         {"std", number(s.std)}};
    if (!s.n.empty()) entry["n"] = std::vector<std::uint64_t>(s.n.begin(), s.n.end());
    for (const std::vector<double>& trial : s.trials) entry["trials"].push_back(number(trial));
    series.push_back(std::move(entry));
  }
  const bool no_source = file.paper.empty() && file.figure.empty();
  OrderedJson out = {
      {"schema", result_schema},
      {"command", file.command},
      {"study", file.study},
      {"preset", file.preset.empty() ? OrderedJson(nullptr) : OrderedJson(file.preset)},
      {"title", file.title.empty() ? result.title : file.title},
      {"source", no_source ? OrderedJson(nullptr)
                           : OrderedJson({{"paper", file.paper}, {"figure", file.figure}})},
      {"config", std::move(config)},
      {"status", file.interrupted  ? "interrupted"
                 : result.diverged ? "diverged"
                                   : "complete"},
      {"trials", trials_json(file)},
      {"scalars", std::move(scalars)},
      {"series", std::move(series)},
      {"claims", claims_json(result)},
      {"figure", figure_json(result.figure)}};
  for (const Figure& figure : result.more_figures)
    out["more_figures"].push_back(figure_json(figure));
  if (file.changed != nullptr && !file.changed->empty()) out["changed"] = *file.changed;
  if (!result.table.columns.empty())
    out["table"] = {{"columns", result.table.columns}, {"rows", result.table.rows}};
  if (!result.advice.empty()) out["advice"] = advice_json(result);
  if (!result.failed_gates.empty()) out["failed_gates"] = result.failed_gates;
  if (!result.table.summary.empty()) out["table"]["summary"] = result.table.summary;
  if (!file.see.empty()) out["see"] = file.see;
  if (file.finding != nullptr && !file.finding->is_null()) out["finding"] = *file.finding;
  if (!result.notes.empty()) out["notes"] = result.notes;
  if (!result.skipped.empty()) out["skipped"] = skipped_json(result);
  out["environment"] = std::move(environment);
  out["trial_values"] = std::move(trial_values);
  out["non_finite"] = number.non_finite();
  out["timing"] = {
      {"wall_s", file.wall_seconds}, {"cpu_s", file.cpu_seconds}, {"trials_s", file.trial_seconds}};
  return out;
}

std::string format_json(const OrderedJson& document) {
  std::string out;
  append_formatted(out, document, 0);
  return out + "\n";
}

OrderedJson field_json(const Field& field) {
  OrderedJson out = std::visit([](const auto* value) { return OrderedJson(*value); }, field.target);
  if (!field.numeric_words) return out;
  for (auto& word : out) {
    const std::string text = word.get<std::string>();
    const char* const text_end = text.data() + text.size();
    const auto is = [&](auto& value) {
      const auto [end, error] = std::from_chars(text.data(), text_end, value);
      return error == std::errc() && end == text_end;
    };
    std::uint64_t count = 0;
    std::int64_t integer = 0;
    double real = 0;
    // A count too long for 64 bits stays a word, so that the study can reject it by name.
    if (is(count)) {
      word = count;
    } else if (is(integer)) {
      word = integer;
    } else if (text.find_first_not_of("0123456789") != std::string::npos && is(real) &&
               std::isfinite(real)) {
      word = real;
    }
  }
  return out;
}

void set_field(const Field& field, const nlohmann::json& value, const std::string& label) {
  if (field.is_switch()) {
    if (!value.is_boolean())
      throw UsageError(label + ": " + printable_key(value.dump(-1, ' ', true)) +
                       " is not allowed; allowed: true|false");
    field.parse(value.get<bool>() ? "on" : "off", label);
    return;
  }
  if (value.is_array() && (!field.is_list() || (value.empty() && !field.may_be_empty))) {
    throw UsageError(label + ": " + printable_key(value.dump(-1, ' ', true)) +
                     " is not allowed; allowed: " + field.domain_text());
  }
  const std::vector<std::string> given = words(value, label, field);
  if (value.is_array()) {
    field.parse_elements({given.begin(), given.end()}, label);
  } else {
    field.parse(given.front(), label);
  }
}

const nlohmann::json& member(const nlohmann::json& object, const char* key) {
  static const nlohmann::json null;
  const auto found = object.find(key);  // end() also if `object` is not an object
  return found == object.end() ? null : *found;
}

nlohmann::json read_json(const std::string& path) {
  return parse_json(read_file(path), printable(path));
}

nlohmann::json read_result(const std::string& path) {
  nlohmann::json document = read_json(path);
  const nlohmann::json schema = document.is_object() ? member(document, "schema") : nullptr;
  if (schema == earlier_schema) {
    const nlohmann::json& command = member(document, "command");
    throw Failure(printable(path) + ": a result of an earlier version (" + earlier_schema +
                  "); make it again with `ranklab " +
                  (command.is_string() ? printable_key(command) : "COMMAND") + " --config " +
                  printable(path) + " --out NEW.json`");
  }
  if (schema != result_schema) {
    throw Failure(printable(path) + ": not a result file: its \"schema\" is not \"" +
                  result_schema + "\"");
  }
  for (const char* key : {"command", "study", "title", "config", "status", "trials", "scalars",
                          "series", "claims", "figure", "environment"}) {
    if (!document.contains(key))
      throw Failure(printable(path) + ": the key \"" + key + "\" is missing");
  }
  return document;
}

}  // namespace ranklab
