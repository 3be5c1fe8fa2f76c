// `ranklab merge PART...`: builds the result of a run from the parts of its shards.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "cli/commands.hpp"
#include "cli/deliver.hpp"
#include "cli/execute.hpp"
#include "cli/overwrite.hpp"
#include "cli/part_header.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "io/json_file.hpp"
#include "report/environment.hpp"
#include "report/result_json.hpp"
#include "run/journal_format.hpp"

namespace ranklab {
namespace {

using OrderedJson = nlohmann::ordered_json;

// The trials and times of all parts, read in any order.
class Parts {
 public:
  // Reads every part. Throws one Failure that lists all problems in one line.
  explicit Parts(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      try {
        read(path);
      } catch (const Failure& error) {
        problems_.emplace_back(error.what());
      }
    }
    note_missing();
    if (!problems_.empty()) throw Failure(joined(problems_, "; "));
  }

  const PartHeader& header() const { return first_; }
  const std::string& first_path() const { return first_path_; }
  // In the order of the trials. All are there, because no shard is missing.
  std::vector<TrialRecord> take_records() {
    std::vector<TrialRecord> out;
    out.reserve(records_.size());
    for (auto& [trial, record] : records_) out.push_back(std::move(record));
    return out;
  }
  const Timing& timing() const { return timing_; }

  // The environment in which the trials ran, possibly on other machines.
  OrderedJson environment(const std::vector<std::string>& argv) const {
    OrderedJson out = environment_json(threads_, argv);
    for (const auto& [key, value] : first_.environment.items()) out[key] = value;
    out["cpu"] = joined({processors_.begin(), processors_.end()});
    out["shards"] = first_.shard.count;
    return out;
  }

 private:
  void read(const std::string& path) {
    const std::string name = printable(path);
    const PartFile part(path);
    PartHeader header;
    try {
      header = read_part_header(part);
    } catch (const Failure& error) {
      throw Failure(name + ": " + error.what());
    }
    const std::uint64_t wanted = header.shard.trials_of(header.trials);
    const std::string progress = std::to_string(part.trials()) + " of " + counted(wanted, "trial");
    const OrderedJson trailer = part_trailer(part);
    if (trailer.is_null() && path.ends_with(".journal"))
      throw Failure(name + ": not a part: shard " + header.shard.text() + " is unfinished, " +
                    progress);
    if (first_path_.empty()) {
      first_ = header;
      first_path_ = path;
    }
    require_same_run(header, name);
    const auto [earlier, is_new] = owners_.emplace(header.shard.index, name);
    if (!is_new)
      throw Failure(name + ": shard " + header.shard.text() + " is also in " + earlier->second);
    if (!is_complete(part, wanted)) throw Failure(name + ": damaged after " + progress);
    part.take(header.shard, header.trials, records_);
    add_trailer(trailer);
  }

  void require_same_run(const PartHeader& header, const std::string& name) const {
    if (header.run == first_.run) return;
    const HeaderDifference difference = first_difference(first_.run, header.run);
    std::string what = difference.name.empty() ? "the parameters differ"
                                               : difference.name + " is " + difference.here +
                                                     ", not " + difference.there;
    if (difference.name == "blas_core") what += "; set OPENBLAS_CORETYPE to one value on all nodes";
    throw Failure(name + ": belongs to a different run than " + printable(first_path_) + ": " +
                  what);
  }

  void add_trailer(const OrderedJson& trailer) {
    processors_.insert(value_or(trailer, "cpu", std::string("unknown")));
    threads_ = std::max(threads_, value_or(trailer, "threads", std::uint64_t{1}));
    timing_.wall = std::max(timing_.wall, value_or(trailer, "wall_s", 0.0));
    timing_.cpu += value_or(trailer, "cpu_s", 0.0);
    timing_.trials += value_or(trailer, "trials_s", 0.0);
  }

  // A damaged header may claim any number of shards, so the list has an end.
  void note_missing() {
    constexpr std::size_t most_named = 20;
    if (first_path_.empty() || owners_.size() == first_.shard.count) return;
    const std::uint64_t all = first_.shard.count - owners_.size();
    std::vector<std::string> missing;
    for (Shard shard{1, first_.shard.count};
         shard.index <= shard.count && missing.size() < most_named; ++shard.index) {
      if (!owners_.contains(shard.index)) missing.push_back(shard.text());
    }
    const std::string first = missing.front();
    if (all > missing.size())
      missing.push_back("and " + std::to_string(all - missing.size()) + " more");
    problems_.push_back((all == 1 ? "shard " : "shards ") + joined(missing) +
                        (all == 1 ? " has" : " have") + " no part; run " +
                        (all == 1 ? "it" : "them") + " with --shard " + first + " --resume");
  }

  PartHeader first_;
  std::string first_path_;
  std::map<std::uint64_t, std::string> owners_;  // the part of each shard
  std::map<std::uint64_t, TrialRecord> records_;
  std::vector<std::string> problems_;
  std::set<std::string> processors_;
  std::uint64_t threads_ = 1;
  Timing timing_;
};

// Records can be interpreted only by the program that wrote them.
void require_this_program(const Parts& parts) {
  const OrderedJson here = environment_json(1, {});
  for (const char* key : {"version", "git", "program"}) {
    const OrderedJson there = member(parts.header().environment, key);
    if (there == here[key]) continue;
    throw Failure(printable(parts.first_path()) + ": was written by a different program: " + key +
                  " is " + printable_key(there.dump(-1, ' ', true)) + " there, " +
                  here[key].dump() + " here; merge with the program that ran the shards");
  }
}

// A record without the arrays that the study wants is not one of its own.
Execution judged(ResolvedRun& run, Parts& parts, std::chrono::steady_clock::time_point start,
                 OrderedJson environment) {
  try {
    return execute_finished(run, parts.take_records(), parts.timing(), start,
                            std::move(environment));
  } catch (const std::logic_error& error) {
    throw Failure(printable(parts.first_path()) +
                  ": damaged: its trials do not have the numbers of this study (" + error.what() +
                  ")");
  }
}

struct MergeOptions {
  std::string out;
  bool quiet = false, strict = false, force = false;
};

int merge(const Arguments& arguments, const MergeOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Parts parts(arguments.positional);
  require_this_program(parts);
  ResolvedRun run = resolve_part(parts.header(), parts.first_path());
  run.options.out = options.out.empty() ? default_out(run) : options.out;
  run.options.quiet = options.quiet;
  run.options.strict = options.strict;
  run.options.force = options.force;
  const bool to_file = run.options.out != "-" && !is_special_file(run.options.out);
  if (to_file) refuse_to_replace(run);
  if (run.options.out != "-") check_writable(run.options.out);

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
                switch_field("quiet", options->quiet, "print only errors on standard error"),
                switch_field("strict", options->strict,
                             "exit with status 3 if a claim's verdict is `fails`"),
                switch_field("force", options->force,
                             "replace --out even if it holds another run")},
      .run = [options](const Arguments& given) { return merge(given, *options); },
  };
}

}  // namespace ranklab
