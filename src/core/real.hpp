// A size or a count in a formula.
#pragma once

#include <cstdint>

namespace ranklab {

constexpr double real(std::uint64_t n) {
  return static_cast<double>(n);
}

}  // namespace ranklab
