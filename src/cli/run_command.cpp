// `ranklab run PRESET [flags]`: calls the command of a preset with that preset.

#include <nlohmann/json.hpp>

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/presets.hpp"
#include "core/error.hpp"

namespace ranklab {

int run_command(const std::vector<std::string>& words) {
  if (!words.empty() && (words[0] == "--help" || words[0] == "-h")) {
    Arguments help;
    help.help = true;
    prints_help(help, "run PRESET [flags]",
                "Runs a preset: calls its command with --preset PRESET and the given flags. "
                "`ranklab list` shows the presets.",
                {});
    return 0;
  }
  if (words.empty() || words[0].starts_with('-'))
    throw UsageError("run takes a preset as its first argument; `ranklab list` shows all presets");
  const std::string command = read_preset(words[0])["command"];
  const Experiment* experiment = find_experiment(command);
  if (experiment == nullptr)
    throw UsageError("preset " + words[0] + ": unknown command '" + command + "'");
  std::vector<std::string> all = {"--preset"};
  all.insert(all.end(), words.begin(), words.end());
  return run_experiment(*experiment, all);
}

}  // namespace ranklab
