#include "cli/part_header.hpp"

#include <sstream>

#include "cli/commands.hpp"
#include "cli/input_files.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/json_file.hpp"
#include "report/environment.hpp"

namespace ranklab {
namespace {

using OrderedJson = nlohmann::ordered_json;

const std::string schema = "ranklab.part/1";

std::string one_line(const OrderedJson& value) {
  return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string line(const std::string& section, const std::string& name, const OrderedJson& value) {
  return section + " " + name + ": " + one_line(value) + "\n";
}

// One line of a header; all members are empty if the line has another form.
struct Line {
  std::string section, name;
  nlohmann::json value;
};

Line parsed(const std::string& text) {
  const std::size_t blank = text.find(' '), colon = text.find(": ", blank);
  if (blank == std::string::npos || colon == std::string::npos) return {};
  const std::string name = text.substr(blank + 1, colon - blank - 1);
  return {text.substr(0, blank), name,
          parse_json(std::string_view(text).substr(colon + 2), printable_key(name))};
}

}  // namespace

std::string part_header(ResolvedRun& run) {
  std::string out = line("part", "schema", schema) + line("part", "shard", run.shard.index) +
                    line("part", "shards", run.shard.count) +
                    line("part", "command", run.experiment->name);
  const OrderedJson environment = environment_json(run.options.threads, {});
  for (const char* key :
       {"version", "git", "compiler", "flags", "armadillo", "blas", "blas_core", "program"})
    out += line("environment", key, environment[key]);
  const OrderedJson config = run.config();
  for (const auto& [key, value] : config.items()) out += line("config", key, value);
  out += line("preset", "title", run.title) + line("preset", "paper", run.paper) +
         line("preset", "figure", run.figure) + line("preset", "see", run.see) +
         line("preset", "finding", run.finding) + line("preset", "trial", run.trial_unit) +
         line("preset", "config", run.preset_config);
  for (const auto& [path, checksum] : input_checksums(run.study->fields()))
    out += line("input", one_line(path), checksum);
  return out;
}

PartHeader read_part_header(const PartFile& part) {
  PartHeader out;
  std::istringstream lines(part.header());
  std::map<std::string, nlohmann::json> about;
  for (std::string text; std::getline(lines, text);) {
    Line read = parsed(text);
    if (read.section == "part" && read.name == "schema" && read.value != schema)
      throw Failure("not a part of this version of ranklab: its schema is " +
                    printable_key(read.value.dump(-1, ' ', true)) + ", not " + schema);
    if (read.section != "part" || read.name != "shard") out.run += text + "\n";
    if (read.section == "part") about[read.name] = read.value;
    if (read.section == "environment") out.environment[read.name] = read.value;
    if (read.section == "config") out.config[read.name] = read.value;
    if (read.section == "preset") out.preset[read.name] = read.value;
  }
  const auto number = [](const nlohmann::json& value) {
    return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
  };
  out.shard = {number(about["shard"]), number(about["shards"])};
  out.trials = out.config.is_object() ? number(out.config.value("trials", nlohmann::json())) : 0;
  const bool is_complete = about["schema"] == schema && about["command"].is_string() &&
                           out.environment.is_object() && out.preset.is_object();
  if (!is_complete || out.shard.index == 0 || out.shard.index > out.shard.count ||
      out.shard.count > out.trials)
    throw Failure("not a part");
  out.command = about["command"];
  return out;
}

ResolvedRun resolve_part(const PartHeader& header, const std::string& path) {
  const Experiment* experiment = find_experiment(header.command);
  if (experiment == nullptr)
    throw Failure(printable(path) + ": unknown command '" + printable_key(header.command) + "'");
  ResolvedRun run = resolve_document(
      *experiment, {}, {{"command", header.command}, {"config", header.config}}, path);
  // Use the texts of the shards: the presets on this machine may differ.
  const auto text = [&](const char* key) { return value_or(header.preset, key, std::string()); };
  run.title = text("title");
  run.paper = text("paper");
  run.figure = text("figure");
  run.see = text("see");
  run.finding = header.preset.value("finding", nlohmann::json());
  run.trial_unit = text("trial");
  run.preset_config = header.preset.value("config", nlohmann::json());
  return run;
}

bool is_complete(const PartFile& part, std::uint64_t wanted) {
  return part.trials() == wanted && !part.damaged() && !part_trailer(part).is_null();
}

nlohmann::json part_note(const std::string& note) {
  try {
    return note.empty() ? nlohmann::json() : parse_json(note, "note");
  } catch (const Failure&) {
    return nullptr;
  }
}

nlohmann::json part_trailer(const PartFile& part) {
  nlohmann::json trailer = part_note(part.last_note());
  return trailer.is_object() && trailer.contains("wall_s") ? trailer : nlohmann::json();
}

}  // namespace ranklab
