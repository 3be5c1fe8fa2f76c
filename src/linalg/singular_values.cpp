// Singular values without vectors, in two stages. LAPACK's reduction to bidiagonal form takes half
// of its operations in products of the matrix with a vector, which run at the speed of memory.
// Here, as in Grosser and Lang, Parallel Computing 25 (1999) 969-986,
//   A = Q B P',  B upper triangular with `band` diagonals above its own,
// takes almost all of them in products of matrices. LAPACK's gbbrd then rotates B to a bidiagonal
// matrix in O(n^2 band) operations, and its lasq1 finds the values of that by the dqds algorithm.
// Every step multiplies by orthogonal matrices, so the error is that of LAPACK's own driver: a
// small multiple of the rounding times the largest value.
#include <cblas.h>

#include <algorithm>
#include <armadillo>
#include <cmath>
#include <vector>

#include "linalg/decompositions.hpp"

extern "C" {
void dgeqrf_(const int* m, const int* n, double* A, const int* stride, double* tau, double* work,
             const int* work_size, int* info);
void dgeqr2_(const int* m, const int* n, double* A, const int* stride, double* tau, double* work,
             int* info);
void dlarft_(const char* direct, const char* store, const int* n, const int* k, double* V,
             const int* stride, const double* tau, double* T, const int* stride_of_T);
void dgbbrd_(const char* vectors, const int* m, const int* n, const int* columns_of_C,
             const int* lower, const int* upper, double* AB, const int* stride, double* d,
             double* e, double* Q, const int* stride_of_Q, double* P, const int* stride_of_P,
             double* C, const int* stride_of_C, double* work, int* info);
void dlasq1_(const int* n, double* d, double* e, double* work, int* info);
}

namespace ranklab {
namespace {

// Fewer diagonals make the second stage shorter and the products of the first thinner.
constexpr int band = 8;
// Below, LAPACK's driver is as fast. A taller matrix is first replaced by its triangular factor.
constexpr arma::uword smallest = 192;
constexpr double tall = 1.25;

/// A block of a matrix that is stored by columns.
struct Block {
  double* entries;
  int rows, columns, stride;

  double& operator()(int i, int j) const {
    return entries[i + static_cast<std::ptrdiff_t>(j) * stride];
  }
  /// From row i and column j to the last.
  Block from(int i, int j) const { return {&(*this)(i, j), rows - i, columns - j, stride}; }
  Block first_rows(int count) const { return {entries, count, columns, stride}; }
  Block columns_from(int j, int count) const { return {&(*this)(0, j), rows, count, stride}; }
};

Block block_of(arma::mat& A) {
  const int rows = static_cast<int>(A.n_rows);
  return {A.memptr(), rows, static_cast<int>(A.n_cols), rows};
}

enum class Form : bool { plain, transposed };

/// Z = alpha X Y + beta Z, with X or Y transposed on request.
void multiply(double alpha, const Block& X, Form of_X, const Block& Y, Form of_Y, double beta,
              const Block& Z) {
  const auto blas = [](Form form) { return form == Form::plain ? CblasNoTrans : CblasTrans; };
  cblas_dgemm(CblasColMajor, blas(of_X), blas(of_Y), Z.rows, Z.columns,
              of_X == Form::plain ? X.columns : X.rows, alpha, X.entries, X.stride, Y.entries,
              Y.stride, beta, Z.entries, Z.stride);
}

/// The reflections of a panel: P = (I - V T V') [R; 0], V (m, k) with a unit lower triangle, T (k,
/// k) upper triangular.
struct Reflections {
  explicit Reflections(int columns)
      : T(static_cast<arma::uword>(columns), static_cast<arma::uword>(columns)), tau(T.n_rows) {}

  /// Factors P, which keeps R in its upper triangle, and writes V.
  void factor(const Block& P, const Block& V) {
    const int size = static_cast<int>(T.n_rows);
    int info = 0;
    work.resize(static_cast<std::size_t>(P.columns));
    dgeqr2_(&P.rows, &P.columns, P.entries, &P.stride, tau.memptr(), work.data(), &info);
    for (int j = 0; j < V.columns; ++j) {
      std::fill_n(&V(0, j), j, 0.0);
      V(j, j) = 1.0;
      std::copy_n(&P(0, j) + j + 1, P.rows - j - 1, &V(0, j) + j + 1);
    }
    dlarft_("Forward", "Columnwise", &V.rows, &V.columns, V.entries, &V.stride, tau.memptr(),
            T.memptr(), &size);
  }

  /// X = X T.
  void multiply_by_T(const Block& X) const {
    cblas_dtrmm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, X.rows,
                X.columns, 1.0, T.memptr(), static_cast<int>(T.n_rows), X.entries, X.stride);
  }

  arma::mat T;
  arma::vec tau;
  std::vector<double> work;
};

/// Replaces A (m, n), m >= n, by the upper band matrix B: B(i, j) = 0 unless i <= j <= i + band.
/// What stands elsewhere in A has no meaning afterwards.
void reduce_to_band(arma::mat& whole) {
  const Block A = block_of(whole);
  const arma::uword rows = whole.n_rows;
  arma::mat of_left(rows, 2 * band), of_right(rows, 2 * band), of_panel(rows, band),
      of_core(band, band);
  Reflections left(band), right(band);
  for (int k = 0; k < A.columns; k += band) {
    const int size = std::min(band, A.columns - k), below = A.rows - k, rest = A.columns - k - size;
    // The columns of the block: A := (I - V T' V') A.
    const Block stacked{of_left.memptr(), below, size, below};
    left.factor(A.from(k, k).columns_from(0, size), stacked);
    if (rest == 0) return;
    // W = A' V T for the columns to the right. Only the rows of the block are updated at once.
    const int next = std::min(size, rest);
    const Block right_of = A.from(k, k + size), B = right_of.from(size, 0),
                W{of_right.memptr(), rest, size, rest},
                U{of_right.memptr() + static_cast<std::ptrdiff_t>(rest) * size, rest, next, rest};
    multiply(1.0, right_of, Form::transposed, stacked, Form::plain, 0.0, W);
    left.multiply_by_T(W);
    const Block top = right_of.first_rows(size);
    multiply(-1.0, stacked.first_rows(size), Form::plain, W, Form::transposed, 1.0, top);
    // The rows of the block, by reflections of the columns to the right: A := A (I - U S U').
    const Block panel{of_panel.memptr(), rest, size, rest};
    for (int j = 0; j < rest; ++j) {
      for (int i = 0; i < size; ++i) panel(j, i) = top(i, j);
    }
    right.factor(panel, U);
    for (int j = 0; j < next; ++j) {
      for (int i = 0; i < size; ++i) top(i, j) = j <= i ? panel(j, i) : 0.0;
    }
    // Both updates in one product: B - V W' - X U', X = (B - V W') U S.
    const Block V = stacked.from(size, 0),
                both{of_left.memptr() + size, below - size, size + next, below},
                X = both.columns_from(size, next), core{of_core.memptr(), size, next, band};
    multiply(1.0, B, Form::plain, U, Form::plain, 0.0, X);
    multiply(1.0, W, Form::transposed, U, Form::plain, 0.0, core);
    multiply(-1.0, V, Form::plain, core, Form::plain, 1.0, X);
    right.multiply_by_T(X);
    const Block both_right{of_right.memptr(), rest, size + next, rest};
    multiply(-1.0, both, Form::plain, both_right, Form::transposed, 1.0, B);
  }
}

/// The singular values of a band matrix as reduce_to_band leaves it, descending; empty if lasq1
/// does not converge.
arma::vec values_of_band(const arma::mat& A) {
  const int n = static_cast<int>(A.n_cols), lower = 0, upper = band, none = 0, one = 1;
  arma::mat packed(band + 1, A.n_cols, arma::fill::zeros);
  for (arma::uword j = 0; j < A.n_cols; ++j) {
    const arma::uword first = j < band ? 0 : j - band;
    std::copy(A.colptr(j) + first, A.colptr(j) + j + 1, packed.colptr(j) + band - (j - first));
  }
  arma::vec d(A.n_cols), e(A.n_cols), work(4 * A.n_cols);
  const int stride = band + 1;
  double unused = 0.0;
  int info = 0;
  dgbbrd_("No vectors", &n, &n, &none, &lower, &upper, packed.memptr(), &stride, d.memptr(),
          e.memptr(), &unused, &one, &unused, &one, &unused, &one, work.memptr(), &info);
  dlasq1_(&n, d.memptr(), e.memptr(), work.memptr(), &info);
  return info == 0 ? d : arma::vec{};
}

/// The triangular factor, which has the same singular values.
arma::mat triangle_of(arma::mat A) {
  const Block all = block_of(A);
  arma::vec tau(A.n_cols), work(64 * A.n_cols);
  const int work_size = static_cast<int>(work.n_elem);
  int info = 0;
  dgeqrf_(&all.rows, &all.columns, all.entries, &all.stride, tau.memptr(), work.memptr(),
          &work_size, &info);
  return arma::trimatu(A.head_rows(A.n_cols));
}

}  // namespace

arma::vec singular_values(const arma::mat& A) {
  require_finite("singular value decomposition", A);
  if (A.empty()) return {};
  const double largest = arma::abs(A).max();
  // Squares of entries neither overflow nor vanish.
  constexpr double large = 1e100;
  if (std::min(A.n_rows, A.n_cols) >= smallest && largest < large && largest > 1 / large) {
    arma::mat B = A.n_rows < A.n_cols ? arma::mat(A.t()) : A;
    if (static_cast<double>(B.n_rows) > tall * static_cast<double>(B.n_cols))
      B = triangle_of(std::move(B));
    reduce_to_band(B);
    const arma::vec s = values_of_band(B);
    if (!s.empty()) return s;
  }
  arma::vec s;
  if (arma::svd(s, A)) return s;
  return thin_svd(A).s;
}

}  // namespace ranklab
