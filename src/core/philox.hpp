// Philox 4x32-10, the counter-based random number generator of Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3" (2011): a block cipher of four 32-bit words whose output for
// counters 0, 1, 2, ... is a random sequence.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ranklab {

namespace philox {

constexpr std::uint32_t multiplier_0 = 0xD2511F53, multiplier_1 = 0xCD9E8D57;
constexpr std::uint32_t key_step_0 = 0x9E3779B9,
                        key_step_1 = 0xBB67AE85;  // golden ratio - 1 and sqrt(3) - 1, times 2^32
constexpr int rounds = 10;

}  // namespace philox

/// One block: ten rounds of two products each. Their high words are combined with the other words
/// and the key by XOR; their low words change places.
inline std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> x,
                                               std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < philox::rounds; ++round) {
    const std::uint64_t product_0 = std::uint64_t{philox::multiplier_0} * x[0],
                        product_1 = std::uint64_t{philox::multiplier_1} * x[2];
    x = {static_cast<std::uint32_t>(product_1 >> 32) ^ x[1] ^ key[0],
         static_cast<std::uint32_t>(product_1),
         static_cast<std::uint32_t>(product_0 >> 32) ^ x[3] ^ key[1],
         static_cast<std::uint32_t>(product_0)};
    key[0] += philox::key_step_0;
    key[1] += philox::key_step_1;
  }
  return x;
}

/// `count` blocks with the counters {first + i, counter[0], counter[1], counter[2]}; word j of
/// block i goes to words[j][i]. `first` + `count` is at most 2^32. Computes eight blocks at a time
/// if compiled for AVX2, with the same words.
void philox4x32_blocks(std::uint64_t first, std::size_t count,
                       const std::array<std::uint32_t, 3>& counter,
                       const std::array<std::uint32_t, 2>& key,
                       const std::array<std::uint32_t*, 4>& words);

}  // namespace ranklab
