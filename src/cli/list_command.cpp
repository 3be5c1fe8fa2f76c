// `ranklab list`: one line per preset, followed by its summary.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/presets.hpp"
#include "cli/terminal.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "report/catalog.hpp"
#include "report/order.hpp"
#include "report/result_json.hpp"
#include "run/progress.hpp"

namespace ranklab {
namespace {

struct Listed {
  Preset preset;
  std::size_t paper = papers().size();  // papers().size(): from no paper
  std::string figure = {};
};

// Sorted by paper and figure; the user's own presets come last.
std::vector<Listed> sorted_by_paper(const std::vector<std::string>& names) {
  std::vector<Listed> out;
  for (const auto& name : names) {
    Listed& listed = out.emplace_back(Listed{read_preset(name)});
    if (!listed.preset.source) continue;
    listed.paper = paper_of(listed.preset.source->paper);
    listed.figure = listed.preset.source->figure;
  }
  std::stable_sort(out.begin(), out.end(), [](const Listed& a, const Listed& b) {
    if (a.paper != b.paper) return a.paper < b.paper;
    return a.figure == b.figure ? natural_less(a.preset.name, b.preset.name)
                                : figure_less(a.figure, b.figure);
  });
  return out;
}

std::string heading(std::size_t paper) {
  if (paper == papers().size()) return "Your own";
  return papers()[paper].key + " " + papers()[paper].title;
}

void print_table(const std::vector<std::string>& names) {
  const std::size_t columns = columns_of(STDOUT_FILENO, page_columns);
  const std::vector<Listed> presets = sorted_by_paper(names);
  std::vector<std::vector<std::string>> rows = {{"PRESET", "COMMAND", "TIME", "FIGURE"}};
  double seconds = 0;
  for (const Listed& listed : presets) {
    const Preset& preset = listed.preset;
    rows.push_back({preset.name, preset.command,
                    preset.seconds ? duration_text(*preset.seconds) : "", listed.figure});
    seconds += preset.seconds.value_or(0);
  }
  const std::vector<std::string> lines = in_columns(rows);
  std::printf("%s\n", shortened(lines[0], columns).c_str());
  for (std::size_t i = 0; i < presets.size(); ++i) {
    if (i == 0 || presets[i].paper != presets[i - 1].paper)
      std::printf("\n%s\n", shortened(heading(presets[i].paper), columns).c_str());
    std::printf("%s\n    %s", shortened(printable(lines[i + 1]), columns).c_str(),
                wrapped(printable(presets[i].preset.summary), 4, columns).c_str());
  }
  std::printf(
      "\n%s, %s in total on two cores; `ranklab reproduce` runs shorter versions of the long "
      "ones\n",
      plural(names.size(), "preset").c_str(), duration_text(seconds).c_str());
}

int list_presets(bool as_json) {
  const std::vector<std::string> names = preset_names();
  if (names.empty())
    throw Failure(
        "no folder experiments/ with presets in the working directory or next to the program");
  if (!as_json) {
    print_table(names);
    return 0;
  }
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& name : names) {
    nlohmann::ordered_json entry = {{"name", name}};
    entry.update(preset_json(read_preset(name)));
    all.push_back(std::move(entry));
  }
  std::fputs(printed_json(all).c_str(), stdout);
  return 0;
}

}  // namespace

Utility list_command() {
  const auto as_json = std::make_shared<bool>(false);
  return {.name = "list",
          .summary = "list every preset: name, command, figure, expected time, summary",
          .flags = {switch_field("json", *as_json, "print every preset in full, as a JSON list")},
          .run = [as_json](const Arguments&) { return list_presets(*as_json); }};
}

}  // namespace ranklab
