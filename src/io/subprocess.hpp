// Runs another program as a child process without a shell, so that nothing interprets the arguments
// or the input.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace ranklab {

/// The program is not installed, or not in PATH.
struct ProgramMissing : Failure {
  using Failure::Failure;
};

struct ProcessOutput {
  int exit_code = 0;  // 128 + signal if a signal ended the program
  std::string out, err;
};

/// Runs words[0], looked up in PATH, with `input` on its standard input, and waits for it to end.
/// The system kills the program if this one ends first. Throws ProgramMissing if the program cannot
/// be started, Failure if it has not ended after `seconds` (it is killed then).
ProcessOutput run_process(const std::vector<std::string>& words, std::string_view input,
                          double seconds);

}  // namespace ranklab
