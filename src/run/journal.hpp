// The journal beside a result file: the finished trials of a run that has not ended, so that --resume is exact. Its bytes are
// those of journal_format.hpp; a torn last record is cut off.
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

  /// The identity of the run that left a journal beside `out`; empty where there is none.
  static std::string owner(const std::string& out);

  /// Opens (or creates) the journal and locks it for this process, where the file system has locks. `identity` says which run
  /// it belongs to, one `key: value` a line. With `resume` the finished trials of a journal of the same identity are read back;
  /// otherwise an old journal is discarded. Throws UsageError when resuming another run (the journal is left alone; the message
  /// names the first difference), Failure when another process holds the journal or it cannot be read or written.
  Journal(const std::string& out, const std::string& identity, bool resume);

  /// A journal without a finished trial holds nothing that could be resumed: it goes.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// The trials that were finished when the journal was opened.
  const std::map<std::uint64_t, TrialRecord>& finished() const { return finished_; }
  /// True where an old journal with finished trials was discarded.
  bool discarded() const { return discarded_; }

  /// Adds a finished trial, or a note. It is on the disk at most a second later, or when the journal is closed or destroyed. Throws
  /// Failure where what came before could not be written.
  void append(std::uint64_t trial, const TrialRecord& record);
  void note(std::string_view text);
  /// Writes what waits; nothing more is added. Throws Failure where that cannot be done.
  void close();
  /// Removes the file: the run is complete.
  void remove();
  /// Adds a last note and renames the file, which then holds every trial of the run. Throws Failure where that cannot be done.
  void finish_as(const std::string& path, std::string_view last_note);

 private:
  void lock(const std::string& out);
  void start_afresh(const std::string& identity);
  void add(const std::string& bytes);
  // Writes what waits, at most once a second; the trials do not wait for the disk.
  void write_in_turn(const std::stop_token& stop);
  // What write(2) complains of, or 0.
  int write(std::string_view bytes);
  void stop_writing();
  [[noreturn]] void fail_to_write(int error) const;

  std::string path_;
  Descriptor descriptor_;
  std::map<std::uint64_t, TrialRecord> finished_;
  bool discarded_ = false, holds_trials_ = false;
  std::mutex mutex_;  // guards what waits and the error
  std::condition_variable_any waiting_;
  std::string waits_;
  int error_ = 0;  // errno of a write that failed
  std::jthread writer_;
};

}  // namespace ranklab
