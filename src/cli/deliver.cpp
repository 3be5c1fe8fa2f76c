#include "cli/deliver.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "cli/expect.hpp"
#include "cli/summary.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "judge/published.hpp"
#include "result/agreement.hpp"
#include "run/interrupt.hpp"

namespace ranklab {
namespace {

// Standard output, unless the result goes there: `--out -`, `--out /dev/stdout`.
std::FILE* summary_stream(const std::string& out) {
  struct stat named = {}, standard = {};
  const bool is_same =
      out == "-" || (::stat(out.c_str(), &named) == 0 && ::fstat(STDOUT_FILENO, &standard) == 0 &&
                     named.st_dev == standard.st_dev && named.st_ino == standard.st_ino);
  return is_same ? stderr : stdout;
}

void print_summary(const ResolvedRun& run, const Execution& execution, std::FILE* to) {
  if (run.prints_table) {
    print_result_table(*execution.result, to);
  } else {
    std::fprintf(to, "%s %s: %s in %.1f s, %s\n", run.experiment->name.c_str(),
                 run.options().study.c_str(), plural(execution.completed, "trial").c_str(),
                 execution.result->timing.wall,
                 std::string(name_of(execution.result->status)).c_str());
    print_findings(*execution.result, run.options().claims == "all", to);
  }
  std::fflush(to);  // before the path on standard error
}

void write_result(const std::string& out, const ResultFile& result) {
  const std::string text = result_text(result);
  if (out == "-") {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
      throw Failure("cannot write to standard output");
  } else {
    write_file_atomically(out, text);
  }
}

int exit_code(const ResolvedRun& run, const Execution& execution) {
  if (execution.signal != 0) return 128 + execution.signal;
  if (!execution.result) return 0;
  if (!execution.mistakes.empty()) return 2;
  const bool fails = !execution.result->failed_gates.empty() ||
                     (run.options().strict && fails_unexpectedly(*execution.result));
  return fails ? 3 : 0;
}

// The line of --expect. Returns the exit code.
int compare_with_published(const ResultFile& result) {
  Agreement agreement;
  agreement.add(result, *published_result(*result.preset));
  std::fprintf(stderr, "ranklab: %s\n", printable(agreement.text()).c_str());
  return agreement.contradictions.empty() ? 0 : 3;
}

// The working directory, relative to the folder of the result. Relative paths in the config start
// in the working directory, so that it and the result can be moved together. Empty if it has been
// deleted.
std::string working_directory_relative_to(const std::string& out) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path here = fs::current_path(error),
                 from = fs::weakly_canonical((here / out).parent_path(), error);
  return error ? "" : here.lexically_relative(from).string();
}

// refuse_to_replace() has already checked that a complete result in the file has the same config.
bool is_complete_result(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return false;
  try {
    return read_result(file).status == Status::complete;
  } catch (const Failure&) {
    return false;
  }
}

}  // namespace

std::string default_out(const ResolvedRun& run) {
  const std::string name =
      run.asked_for.empty() ? run.experiment->name + "-" + run.options().study : run.asked_for;
  const Shard& shard = run.shard;
  const std::string part =
      "." + std::to_string(shard.index) + "-of-" + std::to_string(shard.count) + ".part";
  return "results/" + name + (run.options().shard.empty() ? ".json" : part);
}

int deliver(const ResolvedRun& run, Execution& execution, Journal* journal) {
  const CommonOptions& options = run.options();
  const bool has_result = execution.result.has_value(),
             to_file = !options.out.empty() && options.out != "-",
             keeps_earlier = execution.signal != 0 && !options.force && to_file &&
                             !is_special_file(options.out) && is_complete_result(options.out),
             writes = has_result && !keeps_earlier && !options.out.empty();
  std::FILE* const summary = summary_stream(options.out);  // before the file is replaced
  if (writes) {
    const bool is_regular = to_file && !is_special_file(options.out);
    const std::string folder = is_regular ? working_directory_relative_to(options.out) : "";
    if (!folder.empty()) execution.result->environment["folder"] = folder;
    // A signal must not leave a temporary file. A pipe may block, so that it can be interrupted.
    std::optional<InterruptGuard> until_written;
    if (is_regular) until_written.emplace();
    write_result(options.out, *execution.result);
  }
  const bool keeps_trials = execution.signal != 0 || options.reuse_trials;
  if (journal != nullptr) keeps_trials ? journal->flush() : journal->remove();
  for (const std::string& mistake : execution.mistakes)
    std::fprintf(stderr, "ranklab: %s\n", printable(mistake).c_str());
  if (!execution.mistakes.empty() && writes && to_file)
    std::fprintf(stderr,
                 "ranklab: the result keeps the curves of its trials: `ranklab judge %s --claim "
                 "TEXT` judges them\n",
                 printable(options.out).c_str());
  if (has_result && !options.quiet) print_summary(run, execution, summary);
  if (execution.signal != 0 && !options.quiet) {
    std::fprintf(stderr, "ranklab: interrupted; %s of %llu finished%s\n",
                 plural(execution.completed, "trial").c_str(),
                 static_cast<unsigned long long>(options.trials),
                 journal != nullptr ? "; --resume continues the run" : "");
    if (keeps_earlier)
      std::fprintf(stderr, "ranklab: %s keeps the complete result of an earlier run\n",
                   printable(options.out).c_str());
  }
  if (writes && to_file && !options.quiet)
    std::fprintf(stderr, "%s\n", printable(options.out).c_str());
  const int code = exit_code(run, execution);
  if (!options.expect || !has_result || execution.signal != 0) return code;
  const int agrees = compare_with_published(*execution.result);
  return code != 0 ? code : agrees;
}

}  // namespace ranklab
