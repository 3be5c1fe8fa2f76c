// Presets: files experiments/<name>.json with the parameters of one figure or table.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "own/report.hpp"
#include "result/members.hpp"
#include "result/result_file.hpp"

namespace ranklab {

/// What a preset says about its figure. The result of a run has it, too.
struct PresetTexts {
  std::string title;
  std::optional<Source> source;
  std::string see;  // what the figure shows; empty: not given
  std::optional<PresetFinding> finding;
  std::string trial;  // what one trial is: input, seed, ...; empty: not given
  OwnReport report;   // of one's own
  // Claims that another preset judges on the same numbers, as globs of their ids, by preset.
  Named<std::vector<std::string>> judged_in;
};

template <>
struct Members<PresetTexts> {
  static constexpr auto list =
      std::tuple(optional("title", &PresetTexts::title), optional("source", &PresetTexts::source),
                 optional("see", &PresetTexts::see), optional("finding", &PresetTexts::finding),
                 optional("trial", &PresetTexts::trial), optional("report", &PresetTexts::report),
                 optional("judged_in", &PresetTexts::judged_in));
};

/// The shorter version of a preset that `ranklab reproduce` runs.
struct ShorterRun {
  nlohmann::ordered_json config;  // what differs from the preset
  double seconds = 0;
};

struct Preset : PresetTexts {
  std::string name;            // of the file, without .json
  std::string asked_for;       // the same, or the alias by which it was read
  bool is_shipped = false;     // a preset of this version, unchanged; otherwise the user wrote it
  Named<std::string> aliases;  // further names, each with the figure that the same run draws
  std::string command, summary;
  std::optional<double> seconds,  // expected wall time on two cores
      memory_mb;                  // and largest resident memory, in 10^6 bytes
  std::string after;              // a preset that writes files that this one reads; empty: none
  std::optional<ShorterRun> reproduce;
  nlohmann::ordered_json toy;  // what the tests change to run in a moment; null: a row of theirs
  nlohmann::ordered_json config;
};

/// Names of the presets, sorted. They are in the folder `experiments` of the directory in which the
/// program was started if a preset is in it (many projects have a folder of that name), else in the
/// one next to the program's folder, else where `make install` puts it, share/ranklab/experiments
/// below the prefix. The folder is read once.
const std::vector<std::string>& preset_names();
/// The same with the aliases of the presets. The first call reads the files.
const std::vector<std::string>& preset_names_and_aliases();

/// Throws Failure if there is none.
void require_presets();

/// Whether it is a name or an alias.
bool is_preset(const std::string& name);
/// The presets of "Figure 3" or "Thm 4.1", of all papers.
std::vector<std::string> presets_of_figure(const std::string& words);

/// The one name that begins with `beginning`, as "spectral-thm1" for "spectral-thm1.5". Returns
/// `beginning` itself if it is a name, and if no or several names begin with it.
std::string completed(const std::string& beginning, const std::vector<std::string>& names);
/// The end of an error message: "; 2 names begin so: a, b" if several do, else "".
std::string several_begin(const std::string& beginning, const std::vector<std::string>& names);

/// By name or alias. Throws UsageError that starts with `where` for an unknown name (with those
/// that begin with it, or the nearest known one), UsageError for an unknown key and a value that is
/// not allowed; Failure for a file that cannot be read.
Preset read_preset(const std::string& name, const std::string& where = "--preset");

/// A JSON file that people write: with // comments, and a list of strings where a sentence is.
/// Throws Failure that names the file, after `flag`.
nlohmann::json read_written_json(const std::string& path, const std::string& flag = "");

/// The preset in a JSON document. Throws UsageError that starts with `label`.
Preset preset_from(const nlohmann::json& document, const std::string& label);

/// The preset as in its file, without keys that have their default.
nlohmann::ordered_json preset_json(const Preset& preset);

}  // namespace ranklab
