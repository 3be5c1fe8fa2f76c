// Trials: independent repetitions, run at once on a pool of threads, stored by index.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/random.hpp"
#include "core/record.hpp"

namespace ranklab {

/// Threads that a run may start beyond those that work already: taken and given back by whoever has parts to do.
using SpareThreads = std::atomic<std::int64_t>;

/// How far one trial is, in units of its own. Written by the trial from any of its threads, read by the progress bar.
struct TrialWork {
  std::atomic<std::uint64_t> done{0}, total{0};  // total 0: the trial has not said
  std::atomic<const char*> unit{nullptr};        // a literal: "step", "layer"
  std::atomic<const char*> quantity{nullptr};    // a literal, "loss", of `value`; null: nothing is shown
  std::atomic<double> value{0};
};

/// What the body of a trial may ask for.
class Trial {
 public:
  Trial(std::uint64_t seed, std::uint64_t index, std::shared_ptr<SpareThreads> spare_threads)
      : seed_(seed), index_(index), spare_threads_(std::move(spare_threads)), work_(std::make_shared<TrialWork>()) {}
  Trial(std::uint64_t seed, std::uint64_t index, std::int64_t spare_threads)
      : Trial(seed, index, std::make_shared<SpareThreads>(spare_threads)) {}

  std::uint64_t index() const { return index_; }
  /// The stream of the matrix `name` in this trial.
  Stream stream(std::string_view name) const { return Stream(seed_, index_, name); }
  /// Another trial of the same run.
  Trial at(std::uint64_t index) const { return {seed_, index, spare_threads_}; }
  /// Trial 0 of the same run, for what all trials share.
  Trial first() const { return at(0); }
  /// Throws Interrupted when a signal has asked the run to stop. To be called every few milliseconds of work: threads that have
  /// become free meanwhile join in the parts that are left.
  void check_interrupt() const;
  /// The trial will call advance() `units` times, in all its parts together; `unit` is a literal, "step". For the progress bar.
  void expect(std::uint64_t units, const char* unit) const;
  /// One unit is done: tells the progress bar, and throws Interrupted as check_interrupt() does.
  void advance() const;
  /// What the trial has come to, as in "loss 4.21", beside its units in the progress bar; of parts at once, whoever spoke last.
  void show(const char* quantity, double value) const;
  const std::shared_ptr<TrialWork>& work() const { return work_; }
  /// Calls part(0) ... part(n - 1), on spare threads where the run has fewer trials left than threads. The parts must be
  /// independent of each other, so that the result does not depend on the number of threads; a part may have parts.
  void for_each_part(std::size_t n, const std::function<void(std::size_t)>& part) const;
  /// The same, the costliest first, so that no thread is left with a long one at the end: costs in any unit, one for each part.
  void for_each_part(const std::vector<double>& costs, const std::function<void(std::size_t)>& part) const;

 private:
  std::uint64_t seed_, index_;
  std::shared_ptr<SpareThreads> spare_threads_;
  std::shared_ptr<TrialWork> work_;
};

/// How a study gets its trials done; the command line provides it.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual std::uint64_t trials() const = 0;
  virtual bool single_precision() const = 0;
  /// Runs the body for each trial and returns the finished records by index; fewer than trials() after an interruption.
  virtual std::vector<TrialRecord> run(const std::function<TrialRecord(Trial&)>& body) = 0;
  /// The same for trials that share what is costly to have, such as weights that are read from a file layer by layer: the body
  /// gets up to `size` trials and returns their records in order. One batch at a time, so that its parts use all threads, but
  /// batches of one trial as run() would. A record must not depend on which other trials are in the batch.
  virtual std::vector<TrialRecord> run_batches(std::uint64_t size,
                                               const std::function<std::vector<TrialRecord>(std::vector<Trial>&)>& body) = 0;
};

}  // namespace ranklab
