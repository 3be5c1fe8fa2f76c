#include "report/export.hpp"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "report/changes.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

std::string cell(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  std::string text = value.get<std::string>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

class Csv {
 public:
  // If there are several results, each row begins with the cells of its result.
  void header(std::initializer_list<Json> names) {
    if (text.empty()) add(leading_names, names);
  }
  void row(std::initializer_list<Json> values) { add(leading, values); }

  std::string text;
  std::vector<Json> leading_names, leading;

 private:
  void add(const std::vector<Json>& first, std::initializer_list<Json> values) {
    std::vector<std::string> cells;
    for (const Json& value : first) cells.push_back(cell(value));
    for (const Json& value : values) cells.push_back(cell(value));
    for (std::size_t i = 0; i < cells.size(); ++i) text += (i > 0 ? "," : "") + cells[i];
    text += "\n";
  }
};

void add_scalars(const Json& result, Csv& out) {
  out.header({"name", "mean", "std", "n"});
  for (const auto& [name, scalar] : result.at("scalars").items())
    out.row({name, scalar.at("mean"), scalar.at("std"), scalar.at("n")});
}

void add_series(const Json& result, Csv& out) {
  out.header({"name", "x_name", "x", "mean", "std", "n"});
  for (const Json& series : result.at("series")) {
    const Json& x = series.at("x");
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Json& n =
          series.contains("n") ? series["n"].at(i) : result.at("trials").at("completed");
      out.row({series.at("name"), series.at("x_name"), x.at(i), series.at("mean").at(i),
               series.at("std").at(i), n});
    }
  }
}

void add_trials(const Json& result, Csv& out) {
  out.header({"name", "trial", "value"});
  for (const auto& [name, values] : result.at("trial_values").items()) {
    for (std::size_t trial = 0; trial < values.size(); ++trial)
      out.row({name, trial, values.at(trial)});
  }
}

void add_claims(const Json& result, Csv& out) {
  out.header({"id",          "statement_id", "part",           "kind",      "slip",
              "misprint_of", "paper",        "figures",        "source",    "statement",
              "verdict",     "undecided",    "holm_undecided", "shortened", "judged_in",
              "measured",    "expected_low", "expected_high",  "threshold", "unit",
              "evidence",    "violations",   "cases",          "worst",     "low",
              "high",        "margin",       "level",          "n",         "detail"});
  for (const Json& claim : result.at("claims")) {
    const Json &expected = claim.at("expected"), &evidence = member(claim, "evidence");
    const bool range = expected.is_array();
    std::vector<std::string> figures;
    for (const Json& figure : member(claim, "figures")) figures.push_back(figure);
    const auto of = [&](const char* key) { return member(claim, key); };
    const auto shown = [&](const char* key) { return member(evidence, key); };
    out.row({of("id"),
             of("statement_id"),
             of("part"),
             of("kind"),
             of("slip"),
             of("misprint_of"),
             of("paper"),
             joined(figures, "; "),
             of("source"),
             of("statement"),
             of("verdict"),
             of("undecided"),
             of("holm_undecided"),
             of("shortened"),
             of("judged_in"),
             of("measured"),
             range ? expected.at(0) : expected,
             range ? expected.at(1) : expected,
             of("threshold"),
             of("unit"),
             shown("type"),
             shown("violations"),
             shown("cases"),
             shown("worst"),
             shown("low"),
             shown("high"),
             shown("margin"),
             shown("level"),
             shown("n"),
             of("detail")});
  }
}

void add_advice(const Json& result, Csv& out) {
  out.header({"layer", "role", "m", "k", "n", "stable_rank", "nuclear_rank", "ratio", "ratio_low",
              "ratio_high", "advice", "direction", "predicted_decrease", "length"});
  if (!result.contains("advice"))
    throw Failure("the result has no advice; `ranklab advise` and `--study files` give advice");
  for (const Json& layer : result.at("advice")) {
    const auto add = [&](const Json& direction, const Json& decrease, const Json& length) {
      out.row({layer.at("layer"), layer.at("role"), layer.at("m"), layer.at("k"), layer.at("n"),
               layer.at("stable_rank"), layer.at("nuclear_rank"), layer.at("ratio"),
               layer.at("ratio_low"), layer.at("ratio_high"), layer.at("advice"), direction,
               decrease, length});
    };
    if (layer.at("steps").empty()) add(nullptr, nullptr, nullptr);
    for (const Json& step : layer.at("steps"))
      add(step.at("direction"), step.at("predicted_decrease"), step.at("length"));
  }
}

void add_part(const Json& result, const std::string& part, Csv& out) {
  try {
    if (part == "advice") return add_advice(result, out);
    if (part == "series") return add_series(result, out);
    if (part == "trials") return add_trials(result, out);
    if (part == "claims") return add_claims(result, out);
    add_scalars(result, out);
  } catch (const Json::exception& error) {
    const std::string what = error.what();  // "[json.exception.out_of_range.403] key 'x' not found"
    throw Failure("the result file is incomplete or damaged: " + what.substr(what.find("] ") + 2));
  }
}

const Json& config_of(const Json& result) {
  static const Json none = Json::object();
  const Json& config = member(result, "config");
  return config.is_object() ? config : none;
}

// Parameters that do not have the same value in all results.
std::vector<std::string> differing_keys(const std::vector<Json>& results) {
  std::set<std::string> keys;
  for (const Json& result : results) {
    for (const auto& [key, unused] : config_of(result).items()) keys.insert(key);
  }
  std::vector<std::string> out;
  for (const std::string& key : keys) {
    const Json& first = member(config_of(results.front()), key.c_str());
    const auto differs = [&](const Json& result) {
      return member(config_of(result), key.c_str()) != first;
    };
    if (std::any_of(results.begin(), results.end(), differs)) out.push_back(key);
  }
  return out;
}

}  // namespace

std::string export_csv(const Json& result, const std::string& part) {
  Csv out;
  add_part(result, part, out);
  return out.text;
}

std::string export_csv(const std::vector<Json>& results, const std::vector<std::string>& files,
                       const std::string& part) {
  const std::vector<std::string> keys = differing_keys(results);
  Csv out;
  out.leading_names.emplace_back("file");
  // A parameter may have the same name as a column of the table.
  for (const std::string& key : keys)
    out.leading_names.emplace_back(key == "n" || key == "x" ? "config." + key : key);
  for (std::size_t i = 0; i < results.size(); ++i) {
    out.leading = {files[i]};
    for (const std::string& key : keys) {
      const Json& value = member(config_of(results[i]), key.c_str());
      out.leading.push_back(value.is_array() ? Json(flag_text(value)) : value);
    }
    try {
      add_part(results[i], part, out);
    } catch (const Failure& error) {
      throw Failure(printable(files[i]) + ": " + error.what());
    }
  }
  return out.text;
}

}  // namespace ranklab
