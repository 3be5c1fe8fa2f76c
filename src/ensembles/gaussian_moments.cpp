#include "ensembles/gaussian_moments.hpp"

#include <array>
#include <cmath>
#include <numbers>

#include "core/undefined.hpp"

namespace ranklab {
namespace {

constexpr int nodes = 32;
// The normal density is below 1e-44 beyond this many standard deviations.
constexpr double cutoff = 14.0;
// Panels halve toward 0, because an h with its own scale varies there if the deviation is large.
constexpr int halvings = 40;
struct Rule {
  std::array<double, nodes> x{}, weight{};
};

// Gauss-Legendre on [-1, 1]: the nodes are the zeros of the Legendre polynomial P_nodes, found by
// Newton's method from the usual cosine approximation, with weights 2 / ((1 - x^2) P'(x)^2).
Rule gauss_legendre() {
  Rule rule;
  for (int i = 0; i < nodes; ++i) {
    double x = std::cos(std::numbers::pi * (i + 0.75) / (nodes + 0.5));
    double slope = 0.0;
    for (int step = 0; step < 20; ++step) {
      double previous = 1.0, current = x;
      for (int k = 2; k <= nodes; ++k) {
        const double next = ((2 * k - 1) * x * current - (k - 1) * previous) / k;
        previous = current;
        current = next;
      }
      slope = nodes * (x * current - previous) / (x * x - 1.0);
      const double change = current / slope;
      x -= change;
      if (std::fabs(change) < 1e-16) break;
    }
    rule.x[static_cast<std::size_t>(i)] = x;
    rule.weight[static_cast<std::size_t>(i)] = 2.0 / ((1.0 - x * x) * slope * slope);
  }
  return rule;
}

}  // namespace

double gaussian_expectation(const std::function<double(double)>& h, double standard_deviation) {
  static const Rule rule = gauss_legendre();
  double sum = 0.0;
  double right = cutoff;
  for (int panel = 0; panel <= halvings; ++panel) {
    const double left = panel == halvings ? 0.0 : right / 2.0;
    const double middle = (left + right) / 2.0, half = (right - left) / 2.0;
    for (std::size_t i = 0; i < nodes; ++i) {
      const double t = middle + half * rule.x[i];
      // Split at 0, so that a kink at 0 is an end point, and sum both sides, so that an odd h
      // cancels exactly.
      const double pair = h(standard_deviation * t) + h(-standard_deviation * t);
      sum += half * rule.weight[i] * std::exp(-0.5 * t * t) * pair;
    }
    right = left;
  }
  return sum / std::sqrt(2.0 * std::numbers::pi);
}

double GaussianMoments::noise_to_signal() const {
  if (mean == 0.0) return undefined;
  return second / (mean * mean);
}

GaussianMoments gaussian_moments(const Activation& activation, double variance) {
  const double deviation = std::sqrt(variance);
  const auto square = [&](double t) {
    const double y = activation.value(t);
    return y * y;
  };
  const GaussianMoments plain{gaussian_expectation(activation.value, deviation),
                              gaussian_expectation(square, deviation)};
  if (!activation.gated) return plain;
  // E[sigma(g1) g2] = E sigma(g1) * 0 and E[sigma(g1)^2 g2^2] = E sigma(g1)^2 * variance, by
  // independence.
  return {0.0, plain.second * variance};
}

}  // namespace ranklab
