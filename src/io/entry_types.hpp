// Stored entries as numbers: half-precision formats widened, bytes in either order, no alignment assumed.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace ranklab {

static_assert(std::endian::native == std::endian::little, "stored tensors are little-endian, and read as they lie");

/// IEEE 754 binary16, exactly: subnormals, infinities and NaN included. Without a branch, so that loops vectorise.
inline float widen_half(std::uint16_t half) {
  const std::uint32_t magnitude = half & 0x7FFFu;
  const float normal = std::bit_cast<float>((magnitude << 13) + (112u << 23));  // the exponent's bias: 127 instead of 15
  const float subnormal = static_cast<float>(magnitude) * 0x1p-24f;
  const float beyond = std::bit_cast<float>((magnitude << 13) | 0x7F800000u);
  const float value = magnitude >= 0x7C00u ? beyond : magnitude < 0x0400u ? subnormal : normal;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | (static_cast<std::uint32_t>(half & 0x8000u) << 16));
}

/// bfloat16: the upper half of a float.
inline float widen_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// An unsigned number of the bits of Raw at `bytes`, which need no alignment.
template <class Raw, bool big_endian>
Raw load_bits(const unsigned char* bytes) {
  Raw bits;
  std::memcpy(&bits, bytes, sizeof bits);
  if constexpr (big_endian && sizeof(Raw) == 2) bits = __builtin_bswap16(bits);
  if constexpr (big_endian && sizeof(Raw) == 4) bits = __builtin_bswap32(bits);
  if constexpr (big_endian && sizeof(Raw) == 8) bits = __builtin_bswap64(bits);
  return bits;
}

/// The little-endian number at `bytes`, as file formats hold sizes.
template <class Raw>
Raw load_little(const unsigned char* bytes) {
  return load_bits<Raw, false>(bytes);
}

/// One type of entries: the unsigned type of their bits, and their value.
template <class Raw_, class Value>
struct Plain {
  using Raw = Raw_;
  static double value(Raw bits) { return static_cast<double>(std::bit_cast<Value>(bits)); }
};
struct Half {
  using Raw = std::uint16_t;
  static double value(Raw bits) { return static_cast<double>(widen_half(bits)); }
};
struct BrainHalf {
  using Raw = std::uint16_t;
  static double value(Raw bits) { return static_cast<double>(widen_bfloat16(bits)); }
};
struct Boolean {
  using Raw = std::uint8_t;
  static double value(Raw bits) { return bits != 0 ? 1.0 : 0.0; }
};

}  // namespace ranklab
