#include "run/progress.hpp"

#include <cstdio>
#include <string>

namespace ranklab {
namespace {

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

}  // namespace

Progress::Progress(bool shown, std::uint64_t total, std::uint64_t already_done)
    : shown_(shown),
      total_(total),
      first_(already_done),
      done_(already_done),
      start_(std::chrono::steady_clock::now()),
      last_drawn_(start_) {
  draw();
}

Progress::~Progress() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void Progress::advance() {
  ++done_;
  const auto now = std::chrono::steady_clock::now();
  // Runs of thousands of short trials must not spend their time drawing.
  if (done_ < total_ && now - last_drawn_ < std::chrono::milliseconds(50)) return;
  last_drawn_ = now;
  draw();
}

void Progress::draw() {
  if (!shown_) return;
  constexpr std::uint64_t width = 30;
  const auto filled = static_cast<std::size_t>(total_ == 0 ? 0 : width * done_ / total_);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  std::string left = "estimating the time left";
  if (done_ > first_) {
    left = "about " + duration_text(elapsed.count() / static_cast<double>(done_ - first_) * static_cast<double>(total_ - done_)) +
           " left";
  }
  std::fprintf(stderr, "\r\x1b[K[%s%s] %llu/%llu trials, %s", std::string(filled, '#').c_str(),
               std::string(width - filled, '.').c_str(), static_cast<unsigned long long>(done_),
               static_cast<unsigned long long>(total_), left.c_str());
  std::fflush(stderr);
}

}  // namespace ranklab
