// The subset of Python literals that a .npy header may contain.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ranklab {

/// A string, True or False, an integer from 0, a tuple, or a list.
struct PythonValue {
  enum class Kind { text, boolean, integer, tuple, list };
  Kind kind = Kind::integer;
  std::string text;
  std::uint64_t integer = 0;  // also of a boolean
  std::vector<PythonValue> items;
};

struct PythonDict {
  std::vector<std::pair<std::string, PythonValue>> entries;
  /// nullptr if the key is missing.
  const PythonValue* find(std::string_view key) const;
};

/// Parses a dict whose keys are strings, surrounded by nothing but white space. Throws Failure
/// ("WHAT is not a Python dict of an array: ...") for anything else, for repeated keys, escapes in
/// strings, numbers beyond 63 bits, and deep nesting.
PythonDict parse_python_dict(std::string_view source, const std::string& what);

}  // namespace ranklab
