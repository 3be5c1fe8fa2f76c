#include "linalg/product.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "linalg/packs.hpp"

namespace ranklab {
namespace {

// A tile of C: with AVX2, its 2 x 6 sums, 2 packs of A and an entry of B use 15 of 16 registers.
constexpr arma::uword tile_packs = 2, tile_columns = 6;

// Up to this many entries, A is read in place: rows of tiles find it in the first-level cache. With
// up to this many columns of B, copying A costs more than it saves.
constexpr arma::uword small_left = 4096, few_columns = 32;
// A larger A is copied in parts of at most this many entries and this many columns of A; each part
// is multiplied by about this many entries of B at a time.
constexpr arma::uword copied_left = 16384, most_depth = 256, most_right = 16384;
// Beyond this size OpenBLAS, which also copies B, is as fast (AVX2; for smaller parts it is 1.05 to
// 2 times slower).
constexpr arma::uword large_left = 1 << 18;

/// Entry (l, j) of op(B), whose columns or rows are contiguous in memory.
template <class T>
struct ByColumns {
  const T* first;
  arma::uword leading;
  T operator()(arma::uword l, arma::uword j) const { return first[l + j * leading]; }
  ByColumns from(arma::uword l, arma::uword j) const { return {first + l + j * leading, leading}; }
};
template <class T>
struct ByRows {
  const T* first;
  arma::uword leading;
  T operator()(arma::uword l, arma::uword j) const { return first[l * leading + j]; }
  ByRows from(arma::uword l, arma::uword j) const { return {first + l * leading + j, leading}; }
};

template <class T>
struct Scale {
  T alpha, beta;
};

/// Calls body(0), ..., body(n - 1), unrolled: an array that is indexed only by constants stays in
/// registers.
template <arma::uword n, class Body>
[[gnu::always_inline]] inline void each(const Body& body) {
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (body(std::integral_constant<std::size_t, i>{}), ...);
  }
  (std::make_index_sequence<n>{});
}

/// C = alpha A op(B) + beta C for `packs` packs of rows, starting at A and C, and `columns`
/// columns.
template <arma::uword packs, arma::uword columns, class T, class Right>
[[gnu::always_inline]] inline void tile(arma::uword k, const T* A, arma::uword lda,
                                        const Right& right, T* C, arma::uword ldc,
                                        const Scale<T>& scale) {
  constexpr std::integral_constant<std::size_t, pack_size<T>> whole;
  Pack<T> sums[packs][columns];
  const auto entry = [&](auto r, auto j) { return C + j * ldc + r * whole; };
  each<packs>([&](auto r) { each<columns>([&](auto j) { sums[r][j] = Pack<T>{}; }); });
  for (arma::uword l = 0; l < k; ++l) {
    Pack<T> a[packs];
    each<packs>([&](auto r) { a[r] = load(A + l * lda + r * whole, whole); });
    each<columns>([&](auto j) {
      const T b = right(l, j);
      each<packs>([&](auto r) { sums[r][j] += a[r] * b; });
    });
  }
  each<packs>([&](auto r) { each<columns>([&](auto j) { sums[r][j] *= scale.alpha; }); });
  if (scale.beta != 0) {
    each<packs>([&](auto r) {
      each<columns>([&](auto j) { sums[r][j] += scale.beta * load(entry(r, j), whole); });
    });
  }
  each<columns>(
      [&](auto j) { each<packs>([&](auto r) { store(sums[r][j], entry(r, j), whole); }); });
}

/// The rows in which op(B) may be nonzero: in column j, from row j + first to before row j + end.
struct Band {
  arma::sword first, end;
  arma::uword clamped(arma::sword row, arma::uword k) const {
    return static_cast<arma::uword>(std::clamp<arma::sword>(row, 0, static_cast<arma::sword>(k)));
  }
  std::pair<arma::uword, arma::uword> rows(arma::uword j, arma::uword columns,
                                           arma::uword k) const {
    return {clamped(static_cast<arma::sword>(j) + first, k),
            clamped(static_cast<arma::sword>(j + columns) - 1 + end, k)};
  }
  Band from(arma::uword l, arma::uword j) const {
    const auto shift = static_cast<arma::sword>(j) - static_cast<arma::sword>(l);
    return {first + shift, end + shift};
  }
};

/// One row of tiles: columns `start` to n - 1.
template <arma::uword packs, class T, class Right>
void row_of_tiles(arma::uword start, arma::uword n, arma::uword k, const T* A, arma::uword lda,
                  const Right& right, const Band& band, T* C, arma::uword ldc,
                  const Scale<T>& scale) {
  arma::uword j = start;
  const auto next = [&](const auto columns) __attribute__((always_inline)) {
    const auto [begin, end] = band.rows(j, columns, k);
    tile<packs, columns>(end - begin, A + begin * lda, lda, right.from(begin, j), C + j * ldc, ldc,
                         scale);
    j += columns;
  };
  while (n - j >= tile_columns) next(std::integral_constant<arma::uword, tile_columns>());
  switch (n - j) {
    case 5:
      return next(std::integral_constant<arma::uword, 5>());
    case 4:
      return next(std::integral_constant<arma::uword, 4>());
    case 3:
      return next(std::integral_constant<arma::uword, 3>());
    case 2:
      return next(std::integral_constant<arma::uword, 2>());
    case 1:
      return next(std::integral_constant<arma::uword, 1>());
    default:
      return;
  }
}

/// Calls body(first, packs, skipped) for the rows of tiles that cover m rows: two packs each, then
/// one pack. The last pack may overlap rows before it, which are skipped. m is at least one pack.
template <class T, class Body>
[[gnu::always_inline]] inline void for_rows(arma::uword m, const Body& body) {
  constexpr arma::uword w = pack_size<T>;
  constexpr std::integral_constant<arma::uword, 1> one;
  constexpr std::integral_constant<arma::uword, tile_packs> several;
  arma::uword i = 0;
  for (; i + several * w <= m; i += several * w) body(i, several, arma::uword{0});
  for (; i + w <= m; i += w) body(i, one, arma::uword{0});
  if (i < m) body(m - w, one, i + w - m);
}

/// The rows of tiles of A: in place as columns of A, or copied one after another with packed
/// columns.
template <class T>
struct InPlace {
  const T* A;
  arma::uword lda;
  const T* row(arma::uword i, arma::uword) const { return A + i; }
  arma::uword leading(arma::uword) const { return lda; }
};
template <class T>
struct Copied {
  const T* A;
  arma::uword depth;
  const T* row(arma::uword i, arma::uword skipped) const { return A + (i + skipped) * depth; }
  arma::uword leading(arma::uword rows) const { return rows; }
};

/// `diagonal`: in row i of C, only columns from i + diagonal on are needed.
template <class T, class Left, class Right>
void rows_of_tiles(arma::sword diagonal, arma::uword m, arma::uword n, arma::uword k,
                   const Left& left, const Right& right, const Band& band, T* C, arma::uword ldc,
                   const Scale<T>& scale) {
  constexpr arma::uword w = pack_size<T>, part = 48;
  for_rows<T>(m, [&](arma::uword i, auto packs, arma::uword skipped) {
    const T* const A = left.row(i, skipped);
    const arma::uword lda = left.leading(packs * w);
    const auto start = static_cast<arma::uword>(std::clamp<arma::sword>(
        static_cast<arma::sword>(i) + diagonal, 0, static_cast<arma::sword>(n)));
    if (skipped == 0)
      return row_of_tiles<packs>(start, n, k, A, lda, right, band, C + i, ldc, scale);
    T out[w * part] = {};
    for (arma::uword first = start; first < n; first += part) {
      const arma::uword columns = std::min(part, n - first);
      const auto c = [&](arma::uword j) { return C + i + (first + j) * ldc; };
      row_of_tiles<packs>(0, columns, k, A, lda, right.from(0, first), band.from(0, first), out, w,
                          {scale.alpha, T(0)});
      const bool adds = scale.beta != 0;
      for (arma::uword j = 0; j < columns; ++j) {
        for (arma::uword r = skipped; r < w; ++r)
          c(j)[r] = adds ? out[j * w + r] + scale.beta * c(j)[r] : out[j * w + r];
      }
    }
  });
}

/// Copies m rows and k columns of op(A), one row of tiles after another.
template <class T>
void copy_left(bool transposed, const T* A, arma::uword lda, arma::uword m, arma::uword k, T* out) {
  constexpr std::integral_constant<std::size_t, pack_size<T>> whole;
  if (transposed) {
    for_rows<T>(m, [&](arma::uword i, auto packs, arma::uword) {
      constexpr arma::uword rows = packs * whole;
      for (arma::uword r = 0; r < rows; r += whole) {
        const T* const from = A + (i + r) * lda;
        arma::uword l = 0;
        for (; l + whole <= k; l += whole) {
          Pack<T> block[whole.value];
          each<whole>([&](auto q) { block[q] = load(from + q * lda + l, whole); });
          transpose(block);
          each<whole>([&](auto q) { store(block[q], out + (l + q) * rows + r, whole); });
        }
        for (; l < k; ++l) {
          for (arma::uword q = 0; q < whole; ++q) out[l * rows + r + q] = from[q * lda + l];
        }
      }
      out += k * rows;
    });
    return;
  }
  // Column by column: columns are far apart, but the rows of one column are contiguous.
  for (arma::uword l = 0; l < k; ++l) {
    T* to = out;
    for_rows<T>(m, [&](arma::uword i, auto packs, arma::uword) {
      each<packs>([&](auto r) {
        store(load(A + l * lda + i + r * whole, whole), to + (l * packs + r) * whole, whole);
      });
      to += k * packs * whole;
    });
  }
}

template <class T, class Right>
void by_tiles(Triangle triangle, bool transposed, arma::uword m, arma::uword n, arma::uword k,
              const T* A, arma::uword lda, const Right& right, T* C, arma::uword ldc,
              Scale<T> scale) {
  constexpr arma::uword w = pack_size<T>, panel = tile_packs * w;
  constexpr arma::sword far = arma::sword{1} << 40;
  const Band band{triangle == Triangle::lower_right ? 0 : -far,
                  triangle == Triangle::upper_right ? 1 : far};
  const arma::sword diagonal = triangle == Triangle::upper_result ? 0 : -far;
  if (!transposed && (m * k <= small_left || n <= few_columns)) {
    return rows_of_tiles(diagonal, m, n, k, InPlace<T>{A, lda}, right, band, C, ldc, scale);
  }
  // Room for one more row of tiles, which may repeat some rows.
  alignas(64) T copy[copied_left + w * most_depth];
  const arma::uword depth = std::clamp<arma::uword>(k, 1, most_depth),
                    most_rows = copied_left / depth / panel * panel,
                    most_columns = most_right / depth / tile_columns * tile_columns;
  for (arma::uword l = 0; l == 0 || l < k; l += depth) {
    const arma::uword some = std::min(depth, k - l);
    for (arma::uword i = 0, rows; i < m; i += rows) {
      rows = std::min(most_rows, m - i);
      // Leave at least one pack for the next part.
      if (m - i - rows > 0 && m - i - rows < w) rows -= panel;
      copy_left(transposed, transposed ? A + i * lda + l : A + l * lda + i, lda, rows, some, copy);
      for (arma::uword j = 0; j < n; j += most_columns) {
        rows_of_tiles(diagonal + static_cast<arma::sword>(i) - static_cast<arma::sword>(j), rows,
                      std::min(most_columns, n - j), some, Copied<T>{copy, some}, right.from(l, j),
                      band.from(l, j), C + i + j * ldc, ldc, scale);
      }
    }
    scale.beta = T(1);
  }
}

int size(arma::uword value) {
  return static_cast<int>(value);
}
void by_blas(CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b, arma::uword m, arma::uword n, arma::uword k,
             float alpha, const float* A, arma::uword lda, const float* B, arma::uword ldb,
             float* C, arma::uword ldc, float beta) {
  cblas_sgemm(CblasColMajor, a, b, size(m), size(n), size(k), alpha, A, size(lda), B, size(ldb),
              beta, C, size(ldc));
}
void by_blas(CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b, arma::uword m, arma::uword n, arma::uword k,
             double alpha, const double* A, arma::uword lda, const double* B, arma::uword ldb,
             double* C, arma::uword ldc, double beta) {
  cblas_dgemm(CblasColMajor, a, b, size(m), size(n), size(k), alpha, A, size(lda), B, size(ldb),
              beta, C, size(ldc));
}

}  // namespace

namespace {

template <class T>
void by_tiles(CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b, arma::uword m, arma::uword n, arma::uword k,
              const T* A, arma::uword lda, const T* B, arma::uword ldb, T* C, arma::uword ldc,
              const Scale<T>& scale, Triangle triangle) {
  const bool transposed = a != CblasNoTrans;
  if (b == CblasNoTrans)
    return by_tiles(triangle, transposed, m, n, k, A, lda, ByColumns<T>{B, ldb}, C, ldc, scale);
  by_tiles(triangle, transposed, m, n, k, A, lda, ByRows<T>{B, ldb}, C, ldc, scale);
}

/// Whether product() uses our own code.
bool is_small(arma::uword m, arma::uword k, arma::uword pack) {
  return m >= pack && m * std::min(k, most_depth) <= large_left;
}

}  // namespace

template <class T>
void product(CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b, arma::uword m, arma::uword n, arma::uword k,
             T alpha, const T* A, arma::uword lda, const T* B, arma::uword ldb, T* C,
             arma::uword ldc, T beta, Triangle triangle) {
  if (!is_small(m, k, pack_size<T>))
    return by_blas(a, b, m, n, k, alpha, A, lda, B, ldb, C, ldc, beta);
  by_tiles<T>(a, b, m, n, k, A, lda, B, ldb, C, ldc, {alpha, beta}, triangle);
}

template void product(CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, arma::uword, arma::uword, arma::uword,
                      float, const float*, arma::uword, const float*, arma::uword, float*,
                      arma::uword, float, Triangle);
template void product(CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, arma::uword, arma::uword, arma::uword,
                      double, const double*, arma::uword, const double*, arma::uword, double*,
                      arma::uword, double, Triangle);

}  // namespace ranklab
