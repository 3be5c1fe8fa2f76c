// Loops over arrays with explicit vector instructions, independent of the compiler's vectorizer. A
// pack holds as many numbers as one instruction processes; its operators and `condition ? a : b`
// work entry by entry.
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

/// The integer type of the same size as T.
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

/// The type of the entries of a pack.
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

/// Loads `count` numbers from p, at most a pack; fills the rest with zeros.
template <class T, class Count>
[[gnu::always_inline]] inline Pack<T> load(const T* p, Count count) {
  Pack<T> x = {};
  std::memcpy(&x, p, count * sizeof(T));
  return x;
}

/// Stores the first `count` numbers of a pack to p.
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

/// Transposes: entry j of rows[i] becomes entry i of rows[j].
template <class V>
[[gnu::always_inline]] inline void transpose(V (&rows)[pack_size<EntryOf<V>>]) {
  constexpr std::size_t w = pack_size<EntryOf<V>>;
  // Each round moves the highest bit of the row index to the lowest bit of the entry index.
  for (std::size_t round = 1; round < w; round *= 2) {
    V zipped[w];
    for (std::size_t i = 0; i < w / 2; ++i)
      std::tie(zipped[2 * i], zipped[2 * i + 1]) = zip(rows[i], rows[i + w / 2]);
    for (std::size_t i = 0; i < w; ++i) rows[i] = zipped[i];
  }
}

/// Calls body(i, count) for i = 0, w, 2 w, ... with w numbers each; the last call may have fewer.
template <class T, class Body>
[[gnu::always_inline]] inline void for_packs(std::size_t n, const Body& body) {
  constexpr std::integral_constant<std::size_t, pack_size<T>> whole;
  std::size_t i = 0;
  for (; i + whole <= n; i += whole) body(i, whole);
  if (i < n) body(i, n - i);
}

}  // namespace ranklab
