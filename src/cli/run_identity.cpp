#include "cli/run_identity.hpp"

#include <filesystem>
#include <sstream>
#include <utility>

#include "cli/commands.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/json_file.hpp"
#include "result/environment.hpp"
#include "result/result_members.hpp"
#include "run/journal.hpp"

namespace ranklab {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

std::string one_line(const OrderedJson& value) {
  return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string line(const std::string& section, const std::string& name, const OrderedJson& value) {
  return section + " " + name + ": " + one_line(value) + "\n";
}

std::uint64_t number_in(const Json& object, const char* key) {
  return value_or(object, key, std::uint64_t{0});
}

// Throws Failure without the name of the file.
RunHeader parsed(const std::string& identity) {
  RunHeader out;
  Json sections;
  std::istringstream lines(identity);
  for (std::string text; std::getline(lines, text);) {
    if (!text.starts_with("part shard: ")) out.run += text + "\n";
    // A path may have a colon; values of other sections may have one, too.
    const std::size_t blank = text.find(' '), colon = text.starts_with("input ")
                                                          ? text.rfind(": ")
                                                          : text.find(": ", blank);
    if (blank == std::string::npos || colon == std::string::npos) continue;
    std::string name = text.substr(blank + 1, colon - blank - 1);
    if (name.starts_with('"')) name = parse_json(name, "a path").get<std::string>();
    sections[text.substr(0, blank)][name] =
        parse_json(std::string_view(text).substr(colon + 2), printable_key(name));
  }
  const Json part = sections["part"];
  out.environment = sections["environment"];
  out.config = sections["config"];
  out.preset = sections["preset"];
  out.inputs = sections["input"];
  out.command = value_or(part, "command", std::string());
  out.shard = {number_in(part, "shard"), number_in(part, "shards")};
  out.trials = number_in(out.config, "trials");
  if (out.command.empty() || !out.environment.is_object() || !out.preset.is_object() ||
      out.shard.index == 0 || out.shard.index > out.shard.count || out.shard.count > out.trials)
    throw Failure("its header is not that of a run");
  return out;
}

}  // namespace

std::string run_identity(ResolvedRun& run) {
  std::string out = line("part", "shard", run.shard.index) +
                    line("part", "shards", run.shard.count) +
                    line("part", "command", run.experiment->name);
  const OrderedJson environment = environment_json(run.options().threads, {});
  for (const char* key :
       {"program", "version", "git", "compiler", "flags", "armadillo", "blas", "blas_core"})
    out += line("environment", key, environment[key]);
  const OrderedJson config = run.config();
  for (const auto& [key, value] : config.items()) out += line("config", key, value);
  PresetTexts texts = run.texts;
  const OwnReport report = std::exchange(texts.report, {});
  out += line("preset", "texts", object_json(texts)) +
         line("preset", "report", to_json_value(report)) +
         line("preset", "config", run.preset_config);
  for (const auto& [path, checksum] : run.input_checksums())
    out += line("input", one_line(path), checksum);
  return out;
}

void require_same_inputs(ResolvedRun& run, const Json& then, const std::string& file) {
  const auto text = [](const Json& value) { return printable_key(value.dump(-1, ' ', true)); };
  const Json now = Json::parse(one_line(run.input_checksums()));  // with the same replaced bytes
  for (const auto& [path, checksum] : then.items()) {
    const Json here = now.value(path, Json("missing"));
    if (here != checksum)
      throw Failure(printable(file) + ": the run read another " + printable_key(path) +
                    " (checksum " + text(checksum) + ", here " + text(here) + ")");
  }
}

std::string program_line(const std::string& identity) {
  const std::size_t at = identity.find("\nenvironment program: ");
  return at == std::string::npos ? "" : identity.substr(at, identity.find('\n', at + 1) - at);
}

namespace {

// The lines on which a trial depends, if its code is the same.
std::string lines_of_trials(const std::string& identity) {
  std::string out;
  std::istringstream lines(identity);
  for (std::string text; std::getline(lines, text);) {
    const bool may_differ =
        text.starts_with("environment program: ") || text.starts_with("environment git: ") ||
        text.starts_with("preset texts: ") || text.starts_with("preset report: ");
    if (!may_differ) out += text + "\n";
  }
  return out;
}

}  // namespace

std::string identity_of_trials(const std::string& journal, const std::string& identity) {
  std::error_code error;
  if (!std::filesystem::exists(journal, error)) return identity;
  std::string there = read_journal(journal).header;
  return lines_of_trials(there) == lines_of_trials(identity) ? there : identity;
}

OrderedJson build_of(const std::string& identity) {
  const Json environment = parsed(identity).environment;
  return {{"git", environment.value("git", "")}, {"program", environment.value("program", "")}};
}

std::string PartFile::progress() const {
  return std::to_string(content.trials.size()) + " of " + plural(header.wanted(), "trial");
}

PartFile read_part(const std::string& path) {
  PartFile out{{}, read_journal(path)};
  if (out.content.header.empty())
    throw Failure(printable(path) + ": not a part: its header is incomplete or damaged");
  try {
    out.header = parsed(out.content.header);
  } catch (const Failure& error) {
    throw Failure(printable(path) + ": not a part: " + error.what());
  }
  out.header.path = path;
  for (const auto& [trial, record] : out.content.trials) {
    if (trial >= out.header.trials || !out.header.shard.holds(trial))
      throw Failure(printable(path) + ": trial " + std::to_string(trial) +
                    " does not belong to shard " + out.header.shard.text());
  }
  return out;
}

void require_same_run(const RunHeader& first, const RunHeader& other) {
  if (first.run != other.run)
    throw Failure(printable(other.path) + ": belongs to a different run than " +
                  printable(first.path) + ": " + header_difference(first.run, other.run));
}

std::string missing_shards(const std::set<std::uint64_t>& present, std::uint64_t count) {
  // A damaged header may claim any number of shards, so the list has an end.
  constexpr std::size_t most_named = 20;
  const std::uint64_t all = count - present.size();
  if (all == 0) return "";
  std::vector<std::string> missing;
  for (Shard shard{1, count}; shard.index <= count && missing.size() < most_named; ++shard.index) {
    if (!present.contains(shard.index)) missing.push_back(shard.text());
  }
  const std::string first = missing.front();
  if (all > missing.size())
    missing.push_back("and " + std::to_string(all - missing.size()) + " more");
  return (all == 1 ? "no part of shard " : "no part of shards ") + joined(missing) + "; run " +
         (all == 1 ? "it" : "them") + " with --shard " + first + " --resume";
}

ResolvedRun resolve_header(const RunHeader& header) {
  const Experiment& experiment = writer_of(header.command, header.path);
  // Use the texts of the shards: the presets on this machine may differ.
  PresetTexts texts;
  try {
    from_json_value(header.preset.value("texts", Json::object()), texts);
    from_json_value(header.preset.value("report", Json::object()), texts.report);
  } catch (const ReadError& error) {
    throw Failure(printable(header.path) + ": " + error.what());
  }
  ParameterFile file{header.path, header.command, header.config, texts};
  file.owner = Owner::result;
  ResolvedRun run = resolve(experiment, replay_of(std::move(file)));
  run.texts = texts;
  run.preset_config = header.preset.value("config", Json());
  return run;
}

}  // namespace ranklab
