#include "cli/sweep.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"

namespace sweep_test {

using namespace ranklab;

TEST_CASE("a sweep takes lists, ranges of integers, and lists of lists") {
  using Words = std::vector<std::string>;
  CHECK(sweep_values("64,128,256", "--sweep dim") == Words{"64", "128", "256"});
  CHECK(sweep_values("7", "--sweep dim") == Words{"7"});
  CHECK(sweep_values("9..12", "--sweep seed") == Words{"9", "10", "11", "12"});
  CHECK(sweep_values("0.5,1..3,-2", "--sweep x") == Words{"0.5", "1", "2", "3", "-2"});
  CHECK(sweep_values("1,2;3,4", "--sweep lambda") == Words{"1,2", "3,4"});
  CHECK(sweep_values("../w.npz", "--sweep weights") == Words{"../w.npz"});
  for (const char* text : {"", "1,,2", ",1", "5..4", "0..99999999999"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(sweep_values(text, "--sweep x"), UsageError);
  }
}

}  // namespace sweep_test
