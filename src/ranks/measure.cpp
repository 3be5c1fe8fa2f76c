#include "ranks/measure.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/undefined.hpp"
#include "io/tensors/stored_matrix.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/largest_eigenvalue.hpp"
#include "linalg/spectra.hpp"

namespace ranklab::ranks {
namespace {

// Entries with a modulus in this range have squares, and sums of squares, that neither overflow nor
// underflow.
constexpr double smallest_unscaled = 1e-130, largest_unscaled = 1e130;

// Sides of the blocks that share a scale.
constexpr std::uint64_t scaled_block = 128;

std::uint64_t blocks_of(std::uint64_t size) {
  return (size + scaled_block - 1) / scaled_block;
}

// The row (or column) of the scale for row `i` of `size`.
std::uint64_t place_in_scale(std::uint64_t i, std::uint64_t size, std::uint64_t in_scale) {
  return in_scale == size ? i : in_scale == 1 ? 0 : i / scaled_block;
}

// Rows first ... first + count - 1 of the gradient (count x k).
Piece stored_rows(const StoredGradient& G, std::uint64_t first, std::uint64_t count) {
  Piece out = scan_block(G.tensor.rows(first, count));
  if (G.factor != 1) out.block *= G.factor;
  if (G.scale.is_empty()) return out;
  for (arma::uword j = 0; j < out.block.n_cols; ++j) {
    const std::uint64_t column = place_in_scale(j, G.tensor.cols(), G.scale.n_cols);
    for (arma::uword i = 0; i < out.block.n_rows; ++i)
      out.block(i, j) *=
          G.scale(place_in_scale(first + i, G.tensor.rows(), G.scale.n_rows), column);
  }
  if (!G.scale.is_finite()) out.non_finite.include({1, static_cast<double>(first), 0});
  return out;
}

// The number of samples that are read at once (k x count), to bound memory.
std::uint64_t samples_at_once(std::uint64_t k) {
  constexpr std::uint64_t entries = 1 << 22;
  return std::max<std::uint64_t>(1, entries / k);
}

arma::mat samples_of(const StoredActivation& A, std::uint64_t first, std::uint64_t count) {
  if (A.samples_are_rows) return matrix_of(A.tensor.rows(first, count)).t();
  return matrix_of(A.tensor.block(0, A.features(), first, count));
}

// G A / divisor, one piece of A at a time.
arma::mat product(const arma::mat& G, const StoredActivation& A, double divisor,
                  const Trial& trial) {
  const std::uint64_t n = A.samples(), at_once = samples_at_once(A.features());
  arma::mat out(G.n_rows, n);
  for (std::uint64_t first = 0; first < n; first += at_once) {
    trial.check_interrupt();
    const std::uint64_t count = std::min(at_once, n - first);
    out.cols(first, first + count - 1) = G * samples_of(A, first, count) / divisor;
  }
  return out;
}

// Whether the largest modulus of entries stored in single precision is below its normal numbers, so
// that digits are lost.
bool is_subnormal(const StoredTensor& stored, double largest) {
  return stored.dtype() == Dtype::f32 && largest < std::numeric_limits<float>::min();
}

enum class Span { not_checked, gram_of_samples, gram_of_features };

// Fewer samples than features span only a part of the space. More samples can still leave features
// out; this is checked unless the k x k Gram matrix is large.
Span span_to_check(double k, double n) {
  constexpr double most_features = 4096;
  return n < k                ? Span::gram_of_samples
         : k <= most_features ? Span::gram_of_features
                              : Span::not_checked;
}

double share(double outside, double whole) {
  return std::sqrt(std::max(0.0, outside / whole));
}

}  // namespace

MeasuredActivation measure_activation(const StoredActivation& A, const Trial& trial) {
  MeasuredActivation out;
  out.read = streamed_gram(A, 1.0, trial);
  out.ranks.non_finite = out.read.non_finite;
  const double largest = out.read.largest_modulus;
  if (out.read.non_finite.count > 0 || largest == 0) return out;
  out.underflows = is_subnormal(A.tensor, largest);
  if (largest < smallest_unscaled || largest > largest_unscaled) {
    out.divisor = largest;
    out.read = streamed_gram(A, largest, trial);
  }
  out.ranks.stable_rank = arma::trace(out.read.gram) /
                          largest_eigenvalue(out.read.gram, [&] { trial.check_interrupt(); });
  return out;
}

arma::mat second_moment(const StoredActivation& A, const Trial& trial) {
  const std::uint64_t k = A.features(), n = A.samples(), at_once = samples_at_once(k);
  arma::mat out(k, k, arma::fill::zeros);
  for (std::uint64_t first = 0; first < n; first += at_once) {
    trial.check_interrupt();
    const arma::mat samples = samples_of(A, first, std::min(at_once, n - first));
    out += samples * samples.t();
  }
  return out;
}

Piece read_moment(const StoredTensor& moment) {
  const bool diagonal = moment.shape().size() == 1;
  const StoredTensor matrix = diagonal ? moment.as_matrix(moment.elements(), 1) : moment;
  return scan_block(matrix.rows(0, matrix.rows()));
}

double stable_rank_of_moment(const arma::mat& M, const Trial& trial) {
  const bool diagonal = M.n_cols == 1;
  const double sum = diagonal ? arma::accu(M) : arma::trace(M);
  if (!(sum > 0)) return undefined;
  return sum / (diagonal ? M.max() : largest_eigenvalue(M, [&] { trial.check_interrupt(); }));
}

MeasuredActivation measure_second_moment(const StoredTensor& stored, std::uint64_t samples,
                                         const Trial& trial) {
  constexpr double asymmetry = 1e-3;
  Piece read = read_moment(stored);
  arma::mat& M = read.block;
  MeasuredActivation out;
  out.ranks.non_finite = read.non_finite;
  if (read.non_finite.count > 0) return out;
  out.squares = M.is_square() ? arma::vec(M.diag()) : arma::vec(M);
  out.is_valid_moment =
      out.squares.min() >= 0 &&
      (!M.is_square() || arma::abs(M - M.t()).max() <= asymmetry * read.largest_modulus);
  out.underflows = is_subnormal(stored, out.squares.max() / static_cast<double>(samples));
  if (!out.is_valid_moment || out.underflows) return out;
  if (M.is_square()) M = (M + M.t()) / 2;
  out.ranks.stable_rank = stable_rank_of_moment(M, trial);
  return out;
}

bool is_scale_of(std::uint64_t rows, std::uint64_t columns, std::vector<std::uint64_t> shape) {
  while (shape.size() > 2 && shape.back() == 1) shape.pop_back();
  if (shape.size() > 2) return false;
  const std::uint64_t down = shape.empty() ? 1 : shape.front(),
                      across = shape.size() < 2 ? 1 : shape.back();
  return (across == 1 && (down == 1 || down == rows)) ||
         (down == blocks_of(rows) && across == blocks_of(columns));
}

Piece rows_of(const StoredGradient& G, const Layer& layer) {
  if (layer.m == layer.chunk) return stored_rows(G, layer.first_row, layer.m);
  Piece rows{arma::mat(layer.m, G.tensor.cols()), 0, {}};
  for (std::uint64_t at = 0, first = layer.first_row; at < layer.m;
       at += layer.chunk, first += layer.stride) {
    const Piece chunk = stored_rows(G, first, layer.chunk);
    rows.block.rows(at, at + layer.chunk - 1) = chunk.block;
    rows.non_finite.include(chunk.non_finite);
  }
  return rows;
}

MeasuredGradient measure_gradient(const StoredGradient& G, const Layer& layer, const Trial& trial) {
  trial.check_interrupt();
  const Piece rows = rows_of(G, layer);
  MeasuredGradient out;
  out.ranks.non_finite = rows.non_finite;
  if (rows.non_finite.count > 0) return out;
  out.s = singular_values(rows.block);
  out.ranks.nuclear_rank = nuclear_rank(out.s);
  out.ranks.stable_rank = stable_rank(out.s);
  return out;
}

// With d added to the eigenvalues lambda of the Gram matrix, a direction in the span keeps the
// factor d / (lambda + d), and G = E A' has a component proportional to sqrt(lambda) there. With
// the Gram matrix of the features, G - G P = d G (A A' + d)^-1. With that of fewer samples, P = A
// M^-1 A', M = A' A + d = L L', so that
//   ||G - G P||^2 = ||G||^2 - ||G A L'^-1||^2 - d ||G A M^-1||^2.
CheckedGradient check_gradient(const StoredActivation* A, const MeasuredActivation& measured,
                               const StoredGradient& G, const Trial& trial) {
  CheckedGradient out;
  arma::mat gradient = stored_rows(G, 0, G.tensor.rows()).block;
  const double modulus = gradient.is_finite() ? arma::abs(gradient).max() : 0;
  if (modulus == 0) return out;
  out.underflows = is_subnormal(G.tensor, modulus / G.factor);
  gradient /= modulus;
  const double whole = arma::accu(arma::square(gradient));
  trial.check_interrupt();
  if (A == nullptr) {
    const arma::uvec never = arma::find(measured.squares <= 0);
    out.outside = share(arma::accu(arma::square(gradient.cols(never))), whole);
    return out;
  }
  const arma::mat& gram = measured.read.gram;
  const Span span =
      span_to_check(static_cast<double>(A->features()), static_cast<double>(A->samples()));
  if (span == Span::not_checked) return out;
  // d lies above the eigenvalues that rounding makes of zeros.
  const double rounding =
      4 * static_cast<double>(gram.n_rows) * std::numeric_limits<double>::epsilon();
  const double d = rounding * arma::trace(gram) / measured.ranks.stable_rank;
  arma::mat L = gram;
  L.diag() += d;
  if (!arma::chol(L, L, "lower")) return out;
  trial.check_interrupt();
  const auto solved = [&](const arma::mat& right) {
    return arma::mat(arma::solve(arma::trimatl(L), right));
  };
  const auto solved_twice = [&](const arma::mat& once) {
    return arma::mat(arma::solve(arma::trimatu(L.t()), once));
  };
  if (span == Span::gram_of_features) {
    out.outside =
        share(d * d * arma::accu(arma::square(solved_twice(solved(gradient.t())))), whole);
    return out;
  }
  const arma::mat inside = solved(product(gradient, *A, measured.divisor, trial).t());
  out.outside = share(
      whole - arma::accu(arma::square(inside)) - d * arma::accu(arma::square(solved_twice(inside))),
      whole);
  return out;
}

double outside_span_flops(double m, double k, double n) {
  switch (span_to_check(k, n)) {
    case Span::gram_of_features:
      return k * k * k / 3 + 2 * m * k * k;
    case Span::gram_of_samples:
      return n * n * n / 3 + 2 * m * k * n + m * n * n;
    default:
      return 0;
  }
}

double random_stable_rank(double m, double k) {
  return m * k / std::pow(std::sqrt(m) + std::sqrt(k), 2);
}

// With b = min / max, the eigenvalues x = s^2 / max have the density
// sqrt((x - x0)(x1 - x)) / (2 pi b x) between x0, x1 = (1 -+ sqrt(b))^2. Substituting
// x = 1 + b - 2 sqrt(b) cos(t) makes the integrand of the mean of sqrt(x) smooth, and the midpoint
// rule accurate.
double random_nuclear_rank(double m, double k) {
  constexpr int points = 400;
  const double d = std::min(m, k), b = d / std::max(m, k);
  double sum = 0;
  for (int i = 0; i < points; ++i) {
    const double t = arma::datum::pi * (i + 0.5) / points,
                 x = 1 + b - 2 * std::sqrt(b) * std::cos(t);
    sum += 2 * std::pow(std::sin(t), 2) / (arma::datum::pi * std::sqrt(x));
  }
  return d * std::pow(sum * arma::datum::pi / points, 2);
}

}  // namespace ranklab::ranks
