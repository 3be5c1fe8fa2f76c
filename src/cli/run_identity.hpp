// What identifies a run: the header of its journal or part. Each line is `section name: value` with
// one JSON value. It is also everything that a merge needs to know about the run.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "cli/resolve.hpp"
#include "run/journal_format.hpp"
#include "run/shard.hpp"

namespace ranklab {

/// The identity of a run and its shard. It describes the machine only as far as it can change bits,
/// so that a run can be resumed on another node, and the input files by their checksums.
std::string run_identity(ResolvedRun& run);

/// The program of an identity, as a line of its text.
std::string program_line(const std::string& identity);

/// The identity under which a run takes the finished trials of a journal: that of the journal if it
/// differs only in the build and in the words and the report of the preset, else the run's own.
std::string identity_of_trials(const std::string& journal, const std::string& identity);
/// The build of an identity, its "git" and "program".
nlohmann::ordered_json build_of(const std::string& identity);

/// A parsed identity.
struct RunHeader {
  std::string path;  // of the file
  Shard shard;
  std::uint64_t trials = 0;  // of the whole run, over all shards
  nlohmann::json environment, config, preset, inputs;
  std::string command;
  std::string run;  // the text without the shard's number: the same in all parts of a run

  std::uint64_t wanted() const { return shard.trials_of(trials); }
};

struct PartFile {
  RunHeader header;
  JournalContent content;

  bool is_complete() const { return content.trials.size() == header.wanted(); }
  /// "3 of 6 trials".
  std::string progress() const;
};

/// Throws Failure that names the file if it is not a part, has a trial of another shard or cannot
/// be read.
PartFile read_part(const std::string& path);

/// Throws Failure that starts with `file` if a file that the run reads does not have the checksum
/// that it had then, in a JSON object by path.
void require_same_inputs(ResolvedRun& run, const nlohmann::json& then, const std::string& file);

/// Throws Failure that names the first difference if the headers are not of the same run.
void require_same_run(const RunHeader& first, const RunHeader& other);

/// "no part of shards 1/4, 3/4; ..." for the shards that are not in `present`; empty: none.
std::string missing_shards(const std::set<std::uint64_t>& present, std::uint64_t count);

/// The run to which a part with this header belongs.
ResolvedRun resolve_header(const RunHeader& header);

}  // namespace ranklab
