// `ranklab status PART...`: shows the progress of the shards of a run from their parts and
// journals.

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/part_header.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/json_file.hpp"
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
  const nlohmann::json session = part_note(part.session_note());
  const double seconds = out.last_write - value_or(session, "started", out.last_write);
  const double done = static_cast<double>(out.trials) - value_or(session, "trials", 0.0);
  if (seconds > 0 && done > 0) out.rate = done / seconds;
  return out;
}

// Numbers from `first` to `last`.
struct Range {
  std::uint64_t first, last;
};

// The ranges of sorted numbers.
std::vector<Range> ranges_of(const std::vector<std::uint64_t>& numbers) {
  std::vector<Range> out;
  for (const std::uint64_t number : numbers) {
    if (!out.empty() && out.back().last + 1 == number) {
      out.back().last = number;
    } else {
      out.push_back({number, number});
    }
  }
  return out;
}

// The ranges of 1 to `count` between `known` ranges. `count` comes from a file and may be large.
std::vector<Range> gaps(const std::vector<Range>& known, std::uint64_t count) {
  std::vector<Range> out;
  std::uint64_t next = 1;
  for (const Range& range : known) {
    if (next < range.first) out.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= count) out.push_back({next, count});
  return out;
}

std::uint64_t size_of(const std::vector<Range>& ranges) {
  std::uint64_t sum = 0;
  for (const Range& range : ranges) sum += range.last - range.first + 1;
  return sum;
}

// "1-4,6,9-12", as `sbatch --array` takes it.
std::string text_of(const std::vector<Range>& ranges) {
  std::vector<std::string> out;
  for (const auto& [first, last] : ranges) {
    out.push_back(std::to_string(first) + (last > first ? "-" + std::to_string(last) : ""));
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
      if (path.ends_with(".journal") && part.is_new()) return;
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
    std::vector<std::uint64_t> started;
    for (const auto& [number, shard] : shards_) {
      by_kind[shard.kind].push_back(number);
      started.push_back(number);
    }
    const std::vector<Range> missing = gaps(ranges_of(started), first_.shard.count);
    std::printf("%s %s: %s in %s\n", printable(first_.command).c_str(),
                printable(value_or(first_.config, "study", std::string())).c_str(),
                counted(first_.trials, "trial").c_str(),
                counted(first_.shard.count, "shard").c_str());
    const auto line = [](const char* name, const std::vector<Range>& ranges) {
      if (!ranges.empty())
        std::printf("  %-8s %5llu  %s\n", name, static_cast<unsigned long long>(size_of(ranges)),
                    text_of(ranges).c_str());
    };
    line("complete", ranges_of(by_kind[Kind::complete]));
    line("running", ranges_of(by_kind[Kind::running]));
    line("damaged", ranges_of(by_kind[Kind::damaged]));
    line("missing", missing);
    print_running(by_kind[Kind::running], missing.empty());
  }

 private:
  void print_running(const std::vector<std::uint64_t>& running, bool all_started) const {
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
                  all_started ? "" : ", without the missing shards");
    }
  }

  PartHeader first_;
  std::string first_path_;
  std::map<std::uint64_t, ShardState> shards_;
};

}  // namespace

Utility status_command() {
  return {.name = "status",
          .usage = "PART...",
          .summary = "show the progress of the shards of a run",
          .details =
              "`ranklab status PREFIX.*-of-N.part*` includes the parts and the journals next "
              "to them.",
          .takes = {1, any_number, "the parts and journals of a run"},
          .run = [](const Arguments& given) {
            Overview overview;
            for (const std::string& path : given.positional) overview.read(path);
            overview.print();
            return 0;
          }};
}

}  // namespace ranklab
