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
#include "report/result_json.hpp"

namespace ranklab {
namespace {

const Experiment& experiment_of(const nlohmann::json& result, const std::string& path) {
  const Experiment* experiment = result["command"].is_string()
                                     ? find_experiment(result["command"].get<std::string>())
                                     : nullptr;
  if (experiment != nullptr) return *experiment;
  throw Failure(printable(path) + ": unknown command " + result["command"].dump(-1, ' ', true));
}

std::string shown(const nlohmann::json& value) {
  return value.is_string() ? printable_key(value.get<std::string>())
                           : printable_key(value.dump(-1, ' ', true));
}

// Describes how the environments of the two runs differ, because that can explain different bits.
std::string changed_environment(const nlohmann::json& before, const nlohmann::json& now) {
  std::vector<std::string> changed;
  for (const char* key : {"git", "compiler", "flags", "armadillo", "blas", "cpu"}) {
    if (before.value(key, nlohmann::json()) != now.value(key, nlohmann::json()))
      changed.emplace_back(key);
  }
  const nlohmann::json kernel = before.value("blas_core", nlohmann::json()),
                       mine = now.value("blas_core", nlohmann::json());
  if (kernel != mine)
    changed.push_back("BLAS kernel " + shown(kernel) + " before, " + shown(mine) + " now");
  return changed.empty() ? "same CPU type and program" : "changed since: " + joined(changed);
}

// Verdicts first, then scalars, then series.
std::vector<std::string> differences_of(const Comparison& comparison) {
  std::vector<std::string> out;
  const auto beyond = [](double standard_errors) {
    return std::isinf(standard_errors) ? std::string("no error bars")
                                       : short_number(standard_errors) + " standard errors";
  };
  for (const ComparedClaim& claim : comparison.claims) {
    const auto said = [](const std::string& verdict) {
      return verdict.empty() ? std::string("missing") : verdict;
    };
    if (claim.a != claim.b) {
      out.push_back("claim " + claim.id + ": " + said(claim.a) + " before, " + said(claim.b) +
                    " now");
    } else if (claim.differs()) {
      out.push_back("claim " + claim.id + ": another " + claim.field);
    }
  }
  for (const ComparedAdvice& layer : comparison.advice) {
    if (layer.differs())
      out.push_back("advice for " + layer.layer + ": " + (layer.a.empty() ? "none" : layer.a) +
                    " before, " + (layer.b.empty() ? "none" : layer.b) + " now");
  }
  for (const std::string& part : comparison.parts) out.push_back("another " + part);
  for (const ComparedScalar& scalar : comparison.scalars) {
    if (!scalar.differs) continue;
    const std::string numbers = short_number(scalar.a) + " before, " + short_number(scalar.b) +
                                " now (" + beyond(scalar.standard_errors) + ")";
    out.push_back("scalar " + scalar.name + ": " +
                  (scalar.missing.empty() ? numbers : scalar.missing));
  }
  for (const ComparedSeries& series : comparison.series) {
    if (!series.differs()) continue;
    const std::string points = std::to_string(series.beyond) + " of " +
                               counted(series.points, "point") + " differ, most at " +
                               short_number(series.at) + " (" + beyond(series.farthest) + ")";
    out.push_back("series " + series.name + ": " +
                  (series.missing.empty() ? points : series.missing));
  }
  return out;
}

// How many numbers were compared, and by which criterion.
std::string compared_text(const Comparison& comparison) {
  const std::string what = counted(comparison.claims.size(), "verdict") + ", " +
                           counted(comparison.scalars.size(), "scalar") + " and " +
                           counted(comparison.points(), "point") + " of series";
  if (comparison.no_error_bars())
    return what + " compared; 1 trial: no error bars, so only rounding differences are allowed";
  return what + " compared; Student's quantile at level " + short_number(comparison_level) +
         " divided by the number of comparisons";
}

int report_comparison(const std::string& path, const nlohmann::json& earlier,
                      const nlohmann::json& again) {
  constexpr std::size_t most_shown = 10;
  const Comparison comparison = compare_results(earlier, again, "the file", "this run");
  const std::string where = changed_environment(earlier["environment"], again["environment"]);
  const std::string name = printable(path);
  if (comparison.same_bits) {
    std::printf("%s: reproduced bit for bit\n", name.c_str());
    return 0;
  }
  const std::string within = comparison.no_error_bars() ? "reproduced within rounding"
                                                        : "reproduced within its error bars";
  std::printf("%s: %s (%s)\n  %s\n", name.c_str(),
              comparison.agrees() ? (within + ", not bit for bit").c_str() : "not reproduced",
              where.c_str(), compared_text(comparison).c_str());
  std::vector<std::string> differences = differences_of(comparison);
  const std::size_t all = differences.size();
  differences.resize(std::min(all, most_shown));
  for (const auto& line : differences) std::printf("  %s\n", printable(line).c_str());
  if (all > most_shown) std::printf("  and %zu more\n", all - most_shown);
  return comparison.agrees() ? 0 : 1;
}

// Relative paths in a config start at the working directory of the run, which the result stores
// relative to its own folder. If the files are not found there, paths start at the current
// directory.
ResolvedRun resolve_in_original_folder(const nlohmann::json& earlier, const std::string& path) {
  namespace fs = std::filesystem;
  const Experiment& experiment = experiment_of(earlier, path);
  const auto resolved_here = [&] {
    ResolvedRun run = resolve_result(experiment, earlier, path);
    run.study->estimate();  // reads the input files
    return run;
  };
  const nlohmann::json environment = earlier["environment"];
  const nlohmann::json folder =
      environment.is_object() ? environment.value("folder", nlohmann::json()) : nlohmann::json();
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
  const nlohmann::json earlier = read_result(path);
  if (earlier["status"] == "interrupted")
    throw Failure(printable(path) + ": the run was interrupted; finish it with --resume first");
  ResolvedRun run = resolve_in_original_folder(earlier, path);
  if (threads > 0) run.options.threads = threads;
  check_memory(run);

  const Execution execution = execute(run, nullptr, {!quiet && ::isatty(STDERR_FILENO) != 0}, {});
  if (execution.signal != 0) return 128 + execution.signal;
  try {
    return report_comparison(path, earlier, nlohmann::json::parse(execution.document.dump()));
  } catch (const nlohmann::json::exception& error) {
    throw Failure(printable(path) + ": not a complete result file: " + error.what());
  }
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
