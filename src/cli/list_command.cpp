// `ranklab list`: every preset, its own line and its summary below.

#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/presets.hpp"
#include "cli/terminal.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "report/result_json.hpp"
#include "run/progress.hpp"

namespace ranklab {
namespace {

std::string source_text(const nlohmann::json& preset) {
  if (!preset.contains("source") || !preset["source"].is_object()) return "";
  return preset["source"].value("paper", "") + " " + preset["source"].value("figure", "");
}

void print_table(const std::vector<std::string>& names) {
  const std::size_t columns = columns_of(STDOUT_FILENO, page_columns);
  std::vector<std::vector<std::string>> rows = {{"PRESET", "COMMAND", "TIME", "FIGURE"}};
  std::vector<std::string> summaries = {"SUMMARY"};
  double seconds = 0;
  for (const auto& name : names) {
    const nlohmann::json preset = read_preset(name);
    rows.push_back({name, preset.value("command", ""), preset.contains("seconds") ? duration_text(preset["seconds"]) : "",
                    source_text(preset)});
    summaries.push_back(preset.value("summary", ""));
    seconds += preset.value("seconds", 0.0);
  }
  const std::vector<std::string> lines = in_columns(rows);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::printf("%s\n    %s", shortened(printable(lines[i]), columns).c_str(),
                wrapped(printable(summaries[i]), 4, columns).c_str());
  }
  std::printf("\n%s, %s in all on two cores; make reproduce runs shorter forms of the long ones\n",
              counted(names.size(), "preset").c_str(), duration_text(seconds).c_str());
}

}  // namespace

int list_command(const std::vector<std::string>& words) {
  bool as_json = false;
  const std::vector<Field> fields = {switch_field("json", as_json, "print every preset in full, as a JSON list")};
  const Arguments arguments = parse_utility(words, fields);
  if (prints_help(arguments, "list [--json]", "Lists the presets: name, command, figure of the paper, expected time, summary.",
                  fields))
    return 0;
  if (!arguments.positional.empty()) throw UsageError("unexpected argument '" + arguments.positional[0] + "'; list takes none");
  const std::vector<std::string> names = preset_names();
  if (names.empty()) throw Failure("no folder experiments/ with presets here or beside the program");
  if (!as_json) {
    print_table(names);
    return 0;
  }
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& name : names) {
    nlohmann::ordered_json entry = {{"name", name}};
    const nlohmann::json preset = read_preset(name);
    for (const auto& [key, value] : preset.items()) entry[key] = value;
    all.push_back(std::move(entry));
  }
  std::fputs(format_json(all).c_str(), stdout);
  return 0;
}

}  // namespace ranklab
