#include "experiments/one_step_compare/files/measure.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/error.hpp"
#include "core/random.hpp"
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
  arma::mat sketch;  // its share of StreamedGram::sketch
};

Piece looked_through(const StoredBlock& stored) {
  Piece piece{matrix_of(stored), 0, {}, {}};
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

// Fixed normal numbers, 2 x features.
arma::mat projections(std::uint64_t features) {
  arma::mat out(2, features);
  Stream(0, 0, "sketch of an activation").fill_normal({out.memptr(), out.n_elem});
  return out;
}

struct GramReader {
  const StoredTensor& A;
  const bool samples_are_rows;
  const double divisor;
  const Trial& trial;
  const arma::mat R = projections(samples_are_rows ? A.cols() : A.rows());
  const bool by_rows = A.rows() > A.cols();
  const std::uint64_t side = std::min(A.rows(), A.cols()), length = std::max(A.rows(), A.cols()), thickness = thickness_for(side);

  StreamedGram read() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> tiles;  // first row, first column
    for (std::uint64_t i = 0; i < side; i += tile_side) {
      for (std::uint64_t j = 0; j <= i; j += tile_side) tiles.emplace_back(i, j);
    }
    StreamedGram out;
    out.gram.zeros(side, side);
    out.sketch.zeros(3, samples_are_rows ? A.rows() : A.cols());
    for (std::uint64_t first = 0; first < length; first += thickness * pieces_per_round) {
      const std::vector<Piece> pieces = round(first);
      for (const Piece& piece : pieces) {
        out.largest_modulus = std::max(out.largest_modulus, piece.largest_modulus);
        out.non_finite.include(piece.non_finite);
      }
      if (out.non_finite.count > 0) continue;  // only to count the others
      for (std::size_t i = 0; i < pieces.size(); ++i) add_sketch(pieces[i], first + i * thickness, out.sketch);
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
    const arma::mat lines = whole_samples() ? R : R.cols(first, first + count - 1);
    const arma::mat squares = arma::square(piece.block);
    piece.sketch = samples_are_rows ? arma::mat(lines * piece.block.t()) : arma::mat(lines * piece.block);
    piece.sketch.insert_rows(2, samples_are_rows ? arma::rowvec(arma::sum(squares, 1).t()) : arma::rowvec(arma::sum(squares, 0)));
    return piece;
  }

  // A piece holds some samples whole, or some features of all.
  bool whole_samples() const { return by_rows == samples_are_rows; }

  void add_sketch(const Piece& piece, std::uint64_t first, arma::mat& sketch) const {
    if (whole_samples()) {
      sketch.cols(first, first + piece.sketch.n_cols - 1) = piece.sketch;
    } else {
      sketch += piece.sketch;
    }
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

std::string checks_key_of(std::size_t pair) {
  return key_of(pair) + " checks";
}

std::string spectrum_key_of(std::size_t pair, std::size_t layer) {
  return key_of(pair, layer) + " spectrum";
}

// Spectrum's members.
std::vector<double> spectrum_of(const arma::mat& W) {
  constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
  if (!W.is_finite()) return std::vector<double>(5, nothing);
  const arma::vec s = singular_values(W);
  if (!(s(0) > 0)) return std::vector<double>(5, nothing);
  const arma::vec shares = s / arma::accu(s);
  double entropy = 0;
  for (const double share : shares) entropy -= share > 0 ? share * std::log(share) : 0;
  const arma::vec quantiles = arma::quantile(s, arma::vec{0.25, 0.5, 0.75}) / s(0);
  return {std::exp(entropy), s(0) / s(s.n_elem - 1), quantiles(0), quantiles(1), quantiles(2)};
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

StreamedGram streamed_gram(const StoredActivation& A, double divisor, const Trial& trial) {
  return GramReader{A.tensor, A.samples_are_rows, divisor, trial}.read();
}

double streamed_gram_bytes(std::uint64_t rows, std::uint64_t cols) {
  const std::uint64_t side = std::min(rows, cols), length = std::max(rows, cols);
  const auto read_at_once = static_cast<double>(std::min(length, pieces_per_round * thickness_for(side)));
  // The factor: what reading a piece needs besides it.
  return 8 * static_cast<double>(side) * (static_cast<double>(side) + 1.5 * read_at_once);
}

MeasuredActivation measure_activation(const StoredActivation& A, const Trial& trial) {
  MeasuredActivation out;
  out.read = streamed_gram(A, 1.0, trial);
  out.ranks.non_finite = out.read.non_finite;
  const double largest = out.read.largest_modulus;
  if (out.read.non_finite.count > 0 || largest == 0) return out;
  if (largest < smallest_unscaled || largest > largest_unscaled) {
    out.divisor = largest;
    out.read = streamed_gram(A, largest, trial);
  }
  out.ranks.stable_rank = arma::trace(out.read.gram) / largest_eigenvalue(out.read.gram, [&] { trial.check_interrupt(); });
  return out;
}

MeasuredActivation measure_second_moment(const StoredTensor& moment, const Trial& trial) {
  MeasuredActivation out;
  if (moment.shape().size() == 1) {
    out.diagonal = arma::vec(moment.values());
    out.ranks.non_finite.count = static_cast<double>(out.diagonal.n_elem - arma::uvec(arma::find_finite(out.diagonal)).n_elem);
    const double trace = arma::accu(out.diagonal);
    if (out.ranks.non_finite.count == 0 && trace > 0) out.ranks.stable_rank = trace / out.diagonal.max();
    return out;
  }
  const Piece whole = looked_through(moment.columns(0, moment.cols()));
  out.ranks.non_finite = whole.non_finite;
  out.read.gram = (whole.block + whole.block.t()) / 2;
  const double trace = arma::trace(out.read.gram);
  if (out.ranks.non_finite.count > 0 || !(trace > 0)) return out;
  out.ranks.stable_rank = trace / largest_eigenvalue(out.read.gram, [&] { trial.check_interrupt(); });
  return out;
}

Ranks measure_gradient(const StoredGradient& G, std::uint64_t first, std::uint64_t count, const Trial& trial) {
  trial.check_interrupt();
  const Piece rows = looked_through(G.transposed ? G.tensor.columns(first, count) : G.tensor.rows(first, count));
  Ranks ranks;
  ranks.non_finite = rows.non_finite;
  if (ranks.non_finite.count > 0) return ranks;
  const arma::vec s = singular_values(rows.block);
  ranks.nuclear_rank = nuclear_rank(s);
  ranks.stable_rank = stable_rank(s);
  return ranks;
}

std::uint64_t most_alike(const arma::mat& sketch) {
  constexpr double alike = 1e-3;  // of two samples' projections, over their norm
  const arma::uvec order = arma::sort_index(sketch.row(0));
  std::uint64_t most = 0, here = 0;
  arma::uword leader = 0;
  for (const arma::uword sample : order) {
    const double squared_norm = sketch(2, sample), close = alike * std::sqrt(squared_norm);
    if (squared_norm == 0) continue;
    const bool same = here > 0 && std::abs(sketch(0, sample) - sketch(0, leader)) <= close &&
                      std::abs(sketch(1, sample) - sketch(1, leader)) <= close &&
                      std::abs(squared_norm - sketch(2, leader)) <= alike * squared_norm;
    if (!same) {
      leader = sample;
      here = 0;
    }
    most = std::max(most, ++here);
  }
  return most;
}

double outside_span(const StoredActivation* A, const MeasuredActivation& measured, const StoredGradient& G, const Trial& trial) {
  constexpr double rounding = 1e-12;  // eigenvalues below this share of the largest are those of rounded zeros
  constexpr std::uint64_t largest_side = 1024;
  const arma::mat& gram = measured.read.gram;
  const bool few_samples = A != nullptr && A->samples() < A->features();
  if (!few_samples && gram.n_rows > largest_side) return std::nan("");
  arma::mat gradient = matrix_of(G.tensor);
  if (G.transposed) gradient = gradient.t();
  const double modulus = gradient.is_finite() ? arma::abs(gradient).max() : 0;
  if (modulus == 0) return std::nan("");
  gradient /= modulus;
  const double whole = arma::accu(arma::square(gradient));
  trial.check_interrupt();
  if (!measured.diagonal.empty()) {
    const arma::uvec lost = arma::find(measured.diagonal <= 0);
    return std::sqrt(arma::accu(arma::square(gradient.cols(lost))) / whole);
  }
  const SymmetricEigen eigen = symmetric_eigen(gram);
  trial.check_interrupt();
  if (!few_samples) {
    const arma::uvec lost = arma::find(eigen.w <= rounding * eigen.w.max());
    return std::sqrt(arma::accu(arma::square(gradient * eigen.Q.cols(lost))) / whole);
  }
  const arma::uvec kept = arma::find(eigen.w > rounding * eigen.w.max());
  arma::mat samples = matrix_of(A->tensor) / measured.divisor;
  if (A->samples_are_rows) samples = samples.t();
  const arma::mat basis = samples * eigen.Q.cols(kept) * arma::diagmat(1 / arma::sqrt(eigen.w(kept)));
  return std::sqrt(std::max(0.0, 1 - arma::accu(arma::square(gradient * basis)) / whole));
}

// The activation's ranks and what it says of the gradient; false where it cannot be used.
bool measure_input(const Pair& pair, std::size_t p, const Trial& trial, TrialRecord& record) {
  const bool recorded = !pair.second_moment.empty();
  const StoredTensor tensor = open_tensor(recorded ? pair.second_moment : pair.activation);
  const StoredActivation activation{tensor, pair.transposed};
  const MeasuredActivation measured = recorded ? measure_second_moment(tensor, trial) : measure_activation(activation, trial);
  record.set(key_of(p), packed(measured.ranks));
  if (std::isnan(measured.ranks.stable_rank)) return false;
  double outside = std::nan("");
  if (pair.has_gradient()) {
    const StoredTensor gradient = open_tensor(pair.gradient);
    outside = outside_span(recorded ? nullptr : &activation, measured, {gradient, pair.gradient_transposed}, trial);
  }
  record.set(checks_key_of(p), {recorded ? 0.0 : static_cast<double>(most_alike(measured.read.sketch)), outside});
  return true;
}

TrialRecord run_trial(const Plan& plan, const Trial& trial) {
  TrialRecord record;
  trial.expect(plan.pairs.size(), "pair");
  for (std::size_t p = 0; p < plan.pairs.size(); ++p) {
    if (p > 0) trial.advance();
    const Pair& pair = plan.pairs[p];
    if (pair.has_activation() && !measure_input(pair, p, trial, record)) continue;
    if (!pair.has_gradient()) continue;
    const StoredTensor gradient = open_tensor(pair.gradient);
    for (std::size_t l = 0; l < pair.layers.size(); ++l) {
      const StoredGradient stored{gradient, pair.gradient_transposed};
      record.set(key_of(p, l), packed(measure_gradient(stored, pair.layers[l].first_row, pair.layers[l].m, trial)));
      if (pair.is_weight) record.set(spectrum_key_of(p, l), spectrum_of(matrix_of(stored.tensor)));
    }
  }
  return record;
}

Ranks activation_ranks(const TrialRecord& record, std::size_t pair) {
  return unpacked(record, key_of(pair));
}

Spectrum spectrum_of(const TrialRecord& record, std::size_t pair, std::size_t layer) {
  const std::vector<double>& values = record.array(spectrum_key_of(pair, layer));
  return {values.at(0), values.at(1), {values.at(2), values.at(3), values.at(4)}};
}

Checks checks_of(const TrialRecord& record, std::size_t pair) {
  if (!record.has(checks_key_of(pair))) return {};
  return {record.array(checks_key_of(pair)).at(0), record.array(checks_key_of(pair)).at(1)};
}

Ranks gradient_ranks(const TrialRecord& record, std::size_t pair, std::size_t layer) {
  return unpacked(record, key_of(pair, layer));
}

}  // namespace ranklab::files
