// The journal beside a result file: the finished trials of a run that has not ended, so that --resume is exact.
//
// Layout: a header record (the identity of the run as text), then a record per finished trial, in the order in which they
// ended. A record is its length, its checksum and its bytes; one that is torn ends the reading and is cut off.
// Deliberately without an interchange format: the file belongs to one binary on one machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/record.hpp"
#include "io/descriptor.hpp"

namespace ranklab {

class Journal {
 public:
  /// The journal of the result file `out`.
  static std::string path_for(const std::string& out) { return out + ".journal"; }

  /// The identity of the run that left a journal beside `out`; empty where there is none.
  static std::string owner(const std::string& out);

  /// Opens (or creates) the journal and locks it for this process. `identity` says which run it belongs to, one
  /// `key: value` a line. With `resume` the finished trials of a journal of the same identity are read back; otherwise an
  /// old journal is discarded. Throws UsageError when resuming another run (the journal is left alone; the message names the
  /// first difference), Failure when another process holds the journal or it cannot be read or written.
  Journal(const std::string& out, const std::string& identity, bool resume);

  /// The trials that were finished when the journal was opened.
  const std::map<std::uint64_t, TrialRecord>& finished() const { return finished_; }
  /// Whether it holds no trial.
  bool empty() const { return empty_ && finished_.empty(); }
  /// True where an old journal with finished trials was discarded.
  bool discarded() const { return discarded_; }

  /// Adds a finished trial. Not thread-safe. Throws Failure where it cannot be written.
  void append(std::uint64_t trial, const TrialRecord& record);
  /// Removes the file: the run is complete.
  void remove();

 private:
  void start_afresh(const std::string& identity);
  [[noreturn]] void fail_to_write() const;

  std::string path_;
  Descriptor descriptor_;
  std::map<std::uint64_t, TrialRecord> finished_;
  bool discarded_ = false, empty_ = true;
};

/// The bytes of a trial's record, and back. decode_trial throws Failure for bytes that encode_trial did not write.
std::string encode_trial(std::uint64_t trial, const TrialRecord& record);
std::pair<std::uint64_t, TrialRecord> decode_trial(std::string_view bytes);

}  // namespace ranklab
