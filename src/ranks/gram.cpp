#include "ranks/gram.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "io/tensors/stored_matrix.hpp"

namespace ranklab::ranks {
namespace {

// A is read in pieces of about `piece_bytes` along its longer side. Threads share the tiles of the
// Gram matrix.
constexpr std::uint64_t piece_bytes = 32u << 20, thinnest_piece = 256, tile_side = 512;

std::uint64_t thickness_for(std::uint64_t side) {
  return std::max(thinnest_piece, piece_bytes / (8 * std::max<std::uint64_t>(side, 1)));
}

// Adds X X', or X' X, to the lower triangle of the Gram matrix, tile by tile.
void add_products(const arma::mat& X, bool of_rows, arma::mat& gram, const Trial& trial) {
  const std::uint64_t side = gram.n_rows;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> tiles;  // first row, first column
  for (std::uint64_t i = 0; i < side; i += tile_side) {
    for (std::uint64_t j = 0; j <= i; j += tile_side) tiles.emplace_back(i, j);
  }
  const CBLAS_TRANSPOSE left = of_rows ? CblasNoTrans : CblasTrans,
                        right = of_rows ? CblasTrans : CblasNoTrans;
  const int depth = static_cast<int>(of_rows ? X.n_cols : X.n_rows),
            stride = static_cast<int>(X.n_rows), target_stride = static_cast<int>(side);
  const auto from = [&](std::uint64_t at) { return X.memptr() + (of_rows ? at : at * X.n_rows); };
  trial.for_each_piece(tiles.size(), [&](std::size_t tile) {
    trial.check_interrupt();
    const auto [i, j] = tiles[tile];
    const int rows = static_cast<int>(std::min(tile_side, side - i)),
              columns = static_cast<int>(std::min(tile_side, side - j));
    double* target = gram.memptr() + i + j * side;
    if (i == j) {
      cblas_dsyrk(CblasColMajor, CblasLower, left, rows, depth, 1.0, from(i), stride, 1.0, target,
                  target_stride);
    } else {
      cblas_dgemm(CblasColMajor, left, right, rows, columns, depth, 1.0, from(i), stride, from(j),
                  stride, 1.0, target, target_stride);
    }
  });
}

}  // namespace

void NonFinite::include(const NonFinite& other) {
  count += other.count;
  std::tie(row, column) = std::min(std::pair(row, column), std::pair(other.row, other.column));
}

Piece scan_block(const StoredBlock& stored) {
  Piece piece{matrix_of(stored), 0, {}};
  for (const double entry : piece.block) {
    if (std::isfinite(entry))
      piece.largest_modulus = std::max(piece.largest_modulus, std::abs(entry));
  }
  if (piece.block.is_finite()) return piece;
  for (arma::uword j = 0; j < piece.block.n_cols; ++j) {
    for (arma::uword i = 0; i < piece.block.n_rows; ++i) {
      if (std::isfinite(piece.block(i, j))) continue;
      piece.non_finite.include({1, static_cast<double>(stored.first_row + i),
                                static_cast<double>(stored.first_col + j)});
    }
  }
  return piece;
}

StreamedGram streamed_gram(const StoredActivation& A, double divisor, const Trial& trial) {
  // Pieces hold all features of some samples or, if there are fewer samples than features, some
  // features of all samples.
  const std::uint64_t n = A.samples(), side = std::min(n, A.features()),
                      length = std::max(n, A.features()), thickness = thickness_for(side);
  const bool whole_samples = n >= A.features();
  StreamedGram out;
  out.gram.zeros(side, side);
  for (std::uint64_t first = 0; first < length; first += thickness) {
    trial.check_interrupt();
    const std::uint64_t count = std::min(thickness, length - first);
    Piece piece =
        scan_block(whole_samples == A.samples_are_rows ? A.tensor.block(first, count, 0, side)
                                                       : A.tensor.block(0, side, first, count));
    out.largest_modulus = std::max(out.largest_modulus, piece.largest_modulus);
    out.non_finite.include(piece.non_finite);
    if (out.non_finite.count > 0) continue;  // the result is void: only keep counting
    arma::mat X = std::move(piece.block);    // features x samples
    if (A.samples_are_rows) X = arma::mat(X.t());
    if (divisor != 1.0) X /= divisor;
    add_products(X, whole_samples, out.gram, trial);
  }
  for (arma::uword j = 0; j < side; ++j) {
    for (arma::uword i = 0; i < j; ++i) out.gram(i, j) = out.gram(j, i);
  }
  return out;
}

double streamed_gram_bytes(std::uint64_t features, std::uint64_t samples) {
  const std::uint64_t side = std::min(features, samples), length = std::max(features, samples);
  const auto read_at_once = static_cast<double>(std::min(length, thickness_for(side)));
  // The Gram matrix, the piece and its transpose.
  return 8 * static_cast<double>(side) * (static_cast<double>(side) + 3 * read_at_once);
}

}  // namespace ranklab::ranks
