#include "run/trials.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "core/error.hpp"
#include "run/interrupt.hpp"

namespace ranklab {

namespace {

// Takes one spare thread; returns false if no thread is spare.
bool take(SpareThreads& spare) {
  std::int64_t free = spare;
  while (free > 0 && !spare.compare_exchange_weak(free, free - 1)) {
  }
  return free > 0;
}

// Lets spare threads join the parts on which this thread is working; null outside for_each_part().
thread_local const std::function<void()>* start_helper = nullptr;

}  // namespace

class SpareThreads::Threads {
 public:
  ~Threads() {
    {
      const std::lock_guard guard(lock_);
      ends_ = true;
    }
    for (const std::unique_ptr<Worker>& worker : all_) worker->woken.notify_one();
  }

  void start(std::function<void()> work, std::shared_ptr<Unfinished> unfinished) {
    const std::lock_guard guard(lock_);
    Worker* worker = nullptr;
    if (idle_.empty()) {
      all_.push_back(std::make_unique<Worker>());
      worker = all_.back().get();
      worker->thread = std::jthread([this, worker] { run(*worker); });
    } else {
      worker = idle_.back();
      idle_.pop_back();
    }
    worker->work = std::move(work);
    worker->unfinished = std::move(unfinished);
    worker->woken.notify_one();
  }

  void wait(const Unfinished& unfinished) {
    std::unique_lock guard(lock_);
    finished_.wait(guard, [&] { return unfinished == 0; });
  }

 private:
  struct Worker {
    std::condition_variable woken;
    std::function<void()> work;
    std::shared_ptr<Unfinished> unfinished;
    std::jthread thread;  // last: it uses the other members
  };

  void run(Worker& worker) {
    std::unique_lock guard(lock_);
    for (;;) {
      worker.woken.wait(guard, [&] { return ends_ || worker.work; });
      if (!worker.work) return;
      const std::function<void()> work = std::exchange(worker.work, nullptr);
      const std::shared_ptr<Unfinished> unfinished = std::move(worker.unfinished);
      guard.unlock();
      work();
      guard.lock();
      idle_.push_back(&worker);
      --*unfinished;
      finished_.notify_all();
    }
  }

  std::mutex lock_;  // guards the other members, and the workers' work
  std::condition_variable finished_;
  bool ends_ = false;
  std::vector<Worker*> idle_;
  std::vector<std::unique_ptr<Worker>> all_;
};

SpareThreads::SpareThreads(std::int64_t count)
    : std::atomic<std::int64_t>(count), threads_(std::make_unique<Threads>()) {}

SpareThreads::~SpareThreads() = default;

void SpareThreads::start(std::function<void()> work, std::shared_ptr<Unfinished> unfinished) {
  threads_->start(std::move(work), std::move(unfinished));
}

void SpareThreads::wait(const Unfinished& unfinished) {
  if (unfinished > 0) threads_->wait(unfinished);
}

void Trial::check_interrupt() const {
  if (interrupt_signal() != 0) throw Interrupted();
  if (start_helper != nullptr) (*start_helper)();
}

void Trial::expect(std::uint64_t units, const char* unit) const {
  work_->unit = unit;
  work_->total = units;
}

void Trial::advance() const {
  ++work_->done;
  check_interrupt();
}

void Trial::show(const char* quantity, double value) const {
  work_->value = value;
  work_->quantity = quantity;
}

void Trial::run_parts(std::size_t n, WhileWaiting while_waiting,
                      const std::function<void(std::size_t, std::size_t)>& part) const {
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  std::size_t error_part = 0;
  std::mutex error_lock;
  const auto work = [&](std::size_t worker) {
    for (std::size_t i; (i = next++) < n;) {
      try {
        if (start_helper != nullptr) (*start_helper)();
        part(i, worker);
      } catch (...) {
        const std::lock_guard lock(error_lock);
        // The first part that fails has begun before any part after it was given up, so that the
        // error does not depend on the number of threads.
        if (!error || i < error_part) error = std::current_exception(), error_part = i;
        next = n;
      }
    }
  };
  std::size_t helpers = 0;
  const auto unfinished = std::make_shared<SpareThreads::Unfinished>(0);
  // Called before and during each part of this thread, because other trials end in the meantime.
  const std::function<void()> start_helpers = [&] {
    while (next < n && helpers + 1 < n && take(*spare_threads_)) {
      ++*unfinished;
      spare_threads_->start(
          [&, worker = ++helpers] {
            work(worker);
            ++*spare_threads_;
          },
          unfinished);
    }
  };
  const auto* const outer_helper = std::exchange(start_helper, &start_helpers);
  work(0);
  start_helper = outer_helper;
  // A thread that waits for its helpers may lend its place to another.
  const std::int64_t lent = helpers > 0 && while_waiting == WhileWaiting::lends ? 1 : 0;
  *spare_threads_ += lent;
  spare_threads_->wait(*unfinished);
  *spare_threads_ -= lent;
  if (error) std::rethrow_exception(error);
}

void Trial::for_each_part(std::size_t n, const std::function<void(std::size_t)>& part) const {
  run_parts(n, WhileWaiting::lends, [&](std::size_t i, std::size_t) { part(i); });
}

namespace {

/// The numbers of the costs, the highest cost first.
std::vector<std::size_t> by_cost(const std::vector<double>& costs) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  return order;
}

}  // namespace

void Trial::for_each_part(const std::vector<double>& costs,
                          const std::function<void(std::size_t)>& part) const {
  for_each_part(costs, [&](std::size_t i, std::size_t) { part(i); });
}

void Trial::for_each_part(const std::vector<double>& costs,
                          const std::function<void(std::size_t, std::size_t)>& part) const {
  const std::vector<std::size_t> order = by_cost(costs);
  run_parts(order.size(), WhileWaiting::lends,
            [&](std::size_t i, std::size_t worker) { part(order[i], worker); });
}

void Trial::run(const std::vector<double>& costs,
                const std::function<void(std::size_t)>& part) const {
  const std::vector<std::size_t> order = by_cost(costs);
  run_parts(order.size(), WhileWaiting::keeps, [&](std::size_t i, std::size_t) { part(order[i]); });
}

namespace {

/// The number of turns that a part has ended. Each in a cache line of its own.
class alignas(64) EndedTurns {
 public:
  static constexpr std::uint32_t all = std::numeric_limits<std::uint32_t>::max();

  void set(std::uint32_t turns) {
    {
      const std::lock_guard guard(lock_);
      ended_ = turns;
    }
    changed_.notify_one();  // only the next part waits for it
  }
  void wait_beyond(std::uint32_t turn) {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [&] { return ended_ > turn; });
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::uint32_t ended_ = 0;
};

/// The first error in a part. Parts that wait for their turn rethrow it.
class FirstError {
 public:
  void set() {
    const std::lock_guard guard(lock_);
    if (!error_) error_ = std::current_exception();
    is_set_ = true;
  }
  void rethrow() {
    if (!is_set_) return;
    const std::lock_guard guard(lock_);
    std::rethrow_exception(error_);
  }

 private:
  std::mutex lock_;
  std::exception_ptr error_;
  std::atomic<bool> is_set_{false};
};

class TurnsAfter final : public Turns {
 public:
  /// `before` is that of the part before, null for the first part.
  TurnsAfter(EndedTurns* before, EndedTurns& own, FirstError& error)
      : before_(before), own_(own), error_(error) {}

 private:
  void begin() override {
    if (before_ != nullptr) before_->wait_beyond(turn_);
    error_.rethrow();
  }
  void end() override { own_.set(++turn_); }

  EndedTurns* const before_;
  EndedTurns& own_;
  FirstError& error_;
  std::uint32_t turn_ = 0;
};

}  // namespace

void Trial::run_in_turn(
    std::size_t n,
    const std::function<void(std::size_t part, std::size_t worker, Turns&)>& part) const {
  std::vector<EndedTurns> ended(n);
  FirstError error;
  // Parts begin in order, so the part before has begun and does not wait for a later one.
  run_parts(n, WhileWaiting::keeps, [&](std::size_t i, std::size_t worker) {
    TurnsAfter turns(i == 0 ? nullptr : &ended[i - 1], ended[i], error);
    try {
      part(i, worker, turns);
    } catch (...) {
      error.set();
      ended[i].set(EndedTurns::all);
      throw;
    }
    ended[i].set(EndedTurns::all);
  });
}

}  // namespace ranklab
