#include "ranks/gram.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/random.hpp"
#include "io/tensors/stored_matrix.hpp"

namespace ranklab::ranks {
namespace {

// A is read in pieces of about `piece_bytes` along its longer side. Threads share the tiles of the
// Gram matrix.
constexpr std::uint64_t piece_bytes = 32u << 20, thinnest_piece = 256, tile_side = 512;

std::uint64_t thickness_for(std::uint64_t side) {
  return std::max(thinnest_piece, piece_bytes / (8 * std::max<std::uint64_t>(side, 1)));
}

// Fixed standard normal numbers, 2 x features.
arma::mat projections(std::uint64_t features) {
  arma::mat out(2, features);
  Stream(0, 0, "sketch of an activation").fill_normal({out.memptr(), out.n_elem});
  return out;
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
  const arma::mat R = projections(A.features());
  StreamedGram out;
  out.gram.zeros(side, side);
  out.sketch.zeros(3, n);
  for (std::uint64_t first = 0; first < length; first += thickness) {
    trial.check_interrupt();
    const std::uint64_t count = std::min(thickness, length - first);
    Piece piece = scan_block(whole_samples == A.samples_are_rows
                                 ? A.tensor.block(first, count, 0, side)
                                 : A.tensor.block(0, side, first, count));
    out.largest_modulus = std::max(out.largest_modulus, piece.largest_modulus);
    out.non_finite.include(piece.non_finite);
    if (out.non_finite.count > 0) continue;  // the result is void: only keep counting
    arma::mat X = std::move(piece.block);    // features x samples
    if (A.samples_are_rows) X = arma::mat(X.t());
    if (divisor != 1.0) X /= divisor;
    const std::uint64_t last = first + count - 1;
    const arma::mat projected = (whole_samples ? R : arma::mat(R.cols(first, last))) * X,
                    sketch = arma::join_cols(projected, arma::sum(arma::square(X), 0));
    if (whole_samples) {
      out.sketch.cols(first, last) = sketch;
    } else {
      out.sketch += sketch;
    }
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
  // The Gram matrix, the piece, its transpose and its squares. For each sample its sketch, the rows
  // of it, and their order, which is sorted in pairs.
  return 8 * static_cast<double>(side) * (static_cast<double>(side) + 3 * read_at_once) +
         8 * 9 * static_cast<double>(samples);
}

std::uint64_t largest_repeat_count(const arma::mat& sketch) {
  // Two samples count as equal if both projections and the norms agree within `close`. The mean
  // square of a Gaussian projection of a vector is its squared norm, so `spread` estimates the
  // distance of a sample from the mean.
  constexpr double tolerance = 1e-3;
  const arma::rowvec p = sketch.row(0), q = sketch.row(1), norms = arma::sqrt(sketch.row(2));
  const double spread = std::sqrt((arma::var(p, 1) + arma::var(q, 1)) / 2),
               close = tolerance * spread;
  const arma::uvec order = arma::sort_index(p);
  std::uint64_t most = 0, here = 0;
  arma::uword leader = 0;
  for (const arma::uword sample : order) {
    if (norms(sample) == 0) continue;
    const bool same = here > 0 && p(sample) - p(leader) <= close &&
                      std::abs(q(sample) - q(leader)) <= close &&
                      std::abs(norms(sample) - norms(leader)) <= close;
    if (!same) {
      leader = sample;
      here = 0;
    }
    most = std::max(most, ++here);
  }
  return most;
}

}  // namespace ranklab::ranks
