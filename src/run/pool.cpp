#include "run/pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "core/error.hpp"
#include "run/journal_format.hpp"

namespace ranklab {

Records Pool::run(const Work& work) {
  // Encoded, and empty if the trial is not finished. A record consists of many small pieces of
  // memory, which would lie between the matrices of trials that run at the same time. Then freed
  // matrices leave gaps that the next ones do not fit into, and memory grows with each trial.
  std::vector<std::string> records(settings_.trials);
  if (journal_ != nullptr) {
    for (const auto& [index, record] : journal_->finished()) {
      if (index < records.size()) records[index] = encode_trial(index, record);
    }
  }
  std::vector<std::vector<std::uint64_t>> open;  // batches of trials that are not finished
  const std::uint64_t wanted = settings_.shard.trials_of(records.size());
  std::uint64_t done = wanted;
  for (std::uint64_t i = 0; i < records.size(); ++i) {
    if (!records[i].empty() || !settings_.shard.holds(i)) continue;
    if (open.empty() || open.back().size() == work.batch_size) open.emplace_back();
    open.back().push_back(i);
    --done;
  }

  const std::uint64_t at_once = work.batch_size == 1 ? settings_.threads : 1;
  const std::uint64_t threads =
      std::max<std::uint64_t>(1, std::min<std::uint64_t>(at_once, open.size()));
  const auto spare_threads = std::make_shared<SpareThreads>(
      static_cast<std::int64_t>(settings_.threads - std::min(settings_.threads, threads)));
  Progress progress(settings_.progress, wanted, done);
  std::atomic<std::size_t> next{0};
  std::mutex lock;  // guards records, *journal_, progress, trial_seconds_, error and error_trial
  std::exception_ptr error;
  std::uint64_t error_trial = 0;

  const auto run_open = [&] {
    for (std::size_t i; (i = next++) < open.size();) {
      const std::vector<std::uint64_t>& batch = open[i];
      try {
        std::vector<Trial> trials;
        for (const std::uint64_t index : batch)
          trials.emplace_back(settings_.seed, index, spare_threads);
        trials.front().check_interrupt();
        for (const Trial& trial : trials) progress.begin(trial.work());
        const auto start = std::chrono::steady_clock::now();
        Records finished = work.trial ? Records{work.trial(trials.front())} : work.batch(trials);
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        const std::lock_guard guard(lock);
        for (std::size_t t = 0; t < batch.size(); ++t) {
          std::string& record = records[batch[t]];
          record = encode_trial(batch[t], finished.at(t));
          if (journal_ != nullptr) journal_->append(record);
          progress.end(trials[t].work());
        }
        trial_seconds_ += seconds.count();
      } catch (const Interrupted&) {
        break;
      } catch (...) {
        const std::lock_guard guard(lock);
        if (!error || batch.front() < error_trial) {
          error = std::current_exception();
          error_trial = batch.front();
        }
        next = open.size();
      }
    }
    ++*spare_threads;  // this thread may now run pieces of other trials
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (std::uint64_t i = 1; i < threads; ++i) helpers.emplace_back(run_open);
    } catch (...) {  // the system has no further thread
      next = open.size();
      throw;
    }
    run_open();
  }
  if (error) std::rethrow_exception(error);

  Records finished;
  for (std::string& record : records) {
    const std::string encoded = std::move(record);  // freed before the next one is decoded
    if (!encoded.empty()) finished.push_back(decode_trial(encoded));
  }
  completed_ = finished.size();
  return finished;
}

}  // namespace ranklab
