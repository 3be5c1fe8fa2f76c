// What an experiment is: studies, each with a config, an estimate of its cost, and a run that returns a Result.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// Of sizes of what a study draws, where nothing else bounds them.
inline constexpr std::uint64_t largest_size = 100'000;

/// Cost of one trial.
struct Estimate {
  double bytes = 0.0;
  double flops = 0.0;
  double shared_bytes = 0.0;  // once for all trials
};

/// One study of a command; the object owns its config.
class Study {
 public:
  virtual ~Study() = default;
  /// The study's own parameters, bound to this object's config. Names, domains and defaults stand here alone.
  virtual std::vector<Field> fields() = 0;
  /// Takes over what the files say that fields name, such as the sizes of published weights. They override the defaults and the
  /// preset, and are overridden by the config file and the flags, which are applied once more after this. Throws Failure for
  /// files that cannot be read, UsageError for fields that do not fit together.
  virtual void adopt_files() {}
  /// Trials that the study's files hold, one for each: the number of trials unless fewer are asked for. 0: any number.
  virtual std::uint64_t trials_in_files() const { return 0; }
  /// Replaces defaults that depend on other fields by their values, so that the config of a result holds what was run.
  /// Called before validate; calling it twice changes nothing. Throws UsageError that names the flags.
  virtual void settle() {}
  /// Rules that span several fields; throws UsageError that names the flags.
  virtual void validate() const {}
  virtual Estimate estimate() const = 0;
  virtual Result run(Runner& runner) const = 0;
};

struct StudyEntry {
  std::string name;
  std::string summary;  // one line
  std::uint64_t default_trials;
  std::function<std::unique_ptr<Study>()> make;
};

/// A question about a file that the command answers instead of running: `--describe FILE`.
struct Inquiry {
  std::string flag;
  std::string help;                                       // one line
  std::function<std::string(const std::string&)> answer;  // text for standard output; throws Failure
};

struct Experiment {
  std::string name;                 // the command
  std::string summary;              // one line
  std::vector<StudyEntry> studies;  // the first is the default
  std::vector<Inquiry> inquiries = {};
};

}  // namespace ranklab
