// The speed-up that the parts of a run allow, for 1 to 16 threads, on a machine with fewer or busy
// cores: `build/speedup COMMAND [flags]` runs one trial on one thread, measures the CPU time of
// each part and of each turn in it, and computes how long 2, 4, 8 and 16 threads would take with
// these times. It ignores the cost of starting threads, and that threads share caches and memory.
// Prints `threads speed-up` lines.

#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <numeric>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/resolve.hpp"
#include "core/machine.hpp"
#include "linalg/blas.hpp"
#include "run/trials.hpp"

namespace {

using namespace ranklab;

constexpr std::array<std::size_t, 5> thread_counts = {1, 2, 4, 8, 16};
using Times = std::array<double, thread_counts.size()>;

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

Times saved_so_far = {};  // seconds that each number of threads has saved
double in_parts = 0;      // seconds inside the outermost parts
int depth = 0;

/// Measures f() with the threads that its own parts would use.
template <class F>
Times measured(const F& f) {
  const Times before = saved_so_far;
  const double start = cpu_seconds();
  f();
  const double seconds = cpu_seconds() - start;
  Times out;
  for (std::size_t w = 0; w < out.size(); ++w) out[w] = seconds - (saved_so_far[w] - before[w]);
  saved_so_far = before;
  return out;
}

/// The time at which the last worker ends, if each next part goes to the first free worker.
/// `run(part, start)` returns the end of a part.
template <class Run>
double makespan(std::size_t parts, std::size_t workers, const Run& run) {
  std::vector<double> free(std::min(workers, std::max<std::size_t>(parts, 1)), 0.0);
  for (std::size_t i = 0; i < parts; ++i) {
    double& first = *std::min_element(free.begin(), free.end());
    first = run(i, first);
  }
  return *std::max_element(free.begin(), free.end());
}

/// The times between the turns of a part: before its first turn, in it, before its second, ...
class TimedTurns final : public Turns {
 public:
  std::vector<double> seconds;
  double last = cpu_seconds();
  void step() {
    const double now = cpu_seconds();
    seconds.push_back(now - last);
    last = now;
  }

 private:
  void begin() override { step(); }
  void end() override { step(); }
};

class TimedTrial final : public Trial {
 public:
  TimedTrial(std::uint64_t seed, std::uint64_t index) : Trial(seed, index, 0) {}

  void run_in_turn(std::size_t n, const std::function<void(std::size_t, std::size_t, Turns&)>& part)
      const override {
    std::vector<std::vector<double>> timelines(n);
    ++depth;
    for (std::size_t i = 0; i < n; ++i) {
      TimedTurns turns;
      part(i, 0, turns);
      turns.step();
      timelines[i] = std::move(turns.seconds);
    }
    --depth;
    double all = 0;
    for (const auto& timeline : timelines)
      all = std::accumulate(timeline.begin(), timeline.end(), all);
    for (std::size_t w = 0; w < thread_counts.size(); ++w) {
      std::vector<double> turn_ends;  // of the part before
      saved_so_far[w] += all - makespan(n, thread_counts[w], [&](std::size_t i, double now) {
                           turn_ends.resize(timelines[i].size() / 2, 0.0);
                           for (std::size_t s = 0; s < timelines[i].size(); ++s) {
                             if (s % 2 == 1) now = std::max(now, turn_ends[s / 2]);
                             now += timelines[i][s];
                             if (s % 2 == 1) turn_ends[s / 2] = now;
                           }
                           return now;
                         });
    }
    if (depth == 0) in_parts += all;
  }

 protected:
  void run_pieces(std::size_t n, WhileWaiting,
                  const std::function<void(std::size_t, std::size_t)>& part) const override {
    std::vector<Times> parts;
    ++depth;
    for (std::size_t i = 0; i < n; ++i) parts.push_back(measured([&] { part(i, 0); }));
    --depth;
    double all = 0;
    for (const Times& times : parts) all += times.front();
    for (std::size_t w = 0; w < thread_counts.size(); ++w) {
      // Threads that are left over help the longest part, but all have at most their share.
      const double end = makespan(
          n, thread_counts[w], [&](std::size_t i, double now) { return now + parts[i].front(); });
      double longest = 0;
      for (const Times& times : parts) longest = std::max(longest, times[w]);
      const double share = all / static_cast<double>(thread_counts[w]);
      bool nested = false;
      for (const Times& times : parts) nested = nested || times.back() < times.front();
      saved_so_far[w] += all - (nested ? std::max(share, longest) : end);
    }
    if (depth == 0) in_parts += all;
  }
};

Records run_trial(const Work& work, std::uint64_t seed) {
  if (work.trial) {
    TimedTrial trial(seed, 0);
    return {work.trial(trial)};
  }
  std::vector<Trial> trials = {Trial(seed, 0, 0)};
  return work.batch(trials);
}

}  // namespace

int main(int argc, char** argv) {
  prepare_blas(argv);
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    const Experiment* const experiment = words.empty() ? nullptr : find_experiment(words.front());
    if (experiment == nullptr) throw std::runtime_error("usage: speedup COMMAND [flags]");
    const Arguments common = parse_arguments({words.begin() + 1, words.end()},
                                             common_flag_shapes(*experiment), Unknown::kept);
    ResolvedRun run = resolve(*experiment, read_request(*experiment, common));
    set_blas_threads(1);
    keep_freed_memory();
    double all = cpu_seconds();
    run.study().report(run_trial(run.study().work(), run.options().seed));
    all = cpu_seconds() - all;
    std::printf("%.2f s, %.1f %% in parts\nthreads\tspeed-up\n", all, 100 * in_parts / all);
    for (std::size_t w = 0; w < thread_counts.size(); ++w)
      std::printf("%zu\t%.2f\n", thread_counts[w], all / (all - saved_so_far[w]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "speedup: %s\n", error.what());
    return 1;
  }
}
