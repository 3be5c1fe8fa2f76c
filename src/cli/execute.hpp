// Runs a resolved study and makes the document of its result.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/resolve.hpp"
#include "run/journal.hpp"

namespace ranklab {

struct Execution {
  nlohmann::ordered_json document;  // null where no trial was finished
  std::uint64_t completed = 0;
  int signal = 0;  // that interrupted the run, or 0
  bool a_claim_fails = false;
  double wall_seconds = 0;
};

/// `journal` may be null. `argv` goes into the environment block.
Execution execute(ResolvedRun& run, Journal* journal, bool show_progress, const std::vector<std::string>& argv);

}  // namespace ranklab
