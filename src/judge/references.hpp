// References to numbers of results in a text (page/numbers.hpp): where they are, and the
// text without them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ranklab {

/// A reference in a text: the places of its first character, of its old value, of the end of that
/// value and of its own end.
struct ReferencePlace {
  std::size_t begin = 0, value = 0, value_end = 0, end = 0;
  std::string reference;  // "spectral-fig03: last(gd.objective_gap) | .3g"
};

/// The first reference from there on, in either form; the value of one in JSON begins with " = ".
std::optional<ReferencePlace> first_reference(std::string_view text, std::size_t from);

/// The text with each reference {{... = value}} replaced by its value; a reference without a value
/// becomes a dash.
std::string without_references(std::string_view text);

}  // namespace ranklab
