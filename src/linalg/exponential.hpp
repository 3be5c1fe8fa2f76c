// exp, silu and softplus on packs, without calls or branches.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <type_traits>

#include "linalg/packs.hpp"

namespace ranklab {

/// 1 / n! for n = 0 ... terms.
template <class T, std::size_t terms>
consteval std::array<T, terms + 1> inverse_factorials() {
  std::array<T, terms + 1> out = {1};
  double factorial = 1;
  for (std::size_t n = 1; n <= terms; ++n) {
    factorial *= static_cast<double>(n);
    out[n] = static_cast<T>(1 / factorial);
  }
  return out;
}

/// e^x of each entry to 2 units in the last place: x = k ln 2 + r, the series of e^r, and k added
/// to the exponent. Arguments are clamped to [-86.6, 88.3] (float) or [-707.7, 709.3] (double); NaN
/// stays NaN.
template <class V>
[[gnu::always_inline]] inline V exponential(V x) {
  using T = EntryOf<V>;
  using Bits = Pack<BitsOf<T>>;
  constexpr bool single = std::is_same_v<T, float>;
  constexpr std::size_t terms = single ? 7 : 13;
  constexpr BitsOf<T> mantissa = single ? 23 : 52, bias = single ? 127 : 1023;
  constexpr T low = single ? T(-86.6) : T(-707.7), high = single ? T(88.3) : T(709.3);
  // ln 2 in two parts. The first has few enough digits that its products with k are exact.
  constexpr T log_2_high = single ? T(0.693359375) : T(6.93147180369123816490e-01),
              log_2_low = single ? T(-2.12194440e-4) : T(1.90821492927058770002e-10);
  x = x < low ? all<T>(low) : x;
  x = x > high ? all<T>(high) : x;
  // Adding and subtracting 1.5 2^mantissa rounds to an integer, which the low bits of the sum hold.
  constexpr T shift = single ? T(12582912.0) : T(6755399441055744.0);
  const V shifted = x * T(1.4426950408889634074) + shift;
  const V k = shifted - shift, r = (x - k * log_2_high) - k * log_2_low;
  constexpr auto coefficients = inverse_factorials<T, terms>();
  V series = all<T>(coefficients[terms]);
  for (std::size_t n = terms; n > 0; --n) series = series * r + coefficients[n - 1];
  const Bits exponent = std::bit_cast<Bits>(shifted) - std::bit_cast<BitsOf<T>>(shift) + (bias - 1);
  // Multiply by 2^(k-1) and by 2, because k may exceed the largest exponent by one.
  return T(2) * series * std::bit_cast<V>(exponent << mantissa);
}

/// Values and derivatives of a function, entry by entry.
template <class V>
struct Point {
  V value, slope;
};

/// z / (1 + e^-z).
template <class V>
[[gnu::always_inline]] inline Point<V> silu(V z) {
  const V p = EntryOf<V>(1) / (EntryOf<V>(1) + exponential(-z));
  return {z * p, p * (EntryOf<V>(1) + z * (EntryOf<V>(1) - p))};
}

/// log(1 + e^t) = max(t, 0) + log(1 + w), w = e^-|t|, where log(1 + w) = 2 artanh(s), s = w / (2 +
/// w) <= 1/3, by its series.
template <class V>
[[gnu::always_inline]] inline Point<V> softplus(V t) {
  using T = EntryOf<V>;
  constexpr int terms = std::is_same_v<T, float> ? 6 : 15;
  const V w = exponential(-absolute(t)), s = w / (T(2) + w), inverse = T(1) / (T(1) + w);
  V series = {};
  for (int k = terms; k >= 0; --k) series = series * (s * s) + T(1) / static_cast<T>(2 * k + 1);
  return {(t > T(0) ? t : V{}) + T(2) * s * series, t > T(0) ? inverse : w * inverse};
}

}  // namespace ranklab
