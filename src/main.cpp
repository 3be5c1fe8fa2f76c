// ranklab: argv -> command -> exit code.

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/text.hpp"
#include "linalg/blas.hpp"
#include "report/environment.hpp"

namespace {

using namespace ranklab;

// `argv` without the program.
int run_command_line(const std::vector<std::string>& argv) {
  if (argv.empty()) {
    std::fputs(first_steps().c_str(), stderr);
    return 2;
  }
  const std::string& command = argv[0];
  const std::vector<std::string> words(argv.begin() + 1, argv.end());
  if (command == "help" && words.size() == 1) {
    const std::string explanation = explanation_of(words[0]);
    std::fputs(explanation.c_str(), stdout);
    if (!explanation.empty()) return 0;
  }
  if (command == "help" && !words.empty()) {
    std::vector<std::string> asked = words;
    asked.emplace_back("--help");
    return run_command_line(asked);
  }
  if (command == "--help" || command == "-h" || command == "help") {
    std::fputs(program_help().c_str(), stdout);
    return 0;
  }
  if (command == "--version" || command == "-V") {
    std::fputs(version_text().c_str(), stdout);
    return 0;
  }
  std::vector<std::string> names = terms();
  names.insert(names.end(), {"--help", "--version"});
  if (const Experiment* experiment = find_experiment(command)) return run_experiment(*experiment, words);
  for (const Experiment& experiment : experiments()) names.push_back(experiment.name);
  for (const Utility& utility : utilities()) {
    if (utility.name == command) return utility.run(words);
    names.push_back(utility.name);
  }
  throw UsageError("unknown command '" + command + "'" + did_you_mean(command, names, "; `ranklab --help` lists them"));
}

int complain(const std::string& message, int exit_code) {
  std::fprintf(stderr, "ranklab: %s\n", printable(message).c_str());
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  if (const char* instructions = missing_instructions()) {
    std::fprintf(stderr,
                 "ranklab: this processor lacks %s, for which the program was compiled; `make build` here makes one that runs\n",
                 instructions);
    return 1;
  }
  prepare_blas(argv);
  return_large_blocks();
  try {
    const int exit_code = run_command_line(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
    if (std::fflush(stdout) != 0) return complain("cannot write to standard output", 1);
    return exit_code;
  } catch (const UsageError& error) {
    return complain(error.what(), 2);
  } catch (const Failure& error) {
    return complain(error.what(), 1);
  } catch (const std::bad_alloc&) {
    return complain("out of memory; smaller sizes or fewer --threads need less", 1);
  } catch (const std::exception& error) {
    return complain(error.what(), 1);
  }
}
