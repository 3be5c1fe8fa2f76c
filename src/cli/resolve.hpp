// From flags, preset and config file to a study that is ready to run: default < preset < config file < flag.
// What a file says that the run's fields name (the sizes of published weights) stands between the preset and the config file.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/arguments.hpp"
#include "cli/options.hpp"
#include "experiments/study.hpp"
#include "run/part.hpp"

namespace ranklab {

struct ResolvedRun {
  const Experiment* experiment = nullptr;
  CommonOptions options;
  std::unique_ptr<Study> study;
  std::string title, paper, figure;      // of the preset or the replayed file; empty: none
  std::string see;                       // what to see in the figure, as the preset says; empty: not said
  std::string trial_unit;                // what one trial is, as the preset says; empty: not said
  nlohmann::ordered_json preset_config;  // the config of the preset alone; empty: no preset
  Shard shard;                           // of --shard; else 1/1, the whole run

  /// The result's config: every parameter that can change a number.
  nlohmann::ordered_json config();
  /// The part of it on which the trials depend.
  nlohmann::ordered_json trials_config();
  /// Where the run differs from its preset: a list of {"name", "preset", "run"}, empty where it does not.
  nlohmann::ordered_json changed();
};

/// Throws UsageError for a study, key or value that is not allowed, a file of another command, and sizes that do not fit the
/// machine's memory; Failure for files that cannot be read.
ResolvedRun resolve_run(const Experiment& experiment, const Arguments& arguments);

/// The same from the config of a result file, to compare: nothing is written beside the result.
ResolvedRun resolve_result(const Experiment& experiment, const nlohmann::json& result, const std::string& path);

/// The same with a config file that is read already: `document` has "command" and "config" as a result, messages call it `label`.
ResolvedRun resolve_document(const Experiment& experiment, const Arguments& arguments, const nlohmann::json& document,
                             const std::string& label);

/// Flags of the command, over all its studies.
std::vector<FlagShape> flag_shapes(const Experiment& experiment);

/// Bytes the run needs at once, on `threads` threads.
double memory_estimate(const ResolvedRun& run, std::uint64_t threads);

/// Throws UsageError where the run needs more memory than there is, Failure where there is no room for the buffers of its BLAS.
void check_memory(const ResolvedRun& run);

}  // namespace ranklab
