// The header of a part: all that a merge needs to know of the run, one JSON value a line, `section name: value`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/resolve.hpp"
#include "run/part.hpp"

namespace ranklab {

/// The header of the shard that `run` is. It says nothing of the node beyond what changes bits, so that a shard may be resumed on
/// another one.
std::string part_header(ResolvedRun& run);

/// A header, read.
struct PartHeader {
  Shard shard;
  std::uint64_t trials = 0;  // of the whole run
  nlohmann::json environment, config, preset;
  std::string command;
  std::string run;  // the header without the shard's number: the same in all parts of a run
};

/// Throws Failure that says "not a part" and why, without the file's name.
PartHeader read_part_header(const PartFile& part);

/// The run of which the header's shard is one.
ResolvedRun resolve_part(const PartHeader& header, const std::string& path);

/// True where the part holds the `wanted` trials of its shard and what they took, and nothing is torn.
bool is_whole(const PartFile& part, std::uint64_t wanted);

/// The last note of a part: {"threads", "cpu", "wall_s", "cpu_s", "trials_s"}; null where the part has none.
nlohmann::json part_trailer(const PartFile& part);

}  // namespace ranklab
