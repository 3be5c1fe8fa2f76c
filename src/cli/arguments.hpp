// The words of a command line, split into flags and values. The one place that sees cxxopts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/fields.hpp"

namespace ranklab {

struct Arguments {
  std::vector<std::pair<std::string, std::string>> flags;  // name without dashes, value; in the order given
  std::vector<std::string> positional;
  bool help = false;

  /// The last value given for a flag, or null.
  const std::string* find(const std::string& name) const;
};

/// What a flag looks like to the parser: its name, and whether it may stand without a value.
struct FlagShape {
  std::string name;
  bool is_switch;
};

/// The letter that stands for a flag, -o for --out; 0 where there is none.
char short_flag(const std::string& name);

/// Splits `words` (without the program and the command). A switch may be given bare, as `--name on` or as `--name=off`.
/// Throws UsageError for an unknown flag (with the nearest known one) and for a flag without its value.
Arguments parse_arguments(const std::vector<std::string>& words, const std::vector<FlagShape>& known);

/// The same for a utility, whose flags are all bound already: their values are set, and what is left is positional.
Arguments parse_utility(const std::vector<std::string>& words, const std::vector<Field>& fields);

/// The one positional argument of a utility that takes a result file. Throws UsageError for none or several.
const std::string& the_result_file(const Arguments& arguments, const std::string& utility);

}  // namespace ranklab
