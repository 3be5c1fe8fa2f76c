#include "run/trials.hpp"

#include <algorithm>
#include <chrono>
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
bool take(std::atomic<std::int64_t>& spare) {
  std::int64_t free = spare;
  while (free > 0 && !spare.compare_exchange_weak(free, free - 1)) {
  }
  return free > 0;
}

// Waits for a short time without sleeping, because to wake a thread can take longer than a turn of
// a small model. Returns false if the condition was not met.
template <class Condition>
bool is_soon(const Condition& met) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
  do {
    for (int look = 0; look < 20; ++look) {
      if (met()) return true;
    }
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() < give_up);
  return met();
}

// Lets spare threads join the pieces on which this thread is working; null outside
// for_each_piece().
thread_local const std::function<void()>* start_helper = nullptr;

}  // namespace

class SpareThreads::Threads {
 public:
  /// `spare` counts the places that are free.
  explicit Threads(std::atomic<std::int64_t>& spare) : spare_(spare) {}
  ~Threads() {
    {
      const std::lock_guard guard(lock_);
      ends_ = true;
    }
    for (const std::unique_ptr<Worker>& worker : all_) worker->woken.notify_one();
  }

  void start(std::function<void()> work, Given& given) {
    const std::lock_guard guard(lock_);
    if (idle_.empty()) add_worker();
    Worker& worker = *idle_.back();
    idle_.pop_back();
    worker.work = std::move(work);
    worker.given = &given;
    ++given.unfinished;
    worker.has_work = true;
    worker.woken.notify_one();
  }

  void wait(Given& given, bool lends) {
    const auto is_finished = [&] { return given.unfinished == 0; };
    if (!lends && is_soon(is_finished)) return;
    std::unique_lock guard(lock_);
    if (is_finished()) return;
    given.place_is_lent = lends;
    if (lends) ++spare_;
    finished_.wait(guard, is_finished);
    given.place_is_lent = false;
  }

 private:
  struct Worker {
    std::condition_variable woken;
    std::function<void()> work;
    Given* given = nullptr;
    std::atomic<bool> has_work{false};
    std::jthread thread;  // last: it uses the other members
  };

  void add_worker() {
    idle_.reserve(all_.size() + 1);
    all_.push_back(std::make_unique<Worker>());
    Worker& worker = *all_.back();
    try {
      worker.thread = std::jthread([this, &worker] { run(worker); });
    } catch (...) {
      all_.pop_back();
      throw;
    }
    idle_.push_back(&worker);
  }

  void run(Worker& worker) {
    const auto is_wanted = [&] { return ends_ || worker.has_work; };
    for (;;) {
      is_soon(is_wanted);
      std::unique_lock guard(lock_);
      worker.woken.wait(guard, is_wanted);
      if (!worker.has_work) return;
      guard.unlock();
      worker.work();
      guard.lock();
      worker.work = nullptr;
      worker.has_work = false;
      idle_.push_back(&worker);
      Given& given = *worker.given;
      if (given.unfinished > 1 || !given.place_is_lent) ++spare_;
      // The thread that waits may see this without the lock: `given` ends here.
      if (--given.unfinished == 0) finished_.notify_all();
    }
  }

  std::atomic<std::int64_t>& spare_;
  std::mutex lock_;  // guards the members below, the workers, and what was given to them
  std::condition_variable finished_;
  std::atomic<bool> ends_ = false;
  std::vector<Worker*> idle_;
  std::vector<std::unique_ptr<Worker>> all_;
};

SpareThreads::SpareThreads(std::int64_t count)
    : std::atomic<std::int64_t>(count), threads_(std::make_unique<Threads>(*this)) {}

SpareThreads::~SpareThreads() = default;

bool SpareThreads::start(std::function<void()> work, Given& given) {
  if (!take(*this)) return false;
  try {
    threads_->start(std::move(work), given);
  } catch (...) {  // the system has no further thread
    ++*this;
    throw;
  }
  return true;
}

void SpareThreads::wait(Given& given, bool lends) {
  threads_->wait(given, lends);
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

void Trial::run_pieces(std::size_t n, WhileWaiting while_waiting,
                       const std::function<void(std::size_t, std::size_t)>& piece) const {
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  std::size_t error_part = 0;
  std::mutex error_lock;
  const auto work = [&](std::size_t worker) {
    for (std::size_t i; (i = next++) < n;) {
      try {
        if (start_helper != nullptr) (*start_helper)();
        piece(i, worker);
      } catch (...) {
        const std::lock_guard lock(error_lock);
        // The first piece that fails has begun before any piece after it was given up, so that the
        // error does not depend on the number of threads.
        if (!error || i < error_part) error = std::current_exception(), error_part = i;
        next = n;
      }
    }
  };
  std::size_t helpers = 0;
  SpareThreads::Given given;
  // Called before and during each part of this thread, because other trials end in the meantime.
  const std::function<void()> start_helpers = [&] {
    while (next < n && helpers + 1 < n && *spare_threads_ > 0 &&
           spare_threads_->start([&work, worker = helpers + 1] { work(worker); }, given)) {
      ++helpers;
    }
  };
  const auto* const outer_helper = std::exchange(start_helper, &start_helpers);
  work(0);
  start_helper = outer_helper;
  if (helpers > 0) spare_threads_->wait(given, while_waiting == WhileWaiting::lends);
  if (error) std::rethrow_exception(error);
}

void Trial::for_each_piece(std::size_t n, const std::function<void(std::size_t)>& piece) const {
  run_pieces(n, WhileWaiting::lends, [&](std::size_t i, std::size_t) { piece(i); });
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

void Trial::for_each_piece(const std::vector<double>& costs,
                           const std::function<void(std::size_t)>& piece) const {
  for_each_piece(costs, [&](std::size_t i, std::size_t) { piece(i); });
}

void Trial::for_each_piece(const std::vector<double>& costs,
                           const std::function<void(std::size_t, std::size_t)>& piece) const {
  const std::vector<std::size_t> order = by_cost(costs);
  run_pieces(order.size(), WhileWaiting::lends,
             [&](std::size_t i, std::size_t worker) { piece(order[i], worker); });
}

void Trial::run(const std::vector<double>& costs,
                const std::function<void(std::size_t)>& piece) const {
  const std::vector<std::size_t> order = by_cost(costs);
  run_pieces(order.size(), WhileWaiting::keeps,
             [&](std::size_t i, std::size_t) { piece(order[i]); });
}

namespace {

/// The turns that a piece has ended, or the error that has ended it.
class EndedTurns {
 public:
  static constexpr std::uint32_t all = std::numeric_limits<std::uint32_t>::max();

  void set(std::uint32_t turns, const std::exception_ptr& error = nullptr) {
    {
      const std::lock_guard guard(lock_);
      error_ = error;
      ended_ = turns;
    }
    changed_.notify_one();  // only the next piece waits for it
  }
  /// Rethrows the error of the piece.
  void wait_beyond(std::uint32_t turn) {
    const auto is_met = [&] { return ended_ > turn; };
    if (!is_soon(is_met)) {
      std::unique_lock guard(lock_);
      changed_.wait(guard, is_met);
    }
    if (ended_ == all && error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::atomic<std::uint32_t> ended_{0};
  std::exception_ptr error_;  // set before ended_
};

class TurnsAfter final : public Turns {
 public:
  /// `before` is that of the piece before, null for the first piece.
  TurnsAfter(EndedTurns* before, EndedTurns& ended) : before_(before), ended_(ended) {}

 private:
  void begin() override {
    if (before_ != nullptr) before_->wait_beyond(turn_);
  }
  void end() override { ended_.set(++turn_); }

  EndedTurns* const before_;
  EndedTurns& ended_;
  std::uint32_t turn_ = 0;
};

}  // namespace

void Trial::run_in_turn(
    std::size_t n,
    const std::function<void(std::size_t piece, std::size_t worker, Turns&)>& piece) const {
  std::vector<EndedTurns> ended(n);
  // Pieces begin in order, so the piece before has begun and does not wait for a later one.
  run_pieces(n, WhileWaiting::keeps, [&](std::size_t i, std::size_t worker) {
    TurnsAfter turns(i == 0 ? nullptr : &ended[i - 1], ended[i]);
    try {
      piece(i, worker, turns);
    } catch (...) {
      ended[i].set(EndedTurns::all, std::current_exception());  // ends the pieces that wait for it
      throw;
    }
    ended[i].set(EndedTurns::all);
  });
}

}  // namespace ranklab
