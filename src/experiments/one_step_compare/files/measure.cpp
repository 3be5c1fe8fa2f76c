#include "experiments/one_step_compare/files/measure.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/error.hpp"
#include "io/tensors/tensor_file.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/largest_eigenvalue.hpp"
#include "linalg/spectra.hpp"
#include "linalg/stored_matrix.hpp"

namespace ranklab::files {
namespace {

// A round reads `pieces_per_round` pieces of A along its longer side, each of about `piece_bytes`, then adds their products to
// the tiles of the Gram matrix. Both are spread over threads.
constexpr std::uint64_t pieces_per_round = 8, piece_bytes = 8u << 20, thinnest_piece = 64, tile_side = 512;
// Entries between these have squares, and sums of squares, that neither overflow nor vanish.
constexpr double smallest_unscaled = 1e-130, largest_unscaled = 1e130;

std::uint64_t thickness_for(std::uint64_t side) {
  return std::max(thinnest_piece, piece_bytes / (8 * std::max<std::uint64_t>(side, 1)));
}

struct Piece {
  arma::mat block;             // (side, thickness), or (thickness, side) where the rows are read
  double largest_modulus = 0;  // of its finite entries
  NonFinite non_finite;
};

Piece looked_through(const StoredBlock& stored) {
  Piece piece{matrix_of(stored), 0, {}};
  for (const double entry : piece.block) {
    if (std::isfinite(entry)) piece.largest_modulus = std::max(piece.largest_modulus, std::abs(entry));
  }
  if (piece.block.is_finite()) return piece;
  for (arma::uword j = 0; j < piece.block.n_cols; ++j) {
    for (arma::uword i = 0; i < piece.block.n_rows; ++i) {
      if (std::isfinite(piece.block(i, j))) continue;
      piece.non_finite.include({1, static_cast<double>(stored.first_row + i), static_cast<double>(stored.first_col + j)});
    }
  }
  return piece;
}

struct GramReader {
  const StoredTensor& A;
  const double divisor;
  const Trial& trial;
  const bool by_rows = A.rows() > A.cols();
  const std::uint64_t side = std::min(A.rows(), A.cols()), length = std::max(A.rows(), A.cols()), thickness = thickness_for(side);

  StreamedGram read() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> tiles;  // first row, first column
    for (std::uint64_t i = 0; i < side; i += tile_side) {
      for (std::uint64_t j = 0; j <= i; j += tile_side) tiles.emplace_back(i, j);
    }
    StreamedGram out;
    out.gram.zeros(side, side);
    for (std::uint64_t first = 0; first < length; first += thickness * pieces_per_round) {
      const std::vector<Piece> pieces = round(first);
      for (const Piece& piece : pieces) {
        out.largest_modulus = std::max(out.largest_modulus, piece.largest_modulus);
        out.non_finite.include(piece.non_finite);
      }
      if (out.non_finite.count > 0) continue;  // only to count the others
      trial.for_each_part(tiles.size(), [&](std::size_t tile) { add_products(pieces, tiles[tile], out.gram); });
    }
    for (arma::uword j = 0; j < side; ++j) {
      for (arma::uword i = 0; i < j; ++i) out.gram(i, j) = out.gram(j, i);
    }
    return out;
  }

  std::vector<Piece> round(std::uint64_t first) const {
    const std::uint64_t remaining = (length - first + thickness - 1) / thickness;
    std::vector<Piece> pieces(std::min(pieces_per_round, remaining));
    trial.for_each_part(pieces.size(), [&](std::size_t i) {
      trial.check_interrupt();
      pieces[i] = piece_at(first + i * thickness);
    });
    return pieces;
  }

  Piece piece_at(std::uint64_t first) const {
    const std::uint64_t count = std::min(thickness, length - first);
    Piece piece = looked_through(by_rows ? A.rows(first, count) : A.columns(first, count));
    if (divisor != 1.0) piece.block /= divisor;
    return piece;
  }

  // Adds the pieces' products to one tile of the lower triangle, in order.
  void add_products(const std::vector<Piece>& pieces, std::pair<std::uint64_t, std::uint64_t> tile, arma::mat& gram) const {
    const auto [i, j] = tile;
    const int rows = static_cast<int>(std::min(tile_side, side - i)), columns = static_cast<int>(std::min(tile_side, side - j));
    const CBLAS_TRANSPOSE left = by_rows ? CblasTrans : CblasNoTrans, right = by_rows ? CblasNoTrans : CblasTrans;
    double* target = gram.memptr() + i + j * side;
    for (const Piece& piece : pieces) {
      trial.check_interrupt();
      const arma::mat& block = piece.block;
      const int depth = static_cast<int>(by_rows ? block.n_rows : block.n_cols);
      const int stride = static_cast<int>(block.n_rows), target_stride = static_cast<int>(side);
      const auto from = [&](std::uint64_t at) { return block.memptr() + (by_rows ? at * block.n_rows : at); };
      if (i == j) {
        cblas_dsyrk(CblasColMajor, CblasLower, left, rows, depth, 1.0, from(i), stride, 1.0, target, target_stride);
      } else {
        cblas_dgemm(CblasColMajor, left, right, rows, columns, depth, 1.0, from(i), stride, from(j), stride, 1.0, target,
                    target_stride);
      }
    }
  }
};

// The arrays of a trial's record.
std::string key_of(std::size_t pair) {
  return "pair " + std::to_string(pair);
}
std::string key_of(std::size_t pair, std::size_t layer) {
  return key_of(pair) + " layer " + std::to_string(layer);
}

std::vector<double> packed(const Ranks& ranks) {
  return {ranks.stable_rank, ranks.nuclear_rank, ranks.non_finite.count, ranks.non_finite.row, ranks.non_finite.column};
}

Ranks unpacked(const TrialRecord& record, const std::string& key) {
  if (!record.has(key)) throw Failure("the files are not those of the run that was interrupted; run it without --resume");
  const std::vector<double>& ranks = record.array(key);
  return {ranks.at(0), ranks.at(1), {ranks.at(2), ranks.at(3), ranks.at(4)}};
}

}  // namespace

void NonFinite::include(const NonFinite& other) {
  count += other.count;
  std::tie(row, column) = std::min(std::pair(row, column), std::pair(other.row, other.column));
}

StreamedGram streamed_gram(const StoredTensor& A, double divisor, const Trial& trial) {
  return GramReader{A, divisor, trial}.read();
}

double streamed_gram_bytes(std::uint64_t rows, std::uint64_t cols) {
  const std::uint64_t side = std::min(rows, cols), length = std::max(rows, cols);
  const auto read_at_once = static_cast<double>(std::min(length, pieces_per_round * thickness_for(side)));
  // The factor: what reading a piece needs besides it.
  return 8 * static_cast<double>(side) * (static_cast<double>(side) + 1.5 * read_at_once);
}

Ranks measure_activation(const StoredTensor& A, const Trial& trial) {
  StreamedGram read = streamed_gram(A, 1.0, trial);
  Ranks ranks;
  ranks.non_finite = read.non_finite;
  if (read.non_finite.count > 0 || read.largest_modulus == 0) return ranks;
  if (read.largest_modulus < smallest_unscaled || read.largest_modulus > largest_unscaled) {
    read = streamed_gram(A, read.largest_modulus, trial);
  }
  ranks.stable_rank = arma::trace(read.gram) / largest_eigenvalue(read.gram, [&] { trial.check_interrupt(); });
  return ranks;
}

Ranks measure_gradient(const StoredTensor& G, std::uint64_t first, std::uint64_t count, const Trial& trial) {
  trial.check_interrupt();
  const Piece rows = looked_through(G.rows(first, count));
  Ranks ranks;
  ranks.non_finite = rows.non_finite;
  if (ranks.non_finite.count > 0) return ranks;
  const arma::vec s = singular_values(rows.block);
  ranks.nuclear_rank = nuclear_rank(s);
  ranks.stable_rank = stable_rank(s);
  return ranks;
}

TrialRecord run_trial(const Plan& plan, const Trial& trial) {
  TrialRecord record;
  trial.expect(plan.pairs.size(), "pair");
  for (std::size_t p = 0; p < plan.pairs.size(); ++p) {
    if (p > 0) trial.advance();
    const Pair& pair = plan.pairs[p];
    if (pair.has_activation()) {
      const Ranks ranks = measure_activation(open_tensor(pair.activation), trial);
      record.set(key_of(p), packed(ranks));
      if (std::isnan(ranks.stable_rank)) continue;
    }
    if (!pair.has_gradient()) continue;
    const StoredTensor gradient = open_tensor(pair.gradient);
    for (std::size_t l = 0; l < pair.layers.size(); ++l) {
      record.set(key_of(p, l), packed(measure_gradient(gradient, pair.layers[l].first_row, pair.layers[l].m, trial)));
    }
  }
  return record;
}

Ranks activation_ranks(const TrialRecord& record, std::size_t pair) {
  return unpacked(record, key_of(pair));
}

Ranks gradient_ranks(const TrialRecord& record, std::size_t pair, std::size_t layer) {
  return unpacked(record, key_of(pair, layer));
}

}  // namespace ranklab::files
