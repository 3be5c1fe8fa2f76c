// The journal of a run: its finished trials, from which --resume continues exactly and `ranklab
// merge` builds the result of several shards. The journal of an ordinary run disappears when its
// result is written. The file of a shard is its journal. journal_format.hpp defines the bytes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "core/record.hpp"
#include "io/atomic_file.hpp"
#include "io/descriptor.hpp"
#include "run/journal_format.hpp"

namespace ranklab {

class Journal {
 public:
  /// The journal of the result file `out`: the same one by all links to it.
  static std::string path_for(const std::string& out) { return end_of_links(out) + ".journal"; }

  /// What happens to the finished trials of an earlier run in the file: those of the same run are
  /// read (`resumed`) or discarded, those of a different run are refused unless they are
  /// `discarded` in any case.
  enum class Earlier { resumed, same_discarded, discarded };

  /// Opens or creates the journal and locks it for this process if the file system has locks.
  /// `identity` is its header. When resuming, what follows the finished trials is cut off. Throws
  /// UsageError for trials of a different run that are refused (the message names the first
  /// difference), Failure if another process has locked the journal, if it cannot be read or
  /// written, if the file is not a journal, and if its header is damaged and it is not discarded. A
  /// file that is refused is not changed.
  Journal(std::string path, const std::string& identity, Earlier earlier);

  /// Removes the file if it holds no finished trial.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::string& path() const { return path_; }
  /// The trials that were finished when the journal was opened.
  const std::map<std::uint64_t, TrialRecord>& finished() const { return finished_; }
  /// True if an old journal with finished trials was discarded, and if they were of the same run.
  bool discarded() const { return discarded_; }
  bool discarded_same() const { return discarded_same_; }
  /// What was cut off, see JournalContent::loss(); empty: nothing.
  const std::string& loss() const { return loss_; }

  /// Adds a finished trial, as encode_trial() returns it, or a note: a kill of the program does not
  /// lose it. Then flushes the file to the disk if that was last done more than a second ago.
  /// Throws Failure if a write fails.
  void append(std::string_view encoded_trial);
  void note(std::string_view text);
  void flush();
  /// Removes the file: the run is complete.
  void remove();

 private:
  void lock() const;
  void refuse_other_run(const JournalContent& there, const std::string& identity,
                        Earlier earlier) const;
  void write(std::string_view bytes);
  [[noreturn]] void fail_to_write(int error) const;

  std::string path_;
  Descriptor descriptor_;
  std::map<std::uint64_t, TrialRecord> finished_;
  std::string loss_;
  bool discarded_ = false, discarded_same_ = false, has_trials_ = false;
  off_t end_ = 0;  // of the last complete record
  std::chrono::steady_clock::time_point flushed_ = std::chrono::steady_clock::now();
};

/// The content of a journal or of a part. Throws Failure if the file is neither or cannot be read.
JournalContent read_journal(const std::string& path);

}  // namespace ranklab
