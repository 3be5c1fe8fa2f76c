// What was measured and where, as data. The name that people read is made from it here, once, and
// never read back.
#pragma once

#include <concepts>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/text.hpp"

namespace ranklab {

/// A place on an axis: a layer, a dimension, a lambda, or the label of a run or a matrix.
struct Coordinate : std::variant<double, std::string> {
  using variant::variant;
};

/// "64", "-0.5", "gd".
std::string coordinate_text(const Coordinate& value);

/// Where a quantity was measured: a coordinate on each of some axes, and how people read them.
struct At {
  std::map<std::string, Coordinate> coordinates = {};  // by axis: {"d": 64}, {"run": "gd"}
  std::string text = {};                               // "d=64", "gd"

  At() = default;
  /// By default a number reads "d=64" and a label is read as it is.
  template <class Number>
  requires std::is_arithmetic_v<Number> At(const std::string& axis, Number value)
      : At(axis, value, axis + "=" + coordinate_text(static_cast<double>(value))) {}
  template <class Number>
  requires std::is_arithmetic_v<Number> At(const std::string& axis, Number value, std::string read)
      : coordinates{{axis, static_cast<double>(value)}}, text(std::move(read)) {}
  At(const std::string& axis, const std::string& label) : At(axis, label, label) {}
  At(const std::string& axis, const std::string& label, std::string read)
      : coordinates{{axis, label}}, text(std::move(read)) {}
};

/// Both; they read "gd.layer1". Throws std::logic_error if they share an axis.
At operator/(At outer, const At& inner);
/// Both; they read "lambda=1,L=8".
At operator&(At left, const At& right);

/// What is measured, the same at every place. A study declares it once, as a constant; records and
/// results know it by its name. The texts outlive it.
struct Measure {
  const char* name;          // "ratio"
  const char* symbol = "";   // "nr(G) / st(A)"
  const char* meaning = "";  // "nuclear rank of the gradient over the stable rank of the input"
  const char* unit = "";     // "nats"; empty: a pure number

  operator std::string() const { return name; }
};

/// A quantity at a place; results and records know it by its name.
struct Quantity {
  std::string name;  // "d=64.eta"
  std::string kind;  // "eta": what is measured, the same at every place
  At at = {};
  const char *symbol = "", *meaning = "", *unit = "";  // of its measure

  /// At no place.
  Quantity(std::string of_kind) : name(of_kind), kind(std::move(of_kind)) {}
  Quantity(const char* of_kind) : Quantity(std::string(of_kind)) {}
  Quantity(const Measure& of) : Quantity(of.name, of, {}) {}
  /// Where the name is not the place and the kind.
  Quantity(std::string read, std::string of_kind, At place)
      : name(std::move(read)), kind(std::move(of_kind)), at(std::move(place)) {}
  Quantity(std::string read, const Measure& of, At place)
      : name(std::move(read)),
        kind(of.name),
        at(std::move(place)),
        symbol(of.symbol),
        meaning(of.meaning),
        unit(of.unit) {}

  operator const std::string&() const { return name; }
};

/// The quantity there; it reads "d=64.eta".
Quantity operator/(At outer, const Quantity& inner);

}  // namespace ranklab
