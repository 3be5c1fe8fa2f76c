#include "result/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/statistics.hpp"
#include "core/text.hpp"
#include "core/undefined.hpp"
#include "result/result_members.hpp"
#include "result/standing.hpp"

namespace ranklab {
namespace {

using Item = ComparedItem;

// The names of the results, for items that one of them lacks.
struct ResultNames {
  const std::string &a, &b;
  std::string missing_in_a() const { return "missing in " + a; }
  std::string missing_in_b() const { return "missing in " + b; }
};

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

std::string errors_text(double standard_errors) {
  return std::isinf(standard_errors) ? "no error bars"
                                     : short_number(standard_errors) + " standard errors";
}

std::string mean_text(double mean) {
  return std::isnan(mean) ? "-" : short_number(mean);
}

// Calls compared(in_a, in_b) for every name in either list, in the order of a, then of b. A pointer
// is null if its list lacks the name.
template <class Value, class NameOf, class Compared>
void for_each_name(const std::vector<Value>& a, const std::vector<Value>& b, const NameOf& name_of,
                   const Compared& compared) {
  std::map<std::string_view, const Value*> in_a, in_b;
  for (const Value& value : a) in_a.emplace(name_of(value), &value);
  for (const Value& value : b) in_b.emplace(name_of(value), &value);
  for (const Value& value : a) {
    const auto other = in_b.find(name_of(value));
    compared(&value, other == in_b.end() ? nullptr : other->second);
  }
  for (const Value& value : b) {
    if (!in_a.contains(name_of(value))) compared(nullptr, &value);
  }
}

void compare_scalars(const ResultFile& a, const ResultFile& b, const ResultNames& names,
                     std::vector<Item>& out) {
  using Mean = NamedMeans::value_type;
  const std::size_t comparisons = std::max<std::size_t>(1, a.means.size());
  const auto name_of = [](const Mean& mean) -> std::string_view { return mean.first; };
  for_each_name(a.means, b.means, name_of, [&](const Mean* x, const Mean* y) {
    Item item{Item::Kind::scalar, x != nullptr ? x->first : y->first, "", "", "", ""};
    if (x != nullptr) item.a = mean_text(x->second.mean);
    if (y != nullptr) item.b = mean_text(y->second.mean);
    if (x == nullptr || y == nullptr) {
      item.difference = x == nullptr ? names.missing_in_a() : names.missing_in_b();
    } else {
      const Difference difference =
          difference_of(x->second, y->second, comparisons, rounding_tolerance);
      item.distance = errors_text(difference.standard_errors);
      item.difference = difference.differs ? "differs" : "";
    }
    out.push_back(std::move(item));
  });
}

bool same_x(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) || is_rounding(a, b, point_tolerance);
}

void compare_points(const Series& a, const Series& b, const Comparison& runs,
                    std::size_t comparisons, Item& item) {
  const auto point = [](const Series& series, std::size_t i, std::uint64_t trials) {
    return Summary{series.mean[i], series.std[i], series.n.empty() ? trials : series.n[i]};
  };
  std::size_t beyond = 0, at = 0;
  double farthest = 0;
  for (std::size_t i = 0; i < a.x.size(); ++i) {
    const Difference difference = difference_of(
        point(a, i, runs.trials_a), point(b, i, runs.trials_b), comparisons, point_tolerance);
    beyond += difference.differs ? 1 : 0;
    if (difference.standard_errors <= farthest) continue;
    farthest = difference.standard_errors;
    at = i;
  }
  if (a.x.empty()) return;
  item.distance = (std::isinf(farthest) ? "" : "at most ") + errors_text(farthest) + ", at " +
                  mean_text(a.x[at]);
  if (beyond > 0)
    item.difference = say("differs at {} of {}; at {}: {}, {}", beyond, plural(a.x.size(), "point"),
                          a.x[at], a.mean[at], b.mean[at]);
}

void compare_series(const ResultFile& a, const ResultFile& b, const ResultNames& names,
                    Comparison& out) {
  std::size_t points = 0;
  for (const Series& series : a.series) points += series.x.size();
  const auto name_of = [](const Series& series) -> std::string_view { return series.name; };
  for_each_name(a.series, b.series, name_of, [&](const Series* x, const Series* y) {
    Item item{Item::Kind::series, x != nullptr ? x->name : y->name, "", "", "", ""};
    if (x != nullptr) item.a = plural(x->x.size(), "point");
    if (y != nullptr) item.b = plural(y->x.size(), "point");
    if (x == nullptr || y == nullptr) {
      item.difference = x == nullptr ? names.missing_in_a() : names.missing_in_b();
    } else if (!std::equal(x->x.begin(), x->x.end(), y->x.begin(), y->x.end(), same_x)) {
      item.difference = "different points";
    } else {
      compare_points(*x, *y, out, std::max<std::size_t>(1, points), item);
      out.points += x->x.size();
    }
    out.items.push_back(std::move(item));
  });
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

// Equal words and, up to rounding, numbers.
constexpr Equality up_to_rounding = {
    [](double a, double b) { return a == b || is_rounding(a, b, point_tolerance); },
    [](const std::string& a, const std::string& b) {
      return without_numbers(a) == without_numbers(b);
    }};

// The claim without its verdict, its numbers and the words about them, which chance changes.
Claim without_chance(Claim claim) {
  claim.verdict = Verdict::not_applicable;
  claim.measured = undefined;
  claim.detail = "";
  claim.undecided = claim.holm_undecided = claim.shortened = false;
  std::visit([](auto& evidence) { evidence = {}; }, claim.evidence);
  return claim;
}

void compare_claims(const ResultFile& a, const ResultFile& b, std::vector<Item>& out) {
  const auto id_of = [](const Claim& claim) -> std::string_view { return claim.id; };
  for_each_name(a.claims, b.claims, id_of, [&](const Claim* x, const Claim* y) {
    Item item{Item::Kind::claim, x != nullptr ? x->id : y->id, "", "", "", ""};
    if (x != nullptr) item.a = standing_text(*x);
    if (y != nullptr) item.b = standing_text(*y);
    if (item.a != item.b) {
      item.difference = "differs";
    } else if (const DifferencePlace place =
                   difference(without_chance(*x), without_chance(*y), up_to_rounding)) {
      item.difference = "another " + place->substr(1, place->find_first_of(".[", 1) - 1);
    }
    out.push_back(std::move(item));
  });
}

// The other parts. Numbers in the table have error bars of their own.
void compare_parts(const ResultFile& a, const ResultFile& b, std::vector<Item>& out) {
  const auto compare = [&](const char* name, const auto& x, const auto& y) {
    if (difference(x, y, up_to_rounding))
      out.push_back({Item::Kind::part, name, "", "", "", std::string("another ") + name});
  };
  compare("title", a.title, b.title);
  compare("source", a.source, b.source);
  compare("status", a.status, b.status);
  compare("figure", a.figure, b.figure);
  compare("more_figures", a.more_figures, b.more_figures);
  compare("notes", a.notes, b.notes);
  compare("skipped", a.skipped, b.skipped);
  compare("failed_gates", a.failed_gates, b.failed_gates);
}

// What two runs may differ in, but a run and its rerun may not.
void compare_origins(const ResultFile& a, const ResultFile& b, Comparison& out) {
  constexpr Equality exact = {[](double x, double y) { return x == y; },
                              [](const std::string& x, const std::string& y) { return x == y; }};
  const auto compare = [&](const char* name, const auto& x, const auto& y, const Equality& equal) {
    if (!difference(x, y, equal)) return;
    out.items.push_back({Item::Kind::part, name, "", "", "", std::string("another ") + name});
    if (out.first_difference.empty()) out.first_difference = name;
  };
  compare("study", a.study, b.study, exact);
  compare("preset", a.preset, b.preset, exact);
  compare("trials", a.trials, b.trials, exact);
  compare("changed", a.changed, b.changed, exact);
  compare("see", a.see, b.see, exact);
  compare("finding", a.finding, b.finding, exact);
  compare("keeps_trials", a.keeps_trials, b.keeps_trials, exact);
  compare("table", a.table, b.table, up_to_rounding);
}

}  // namespace

const char* name_of(ComparedItem::Kind kind) {
  static constexpr const char* names[] = {"claim", "scalar", "series", "part"};
  return names[static_cast<std::size_t>(kind)];
}

std::size_t Comparison::count(ComparedItem::Kind kind) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(items, [&](const Item& item) { return item.kind == kind; }));
}

std::size_t Comparison::differing(ComparedItem::Kind kind) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      items, [&](const Item& item) { return item.kind == kind && !item.difference.empty(); }));
}

bool Comparison::agrees() const {
  return std::ranges::all_of(items, [](const Item& item) { return item.difference.empty(); });
}

Comparison compare_results(const ResultFile& a, const ResultFile& b, const std::string& name_a,
                           const std::string& name_b) {
  const ResultNames names{name_a, name_b};
  Comparison out;
  out.first_difference = first_difference(a, b);
  out.trials_a = a.trials.completed;
  out.trials_b = b.trials.completed;
  compare_claims(a, b, out.items);
  compare_scalars(a, b, names, out.items);
  compare_series(a, b, names, out);
  compare_parts(a, b, out.items);
  return out;
}

Comparison compare_rerun(const ResultFile& earlier, const ResultFile& again,
                         const std::string& name_earlier, const std::string& name_again) {
  Comparison out = compare_results(earlier, again, name_earlier, name_again);
  compare_origins(earlier, again, out);
  return out;
}

}  // namespace ranklab
