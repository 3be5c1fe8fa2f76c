#include "cli/sweep.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <sstream>

#include "cli/deliver.hpp"
#include "cli/resolve.hpp"
#include "cli/terminal.hpp"
#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/text.hpp"

namespace ranklab {
namespace {

constexpr std::size_t max_points = 100'000;

struct Sweep {
  std::string name;
  std::vector<std::string> values;
};

[[noreturn]] void refuse(const std::string& label, const std::string& text) {
  throw UsageError(label + ": '" + printable_key(text) +
                   "' is not allowed; allowed: NAME=VALUES, values as 64,128,256 or 1..10");
}

bool to_number(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// Adds the ten numbers of "1..10"; adds any other text unchanged.
void add_values(const std::string& text, std::vector<std::string>& values,
                const std::string& label) {
  const std::size_t dots = text.find("..");
  std::uint64_t first = 0, last = 0;
  const bool is_range = dots != std::string::npos && to_number(text.substr(0, dots), first) &&
                        to_number(text.substr(dots + 2), last);
  if (!is_range) {
    values.push_back(text);
    return;
  }
  if (first > last || last - first >= max_points) refuse(label, text);
  for (std::uint64_t value = first; value <= last; ++value) values.push_back(std::to_string(value));
}

std::vector<Sweep> sweeps_of(const Arguments& arguments) {
  std::vector<Sweep> sweeps;
  std::set<std::string> names;
  for (const auto& [flag, text] : arguments.flags) {
    if (flag != "sweep") continue;
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) refuse("--sweep", text);
    sweeps.push_back({text.substr(0, equals),
                      sweep_values(text.substr(equals + 1), "--sweep " + text.substr(0, equals))});
    if (!names.insert(sweeps.back().name).second)
      throw UsageError("--sweep " + sweeps.back().name + ": given twice");
  }
  return sweeps;
}

// The flags that are the same at every point.
Arguments common_to_all(const Arguments& arguments, const std::vector<Sweep>& sweeps) {
  Arguments out;
  for (const auto& flag : arguments.flags) {
    const bool is_swept = std::any_of(sweeps.begin(), sweeps.end(),
                                      [&](const Sweep& sweep) { return sweep.name == flag.first; });
    if (flag.first != "sweep" && flag.first != "out" && !is_swept) out.flags.push_back(flag);
  }
  return out;
}

// A value as part of a file name.
std::string as_file_name(std::string value) {
  std::replace_if(
      value.begin(), value.end(), [](char c) { return c == '/' || c == ' '; }, '_');
  return value;
}

// The absolute path of the program.
std::string program() {
  std::error_code error;
  const auto path = std::filesystem::canonical(program_path(), error);
  return error ? "ranklab" : path.string();
}

}  // namespace

std::vector<std::string> sweep_values(const std::string& text, const std::string& label) {
  const char separator = text.find(';') == std::string::npos ? ',' : ';';
  std::vector<std::string> values;
  std::istringstream words(text + separator);
  for (std::string word; std::getline(words, word, separator);) {
    if (word.empty()) refuse(label, text);
    add_values(word, values, label);
  }
  if (values.empty()) refuse(label, text);
  return values;
}

std::vector<std::string> sweep_lines(const Experiment& experiment, const Arguments& arguments) {
  for (const char* name : {"shard", "dry-run"}) {
    if (arguments.find(name) != nullptr)
      throw UsageError(std::string("--sweep: cannot be combined with --") + name +
                       "; each printed line is a separate run");
  }
  const std::vector<Sweep> sweeps = sweeps_of(arguments);
  std::size_t points = 1;
  for (const Sweep& sweep : sweeps) points = std::min(points * sweep.values.size(), max_points + 1);
  if (points > max_points)
    throw UsageError("--sweep: more than " + std::to_string(max_points) + " points");

  const std::vector<FlagShape> shapes = flag_shapes(experiment);
  const auto is_switch = [&](const std::string& name) {
    return std::any_of(shapes.begin(), shapes.end(), [&](const FlagShape& shape) {
      return shape.name == name && shape.is_switch;
    });
  };
  const std::string* given = arguments.find("out");
  if (given != nullptr && *given == "-")
    throw UsageError("--out -: each point of a --sweep needs its own file");
  std::vector<std::string> lines;
  for (std::size_t point = 0; point < points; ++point) {
    Arguments run = common_to_all(arguments, sweeps);
    std::string suffix;
    std::size_t rest = point, size = points;
    for (const Sweep& sweep : sweeps) {
      size /= sweep.values.size();
      const std::string& value = sweep.values[rest / size];
      rest %= size;
      run.flags.emplace_back(sweep.name, value);
      suffix += "." + sweep.name + "=" + as_file_name(value);
    }
    const ResolvedRun resolved = resolve_run(experiment, run);
    std::filesystem::path out = given != nullptr ? *given : default_out(resolved);
    out.replace_filename(out.stem().string() + suffix + ".json");
    run.flags.emplace_back("out", out.string());
    std::vector<std::string> words = {program(), experiment.name};
    for (const auto& [name, value] : run.flags) {
      if (is_switch(name)) {
        words.push_back("--" + name + (value == "on" ? "" : "=" + value));
      } else {
        words.push_back("--" + name);
        words.push_back(value);
      }
    }
    lines.push_back(shell_words(words));
  }
  return lines;
}

}  // namespace ranklab
