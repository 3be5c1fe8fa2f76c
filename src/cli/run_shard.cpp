#include "cli/run_shard.hpp"

#include <cstdio>
#include <filesystem>

#include "cli/execute.hpp"
#include "cli/run_identity.hpp"
#include "cli/start.hpp"
#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"

namespace ranklab {
namespace {

void refuse_flags_of_results(const CommonOptions& options) {
  if (options.out == "-" || is_special_file(options.out))
    throw UsageError("--out " + options.out + ": a shard needs a regular file, its part");
  for (const std::string flag :
       {options.strict ? "--strict" : "", options.expect ? "--expect" : ""}) {
    if (!flag.empty())
      throw UsageError(flag + ": a shard has no verdicts; use `ranklab merge " + flag + "`");
  }
  if (!options.claim.empty() || options.keep_trials)
    throw UsageError(std::string(options.keep_trials ? "--keep-trials" : "--claim") +
                     ": a shard writes no result; give the flag to `ranklab merge`");
}

// With --resume, the journal itself checks that the file belongs to this shard.
void refuse_to_replace_part(const ResolvedRun& run, const std::string& identity) {
  const CommonOptions& options = run.options();
  std::error_code error;
  if (options.resume || options.force || !std::filesystem::exists(options.out, error)) return;
  const JournalContent part = read_journal(options.out);
  throw UsageError(
      "--out " + options.out + ": " +
      (part.header == identity
           ? "has " + std::to_string(part.trials.size()) + " of " +
                 plural(run.shard.trials_of(options.trials), "trial") +
                 " of this shard; --resume keeps them, "
           : "is a part of a different run (" + header_difference(part.header, identity) + "); ") +
      "--force replaces the file");
}

}  // namespace

int run_shard(ResolvedRun& run, const Progress::Look& progress) {
  const CommonOptions& options = run.options();
  refuse_flags_of_results(options);
  prepare_folder(run);
  const std::string identity = run_identity(run), name = "shard " + run.shard.text();
  refuse_to_replace_part(run, identity);
  Journal part(
      options.out, identity,
      options.force && !options.resume ? Journal::Earlier::discarded : Journal::Earlier::resumed);
  warn_before_trials(run, &part);
  const std::uint64_t wanted = run.shard.trials_of(options.trials);
  if (part.finished().size() == wanted) {
    if (!options.quiet)
      std::fprintf(stderr, "%s: %s is already complete\n", printable(options.out).c_str(),
                   name.c_str());
    return 0;
  }

  const ShardExecution execution = execute_shard(run, part, progress);
  const nlohmann::ordered_json session = {
      {"threads", options.threads},          {"cpu", cpu_name()},
      {"wall_s", execution.timing.wall},     {"cpu_s", execution.timing.cpu},
      {"trials_s", execution.timing.trials}, {"notes", run.notes}};
  part.note(session.dump());
  part.flush();
  const int exit_code = execution.signal != 0 ? 128 + execution.signal : 0;
  if (options.quiet) return exit_code;
  if (execution.signal != 0) {
    std::fprintf(
        stderr, "ranklab: interrupted; %s of %llu finished; --resume continues the shard\n",
        plural(execution.completed, "trial").c_str(), static_cast<unsigned long long>(wanted));
    return exit_code;
  }
  for (const std::string& note : run.notes) std::fprintf(stderr, "  %s\n", note.c_str());
  std::fprintf(stderr, "%s %s, %s: %s in %.1f s\n%s\n", run.experiment->name.c_str(),
               options.study.c_str(), name.c_str(), plural(wanted, "trial").c_str(),
               execution.timing.wall, printable(options.out).c_str());
  return 0;
}

}  // namespace ranklab
