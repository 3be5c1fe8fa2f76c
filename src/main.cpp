// ranklab: argv -> command -> exit code.

#include <fcntl.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/presets.hpp"
#include "cli/terminal.hpp"
#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/text.hpp"
#include "linalg/blas.hpp"
#include "result/environment.hpp"
#include "run/interrupt.hpp"

namespace {

using namespace ranklab;

bool is_command(const std::string& name) {
  const std::vector<Utility> all = utilities();
  return find_experiment(name) != nullptr ||
         std::any_of(all.begin(), all.end(),
                     [&](const Utility& each) { return each.name == name; });
}

// `--steps 20 random-features`.
[[noreturn]] void refuse_flag_before_command(std::vector<std::string> argv) {
  const std::string flag = printable_key(argv[0]);
  const auto command = std::ranges::find_if(argv, is_command);
  if (command == argv.end())
    throw UsageError(
        "'" + flag + "' is no command" +
        did_you_mean(argv[0], {"--help", "--version"},
                     "; the command comes first, as in `ranklab run PRESET " + flag + "`"));
  std::rotate(argv.begin(), command, command + 1);
  throw UsageError("'" + flag + "': the command comes first: `ranklab " + shell_words(argv) + "`");
}

// `argv` excludes the program name.
int run_command_line(const std::string& program_name, const std::vector<std::string>& argv) {
  if (argv.empty()) {
    std::fputs(first_steps(program_name).c_str(), stderr);
    return 2;
  }
  const std::string& command = argv[0];
  const std::vector<std::string> words(argv.begin() + 1, argv.end());
  if (command == "help" && !words.empty()) {
    const std::string topic = topic_text(words);
    std::fputs(topic.c_str(), stdout);
    if (!topic.empty() && !is_command(words[0])) return 0;
    if (!topic.empty()) std::fputs("\n", stdout);  // the help of the command follows
    std::vector<std::string> help_request = words;
    help_request.emplace_back("--help");
    return run_command_line(program_name, help_request);
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
  if (const Experiment* experiment = find_experiment(command))
    return run_experiment(*experiment, words);
  for (const Experiment& experiment : experiments()) names.push_back(experiment.name);
  for (const Utility& utility : utilities()) {
    if (utility.name == command) return run_utility(utility, words);
    names.push_back(utility.name);
  }
  if (!definition_of(command).empty()) {
    throw UsageError("'" + printable_key(command) + "' is a term, not a command; `ranklab help " +
                     command + "` explains it");
  }
  if (is_preset(command))
    throw UsageError("'" + command + "' is a preset; `ranklab run " + command + "` runs it");
  if (command.starts_with('-')) refuse_flag_before_command(argv);
  if (command == "advise") throw UsageError("`ranklab ranks` replaced `ranklab advise`");
  if (command == "status")
    throw UsageError("`ranklab merge --dry-run PART...` replaced `ranklab status`");
  throw UsageError("unknown command '" + printable_key(command) + "'" +
                   did_you_mean(command, names, "; `ranklab --help` lists the commands"));
}

// A file that is opened later must not get the number of a standard stream.
void open_standard_streams() {
  for (int descriptor = 0; descriptor < 3; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
}

// A path unless the program is installed.
std::string program_name_in(int argc, char** argv) {
  const std::string typed = argc > 0 ? argv[0] : "";
  return typed.find('/') == std::string::npos ? "ranklab" : shell_words({typed});
}

// The message with long words cut, such as a path or a list of thousands of characters. Words of
// usual paths stay whole.
std::string with_short_words(const std::string& message) {
  constexpr std::size_t longest = 300;
  std::string out;
  for (std::size_t start = 0; start < message.size();) {
    const std::size_t end = std::min(message.find(' ', start), message.size() - 1) + 1;
    const std::string word = message.substr(start, end - start);
    out += word.size() <= longest
               ? word
               : printable_key(word) + word.substr(word.find_last_not_of("' :;,)") + 1);
    start = end;
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (const char* instructions = missing_instructions()) {
    std::fprintf(stderr,
                 "ranklab: this processor lacks %s, for which the program was compiled; `make "
                 "build` on this machine compiles one that runs\n",
                 instructions);
    return 1;
  }
  open_standard_streams();
  const std::string program_name = program_name_in(argc, argv);
  const auto print_error = [&](const std::string& message, int exit_code) {
    const std::string shown = printable(with_short_words(with_program_name(message, program_name)));
    std::fprintf(stderr, "ranklab: %s\n", shown.c_str());
    return exit_code;
  };
  // Beyond `ulimit -f`, a write then fails like any other instead of ending the program.
  std::signal(SIGXFSZ, SIG_IGN);
  prepare_blas(argv);
  keep_freed_memory();
  try {
    const int exit_code = run_command_line(program_name, {argv + (argc > 0 ? 1 : 0), argv + argc});
    // A write may have failed before the last one.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      return print_error("cannot write to standard output", 1);
    return exit_code;
  } catch (const UsageError& error) {
    return print_error(error.what(), 2);
  } catch (const Failure& error) {
    // A signal ends a read that would wait forever.
    const int signal = interrupt_signal();
    return print_error(error.what(), signal == 0 ? 1 : 128 + signal);
  } catch (const std::bad_alloc&) {
    return print_error("out of memory; use smaller sizes or fewer --threads", 1);
  } catch (const std::exception& error) {
    const auto* const of_system = dynamic_cast<const std::system_error*>(&error);
    if (of_system && of_system->code() == std::errc::resource_unavailable_try_again)
      return print_error("the system starts no further thread (ulimit -u); use fewer --threads", 1);
    return print_error("internal error, please report it: " + std::string(error.what()), 1);
  }
}
