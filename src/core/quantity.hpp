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

/// A quantity at a place; results and records know it by its name.
struct Quantity {
  std::string name;  // "d=64.eta"
  std::string kind;  // "eta": what is measured, the same at every place
  At at = {};

  /// At no place.
  Quantity(std::string of_kind) : name(of_kind), kind(std::move(of_kind)) {}
  Quantity(const char* of_kind) : Quantity(std::string(of_kind)) {}
  /// Where the name is not the place and the kind.
  Quantity(std::string read, std::string of_kind, At place)
      : name(std::move(read)), kind(std::move(of_kind)), at(std::move(place)) {}

  operator const std::string&() const { return name; }
};

/// The quantity there; it reads "d=64.eta".
Quantity operator/(At outer, const Quantity& inner);

}  // namespace ranklab
