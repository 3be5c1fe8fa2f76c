// A value that the trials of a run share: the first trial that asks computes it, the others wait for it.
#pragma once

#include <functional>
#include <mutex>
#include <optional>

namespace ranklab {

template <class Value>
class OncePerRun {
 public:
  /// The value is `make`'s, called once; where it throws, the next trial that asks tries again.
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
