#include "report/export.hpp"

#include <initializer_list>
#include <nlohmann/json.hpp>

#include "core/error.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

std::string cell(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  const std::string text = value.get<std::string>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

class Csv {
 public:
  void row(std::initializer_list<Json> values) {
    bool first = true;
    for (const Json& value : values) {
      text += (first ? "" : ",") + cell(value);
      first = false;
    }
    text += "\n";
  }
  std::string text;
};

std::string scalars_csv(const Json& result) {
  Csv out;
  out.row({"name", "mean", "std", "n"});
  for (const auto& [name, scalar] : result.at("scalars").items())
    out.row({name, scalar.at("mean"), scalar.at("std"), scalar.at("n")});
  return out.text;
}

std::string series_csv(const Json& result) {
  Csv out;
  out.row({"name", "x_name", "x", "mean", "std", "n"});
  for (const Json& series : result.at("series")) {
    const Json& x = series.at("x");
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Json& n = series.contains("n") ? series["n"].at(i) : result.at("trials").at("completed");
      out.row({series.at("name"), series.at("x_name"), x.at(i), series.at("mean").at(i), series.at("std").at(i), n});
    }
  }
  return out.text;
}

std::string trials_csv(const Json& result) {
  Csv out;
  out.row({"name", "trial", "value"});
  for (const auto& [name, values] : result.at("trial_values").items()) {
    for (std::size_t trial = 0; trial < values.size(); ++trial) out.row({name, trial, values.at(trial)});
  }
  return out.text;
}

std::string claims_csv(const Json& result) {
  Csv out;
  out.row({"id", "source", "statement", "verdict", "measured", "expected_low", "expected_high", "detail"});
  for (const Json& claim : result.at("claims")) {
    const Json& expected = claim.at("expected");
    const bool range = expected.is_array();
    out.row({claim.at("id"), claim.at("source"), claim.at("statement"), claim.at("verdict"), claim.at("measured"),
             range ? expected.at(0) : expected, range ? expected.at(1) : expected, claim.at("detail")});
  }
  return out.text;
}

}  // namespace

std::string export_csv(const Json& result, const std::string& part) {
  try {
    if (part == "series") return series_csv(result);
    if (part == "trials") return trials_csv(result);
    if (part == "claims") return claims_csv(result);
    return scalars_csv(result);
  } catch (const Json::exception& error) {
    throw Failure(std::string("not a whole result file: ") + error.what());
  }
}

}  // namespace ranklab
