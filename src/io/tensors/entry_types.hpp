// Converts stored entries to numbers: widens half-precision formats, reads either byte order,
// assumes no alignment.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>

namespace ranklab {

static_assert(std::endian::native == std::endian::little,
              "stored tensors are little-endian and are read without swapping bytes");

/// IEEE 754 binary16, exactly, including subnormals, infinities and NaN payloads. Selects by masks:
/// compilers turn a choice between two computed floats into a branch, and loops with a branch are
/// not vectorized.
inline float widen_half(std::uint16_t half) {
  const std::uint32_t magnitude = half & 0x7FFFu;
  const std::uint32_t shifted = magnitude << 13;
  // The exponent's bias is 127 instead of 15. The exponent of infinities and NaN is the largest,
  // and stays the largest.
  const std::uint32_t normal = shifted + (magnitude >= 0x7C00u ? 224u << 23 : 112u << 23);
  // 2^-14 (1 + m/1024) - 2^-14: no operand is a subnormal float, which processors handle slowly.
  const auto subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(shifted | (113u << 23)) - 0x1p-14f);
  const std::uint32_t is_subnormal = 0u - static_cast<std::uint32_t>(magnitude < 0x0400u);
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  return std::bit_cast<float>((subnormal & is_subnormal) | (normal & ~is_subnormal) | sign);
}

/// bfloat16: the upper half of a float.
inline float widen_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// The bits at `bytes` (any alignment) as an unsigned number.
template <class Raw, bool big_endian>
Raw load_bits(const unsigned char* bytes) {
  Raw bits;
  std::memcpy(&bits, bytes, sizeof bits);
  if constexpr (big_endian && sizeof(Raw) == 2) bits = __builtin_bswap16(bits);
  if constexpr (big_endian && sizeof(Raw) == 4) bits = __builtin_bswap32(bits);
  if constexpr (big_endian && sizeof(Raw) == 8) bits = __builtin_bswap64(bits);
  return bits;
}

/// The little-endian number at `bytes`, the byte order of sizes in the file formats.
template <class Raw>
Raw load_little(const unsigned char* bytes) {
  return load_bits<Raw, false>(bytes);
}

/// One type of entries: the unsigned type of their bits, and their value; a float if the stored
/// type is no wider.
template <class Value>
struct Plain {
  using Raw = std::conditional_t<
      sizeof(Value) == 8, std::uint64_t,
      std::conditional_t<sizeof(Value) == 4, std::uint32_t,
                         std::conditional_t<sizeof(Value) == 2, std::uint16_t, std::uint8_t>>>;
  using Widened = std::conditional_t<std::is_same_v<Value, float>, float, double>;
  static Widened value(Raw bits) { return static_cast<Widened>(std::bit_cast<Value>(bits)); }
};
struct Half {
  using Raw = std::uint16_t;
  static float value(Raw bits) { return widen_half(bits); }
};
struct BrainHalf {
  using Raw = std::uint16_t;
  static float value(Raw bits) { return widen_bfloat16(bits); }
};
struct Boolean {
  using Raw = std::uint8_t;
  static float value(Raw bits) { return bits != 0 ? 1.0f : 0.0f; }
};

/// The 8-bit floats of the Open Compute Project (OFP8, 2023). E4M3 has the exponents of binary16
/// up to a factor of 2^8, no infinity, and NaN only where all bits after the sign are 1.
struct Float8E4M3 {
  using Raw = std::uint8_t;
  static float value(Raw bits) {
    const std::uint32_t sign = (bits & 0x80u) << 8, magnitude = bits & 0x7Fu;
    if (magnitude == 0x7Fu) return std::bit_cast<float>(0x7FC00000u);
    return 256.0f * widen_half(static_cast<std::uint16_t>(sign | (magnitude << 7)));
  }
};
/// The upper half of a binary16.
struct Float8E5M2 {
  using Raw = std::uint8_t;
  static float value(Raw bits) { return widen_half(static_cast<std::uint16_t>(bits << 8)); }
};

/// In the order of Dtype.
using EntryTypes = std::tuple<Plain<double>, Plain<float>, Half, BrainHalf, Plain<std::int64_t>,
                              Plain<std::int32_t>, Plain<std::int16_t>, Plain<std::int8_t>,
                              Plain<std::uint64_t>, Plain<std::uint32_t>, Plain<std::uint16_t>,
                              Plain<std::uint8_t>, Boolean, Float8E4M3, Float8E5M2>;

}  // namespace ranklab
