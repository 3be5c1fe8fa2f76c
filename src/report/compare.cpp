#include "report/compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace ranklab {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_shown = 10;
constexpr double fixed_tolerance = 1e-9;  // for what has no spread: rounding of another BLAS kernel

double number(const Json& value) {
  return value.is_number() ? value.get<double>() : std::nan("");
}

// The difference of two means, in standard errors of the earlier one; undefined must stay undefined.
bool agree(double a, double b, double std, double n) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  const double standard_error = n > 0 && std::isfinite(std) ? std / std::sqrt(n) : 0.0;
  return std::abs(a - b) <= 3 * standard_error + fixed_tolerance * std::max(std::abs(a), std::abs(b));
}

using Differences = std::vector<std::string>;

void compare_scalars(const Json& earlier, const Json& again, Differences& out) {
  for (const auto& [name, old] : earlier.items()) {
    if (!again.contains(name)) {
      out.push_back("scalar " + name + " is missing");
      continue;
    }
    const double a = number(old.value("mean", Json())), b = number(again[name].value("mean", Json()));
    if (!agree(a, b, number(old.value("std", Json())), number(old.value("n", Json())))) {
      out.push_back("scalar " + name + ": " + old.value("mean", Json()).dump() + " before, " +
                    again[name].value("mean", Json()).dump() + " now");
    }
  }
}

const Json* find_by(const Json& list, const char* key, const Json& value) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const Json& item) { return item.value(key, Json()) == value; });
  return found == list.end() ? nullptr : &*found;
}

void compare_series(const Json& earlier, const Json& again, double trials, Differences& out) {
  for (const Json& old : earlier) {
    const std::string name = old.value("name", "");
    const Json* now = find_by(again, "name", name);
    if (now == nullptr || (*now)["x"] != old.value("x", Json()) || old.value("mean", Json()).size() != (*now)["mean"].size() ||
        old.value("std", Json()).size() != (*now)["std"].size()) {
      out.push_back("series " + name + " has other points");
      continue;
    }
    for (std::size_t i = 0; i < old["mean"].size(); ++i) {
      if (agree(number(old["mean"][i]), number((*now)["mean"][i]), number(old["std"][i]), trials)) continue;
      out.push_back("series " + name + " at " + old["x"][i].dump() + ": " + old["mean"][i].dump() + " before, " +
                    (*now)["mean"][i].dump() + " now");
      break;
    }
  }
}

void compare_claims(const Json& earlier, const Json& again, Differences& out) {
  for (const Json& old : earlier) {
    const Json* now = find_by(again, "id", old.value("id", Json()));
    if (now == nullptr) {
      out.push_back("claim " + old.value("id", "") + " is missing");
    } else if ((*now)["verdict"] != old.value("verdict", Json())) {
      out.push_back("claim " + old.value("id", "") + ": " + old.value("verdict", "") + " before, " +
                    (*now)["verdict"].get<std::string>() + " now");
    }
  }
}

}  // namespace

Comparison compare_results(const Json& earlier, const Json& again) {
  Comparison out;
  out.same_bits = true;
  for (const char* key : {"scalars", "trial_values", "series", "claims"}) {
    out.same_bits = out.same_bits && earlier.contains(key) && earlier[key] == again[key];
  }
  compare_scalars(earlier.at("scalars"), again.at("scalars"), out.differences);
  compare_series(earlier.at("series"), again.at("series"), number(earlier.at("trials").at("completed")), out.differences);
  compare_claims(earlier.at("claims"), again.at("claims"), out.differences);
  out.within_error_bars = out.differences.empty();
  if (out.differences.size() > most_shown) out.differences.resize(most_shown);
  return out;
}

}  // namespace ranklab
