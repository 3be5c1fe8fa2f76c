// Presets: files experiments/<name>.json that hold the parameters of one figure or table.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ranklab {

/// The folder of the presets: `experiments` in the working directory if a preset is in it (many projects have a folder of that
/// name), else the one next to the program's folder, else where `make install` puts it, share/ranklab/experiments below the prefix.
/// Empty if no such folder exists.
std::string presets_folder();

/// Names of the presets, sorted.
std::vector<std::string> preset_names();

/// Reads a preset; its key `after` names another that writes files which it reads. Throws UsageError for an unknown name (with the
/// nearest known one) and for a key that a preset file does not have; Failure for a file that cannot be read.
nlohmann::json read_preset(const std::string& name);

/// Claims that another preset judges, on the same numbers: globs of their ids. A preset's key `judged_in` names them.
struct JudgedElsewhere {
  std::string preset;
  std::vector<std::string> claims;
};
/// Those of a preset; none if there is no such preset here.
std::vector<JudgedElsewhere> judged_elsewhere(const std::string& preset);

/// Reads the file of --config: a preset file or a result file. Throws Failure where it cannot be read or is no JSON,
/// UsageError for JSON that is neither.
nlohmann::json read_config_file(const std::string& path);

}  // namespace ranklab
