#include "experiments/rank_collapse/series_number.hpp"

#include <cstdio>

namespace ranklab {

std::string series_number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g", value);
  return buffer;
}

}  // namespace ranklab
