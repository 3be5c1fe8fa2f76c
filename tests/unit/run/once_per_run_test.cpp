#include "run/once_per_run.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "run/pool.hpp"

namespace once_per_run_test {

using namespace ranklab;

TEST_CASE("a value that trials share is made once, however many ask at once") {
  Pool::Settings settings;
  settings.trials = 40;
  settings.threads = 4;
  Pool pool(settings, nullptr);
  OncePerRun<double> shared;
  int made = 0;
  const auto records = pool.run([&](Trial& trial) {
    TrialRecord record;
    record.set("value", shared.get([&] {
      ++made;
      return trial.first().stream("shared").uniform();
    }));
    return record;
  });
  CHECK(made == 1);
  CHECK(scalars_of(records, "value") == std::vector<double>(40, Stream(settings.seed, 0, "shared").uniform()));
}

TEST_CASE("a shared value whose making failed is made by the next that asks") {
  OncePerRun<std::string> shared;
  CHECK_THROWS_AS(shared.get([]() -> std::string { throw std::runtime_error("no"); }), std::runtime_error);
  CHECK(shared.get([] { return std::string("second"); }) == "second");
  CHECK(shared.get([] { return std::string("third"); }) == "second");
}

TEST_CASE("the first trial of a run has the seed's draws of trial 0, whichever asks") {
  const Trial first = Trial(5, 7, 0).first();
  CHECK(first.index() == 0);
  CHECK(first.stream("A").uniform() == Stream(5, 0, "A").uniform());
}

}  // namespace once_per_run_test
