#include "run/pool.hpp"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "core/error.hpp"
#include "run/progress.hpp"

namespace ranklab {
namespace {

// Seconds above which a trial is long enough for what release_free_memory costs, about a millisecond.
constexpr double long_trial = 0.05;

// The records that stay lie among the matrices that a trial has freed, so that the next trial's do not always fit in between:
// without this the memory grows with the number of trials.
void release_free_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace

std::vector<TrialRecord> Pool::run(const std::function<TrialRecord(Trial&)>& body) {
  std::vector<std::optional<TrialRecord>> records(settings_.trials);
  if (journal_ != nullptr) {
    for (const auto& [index, record] : journal_->finished()) {
      if (index < records.size()) records[index] = record;
    }
  }
  std::vector<std::uint64_t> open;
  for (std::uint64_t i = 0; i < records.size(); ++i) {
    if (!records[i]) open.push_back(i);
  }

  const std::uint64_t threads = std::max<std::uint64_t>(1, std::min<std::uint64_t>(settings_.threads, open.size()));
  const auto spare_threads =
      std::make_shared<SpareThreads>(static_cast<std::int64_t>(settings_.threads - std::min(settings_.threads, threads)));
  Progress progress(settings_.show_progress, records.size(), records.size() - open.size());
  std::atomic<std::size_t> next{0};
  std::mutex lock;  // guards the records, the journal, the progress bar, the clock and the error
  std::exception_ptr error;
  std::uint64_t error_trial = 0;

  const auto work = [&] {
    for (std::size_t i; (i = next++) < open.size();) {
      const std::uint64_t index = open[i];
      try {
        Trial trial(settings_.seed, index, spare_threads);
        trial.check_interrupt();
        const auto start = std::chrono::steady_clock::now();
        TrialRecord record = body(trial);
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        if (seconds.count() > long_trial) release_free_memory();
        const std::lock_guard guard(lock);
        if (journal_ != nullptr) journal_->append(index, record);
        records[index] = std::move(record);
        trial_seconds_ += seconds.count();
        progress.advance();
      } catch (const Interrupted&) {
        break;
      } catch (...) {
        const std::lock_guard guard(lock);
        if (!error || index < error_trial) {
          error = std::current_exception();
          error_trial = index;
        }
        next = open.size();
      }
    }
    ++*spare_threads;  // for the parts of the trials that still run
  };
  {
    std::vector<std::jthread> helpers;
    for (std::uint64_t i = 1; i < threads; ++i) helpers.emplace_back(work);
    work();
  }
  if (error) std::rethrow_exception(error);

  std::vector<TrialRecord> finished;
  for (auto& record : records) {
    if (record) finished.push_back(std::move(*record));
  }
  completed_ = finished.size();
  return finished;
}

}  // namespace ranklab
