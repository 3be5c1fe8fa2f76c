#include "experiments/one_step_compare/files/gram.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace ranklab {
namespace {

// A round reads `pieces_per_round` pieces of A along its longer side, each of about `piece_bytes`, then adds their products to
// the tiles of the Gram matrix. Both are spread over threads.
constexpr std::uint64_t pieces_per_round = 8, piece_bytes = 8u << 20, thinnest_piece = 64, tile_side = 512;

struct Piece {
  arma::mat block;  // (side, thickness), or (thickness, side) where the rows are read
  double largest_modulus = 0;
  NonFinite non_finite;
};

std::uint64_t thickness_for(std::uint64_t side) {
  return std::max(thinnest_piece, piece_bytes / (8 * std::max<std::uint64_t>(side, 1)));
}

double largest_finite_modulus(const arma::mat& block) {
  double largest = 0;
  for (const double entry : block) {
    if (std::isfinite(entry)) largest = std::max(largest, std::abs(entry));
  }
  return largest;
}

class GramReader {
 public:
  GramReader(const StoredTensor& A, double divisor, const Trial& trial)
      : A_(A),
        divisor_(divisor),
        trial_(trial),
        by_rows_(A.rows() > A.cols()),
        side_(std::min(A.rows(), A.cols())),
        length_(std::max(A.rows(), A.cols())),
        thickness_(thickness_for(side_)) {
    for (std::uint64_t i = 0; i < side_; i += tile_side) {
      for (std::uint64_t j = 0; j <= i; j += tile_side) tiles_.emplace_back(i, j);
    }
  }

  StreamedGram read() {
    StreamedGram out;
    out.gram.zeros(side_, side_);
    for (std::uint64_t first = 0; first < length_; first += thickness_ * pieces_per_round) {
      std::vector<Piece> pieces = round(first);
      for (const Piece& piece : pieces) {
        out.largest_modulus = std::max(out.largest_modulus, piece.largest_modulus);
        out.non_finite.include(piece.non_finite);
      }
      if (out.non_finite.count > 0) continue;  // only to count the others
      trial_.for_each_part(tiles_.size(), [&](std::size_t tile) { add_products(pieces, tiles_[tile], out.gram); });
    }
    for (arma::uword j = 0; j < side_; ++j) {
      for (arma::uword i = 0; i < j; ++i) out.gram(i, j) = out.gram(j, i);
    }
    return out;
  }

 private:
  std::vector<Piece> round(std::uint64_t first) const {
    const std::uint64_t remaining = (length_ - first + thickness_ - 1) / thickness_;
    std::vector<Piece> pieces(std::min(pieces_per_round, remaining));
    trial_.for_each_part(pieces.size(), [&](std::size_t i) {
      trial_.check_interrupt();
      read_piece(first + i * thickness_, pieces[i]);
    });
    return pieces;
  }

  void read_piece(std::uint64_t first, Piece& piece) const {
    const std::uint64_t count = std::min(thickness_, length_ - first);
    piece.block = by_rows_ ? A_.rows(first, count) : A_.columns(first, count);
    piece.largest_modulus = largest_finite_modulus(piece.block);
    piece.non_finite.include(piece.block, by_rows_ ? first : 0, by_rows_ ? 0 : first);
    if (divisor_ != 1.0) piece.block /= divisor_;
  }

  // Adds the pieces' products to one tile of the lower triangle, in order.
  void add_products(const std::vector<Piece>& pieces, std::pair<std::uint64_t, std::uint64_t> tile, arma::mat& gram) const {
    const auto [i, j] = tile;
    const int rows = static_cast<int>(std::min(tile_side, side_ - i)), columns = static_cast<int>(std::min(tile_side, side_ - j));
    const CBLAS_TRANSPOSE left = by_rows_ ? CblasTrans : CblasNoTrans, right = by_rows_ ? CblasNoTrans : CblasTrans;
    double* target = gram.memptr() + i + j * side_;
    for (const Piece& piece : pieces) {
      trial_.check_interrupt();
      const arma::mat& block = piece.block;
      const int depth = static_cast<int>(by_rows_ ? block.n_rows : block.n_cols);
      const int stride = static_cast<int>(block.n_rows), target_stride = static_cast<int>(side_);
      const auto from = [&](std::uint64_t at) { return block.memptr() + (by_rows_ ? at * block.n_rows : at); };
      if (i == j) {
        cblas_dsyrk(CblasColMajor, CblasLower, left, rows, depth, 1.0, from(i), stride, 1.0, target, target_stride);
      } else {
        cblas_dgemm(CblasColMajor, left, right, rows, columns, depth, 1.0, from(i), stride, from(j), stride, 1.0, target,
                    target_stride);
      }
    }
  }

  const StoredTensor& A_;
  const double divisor_;
  const Trial& trial_;
  const bool by_rows_;
  const std::uint64_t side_, length_, thickness_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> tiles_;  // first row, first column
};

}  // namespace

void NonFinite::include(const arma::mat& block, std::uint64_t first_row, std::uint64_t first_column) {
  if (block.is_finite()) return;
  for (arma::uword j = 0; j < block.n_cols; ++j) {
    for (arma::uword i = 0; i < block.n_rows; ++i) {
      if (!std::isfinite(block(i, j))) include(NonFinite{1, first_row + i, first_column + j});
    }
  }
}

void NonFinite::include(const NonFinite& other) {
  if (other.count == 0) return;
  if (count == 0 || std::pair(other.row, other.column) < std::pair(row, column)) {
    row = other.row;
    column = other.column;
  }
  count += other.count;
}

StreamedGram streamed_gram(const StoredTensor& A, double divisor, const Trial& trial) {
  return GramReader(A, divisor, trial).read();
}

double streamed_gram_bytes(std::uint64_t rows, std::uint64_t cols) {
  const std::uint64_t side = std::min(rows, cols), length = std::max(rows, cols);
  const auto read_at_once = static_cast<double>(std::min(length, pieces_per_round * thickness_for(side)));
  // The factor: what reading a piece needs besides it.
  return 8 * static_cast<double>(side) * (static_cast<double>(side) + 1.5 * read_at_once);
}

}  // namespace ranklab
