// The pool: runs the trials of a study on several threads, updates the journal and the progress
// bar, and stops at a signal.
#pragma once

#include <cstdint>

#include "run/journal.hpp"
#include "run/progress.hpp"
#include "run/shard.hpp"
#include "run/trials.hpp"

namespace ranklab {

class Pool {
 public:
  struct Settings {
    std::uint64_t seed = 1;
    std::uint64_t trials = 1;
    std::uint64_t threads = 1;  // for trials, and for pieces of trials
    Progress::Look progress = {};
    Shard shard = {};  // run only the trials of this shard
  };

  /// `journal` may be null: then finished trials are not saved.
  Pool(const Settings& settings, Journal* journal) : settings_(settings), journal_(journal) {}

  /// Returns the records by index. Each trial's record depends only on the seed and the trial's
  /// index. An error in a trial stops the pool and is rethrown; if several trials fail, that of the
  /// lowest index is. After a signal, the finished trials are returned.
  Records run(const Work& work);

  /// The number of trials that were returned.
  std::uint64_t completed() const { return completed_; }
  /// Seconds spent inside trials of this process, summed over threads.
  double trial_seconds() const { return trial_seconds_; }

 private:
  Settings settings_;
  Journal* journal_;
  std::uint64_t completed_ = 0;
  double trial_seconds_ = 0.0;
};

}  // namespace ranklab
