#include "experiments/ranks/gram.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/random.hpp"
#include "io/tensors/stored_matrix.hpp"

namespace ranklab::ranks {
namespace {

// One round reads up to `pieces_per_round` pieces of A along its longer side, each of about
// `piece_bytes`, and then adds their products to the tiles of the Gram matrix. Threads share both.
constexpr std::uint64_t pieces_per_round = 8, piece_bytes = 8u << 20, thinnest_piece = 64,
                        tile_side = 512;

std::uint64_t thickness_for(std::uint64_t side) {
  return std::max(thinnest_piece, piece_bytes / (8 * std::max<std::uint64_t>(side, 1)));
}

// Fixed standard normal numbers, 2 x features.
arma::mat projections(std::uint64_t features) {
  arma::mat out(2, features);
  Stream(0, 0, "sketch of an activation").fill_normal({out.memptr(), out.n_elem});
  return out;
}

struct SketchedPiece : Piece {
  arma::mat sketch;  // this piece's part of StreamedGram::sketch
};

struct GramReader {
  const StoredActivation& A;
  const double divisor;
  const Trial& trial;
  const bool samples_are_rows = A.samples_are_rows;
  const arma::mat R = projections(A.features);
  // For a square A, the Gram matrix is that of the features, however A is stored.
  const bool by_rows = A.rows() > A.cols() || (A.rows() == A.cols() && samples_are_rows);
  const std::uint64_t side = std::min(A.rows(), A.cols()), length = std::max(A.rows(), A.cols()),
                      thickness = thickness_for(side);

  StreamedGram read() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> tiles;  // first row, first column
    for (std::uint64_t i = 0; i < side; i += tile_side) {
      for (std::uint64_t j = 0; j <= i; j += tile_side) tiles.emplace_back(i, j);
    }
    StreamedGram out;
    out.gram.zeros(side, side);
    out.sketch.zeros(3, A.samples());
    for (std::uint64_t first = 0; first < length; first += thickness * pieces_per_round) {
      const std::vector<SketchedPiece> pieces = round(first);
      for (const SketchedPiece& piece : pieces) {
        out.largest_modulus = std::max(out.largest_modulus, piece.largest_modulus);
        out.non_finite.include(piece.non_finite);
      }
      if (out.non_finite.count > 0) continue;  // the result is void: only keep counting
      for (std::size_t i = 0; i < pieces.size(); ++i)
        add_sketch(pieces[i], first + i * thickness, out.sketch);
      trial.for_each_part(tiles.size(),
                          [&](std::size_t tile) { add_products(pieces, tiles[tile], out.gram); });
    }
    for (arma::uword j = 0; j < side; ++j) {
      for (arma::uword i = 0; i < j; ++i) out.gram(i, j) = out.gram(j, i);
    }
    return out;
  }

  std::vector<SketchedPiece> round(std::uint64_t first) const {
    const std::uint64_t remaining = (length - first + thickness - 1) / thickness;
    std::vector<SketchedPiece> pieces(std::min(pieces_per_round, remaining));
    trial.for_each_part(pieces.size(), [&](std::size_t i) {
      trial.check_interrupt();
      pieces[i] = piece_at(first + i * thickness);
    });
    return pieces;
  }

  SketchedPiece piece_at(std::uint64_t first) const {
    const std::uint64_t count = std::min(thickness, length - first);
    SketchedPiece piece{
        scan_block(by_rows ? A.block(first, count, 0, side) : A.block(0, side, first, count)), {}};
    if (divisor != 1.0) piece.block /= divisor;
    const arma::mat lines = whole_samples() ? R : R.cols(first, first + count - 1);
    const arma::mat squares = arma::square(piece.block);
    piece.sketch =
        samples_are_rows ? arma::mat(lines * piece.block.t()) : arma::mat(lines * piece.block);
    piece.sketch.insert_rows(2, samples_are_rows ? arma::rowvec(arma::sum(squares, 1).t())
                                                 : arma::rowvec(arma::sum(squares, 0)));
    return piece;
  }

  // Whether a piece holds all features of some samples, or else some features of all samples.
  bool whole_samples() const { return by_rows == samples_are_rows; }

  void add_sketch(const SketchedPiece& piece, std::uint64_t first, arma::mat& sketch) const {
    if (whole_samples()) {
      sketch.cols(first, first + piece.sketch.n_cols - 1) = piece.sketch;
    } else {
      sketch += piece.sketch;
    }
  }

  // Adds the pieces' products to one tile of the lower triangle, in order.
  void add_products(const std::vector<SketchedPiece>& pieces,
                    std::pair<std::uint64_t, std::uint64_t> tile, arma::mat& gram) const {
    const auto [i, j] = tile;
    const int rows = static_cast<int>(std::min(tile_side, side - i)),
              columns = static_cast<int>(std::min(tile_side, side - j));
    const CBLAS_TRANSPOSE left = by_rows ? CblasTrans : CblasNoTrans,
                          right = by_rows ? CblasNoTrans : CblasTrans;
    double* target = gram.memptr() + i + j * side;
    for (const SketchedPiece& piece : pieces) {
      trial.check_interrupt();
      const arma::mat& block = piece.block;
      const int depth = static_cast<int>(by_rows ? block.n_rows : block.n_cols);
      const int stride = static_cast<int>(block.n_rows), target_stride = static_cast<int>(side);
      const auto from = [&](std::uint64_t at) {
        return block.memptr() + (by_rows ? at * block.n_rows : at);
      };
      if (i == j) {
        cblas_dsyrk(CblasColMajor, CblasLower, left, rows, depth, 1.0, from(i), stride, 1.0, target,
                    target_stride);
      } else {
        cblas_dgemm(CblasColMajor, left, right, rows, columns, depth, 1.0, from(i), stride, from(j),
                    stride, 1.0, target, target_stride);
      }
    }
  }
};

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
  return GramReader{A, divisor, trial}.read();
}

double streamed_gram_bytes(std::uint64_t rows, std::uint64_t cols) {
  const std::uint64_t side = std::min(rows, cols), length = std::max(rows, cols);
  const auto read_at_once =
      static_cast<double>(std::min(length, pieces_per_round * thickness_for(side)));
  // 1.5: reading a piece needs buffers in addition to the piece.
  return 8 * static_cast<double>(side) * (static_cast<double>(side) + 1.5 * read_at_once);
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
