// The journal next to a result file: the finished trials of a run that has not ended, from which
// --resume continues exactly. journal_format.hpp defines its bytes. A torn last record is cut off,
// a damaged one is skipped; the trials of both run again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "core/record.hpp"
#include "io/descriptor.hpp"
#include "run/journal_format.hpp"

namespace ranklab {

class Journal {
 public:
  /// The journal of the result file `out`.
  static std::string path_for(const std::string& out) { return out + ".journal"; }

  /// The identity of the run that left a journal next to `out`; empty if there is no journal.
  /// Throws Failure if the file is not a journal or its header is damaged.
  static std::string owner(const std::string& out);

  /// Opens or creates the journal and locks it for this process if the file system has locks.
  /// `identity` identifies the run, with one `key: value` per line. With `resume`, the finished
  /// trials of a journal with the same identity are read; otherwise an old journal is discarded.
  /// Throws UsageError when resuming a different run (the journal is not changed; the message names
  /// the first difference), Failure if another process has locked the journal, if it cannot be read
  /// or written, if the file is not a journal, and when resuming if its header is damaged. A file
  /// that is refused is not changed.
  Journal(const std::string& out, const std::string& identity, bool resume);

  /// Removes the file if it holds no finished trial.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::string& path() const { return path_; }
  /// The trials that were finished when the journal was opened.
  const std::map<std::uint64_t, TrialRecord>& finished() const { return finished_; }
  /// True if an old journal with finished trials was discarded.
  bool discarded() const { return discarded_; }
  /// True if damaged records were skipped.
  bool skipped_damage() const { return skipped_damage_; }

  /// Adds a finished trial or a note. The write starts within a second, or when the journal is
  /// closed or destroyed. Throws Failure if an earlier write failed.
  void append(std::uint64_t trial, const TrialRecord& record);
  void note(std::string_view text);
  /// Writes all pending records; none may be added afterwards. Throws Failure if a write failed.
  void close();
  /// Removes the file: the run is complete.
  void remove();
  /// Adds a last note and renames the file, which then holds every trial of the run. Throws Failure
  /// if a write or the renaming fails.
  void finish_as(const std::string& path, std::string_view last_note);

 private:
  void lock(const std::string& out);
  void start_over(const std::string& identity);
  void resume_from(const RecordsRead& read, const std::string& out, const std::string& identity);
  void add(const std::string& bytes);
  // Thread function: writes pending records at most once a second, so that trials do not wait for
  // the disk.
  void write_pending(const std::stop_token& stop);
  // Returns the errno of write(2), or 0.
  int write(std::string_view bytes);
  void stop_writing();
  [[noreturn]] void fail_to_write(int error) const;

  std::string path_;
  Descriptor descriptor_;
  std::map<std::uint64_t, TrialRecord> finished_;
  bool discarded_ = false, skipped_damage_ = false, has_trials_ = false;
  std::mutex mutex_;  // guards pending_ and error_
  std::condition_variable_any pending_changed_;
  std::string pending_;
  int error_ = 0;  // errno of a write that failed
  std::jthread writer_;
};

}  // namespace ranklab
