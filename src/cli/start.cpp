#include "cli/start.hpp"

#include <cstdio>

#include "cli/deliver.hpp"
#include "core/machine.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"

namespace ranklab {
namespace {

// BLAS threads that find no core spin until one is free.
void warn_of_too_many_threads(const CommonOptions& options) {
  const std::uint64_t needed = options.threads * options.blas_threads, cores = available_cores();
  if (options.blas_threads == 1 || needed <= cores) return;
  const std::string sentence = say(
      "--threads {} with --blas-threads {} needs {} cores, and {} available; the BLAS then waits "
      "for itself, and the run may take many times as long",
      options.threads, options.blas_threads, needed,
      cores == 1 ? "1 is" : std::to_string(cores) + " are");
  std::fprintf(stderr, "ranklab: %s\n", sentence.c_str());
}

void warn_of_lost_trials(const Journal& journal) {
  if (journal.discarded())
    std::fprintf(stderr,
                 "ranklab: starting over; the finished trials of an interrupted run were "
                 "discarded%s\n",
                 journal.discarded_same() ? " (--resume would have kept them)" : "");
  if (!journal.loss().empty())
    std::fprintf(stderr, "ranklab: %s %s\n", printable(journal.path()).c_str(),
                 journal.loss().c_str());
}

}  // namespace

void prepare_folder(const ResolvedRun& run) {
  const std::string& out = run.options().out;
  const std::string created = check_writable(out);
  if (!created.empty() && !run.options().quiet && out != default_out(run))
    std::fprintf(stderr, "ranklab: --out %s: created the folder %s\n", printable(out).c_str(),
                 printable(created).c_str());
}

void warn_of_repeated_flags(const std::vector<std::string>& repeated, bool quiet) {
  if (quiet) return;
  for (const std::string& sentence : repeated)
    std::fprintf(stderr, "ranklab: %s\n", sentence.c_str());
}

void warn_before_trials(const ResolvedRun& run, const Journal* journal) {
  if (run.options().quiet) return;
  warn_of_repeated_flags(run.repeated, false);
  warn_of_too_many_threads(run.options());
  if (journal != nullptr) warn_of_lost_trials(*journal);
}

}  // namespace ranklab
