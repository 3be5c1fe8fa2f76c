// Presets: files experiments/<name>.json with the parameters of one figure or table.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ranklab {

/// The folder of the presets: `experiments` in the working directory if a preset is in it (many
/// projects have a folder of that name), else the one next to the program's folder, else where
/// `make install` puts it, share/ranklab/experiments below the prefix. Empty if no such folder
/// exists.
std::string presets_folder();

/// Names of the presets, sorted.
std::vector<std::string> preset_names();

/// Reads a preset. Its key `after` names another preset, which writes files that this one reads.
/// Throws UsageError for an unknown name (with the nearest known one) and for an unknown key;
/// Failure for a file that cannot be read.
nlohmann::json read_preset(const std::string& name);

/// Claims that another preset judges on the same numbers, as globs of their ids. A preset lists
/// them under its key `judged_in`.
struct JudgedElsewhere {
  std::string preset;
  std::vector<std::string> claims;
};
/// The entries of a preset's `judged_in`; empty if no preset has this name.
std::vector<JudgedElsewhere> judged_elsewhere(const std::string& preset);

/// Reads the file of --config: a preset or a result. Throws Failure if it cannot be read or is not
/// JSON, UsageError for JSON that is neither a preset nor a result.
nlohmann::json read_config_file(const std::string& path);

}  // namespace ranklab
