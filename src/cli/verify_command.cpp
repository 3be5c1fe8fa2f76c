// `ranklab verify RESULT.json`: runs a result's config again and says whether it holds.

#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/execute.hpp"
#include "cli/help.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "report/compare.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

const Experiment& experiment_of(const nlohmann::json& result, const std::string& path) {
  for (const Experiment& experiment : experiments()) {
    if (result["command"] == experiment.name) return experiment;
  }
  throw Failure(printable(path) + ": the command " + result["command"].dump(-1, ' ', true) + " is unknown");
}

// Where the two runs were measured differently, bits may differ with good reason.
std::string changed_environment(const nlohmann::json& before, const nlohmann::json& now) {
  std::vector<std::string> changed;
  for (const char* key : {"git", "compiler", "flags", "armadillo", "blas", "blas_core", "cpu"}) {
    if (before.value(key, nlohmann::json()) != now.value(key, nlohmann::json())) changed.emplace_back(key);
  }
  return joined(changed);
}

int report_comparison(const std::string& path, const nlohmann::json& earlier, const nlohmann::json& again) {
  const Comparison comparison = compare_results(earlier, again);
  const std::string changed = changed_environment(earlier["environment"], again["environment"]);
  const std::string name = printable(path);
  if (comparison.same_bits) {
    std::printf("%s: holds, the same bits\n", name.c_str());
    return 0;
  }
  const std::string where = changed.empty() ? "on the same machine and program" : "other than then: " + changed;
  if (comparison.within_error_bars) {
    std::printf("%s: holds within its error bars, not to the bit (%s)\n", name.c_str(), where.c_str());
    return 0;
  }
  std::printf("%s: does not hold (%s)\n", name.c_str(), where.c_str());
  for (const auto& line : comparison.differences) std::printf("  %s\n", printable(line).c_str());
  return 1;
}

}  // namespace

int verify_command(const std::vector<std::string>& words) {
  std::uint64_t threads = 0;
  bool quiet = false;
  const std::vector<Field> fields = {
      size_field("threads", threads, 0, 1024, "", "trials run at once; 0: all cores"),
      switch_field("quiet", quiet, "no progress bar"),
  };
  const Arguments arguments = parse_utility(words, fields);
  const std::string summary =
      "Runs the config of a result again. Exit 0 where the result holds to the bit or within its own error bars, 1 where neither.";
  if (prints_help(arguments, "verify RESULT.json [flags]", summary, fields)) return 0;
  const std::string& path = the_result_file(arguments, "verify");
  const nlohmann::json earlier = read_result(path);
  if (earlier["status"] == "interrupted")
    throw Failure(printable(path) + ": the run was interrupted; finish it with --resume first");
  ResolvedRun run = resolve_result(experiment_of(earlier, path), earlier, path);
  if (threads > 0) run.options.threads = threads;
  check_memory(run);

  const Execution execution = execute(run, nullptr, {!quiet && ::isatty(STDERR_FILENO) != 0}, {});
  if (execution.signal != 0) return 128 + execution.signal;
  try {
    return report_comparison(path, earlier, nlohmann::json::parse(execution.document.dump()));
  } catch (const nlohmann::json::exception& error) {
    throw Failure(printable(path) + ": not a whole result file: " + error.what());
  }
}

}  // namespace ranklab
