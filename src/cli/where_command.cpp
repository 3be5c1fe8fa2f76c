// `ranklab where CLAIM`: the line of the source that judges a claim. Its id may be made from the
// flags of the run, so one trial of a preset that judges it is run.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string_view>

#include "cli/commands.hpp"
#include "cli/execute.hpp"
#include "cli/input_files.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace ranklab {
namespace {

const Claim* find_claim(const std::vector<Claim>& claims, const std::string& id) {
  const auto found =
      std::find_if(claims.begin(), claims.end(), [&](const Claim& each) { return each.id == id; });
  return found == claims.end() ? nullptr : &*found;
}

// The preset that judges the claim in the shortest time, of those whose results are in the folder.
std::string preset_judging(const std::string& id, const std::string& folder) {
  std::string preset;
  double shortest = 0;
  std::vector<std::string> ids;
  for (const auto& [path, result] : results_in(folder)) {
    for (const Claim& claim : result.claims) ids.push_back(claim.id);
    const Claim* claim = find_claim(result.claims, id);
    if (!claim || !result.preset || !is_preset(*result.preset)) continue;
    const double seconds = result.timing.wall / static_cast<double>(result.trials.completed);
    if (preset.empty() || seconds < shortest) preset = *result.preset, shortest = seconds;
  }
  if (!preset.empty()) return preset;
  throw UsageError("where: no preset with a result in " + printable(folder) +
                   " judges the claim '" + printable_key(id) + "'" + did_you_mean(id, ids));
}

int show(const std::string& id, const std::string& folder) {
  Preset preset = read_preset(preset_judging(id, folder));
  const Experiment& experiment = experiment_of(preset.command, preset.name);
  const auto study = study_of(experiment, {preset, {}, {}}).make();
  // Only a run writes the files that its preset names.
  for (const Field& field : study->fields()) {
    if (field.names_output) preset.config.erase(field.name);
  }
  RunSources sources = {preset, {}, {}};
  sources.flags.flags = {{"trials", "1"}};
  ResolvedRun run = resolve(experiment, sources);
  check_memory(run);
  const Execution execution = execute(run, nullptr, {false}, {});
  if (execution.signal != 0) return 128 + execution.signal;
  const Claim* claim = find_claim(execution.result->claims, id);
  if (!claim) throw Failure("where: one trial of " + preset.name + " has no claim '" + id + "'");
  std::string_view file = claim->judged_at.file;
  if (file.starts_with("./")) file.remove_prefix(2);
  std::printf("%s:%d: %s, in %s --study %s\n", std::string(file).c_str(), claim->judged_at.line,
              id.c_str(), preset.command.c_str(), run.options.study.c_str());
  return 0;
}

}  // namespace

Utility where_command() {
  const auto folder = std::make_shared<std::string>("results/reference");
  return {
      .name = "where",
      .usage = "CLAIM",
      .summary = "show the line of the source that judges a claim",
      .details = "Runs one trial of a preset that judges it.",
      .takes = {1, 1, "one claim, such as spectral/eq-1.5/gd"},
      .flags = {text_field("results", *folder, "folder of results that have the claim")},
      .run = [folder](const Arguments& given) { return show(given.positional[0], *folder); },
  };
}

}  // namespace ranklab
