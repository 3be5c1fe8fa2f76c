// `ranklab status PART...`: shows how many trials each part of a run has.

#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>

#include "cli/commands.hpp"
#include "cli/run_identity.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/json_file.hpp"

namespace ranklab {
namespace {

void print_status(const std::vector<std::string>& paths) {
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

}  // namespace

Utility status_command() {
  return {.name = "status",
          .usage = "PART...",
          .summary = "show how many of their trials the parts of a --shard run have",
          .details = "Also works while the shards run.",
          .takes = {1, any_number, "the parts of a run"},
          .run = [](const Arguments& given) {
            print_status(given.positional);
            return 0;
          }};
}

}  // namespace ranklab
