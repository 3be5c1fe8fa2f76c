#include "core/philox.hpp"

#include <doctest/doctest.h>

#include <vector>

#if __has_include(<Random123/philox.h>)
#define RANKLAB_TESTS_RANDOM123
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#include <Random123/philox.h>
#pragma GCC diagnostic pop
#undef philox4x32  // a macro in the library, a function here
#endif

namespace philox_test {

using namespace ranklab;

using Words = std::array<std::uint32_t, 4>;

/// The output of philox4x32_blocks, computed block by block.
std::vector<Words> blocks(std::uint64_t first, std::size_t count,
                          const std::array<std::uint32_t, 3>& counter,
                          const std::array<std::uint32_t, 2>& key) {
  std::vector<std::uint32_t> words[4];
  for (auto& word : words) word.assign(count + 1, 0xabadcafe);
  philox4x32_blocks(first, count, counter, key,
                    {words[0].data(), words[1].data(), words[2].data(), words[3].data()});
  std::vector<Words> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back({words[0][i], words[1][i], words[2][i], words[3][i]});
  for (const auto& word : words)
    CHECK(word[count] == 0xabadcafe);  // nothing is written beyond the last block
  return out;
}

TEST_CASE("Philox 4x32-10 gives Random123's published known answers") {
  // The three rows `philox4x32 10` of the library's file tests/kat_vectors: counter, key, answer.
  constexpr std::uint32_t ones = 0xffffffff;
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32({ones, ones, ones, ones}, {ones, ones}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("blocks generated together give the known answers at every position") {
  // The third row's counter begins at 0x243f6a88: it is at position `before` of a fill that starts
  // `before` blocks earlier.
  for (const std::uint32_t before : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 19u}) {
    const auto made = blocks(0x243f6a88u - before, before + 3, {0x85a308d3, 0x13198a2e, 0x03707344},
                             {0xa4093822, 0x299f31d0});
    CHECK(made[before] == Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
  }
}

TEST_CASE("blocks generated together equal single blocks, up to the last counter") {
  const std::array<std::uint32_t, 2> key = {0x89abcdef, 0x01234567};
  const std::uint64_t end = std::uint64_t{1} << 32;
  for (const std::size_t count : {0u, 1u, 7u, 8u, 9u, 16u, 37u}) {
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{41}, end - 40, end - count}) {
      const auto made = blocks(first, count, {42, 0x100df4a3, 0x1ecc8413}, key);
      for (std::size_t i = 0; i < count; ++i)
        CHECK(made[i] ==
              philox4x32({static_cast<std::uint32_t>(first + i), 42, 0x100df4a3, 0x1ecc8413}, key));
    }
  }
}

#ifdef RANKLAB_TESTS_RANDOM123
TEST_CASE("every word equals that of the Random123 library") {
  std::uint64_t bits = 1;  // a linear congruential generator, for keys and counters of all sizes
  const auto next = [&] {
    return static_cast<std::uint32_t>((bits = 6364136223846793005u * bits + 1442695040888963407u) >>
                                      32);
  };
  for (int draw = 0; draw < 10'000; ++draw) {
    const Words counter = {next(), next(), next(), next()};
    const std::array<std::uint32_t, 2> key = {next(), next()};
    const auto expected =
        r123::Philox4x32()({{counter[0], counter[1], counter[2], counter[3]}}, {{key[0], key[1]}});
    CHECK(philox4x32(counter, key) ==
          Words{expected.v[0], expected.v[1], expected.v[2], expected.v[3]});
    if (draw >= 100) continue;
    const auto made = blocks(counter[0] / 2, 21, {counter[1], counter[2], counter[3]}, key);
    for (std::uint32_t i = 0; i < made.size(); ++i) {
      const auto single = r123::Philox4x32()(
          {{counter[0] / 2 + i, counter[1], counter[2], counter[3]}}, {{key[0], key[1]}});
      CHECK(made[i] == Words{single.v[0], single.v[1], single.v[2], single.v[3]});
    }
  }
}
#endif

}  // namespace philox_test
