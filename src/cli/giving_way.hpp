// Whose values give way where the values of a run do not fit each other: defaults, and those of the
// program's presets.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/resolve.hpp"

namespace ranklab {

/// Who gave the values of a run. The request must outlive it.
class Givers {
 public:
  explicit Givers(const RunRequest& request);

  /// In the order in which they are applied.
  const std::vector<ParameterFile>& files() const { return files_; }
  const Arguments& flags() const { return flags_; }
  bool is_typed(const std::string& flag) const { return flags_.find(flag) != nullptr; }
  /// The file whose value counts; nullptr if no file has one, or if the flag is typed.
  const ParameterFile* file_of(const std::string& flag) const;
  /// Whether the value does not give way.
  bool is_explicit(const std::string& flag) const;
  /// "preset mine and --config more.json": the files whose values do not give way; may be empty.
  std::string explicit_files() const;

 private:
  const Arguments& flags_;
  std::vector<ParameterFile> files_;
};

/// Resolves the defaults of the study and checks its values. Values give way where that makes the
/// run possible; returns a note on each. Throws as Study::check.
std::vector<std::string> validate(const ResolvedRun& run, const Givers& givers);

/// A note on the values of the program's presets that the input files have replaced, or none.
/// `before`: the values of the fields before the files were read.
std::vector<std::string> note_on_files(const Givers& givers, const std::vector<Field>& fields,
                                       const std::map<std::string, std::string>& before);

/// Throws UsageError if a value of a file of the user's contradicts a file that the study reads.
void refuse_contradictions(const Study& study, const Givers& givers);

}  // namespace ranklab
