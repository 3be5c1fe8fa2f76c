// What defines a run: configs, flags, command lines; and what a run leaves behind: journals, parts.

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/deliver.hpp"
#include "cli/help.hpp"
#include "cli/presets.hpp"
#include "cli/resolve.hpp"
#include "cli/run_identity.hpp"
#include "cli/terminal.hpp"
#include "core/text.hpp"
#include "data/corpus.hpp"
#include "io/json_file.hpp"
#include "io/tensors/tensor_file.hpp"
#include "ranks/ranks.hpp"
#include "result/environment.hpp"
#include "result/result_json.hpp"
#include "run/journal.hpp"
#include "workplace.hpp"

namespace ranklab::fuzz {
namespace {

// As --dry-run.
void inspect(ResolvedRun& run) {
  default_out(run);
  format_json(run.config());
  run.changed();
  memory_estimate(run, run.options().threads);
}

// A journal with the records of the input, or the input itself if it does not start with R.
std::string journal_of(std::string_view bytes) {
  if (!bytes.starts_with('R')) return std::string(bytes);
  std::string out;
  for (bytes.remove_prefix(1); bytes.size() >= 2;) {
    const std::size_t length = static_cast<unsigned char>(bytes[0]) +
                               std::size_t{256} * static_cast<unsigned char>(bytes[1]);
    const std::string_view record = bytes.substr(2, length);
    out += out.empty() ? journal_start(record) : framed(record);
    bytes.remove_prefix(std::min(bytes.size(), 2 + length));
  }
  return out;
}

void parse_flags(const std::string& text) {
  RanksConfig config;
  config.split = config.fail_if = {text};
  std::vector<ranks::ListedPair> pairs(1);
  pairs[0].name = "fc";
  attempt([&] { ranks::splits_of(config); });
  attempt([&] { ranks::gates_of(config); });
  attempt([&] {
    for (const ranks::Cut& cut : ranks::cuts_of(config, pairs)) ranks::cut_rows("fc", 96, cut);
  });
  attempt([&] { parse_shard(text, 12, "--shard"); });
  attempt([&] { parse_tensor_address(text); });
  attempt([&] { vocabulary_size(text); });
  ranks::comma_separated({text});
  matches_glob(text, "blocks.11.attention.output.dense.weight");
  matches_glob("*.*1.*weight", text);
}

// A field of each domain, bound to studies that are kept.
const std::vector<Field>& different_fields() {
  static std::vector<std::unique_ptr<Study>> studies;
  static std::vector<Field> out;
  if (!out.empty()) return out;
  std::set<std::string> domains;
  for (const Experiment& experiment : experiments()) {
    for (const StudyEntry& entry : experiment.studies) {
      studies.push_back(entry.make());
      for (const Field& field : studies.back()->flags()) {
        if (domains.insert(field.domain_text()).second) out.push_back(field);
      }
    }
  }
  return out;
}

void print(const std::string& text) {
  printable(text);
  printable_key(text);
  shortened(text, 7);
  wrapped(text, 2, 20);
  shell_words({text});
  with_program_name(text, "build/ranklab");
  did_you_mean(text, {"alpha", "beta"});
  in_columns({{text, "b"}, {"a", text}});
}

std::vector<std::string> words_of(std::string_view bytes) {
  const char separator = bytes.find('\n') == std::string_view::npos ? ' ' : '\n';
  std::vector<std::string> words;
  std::istringstream text{std::string(bytes)};
  for (std::string word; std::getline(text, word, separator);) {
    // The system ends a word at a zero byte.
    words.push_back(word.substr(0, word.find('\0')));
  }
  return words;
}

// As run_experiment() until the run would start.
void resolve_words(const Experiment& experiment, const std::vector<std::string>& words) {
  const Arguments common = parse_arguments(words, common_flag_shapes(experiment), Unknown::kept);
  if (common.help) {
    experiment_help(experiment, common, preset_of(experiment, common));
    return;
  }
  ResolvedRun run = resolve(experiment, read_request(experiment, common));
  inspect(run);
}

// Utilities that read before they write, and run no study. They find no file to read.
bool is_harmless(const std::string& utility, const std::vector<std::string>& words) {
  static const std::vector<std::string> names = {"compare", "export", "list",  "man",
                                                 "merge",   "plot",   "report"};
  return std::find(names.begin(), names.end(), utility) != names.end() &&
         std::none_of(words.begin(), words.end(), [](const std::string& word) {
           std::error_code error;
           return std::filesystem::exists(word, error);
         });
}

}  // namespace

void read_config(std::string_view bytes) {
  const std::string path = put("config.json", bytes);
  const nlohmann::json document = read_json(path);
  const std::string command = value_or(document, "command", std::string());
  const Experiment& experiment = writer_of(command, path);
  Arguments flags;
  flags.flags = {{"config", path}};
  flags.words = {"--config", path};
  ResolvedRun run = resolve(experiment, read_request(experiment, flags));
  inspect(run);
}

void read_flags(std::string_view bytes) {
  const std::string text(bytes);
  print(text);
  parse_flags(text);
  for (const Field& field : different_fields()) {
    attempt([&] { field.set(field.read_flag(text, "--" + field.name)); });
    field.value_text();
    attempt([&] { set_field(field, field_json(field), field.name); });
  }
}

void read_command_line(std::string_view bytes) {
  std::vector<std::string> words = words_of(bytes);
  if (words.empty()) return;
  if (words[0] == "run") {
    if (words.size() < 2 || words[1].starts_with('-')) return;
    const std::string command = read_preset(words[1]).command;
    words[0] = "--preset";
    words.insert(words.begin(), command);
  }
  const std::string command = words[0];
  words.erase(words.begin());
  definition_of(command);
  if (const Experiment* experiment = find_experiment(command))
    return resolve_words(*experiment, words);
  if (command == "ranks") return resolve_words(ranks_experiment(), words);
  if (!is_harmless(command, words)) return;
  for (const Utility& utility : utilities()) {
    if (utility.name == command) run_utility(utility, words);
  }
}

void read_journal(std::string_view bytes) {
  const std::string path = put(Journal::path_for("out.json"), journal_of(bytes));
  const std::string identity = ranklab::read_journal(path).header;
  attempt([&] { Journal(path, "another\n", Journal::Earlier::resumed); });
  Journal journal(path, identity, Journal::Earlier::resumed);
  TrialRecord record;
  record.set("x", 0.5);
  journal.append(encode_trial(journal.finished().size(), record));
  journal.flush();
  Journal(path, identity, Journal::Earlier::resumed).remove();
}

void read_part(std::string_view bytes) {
  const std::string path = put("x.1-of-2.part", journal_of(bytes));
  attempt([&] { run_utility(merge_command(), {path, "--dry-run"}); });
  const PartFile part = ranklab::read_part(path);
  // A part of this program would be merged and judged.
  if (part.header.environment.value("program", nlohmann::json()) != program_checksum())
    attempt([&] { run_utility(merge_command(), {path, "--out", "-"}); });
  ResolvedRun run = resolve_header(part.header);
  inspect(run);
}

}  // namespace ranklab::fuzz
