#include "cli/overwrite.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "cli/run_identity.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "result/result_json.hpp"
#include "run/journal.hpp"

namespace ranklab {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string change_text(const std::string& name, const Json& before, const Json& now) {
  return name + " " + printable_key(before.dump(-1, ' ', true)) + ", now " +
         printable_key(now.dump(-1, ' ', true));
}

// True if the runs differ only in the number of trials, and the new run includes all completed
// trials of the earlier one.
bool contains_trials(const Json& earlier, const std::vector<std::string>& keys, const Json& now) {
  return keys == std::vector<std::string>{"trials"} && earlier["trials"].is_object() &&
         now["trials"] >= earlier["trials"].value("completed", Json());
}

// What an earlier result of the same run has that the new one would not have; empty: nothing.
std::string lost_content(const Json& earlier, const ResolvedRun& run) {
  if (member(earlier, "keeps_trials") == true && !run.options().keep_trials)
    return "keeps the curves of every trial; add --keep-trials";
  std::set<Json> of_report;  // the user changed the file in which they are
  for (const Json& claim : member(member(earlier, "report"), "claims"))
    of_report.insert(member(claim, "id"));
  for (const Json& claim : member(earlier, "claims")) {
    if (member(claim, "kind") != "own" || of_report.contains(member(claim, "statement_id")))
      continue;
    const bool stays = std::ranges::any_of(
        run.own, [&](const OwnStatement& own) { return member(claim, "claim") == own.claim; });
    if (!stays)
      return "has a statement of your own that this run does not judge (" +
             printable_key(member(claim, "claim").dump(-1, ' ', true)) + ")";
  }
  return "";
}

std::vector<std::string> differing_keys(const Json& before, const Json& now) {
  std::vector<std::string> keys;
  Json all = before;
  all.update(now);
  for (const auto& [key, unused] : all.items()) {
    if (key != "preset" && before.value(key, Json()) != now.value(key, Json())) keys.push_back(key);
  }
  return keys;
}

fs::path identified(const std::string& path) {
  std::error_code error;
  return fs::weakly_canonical(fs::absolute(path, error), error);
}

// True if a result or a journal at --out shows that this run has written its files before.
bool has_written(ResolvedRun& run) {
  const std::string& out = run.options().out;
  std::error_code error;
  if (out.empty() || out == "-" || is_special_file(out)) return false;
  try {
    const std::string journal = run.options().shard.empty() ? Journal::path_for(out) : out;
    if (fs::exists(journal, error) && read_journal(journal).header == run_identity(run))
      return true;
    if (!fs::exists(out, error)) return false;
    const ResultFile earlier = read_result(out);
    const Json before = earlier.config, now = run.config();
    const std::vector<std::string> keys = differing_keys(before, now);
    return earlier.command == run.experiment->name &&
           (keys.empty() || keys == std::vector<std::string>{"trials"});
  } catch (const Failure&) {
    return false;
  }
}

}  // namespace

bool is_one_of(const std::string& path, const std::vector<std::string>& files) {
  return std::any_of(files.begin(), files.end(), [&](const std::string& file) {
    std::error_code error;
    return fs::equivalent(path, file, error);
  });
}

void refuse_to_replace(ResolvedRun& run) {
  const std::string& out = run.options().out;
  std::error_code error;
  if (run.options().force || !std::filesystem::is_regular_file(out, error) ||
      read_file(out).empty())
    return;
  const auto refuse = [&](const std::string& why) {
    throw UsageError("--out " + out + ": " + why + "; --force replaces it");
  };
  Json earlier;
  try {
    earlier = read_json(out);
  } catch (const Failure&) {
  }
  if (!is_result_schema(member(earlier, "schema")) || !member(earlier, "config").is_object())
    return refuse("is not a ranklab result");
  if (earlier["command"] != run.experiment->name)
    return refuse("holds a different run (" +
                  change_text("command", earlier["command"], run.experiment->name) + ")");
  Json before = earlier["config"], now = run.config();
  // Files next to the result change no number, and a replay does not write them.
  for (const Field& field : run.fields()) {
    if (!field.names_output) continue;
    before.erase(field.name);
    now.erase(field.name);
  }
  const std::vector<std::string> keys = differing_keys(before, now);
  if (keys.empty() || contains_trials(earlier, keys, now)) {
    if (const std::string lost = lost_content(earlier, run); !lost.empty()) refuse(lost);
    return;
  }
  constexpr std::size_t max_named = 3;
  std::vector<std::string> named;
  for (const std::string& key : keys) {
    // If the study differs, most other parameters differ too: name only the study.
    if (before.value("study", Json()) != now["study"] && key != "study") continue;
    if (named.size() < max_named)
      named.push_back(change_text(key, before.value(key, Json()), now.value(key, Json())));
  }
  if (named.size() < keys.size() && named.size() == max_named)
    named.push_back(std::to_string(keys.size() - max_named) + " more");
  refuse("holds a different run (" + joined(named, "; ") + ")");
}

void refuse_to_replace_with_outputs(ResolvedRun& run) {
  std::map<fs::path, std::string> inputs;
  for (const auto& [path, checksum] : run.input_checksums()) inputs[identified(path)] = path;
  std::optional<bool> is_of_this_run;
  for (std::uint64_t trial = 0; trial < run.options().trials; ++trial) {
    if (!run.shard.holds(trial)) continue;
    const std::vector<Output> outputs = run.study().outputs(trial);
    if (outputs.empty()) break;  // nor do later trials write
    for (const Output& output : outputs) {
      std::error_code error;
      const fs::path path = identified(output.path);
      const std::string shown = printable(output.path);
      const auto refuse = [&](const std::string& why) {
        throw UsageError("the run would write " + shown + ", which " + why);
      };
      if (!run.options().out.empty() && path == identified(run.options().out))
        refuse("is the file of --out; name another file");
      if (inputs.contains(path)) refuse("it reads; name another file");
      if (run.options().force || output.may_be_replaced || !fs::exists(path, error) ||
          fs::is_empty(path, error))
        continue;
      if (!is_of_this_run) is_of_this_run = has_written(run);
      if (!*is_of_this_run)
        refuse(
            "exists and is not of an earlier run with these parameters and this --out; --force "
            "replaces it");
    }
  }
}

void warn_of_missing_outputs(const ResolvedRun& run,
                             const std::map<std::uint64_t, TrialRecord>& finished) {
  for (const auto& [trial, record] : finished) {
    for (const Output& output : run.study().outputs(trial)) {
      std::error_code error;
      if (output.is_certain && !fs::exists(output.path, error))
        std::fprintf(stderr,
                     "ranklab: %s is missing; a trial that is finished writes it, so only a run "
                     "without --resume writes it again\n",
                     printable(output.path).c_str());
    }
  }
}

}  // namespace ranklab
