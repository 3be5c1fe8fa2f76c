// `ranklab status PART...`: shows the progress of the shards of a run from their parts and
// journals.

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/part_header.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "run/progress.hpp"

namespace ranklab {
namespace {

struct ShardState {
  enum class Kind { complete, running, damaged } kind = Kind::running;
  std::uint64_t trials = 0, wanted = 0;
  double last_write = 0;  // modification time, in seconds since 1970
  double rate = 0;        // trials per second in this session; 0: unknown
};

double modified_at(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 ? static_cast<double>(file.st_mtime) : 0;
}

ShardState state_of(const PartFile& part, const PartHeader& header) {
  using Kind = ShardState::Kind;
  ShardState out;
  out.trials = part.trials();
  out.wanted = header.shard.trials_of(header.trials);
  out.last_write = modified_at(part.path());
  // The last record of a journal may still be incomplete.
  out.kind = is_complete(part, out.wanted)       ? Kind::complete
             : part.path().ends_with(".journal") ? Kind::running
                                                 : Kind::damaged;
  const nlohmann::json session = nlohmann::json::parse(part.session_note(), nullptr, false);
  if (session.is_object()) {
    const double seconds = out.last_write - session.value("started", out.last_write);
    const double done = static_cast<double>(out.trials) - session.value("trials", 0.0);
    if (seconds > 0 && done > 0) out.rate = done / seconds;
  }
  return out;
}

// "1-4,6,9-12", as `sbatch --array` takes it.
std::string ranges(const std::vector<std::uint64_t>& numbers) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    out.push_back(std::to_string(numbers[i]) + (end > i ? "-" + std::to_string(numbers[end]) : ""));
    i = end + 1;
  }
  return joined(out, ",");
}

class Overview {
 public:
  void read(const std::string& path) {
    const PartFile part(path);
    PartHeader header;
    try {
      header = read_part_header(part);
    } catch (const Failure& error) {
      // A new journal may not have its header yet.
      if (path.ends_with(".journal") && part.header().empty()) return;
      throw Failure(printable(path) + ": " + error.what());
    }
    if (first_path_.empty()) {
      first_ = header;
      first_path_ = path;
    }
    if (header.shard.count != first_.shard.count || header.command != first_.command ||
        header.config != first_.config)
      throw Failure(printable(path) + ": belongs to a different run than " +
                    printable(first_path_));
    const ShardState state = state_of(part, header);
    ShardState& known = shards_[header.shard.index];
    // A complete part takes precedence over a leftover journal of the same shard.
    if (known.wanted == 0 || state.kind == ShardState::Kind::complete) known = state;
  }

  void print() const {
    if (first_path_.empty()) throw Failure("no shard has started");
    using Kind = ShardState::Kind;
    std::map<Kind, std::vector<std::uint64_t>> by_kind;
    std::vector<std::uint64_t> missing;
    for (std::uint64_t i = 1; i <= first_.shard.count; ++i) {
      const auto found = shards_.find(i);
      (found == shards_.end() ? missing : by_kind[found->second.kind]).push_back(i);
    }
    std::printf("%s %s: %s in %s\n", first_.command.c_str(),
                first_.config.value("study", "").c_str(), counted(first_.trials, "trial").c_str(),
                counted(first_.shard.count, "shard").c_str());
    const auto line = [](const char* name, const std::vector<std::uint64_t>& numbers) {
      if (!numbers.empty())
        std::printf("  %-8s %5zu  %s\n", name, numbers.size(), ranges(numbers).c_str());
    };
    line("complete", by_kind[Kind::complete]);
    line("running", by_kind[Kind::running]);
    line("damaged", by_kind[Kind::damaged]);
    line("missing", missing);
    print_running(by_kind[Kind::running], missing.size());
  }

 private:
  void print_running(const std::vector<std::uint64_t>& running, std::size_t missing) const {
    const auto now = static_cast<double>(std::time(nullptr));
    double last_end = now;
    bool all_known = true;
    std::vector<std::vector<std::string>> rows = {
        {"shard", "trials", "last write", "expected end"}};
    for (const std::uint64_t i : running) {
      const ShardState& shard = shards_.at(i);
      const double left = static_cast<double>(shard.wanted - std::min(shard.wanted, shard.trials));
      const double end = shard.rate > 0 ? shard.last_write + left / shard.rate : 0;
      all_known = all_known && shard.rate > 0;
      last_end = std::max(last_end, end);
      rows.push_back(
          {std::to_string(i), std::to_string(shard.trials) + " of " + std::to_string(shard.wanted),
           duration_text(std::max(0.0, now - shard.last_write)) + " ago",
           shard.rate > 0 ? "in " + duration_text(std::max(0.0, end - now)) : "unknown"});
    }
    if (running.empty()) return;
    for (const std::string& row : in_columns(rows)) std::printf("  %s\n", row.c_str());
    if (all_known) {
      std::printf("expected end: in %s%s\n", duration_text(last_end - now).c_str(),
                  missing > 0 ? ", without the missing shards" : "");
    }
  }

  PartHeader first_;
  std::string first_path_;
  std::map<std::uint64_t, ShardState> shards_;
};

}  // namespace

int status_command(const std::vector<std::string>& words) {
  const Arguments arguments = parse_utility(words, {});
  const std::string summary =
      "Shows the progress of the shards of a run: `ranklab status PREFIX.*-of-N.part*` includes "
      "the parts and the journals next to them.";
  if (prints_help(arguments, "status PART...", summary, {})) return 0;
  if (arguments.positional.empty())
    throw UsageError("status takes the parts and journals of a run, none given");
  Overview overview;
  for (const std::string& path : arguments.positional) overview.read(path);
  overview.print();
  return 0;
}

}  // namespace ranklab
