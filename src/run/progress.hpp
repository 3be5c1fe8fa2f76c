// The progress bar on standard error: finished trials, the progress of running trials, and the time
// left.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "run/trials.hpp"

namespace ranklab {

class Progress {
 public:
  struct Look {
    bool shown = false;
    std::string label = {};  // printed before the bar
  };

  /// Draws nothing unless `look.shown`. `already_done` trials were read from a journal and are
  /// not used to estimate the speed.
  Progress(Look look, std::uint64_t total, std::uint64_t already_done);
  /// Erases the bar.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// To be called when a trial begins and ends. Thread-safe.
  void begin(const std::shared_ptr<TrialWork>& work);
  void end(const std::shared_ptr<TrialWork>& work);

  /// The bar's line, in at most `columns` columns, after `elapsed` seconds.
  std::string line(double elapsed, std::size_t columns);

 private:
  void draw();

  const Look look_;
  const std::uint64_t total_, first_;
  std::uint64_t done_;
  std::vector<std::shared_ptr<TrialWork>> running_;
  std::mutex lock_;  // guards done_ and running_
  const std::chrono::steady_clock::time_point start_;
  std::jthread
      drawing_thread_;  // redraws a few times a second, so that trials never wait for the terminal
};

/// "8 s", "3 min", "1.5 h".
std::string duration_text(double seconds);

}  // namespace ranklab
