// Parsing of command lines into flags, values and positional arguments. Only arguments.cpp includes
// cxxopts.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ranklab {

struct Arguments {
  std::vector<std::pair<std::string, std::string>>
      flags;  // name without dashes, value; in the order given
  std::vector<std::string> positional;
  bool help = false;
  std::vector<std::string> words = {};  // of a utility, as given

  /// The last value given for a flag, or null.
  const std::string* find(const std::string& name) const;
};

/// A flag as the parser sees it: its name, and whether its value is optional.
struct FlagShape {
  std::string name;
  bool is_switch;
};

/// The short form of a flag, such as 'o' for --out; 0 if it has none.
char short_flag(const std::string& name);

/// Parses `words`, which exclude the program and the command. A switch may be written `--name`,
/// `--name on` or `--name=off`. Throws UsageError for an unknown flag (with the nearest known one)
/// and for a missing value.
Arguments parse_arguments(const std::vector<std::string>& words,
                          const std::vector<FlagShape>& known);

}  // namespace ranklab
