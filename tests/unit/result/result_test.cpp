#include "result/result.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace result_test {

using namespace ranklab;

TEST_CASE("a series ends at the shortest trial and averages the defined values") {
  const Series series = series_over_trials("s", "t", {{1, 2, 3}, {3, 4}}, 5.0);
  CHECK(series.x == std::vector<double>{5, 6});
  CHECK(series.mean == std::vector<double>{2, 3});
  CHECK(series.std[0] == doctest::Approx(std::sqrt(2.0)).epsilon(1e-15));
  const Series with_gap = series_over_trials("s", "t", {{1, NAN}, {3, NAN}, {5, 7}});
  CHECK(with_gap.mean[0] == 3);
  CHECK(with_gap.mean[1] == 7);
  CHECK(with_gap.std[1] == 0);
  CHECK(with_gap.n == std::vector<std::uint64_t>{3, 1});
  CHECK(series.n.empty());  // every trial defines every point
}

}  // namespace result_test
