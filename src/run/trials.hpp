// Trials: independent repetitions, run in parallel on a pool of threads and stored by index.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/pieces_in_turn.hpp"
#include "core/random.hpp"
#include "core/record.hpp"

namespace ranklab {

/// The number of threads that a run may use in addition to the working ones, and these threads.
/// for_each_piece() takes threads and gives them back. A thread is started once and then waits for
/// work, because a training step takes milliseconds.
class SpareThreads : public std::atomic<std::int64_t> {
 public:
  explicit SpareThreads(std::int64_t count);
  /// Stops the threads. None may be at work.
  ~SpareThreads();

  /// The work that one thread has given to others.
  struct Given {
    std::atomic<std::int64_t> unfinished{0};
    bool place_is_lent = false;  // the thread waits and has lent its place
  };
  /// Takes a spare thread, which calls work(); returns false if no thread is spare. work() must not
  /// throw.
  bool start(std::function<void()> work, Given& given);
  /// Waits until all the work is finished. With `lends`, another thread can use the place of the
  /// waiting one in the meantime; the last thread to finish returns its own place for it, so that
  /// never more threads work than the run has.
  void wait(Given& given, bool lends);

 private:
  class Threads;
  std::unique_ptr<Threads> threads_;
};

/// The progress of one trial, in units that the trial chooses. Any thread of the trial writes it;
/// the progress bar reads it.
struct TrialWork {
  std::atomic<std::uint64_t> done{0}, total{0};  // total 0: unknown
  std::atomic<const char*> unit{nullptr};        // a literal: "step", "layer"
  std::atomic<const char*> quantity{
      nullptr};  // a literal that names `value`: "loss"; null: `value` is not shown
  std::atomic<double> value{0};
};

/// What the body of a trial can use: random streams, threads, interruption and progress.
class Trial : public Streams, public PieceRunner {
 public:
  Trial(std::uint64_t seed, std::uint64_t index, std::shared_ptr<SpareThreads> spare_threads)
      : Streams(seed, index),
        spare_threads_(std::move(spare_threads)),
        work_(std::make_shared<TrialWork>()) {}
  Trial(std::uint64_t seed, std::uint64_t index, std::int64_t spare_threads)
      : Trial(seed, index, std::make_shared<SpareThreads>(spare_threads)) {}

  std::uint64_t index() const { return trial_; }
  /// Another trial of the same run.
  Trial at(std::uint64_t index) const { return {seed_, index, spare_threads_}; }
  /// Trial 0 of the same run, for random draws that all trials share.
  Trial first() const { return at(0); }
  /// Throws Interrupted if a signal has requested the run to stop. Call it every few milliseconds
  /// of work, because it also lets threads that have become free join the remaining pieces.
  void check_interrupt() const;
  /// Tells the progress bar that the trial will call advance() `units` times in total, over all its
  /// pieces. `unit` is a literal such as "step".
  void expect(std::uint64_t units, const char* unit) const;
  /// Tells the progress bar that one unit is done, and calls check_interrupt().
  void advance() const;
  /// Shows a value such as "loss 4.21" after the units in the progress bar. If pieces run in
  /// parallel, the last call counts.
  void show(const char* quantity, double value) const;
  const std::shared_ptr<TrialWork>& work() const { return work_; }
  /// Calls piece(0) ... piece(n - 1), on spare threads if the run has fewer trials left than
  /// threads. The pieces must be independent of each other, so that the result does not depend on
  /// the number of threads. Calls may be nested.
  void for_each_piece(std::size_t n, const std::function<void(std::size_t)>& piece) const;
  /// Calls piece(i) for each of the costs, the most expensive piece first, so that no thread ends
  /// with a long piece. `costs` holds the cost of each piece in any unit.
  void for_each_piece(const std::vector<double>& costs,
                      const std::function<void(std::size_t)>& piece) const;
  /// The same with piece(i, worker), where worker is below the number of pieces. Calls with the
  /// same worker do not overlap, so that each worker can have its own buffers.
  void for_each_piece(const std::vector<double>& costs,
                      const std::function<void(std::size_t, std::size_t)>& piece) const;

  // For short pieces, as those of a training step. Unlike in for_each_piece(), a thread that waits
  // for the last pieces does not lend its place: it needs it back at once.
  void run(const std::vector<double>& costs,
           const std::function<void(std::size_t)>& piece) const override;
  void run_in_turn(std::size_t n,
                   const std::function<void(std::size_t piece, std::size_t worker, Turns&)>& piece)
      const override;

 protected:
  enum class WhileWaiting { lends, keeps };
  /// Calls piece(i, worker) for i < n, where the calling thread is worker 0 and each helper has a
  /// number below n.
  virtual void run_pieces(std::size_t n, WhileWaiting while_waiting,
                          const std::function<void(std::size_t, std::size_t)>& piece) const;

 private:
  std::shared_ptr<SpareThreads> spare_threads_;
  std::shared_ptr<TrialWork> work_;
};

/// What the trials of a study compute: one trial, or a batch of trials that share expensive input,
/// such as weights that are read from a file layer by layer.
struct Work {
  std::function<TrialRecord(Trial&)> trial;
  std::function<Records(std::vector<Trial>&)> batch;  // of up to `batch_size` trials, in order
  std::uint64_t batch_size = 1;
};

/// Trials that run at the same time, on as many threads as the run has.
inline Work each_trial(std::function<TrialRecord(Trial&)> trial) {
  return {std::move(trial), nullptr, 1};
}

/// One batch runs at a time, so that its pieces use all threads; with `size` 1, batches run at the
/// same time as in each_trial(). A record must not depend on the other trials in the batch.
inline Work in_batches(std::uint64_t size, std::function<Records(std::vector<Trial>&)> batch) {
  return {nullptr, std::move(batch), size};
}

}  // namespace ranklab
