#include "ensembles/gaussian_moments.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "core/tolerances.hpp"

namespace gaussian_moments_test {

using namespace ranklab;
using std::numbers::pi;

namespace {

doctest::Approx close(double expected) {
  return doctest::Approx(expected).epsilon(tolerance::residual<double>);
}

const std::vector<double> variances = {1e-8, 1e-4, 0.25, 1.0, 4.0, 100.0, 1e4, 1e8};

GaussianMoments moments(const char* name, double variance) {
  return gaussian_moments(find_activation(name), variance);
}

// Composite Simpson rule over +-12 standard deviations on an even grid: slow, and independent of
// the quadrature under test.
template <class Function>
double simpson(const Function& h, double deviation) {
  constexpr int panels = 200000;
  constexpr double reach = 12.0, step = 2.0 * reach / panels;
  double sum = 0.0;
  for (int i = 0; i <= panels; ++i) {
    const double t = -reach + step * i;
    const double weight = i == 0 || i == panels ? 1.0 : (i % 2 == 1 ? 4.0 : 2.0);
    sum += weight * h(deviation * t) * std::exp(-0.5 * t * t);
  }
  return sum * step / 3.0 / std::sqrt(2.0 * pi);
}

}  // namespace

TEST_CASE("moments of piecewise polynomials match closed forms") {
  for (const double v : variances) {
    CAPTURE(v);
    CHECK(moments("abs", v).mean == close(std::sqrt(2.0 * v / pi)));
    CHECK(moments("abs", v).second == close(v));
    CHECK(moments("relu", v).mean == close(std::sqrt(v / (2.0 * pi))));
    CHECK(moments("relu", v).second == close(v / 2.0));
    CHECK(moments("leaky-relu", v).mean == close(0.9 * std::sqrt(v / (2.0 * pi))));
    CHECK(moments("leaky-relu", v).second == close(v * 1.01 / 2.0));
    CHECK(moments("relu2", v).mean == close(v / 2.0));
    CHECK(moments("relu2", v).second == close(1.5 * v * v));
    CHECK(moments("quadratic", v).mean == close(v));
    CHECK(moments("quadratic", v).second == close(3.0 * v * v));
  }
}

TEST_CASE("moments of gelu match closed forms") {
  // Stein's identity twice, with E Phi(g)^2 the orthant probability of correlation v/(1 + v);
  // asin(v/(1 + v)) written as an arctangent, which keeps its digits at large v.
  for (const double v : variances) {
    CAPTURE(v);
    CHECK(moments("gelu", v).mean == close(v / std::sqrt(2.0 * pi * (1.0 + v))));
    const double second = v * (0.25 + std::atan(v / std::sqrt(1.0 + 2.0 * v)) / (2.0 * pi) +
                               v / (pi * (1.0 + v) * std::sqrt(1.0 + 2.0 * v)));
    CHECK(moments("gelu", v).second == close(second));
  }
}

TEST_CASE("moments of silu and tanh agree with Simpson's rule") {
  for (const double v : {0.25, 1.0, 4.0, 25.0}) {
    CAPTURE(v);
    for (const char* name : {"silu", "tanh", "gelu"}) {
      CAPTURE(name);
      const Activation& a = find_activation(name);
      CHECK(moments(name, v).second ==
            close(simpson([&](double t) { return a.value(t) * a.value(t); }, std::sqrt(v))));
    }
    CHECK(moments("silu", v).mean == close(simpson(find_activation("silu").value, std::sqrt(v))));
  }
}

TEST_CASE("swiglu multiplies by an independent centered Gaussian") {
  for (const double v : {0.25, 1.0, 9.0}) {
    CHECK(moments("swiglu", v).mean == 0.0);
    CHECK(moments("swiglu", v).second == close(v * moments("silu", v).second));
  }
}

TEST_CASE("the noise-to-signal ratio is undefined if and only if the mean is zero") {
  for (const char* name : {"tanh", "identity", "swiglu"})
    CHECK(std::isnan(moments(name, 2.0).noise_to_signal()));
  CHECK(moments("relu", 2.0).noise_to_signal() == close(pi));
  CHECK(moments("gelu", 1e-8).noise_to_signal() > 1.0);
}

}  // namespace gaussian_moments_test
