#include "cli/run_shard.hpp"

#include <cstdio>
#include <ctime>
#include <filesystem>

#include "cli/execute.hpp"
#include "cli/part_header.hpp"
#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "run/journal_format.hpp"

namespace ranklab {
namespace {

void refuse_flags_of_results(const CommonOptions& options) {
  if (options.out == "-" || is_special_file(options.out))
    throw UsageError("--out " + options.out +
                     ": a shard needs a part file, because its journal is stored next to it");
  if (options.strict)
    throw UsageError("--strict: a shard has no verdicts; use `ranklab merge --strict`");
}

// True if the part is complete and may be kept; false if --out does not exist or --force replaces
// it.
bool is_done(const ResolvedRun& run, const std::string& header) {
  const CommonOptions& options = run.options;
  std::error_code error;
  if (!std::filesystem::exists(options.out, error)) return false;
  if (std::filesystem::is_directory(options.out, error))
    return false;  // check_writable() reports it
  const PartFile part(options.out);
  const bool whole = is_complete(part, run.shard.trials_of(options.trials));
  if (options.resume && whole && part.header() == header) return true;
  if (options.force) return false;
  const auto why = [&]() -> std::string {
    if (!part.header().starts_with("part schema: ")) return "is not a ranklab part";
    if (part.header() == header) {
      return whole ? "is complete; --resume keeps it"
                   : "is damaged after " + std::to_string(part.trials()) + " of " +
                         counted(run.shard.trials_of(options.trials), "trial");
    }
    const HeaderDifference difference = first_difference(part.header(), header);
    return "is a part of a different run (" +
           (difference.name.empty() ? "the parameters differ"
                                    : difference.name + " is " + difference.there + " there, " +
                                          difference.here + " here") +
           ")";
  };
  throw UsageError("--out " + options.out + ": " + why() + "; --force replaces it");
}

}  // namespace

void warn_of_lost_trials(const Journal& journal) {
  if (journal.discarded())
    std::fprintf(stderr,
                 "ranklab: starting over; the finished trials of an interrupted run were discarded "
                 "(--resume would have kept them)\n");
  if (journal.skipped_damage())
    std::fprintf(stderr, "ranklab: %s has damaged records; their trials run again\n",
                 printable(journal.path()).c_str());
}

int run_shard(ResolvedRun& run, const Progress::Look& progress) {
  const CommonOptions& options = run.options;
  refuse_flags_of_results(options);
  const std::string header = part_header(run), name = "shard " + run.shard.text();
  if (is_done(run, header)) {
    if (!options.quiet)
      std::fprintf(stderr, "%s: %s is already complete\n", printable(options.out).c_str(),
                   name.c_str());
    return 0;
  }
  check_writable(options.out);
  Journal journal(options.out, header, options.resume);
  if (!options.quiet) warn_of_lost_trials(journal);
  // `ranklab status` computes the speed from this note and the time of the last write.
  const std::uint64_t before = journal.finished().size();
  journal.note(
      nlohmann::ordered_json({{"started", std::time(nullptr)}, {"trials", before}}).dump());

  const ShardExecution execution = execute_shard(run, journal, progress);
  const std::uint64_t wanted = run.shard.trials_of(options.trials);
  if (execution.completed == wanted) {
    const nlohmann::ordered_json trailer = {{"threads", options.threads},
                                            {"cpu", cpu_name()},
                                            {"wall_s", execution.timing.wall},
                                            {"cpu_s", execution.timing.cpu},
                                            {"trials_s", execution.timing.trials}};
    journal.finish_as(options.out, trailer.dump());
  } else {
    journal.close();
  }
  if (options.quiet) return execution.signal != 0 ? 128 + execution.signal : 0;
  if (execution.signal != 0) {
    std::fprintf(
        stderr, "ranklab: interrupted; %s of %llu finished; --resume continues the shard\n",
        counted(execution.completed, "trial").c_str(), static_cast<unsigned long long>(wanted));
    return 128 + execution.signal;
  }
  std::fprintf(stderr, "%s %s, %s: %s in %.1f s\n%s\n", run.experiment->name.c_str(),
               options.study.c_str(), name.c_str(), counted(wanted, "trial").c_str(),
               execution.timing.wall, printable(options.out).c_str());
  return 0;
}

}  // namespace ranklab
