// A value that the trials of a run share: the first trial that needs it computes it, the others
// wait.
#pragma once

#include <functional>
#include <mutex>
#include <optional>

namespace ranklab {

template <class Value>
class OncePerRun {
 public:
  /// Returns the value that `make` returned. Calls `make` once; if it throws, the next call tries
  /// again.
  const Value& get(const std::function<Value()>& make) {
    const std::lock_guard lock(mutex_);
    if (!value_) value_.emplace(make());
    return *value_;
  }

 private:
  std::mutex mutex_;
  std::optional<Value> value_;
};

}  // namespace ranklab
