// Loops over arrays by vector instructions, whatever the compiler makes of a branch: a pack is as many numbers as an instruction
// takes, its operators and `condition ? a : b` work entry by entry.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace ranklab {

#if defined(__AVX512F__)
inline constexpr std::size_t pack_bytes = 64;
#elif defined(__AVX__)
inline constexpr std::size_t pack_bytes = 32;
#else
inline constexpr std::size_t pack_bytes = 16;
#endif

template <class T>
inline constexpr std::size_t pack_size = pack_bytes / sizeof(T);

template <class T>
struct PackOf {
  using type __attribute__((vector_size(pack_bytes))) = T;
};
template <class T>
using Pack = typename PackOf<T>::type;

/// An integer as long as T.
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

/// The entries of a pack are T.
template <class V>
using EntryOf = std::remove_cvref_t<decltype(std::declval<V&>()[0])>;

template <class T>
[[gnu::always_inline]] inline Pack<T> all(T x) {
  return Pack<T>{} + x;
}

/// |x| in each entry.
template <class V>
[[gnu::always_inline]] inline V absolute(V x) {
  using Bits = BitsOf<EntryOf<V>>;
  return std::bit_cast<V>(std::bit_cast<Pack<Bits>>(x) & std::numeric_limits<Bits>::max());
}

/// From p on `count` numbers, at most a pack's; zeros behind them.
template <class T, class Count>
[[gnu::always_inline]] inline Pack<T> load(const T* p, Count count) {
  Pack<T> x = {};
  std::memcpy(&x, p, count * sizeof(T));
  return x;
}

/// To p on, the first `count` of a pack.
template <class T, class Count>
[[gnu::always_inline]] inline void store(const Pack<T>& x, T* p, Count count) {
  std::memcpy(p, &x, count * sizeof(T));
}

/// body(i, count) for i = 0, w, 2 w, ...: w numbers from i on each time, fewer the last time.
template <class T, class Body>
[[gnu::always_inline]] inline void for_packs(std::size_t n, const Body& body) {
  constexpr std::integral_constant<std::size_t, pack_size<T>> whole;
  std::size_t i = 0;
  for (; i + whole <= n; i += whole) body(i, whole);
  if (i < n) body(i, n - i);
}

}  // namespace ranklab
