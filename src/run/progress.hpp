// The progress bar with the time left, on standard error.
#pragma once

#include <chrono>
#include <cstdint>

namespace ranklab {

class Progress {
 public:
  /// Draws nothing where `shown` is false. `already_done` trials were read from a journal and do not count for the speed.
  Progress(bool shown, std::uint64_t total, std::uint64_t already_done);
  /// Wipes the bar.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// One more trial is done. Not thread-safe.
  void advance();

 private:
  void draw();

  bool shown_;
  std::uint64_t total_, first_, done_;
  std::chrono::steady_clock::time_point start_, last_drawn_;
};

}  // namespace ranklab
