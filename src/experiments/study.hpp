// What an experiment is: studies, each with a config, an estimate of its cost, and a run that returns a Result.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// Cost of one trial.
struct Estimate {
  double bytes = 0.0;
  double flops = 0.0;
};

/// One study of a command; the object owns its config.
class Study {
 public:
  virtual ~Study() = default;
  /// The study's own parameters, bound to this object's config. Names, domains and defaults stand here alone.
  virtual std::vector<Field> fields() = 0;
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

struct Experiment {
  std::string name;                 // the command
  std::string summary;              // one line
  std::vector<StudyEntry> studies;  // the first is the default
};

}  // namespace ranklab
