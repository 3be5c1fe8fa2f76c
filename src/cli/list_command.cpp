// `ranklab list`: every preset, one line each.

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/presets.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "run/progress.hpp"

namespace ranklab {

int list_command(const std::vector<std::string>& words) {
  const Arguments arguments = parse_arguments(words, {});
  if (prints_help(arguments, "list", "Lists the presets: name, command, figure of the paper, expected time, summary.", {}))
    return 0;
  if (!arguments.positional.empty()) throw UsageError("unexpected argument '" + arguments.positional[0] + "'; list takes none");
  const std::vector<std::string> names = preset_names();
  if (names.empty()) throw Failure("no folder experiments/ with presets here or beside the program");

  std::vector<std::vector<std::string>> rows = {{"PRESET", "COMMAND", "FIGURE", "TIME", "SUMMARY"}};
  for (const auto& name : names) {
    const nlohmann::json preset = read_preset(name);
    std::string source;
    if (preset.contains("source") && preset["source"].is_object())
      source = preset["source"].value("paper", "") + " " + preset["source"].value("figure", "");
    rows.push_back({name, preset.value("command", ""), source, preset.contains("seconds") ? duration_text(preset["seconds"]) : "",
                    preset.value("summary", "")});
  }
  for (const auto& line : in_columns(rows)) std::printf("%s\n", printable(line).c_str());
  return 0;
}

}  // namespace ranklab
