// Another program as a child process: no shell in between, so no word of the arguments or the input is ever interpreted.
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
  int exit_code = 0;  // 128 + signal where a signal ended the program
  std::string out, err;
};

/// Runs words[0], looked up in PATH, with `input` on its standard input, and waits for its end.
/// Throws ProgramMissing where there is no such program, Failure where the system refuses.
ProcessOutput run_process(const std::vector<std::string>& words, std::string_view input);

}  // namespace ranklab
