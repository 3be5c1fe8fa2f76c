#include "cli/quantities.hpp"

#include <algorithm>

#include "cli/terminal.hpp"
#include "core/text.hpp"

namespace ranklab {
namespace {

/// Whether one list has all of the other.
bool are_nested(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double>&shorter = a.size() < b.size() ? a : b,
        &longer = a.size() < b.size() ? b : a;
  return std::ranges::all_of(
      shorter, [&](double x) { return std::ranges::find(longer, x) != longer.end(); });
}

bool is_at_same_axes(const ListedQuantity& listed, const DeclaredQuantity& declared) {
  const auto axis_of = [](const auto& place) { return place.first; };
  return listed.kind == declared.quantity.kind && listed.x_name == declared.x_name &&
         are_nested(listed.x, declared.x) &&
         std::ranges::equal(listed.at, declared.quantity.at.coordinates, {}, axis_of, axis_of);
}

/// "0, 1, 2, ..., 64", with the number of values.
template <class T, class Text>
std::string few_of(const std::vector<T>& values, const Text& text_of) {
  constexpr std::size_t most = 6, first = 3;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_shown = values.size() <= most || i < first || i + 1 == values.size();
    if (is_shown) words.push_back(text_of(values[i]));
    if (values.size() > most && i == first) words.emplace_back("...");
  }
  return joined(words) + (values.size() > most ? say(" ({} values)", values.size()) : "");
}

}  // namespace

std::vector<ListedQuantity> listed(const std::vector<DeclaredQuantity>& declared) {
  std::vector<ListedQuantity> out;
  for (const DeclaredQuantity& each : declared) {
    const Quantity& quantity = each.quantity;
    auto found = std::ranges::find_if(
        out, [&](const ListedQuantity& listed) { return is_at_same_axes(listed, each); });
    if (found == out.end()) {
      ListedQuantity first;
      first.kind = quantity.kind;
      first.symbol = quantity.symbol;
      first.meaning = quantity.meaning;
      first.unit = quantity.unit;
      first.x_name = each.x_name;
      for (const auto& [axis, value] : quantity.at.coordinates) first.at[axis];
      found = out.insert(out.end(), std::move(first));
    }
    found->names.push_back(quantity.name);
    found->always = found->always && each.always;
    if (each.x.size() > found->x.size()) found->x = each.x;
    for (const auto& [axis, value] : quantity.at.coordinates) {
      std::vector<Coordinate>& values = found->at[axis];
      if (std::ranges::find(values, value) == values.end()) values.push_back(value);
    }
  }
  return out;
}

std::vector<ListedQuantity> listed(const ResultFile& result) {
  std::vector<DeclaredQuantity> all;
  const auto quantity = [](const auto& each) {
    At at;
    at.coordinates = each.at;
    return Quantity(each.name, each.quantity, std::move(at));
  };
  for (const Scalar& scalar : result.scalars) all.push_back({quantity(scalar)});
  for (const Series& series : result.series)
    all.push_back({quantity(series), series.x_name, series.x});
  return listed(all);
}

std::string quantities_text(const std::vector<ListedQuantity>& quantities, std::size_t columns) {
  std::string out;
  for (const ListedQuantity& each : quantities) {
    out += each.kind + (each.symbol.empty() ? "" : "   " + each.symbol) + "\n";
    const auto line = [&](const std::string& text) {
      out += "    " + wrapped(text, 6, columns - 4);
    };
    if (!each.meaning.empty())
      line(each.meaning + (each.unit.empty() ? "" : " (" + each.unit + ")") +
           (each.always ? "" : "; in some runs only"));
    if (!each.x_name.empty()) {
      line(
          "a curve over " + each.x_name +
          (each.x.empty() ? "" : ": " + few_of(each.x, [](double x) { return series_number(x); })));
    }
    for (const auto& [axis, values] : each.at) line(axis + ": " + few_of(values, coordinate_text));
    line((each.names.size() == 1 ? "name: " : "names: ") +
         few_of(each.names, [](const std::string& name) { return name; }));
  }
  return out;
}

nlohmann::ordered_json quantities_json(const std::vector<ListedQuantity>& quantities) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const ListedQuantity& each : quantities) {
    nlohmann::ordered_json at = nlohmann::ordered_json::object();
    for (const auto& [axis, values] : each.at) {
      for (const Coordinate& value : values) {
        if (const auto* label = std::get_if<std::string>(&value))
          at[axis].push_back(*label);
        else
          at[axis].push_back(std::get<double>(value));
      }
    }
    out.push_back({{"quantity", each.kind},
                   {"symbol", each.symbol},
                   {"meaning", each.meaning},
                   {"unit", each.unit},
                   {"over", each.x_name},
                   {"x", each.x},
                   {"at", std::move(at)},
                   {"names", each.names},
                   {"always", each.always}});
  }
  return out;
}

}  // namespace ranklab
