#include "cli/presets.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "core/error.hpp"
#include "core/fields.hpp"
#include "core/machine.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "report/result_file.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace fs = std::filesystem;

namespace {

const std::vector<std::string> preset_keys = {"command", "title",     "source",    "see",
                                              "finding", "summary",   "seconds",   "trial",
                                              "after",   "reproduce", "judged_in", "config"};

void require_text(const nlohmann::json& object, const char* key, const std::string& where) {
  if (object.contains(key) && !object[key].is_string())
    throw UsageError(where + ": '" + key + "' must be text");
}

// Checks the keys that presets and results share, so that later code can rely on their types.
void check_shared_keys(const nlohmann::json& document, const std::string& where) {
  for (const char* key : {"command", "title", "see", "summary", "trial"})
    require_text(document, key, where);
  if (!document.contains("command")) throw UsageError(where + ": 'command' is missing");
  if (!document.contains("config") || !document["config"].is_object())
    throw UsageError(where + ": 'config' with the parameters is missing");
  if (!document.contains("source") || document["source"].is_null()) return;
  if (!document["source"].is_object())
    throw UsageError(where + ": 'source' must have 'paper' and 'figure'");
  for (const auto& [key, value] : document["source"].items()) {
    if (key != "paper" && key != "figure")
      throw UsageError(where + ": unknown key '" + key + "' in 'source'; allowed: paper, figure");
    if (!value.is_string()) throw UsageError(where + ": 'source." + key + "' must be text");
  }
}

// The sentence that the first screen of a page shows if the claim has this verdict in the run, with
// a small picture of one panel of the figure, counted from 1.
void check_finding(const nlohmann::json& document, const std::string& where) {
  if (!document.contains("finding")) return;
  const nlohmann::json& finding = document["finding"];
  const auto is_text = [&](const char* key) {
    return finding.contains(key) && finding[key].is_string();
  };
  const bool is_well_formed = finding.is_object() && finding.size() == 4 && is_text("claim") &&
                              is_text("verdict") && is_text("sentence") &&
                              finding.contains("panel") && finding["panel"].is_number_unsigned();
  if (!is_well_formed)
    throw UsageError(where +
                     ": 'finding' must have 'claim', 'verdict' and 'sentence', which are text, and "
                     "'panel', a number from 1");
}

void check_judged_in(const nlohmann::json& document, const std::string& where) {
  const auto is_text = [](const nlohmann::json& value) { return value.is_string(); };
  const nlohmann::json judged_in = document.value("judged_in", nlohmann::json::object());
  const bool is_well_formed =
      judged_in.is_object() &&
      std::all_of(judged_in.begin(), judged_in.end(), [&](const auto& claims) {
        return claims.is_array() && std::all_of(claims.begin(), claims.end(), is_text);
      });
  if (!is_well_formed)
    throw UsageError(where + ": 'judged_in' must map each preset to a list of claim ids or globs");
}

void check_preset(const nlohmann::json& document, const std::string& where) {
  if (!document.is_object())
    throw UsageError(where + ": not a preset or result file (a JSON object)");
  for (const auto& [key, value] : document.items()) {
    if (std::find(preset_keys.begin(), preset_keys.end(), key) != preset_keys.end()) continue;
    throw UsageError(where + ": unknown key '" + key + "'" +
                     did_you_mean(key, preset_keys, "; allowed: " + joined(preset_keys)));
  }
  check_shared_keys(document, where);
  require_text(document, "after", where);
  if (document.contains("seconds") && !document["seconds"].is_number())
    throw UsageError(where + ": 'seconds' must be a number");
  check_finding(document, where);
  check_judged_in(document, where);
  if (!document.contains("reproduce")) return;
  const nlohmann::json& reproduce = document["reproduce"];
  if (!reproduce.is_object() || reproduce.size() != 2 || !reproduce.contains("config") ||
      !reproduce["config"].is_object() || !reproduce.contains("seconds") ||
      !reproduce["seconds"].is_number())
    throw UsageError(where + ": 'reproduce' must have 'config' and 'seconds'");
}

// True if a JSON file in the folder names an experiment command, as every preset does. The file may
// contain errors, which read_preset() reports.
bool contains_presets(const fs::path& folder) {
  constexpr std::size_t max_bytes = 1 << 16;  // of a preset
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".json" || !entry.is_regular_file(error) ||
        entry.file_size(error) > max_bytes)
      continue;
    std::ifstream file(entry.path());
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    for (const Experiment& experiment : experiments()) {
      if (text.find('"' + experiment.name + '"') != std::string::npos) return true;
    }
  }
  return false;
}

}  // namespace

std::string presets_folder() {
  std::error_code error;
  if (contains_presets("experiments")) return "experiments";
  const fs::path program = fs::canonical(program_path(), error);
  if (error) return "";
  const fs::path prefix = program.parent_path().parent_path();
  for (const fs::path& folder : {prefix / "experiments", prefix / "share/ranklab/experiments"}) {
    if (fs::is_directory(folder, error)) return folder.string();
  }
  return "";
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  const std::string folder = presets_folder();
  if (folder.empty()) return names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

nlohmann::json read_preset(const std::string& name) {
  const std::vector<std::string> names = preset_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw UsageError("--preset: unknown preset '" + printable_key(name) + "'" +
                     did_you_mean(name, names, "; `ranklab list` shows all presets"));
  }
  nlohmann::json document = read_json(presets_folder() + "/" + name + ".json");
  check_preset(document, "preset " + name);
  return document;
}

std::vector<JudgedElsewhere> judged_elsewhere(const std::string& preset) {
  const std::vector<std::string> known = preset_names();
  if (std::find(known.begin(), known.end(), preset) == known.end()) return {};
  std::vector<JudgedElsewhere> out;
  const nlohmann::json document = read_preset(preset);
  if (!document.contains("judged_in")) return out;
  for (const auto& [other, claims] : document["judged_in"].items())
    out.push_back({other, claims.get<std::vector<std::string>>()});
  return out;
}

nlohmann::json read_config_file(const std::string& path) {
  nlohmann::json document = read_json(path);
  const std::string where = "--config " + path;
  if (document.is_object() && document.contains("schema")) {
    if (document["schema"] != result_schema)
      throw UsageError(where + ": 'schema' is not " + result_schema);
    check_shared_keys(document, where);
  } else {
    check_preset(document, where);
  }
  return document;
}

}  // namespace ranklab
