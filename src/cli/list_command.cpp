// `ranklab list`: one line per preset, followed by its summary; or the quantities of a preset.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/check_report.hpp"
#include "cli/commands.hpp"
#include "cli/presets.hpp"
#include "cli/quantities.hpp"
#include "cli/resolve.hpp"
#include "cli/terminal.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "judge/catalog.hpp"
#include "judge/references.hpp"
#include "result/order.hpp"
#include "result/result_json.hpp"
#include "run/progress.hpp"

namespace ranklab {
namespace {

struct Listed {
  Preset preset;
  std::size_t paper = papers().size();  // papers().size(): from no paper
  std::string figure = {};
};

// All presets that can be read; a line on standard error says what is wrong with another one.
std::vector<Preset> readable_presets() {
  std::vector<Preset> out;
  for (const std::string& name : preset_names()) {
    try {
      out.push_back(read_preset(name));
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr, "ranklab: left out: %s\n", printable(error.what()).c_str());
    }
  }
  return out;
}

// Sorted by paper and figure; the user's own presets come last.
std::vector<Listed> sorted_by_paper(const std::vector<Preset>& presets) {
  std::vector<Listed> out;
  for (const Preset& preset : presets) {
    Listed& listed = out.emplace_back(Listed{preset});
    if (!listed.preset.source) continue;
    listed.paper = paper_of(listed.preset.source->paper);
    listed.figure = listed.preset.source->figure;
    for (const auto& [alias, figure] : preset.aliases) {
      Preset same = preset;
      same.name = alias, same.summary = "another name of " + preset.name + ": the same run";
      same.seconds = std::nullopt;
      out.push_back({same, out.back().paper, figure});
    }
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

void print_table(const std::vector<Listed>& presets) {
  const std::size_t columns = columns_of(STDOUT_FILENO, page_columns);
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
  const auto is_alias = [](const Listed& each) {
    return each.preset.name != each.preset.asked_for;
  };
  const auto aliases = static_cast<std::size_t>(std::ranges::count_if(presets, is_alias));
  const std::string count = plural(presets.size() - aliases, "preset");
  if (seconds == 0) {  // presets of one's own name no time
    std::printf("\n%s\n", count.c_str());
    return;
  }
  std::printf(
      "\n%s, %s in total on two cores; `ranklab reproduce` runs shorter versions of the long "
      "ones\n",
      count.c_str(), duration_text(seconds).c_str());
}

// Whether the preset's name, its figure or its command contains the text.
bool matches(const Preset& preset, const std::string& text) {
  const std::string figure =
      preset.source ? preset.source->paper + " " + preset.source->figure : "";
  std::string words = preset.name + "\n" + figure + "\n" + preset.command;
  for (const auto& [alias, drawn] : preset.aliases) words += "\n" + alias + "\n" + drawn;
  return words.find(in_full(text)) != std::string::npos;
}

int list_quantities(const std::vector<std::string>& names, bool as_json) {
  if (names.size() != 1)
    throw UsageError(
        "list --quantities takes one preset, as in `ranklab list spectral-fig03 "
        "--quantities`");
  const Preset preset = read_preset(names[0], "list");
  const ResolvedRun run =
      resolve(experiment_of(preset.command, "preset " + preset.name), {preset, {}, {}});
  check_report(run);
  std::vector<ListedQuantity> quantities = listed(run.study().quantities());
  std::ranges::move(own_quantities(run), std::back_inserter(quantities));
  if (as_json) {
    std::fputs(printed_json(quantities_json(quantities)).c_str(), stdout);
    return 0;
  }
  std::fputs(quantities_text(quantities, columns_of(STDOUT_FILENO, page_columns)).c_str(), stdout);
  return 0;
}

int list_presets(const std::vector<std::string>& texts, bool as_json) {
  require_presets();
  std::vector<Preset> presets = readable_presets();
  for (const std::string& text : texts) {
    std::erase_if(presets, [&](const Preset& preset) { return !matches(preset, text); });
    if (presets.empty())
      throw UsageError("no preset has '" + printable_key(text) +
                       "' in its name, figure or command; `ranklab list` shows all");
  }
  if (!as_json) {
    print_table(sorted_by_paper(presets));
    return 0;
  }
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Preset& preset : presets) {
    nlohmann::ordered_json entry = {{"name", preset.name}};
    entry.update(preset_json(preset));
    if (entry.contains("see")) entry["see"] = without_references(preset.see);
    all.push_back(std::move(entry));
  }
  std::fputs(printed_json(all).c_str(), stdout);
  return 0;
}

}  // namespace

Utility list_command() {
  const auto as_json = std::make_shared<bool>(false), quantities = std::make_shared<bool>(false);
  return {.name = "list",
          .usage = "[TEXT...]",
          .summary = "list presets: name, command, figure, expected time, summary",
          .details = "With TEXT, those with it in their name, figure or command.",
          .takes = {0, any_number, "texts"},
          .flags = {switch_field("json", *as_json, "print every preset in full, as a JSON list"),
                    switch_field("quantities", *quantities,
                                 "print what the run of one preset measures and where: the names "
                                 "for `judge`, `export` and curves")},
          .run = [as_json, quantities](const Arguments& given) {
            return *quantities ? list_quantities(given.positional, *as_json)
                               : list_presets(given.positional, *as_json);
          }};
}

}  // namespace ranklab
