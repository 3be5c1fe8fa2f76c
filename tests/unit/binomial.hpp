// The binomial law by another way than src/core/statistics.cpp.
#pragma once

#include <cstddef>
#include <vector>

// P(X <= x) of a binomial X, by adding one trial after the other.
inline double binomial_by_recursion(int n, double p, int x) {
  std::vector<double> mass(static_cast<std::size_t>(n) + 1, 0.0);
  mass[0] = 1.0;
  for (int trial = 0; trial < n; ++trial) {
    for (std::size_t j = mass.size() - 1; j > 0; --j) mass[j] = mass[j] * (1 - p) + mass[j - 1] * p;
    mass[0] *= 1 - p;
  }
  double sum = 0.0;
  for (int j = 0; j <= x; ++j) sum += mass[static_cast<std::size_t>(j)];
  return sum;
}
