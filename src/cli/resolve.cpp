#include "cli/resolve.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/giving_way.hpp"
#include "cli/input_files.hpp"
#include "cli/terminal.hpp"
#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/text.hpp"
#include "linalg/blas.hpp"
#include "result/result_json.hpp"

namespace ranklab {
namespace {

std::string text_at(const nlohmann::ordered_json& object, const char* key,
                    const std::string& label) {
  const auto value = object.find(key);
  if (value == object.end() || value->is_null()) return "";
  if (!value->is_string()) throw UsageError(label + ": " + key + ": must be text");
  return value->get<std::string>();
}

std::vector<std::string> study_names(const Experiment& experiment) {
  std::vector<std::string> names;
  for (const auto& entry : experiment.studies) names.push_back(entry.name);
  return names;
}

// Other studies of the command that have a parameter of this name.
std::string studies_with(const Experiment& experiment, const std::string& name) {
  std::vector<std::string> studies;
  for (const auto& entry : experiment.studies) {
    const auto study = entry.make();
    if (find_field(study->flags(), name) != nullptr) studies.push_back(entry.name);
  }
  return joined(studies);
}

void refuse_parameter_of_another_study(const Experiment& experiment, const std::string& study,
                                       const std::string& name, const std::string& label) {
  const std::string others = studies_with(experiment, name);
  if (others.empty()) return;
  throw UsageError(label + ": belongs to --study " + others + ", but this run is --study " + study);
}

// Session fields come last, so that a config file, which may not have them, ends before.
std::vector<Field> fields_of(CommonOptions& options, Study& study, const Experiment& experiment) {
  std::vector<Field> out = config_fields(options, study_names(experiment));
  for (Field& field : study.flags()) out.push_back(std::move(field));
  return out;
}

void apply_file(const ParameterFile& file, const Experiment& experiment, const std::string& study,
                const std::vector<Field>& fields) {
  if (file.command != experiment.name)
    throw UsageError(file.label + ": is for the command \"" + printable_key(file.command) +
                     "\", not " + experiment.name);
  for (const auto& [key, value] : file.config.items()) {
    const std::string label = file.label + ": " + key;
    if (key == "study" || key == "preset")
      continue;  // resolved before the study's fields were known
    const Field* field = find_field(fields, key);
    if (field == nullptr) {
      refuse_parameter_of_another_study(experiment, study, key, label);
      std::vector<std::string> names;
      for (const Field& each : fields) names.push_back(each.name);
      throw UsageError(
          label + ": unknown parameter" +
          did_you_mean(key, names,
                       "; `ranklab " + experiment.name + " --help` lists the parameters"));
    }
    if (file.ignores_outputs && field->names_output) continue;
    set_field(*field, value, label);
  }
}

void apply_flags(const Arguments& arguments, const std::vector<Field>& fields) {
  std::map<std::string, std::vector<std::string_view>>
      uses;  // all values of flags that are repeated, once per element
  for (const auto& [name, value] : arguments.flags) {
    const Field* field = find_field(fields, name);
    if (field == nullptr) continue;  // --preset, and --describe next to --help
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

const StudyEntry& find_study(const Experiment& experiment, const std::string& name,
                             const std::string& label) {
  const std::vector<std::string> names = study_names(experiment);
  if (name == "files" && experiment.name == "one-step-compare" &&
      std::ranges::find(names, name) == names.end())
    throw UsageError(label + ": 'files' is a command now, `ranklab ranks`");
  std::string known;
  choice_field("study", known, names, "", "").parse(name, label);
  return *std::find_if(experiment.studies.begin(), experiment.studies.end(),
                       [&](const StudyEntry& entry) { return entry.name == known; });
}

ParameterFile read_config_file(const std::string& path) {
  const std::string label = "--config " + path;
  const nlohmann::json document = read_json(path);
  if (member(document, "schema").is_null()) {
    ParameterFile out = parameters_of(preset_from(document, label));
    out.label = label;
    return out;
  }
  try {
    return parameters_of(result_from(document, label), label);
  } catch (const Failure& error) {
    throw UsageError(error.what());
  }
}

// A preset may need files that another preset writes.
void adopt_files(Study& study, const std::optional<Preset>& preset) {
  try {
    study.adopt_files();
  } catch (const Failure& failure) {
    if (!preset || preset->after.empty()) throw;
    throw Failure(std::string(failure.what()) + "; `ranklab run " + preset->after +
                  "` writes the files that this preset reads");
  }
}

// The value that each field would have without those values of the file that have no effect.
std::map<std::string, std::string> values_without(const ParameterFile& file,
                                                  const Experiment& experiment,
                                                  const RunSources& sources, ResolvedRun& run) {
  ParameterFile rest = file;
  for (const Field& field : run.study->flags()) {
    if (!field.needs.empty()) rest.config.erase(field.name);
  }
  CommonOptions options;
  const std::unique_ptr<Study> study = study_of(experiment, sources).make();
  const std::vector<Field> fields = fields_of(options, *study, experiment);
  apply_file(rest, experiment, run.options.study, fields);
  apply_flags(sources.flags, fields);
  try {
    study->fill_defaults();
  } catch (const UsageError&) {  // without the other files of the run; the defaults are not needed
  }
  std::map<std::string, std::string> out;
  for (const Field& field : fields) out[field.name] = field.value_text();
  return out;
}

// A file of the user's may have values without effect, such as those of a result's config; a note
// names those that are not defaults. A 0 that would become a default is refused, as for a flag.
void note_useless_values(const ParameterFile& file, const Givers& givers, const RunSources& sources,
                         ResolvedRun& run) {
  std::map<std::string, std::string> usual = values_without(file, *run.experiment, sources, run);
  const std::vector<Field> fields = run.study->flags();
  std::vector<std::string> names, needs;
  for (const auto& [key, value] : file.config.items()) {
    const Field* const field = find_field(fields, key);
    if (field == nullptr || givers.file_of(key) != &file) continue;
    const std::string text = field->value_text();
    if (field->needs.empty()) {
      if (field->zero_is_unset && value == 0 && text != "0")
        field->parse_flag("0", file.label + ": " + key);
    } else if (text != usual.at(key)) {
      names.push_back(key);
      needs.push_back(field->needs);
    }
  }
  if (names.empty()) return;
  run.notes.push_back(names.size() == 1 ? say("{}{}: {} has no effect in this run; it needs {}.",
                                              caution, file.label, names.front(), needs.front())
                                        : say("{}{}: {} have no effect in this run.", caution,
                                              file.label, joined(names)));
}

// Applies the files and the flags, then the files that they name: these override the program's
// preset, and nothing else.
void apply_all(ResolvedRun& run, const RunSources& sources, const Givers& givers,
               const std::vector<Field>& recorded, const std::vector<Field>& all) {
  const std::vector<ParameterFile>& files = givers.files();
  const auto apply = [&](std::size_t first) {
    for (std::size_t i = first; i < files.size(); ++i)
      apply_file(files[i], *run.experiment, run.options.study, recorded);
    apply_flags(sources.flags, all);
  };
  apply(0);
  std::map<std::string, std::string> before;
  for (const Field& field : recorded) before[field.name] = field.value_text();
  adopt_files(*run.study, sources.preset);
  const std::uint64_t in_files = run.study->trials_in_files();
  if (in_files > 0) run.options.trials = in_files;
  apply(sources.preset && sources.preset->is_shipped ? 1 : 0);
  if (in_files > 0 && run.options.trials > in_files)
    throw UsageError("--trials " + std::to_string(run.options.trials) +
                     " is not allowed: the input files hold " + plural(in_files, "trial"));
  run.notes = note_on_files(givers, recorded, before);
}

// The run without what belongs to the preset.
ResolvedRun configured(const Experiment& experiment, const RunSources& sources) {
  const StudyEntry& entry = study_of(experiment, sources);
  ResolvedRun run;
  run.experiment = &experiment;
  run.study = entry.make();
  CommonOptions& options = run.options;
  options.study = entry.name;
  options.trials = entry.default_trials;
  options.threads = 0;
  const std::vector<Field> recorded = fields_of(options, *run.study, experiment);
  std::vector<Field> all = recorded;
  for (Field& field : session_fields(options)) all.push_back(std::move(field));
  const Givers givers(sources);
  try {
    apply_all(run, sources, givers, recorded, all);
    refuse_contradictions(*run.study, givers);
    for (std::string& note : validate(*run.study, givers)) run.notes.push_back(std::move(note));
  } catch (const UsageError& error) {
    const std::string files = givers.explicit_files();
    const std::string message = error.what();
    if (files.empty() || message.starts_with(files)) throw;
    throw UsageError("with " + files + ": " + message);
  }
  for (const ParameterFile& file : givers.files()) {
    if (file.owner == Owner::user) note_useless_values(file, givers, sources, run);
  }
  if (options.threads == 0)
    options.threads = std::max<std::uint64_t>(1, available_cores() / options.blas_threads);
  if (sources.flags.find("shard") != nullptr)
    run.shard = parse_shard(options.shard, options.trials, "--shard");
  options.preset = sources.preset ? sources.preset->name
                   : sources.config
                       ? text_at(sources.config->config, "preset", sources.config->label)
                       : "";
  return run;
}

// Whether the run is that of an earlier result, which it then has the notes of.
bool repeats(ResolvedRun& run, const ParameterFile& earlier) {
  const nlohmann::ordered_json config = run.config();
  return std::ranges::all_of(
      fields_of(run.options, *run.study, *run.experiment), [&](const Field& field) {
        const auto then = earlier.config.find(field.name);
        return field.names_output || (then != earlier.config.end() && *then == config[field.name]);
      });
}

void keep_notes(ResolvedRun& run, const ParameterFile& earlier) {
  if (earlier.owner != Owner::result || !repeats(run, earlier)) return;
  for (const std::string& note : earlier.notes) {
    if (note.starts_with(assumed) || note.starts_with(caution)) run.notes.push_back(note);
  }
}

nlohmann::ordered_json values_of(const Experiment& experiment, const StudyEntry& entry,
                                 const Preset& preset) {
  CommonOptions options;
  options.study = entry.name;
  const std::unique_ptr<Study> study = entry.make();
  const std::vector<Field> fields = fields_of(options, *study, experiment);
  apply_file(parameters_of(preset), experiment, entry.name, fields);
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const Field& field : fields) {
    if (preset.config.contains(field.name)) out[field.name] = field_json(field);
  }
  return out;
}

// From the preset itself, or else from what the replayed run has changed.
nlohmann::ordered_json config_of_preset(const Experiment& experiment, const RunSources& sources) {
  if (sources.preset) {
    const RunSources alone = {sources.preset, {}, {}};
    try {
      return configured(experiment, alone).config();
    } catch (const UsageError&) {  // it needs the flags: only the values that it has
      return values_of(experiment, study_of(experiment, alone), *sources.preset);
    }
  }
  nlohmann::ordered_json out = sources.config->config;
  for (const Change& change : sources.config->changed) out[change.name] = change.preset;
  return out;
}

}  // namespace

Owner owner_of(const Preset& preset) {
  return preset.is_shipped ? Owner::program : Owner::user;
}

ParameterFile parameters_of(const Preset& preset) {
  ParameterFile out{"preset " + preset.name, preset.command, preset.config, preset};
  out.owner = owner_of(preset);
  return out;
}

std::unique_ptr<Study> described_study(const Experiment& experiment, const StudyEntry& entry,
                                       const RunSources& sources) {
  CommonOptions unused;
  std::unique_ptr<Study> study = entry.make();
  std::vector<Field> all = fields_of(unused, *study, experiment);
  for (Field& field : session_fields(unused)) all.push_back(std::move(field));
  if (sources.preset) apply_file(parameters_of(*sources.preset), experiment, entry.name, all);
  apply_flags(sources.flags, all);
  return study;
}

std::vector<FlagShape> common_flag_shapes(const Experiment& experiment) {
  CommonOptions options;
  std::vector<FlagShape> shapes;
  for (const auto& fields : {config_fields(options, {}), session_fields(options)}) {
    for (const Field& field : fields) shapes.push_back(shape_of(field));
  }
  for (const Inquiry& inquiry : experiment.inquiries) shapes.push_back({inquiry.flag, false});
  return shapes;
}

Arguments parse_flags(const Experiment& experiment, const StudyEntry& study,
                      const std::vector<std::string>& words, const std::string& usage) {
  const auto shapes_with = [&](const std::vector<StudyEntry>& studies) {
    std::vector<FlagShape> shapes = common_flag_shapes(experiment);
    std::set<std::string> seen;
    for (const StudyEntry& entry : studies) {
      const auto each = entry.make();
      for (const Field& field : each->flags()) {
        if (seen.insert(field.name).second) shapes.push_back(shape_of(field));
      }
    }
    return shapes;
  };
  Arguments out = parse_arguments(words, shapes_with({study}), Unknown::kept);
  if (out.unknown_flag() == nullptr) return out;
  // Throws for a flag that no study has.
  Arguments of_all =
      parse_arguments(words, shapes_with(experiment.studies), Unknown::refused, usage);
  for (const auto& [name, unused] : of_all.flags) {
    if (out.find(name) == nullptr)
      refuse_parameter_of_another_study(experiment, study.name, name, "--" + name);
  }
  return of_all;
}

ParameterFile parameters_of(const ResultFile& result, const std::string& label) {
  const PresetTexts texts = {result.title,
                             result.source,
                             result.see,
                             result.finding,
                             result.trials.unit,
                             own_statements_of(result),
                             {}};
  return {label, result.command,      result.config, texts,       result.changed,
          true,  result.keeps_trials, Owner::result, result.notes};
}

std::optional<Preset> preset_of(const Experiment& experiment, const Arguments& flags,
                                const std::optional<Preset>& read) {
  const std::string* name = flags.find("preset");
  if (name == nullptr) return {};
  Preset preset = read && read->name == *name ? *read : read_preset(*name);
  if (preset.command != experiment.name)
    throw UsageError("--preset " + preset.name + " is for " + preset.command + ", not " +
                     experiment.name + "; run `ranklab " + preset.command + " " +
                     shell_words(flags.words) + "`");
  return preset;
}

RunSources read_sources(const Experiment& experiment, const Arguments& common,
                        const std::optional<Preset>& read, const std::string& usage) {
  RunSources out;
  if (const std::string* path = common.find("config")) out = replay_of(read_config_file(*path));
  if (auto preset = preset_of(experiment, common, read)) out.preset = std::move(preset);
  out.flags = common;  // may name the study
  out.flags = parse_flags(experiment, study_of(experiment, out), common.words, usage);
  return out;
}

RunSources replay_of(ParameterFile config) {
  RunSources out;
  const std::string name = text_at(config.config, "preset", config.label);
  if (is_preset(name)) out.preset = read_preset(name);
  out.config = std::move(config);
  return out;
}

const StudyEntry& study_of(const Experiment& experiment, const RunSources& sources) {
  if (const std::string* flag = sources.flags.find("study"))
    return find_study(experiment, *flag, "--study");
  if (sources.config && sources.config->config.contains("study"))
    return find_study(experiment, text_at(sources.config->config, "study", sources.config->label),
                      sources.config->label + ": study");
  if (sources.preset && sources.preset->config.contains("study")) {
    const std::string label = "preset " + sources.preset->name;
    return find_study(experiment, text_at(sources.preset->config, "study", label),
                      label + ": study");
  }
  return experiment.studies.front();
}

nlohmann::ordered_json ResolvedRun::config() {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const Field& field : fields_of(options, *study, *experiment))
    out[field.name] = field_json(field);
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

const std::map<std::string, std::string>& ResolvedRun::input_checksums() {
  if (!input_checksums_) input_checksums_ = ranklab::input_checksums(study->flags());
  return *input_checksums_;
}

ResolvedRun resolve(const Experiment& experiment, const RunSources& sources) {
  ResolvedRun run = configured(experiment, sources);
  if (!run.options.preset.empty()) run.preset_config = config_of_preset(experiment, sources);
  if (sources.preset)
    run.texts = *sources.preset;
  else if (sources.config)
    run.texts = sources.config->texts;
  // A result has its preset's statements, and those of its --claim.
  if (sources.config && !sources.config->texts.claims.empty())
    run.texts.claims = checked(sources.config->texts.claims, sources.config->label + ": claims");
  run.own = run.texts.claims;
  for (const std::string& claim : run.options.claim) run.own.push_back({"", "", claim});
  run.own = checked(std::move(run.own), "--claim");
  run.repeated = sources.flags.repeated;
  if (sources.config) keep_notes(run, *sources.config);
  run.options.keep_trials |= sources.config && sources.config->keeps_trials;
  return run;
}

double memory_estimate(const ResolvedRun& run, std::uint64_t threads) {
  constexpr double program = 60e6;  // code, libraries and BLAS buffers, measured
  const std::uint64_t at_once = std::min(threads, run.shard.trials_of(run.options.trials));
  const Estimate cost = run.study->memory();
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
  defaults->fill_defaults();
  // Name the parameters that differ from their defaults, because they make the run large.
  const auto mine = run.study->flags(), usual = defaults->flags();
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
