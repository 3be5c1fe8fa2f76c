// `ranklab merge PART...`: builds the result of a run from the parts of its shards.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>

#include "cli/check_report.hpp"
#include "cli/commands.hpp"
#include "cli/deliver.hpp"
#include "cli/execute.hpp"
#include "cli/expect.hpp"
#include "cli/output_names.hpp"
#include "cli/overwrite.hpp"
#include "cli/run_identity.hpp"
#include "cli/start.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "io/json_file.hpp"
#include "result/environment.hpp"
#include "result/result_json.hpp"

namespace ranklab {
namespace {

using OrderedJson = nlohmann::ordered_json;

// The trials and times of all parts, read in any order.
class Parts {
 public:
  // Reads every part. Throws one Failure that lists all problems in one line.
  explicit Parts(const std::vector<std::string>& paths) {
    std::vector<std::string> problems;
    for (const std::string& path : paths) {
      try {
        add(read_part(path));
      } catch (const Failure& error) {
        problems.emplace_back(error.what());
      }
    }
    if (first_) {
      std::set<std::uint64_t> present;
      for (const auto& [shard, path] : paths_) present.insert(shard);
      const std::string missing = missing_shards(present, first_->shard.count);
      if (!missing.empty()) problems.push_back(missing);
    }
    if (!problems.empty()) throw Failure(joined(problems, "; "));
  }

  const RunHeader& first() const { return *first_; }
  // In the order of the trials. All are there, because no shard is missing.
  std::vector<TrialRecord> take_records() {
    std::vector<TrialRecord> out;
    out.reserve(records_.size());
    for (auto& [trial, record] : records_) out.push_back(std::move(record));
    return out;
  }
  const Timing& timing() const { return timing_; }

  const std::vector<std::string>& notes() const { return notes_; }
  // The environment in which the trials ran, possibly on other machines.
  OrderedJson environment(const std::vector<std::string>& argv) const {
    OrderedJson out = environment_json(threads_, argv);
    for (const auto& [key, value] : first().environment.items()) out[key] = value;
    out["cpu"] = joined({processors_.begin(), processors_.end()});
    out["shards"] = first().shard.count;
    return out;
  }

 private:
  void add(PartFile part) {
    const RunHeader& header = part.header;
    const std::string name = printable(header.path), shard = header.shard.text();
    if (!first_) first_ = header;
    require_same_run(*first_, header);
    const auto [earlier, is_new] = paths_.emplace(header.shard.index, name);
    if (!is_new) throw Failure(name + ": shard " + shard + " is also in " + earlier->second);
    if (!part.is_complete())
      throw Failure(name + ": " + (part.content.has_rest ? "damaged" : "ends") + " after " +
                    part.progress() + "; run it with --shard " + shard + " --resume");
    add_sessions(part.content.notes);
    records_.merge(part.content.trials);
  }

  // A program that was killed has left no note of its session.
  void add_sessions(const std::vector<std::string>& notes) {
    if (notes.empty()) processors_.insert("unknown");
    double wall = 0;
    for (const std::string& note : notes) {
      const auto session = nlohmann::json::parse(note, nullptr, false);
      processors_.insert(value_or(session, "cpu", std::string("unknown")));
      threads_ = std::max(threads_, value_or(session, "threads", std::uint64_t{1}));
      wall += value_or(session, "wall_s", 0.0);
      timing_.cpu += value_or(session, "cpu_s", 0.0);
      timing_.trials += value_or(session, "trials_s", 0.0);
      for (const nlohmann::json& text : member(session, "notes")) {
        const std::string said = text.is_string() ? text.get<std::string>() : "";
        if (!said.empty() && std::ranges::find(notes_, said) == notes_.end())
          notes_.push_back(said);
      }
    }
    timing_.wall = std::max(timing_.wall, wall);
  }

  std::optional<RunHeader> first_;
  std::map<std::uint64_t, std::string> paths_;  // of the part of each shard
  std::map<std::uint64_t, TrialRecord> records_;
  std::set<std::string> processors_;
  std::vector<std::string> notes_;  // on values that gave way
  std::uint64_t threads_ = 1;
  Timing timing_;
};

// Records can be interpreted only by the program that wrote them.
void require_this_program(const RunHeader& header) {
  const OrderedJson here = environment_json(1, {});
  for (const char* key : {"version", "git", "program"}) {
    const OrderedJson there = header.environment.value(key, nlohmann::json());
    if (there == here[key]) continue;
    throw Failure(printable(header.path) + ": was written by a different program: " + key + " is " +
                  printable_key(there.dump(-1, ' ', true)) + " there, " + here[key].dump() +
                  " here; merge with the program that ran the shards");
  }
}

// A record without the arrays that the study wants is not one of its own.
Execution judged(ResolvedRun& run, Parts& parts, std::chrono::steady_clock::time_point start,
                 OrderedJson environment) {
  try {
    return execute_finished(run, parts.take_records(), parts.timing(), start,
                            std::move(environment));
  } catch (const std::logic_error& error) {
    throw Failure(printable(parts.first().path) +
                  ": damaged: its trials do not have the numbers of this study (" + error.what() +
                  ")");
  }
}

// Also while the shards run.
void print_progress(const std::vector<std::string>& paths) {
  std::optional<RunHeader> run;
  std::set<std::uint64_t> shards;
  std::vector<std::vector<std::string>> rows;
  for (const std::string& path : paths) {
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error) && std::filesystem::is_empty(path, error)) {
      rows.push_back({printable(path), "", "has just been created"});
      continue;
    }
    const PartFile part = read_part(path);
    if (!run) run = part.header;
    require_same_run(*run, part.header);
    shards.insert(part.header.shard.index);
    rows.push_back({printable(path), "shard " + part.header.shard.text(),
                    part.is_complete() ? "complete" : part.progress()});
  }
  if (!run) throw Failure("no shard has started");
  std::printf("%s %s: %s in %s\n", printable(run->command).c_str(),
              printable(value_or(run->config, "study", std::string())).c_str(),
              plural(run->trials, "trial").c_str(), plural(run->shard.count, "shard").c_str());
  for (const std::string& row : in_columns(rows)) std::printf("  %s\n", row.c_str());
  const std::string missing = missing_shards(shards, run->shard.count);
  if (!missing.empty()) std::printf("  %s\n", missing.c_str());
}

struct MergeOptions {
  std::string out, claim;
  bool quiet = false, strict = false, expect = false, force = false, keep_trials = false,
       dry_run = false;
};

int merge(const Arguments& arguments, const MergeOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Parts parts(arguments.positional);
  require_this_program(parts.first());
  ResolvedRun run = resolve_header(parts.first());
  require_same_inputs(run, parts.first().inputs, parts.first().path);
  run.notes = parts.notes();
  run.options().out = options.out.empty() ? default_out(run) : options.out;
  require_fitting_name("merge", run.options().out);
  run.options().quiet = options.quiet;
  run.options().strict = options.strict;
  run.options().expect = options.expect;
  run.options().force = options.force;
  run.options().keep_trials = options.keep_trials;
  for (const auto& [name, value] : arguments.flags) {
    if (name == "claim") run.own.push_back({"", "", value});
  }
  run.own = checked(std::move(run.own), "--claim");
  require_published(run);
  check_report(run);
  const bool to_file = run.options().out != "-" && !is_special_file(run.options().out);
  if (to_file) refuse_to_replace(run);
  if (run.options().out != "-") prepare_folder(run);

  std::vector<std::string> argv = {"ranklab", "merge"};
  argv.insert(argv.end(), arguments.words.begin(), arguments.words.end());
  Execution execution = judged(run, parts, start, parts.environment(argv));
  return deliver(run, execution, nullptr);
}

}  // namespace

Utility merge_command() {
  const auto options = std::make_shared<MergeOptions>();
  return {
      .name = "merge",
      .usage = "PART...",
      .summary = "combine the parts of a --shard run into one result",
      .details = "The parts may be named in any order. The numbers equal those of a single run.",
      .takes = {1, any_number, "the parts of a run"},
      .flags = {text_field("out", options->out,
                           "path of the result; - is standard output (not given: the path of the "
                           "unsharded run)"),
                switch_field("dry-run", options->dry_run,
                             "show how many of its trials each part has, also while the shards "
                             "run; merge nothing"),
                switch_field("quiet", options->quiet, "print only errors on standard error"),
                switch_field("strict", options->strict,
                             "exit with status 3 if a claim fails, except slips as printed and "
                             "what is published as failing"),
                switch_field("expect", options->expect,
                             "compare the verdicts with the published ones of the preset in one "
                             "line; exit with status 3 if one contradicts"),
                switch_field("force", options->force, "replace --out even if it holds another run"),
                one_per_flag(text_field("claim", options->claim,
                                        "statement of your own that the run judges; may be "
                                        "repeated; `ranklab help claim`")),
                switch_field("keep-trials", options->keep_trials,
                             "store the curves of every trial")},
      .run =
          [options](const Arguments& given) {
            if (!options->dry_run) return merge(given, *options);
            print_progress(given.positional);
            return 0;
          },
  };
}

}  // namespace ranklab
