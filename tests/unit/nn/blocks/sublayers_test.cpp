#include "nn/blocks/sublayers.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/checkpoints/unread_checkpoint.hpp"

namespace sublayers_test {

using namespace ranklab;

namespace {

ModelSpec spec_of(std::uint64_t positions) {
  ModelSpec spec;
  spec.model = "gpt2";
  spec.positions = positions;
  resolve_defaults(spec);
  return spec;
}

}  // namespace

TEST_CASE("positions are counted from 0") {
  CHECK(position_ids(0).empty());
  CHECK(position_ids(4) == std::vector<std::uint32_t>{0, 1, 2, 3});
}

TEST_CASE("positions: a drawn table is as long as needed") {
  CHECK(position_table_rows(spec_of(0), 3) == 1024);
  CHECK(position_table_rows(spec_of(6), 5) == 6);
  CHECK(position_table_rows(spec_of(6), 6) == 6);
  CHECK(position_table_rows(spec_of(6), 7) == 7);
}

TEST_CASE("positions: published weights have a fixed number of positions") {
  ModelSpec spec = spec_of(6);
  spec.checkpoint = unread_checkpoint();
  CHECK(position_table_rows(spec, 2) == 6);
  CHECK(position_table_rows(spec, 6) == 6);
  CHECK_THROWS_WITH_AS(position_table_rows(spec, 7),
                       "a sequence of 7 tokens is longer than the 6 positions of the weights of "
                       "gpt2; shorten it with --tokens",
                       Failure);
}

}  // namespace sublayers_test
