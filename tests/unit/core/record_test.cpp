#include "core/record.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

namespace record_test {

using namespace ranklab;

TEST_CASE("a record counts the cases of a statement, and tallies are summed over records") {
  Records records(3);
  records[0].count("a", false, 2.0);
  records[0].count("a", true, 5.0);
  records[1].count("a", true);
  records[1].add("b", {});
  const Tally sum = tally_of(records, "a");
  CHECK(sum.cases == 3);
  CHECK(sum.violations == 2);
  CHECK(sum.smallest == 2);
  CHECK(sum.largest == 5);
  CHECK(records[1].has_tally("b"));
  CHECK_FALSE(records[2].has_tally("a"));
  CHECK(tally_of(records, "c").cases == 0);
  const Tally by_hand = tally_of(records, [](const TrialRecord& record, Tally& tally) {
    tally.count(record.has_tally("b"), NAN);
  });
  CHECK(by_hand.cases == 3);
  CHECK(by_hand.violations == 1);
  CHECK(std::isinf(by_hand.smallest));
}

TEST_CASE("a missing array is named in the error; one number per record is returned in order") {
  Records records(2);
  records[0].set("x", 1.5);
  records[1].set("x", 2.5);
  CHECK(scalars_of(records, "x") == std::vector<double>{1.5, 2.5});
  CHECK(per_trial(records, [](const TrialRecord& record) { return 2 * record.scalar("x"); }) ==
        std::vector<double>{3, 5});
  CHECK(std::isnan(records[0].scalar_or_nan("y")));
  CHECK_THROWS_AS(scalars_of(records, "y"), const std::logic_error&);
}

TEST_CASE("a record takes over the arrays of its parts with a prefix") {
  TrialRecord part, record;
  part.set("x", 1.5);
  part.set("y", std::vector<double>{1, 2});
  record.set("x", 3.0);
  record.insert(part, "k8.");
  CHECK(record.scalar("x") == 3.0);
  CHECK(record.scalar("k8.x") == 1.5);
  CHECK(record.array("k8.y") == std::vector<double>{1, 2});
  record.insert(part);
  CHECK(record.scalar("x") == 1.5);
}

TEST_CASE(
    "the mean of records is taken entry by entry; it is undefined if an entry is undefined in any "
    "record") {
  Records records(2);
  records[0].set("a", {1.0, NAN});
  records[1].set("a", {4.0, 2.0});
  const TrialRecord mean = mean_of(records);
  CHECK(mean.array("a")[0] == 2.5);
  CHECK(std::isnan(mean.array("a")[1]));
  records[1].set("a", 1.0);
  CHECK_THROWS_AS(mean_of(records), std::logic_error);
}

}  // namespace record_test
