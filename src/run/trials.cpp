#include "run/trials.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "core/error.hpp"
#include "run/interrupt.hpp"

namespace ranklab {

const std::vector<double>& TrialRecord::array(const std::string& name) const {
  const auto found = arrays_.find(name);
  if (found == arrays_.end()) throw std::logic_error("no array " + name + " in the trial's record");
  return found->second;
}

std::vector<double> scalars_of(const std::vector<TrialRecord>& records, const std::string& name) {
  std::vector<double> out;
  for (const auto& record : records) out.push_back(record.scalar(name));
  return out;
}

std::vector<std::vector<double>> arrays_of(const std::vector<TrialRecord>& records, const std::string& name) {
  std::vector<std::vector<double>> out;
  for (const auto& record : records) out.push_back(record.array(name));
  return out;
}

void Trial::check_interrupt() const {
  if (interrupt_signal() != 0) throw Interrupted();
}

void Trial::for_each_part(std::size_t n, const std::function<void(std::size_t)>& part) const {
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  std::mutex error_lock;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < n;) {
      try {
        part(i);
      } catch (...) {
        const std::lock_guard lock(error_lock);
        if (!error) error = std::current_exception();
        next = n;
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    const std::size_t helper_count = std::min<std::size_t>(spare_threads_, n == 0 ? 0 : n - 1);
    for (std::size_t i = 0; i < helper_count; ++i) helpers.emplace_back(work);
    work();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace ranklab
