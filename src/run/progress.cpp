#include "run/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>

#include "core/machine.hpp"
#include "core/text.hpp"

namespace ranklab {
namespace {

constexpr std::chrono::milliseconds between_drawings{200};
constexpr std::size_t max_columns = 120;  // of a line, even on a wider terminal

// "step 130 of 400, loss 4.21" for the running trial with the least progress, among those that
// report their progress.
std::string trial_progress(const std::vector<std::shared_ptr<TrialWork>>& running) {
  const TrialWork* behind = nullptr;
  double least = 2;
  for (const auto& work : running) {
    const std::uint64_t total = work->total;
    if (total == 0) continue;
    const double share = static_cast<double>(work->done) / static_cast<double>(total);
    if (share < least) behind = work.get();
    least = std::min(least, share);
  }
  if (behind == nullptr) return "";
  const std::string running_trial =
      std::string(behind->unit) + " " +
      std::to_string(std::min<std::uint64_t>(behind->done, behind->total)) + " of " +
      std::to_string(behind->total);
  const char* const quantity = behind->quantity;
  return quantity == nullptr ? running_trial
                             : running_trial + ", " + quantity + " " + short_number(behind->value);
}

}  // namespace

std::string duration_text(double seconds) {
  char buffer[48];
  if (seconds < 100) {
    std::snprintf(buffer, sizeof buffer, "%.0f s", seconds);
  } else if (seconds < 6000) {
    std::snprintf(buffer, sizeof buffer, "%.0f min", seconds / 60);
  } else {
    std::snprintf(buffer, sizeof buffer, "%.1f h", seconds / 3600);
  }
  return buffer;
}

Progress::Progress(Look look, std::uint64_t total, std::uint64_t already_done)
    : look_(std::move(look)),
      total_(total),
      first_(already_done),
      done_(already_done),
      start_(std::chrono::steady_clock::now()) {
  if (!look_.shown) return;
  draw();
  drawing_thread_ = std::jthread([this](const std::stop_token& stop) {
    std::mutex idle;
    std::unique_lock guard(idle);
    std::condition_variable_any wake;
    while (!wake.wait_for(guard, stop, between_drawings, [&] { return stop.stop_requested(); }))
      draw();
  });
}

Progress::~Progress() {
  if (!look_.shown) return;
  drawing_thread_.request_stop();
  drawing_thread_.join();
  std::fputs("\r\x1b[K", stderr);
}

void Progress::begin(const std::shared_ptr<TrialWork>& work) {
  const std::lock_guard guard(lock_);
  running_.push_back(work);
}

void Progress::end(const std::shared_ptr<TrialWork>& work) {
  const std::lock_guard guard(lock_);
  ++done_;
  std::erase(running_, work);
}

std::string Progress::line(double elapsed, std::size_t columns) {
  const std::lock_guard guard(lock_);
  double whole = static_cast<double>(done_);
  for (const auto& work : running_) {
    if (work->total > 0)
      whole += std::min(1.0, static_cast<double>(work->done) / static_cast<double>(work->total));
  }
  const double all = static_cast<double>(total_), since = whole - static_cast<double>(first_);
  const std::string left = since > 0
                               ? "about " + duration_text(elapsed / since * (all - whole)) + " left"
                               : "estimating the time left";
  std::string trials = std::to_string(done_) + "/" + std::to_string(total_) + " trials";
  const std::string running_trial = trial_progress(running_);

  // If the terminal is narrow, omit the bar first and then the progress of the trial.
  std::string text = trials + (running_trial.empty() ? "" : ", " + running_trial) + ", " + left;
  const std::string label = look_.label.empty() ? "" : look_.label + " ";
  const auto fits = [&](std::size_t more) { return label.size() + text.size() + more < columns; };
  if (!fits(0)) text = trials + ", " + left;
  std::string bar;
  for (const std::size_t width : {30u, 10u}) {
    if (!bar.empty() || !fits(width + 3)) continue;
    const auto filled =
        static_cast<std::size_t>(total_ == 0 ? 0 : static_cast<double>(width) * whole / all);
    bar = "[" + std::string(filled, '#') + std::string(width - filled, '.') + "] ";
  }
  return (label + bar + text).substr(0, columns > 0 ? columns - 1 : 0);
}

void Progress::draw() {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  std::fprintf(stderr, "\r\x1b[K%s",
               line(elapsed.count(), columns_of(STDERR_FILENO, max_columns)).c_str());
  std::fflush(stderr);
}

}  // namespace ranklab
