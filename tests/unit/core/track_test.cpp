#include "core/track.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

namespace track_test {

using namespace ranklab;

TEST_CASE("a track has the declared columns, with NaN where nothing was set") {
  Track track({{"loss", "step", {0, 1, 2}}, {"layer0.rank", "step", {0, 2}}, {"diverged"}});
  track.set("loss", 5, 1);
  track.add("layer0.rank", 7);
  track.set("diverged", 1);
  CHECK(track.added("layer0.rank") == 1);
  CHECK(track.values("layer0.rank")[0] == 7);
  const TrialRecord record = track.take();
  CHECK(record.array("loss").size() == 3);
  CHECK(std::isnan(record.array("loss")[0]));
  CHECK(record.array("loss")[1] == 5);
  CHECK(std::isnan(record.array("layer0.rank")[1]));
  CHECK(record.scalar("diverged") == 1);
}

TEST_CASE("a number without a column, or beyond its end, is a mistake of the program") {
  Track track({{"loss", "step", {0}}});
  CHECK_THROWS_AS(track.add("los", 1), std::logic_error);
  CHECK_THROWS_AS(track.set("los", 1), std::logic_error);
  track.add("loss", 1);
  CHECK_THROWS_AS(track.add("loss", 2), std::logic_error);
  CHECK_THROWS_AS(track.set("loss", 2, 1), std::logic_error);
}

}  // namespace track_test
