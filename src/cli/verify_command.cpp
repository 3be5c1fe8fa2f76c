// `ranklab verify RESULT.json...`: reruns the configs of results and compares the results.

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/execute.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "report/compare.hpp"

namespace ranklab {
namespace {

std::string shown(const nlohmann::ordered_json& value) {
  return value.is_string() ? printable_key(value.get<std::string>())
                           : printable_key(value.dump(-1, ' ', true));
}

// Describes how the environments of the two runs differ, because that can explain different bits.
std::string changed_environment(const ResultFile& before, const ResultFile& now) {
  const auto value = [](const ResultFile& result, const char* key) {
    return result.environment.value(key, nlohmann::ordered_json());
  };
  std::vector<std::string> changed;
  for (const char* key : {"git", "compiler", "flags", "armadillo", "blas", "cpu"}) {
    if (value(before, key) != value(now, key)) changed.emplace_back(key);
  }
  const nlohmann::ordered_json kernel = value(before, "blas_core"), mine = value(now, "blas_core");
  if (kernel != mine)
    changed.push_back("BLAS kernel " + shown(kernel) + " before, " + shown(mine) + " now");
  return changed.empty() ? "same CPU type and program" : "changed since: " + joined(changed);
}

// "claim spectral/eq-1.5: holds before, fails now"
std::string line_of(const ComparedItem& item) {
  const auto said = [](const std::string& text) { return text.empty() ? "missing" : text; };
  if (item.kind == ComparedItem::Kind::part) return item.difference;
  const std::string values =
      item.a != item.b ? said(item.a) + " before, " + said(item.b) + " now" : item.difference;
  return std::string(name_of(item.kind)) + " " + item.name + ": " +
         (item.kind == ComparedItem::Kind::series ? item.difference : values) +
         (item.distance.empty() ? "" : " (" + item.distance + ")");
}

// How many numbers were compared, and by which criterion.
std::string compared_text(const Comparison& comparison) {
  const std::string what = counted(comparison.count(ComparedItem::Kind::claim), "verdict") + ", " +
                           counted(comparison.count(ComparedItem::Kind::scalar), "scalar") +
                           " and " + counted(comparison.points, "point") + " of series";
  if (comparison.no_error_bars())
    return what + " compared; 1 trial: no error bars, so only rounding differences are allowed";
  return what + " compared; Student's quantile at level " + short_number(comparison_level) +
         " divided by the number of comparisons";
}

int report_comparison(const std::string& path, const ResultFile& earlier, const ResultFile& again) {
  constexpr std::size_t most_shown = 10;
  const Comparison comparison = compare_results(earlier, again, "the file", "this run");
  const std::string where = changed_environment(earlier, again);
  const std::string name = printable(path);
  if (comparison.same_bits()) {
    std::printf("%s: reproduced bit for bit\n", name.c_str());
    return 0;
  }
  const std::string within = comparison.no_error_bars() ? "reproduced within rounding"
                                                        : "reproduced within its error bars";
  std::printf("%s: %s (%s)\n  the first difference is at %s; %s\n", name.c_str(),
              comparison.agrees() ? (within + ", not bit for bit").c_str() : "not reproduced",
              where.c_str(), printable_key(comparison.first_difference).c_str(),
              compared_text(comparison).c_str());
  std::size_t shown_lines = 0, all = 0;
  for (const ComparedItem& item : comparison.items) {
    if (item.difference.empty()) continue;
    ++all;
    if (shown_lines == most_shown) continue;
    ++shown_lines;
    std::printf("  %s\n", printable(line_of(item)).c_str());
  }
  if (all > shown_lines) std::printf("  and %zu more\n", all - shown_lines);
  return comparison.agrees() ? 0 : 1;
}

// Relative paths in a config start at the working directory of the run, which the result stores
// relative to its own folder. If the files are not found there, paths start at the current
// directory.
ResolvedRun resolve_in_original_folder(const ResultFile& earlier, const std::string& path) {
  namespace fs = std::filesystem;
  const Experiment& experiment = experiment_of(earlier.command, path);
  const RunSources sources = replay_of(parameters_of(earlier, path));
  const auto resolved_here = [&] {
    ResolvedRun run = resolve(experiment, sources);
    run.study->estimate();  // reads the input files
    return run;
  };
  const nlohmann::ordered_json folder =
      earlier.environment.value("folder", nlohmann::ordered_json());
  if (!folder.is_string()) return resolved_here();
  std::error_code error;
  const fs::path here = fs::current_path(),
                 there = fs::absolute(path).parent_path() / folder.get<std::string>();
  fs::current_path(there, error);
  if (error) return resolved_here();
  try {
    return resolved_here();
  } catch (const Failure&) {
    fs::current_path(here);
    return resolved_here();
  }
}

// Returns the exit code.
int verify(const std::string& path, std::uint64_t threads, bool quiet) {
  const ResultFile earlier = read_result(path);
  if (earlier.status == Status::interrupted)
    throw Failure(printable(path) + ": the run was interrupted; finish it with --resume first");
  ResolvedRun run = resolve_in_original_folder(earlier, path);
  if (threads > 0) run.options.threads = threads;
  check_memory(run);

  const Execution execution = execute(run, nullptr, {!quiet && ::isatty(STDERR_FILENO) != 0}, {});
  if (execution.signal != 0) return 128 + execution.signal;
  return report_comparison(path, earlier, *execution.result);
}

struct VerifyOptions {
  std::uint64_t threads = 0;
  bool quiet = false;
};

int verify_all(const std::vector<std::string>& paths, const VerifyOptions& options) {
  const std::filesystem::path here = std::filesystem::current_path();
  std::size_t failed = 0;
  for (const std::string& path : paths) {
    const int code = verify(path, options.threads, options.quiet);
    if (code > 1) return code;
    failed += code == 0 ? 0 : 1;
    std::filesystem::current_path(here);
  }
  const std::size_t all = paths.size();
  if (all > 1) std::printf("%zu of %zu reproduced\n", all - failed, all);
  return failed > 0 ? 1 : 0;
}

}  // namespace

Utility verify_command() {
  const auto options = std::make_shared<VerifyOptions>();
  return {
      .name = "verify",
      .usage = "RESULT.json...",
      .summary = "rerun the config of a result and compare the results",
      .details =
          "Exits with status 0 if every result is reproduced bit for bit or within its own "
          "error bars, and with 1 if not.",
      .takes = {1, any_number, "one or more result files"},
      .flags = {size_field("threads", options->threads, 0, 1024, "",
                           "threads of the run; 0: all cores"),
                switch_field("quiet", options->quiet, "show no progress bar")},
      .run = [options](const Arguments& given) { return verify_all(given.positional, *options); },
  };
}

}  // namespace ranklab
