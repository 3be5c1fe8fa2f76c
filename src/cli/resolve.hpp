// Resolves flags, preset and config file to a study that is ready to run. A flag overrides the
// config file, which overrides input files that the run names (such as the sizes of published
// weights), which override the preset, which overrides the defaults.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/arguments.hpp"
#include "cli/options.hpp"
#include "experiments/study.hpp"
#include "report/result_file.hpp"
#include "run/part.hpp"

namespace ranklab {

struct ResolvedRun {
  const Experiment* experiment = nullptr;
  CommonOptions options;
  std::unique_ptr<Study> study;
  std::string title, paper, figure;      // of the preset or the replayed file; empty: none
  std::string see;                       // what the figure shows, from the preset; empty: none
  nlohmann::json finding;                // see check_finding; null: none
  std::string trial_unit;                // what one trial is, from the preset; empty: none
  nlohmann::ordered_json preset_config;  // the config of the preset alone; empty: no preset
  Shard shard;                           // of --shard; 1/1: the whole run
  bool prints_table = false;             // only the table, to standard output; else all findings

  /// The result's config: every parameter that can change a number.
  nlohmann::ordered_json config();
  /// The parameters that differ from the preset.
  std::vector<Change> changed();
};

/// Throws UsageError for a study, key or value that is not allowed and for a file of another
/// command; Failure for files that cannot be read.
ResolvedRun resolve_run(const Experiment& experiment, const Arguments& arguments);

/// Resolves the config of a result file for a rerun that is only compared: fields that name output
/// files are ignored.
ResolvedRun resolve_result(const Experiment& experiment, const ResultFile& result,
                           const std::string& path);

/// Resolves with a config file that is already read: `document` has "command" and "config" like a
/// result. Messages call it `label`.
ResolvedRun resolve_document(const Experiment& experiment, const Arguments& arguments,
                             const nlohmann::json& document, const std::string& label);

/// Runs, writes the result to --out (empty: nowhere) and prints the findings; returns the exit
/// code. `argv` goes into the result (run_experiment.cpp).
int run_resolved(ResolvedRun& run, const std::vector<std::string>& argv);

/// The flags of the command, over all its studies.
std::vector<FlagShape> flag_shapes(const Experiment& experiment);

/// Peak memory of the run on `threads` threads, in bytes.
double memory_estimate(const ResolvedRun& run, std::uint64_t threads);

/// Throws UsageError if the run needs more memory than is available, Failure if the buffers of the
/// BLAS do not fit.
void check_memory(const ResolvedRun& run);

}  // namespace ranklab
