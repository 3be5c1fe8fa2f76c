#include "figure/axis.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "figure/symbols.hpp"

using namespace ranklab;

namespace {

DrawnAxis axis_over(const Axis& axis, const std::vector<double>& values) {
  Extent extent;
  for (const double value : values) extent.include(value);
  return make_axis(axis, extent, 0, {.length = 400, .at_values = true});
}

std::vector<std::string> labels_of(const DrawnAxis& axis) {
  std::vector<std::string> out;
  for (const Tick& tick : axis.ticks) out.push_back(tick.label);
  return out;
}

}  // namespace

TEST_CASE("up to nine values have ticks, and both signs have the same labels") {
  const DrawnAxis axis = axis_over({"lambda"}, {-5, -3, -1, -0.5, 0, 0.5, 1, 3, 5});
  CHECK(labels_of(axis) ==
        std::vector<std::string>{"\u22125", "\u22123", "\u22121", "", "0", "", "1", "3", "5"});
  const DrawnAxis more = axis_over({"step"}, {0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100});
  CHECK(labels_of(more) == std::vector<std::string>{"0", "20", "40", "60", "80", "100"});
}

TEST_CASE("an axis in percent has the values of shares") {
  const DrawnAxis axis = axis_over({"accuracy (%)", Scale::percent}, {0, 1});
  CHECK(labels_of(axis) == std::vector<std::string>{"0", "20", "40", "60", "80", "100"});
  CHECK(axis.ticks.back().at == 1);
}

TEST_CASE("names of ticks have signs and powers") {
  const DrawnAxis axis =
      axis_over({.label = "lambda", .ticks = {"-1", "learned", "d^0.5"}}, {1, 3});
  CHECK(labels_of(axis) ==
        std::vector<std::string>{"\u22121", "learned", label_with_symbols("d^0.5")});
}

TEST_CASE("an axis over any finite numbers has numbers at its ticks and room for its ends") {
  const double values[] = {-1e290, -1,    -5e-324, 0, 5e-324, 2e-310, 2.3e-308,
                           1e-300, 1e-20, 1e-12,   1, 2,      1e290};
  for (const Scale scale : {Scale::linear, Scale::log, Scale::log10, Scale::percent}) {
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
