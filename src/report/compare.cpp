#include "report/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "core/statistics.hpp"
#include "core/text.hpp"
#include "core/undefined.hpp"
#include "report/claim_json.hpp"
#include "report/result_json.hpp"
#include "report/standing.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;

// The names of the results, for items that one of them lacks.
struct Names {
  const std::string &a, &b;
  std::string missing_in_a() const { return "missing in " + a; }
  std::string missing_in_b() const { return "missing in " + b; }
};

double number(const Json& value) {
  return value.is_number() ? value.get<double>() : undefined;
}

double number(const Json& object, const char* key) {
  return object.contains(key) ? number(object[key]) : undefined;
}

Summary summary_of(const Json& scalar) {
  return {number(scalar, "mean"), number(scalar, "std"), whole_count(number(scalar, "n"))};
}

double squared_error(const Summary& summary) {
  return summary.n > 1 && std::isfinite(summary.std)
             ? summary.std * summary.std / static_cast<double>(summary.n)
             : 0.0;
}

bool is_rounding(double a, double b, double tolerance) {
  const double largest = std::max(std::abs(a), std::abs(b));
  return largest < rounding_floor || std::abs(a - b) <= tolerance * largest;
}

struct Difference {
  double standard_errors;  // infinite if the difference has no standard error
  bool differs;
};

// `comparisons` is the number of comparisons made together. Two undefined means are equal; an
// undefined and a defined mean differ.
Difference difference_of(const Summary& a, const Summary& b, std::size_t comparisons,
                         double tolerance) {
  constexpr Difference none = {0.0, false},
                       beyond_all = {std::numeric_limits<double>::infinity(), true};
  if (std::isnan(a.mean) || std::isnan(b.mean))
    return std::isnan(a.mean) == std::isnan(b.mean) ? none : beyond_all;
  const double apart = std::abs(a.mean - b.mean),
               error = std::sqrt(squared_error(a) + squared_error(b));
  const bool rounding = is_rounding(a.mean, b.mean, tolerance);
  if (error == 0.0) return rounding ? none : beyond_all;
  const std::size_t fewest = std::max<std::size_t>(2, std::min(a.n, b.n));
  const double quantile = student_quantile(comparison_level / 2 / static_cast<double>(comparisons),
                                           static_cast<double>(fewest - 1));
  return {apart / error, !rounding && apart > quantile * error};
}

ComparedScalar compare_scalar(const std::string& name, const Json& a, const Json& b,
                              std::size_t comparisons) {
  const Summary first = summary_of(a), second = summary_of(b);
  const Difference difference = difference_of(first, second, comparisons, rounding_tolerance);
  return {name, first.mean, second.mean, difference.standard_errors, "", difference.differs};
}

std::vector<ComparedScalar> compare_scalars(const Json& a, const Json& b, const Names& names) {
  std::vector<ComparedScalar> out;
  const std::size_t comparisons = std::max<std::size_t>(1, a.size());
  for (const auto& [name, scalar] : a.items()) {
    if (b.contains(name)) {
      out.push_back(compare_scalar(name, scalar, b[name], comparisons));
    } else {
      out.push_back(
          {name, number(scalar, "mean"), undefined, undefined, names.missing_in_b(), true});
    }
  }
  for (const auto& [name, scalar] : b.items()) {
    if (!a.contains(name))
      out.push_back(
          {name, undefined, number(scalar, "mean"), undefined, names.missing_in_a(), true});
  }
  return out;
}

std::map<std::string, const Json*> by_key(const Json& list, const char* key) {
  std::map<std::string, const Json*> out;
  for (const Json& item : list) out.emplace(item.value(key, ""), &item);
  return out;
}

bool same_x(const Json& a, const Json& b) {
  return a == b || (a.is_number() && b.is_number() &&
                    is_rounding(a.get<double>(), b.get<double>(), point_tolerance));
}

bool same_points(const Json& a, const Json& b) {
  const std::size_t points = a.at("x").size();
  return std::equal(a["x"].begin(), a["x"].end(), b.at("x").begin(), b["x"].end(), same_x) &&
         a.at("mean").size() == points && a.at("std").size() == points &&
         b.at("mean").size() == points && b.at("std").size() == points;
}

ComparedSeries compare_points(const Json& a, const Json& b, const Comparison& runs,
                              std::size_t comparisons) {
  ComparedSeries out{.name = a.value("name", ""), .points = a["mean"].size(), .missing = ""};
  const auto point = [](const Json& series, std::size_t i, std::uint64_t trials) {
    const std::size_t n = series.contains("n") ? whole_count(number(series["n"].at(i))) : trials;
    return Summary{number(series["mean"][i]), number(series["std"][i]), n};
  };
  for (std::size_t i = 0; i < out.points; ++i) {
    const Difference difference = difference_of(
        point(a, i, runs.trials_a), point(b, i, runs.trials_b), comparisons, point_tolerance);
    out.beyond += difference.differs ? 1 : 0;
    if (i > 0 && difference.standard_errors <= out.farthest) continue;
    out.farthest = difference.standard_errors;
    out.at = number(a["x"][i]);
  }
  return out;
}

std::vector<ComparedSeries> compare_series(const Json& a, const Json& b, const Comparison& runs,
                                           const Names& names) {
  std::size_t points = 0;
  for (const Json& series : a) points += series.value("mean", Json::array()).size();
  std::vector<ComparedSeries> out;
  const std::map<std::string, const Json*> in_a = by_key(a, "name"), in_b = by_key(b, "name");
  for (const Json& series : a) {
    const auto found = in_b.find(series.value("name", ""));
    const Json* other = found == in_b.end() ? nullptr : found->second;
    if (other != nullptr && same_points(series, *other)) {
      out.push_back(compare_points(series, *other, runs, std::max<std::size_t>(1, points)));
    } else {
      out.push_back({.name = series.value("name", ""),
                     .missing = other == nullptr ? names.missing_in_b() : "different points"});
    }
  }
  for (const Json& series : b) {
    if (!in_a.contains(series.value("name", "")))
      out.push_back({.name = series.value("name", ""), .missing = names.missing_in_a()});
  }
  return out;
}

// The sentence without its numbers, which rounding may change.
std::string without_numbers(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool in_number =
        is_digit(text[i]) ||
        (!out.empty() && out.back() == '0' && i + 1 < text.size() && is_digit(text[i + 1]) &&
         std::string_view(".,e+-").find(text[i]) != std::string_view::npos);
    if (!in_number) {
      out += text[i];
    } else if (out.empty() || out.back() != '0') {
      out += '0';
    }
  }
  return out;
}

// Whether two values have the same form, words and, up to rounding, numbers.
bool is_same(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number())
    return is_rounding(a.get<double>(), b.get<double>(), point_tolerance);
  if (a.type() != b.type()) return false;
  if (a.is_string())
    return without_numbers(a.get_ref<const std::string&>()) ==
           without_numbers(b.get_ref<const std::string&>());
  if (!a.is_structured()) return a == b;
  if (a.is_object()) {
    return a.size() == b.size() &&
           std::all_of(a.items().begin(), a.items().end(), [&](const auto& item) {
             const auto other = b.find(item.key());
             return other != b.end() && is_same(item.value(), *other);
           });
  }
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), is_same);
}

// The fields of a claim that no chance changes.
std::string differing_field(const Json& a, const Json& b) {
  for (const char* key : {"statement_id", "part", "kind", "slip", "misprint_of", "figures",
                          "source", "statement", "expected", "threshold", "unit", "judged_in"}) {
    if (!is_same(member(a, key), member(b, key))) return key;
  }
  const Json &x = member(a, "evidence"), &y = member(b, "evidence");
  return is_same(member(x, "type"), member(y, "type")) ? "" : "evidence";
}

std::vector<ComparedClaim> compare_claims(const Json& a, const Json& b) {
  std::vector<ComparedClaim> out;
  const std::map<std::string, const Json*> in_a = by_key(a, "id"), in_b = by_key(b, "id");
  for (const Json& claim : a) {
    const std::string id = claim.value("id", "");
    const auto other = in_b.find(id);
    const bool in_both = other != in_b.end();
    out.push_back({id, standing_text(claim_from(claim)),
                   in_both ? standing_text(claim_from(*other->second)) : "",
                   in_both ? differing_field(claim, *other->second) : ""});
  }
  for (const Json& claim : b) {
    const std::string id = claim.value("id", "");
    if (!in_a.contains(id)) out.push_back({id, "", standing_text(claim_from(claim)), ""});
  }
  return out;
}

std::uint64_t completed_trials(const Json& result) {
  return whole_count(number(result.at("trials"), "completed"));
}

template <class List, class Predicate>
std::size_t count_of(const List& list, const Predicate& predicate) {
  return static_cast<std::size_t>(std::count_if(list.begin(), list.end(), predicate));
}

// In the order of `a`, then what only `b` has.
std::vector<ComparedAdvice> compare_advice(const Json& a, const Json& b) {
  std::vector<ComparedAdvice> out;
  std::map<std::string, std::size_t> places;
  const auto at = [&](const Json& entry) -> ComparedAdvice& {
    const auto layer = entry.at("layer").get<std::string>();
    const auto [place, is_new] = places.emplace(layer, out.size());
    if (is_new) out.push_back({layer, "", ""});
    return out[place->second];
  };
  for (const Json& entry : a) at(entry).a = entry.at("advice").get<std::string>();
  for (const Json& entry : b) at(entry).b = entry.at("advice").get<std::string>();
  return out;
}

}  // namespace

std::size_t Comparison::differing_claims() const {
  return count_of(claims, [](const ComparedClaim& claim) { return claim.differs(); });
}

std::size_t Comparison::differing_advice() const {
  return count_of(advice, [](const ComparedAdvice& layer) { return layer.differs(); });
}

std::size_t Comparison::differing_scalars() const {
  return count_of(scalars, [](const ComparedScalar& scalar) { return scalar.differs; });
}

std::size_t Comparison::differing_series() const {
  return count_of(series, [](const ComparedSeries& one) { return one.differs(); });
}

std::size_t Comparison::points() const {
  std::size_t out = 0;
  for (const ComparedSeries& one : series) out += one.points;
  return out;
}

Comparison compare_results(const Json& a, const Json& b, const std::string& name_a,
                           const std::string& name_b) {
  const Names names{name_a, name_b};
  Comparison out;
  out.same_bits = a.contains("trial_values") && b.contains("trial_values");
  for (const char* key : {"scalars", "trial_values", "series", "claims"})
    out.same_bits = out.same_bits && member(a, key) == member(b, key);
  for (const char* key : {"title", "source", "status", "figure", "more_figures", "table", "notes",
                          "skipped", "advice", "failed_gates"}) {
    out.same_bits = out.same_bits && member(a, key) == member(b, key);
    const bool has_chance = std::string_view(key) == "table" || std::string_view(key) == "advice";
    if (!has_chance && !is_same(member(a, key), member(b, key))) out.parts.emplace_back(key);
  }
  out.trials_a = completed_trials(a);
  out.trials_b = completed_trials(b);
  out.claims = compare_claims(a.at("claims"), b.at("claims"));
  if (a.contains("advice") && b.contains("advice"))
    out.advice = compare_advice(a["advice"], b["advice"]);
  out.scalars = compare_scalars(a.at("scalars"), b.at("scalars"), names);
  out.series = compare_series(a.at("series"), b.at("series"), out, names);
  return out;
}

}  // namespace ranklab
