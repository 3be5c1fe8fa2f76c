// Loops over arrays by vector instructions, whatever the compiler makes of a branch: a pack is as many numbers as an instruction
// takes, its operators and `condition ? a : b` work entry by entry.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>
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

/// a_0 b_0 a_1 b_1 ..., as two packs.
template <class V>
[[gnu::always_inline]] inline std::pair<V, V> zip(V a, V b) {
  constexpr int w = pack_size<EntryOf<V>>, half = w / 2;
  return [&]<int... i>(std::integer_sequence<int, i...>) {
    return std::pair<V, V>{__builtin_shufflevector(a, b, (i / 2 + i % 2 * w)...),
                           __builtin_shufflevector(a, b, (half + i / 2 + i % 2 * w)...)};
  }
  (std::make_integer_sequence<int, w>());
}

/// Rows become columns: entry j of rows[i] becomes entry i of rows[j].
template <class V>
[[gnu::always_inline]] inline void transpose(V (&rows)[pack_size<EntryOf<V>>]) {
  constexpr std::size_t w = pack_size<EntryOf<V>>;
  // Each round moves the highest bit of a row's number to the end of the number of the entry.
  for (std::size_t round = 1; round < w; round *= 2) {
    V zipped[w];
    for (std::size_t i = 0; i < w / 2; ++i) std::tie(zipped[2 * i], zipped[2 * i + 1]) = zip(rows[i], rows[i + w / 2]);
    for (std::size_t i = 0; i < w; ++i) rows[i] = zipped[i];
  }
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
