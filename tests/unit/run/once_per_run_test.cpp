#include "run/once_per_run.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "run/pool.hpp"

namespace once_per_run_test {

using namespace ranklab;

TEST_CASE("a shared value is made once, even if many trials request it at the same time") {
  Pool::Settings settings;
  settings.trials = 40;
  settings.threads = 4;
  Pool pool(settings, nullptr);
  OncePerRun<double> shared;
  int made = 0;
  const auto records = pool.run(each_trial([&](Trial& trial) {
    TrialRecord record;
    record.set("value", shared.get([&] {
      ++made;
      return trial.first().stream("shared").uniform();
    }));
    return record;
  }));
  CHECK(made == 1);
  CHECK(scalars_of(records, "value") ==
        std::vector<double>(40, Stream(settings.seed, 0, "shared").uniform()));
}

TEST_CASE("if making a shared value fails, the next trial that requests it makes it") {
  OncePerRun<std::string> shared;
  CHECK_THROWS_AS(shared.get([]() -> std::string { throw std::runtime_error("no"); }),
                  std::runtime_error);
  CHECK(shared.get([] { return std::string("second"); }) == "second");
  CHECK(shared.get([] { return std::string("third"); }) == "second");
}

TEST_CASE("a shared value uses the draws of trial 0, whichever trial requests it") {
  const Trial first = Trial(5, 7, 0).first();
  CHECK(first.index() == 0);
  CHECK(first.stream("A").uniform() == Stream(5, 0, "A").uniform());
}

}  // namespace once_per_run_test
