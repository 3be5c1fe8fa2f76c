// The pool: runs the trials of a study over threads, keeps the journal and the progress bar, stops at a signal.
#pragma once

#include <cstdint>

#include "run/journal.hpp"
#include "run/part.hpp"
#include "run/progress.hpp"
#include "run/trials.hpp"

namespace ranklab {

class Pool : public Runner {
 public:
  struct Settings {
    std::uint64_t seed = 1;
    std::uint64_t trials = 1;
    std::uint64_t threads = 1;  // trials run at once
    bool single_precision = false;
    Progress::Look progress = {};
    Shard shard = {};  // only its trials are run
  };

  /// `journal` may be null: nothing is saved on the way.
  Pool(const Settings& settings, Journal* journal) : settings_(settings), journal_(journal) {}

  std::uint64_t trials() const override { return settings_.trials; }
  bool single_precision() const override { return settings_.single_precision; }

  /// Each trial's record depends on the seed and the trial's index alone. An error in a trial ends the pool and is thrown
  /// again, that of the lowest trial first; after a signal the finished trials are returned.
  std::vector<TrialRecord> run(const std::function<TrialRecord(Trial&)>& body) override;
  std::vector<TrialRecord> run_batches(std::uint64_t size,
                                       const std::function<std::vector<TrialRecord>(std::vector<Trial>&)>& body) override;

  /// Trials that were returned.
  std::uint64_t completed() const { return completed_; }
  /// Seconds spent inside trials of this process, summed over threads.
  double trial_seconds() const { return trial_seconds_; }

 private:
  using BatchBody = std::function<std::vector<TrialRecord>(std::vector<Trial>&)>;
  // Batches of `size` trials, `at_once` of them at a time.
  std::vector<TrialRecord> run_in_batches(std::uint64_t size, std::uint64_t at_once, const BatchBody& body);

  Settings settings_;
  Journal* journal_;
  std::uint64_t completed_ = 0;
  double trial_seconds_ = 0.0;
};

}  // namespace ranklab
