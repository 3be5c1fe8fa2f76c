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

// One thread, if there is one.
bool take(SpareThreads& spare) {
  std::int64_t free = spare;
  while (free > 0 && !spare.compare_exchange_weak(free, free - 1)) {
  }
  return free > 0;
}

// Gives spare threads a share in the parts that this thread is at; null while it is at none.
thread_local const std::function<void()>* hire = nullptr;

}  // namespace

void Trial::check_interrupt() const {
  if (interrupt_signal() != 0) throw Interrupted();
  if (hire != nullptr) (*hire)();
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
        if (hire != nullptr) (*hire)();
        part(i);
      } catch (...) {
        const std::lock_guard lock(error_lock);
        if (!error) error = std::current_exception();
        next = n;
      }
    }
  };
  std::int64_t lent = 0;
  {
    std::vector<std::jthread> helpers;
    // Before each of this thread's own parts and during them: other trials end meanwhile.
    const std::function<void()> of_these = [&] {
      while (next < n && take(*spare_threads_)) {
        helpers.emplace_back([&] {
          work();
          ++*spare_threads_;
        });
      }
    };
    const auto* const of_others = std::exchange(hire, &of_these);
    work();
    hire = of_others;
    lent = helpers.empty() ? 0 : 1;
    *spare_threads_ += lent;  // this thread now waits: another may work in its place
  }
  *spare_threads_ -= lent;
  if (error) std::rethrow_exception(error);
}

void Trial::for_each_part(const std::vector<double>& costs, const std::function<void(std::size_t)>& part) const {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  for_each_part(order.size(), [&](std::size_t i) { part(order[i]); });
}

}  // namespace ranklab
