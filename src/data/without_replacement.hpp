// Uniform draws without replacement.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace ranklab {

/// Fisher and Yates: the first uniforms.size() entries of `pool` become draws from it without
/// replacement, in drawing order; the other entries follow. `uniforms` are in (0, 1), at most as
/// many as the pool has entries.
inline void draw_without_replacement(std::span<std::uint32_t> pool,
                                     std::span<const double> uniforms) {
  for (std::size_t i = 0; i < uniforms.size(); ++i) {
    const std::size_t left = pool.size() - i;
    const auto drawn = static_cast<std::size_t>(uniforms[i] * static_cast<double>(left));
    std::swap(pool[i], pool[i + std::min(drawn, left - 1)]);
  }
}

}  // namespace ranklab
