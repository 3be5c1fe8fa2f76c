// Resolves flags, preset and config file to a study that is ready to run. A flag overrides the
// config file, which overrides a preset of the user's, which overrides input files that the run
// names (such as the sizes of published weights), which override a preset of the program's, which
// overrides the defaults. Where values do not fit each other, only defaults and the program's
// presets give way, and a note says so.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/arguments.hpp"
#include "cli/options.hpp"
#include "cli/presets.hpp"
#include "experiments/study.hpp"
#include "result/result_file.hpp"
#include "run/shard.hpp"

namespace ranklab {

/// Who chose the values of a file. Those of the program, in a preset that comes with it, give way
/// to values that do not fit them. Those of the user never do, nor those of a result, where every
/// value is explicit.
enum class Owner { program, user, result };

/// Parameters from a file: a preset, or an earlier run.
struct ParameterFile {
  std::string label;  // the file in messages
  std::string command;
  nlohmann::ordered_json config;
  PresetTexts texts = {};
  std::vector<Change> changed = {};  // of an earlier run, from its preset
  // Ignore output fields: a result, perhaps of a stranger, must not choose where files are written.
  bool ignores_outputs = false;
  bool keeps_trials = false;  // the result does
  Owner owner = Owner::user;
  std::vector<std::string> notes = {};  // of a result
};

Owner owner_of(const Preset& preset);
ParameterFile parameters_of(const Preset& preset);

/// The parameters of an earlier run, without the files that it wrote.
ParameterFile parameters_of(const ResultFile& result, const std::string& label);

/// What a run is asked to be: its preset, its config file and its flags.
struct RunRequest {
  std::optional<Preset> preset;
  std::optional<ParameterFile> config;
  Arguments flags;
};

/// Reads the files of --preset and --config, then parses the words again with the flags of the
/// study. `common` has the flags of every study. Throws UsageError for a preset of another command,
/// for contents that are not allowed, and for a flag that the study does not have (with `usage`);
/// Failure for files that cannot be read.
RunRequest read_request(const Experiment& experiment, const Arguments& common,
                        const std::optional<Preset>& read = {}, const std::string& usage = "");

/// The parameters alone, and their preset if it is on this machine. It need not be, because an
/// earlier run has every parameter.
RunRequest replay_of(ParameterFile config);

/// The preset that --preset names; `read` is one that need not be read again. Throws UsageError if
/// it is of another command.
std::optional<Preset> preset_of(const Experiment& experiment, const Arguments& flags,
                                const std::optional<Preset>& read = {});

/// The flags of a study and those of every study. Throws UsageError for any other flag, with the
/// studies that have it.
Arguments parse_flags(const Experiment& experiment, const StudyEntry& study,
                      const std::vector<std::string>& words, const std::string& usage = "");

/// The study named by the flag, else the config file, else the preset, else the first study.
const StudyEntry& study_of(const Experiment& experiment, const RunRequest& request);

/// A study with the values of the preset and the flags, for a help text: without its files and
/// without the defaults that depend on other values. Throws UsageError for values that are not
/// allowed.
std::unique_ptr<Study> described_study(const Experiment& experiment, const StudyEntry& entry,
                                       const RunRequest& request);

/// The parameters of a run: declared once, as fields that are bound to this.
struct Parameters {
  CommonOptions options;
  std::unique_ptr<Study> study;
  std::vector<Field> in_config;  // of the result's config: those of every study, then its own
  std::vector<Field> session;    // those that do not change a result

  Parameters(const Experiment& experiment, const StudyEntry& entry);
  Parameters(const Parameters&) = delete;
};

struct ResolvedRun {
  const Experiment* experiment = nullptr;
  std::unique_ptr<Parameters> parameters;
  std::string asked_for;                 // the name or alias of the preset; empty: none
  PresetTexts texts;                     // of the preset or the replayed file
  nlohmann::ordered_json preset_config;  // the config of the preset alone; empty: no preset
  Shard shard;                           // of --shard; 1/1: the whole run
  std::vector<OwnStatement> own;         // statements to judge, of the texts and of --claim
  std::vector<std::string> repeated;     // a sentence for each flag with several values
  std::vector<std::string> notes;        // on values that give way, for the result
  nlohmann::ordered_json trials_of;      // the other build that ran the trials; null: none
  bool prints_table = false;             // only the table; else all findings

  CommonOptions& options() { return parameters->options; }
  const CommonOptions& options() const { return parameters->options; }
  Study& study() const { return *parameters->study; }
  const std::vector<Field>& fields() const { return parameters->in_config; }

  /// The result's config: every parameter that can change a number.
  nlohmann::ordered_json config() const;
  /// The parameters that differ from the preset.
  std::vector<Change> changed() const;
  /// The checksums of the files that the run reads, by path, as they are at the first call.
  const std::map<std::string, std::string>& input_checksums();

 private:
  std::optional<std::map<std::string, std::string>> input_checksums_;
};

/// Throws UsageError for a study, key or value that is not allowed and for a file of another
/// command; Failure for files that cannot be read.
ResolvedRun resolve(const Experiment& experiment, const RunRequest& request);

/// Runs, writes the result to --out (empty: nowhere) and prints the findings; returns the exit
/// code. `argv` goes into the result (run_experiment.cpp).
int run_resolved(ResolvedRun& run, const std::vector<std::string>& argv);

/// The flags that every study of the command has.
std::vector<FlagShape> common_flag_shapes(const Experiment& experiment);

/// Peak memory of the run on `threads` threads, in bytes.
double memory_estimate(const ResolvedRun& run, std::uint64_t threads);

/// Throws UsageError if the run needs more memory than is available, Failure if the buffers of the
/// BLAS do not fit.
void check_memory(const ResolvedRun& run);

}  // namespace ranklab
