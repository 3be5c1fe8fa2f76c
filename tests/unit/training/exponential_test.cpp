#include "training/exponential.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/tolerances.hpp"

namespace exponential_test {

using namespace ranklab;

// The next wider type is the independent route: double for float, long double for double.
TEST_CASE_TEMPLATE("exp within two units in the last place over all normal results", T, float, double) {
  const T low = std::is_same_v<T, float> ? T(-86.6) : T(-707.7), high = std::is_same_v<T, float> ? T(88) : T(709);
  double worst = 0;
  for (int i = 0; i <= 200'000; ++i) {
    const T x = low + (high - low) * static_cast<T>(i) / T(200'000);
    const long double exact = std::exp(static_cast<long double>(x));
    worst = std::max(worst, static_cast<double>(std::fabs(static_cast<long double>(exponential(x)) / exact - 1)));
  }
  CHECK(worst <= 2 * tolerance::epsilon<T>);
  CHECK(exponential(T(0)) == T(1));
}

TEST_CASE_TEMPLATE("beyond the normal numbers it stops, and nan stays", T, float, double) {
  CHECK(exponential(T(-1e4)) > 0);
  CHECK(exponential(T(-1e4)) < 1e-37);
  CHECK(std::isfinite(exponential(T(1e4))));
  CHECK(std::isfinite(exponential(std::numeric_limits<T>::infinity())));
  CHECK(exponential(-std::numeric_limits<T>::infinity()) < 1e-37);
  CHECK(std::isnan(exponential(std::numeric_limits<T>::quiet_NaN())));
}

}  // namespace exponential_test
