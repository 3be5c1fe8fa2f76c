#include "linalg/exponential.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/tolerances.hpp"

namespace exponential_test {

using namespace ranklab;

template <class T>
T exp_of(T x) {
  return exponential(all(x))[pack_size<T> - 1];
}

// The next wider type is the independent reference: double for float, long double for double.
TEST_CASE_TEMPLATE("exp is accurate to two units in the last place for all normal results", T,
                   float, double) {
  const T low = std::is_same_v<T, float> ? T(-86.6) : T(-707.7),
          high = std::is_same_v<T, float> ? T(88) : T(709);
  double worst = 0;
  for (int i = 0; i <= 200'000; ++i) {
    const T x = low + (high - low) * static_cast<T>(i) / T(200'000);
    const long double exact = std::exp(static_cast<long double>(x));
    worst = std::max(
        worst, static_cast<double>(std::fabs(static_cast<long double>(exp_of(x)) / exact - 1)));
  }
  CHECK(worst <= 2 * tolerance::epsilon<T>);
  CHECK(exp_of(T(0)) == T(1));
}

TEST_CASE_TEMPLATE("exp saturates beyond the normal numbers and propagates NaN", T, float, double) {
  CHECK(exp_of(T(-1e4)) > 0);
  CHECK(exp_of(T(-1e4)) < 1e-37);
  CHECK(std::isfinite(exp_of(T(1e4))));
  CHECK(std::isfinite(exp_of(std::numeric_limits<T>::infinity())));
  CHECK(exp_of(-std::numeric_limits<T>::infinity()) < 1e-37);
  CHECK(std::isnan(exp_of(std::numeric_limits<T>::quiet_NaN())));
}

TEST_CASE_TEMPLATE("packs cover each entry of an array once, the last ones in a shorter pack", T,
                   float, double) {
  for (std::size_t n = 0; n <= 3 * pack_size<T> + 1; ++n) {
    std::vector<T> x(n + 1, T(7)), y(n + 1, T(-1));
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(i) - T(4);
    for_packs<T>(n, [&](std::size_t i, auto count) {
      store(absolute(load(x.data() + i, count)) + T(1), y.data() + i, count);
    });
    for (std::size_t i = 0; i < n; ++i) CHECK(y[i] == std::fabs(x[i]) + T(1));
    CHECK(y[n] == T(-1));
  }
}

}  // namespace exponential_test
