// Runs a resolved study and makes the document of its result.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/resolve.hpp"
#include "run/journal.hpp"
#include "run/progress.hpp"

namespace ranklab {

struct Execution {
  nlohmann::ordered_json document;  // null where no trial was finished
  std::uint64_t completed = 0;
  int signal = 0;  // that interrupted the run, or 0
  bool a_claim_fails = false, a_gate_fails = false;
  double wall_seconds = 0;
};

/// The identity of a run, its program in the first line: --resume continues a journal only where every line of it agrees.
std::string journal_identity(ResolvedRun& run);

/// Trials that several runs have in common: done by the first, taken by the others.
struct SharedTrials {
  std::vector<TrialRecord> records;
  double trial_seconds = 0;
};

/// `journal` and `shared` may be null. `argv` goes into the environment block.
Execution execute(ResolvedRun& run, Journal* journal, const Progress::Look& progress, const std::vector<std::string>& argv,
                  SharedTrials* shared = nullptr);

}  // namespace ranklab
