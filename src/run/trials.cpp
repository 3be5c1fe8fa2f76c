#include "run/trials.hpp"

#include <algorithm>
#include <exception>
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

void Trial::for_each_part(std::size_t n, const std::function<void(std::size_t)>& part) const {
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  std::mutex error_lock;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < n;) {
      try {
        if (start_helper != nullptr) (*start_helper)();
        part(i);
      } catch (...) {
        const std::lock_guard lock(error_lock);
        if (!error) error = std::current_exception();
        next = n;
      }
    }
  };
  std::int64_t extra_threads = 0;
  {
    std::vector<std::jthread> helpers;
    // Called before and during each part of this thread, because other trials end in the meantime.
    const std::function<void()> start_helpers = [&] {
      while (next < n && take(*spare_threads_)) {
        helpers.emplace_back([&] {
          work();
          ++*spare_threads_;
        });
      }
    };
    const auto* const outer_helper = std::exchange(start_helper, &start_helpers);
    work();
    start_helper = outer_helper;
    extra_threads = helpers.empty() ? 0 : 1;
    *spare_threads_ +=
        extra_threads;  // this thread waits for the helpers: lend its slot to another
  }
  *spare_threads_ -= extra_threads;
  if (error) std::rethrow_exception(error);
}

void Trial::for_each_part(const std::vector<double>& costs,
                          const std::function<void(std::size_t)>& part) const {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  for_each_part(order.size(), [&](std::size_t i) { part(order[i]); });
}

}  // namespace ranklab
