#include "cli/presets.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "cli/commands.hpp"
#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "io/json_file.hpp"
#include "judge/catalog.hpp"
#include "result/result_json.hpp"
#include "result/result_members.hpp"
#include "shipped_presets.hpp"  // the files of experiments as text

namespace ranklab {

template <>
struct Members<ShorterRun> {
  static constexpr auto list = std::tuple(required("config", &ShorterRun::config),
                                          required("seconds", &ShorterRun::seconds));
};
template <>
struct Members<Preset> {
  static constexpr auto list = std::tuple_cat(
      std::tuple(required("command", &Preset::command), optional("summary", &Preset::summary),
                 optional("seconds", &Preset::seconds), optional("memory_mb", &Preset::memory_mb),
                 optional("after", &Preset::after), optional("reproduce", &Preset::reproduce),
                 optional("toy", &Preset::toy), optional("aliases", &Preset::aliases)),
      Members<PresetTexts>::list, std::tuple(required("config", &Preset::config)));
};

namespace {

namespace fs = std::filesystem;

template <HasMembers Struct>
void refuse_unknown_in(const Json& document, const char* key) {
  try {
    refuse_unknown_keys<Struct>(member(document, key));
  } catch (const ReadError& error) {
    throw error.inside(key);
  }
}

// Joins the lists of strings in a document that people write, where a sentence is expected.
void join_sentences(Json& value) {
  const auto join = [](Json& text) {
    const bool is_list =
        text.is_array() && !text.empty() &&
        std::ranges::all_of(text, [](const Json& each) { return each.is_string(); });
    if (is_list) text = joined(text.get<std::vector<std::string>>(), " ");
  };
  if (value.is_array())
    for (Json& each : value) join_sentences(each);
  if (!value.is_object()) return;
  constexpr std::array<std::string_view, 9> sentences = {
      "title", "summary", "see", "says", "trial", "claim", "label", "sentence", "is"};
  for (auto& [key, member] : value.items()) {
    if (std::ranges::find(sentences, key) != sentences.end()) join(member);
    if (key == "notes" && member.is_array())
      for (Json& note : member) join(note);
    if (key != "config") join_sentences(member);
  }
}

// experiments/experiment.schema.json is for editors.
bool may_be_preset(const fs::path& path) {
  return path.extension() == ".json" && path.stem().extension() != ".schema";
}

// True if a JSON file in the folder names an experiment command, as every preset does. The file may
// contain errors, which read_preset() reports.
bool contains_presets(const fs::path& folder) {
  constexpr std::size_t max_bytes = 1 << 16;  // of a preset
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!may_be_preset(entry.path()) || !entry.is_regular_file(error) ||
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

// Empty if no folder has presets.
fs::path find_folder() {
  std::error_code error;
  fs::path here = fs::absolute("experiments", error);
  if (contains_presets(here)) return here;
  const fs::path program = fs::canonical(program_path(), error);
  if (error) return "";
  const fs::path prefix = program.parent_path().parent_path();
  for (const fs::path& folder : {prefix / "experiments", prefix / "share/ranklab/experiments"}) {
    if (fs::is_directory(folder, error)) return folder;
  }
  return "";
}

struct Folder {
  fs::path path = find_folder();
  std::vector<std::string> names;
};

// "fig03" as "fig 3", "thm4.1" as "thm 4.1".
std::string with_blank_before_number(const std::string& words) {
  const auto letters =
      static_cast<std::size_t>(std::ranges::find_if_not(words, is_letter) - words.begin());
  const std::size_t number = words.find_first_not_of('0', letters);
  if (letters == 0 || number == std::string::npos || !is_digit(words[number])) return words;
  return words.substr(0, letters) + " " + words.substr(number);
}

// Of the presets that can be read: name -> that of the preset.
std::map<std::string, std::string> aliases_in(const fs::path& path,
                                              const std::vector<std::string>& names) {
  std::map<std::string, std::string> out;
  for (const std::string& name : names) {
    try {
      const std::string file = (path / (name + ".json")).string();
      if (read_file(file).find("\"aliases\"") == std::string::npos) continue;
      for (const auto& [alias, _] : preset_from(read_written_json(file), name).aliases)
        out.emplace(alias, name);
    } catch (const std::runtime_error&) {  // `ranklab list` names a preset with a mistake
    }
  }
  return out;
}

const Folder& folder() {
  static const Folder found = [] {
    Folder out;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(out.path, error)) {
      if (may_be_preset(entry.path())) out.names.push_back(entry.path().stem().string());
    }
    std::sort(out.names.begin(), out.names.end());
    return out;
  }();
  return found;
}

const std::map<std::string, std::string>& aliases() {
  static const std::map<std::string, std::string> found = aliases_in(folder().path, folder().names);
  return found;
}

bool is_file(const std::string& name) {
  return std::binary_search(preset_names().begin(), preset_names().end(), name);
}

bool is_shipped(const std::string& name, const std::string& text) {
  return std::ranges::any_of(shipped_presets, [&](const auto& shipped) {
    return name == shipped.name && text == shipped.text;
  });
}

}  // namespace

const std::vector<std::string>& preset_names() {
  return folder().names;
}

void require_presets() {
  if (preset_names().empty())
    throw Failure(
        "no folder experiments/ with presets in the working directory or next to the program");
}

const std::vector<std::string>& preset_names_and_aliases() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> out = preset_names();
    for (const auto& [alias, _] : aliases()) out.push_back(alias);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }();
  return all;
}

bool is_preset(const std::string& name) {
  return is_file(name) || aliases().contains(name);
}

std::vector<std::string> presets_of_figure(const std::string& words) {
  const std::string figure = in_full(with_blank_before_number(words));
  const auto is_of = [&](const std::string& other) {
    return other == figure || other.starts_with(figure + " ") || other.starts_with(figure + ",");
  };
  std::vector<std::string> out;
  for (const std::string& name : preset_names()) {
    try {
      const Preset preset = read_preset(name);
      if (preset.source && is_of(preset.source->figure)) out.push_back(name);
      for (const auto& [alias, drawn] : preset.aliases)
        if (is_of(drawn)) out.push_back(alias);
    } catch (const std::runtime_error&) {  // `ranklab list` names a preset with a mistake
    }
  }
  return out;
}

namespace {

constexpr std::size_t most_beginnings = 6;

std::vector<std::string> beginning_with(const std::string& beginning,
                                        const std::vector<std::string>& names) {
  std::vector<std::string> out;
  std::ranges::copy_if(names, std::back_inserter(out), [&](const std::string& name) {
    return !beginning.empty() && name.starts_with(beginning);
  });
  return out;
}

}  // namespace

std::string completed(const std::string& beginning, const std::vector<std::string>& names) {
  const std::vector<std::string> found = beginning_with(beginning, names);
  return found.size() == 1 ? found[0] : beginning;
}

std::string several_begin(const std::string& beginning, const std::vector<std::string>& names) {
  std::vector<std::string> found = beginning_with(beginning, names);
  if (found.size() < 2) return "";
  const std::string head = "; " + std::to_string(found.size()) + " names begin so: ";
  const bool is_long = found.size() > most_beginnings;
  if (is_long) found.resize(most_beginnings);
  return head + joined(found) + (is_long ? ", ..." : "");
}

Preset read_preset(const std::string& name, const std::string& where) {
  if (!is_preset(name)) {
    const std::string stem = fs::path(name).stem().string();
    // Many begin with spectral-fig1, for spectral-fig01.
    const std::vector<std::string>& names = preset_names_and_aliases();
    const std::string several = several_begin(name, names);
    std::string hint = several;
    if (several.empty() || beginning_with(name, names).size() > most_beginnings)
      hint = did_you_mean(name, names,
                          several.empty() ? "; `ranklab list` shows all presets" : several);
    if (name.ends_with(".json") && is_preset(stem))
      hint = "; leave out the folder and .json: " + stem;
    else if (name.ends_with(".json"))
      hint = "; a preset is a file of the folder experiments/, run by its name without .json";
    if (const auto presets = presets_of_figure(name); !presets.empty())
      hint = "; presets of " + printable_key(name) + ": " + joined(presets);
    throw UsageError(where + ": unknown preset '" + printable_key(name) + "'" + hint);
  }
  const std::string file = is_file(name) ? name : aliases().at(name),
                    path = (folder().path / (file + ".json")).string();
  Preset out = preset_from(read_written_json(path), "preset " + file);
  out.name = file;
  out.asked_for = name;
  out.is_shipped = is_shipped(file, read_file(path));
  return out;
}

Json read_written_json(const std::string& path, const std::string& flag) {
  std::string text;
  try {
    text = read_file(path);
  } catch (const Failure& failure) {
    throw Failure(flag + failure.what());
  }
  Json out = parse_json(text, printable(path), Comments::skipped);
  join_sentences(out);
  return out;
}

Preset preset_from(const Json& file, const std::string& label) {
  if (!file.is_object()) throw UsageError(label + ": not a preset or result file (a JSON object)");
  Json document = file;
  document.erase("$schema");  // for editors
  Preset out;
  try {
    if (document.contains("claims"))
      throw ReadError("claims", "belong into \"report\": {\"claims\": [...]}");
    if (!document.contains("config"))
      throw ReadError("config",
                      "is missing: an object of the flags of the command line, without "
                      "their dashes");
    read_known(document, out);
    for (const auto& [key, value] :
         {std::pair("seconds", out.seconds), std::pair("memory_mb", out.memory_mb)}) {
      if (value && *value < 0) throw ReadError(key, "must be at least 0");
    }
    refuse_unknown_in<Source>(document, "source");
    refuse_unknown_in<PresetFinding>(document, "finding");
    refuse_unknown_in<ShorterRun>(document, "reproduce");
    for (const auto& [place, config] :
         {std::pair("config", &out.config),
          std::pair("reproduce.config", out.reproduce ? &out.reproduce->config : &out.config),
          std::pair("toy", out.toy.is_null() ? &out.config : &out.toy)}) {
      if (!config->is_object()) throw ReadError(place, "must be an object with parameters");
    }
  } catch (const ReadError& error) {
    throw UsageError(label + ": " + error.what());
  }
  out.report.claims = checked(std::move(out.report.claims), label + ": report.claims");
  return out;
}

nlohmann::ordered_json preset_json(const Preset& preset) {
  return object_json(preset);
}

}  // namespace ranklab
