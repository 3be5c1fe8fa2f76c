#include "cli/resolve.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/presets.hpp"
#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/text.hpp"
#include "linalg/blas.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

// Parameters read from one file, and the name of the file in messages.
struct ConfigFile {
  std::string label;
  nlohmann::json document;
  // Ignore output fields: a result, perhaps of a stranger, must not choose where files are written.
  bool ignores_outputs = false;

  const nlohmann::json* find(const std::string& key) const {
    if (document.is_null() || !document["config"].contains(key)) return nullptr;
    return &document["config"][key];
  }
};

std::string text_of(const nlohmann::json* value, const std::string& label) {
  if (value == nullptr || value->is_null()) return "";
  if (!value->is_string()) throw UsageError(label + ": must be text");
  return value->get<std::string>();
}

std::vector<std::string> study_names(const Experiment& experiment) {
  std::vector<std::string> names;
  for (const auto& entry : experiment.studies) names.push_back(entry.name);
  return names;
}

const Field* find_field(const std::vector<Field>& fields, const std::string& name) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const Field& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

// Other studies of the command that have a parameter of this name.
std::string studies_with(const Experiment& experiment, const std::string& name) {
  std::vector<std::string> studies;
  for (const auto& entry : experiment.studies) {
    const auto study = entry.make();
    if (find_field(study->fields(), name) != nullptr) studies.push_back(entry.name);
  }
  return joined(studies);
}

[[noreturn]] void refuse_key(const Experiment& experiment, const std::string& study,
                             const std::vector<Field>& fields, const std::string& name,
                             const std::string& label) {
  const std::string others = studies_with(experiment, name);
  if (!others.empty())
    throw UsageError(label + ": belongs to --study " + others + ", but this run is --study " +
                     study);
  std::vector<std::string> names;
  for (const Field& field : fields) names.push_back(field.name);
  throw UsageError(
      label + ": unknown parameter" +
      did_you_mean(name, names, "; `ranklab " + experiment.name + " --help` lists the parameters"));
}

void apply_file(const ConfigFile& file, const Experiment& experiment, const std::string& study,
                const std::vector<Field>& fields) {
  if (file.document.is_null()) return;
  if (file.document["command"] != experiment.name) {
    throw UsageError(file.label + ": is for the command " + file.document["command"].dump() +
                     ", not " + experiment.name);
  }
  for (const auto& [key, value] : file.document["config"].items()) {
    const std::string label = file.label + ": " + key;
    if (key == "study" || key == "preset")
      continue;  // resolved before the study's fields were known
    const Field* field = find_field(fields, key);
    if (field == nullptr) refuse_key(experiment, study, fields, key, label);
    if (file.ignores_outputs && field->names_output) continue;
    set_field(*field, value, label);
  }
}

void apply_flags(const Arguments& arguments, const Experiment& experiment, const std::string& study,
                 const std::vector<Field>& fields) {
  std::map<std::string, std::vector<std::string_view>>
      uses;  // all values of flags that are repeated, once per element
  for (const auto& [name, value] : arguments.flags) {
    if (name == "preset") continue;
    const Field* field = find_field(fields, name);
    if (field == nullptr) refuse_key(experiment, study, fields, name, "--" + name);
    // --out and --config are not recorded.
    if (name != "out" && name != "config" && !is_utf8(value))
      throw UsageError("--" + name + ": '" + printable_key(value) +
                       "' is not valid UTF-8, so a result cannot record it");
    if (field->one_per_flag) {
      uses[name].push_back(value);
      field->parse_elements(uses[name], "--" + name);
    } else {
      field->parse_flag(value, "--" + name);
    }
  }
}

void take_title(ResolvedRun& run, const ConfigFile& file) {
  const nlohmann::json& document = file.document;
  const auto text = [&](const nlohmann::json& object, const char* key) {
    return text_of(&member(object, key), file.label + ": " + key);
  };
  const nlohmann::json &source = member(document, "source"),
                       &unit = member(member(document, "trials"), "unit");  // of a result
  run.title = text(document, "title");
  run.see = text(document, "see");
  run.finding = member(document, "finding");
  require_finding(run.finding, file.label);
  run.trial_unit = unit.is_null() ? text(document, "trial") : text_of(&unit, "trials.unit");
  run.paper = text(source, "paper");
  run.figure = text(source, "figure");
}

const StudyEntry& find_study(const Experiment& experiment, CommonOptions& options,
                             const std::string& name, const std::string& label) {
  if (name.empty() && label.empty()) return experiment.studies.front();
  choice_field("study", options.study, study_names(experiment), "", "").parse(name, label);
  return *std::find_if(experiment.studies.begin(), experiment.studies.end(),
                       [&](const StudyEntry& entry) { return entry.name == name; });
}

// A preset may need files that another preset writes.
void adopt_files(Study& study, const ConfigFile& preset) {
  try {
    study.adopt_files();
  } catch (const Failure& failure) {
    const std::string after = preset.document.is_null() ? "" : preset.document.value("after", "");
    if (after.empty()) throw;
    throw Failure(std::string(failure.what()) + "; `ranklab run " + after +
                  "` writes the files that this preset reads");
  }
}

// The study named by the flag, else the config file, else the preset, else the first study.
const StudyEntry& choose_study(const Experiment& experiment, const Arguments& arguments,
                               const ConfigFile& config, const ConfigFile& preset,
                               CommonOptions& options) {
  if (const std::string* flag = arguments.find("study"))
    return find_study(experiment, options, *flag, "--study");
  for (const ConfigFile* file : {&config, &preset}) {
    if (const auto* value = file->find("study"))
      return find_study(experiment, options, text_of(value, file->label + ": study"),
                        file->label + ": study");
  }
  return experiment.studies.front();
}

ResolvedRun resolve(const Experiment& experiment, const Arguments& arguments,
                    const ConfigFile& config);

// The config of the preset alone, from its file or else from the replayed result.
nlohmann::ordered_json config_of_preset(const Experiment& experiment, const std::string& name,
                                        const ConfigFile& preset, const ConfigFile& replayed) {
  if (name.empty()) return {};
  if (!preset.document.is_null()) return resolve(experiment, {}, preset).config();
  nlohmann::ordered_json out = replayed.document["config"];
  for (const auto& change : replayed.document.value("changed", nlohmann::json::array())) {
    if (!change.is_object() || !change.contains("name") || !change["name"].is_string() ||
        !change.contains("preset"))
      throw UsageError(replayed.label +
                       ": 'changed' must be a list of objects with 'name', 'preset' and 'run'");
    out[change["name"].get<std::string>()] = change["preset"];
  }
  return out;
}

ResolvedRun resolve(const Experiment& experiment, const Arguments& arguments,
                    const ConfigFile& config) {
  ResolvedRun run;
  run.experiment = &experiment;
  CommonOptions& options = run.options;

  ConfigFile preset;
  const std::string* preset_flag = arguments.find("preset");
  if (preset_flag != nullptr) {
    options.preset = *preset_flag;
  } else {
    options.preset = text_of(config.find("preset"), config.label + ": preset");
  }
  const std::vector<std::string> known = preset_names();
  // A replayed config holds every parameter, so its preset need not exist on this machine.
  if (preset_flag != nullptr ||
      std::find(known.begin(), known.end(), options.preset) != known.end()) {
    preset = {"preset " + options.preset, read_preset(options.preset), false};
  }

  const StudyEntry& entry = choose_study(experiment, arguments, config, preset, options);
  options.study = entry.name;
  options.trials = entry.default_trials;
  run.study = entry.make();

  std::vector<Field> fields = config_fields(options, study_names(experiment));
  for (Field& field : run.study->fields()) fields.push_back(std::move(field));
  apply_file(preset, experiment, entry.name, fields);
  apply_file(config, experiment, entry.name, fields);
  take_title(run, preset.document.is_null() ? config : preset);

  for (Field& field : session_fields(options)) fields.push_back(std::move(field));
  options.threads = 0;
  apply_flags(arguments, experiment, entry.name, fields);
  adopt_files(*run.study, preset);
  const std::uint64_t in_files = run.study->trials_in_files();
  if (in_files > 0) options.trials = in_files;
  apply_file(config, experiment, entry.name, fields);
  apply_flags(arguments, experiment, entry.name, fields);
  if (in_files > 0 && options.trials > in_files) {
    throw UsageError("--trials " + std::to_string(options.trials) +
                     " is not allowed: the input files hold " + counted(in_files, "trial"));
  }
  if (options.threads == 0)
    options.threads = std::max<std::uint64_t>(1, available_cores() / options.blas_threads);
  if (arguments.find("shard") != nullptr)
    run.shard = parse_shard(options.shard, options.trials, "--shard");
  run.study->resolve_defaults();
  run.study->validate();
  run.preset_config = config_of_preset(experiment, options.preset, preset, config);
  return run;
}

std::string size_text(double bytes) {
  char buffer[32];
  const char* unit = "bytes";
  for (const char* larger : {"kB", "MB", "GB", "TB", "PB", "EB"}) {
    if (bytes < 1000) break;
    bytes /= 1000;
    unit = larger;
  }
  std::snprintf(buffer, sizeof buffer, "%.3g %s", bytes, unit);
  return buffer;
}

}  // namespace

nlohmann::ordered_json ResolvedRun::config() {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  std::vector<Field> fields = config_fields(options, study_names(*experiment));
  for (Field& field : study->fields()) fields.push_back(std::move(field));
  for (const Field& field : fields) out[field.name] = field_json(field);
  if (options.preset.empty()) out["preset"] = nullptr;
  return out;
}

std::vector<Change> ResolvedRun::changed() {
  std::vector<Change> out;
  const nlohmann::ordered_json mine = config();
  for (const auto& [key, value] : mine.items()) {
    if (key == "preset" || !preset_config.contains(key) || preset_config[key] == value) continue;
    out.push_back({key, preset_config[key], value});
  }
  return out;
}

ResolvedRun resolve_run(const Experiment& experiment, const Arguments& arguments) {
  ConfigFile config;
  if (const std::string* path = arguments.find("config"))
    config = {"--config " + *path, read_config_file(*path)};
  config.ignores_outputs = member(config.document, "schema").is_string();
  return resolve(experiment, arguments, config);
}

ResolvedRun resolve_result(const Experiment& experiment, const ResultFile& result,
                           const std::string& path) {
  return resolve(experiment, {}, {path, result_json(result), true});
}

ResolvedRun resolve_document(const Experiment& experiment, const Arguments& arguments,
                             const nlohmann::json& document, const std::string& label) {
  return resolve(experiment, arguments, {label, document, false});
}

std::vector<FlagShape> flag_shapes(const Experiment& experiment) {
  CommonOptions options;
  std::vector<Field> fields = config_fields(options, {});
  for (Field& field : session_fields(options)) fields.push_back(std::move(field));
  std::set<std::string> seen;
  std::vector<FlagShape> shapes;
  for (const Field& field : fields) shapes.push_back({field.name, field.is_switch()});
  for (const Inquiry& inquiry : experiment.inquiries) shapes.push_back({inquiry.flag, false});
  for (const auto& entry : experiment.studies) {
    const auto study = entry.make();
    for (const Field& field : study->fields()) {
      if (seen.insert(field.name).second) shapes.push_back({field.name, field.is_switch()});
    }
  }
  return shapes;
}

double memory_estimate(const ResolvedRun& run, std::uint64_t threads) {
  constexpr double program = 60e6;  // code, libraries and BLAS buffers, measured
  const std::uint64_t at_once = std::min(threads, run.shard.trials_of(run.options.trials));
  const Estimate cost = run.study->estimate();
  const std::uint64_t helpers = std::min(threads - at_once, at_once * cost.helpers);
  return program + cost.shared_bytes + cost.bytes * static_cast<double>(at_once) +
         cost.helper_bytes * static_cast<double>(helpers);
}

void check_memory(const ResolvedRun& run) {
  const double needed = memory_estimate(run, run.options.threads), available = available_memory();
  if (needed <= available)
    return reserve_blas_buffers(run.options.threads + run.options.blas_threads - 1);
  std::vector<std::string> sizes;
  const auto defaults = [&] {
    for (const auto& entry : run.experiment->studies) {
      if (entry.name == run.options.study) return entry.make();
    }
    return run.experiment->studies.front().make();
  }();
  defaults->resolve_defaults();
  // Name the parameters that differ from their defaults, because they make the run large.
  const auto mine = run.study->fields(), usual = defaults->fields();
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (mine[i].value_text() != usual[i].value_text())
      sizes.push_back("--" + mine[i].name + " " + printable_key(mine[i].value_text()));
  }
  const bool fewer_threads_fit = memory_estimate(run, 1) <= available;
  throw UsageError(
      (sizes.empty() ? "--threads " + std::to_string(run.options.threads) : joined(sizes)) +
      ": this run needs about " + size_text(needed) + " of memory, but only " +
      size_text(available) + " is available; " +
      (fewer_threads_fit ? "use fewer --threads" : "use smaller sizes"));
}

}  // namespace ranklab
