// `ranklab completion bash`: completion of commands, flags, the words that flags allow, presets and files.

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace ranklab {
namespace {

struct Completion {
  std::vector<std::string> flags;                            // with dashes
  std::map<std::string, std::set<std::string>> words_after;  // a flag
};

void add(Completion& completion, const std::vector<FlagHelp>& flags) {
  for (const FlagHelp& flag : flags) {
    const std::string name = "--" + flag.name;
    if (std::find(completion.flags.begin(), completion.flags.end(), name) == completion.flags.end())
      completion.flags.push_back(name);
    completion.words_after[name].insert(flag.choices.begin(), flag.choices.end());
  }
}

std::map<std::string, Completion> completions() {
  std::map<std::string, Completion> out;
  for (const Experiment& experiment : experiments()) {
    Completion& completion = out[experiment.name];
    add(completion, common_flags(experiment));
    for (const StudyEntry& study : experiment.studies) add(completion, flag_help(study.make()->fields()));
    for (const Inquiry& inquiry : experiment.inquiries) completion.flags.push_back("--" + inquiry.flag);
  }
  for (const Utility& utility : utilities()) add(out[utility.name], utility_help(utility).flags);
  add(out["run"], common_flags(experiments().front()));
  return out;
}

std::string joined_words(const std::set<std::string>& words) {
  return joined({words.begin(), words.end()}, " ");
}

std::string bash_completion() {
  std::vector<std::string> commands = {"help", "--help", "--version"};
  std::string flags, words;
  for (const auto& [command, completion] : completions()) {
    commands.push_back(command);
    flags += "    " + command + ") flags=\"" + joined(completion.flags, " ") + " --help\" ;;\n";
    for (const auto& [flag, allowed] : completion.words_after) {
      if (!allowed.empty()) words += "    '" + command + " " + flag + "') words=\"" + joined_words(allowed) + "\" ;;\n";
    }
  }
  return "# bash completion for ranklab; `ranklab completion bash` makes it.\n"
         "_ranklab() {\n"
         "  local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\" command=\"${COMP_WORDS[1]}\"\n"
         "  local flags= words=\n"
         "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         joined(commands, " ") +
         "\" -- \"$current\"))\n"
         "    return\n"
         "  fi\n"
         "  case \"$command $previous\" in\n"
         "    'run run'|'reproduce reproduce'|*' --preset')\n"
         "      words=\"$(\"${COMP_WORDS[0]}\" list 2>/dev/null | sed -n 's/^\\([a-z][^ ]*\\) .*/\\1/p')\" ;;\n" +
         words +
         "  esac\n"
         "  case \"$command\" in\n" +
         flags +
         "  esac\n"
         "  if [ -n \"$words\" ]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  elif [[ \"$current\" == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$flags\" -- \"$current\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _ranklab ranklab\n";
}

}  // namespace

int completion_command(const std::vector<std::string>& words) {
  const Arguments arguments = parse_utility(words, {});
  const std::string summary = "Prints shell completion. To load it: `source <(ranklab completion bash)`.";
  if (prints_help(arguments, "completion bash", summary, {})) return 0;
  if (arguments.positional != std::vector<std::string>{"bash"})
    throw UsageError("completion takes the name of a shell; allowed: bash");
  std::fputs(bash_completion().c_str(), stdout);
  return 0;
}

}  // namespace ranklab
