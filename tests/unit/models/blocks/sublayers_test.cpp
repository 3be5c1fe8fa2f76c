#include "models/blocks/sublayers.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "models/blocks/model_row.hpp"
#include "models/published/unread_checkpoint.hpp"

namespace sublayers_test {

using namespace ranklab;

namespace {

ModelSpec spec_of(std::uint64_t positions) {
  ModelSpec spec;
  spec.model = "gpt2";
  spec.positions = positions;
  settle(spec);
  return spec;
}

}  // namespace

TEST_CASE("positions: places count from 0") {
  CHECK(places(0).empty());
  CHECK(places(4) == std::vector<std::uint32_t>{0, 1, 2, 3});
}

TEST_CASE("positions: a drawn table is as long as it needs to be") {
  CHECK(positions_of_table(spec_of(0), 3) == 1024);
  CHECK(positions_of_table(spec_of(6), 5) == 6);
  CHECK(positions_of_table(spec_of(6), 6) == 6);
  CHECK(positions_of_table(spec_of(6), 7) == 7);
}

TEST_CASE("positions: published weights have what they have") {
  ModelSpec spec = spec_of(6);
  spec.checkpoint = unread_checkpoint();
  CHECK(positions_of_table(spec, 2) == 6);
  CHECK(positions_of_table(spec, 6) == 6);
  CHECK_THROWS_WITH_AS(positions_of_table(spec, 7),
                       "a sequence of 7 tokens is longer than the 6 positions that the weights of gpt2 have; --tokens cuts it",
                       Failure);
}

}  // namespace sublayers_test
