// Parsing of command lines into flags, values and positional arguments. Only arguments.cpp includes
// cxxopts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/fields.hpp"

namespace ranklab {

struct Arguments {
  std::vector<std::pair<std::string, std::string>>
      flags;  // name without dashes, value; in the order given
  std::vector<std::string> positional;
  bool help = false;
  std::vector<std::string> words = {};  // as given
  /// A sentence for each flag that has several values, of which the last counts.
  std::vector<std::string> repeated = {};
  /// "--lambda 1,2,3" if the words have `--lambda 1 2 3`; else empty.
  std::string list_with_commas = {};

  /// The first positional argument that starts with a dash, as an unknown flag does; or null.
  const std::string* unknown_flag() const;

  /// The last value given for a flag, or null.
  const std::string* find(const std::string& name) const;
};

/// A flag as the parser sees it.
struct FlagShape {
  std::string name;
  bool is_switch;  // its value is optional
  bool is_list = false;
  bool may_repeat = false;  // each use gives a further value
};
FlagShape shape_of(const Field& field);

/// The short form of a flag, such as 'o' for --out; 0 if it has none.
char short_flag(const std::string& name);

/// What happens to a word that starts with a dash and is no known flag.
enum class Unknown { refused, kept };

/// Parses `words`, which exclude the program and the command. A switch may be written `--name`,
/// `--name on` or `--name=off`. Throws UsageError for a missing value and for an unknown flag (with
/// the nearest known one, or else with `usage`), unless it is kept among the positional arguments.
Arguments parse_arguments(const std::vector<std::string>& words,
                          const std::vector<FlagShape>& known, Unknown unknown = Unknown::refused,
                          const std::string& usage = "");

}  // namespace ranklab
