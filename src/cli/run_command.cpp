// `ranklab run PRESET [flags]`: calls the command of a preset with that preset.

#include <cstdio>

#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "core/error.hpp"

namespace ranklab {
namespace {

int run_preset(const std::vector<std::string>& words) {
  if (!words.empty() && (words[0] == "--help" || words[0] == "-h")) {
    std::fputs(utility_help(run_command()).c_str(), stdout);
    return 0;
  }
  if (words.empty() || words[0].starts_with('-'))
    throw UsageError("run takes a preset as its first argument; `ranklab list` shows all presets");
  const Preset preset = read_preset(completed(words[0], preset_names_and_aliases()), "run");
  std::vector<std::string> all = {"--preset", preset.asked_for};
  all.insert(all.end(), words.begin() + 1, words.end());
  return run_experiment(experiment_of(preset.command, "preset " + preset.name), all, preset);
}

}  // namespace

Utility run_command() {
  return {
      .name = "run",
      .usage = "PRESET [flags]",
      .summary = "run a preset",
      .details =
          "Calls its command with --preset PRESET and the given flags. PRESET may be the "
          "beginning of a name, if no other one begins so. `ranklab list` shows the presets, "
          "`ranklab run PRESET --help` the flags of one. Prints the verdicts on standard output, "
          "or with --out - on standard error.",
      .passes_words_on = true,
      .run = [](const Arguments& given) { return run_preset(given.words); }};
}

}  // namespace ranklab
