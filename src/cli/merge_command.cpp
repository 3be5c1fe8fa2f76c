// `ranklab merge PART...`: builds the result of a run from the parts of its shards.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/deliver.hpp"
#include "cli/execute.hpp"
#include "cli/help.hpp"
#include "cli/overwrite.hpp"
#include "cli/part_header.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "report/environment.hpp"
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
    if (first_path_.empty() && problems_.empty())
      throw UsageError("merge takes the parts of a run, none given");
    note_missing();
    if (!problems_.empty()) throw Failure(joined(problems_, "; "));
  }

  const PartHeader& header() const { return first_; }
  const std::string& first_path() const { return first_path_; }
  std::vector<TrialRecord> take_records() { return std::move(records_); }
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
      records_.resize(header.trials);
    }
    require_same_run(header, name);
    const auto [earlier, is_new] = owners_.emplace(header.shard.index, name);
    if (!is_new)
      throw Failure(name + ": shard " + header.shard.text() + " is also in " + earlier->second);
    if (!is_complete(part, wanted)) throw Failure(name + ": damaged after " + progress);
    part.take(header.shard, records_);
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
    const auto number = [&](const char* key) { return trailer.value(key, 0.0); };
    processors_.insert(trailer.value("cpu", "unknown"));
    threads_ = std::max(threads_, trailer.value("threads", std::uint64_t{1}));
    timing_.wall = std::max(timing_.wall, number("wall_s"));
    timing_.cpu += number("cpu_s");
    timing_.trials += number("trials_s");
  }

  void note_missing() {
    std::vector<std::string> missing;
    for (Shard shard{1, first_.shard.count}; shard.index <= shard.count && !first_path_.empty();
         ++shard.index) {
      if (!owners_.contains(shard.index)) missing.push_back(shard.text());
    }
    if (missing.empty()) return;
    const bool one = missing.size() == 1;
    problems_.push_back((one ? "shard " : "shards ") + joined(missing) + (one ? " has" : " have") +
                        " no part; run " + (one ? "it" : "them") + " with --shard " +
                        missing.front() + " --resume");
  }

  PartHeader first_;
  std::string first_path_;
  std::map<std::uint64_t, std::string> owners_;  // the part of each shard
  std::vector<TrialRecord> records_;
  std::vector<std::string> problems_;
  std::set<std::string> processors_;
  std::uint64_t threads_ = 1;
  Timing timing_;
};

// Records can be interpreted only by the program that wrote them.
void require_this_program(const Parts& parts) {
  const OrderedJson here = environment_json(1, {});
  for (const char* key : {"version", "git", "program"}) {
    const OrderedJson there = parts.header().environment.value(key, OrderedJson());
    if (there == here[key]) continue;
    throw Failure(printable(parts.first_path()) + ": was written by a different program: " + key +
                  " is " + there.dump() + " there, " + here[key].dump() + " here" +
                  "; merge with the program that ran the shards");
  }
}

}  // namespace

int merge_command(const std::vector<std::string>& words) {
  std::string out;
  bool quiet = false, strict = false, force = false;
  const std::vector<Field> fields = {
      text_field(
          "out", out,
          "path of the result; - is standard output (not given: the path of the unsharded run)"),
      switch_field("quiet", quiet, "print only errors on standard error"),
      switch_field("strict", strict, "exit with status 3 if a claim's verdict is `fails`"),
      switch_field("force", force, "replace --out even if it holds another run"),
  };
  const Arguments arguments = parse_utility(words, fields);
  const std::string summary =
      "Combines the parts of a --shard run, named in any order, into one result. Its numbers equal "
      "those of a single run.";
  if (prints_help(arguments, "merge PART... [--out RESULT.json] [flags]", summary, fields))
    return 0;

  const auto start = std::chrono::steady_clock::now();
  Parts parts(arguments.positional);
  require_this_program(parts);
  ResolvedRun run = resolve_part(parts.header(), parts.first_path());
  run.options.out = out.empty() ? default_out(run) : out;
  run.options.quiet = quiet;
  run.options.strict = strict;
  run.options.force = force;
  const bool to_file = run.options.out != "-" && !is_special_file(run.options.out);
  if (to_file) refuse_to_replace(run);
  if (run.options.out != "-") check_writable(run.options.out);

  std::vector<std::string> argv = {"ranklab", "merge"};
  argv.insert(argv.end(), words.begin(), words.end());
  Execution execution =
      execute_finished(run, parts.take_records(), parts.timing(), start, parts.environment(argv));
  return deliver(run, execution, nullptr);
}

}  // namespace ranklab
