#include "training/layers/product.hpp"

#include <type_traits>
#include <utility>

#include "training/layers/packs.hpp"

namespace ranklab {
namespace {

// Up to so many bytes of A our tiles are as fast as OpenBLAS, below it up to twice (AVX2, from 64 x 256 down to 16 x 16).
constexpr arma::uword largest_left = 65536;

// A tile of C: with AVX2 its 2 x 6 sums, 2 packs of A and an entry of B take 15 of 16 registers.
constexpr arma::uword tile_packs = 2, tile_columns = 6;

/// Entry (l, j) of op(B) is at first[l row + j column].
template <class T>
struct Right {
  const T* first;
  arma::uword row, column;
};

/// body(0), body(1), ..., body(n - 1), each with its own code: an array that is only indexed so stays in registers.
template <arma::uword n, class Body>
[[gnu::always_inline]] inline void each(const Body& body) {
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (body(std::integral_constant<std::size_t, i>{}), ...);
  }
  (std::make_index_sequence<n>{});
}

/// C = alpha A op(B) + beta C for `packs` packs of rows from A and C on, and `columns` columns. Of the last pack the first
/// `skipped` rows are not written.
template <arma::uword packs, arma::uword columns, class T>
void tile(arma::uword k, T alpha, const T* A, arma::uword lda, const Right<T>& right, T* C, arma::uword ldc, T beta,
          arma::uword skipped) {
  constexpr std::integral_constant<std::size_t, pack_size<T>> whole;
  Pack<T> sums[packs][columns];
  each<packs>([&](auto r) { each<columns>([&](auto j) { sums[r][j] = Pack<T>{}; }); });
  for (arma::uword l = 0; l < k; ++l) {
    Pack<T> a[packs];
    each<packs>([&](auto r) { a[r] = load(A + l * lda + r * whole, whole); });
    each<columns>([&](auto j) {
      const T b = right.first[l * right.row + j * right.column];
      each<packs>([&](auto r) { sums[r][j] += a[r] * b; });
    });
  }
  each<columns>([&](auto j) {
    each<packs>([&](auto r) {
      T* const c = C + j * ldc + r * whole;
      Pack<T> out = alpha * sums[r][j];
      if (beta != 0) out += beta * load(c, whole);
      if (r + 1 == packs && skipped > 0) {
        for (arma::uword i = skipped; i < whole; ++i) c[i] = out[i];
      } else {
        store(out, c, whole);
      }
    });
  });
}

template <arma::uword packs, class T>
void row_of_tiles(arma::uword n, arma::uword k, T alpha, const T* A, arma::uword lda, Right<T> right, T* C, arma::uword ldc, T beta,
                  arma::uword skipped = 0) {
  for (; n >= tile_columns; n -= tile_columns, right.first += tile_columns * right.column, C += tile_columns * ldc) {
    tile<packs, tile_columns>(k, alpha, A, lda, right, C, ldc, beta, skipped);
  }
  const auto rest = [&]<arma::uword columns>() { tile<packs, columns>(k, alpha, A, lda, right, C, ldc, beta, skipped); };
  switch (n) {
    case 5:
      return rest.template operator()<5>();
    case 4:
      return rest.template operator()<4>();
    case 3:
      return rest.template operator()<3>();
    case 2:
      return rest.template operator()<2>();
    case 1:
      return rest.template operator()<1>();
    default:
      return;
  }
}

template <class T>
void by_tiles(arma::uword m, arma::uword n, arma::uword k, T alpha, const T* A, arma::uword lda, const Right<T>& right, T* C,
              arma::uword ldc, T beta) {
  constexpr arma::uword w = pack_size<T>;
  arma::uword i = 0;
  for (; i + tile_packs * w <= m; i += tile_packs * w) {
    row_of_tiles<tile_packs>(n, k, alpha, A + i, lda, right, C + i, ldc, beta);
  }
  for (; i + w <= m; i += w) row_of_tiles<1>(n, k, alpha, A + i, lda, right, C + i, ldc, beta);
  // The last rows make a pack with some before them.
  if (i < m) row_of_tiles<1>(n, k, alpha, A + m - w, lda, right, C + m - w, ldc, beta, i + w - m);
}

int size(arma::uword of) {
  return static_cast<int>(of);
}
void by_blas(CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b, arma::uword m, arma::uword n, arma::uword k, float alpha, const float* A,
             arma::uword lda, const float* B, arma::uword ldb, float* C, arma::uword ldc, float beta) {
  cblas_sgemm(CblasColMajor, a, b, size(m), size(n), size(k), alpha, A, size(lda), B, size(ldb), beta, C, size(ldc));
}
void by_blas(CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b, arma::uword m, arma::uword n, arma::uword k, double alpha, const double* A,
             arma::uword lda, const double* B, arma::uword ldb, double* C, arma::uword ldc, double beta) {
  cblas_dgemm(CblasColMajor, a, b, size(m), size(n), size(k), alpha, A, size(lda), B, size(ldb), beta, C, size(ldc));
}

}  // namespace

template <class T>
void product(CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b, arma::uword m, arma::uword n, arma::uword k, T alpha, const T* A,
             arma::uword lda, const T* B, arma::uword ldb, T* C, arma::uword ldc, T beta) {
  if (m < pack_size<T> || m * k * sizeof(T) > largest_left) return by_blas(a, b, m, n, k, alpha, A, lda, B, ldb, C, ldc, beta);
  const Right<T> right = b == CblasNoTrans ? Right<T>{B, 1, ldb} : Right<T>{B, ldb, 1};
  if (a == CblasNoTrans) return by_tiles(m, n, k, alpha, A, lda, right, C, ldc, beta);
  alignas(64) T transposed[largest_left / sizeof(T)];
  transpose_rows(A, lda, k, m, transposed);
  by_tiles(m, n, k, alpha, transposed, m, right, C, ldc, beta);
}

#define RANKLAB_PRODUCT(T)                                                                                                 \
  template void product(CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, arma::uword, arma::uword, arma::uword, T, const T*, arma::uword, \
                        const T*, arma::uword, T*, arma::uword, T);
RANKLAB_PRODUCT(float)
RANKLAB_PRODUCT(double)
#undef RANKLAB_PRODUCT

}  // namespace ranklab
