// The header of a part: everything that a merge needs to know about the run. Each line is `section
// name: value` with one JSON value.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/resolve.hpp"
#include "run/part.hpp"

namespace ranklab {

/// The header of the shard `run`. It describes the machine only as far as it can change bits, so
/// that a shard can be resumed on another node.
std::string part_header(ResolvedRun& run);

/// A parsed header.
struct PartHeader {
  Shard shard;
  std::uint64_t trials = 0;  // of the whole run, over all shards
  nlohmann::json environment, config, preset;
  std::string command;
  std::string run;  // the header without the shard's number: the same in all parts of a run
};

/// Throws Failure with "not a part" and the reason. The message does not name the file.
PartHeader read_part_header(const PartFile& part);

/// The run to which the header's shard belongs. Messages call the part `path`.
ResolvedRun resolve_part(const PartHeader& header, const std::string& path);

/// True if the part holds all `wanted` trials of its shard and their times, and no byte is damaged.
bool is_complete(const PartFile& part, std::uint64_t wanted);

/// A note as JSON; null if it is not JSON.
nlohmann::json part_note(const std::string& note);

/// The last note of a part: {"threads", "cpu", "wall_s", "cpu_s", "trials_s"}; null if the part
/// has none.
nlohmann::json part_trailer(const PartFile& part);

}  // namespace ranklab
