// The precision of the steps, which the mixer of Mamba-2 does not show. The rest is tested through
// the mixer.
#include "nn/layers/ssd.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"

namespace ssd_test {

using namespace ranklab;

// For one token with x = B = C = 1 and D = 0, y = dt.
TEST_CASE_TEMPLATE(
    "steps are log(1 + exp(.)) with the same relative precision for large and small steps", T,
    float, double) {
  const Streams trial(3, 0);
  Ssd<T> ssd({.heads = 1, .head_width = 1, .state = 1, .length = 1},
             InitialWeights(Initialization::fan, trial));
  ssd.D.W.zeros();
  ssd.dt_bias.W.fill(T(0.25));
  const T ones[] = {1, 1, 1};
  ssd.start(1);
  for (T raw = -80; raw <= 80; raw += T(0.125)) {
    CAPTURE(raw);
    const long double w = std::exp(static_cast<long double>(raw) + 0.25L), dt = std::log1p(w),
                      slope = w / (1 + w);
    T y = 0, dxBC[3], draw = 0;
    ssd.forward(0, ones, &raw, 1, &y);
    CHECK(std::fabs(static_cast<double>(y / dt - 1)) <= tolerance::closed_form<T>);
    for (Parameter<T>* parameter : {&ssd.dt_bias, &ssd.A_log, &ssd.D}) parameter->clear_gradient();
    ssd.backward(0, ones, ones, dxBC, &draw, 1);
    CHECK(std::fabs(static_cast<double>(draw / slope - 1)) <= tolerance::closed_form<T>);
    CHECK(ssd.dt_bias.G[0] == draw);
    for (const T g : dxBC) CHECK(g == y);  // in each of x, B and C
  }
}

}  // namespace ssd_test
