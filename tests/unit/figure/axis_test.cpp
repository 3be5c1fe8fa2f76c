#include "figure/axis.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace ranklab;

TEST_CASE("an axis over any finite numbers has numbers at its ticks and room for its ends") {
  const double values[] = {-1e290, -1,    -5e-324, 0, 5e-324, 2e-310, 2.3e-308,
                           1e-300, 1e-20, 1e-12,   1, 2,      1e290};
  for (const Scale scale : {Scale::linear, Scale::log, Scale::log10}) {
    for (const double low : values) {
      for (const double high : values) {
        if (low > high || (scale == Scale::log && low <= 0)) continue;
        if (scale == Scale::log10 && std::abs(low) + std::abs(high) > 1e6) continue;
        CAPTURE(low);
        CAPTURE(high);
        CAPTURE(static_cast<int>(scale));
        for (const bool at_values : {false, true}) {
          Extent extent;
          extent.include(low), extent.include(high);
          const DrawnAxis axis =
              make_axis({"", scale}, extent, 0.04, {.length = 320, .at_values = at_values});
          for (const double end : {low, high}) {
            CHECK(axis.fraction(end) >= 0);
            CHECK(axis.fraction(end) <= 1);
          }
          CHECK(axis.ticks.size() <= 100);
          for (const Tick& tick : axis.ticks) {
            CHECK(std::isfinite(tick.at));
            CHECK(tick.label.find_first_not_of("0123456789.-\u2212\u00D7e+") == std::string::npos);
          }
        }
      }
    }
  }
}
