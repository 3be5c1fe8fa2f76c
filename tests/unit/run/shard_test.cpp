// Shards partition the trials.
#include "run/shard.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "run/pool.hpp"

namespace shard_test {

using namespace ranklab;

TEST_CASE("every trial is in exactly one shard, and the counts are right") {
  for (std::uint64_t trials = 1; trials <= 12; ++trials) {
    for (std::uint64_t count = 1; count <= trials; ++count) {
      std::uint64_t sum = 0;
      for (std::uint64_t index = 1; index <= count; ++index) {
        const Shard shard{index, count};
        std::uint64_t held = 0;
        for (std::uint64_t t = 0; t < trials; ++t) {
          CHECK(shard.holds(t) == (t % count == index - 1));
          held += shard.holds(t) ? 1 : 0;
        }
        CHECK(shard.trials_of(trials) == held);
        CHECK(held >= 1);
        sum += held;
      }
      CHECK(sum == trials);
    }
  }
}

TEST_CASE("shards are parsed from text and formatted") {
  const Shard shard = parse_shard("3/8", 8, "--shard");
  CHECK(shard.index == 3);
  CHECK(shard.count == 8);
  CHECK(shard.text() == "3/8");
  for (const char* text : {"", "3", "/", "3/", "/8", "0/8", "9/8", "3/0", "3/9", "3/8/1", "+3/8",
                           "3 /8", "3/8 ", "-1/8", "a/b", "3.0/8", "18446744073709551617/8"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_shard(text, 8, "--shard"), UsageError);
  }
}

TEST_CASE(
    "the pool runs only the shard's trials, with the same random numbers as in the whole run") {
  const auto draw = [](Trial& trial) {
    std::vector<double> values(3);
    trial.stream("X").fill_normal(values);
    TrialRecord record;
    record.set("index", static_cast<double>(trial.index()));
    record.set("values", values);
    return record;
  };
  Pool::Settings settings;
  settings.trials = 7;
  Pool whole(settings, nullptr);
  const auto all = whole.run(each_trial(draw));
  settings.shard = {2, 3};
  settings.threads = 2;
  Pool pool(settings, nullptr);
  const auto records = pool.run(each_trial(draw));
  REQUIRE(records.size() == 2);
  CHECK(pool.completed() == 2);
  CHECK(records[0].scalar("index") == 1);
  CHECK(records[1].scalar("index") == 4);
  CHECK(records[1].array("values") == all[4].array("values"));
}

}  // namespace shard_test
