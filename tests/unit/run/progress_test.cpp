#include "run/progress.hpp"

#include <doctest/doctest.h>

#include <string>

namespace progress_test {

using namespace ranklab;

namespace {

std::shared_ptr<TrialWork> work_at(std::uint64_t done, std::uint64_t total) {
  auto work = std::make_shared<TrialWork>();
  work->done = done;
  work->total = total;
  work->unit = "step";
  return work;
}

}  // namespace

TEST_CASE("the progress bar counts finished trials and the parts of running ones") {
  Progress progress({}, 4, 0);
  CHECK(progress.line(10, 100) ==
        "[..............................] 0/4 trials, estimating the time left");
  const auto first = work_at(100, 400), second = work_at(300, 400);
  progress.begin(first);
  progress.begin(second);
  // A quarter and three quarters of a trial took 10 s, so three more take 30 s. The slower trial is
  // shown.
  CHECK(progress.line(10, 100) ==
        "[#######.......................] 0/4 trials, step 100 of 400, about 30 s left");
  progress.end(second);
  CHECK(progress.line(10, 100).find("1/4 trials, step 100 of 400, about 22 s left") !=
        std::string::npos);
}

TEST_CASE(
    "trials from a journal do not affect the speed; a trial without progress reports counts once "
    "it is done") {
  Progress progress({}, 4, 2);
  progress.begin(std::make_shared<TrialWork>());
  CHECK(progress.line(10, 100).ends_with("2/4 trials, estimating the time left"));
  progress.begin(work_at(200, 400));
  CHECK(progress.line(10, 100).ends_with("2/4 trials, step 200 of 400, about 30 s left"));
}

TEST_CASE("the current value of a trial is shown after its steps") {
  Progress progress({}, 1, 0);
  const Trial trial(1, 0, 0);
  progress.begin(trial.work());
  trial.expect(300, "step");
  trial.work()->done = 1;
  trial.show("loss", 4.21234);
  CHECK(progress.line(10, 100).find("step 1 of 300, loss 4.212, about") != std::string::npos);
}

TEST_CASE(
    "the line fits the terminal: first the bar is shortened, then omitted, then the trial's "
    "progress is omitted") {
  Progress progress({false, "[12/31] spectral-fig11"}, 4, 0);
  progress.begin(work_at(100, 400));
  CHECK(progress.line(10, 200).find("[#.............................] 0/4") != std::string::npos);
  for (std::size_t columns = 1; columns <= 120; ++columns) {
    const std::string line = progress.line(10, columns);
    CHECK(line.size() < columns);
    if (columns > 30) CHECK(line.starts_with("[12/31] spectral-fig11 "));
  }
  CHECK(progress.line(10, 90).find(" [..........] 0/4 trials, step 100 of 400") !=
        std::string::npos);
  CHECK(progress.line(10, 80).find("11 0/4 trials, step 100 of 400") != std::string::npos);
  CHECK(progress.line(10, 60).find("11 0/4 trials, about") != std::string::npos);
}

TEST_CASE("durations are formatted as text") {
  CHECK(duration_text(8.2) == "8 s");
  CHECK(duration_text(200) == "3 min");
  CHECK(duration_text(5400) == "90 min");
  CHECK(duration_text(7200) == "2.0 h");
}

}  // namespace progress_test
