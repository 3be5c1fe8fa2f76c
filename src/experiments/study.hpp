// An experiment is a command with one or more studies. A study has a config, an estimate of its
// memory, the work of its trials, and a report on what they recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/fields.hpp"
#include "experiments/display.hpp"
#include "experiments/numbers.hpp"
#include "judge/claims.hpp"
#include "result/result.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// Upper bound of the sizes that a study draws, if nothing else bounds them.
inline constexpr std::uint64_t largest_size = 100'000;

/// Memory of one trial.
struct Estimate {
  double bytes = 0.0;
  double shared_bytes = 0.0;  // once for all trials
  // For each thread that runs parts of a trial, besides the trial's own; the largest number of such
  // threads that a trial can use.
  double helper_bytes = 0.0;
  std::uint64_t helpers = 0;
};

/// A value that contradicts a file that the run reads, such as the config.json of a model.
struct Contradiction {
  std::string flag, value;  // "heads", "4"
  std::string in_file;      // "num_attention_heads of config.json is 6"
};

/// A file or folder that a trial writes.
struct Output {
  std::string path;
  bool is_certain = true;        // else it is written in some runs only
  bool may_be_replaced = false;  // the study has checked what is there
};

/// One study of a command: the parameters of its config, and what is done with them. A config is a
/// struct that derives from this.
class Study {
 public:
  virtual ~Study() = default;
  /// The study's own parameters, bound to this object. They are the only declaration of names,
  /// domains and defaults.
  virtual std::vector<Field> flags() = 0;
  /// Adopts values from the files that fields name, such as the sizes of published weights. They
  /// override the defaults and the preset. The config file and the flags override them, and are
  /// applied again after this. Throws Failure for files that cannot be read, UsageError for
  /// inconsistent fields.
  virtual void adopt_files() {}
  /// The number of trials for which the study has files, one each: the default and largest number
  /// of trials. 0: any number.
  virtual std::uint64_t trials_in_files() const { return 0; }
  /// The values that contradict these files where either can be right. A flag decides; a config
  /// file or a preset of the user's does not.
  virtual std::vector<Contradiction> contradictions() const { return {}; }
  /// What the run assumes because no flag and no file says it, as notes that begin with `assumed`.
  /// The config of a result, or of a part, has the value, so they cannot be told from it again.
  virtual std::vector<std::string> assumptions() const { return {}; }
  /// Replaces defaults that depend on other fields by their values, so that the config of a result
  /// holds the values that were used. Called before check() and idempotent. Throws UsageError that
  /// names the flags.
  virtual void fill_defaults() {}
  /// Defaults that depend on another field, as a table with a head for the help; may be empty.
  virtual std::vector<std::vector<std::string>> table_of_defaults() const { return {}; }
  /// Checks the rules that involve several fields. Throws UsageError that names the flags.
  virtual void check() const {}
  /// What the trial writes besides the result, where the fields name it.
  virtual std::vector<Output> outputs(std::uint64_t /*trial*/) const { return {}; }
  virtual Estimate memory() const = 0;
  /// What the trials compute. The work may refer to this study, which outlives it.
  virtual Work work() const = 0;

  // The report on what the finished trials recorded, in the order of their indices; at least one
  // record. The records may come from another process.
  /// The title of the result.
  virtual std::string title() const = 0;
  /// Adds the scalars and series of the result: what the trials recorded, and what follows from it.
  /// Without records it declares them (Numbers).
  virtual void derive(Numbers& out) const = 0;
  virtual void judge(const Records& records, Claims& out) const = 0;
  /// Adds figures, tables and notes.
  virtual void show(Display& out) const = 0;
  /// All of it.
  Result report(const Records& records) const;
  /// The quantities of the result, in its order.
  std::vector<DeclaredQuantity> quantities() const;
};

/// The flag of studies that also run in single precision.
inline Field precision_field(std::string& precision) {
  return choice_field("precision", precision, {"f64", "f32"}, "",
                      "arithmetic of the experiment; diagnostics always use f64");
}

struct StudyEntry {
  std::string name;
  std::string summary;  // one line
  std::uint64_t default_trials;
  std::function<std::unique_ptr<Study>()> make;
};

/// A flag such as `--describe FILE` that makes the command print information about a file instead
/// of running.
struct Inquiry {
  std::string flag;
  std::string help;  // one line
  std::function<std::string(const std::string&)>
      answer;  // text for standard output; throws Failure
};

struct Experiment {
  std::string name;                 // the command
  std::string summary;              // one line
  std::vector<StudyEntry> studies;  // the first is the default
  std::vector<Inquiry> inquiries = {};
};

}  // namespace ranklab
