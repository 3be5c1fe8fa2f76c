// Sizes that divide others.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ranklab {

/// The largest divisor of `size` that is at most `most`; both at least 1.
constexpr std::uint64_t largest_divisor(std::uint64_t size, std::uint64_t most) {
  std::uint64_t divisor = std::min(size, most);
  while (size % divisor != 0) --divisor;
  return divisor;
}

}  // namespace ranklab
