#include "core/quantity.hpp"

#include <stdexcept>

namespace ranklab {
namespace {

std::string read_together(const std::string& outer, const char* sign, const std::string& inner) {
  return outer.empty() || inner.empty() ? outer + inner : outer + sign + inner;
}

At both(At outer, const char* sign, const At& inner) {
  for (const auto& [axis, value] : inner.coordinates) {
    if (!outer.coordinates.emplace(axis, value).second)
      throw std::logic_error("two coordinates on the axis " + axis);
  }
  outer.text = read_together(outer.text, sign, inner.text);
  return outer;
}

}  // namespace

std::string coordinate_text(const Coordinate& value) {
  if (const auto* label = std::get_if<std::string>(&value)) return *label;
  return series_number(std::get<double>(value));
}

At operator/(At outer, const At& inner) {
  return both(std::move(outer), ".", inner);
}

At operator&(At left, const At& right) {
  return both(std::move(left), ",", right);
}

Quantity operator/(At outer, const Quantity& inner) {
  Quantity out = inner;
  out.name = read_together(outer.text, ".", inner.name);
  out.at = both(std::move(outer), "", inner.at);
  return out;
}

}  // namespace ranklab
