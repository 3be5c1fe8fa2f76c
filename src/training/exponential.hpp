// exp as a loop over an array can have it: without a call, so that the compiler makes vector instructions of it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace ranklab {

/// e^x to 2 units in the last place: x = k ln 2 + r, the series of e^r, and k added to the exponent. Arguments below
/// -86.6 (float) or -707.7 count as that, those above 88.3 or 709.3 as these; NaN stays.
template <class T>
inline T exponential(T x) {
  constexpr bool single = std::is_same_v<T, float>;
  constexpr int terms = single ? 7 : 13, mantissa = single ? 23 : 52, bias = single ? 127 : 1023;
  using Bits = std::conditional_t<single, std::int32_t, std::int64_t>;
  constexpr T low = single ? T(-86.6) : T(-707.7), high = single ? T(88.3) : T(709.3);
  // ln 2 in two parts, the first with so few digits that its products with k are exact.
  constexpr T log_2_high = single ? T(0.693359375) : T(6.93147180369123816490e-01),
              log_2_low = single ? T(-2.12194440e-4) : T(1.90821492927058770002e-10);
  x = x < low ? low : x;
  x = x > high ? high : x;
  // Adding 1.5 2^mantissa and taking it away rounds to an integer; the low bits of the sum are that integer.
  constexpr T shift = single ? T(12582912.0) : T(6755399441055744.0);
  const T shifted = x * T(1.4426950408889634074) + shift;
  const T k = shifted - shift, r = (x - k * log_2_high) - k * log_2_low;
  T series = 1;
  for (int n = terms; n > 0; --n) series = T(1) + series * r * (T(1) / T(n));
  const Bits exponent = std::bit_cast<Bits>(shifted) - std::bit_cast<Bits>(shift) + bias - 1;
  // Half of 2^k, and the factor 2 apart: k may be one more than the largest exponent.
  return T(2) * series * std::bit_cast<T>(static_cast<Bits>(exponent << mantissa));
}

}  // namespace ranklab
