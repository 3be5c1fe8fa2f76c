#include "report/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "core/statistics.hpp"
#include "core/undefined.hpp"
#include "report/result_json.hpp"

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

const Json* find_by(const Json& list, const char* key, const Json& value) {
  const auto found = std::find_if(
      list.begin(), list.end(), [&](const Json& item) { return item.value(key, Json()) == value; });
  return found == list.end() ? nullptr : &*found;
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
  for (const Json& series : a) {
    const Json* other = find_by(b, "name", series.value("name", Json()));
    if (other != nullptr && same_points(series, *other)) {
      out.push_back(compare_points(series, *other, runs, std::max<std::size_t>(1, points)));
    } else {
      out.push_back({.name = series.value("name", ""),
                     .missing = other == nullptr ? names.missing_in_b() : "different points"});
    }
  }
  for (const Json& series : b) {
    if (find_by(a, "name", series.value("name", Json())) == nullptr)
      out.push_back({.name = series.value("name", ""), .missing = names.missing_in_a()});
  }
  return out;
}

std::vector<ComparedClaim> compare_claims(const Json& a, const Json& b) {
  std::vector<ComparedClaim> out;
  const auto verdict = [](const Json* claim) {
    return claim == nullptr ? std::string() : shown_verdict(*claim);
  };
  for (const Json& claim : a)
    out.push_back({claim.value("id", ""), verdict(&claim),
                   verdict(find_by(b, "id", claim.value("id", Json())))});
  for (const Json& claim : b) {
    if (find_by(a, "id", claim.value("id", Json())) == nullptr)
      out.push_back({claim.value("id", ""), "", verdict(&claim)});
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
  out.same_bits = true;
  for (const char* key : {"scalars", "trial_values", "series", "claims"}) {
    out.same_bits = out.same_bits && a.contains(key) && b.contains(key) && a[key] == b[key];
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
