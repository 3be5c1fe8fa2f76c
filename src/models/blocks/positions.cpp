#include "models/blocks/positions.hpp"

#include <algorithm>
#include <numeric>

#include "core/error.hpp"

namespace ranklab {

std::vector<std::uint32_t> places(std::uint64_t tokens) {
  std::vector<std::uint32_t> out(tokens);
  std::iota(out.begin(), out.end(), 0u);
  return out;
}

std::uint64_t positions_of_table(const ModelSpec& spec, std::uint64_t tokens) {
  if (spec.checkpoint != nullptr && tokens > spec.positions) {
    throw Failure("a sequence of " + std::to_string(tokens) + " tokens is longer than the " + std::to_string(spec.positions) +
                  " positions that the weights of " + spec.model + " have; --tokens cuts it");
  }
  return std::max(spec.positions, tokens);
}

}  // namespace ranklab
