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

// A value that a file or a flag gives, read once.
struct Given {
  const Field* field;
  Field::Value value;
};
using AllGiven = std::vector<Given>;

void set_all(const AllGiven& given) {
  for (const Given& each : given) each.field->set(each.value);
}

// The same values for other fields of these names.
AllGiven for_fields(const AllGiven& given, const std::vector<Field>& fields) {
  AllGiven out;
  for (const Given& each : given) {
    if (const Field* field = find_field(fields, each.field->name))
      out.push_back({field, each.value});
  }
  return out;
}

AllGiven given_by(const ParameterFile& file, const Experiment& experiment, const std::string& study,
                  const std::vector<Field>& fields) {
  if (file.command != experiment.name)
    throw UsageError(file.label + ": is for the command \"" + printable_key(file.command) +
                     "\", not " + experiment.name);
  AllGiven out;
  for (const auto& [key, value] : file.config.items()) {
    const std::string label = file.label + ": " + key;
    if (key == "study" || key == "preset")
      continue;  // resolved before the study's fields were known
    const Field* field = find_field(fields, key);
    if (field == nullptr) {
      refuse_parameter_of_another_study(experiment, study, key, label);
      CommonOptions options;
      if (find_field(session_fields(options), key) != nullptr)
        throw UsageError(label + ": is no parameter of the run; give the flag --" + key);
      std::vector<std::string> names;
      for (const Field& each : fields) names.push_back(each.name);
      throw UsageError(
          label + ": unknown parameter" +
          did_you_mean(key, names,
                       "; `ranklab " + experiment.name + " --help` lists the parameters"));
    }
    if (file.ignores_outputs && field->names_output) continue;
    out.push_back({field, field_value(*field, value, label)});
  }
  return out;
}

AllGiven given_by(const Arguments& arguments, const Parameters& parameters) {
  std::map<std::string, std::vector<std::string_view>>
      uses;  // all values of flags that are repeated, once per element
  const auto field_of = [&](const std::string& name) {
    const Field* const field = find_field(parameters.in_config, name);
    return field != nullptr ? field : find_field(parameters.session, name);
  };
  AllGiven out;
  for (const auto& [name, value] : arguments.flags) {
    const Field* const field = field_of(name);
    if (field == nullptr) continue;  // --preset, and --describe next to --help
    // --out and --config are not recorded.
    if (name != "out" && name != "config" && !is_utf8(value))
      throw UsageError("--" + name + ": '" + printable_key(value) +
                       "' is not valid UTF-8, so a result cannot record it");
    if (field->one_per_flag)
      uses[name].push_back(value);
    else
      out.push_back({field, field->read_flag(value, "--" + name)});
  }
  for (const auto& [name, values] : uses) {
    const Field* const field = field_of(name);
    out.push_back({field, field->read_elements(values, "--" + name)});
  }
  return out;
}

const StudyEntry& find_study(const Experiment& experiment, const std::string& name,
                             const std::string& label) {
  const std::vector<std::string> names = study_names(experiment);
  const auto found = std::ranges::find(experiment.studies, name, &StudyEntry::name);
  std::string unknown;
  if (found == experiment.studies.end())
    choice_field("study", unknown, names, "", "").read(name, label);
  return *found;
}

ParameterFile read_config_file(const std::string& path) {
  const std::string label = "--config " + path;
  const nlohmann::json document = read_written_json(path, "--config: ");
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

// The values of a request, read once: a list for each file, and the flags.
struct ReadValues {
  std::vector<AllGiven> files;
  AllGiven flags;
};

// The value that each field would have without those values of the file that have no effect.
std::map<std::string, std::string> values_without(const AllGiven& of_file, const AllGiven& of_flags,
                                                  const ResolvedRun& run) {
  const auto entry =
      std::ranges::find(run.experiment->studies, run.options().study, &StudyEntry::name);
  Parameters without(*run.experiment, *entry);
  for (const Given& each : for_fields(of_file, without.in_config)) {
    if (!find_field(run.fields(), each.field->name)->is_idle()) each.field->set(each.value);
  }
  set_all(for_fields(of_flags, without.in_config));
  try {
    without.study->fill_defaults();
  } catch (const UsageError&) {  // without the other files of the run; the defaults are not needed
  }
  std::map<std::string, std::string> out;
  for (const Field& field : without.in_config) out[field.name] = field.value_text();
  return out;
}

// A file of the user's may have values without effect, such as those of a result's config; a note
// names those that are not defaults. A 0 that would become a default is refused, as for a flag.
void note_useless_values(const ParameterFile& file, const AllGiven& of_file,
                         const AllGiven& of_flags, const Givers& givers, ResolvedRun& run) {
  std::map<std::string, std::string> usual = values_without(of_file, of_flags, run);
  std::vector<std::string> names, needs;
  for (const auto& [key, value] : file.config.items()) {
    const Field* const field = find_field(run.fields(), key);
    if (field == nullptr || givers.file_of(key) != &file) continue;
    const std::string text = field->value_text();
    if (!field->is_idle()) {
      if (field->zero_is_unset && value == 0 && text != "0")
        field->read_flag("0", file.label + ": " + key);
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

// Sets what the files and the flags give, then what the files that they name contain: these
// override the program's preset, and nothing else.
void set_all(ResolvedRun& run, const RunRequest& request, const Givers& givers,
             const ReadValues& given) {
  CommonOptions& options = run.options();
  const auto set = [&](std::size_t first) {
    for (std::size_t i = first; i < given.files.size(); ++i) set_all(given.files[i]);
    set_all(given.flags);
  };
  set(0);
  std::map<std::string, std::string> before;
  for (const Field& field : run.fields()) before[field.name] = field.value_text();
  adopt_files(run.study(), request.preset);
  const std::uint64_t in_files = run.study().trials_in_files();
  if (in_files > 0) options.trials = in_files;
  set(request.preset && request.preset->is_shipped ? 1 : 0);
  if (in_files > 0 && options.trials > in_files)
    throw UsageError("--trials " + std::to_string(options.trials) +
                     " is not allowed: the input files hold " + plural(in_files, "trial"));
  run.notes = note_on_files(givers, run.fields(), before);
}

// The run without what belongs to the preset. Reads the request into `given`, unless an earlier run
// of the same study has read them.
ResolvedRun configured(const Experiment& experiment, const RunRequest& request, ReadValues& given) {
  const StudyEntry& entry = study_of(experiment, request);
  ResolvedRun run;
  run.experiment = &experiment;
  run.parameters = std::make_unique<Parameters>(experiment, entry);
  CommonOptions& options = run.options();
  const Givers givers(request);
  try {
    if (given.files.empty()) {
      for (const ParameterFile& file : givers.files())
        given.files.push_back(given_by(file, experiment, entry.name, run.fields()));
      given.flags = given_by(request.flags, *run.parameters);
    } else {
      for (AllGiven& of_file : given.files) of_file = for_fields(of_file, run.fields());
    }
    set_all(run, request, givers, given);
    refuse_contradictions(run.study(), givers);
    for (std::string& note : validate(run, givers)) run.notes.push_back(std::move(note));
    for (std::string& note : run.study().assumptions()) run.notes.push_back(std::move(note));
  } catch (const UsageError& error) {
    const std::string files = givers.explicit_files();
    const std::string message = error.what();
    const auto begins = [&](const ParameterFile& file) { return message.starts_with(file.label); };
    if (files.empty() || std::ranges::any_of(givers.files(), begins)) throw;
    throw UsageError("with " + files + ": " + message);
  }
  for (std::size_t i = 0; i < givers.files().size(); ++i) {
    const ParameterFile& file = givers.files()[i];
    if (file.owner == Owner::user)
      note_useless_values(file, given.files[i], given.flags, givers, run);
  }
  if (options.threads == 0)
    options.threads = std::max<std::uint64_t>(1, available_cores() / options.blas_threads);
  if (request.flags.find("shard") != nullptr)
    run.shard = parse_shard(options.shard, options.trials, "--shard");
  options.preset = request.preset ? request.preset->name
                   : request.config
                       ? text_at(request.config->config, "preset", request.config->label)
                       : "";
  run.asked_for = request.preset ? request.preset->asked_for : options.preset;
  return run;
}

// Whether the run is that of an earlier result, which it then has the notes of.
bool repeats(ResolvedRun& run, const ParameterFile& earlier) {
  const nlohmann::ordered_json config = run.config();
  return std::ranges::all_of(run.fields(), [&](const Field& field) {
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

// The values that a preset has.
nlohmann::ordered_json values_of(const Experiment& experiment, const RunRequest& alone) {
  const StudyEntry& entry = study_of(experiment, alone);
  Parameters parameters(experiment, entry);
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const Given& each :
       given_by(parameters_of(*alone.preset), experiment, entry.name, parameters.in_config)) {
    each.field->set(each.value);
    out[each.field->name] = field_json(*each.field);
  }
  return out;
}

// From the preset itself, or else from what the replayed run has changed. `given`: what the request
// of the run gave.
nlohmann::ordered_json config_of_preset(const ResolvedRun& run, const RunRequest& request,
                                        ReadValues given) {
  const Experiment& experiment = *run.experiment;
  if (request.preset) {
    const RunRequest alone = {request.preset, {}, {}};
    const bool is_alone =
        !request.config && std::ranges::none_of(given.flags, [&](const Given& each) {
          return find_field(run.fields(), each.field->name) != nullptr;
        });
    if (is_alone) return run.config();
    if (study_of(experiment, alone).name != run.options().study) given.files.clear();
    given.files.resize(std::min<std::size_t>(given.files.size(), 1));
    given.flags.clear();
    try {
      return configured(experiment, alone, given).config();
    } catch (const UsageError&) {  // it needs the flags: only the values that it has
      return values_of(experiment, alone);
    }
  }
  nlohmann::ordered_json out = request.config->config;
  for (const Change& change : request.config->changed) out[change.name] = change.preset;
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

Parameters::Parameters(const Experiment& experiment, const StudyEntry& entry)
    : study(entry.make()), session(session_fields(options)) {
  options.study = entry.name;
  options.trials = entry.default_trials;
  options.threads = 0;
  in_config = config_fields(options, study_names(experiment));
  for (Field& field : study->flags()) in_config.push_back(std::move(field));
}

std::unique_ptr<Study> described_study(const Experiment& experiment, const StudyEntry& entry,
                                       const RunRequest& request) {
  Parameters parameters(experiment, entry);
  if (request.preset)
    set_all(given_by(parameters_of(*request.preset), experiment, entry.name, parameters.in_config));
  set_all(given_by(request.flags, parameters));
  return std::move(parameters.study);
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
  PresetTexts texts = {
      result.title, result.source, result.see, result.finding, result.trials.unit, {}, {}};
  texts.report = own_report_in({{"report", nlohmann::json(result.report)}}, label);
  texts.report.claims = checked(own_statements_of(result), label + ": claims");
  return {label, result.command,      result.config, texts,       result.changed,
          true,  result.keeps_trials, Owner::result, result.notes};
}

std::optional<Preset> preset_of(const Experiment& experiment, const Arguments& flags,
                                const std::optional<Preset>& read) {
  const std::string* name = flags.find("preset");
  if (name == nullptr) return {};
  Preset preset = read && read->asked_for == *name ? *read : read_preset(*name);
  if (preset.command != experiment.name)
    throw UsageError("--preset " + preset.name + " is for " + preset.command + ", not " +
                     experiment.name + "; run `ranklab " + preset.command + " " +
                     shell_words(flags.words) + "`");
  return preset;
}

RunRequest read_request(const Experiment& experiment, const Arguments& common,
                        const std::optional<Preset>& read, const std::string& usage) {
  RunRequest out;
  if (const std::string* path = common.find("config")) out = replay_of(read_config_file(*path));
  if (auto preset = preset_of(experiment, common, read)) out.preset = std::move(preset);
  out.flags = common;  // may name the study
  out.flags = parse_flags(experiment, study_of(experiment, out), common.words, usage);
  return out;
}

RunRequest replay_of(ParameterFile config) {
  RunRequest out;
  const std::string name = text_at(config.config, "preset", config.label);
  if (is_preset(name)) out.preset = read_preset(name);
  out.config = std::move(config);
  return out;
}

const StudyEntry& study_of(const Experiment& experiment, const RunRequest& request) {
  if (const std::string* flag = request.flags.find("study"))
    return find_study(experiment, *flag, "--study");
  if (request.config && request.config->config.contains("study"))
    return find_study(experiment, text_at(request.config->config, "study", request.config->label),
                      request.config->label + ": study");
  if (request.preset && request.preset->config.contains("study")) {
    const std::string label = "preset " + request.preset->name;
    return find_study(experiment, text_at(request.preset->config, "study", label),
                      label + ": study");
  }
  return experiment.studies.front();
}

nlohmann::ordered_json ResolvedRun::config() const {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const Field& field : fields()) out[field.name] = field_json(field);
  if (options().preset.empty()) out["preset"] = nullptr;
  return out;
}

std::vector<Change> ResolvedRun::changed() const {
  std::vector<Change> out;
  const nlohmann::ordered_json mine = config();
  for (const auto& [key, value] : mine.items()) {
    if (key == "preset" || !preset_config.contains(key) || preset_config[key] == value) continue;
    out.push_back({key, preset_config[key], value});
  }
  return out;
}

const std::map<std::string, std::string>& ResolvedRun::input_checksums() {
  if (!input_checksums_) input_checksums_ = ranklab::input_checksums(fields());
  return *input_checksums_;
}

ResolvedRun resolve(const Experiment& experiment, const RunRequest& request) {
  ReadValues given;
  ResolvedRun run = configured(experiment, request, given);
  if (!run.options().preset.empty())
    run.preset_config = config_of_preset(run, request, std::move(given));
  if (request.preset)
    run.texts = *request.preset;
  else if (request.config)
    run.texts = request.config->texts;
  // A result has its preset's report, with the statements of its --claim.
  if (request.config && !request.config->texts.report.empty())
    run.texts.report = request.config->texts.report;
  run.own = run.texts.report.claims;
  for (const std::string& claim : run.options().claim) run.own.push_back({"", "", claim});
  run.own = checked(std::move(run.own), "--claim");
  run.repeated = request.flags.repeated;
  if (request.config) keep_notes(run, *request.config);
  run.options().keep_trials |= request.config && request.config->keeps_trials;
  return run;
}

double memory_estimate(const ResolvedRun& run, std::uint64_t threads) {
  constexpr double program = 60e6;  // code, libraries and BLAS buffers, measured
  const std::uint64_t at_once = std::min(threads, run.shard.trials_of(run.options().trials));
  const Estimate cost = run.study().memory();
  const std::uint64_t helpers = std::min(threads - at_once, at_once * cost.helpers);
  return program + cost.shared_bytes + cost.bytes * static_cast<double>(at_once) +
         cost.helper_bytes * static_cast<double>(helpers);
}

void check_memory(const ResolvedRun& run) {
  const double needed = memory_estimate(run, run.options().threads), available = available_memory();
  if (needed <= available)
    return reserve_blas_buffers(run.options().threads + run.options().blas_threads - 1);
  std::vector<std::string> sizes;
  const auto entry =
      std::ranges::find(run.experiment->studies, run.options().study, &StudyEntry::name);
  Parameters defaults(*run.experiment, *entry);
  defaults.study->fill_defaults();
  // Name the study's parameters that differ from their defaults, because they make the run large.
  const std::size_t common = defaults.in_config.size() - defaults.study->flags().size();
  for (std::size_t i = common; i < defaults.in_config.size(); ++i) {
    const std::string mine = run.fields()[i].value_text();
    if (mine != defaults.in_config[i].value_text())
      sizes.push_back("--" + run.fields()[i].name + " " + printable_key(mine));
  }
  const bool fewer_threads_fit = memory_estimate(run, 1) <= available;
  throw UsageError(
      (sizes.empty() ? "--threads " + std::to_string(run.options().threads) : joined(sizes)) +
      ": this run needs about " + size_text(needed) + " of memory, but only " +
      size_text(available) + " is available; " +
      (fewer_threads_fit ? "use fewer --threads" : "use smaller sizes"));
}

}  // namespace ranklab
