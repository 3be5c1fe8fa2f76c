#include "experiments/one_step_compare/files/measure.hpp"

#include <algorithm>
#include <cmath>

#include "linalg/decompositions.hpp"
#include "linalg/largest_eigenvalue.hpp"
#include "linalg/spectra.hpp"
#include "linalg/stored_matrix.hpp"

namespace ranklab::files {
namespace {

// Entries between these have squares, and sums of squares, that neither overflow nor vanish.
constexpr double smallest_unscaled = 1e-130, largest_unscaled = 1e130;

// Rows first ... first + count - 1 of the gradient, as they are stored.
StoredBlock stored_rows(const StoredGradient& G, std::uint64_t first, std::uint64_t count) {
  return G.transposed ? G.tensor.block(G.first_feature, G.features, first, count)
                      : G.tensor.block(first, count, G.first_feature, G.features);
}

// G A, a piece of A at a time.
arma::mat product(const arma::mat& G, const StoredActivation& A, double divisor, const Trial& trial) {
  constexpr std::uint64_t entries_at_once = 1 << 22;
  const std::uint64_t n = A.samples(), at_once = std::max<std::uint64_t>(1, entries_at_once / A.features);
  arma::mat out(G.n_rows, n);
  for (std::uint64_t first = 0; first < n; first += at_once) {
    trial.check_interrupt();
    const std::uint64_t count = std::min(at_once, n - first);
    const arma::mat samples =
        matrix_of(A.samples_are_rows ? A.block(first, count, 0, A.features) : A.block(0, A.features, first, count)) / divisor;
    out.cols(first, first + count - 1) = A.samples_are_rows ? arma::mat(G * samples.t()) : arma::mat(G * samples);
  }
  return out;
}

enum class Span { not_looked_at, gram_of_samples, gram_of_features };

// Few samples span a part of the space; many may leave features out, which is looked for where the Gram matrix is not large.
Span span_looked_at(double k, double n) {
  constexpr double most_features = 4096;
  return n < k ? Span::gram_of_samples : k <= most_features ? Span::gram_of_features : Span::not_looked_at;
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
  if (largest < smallest_unscaled || largest > largest_unscaled) {
    out.divisor = largest;
    out.read = streamed_gram(A, largest, trial);
  }
  out.ranks.stable_rank = arma::trace(out.read.gram) / largest_eigenvalue(out.read.gram, [&] { trial.check_interrupt(); });
  return out;
}

MeasuredActivation measure_second_moment(const StoredTensor& moment, std::uint64_t first_feature, std::uint64_t features,
                                         const Trial& trial) {
  MeasuredActivation out;
  if (moment.shape().size() == 1) {
    out.diagonal = arma::vec(moment.values()).subvec(first_feature, first_feature + features - 1);
    out.ranks.non_finite.count = static_cast<double>(out.diagonal.n_elem - arma::uvec(arma::find_finite(out.diagonal)).n_elem);
    const double trace = arma::accu(out.diagonal);
    if (out.ranks.non_finite.count == 0 && trace > 0) out.ranks.stable_rank = trace / out.diagonal.max();
    return out;
  }
  const Piece whole = looked_through(moment.block(first_feature, features, first_feature, features));
  out.ranks.non_finite = whole.non_finite;
  out.read.gram = (whole.block + whole.block.t()) / 2;
  const double trace = arma::trace(out.read.gram);
  if (out.ranks.non_finite.count > 0 || !(trace > 0)) return out;
  out.ranks.stable_rank = trace / largest_eigenvalue(out.read.gram, [&] { trial.check_interrupt(); });
  return out;
}

Piece rows_of(const StoredGradient& G, const Layer& layer) {
  Piece rows{arma::mat(layer.m, G.features), 0, {}};
  for (std::uint64_t at = 0, first = layer.first_row; at < layer.m; at += layer.run, first += layer.stride) {
    const Piece run = looked_through(stored_rows(G, first, layer.run));
    rows.block.rows(at, at + layer.run - 1) = G.transposed ? arma::mat(run.block.t()) : run.block;
    rows.largest_modulus = std::max(rows.largest_modulus, run.largest_modulus);
    rows.non_finite.include(run.non_finite);
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

// With S = A A' + d, G P is G A A' S^-1 but for d G S^-1, whose part inside the span is small: G = E A' has sqrt(lambda) there.
// With few samples, ||G P||_F^2 = ||G A L'^-1||_F^2 for A' A + d = L L'.
double outside_span(const StoredActivation* A, const MeasuredActivation& measured, const StoredGradient& G, const Trial& trial) {
  constexpr double rounding = 1e-12;  // d over the largest eigenvalue, which is far above what rounding makes of zeros
  arma::mat gradient = matrix_of(stored_rows(G, 0, G.rows()));
  if (G.transposed) gradient = gradient.t();
  const double modulus = gradient.is_finite() ? arma::abs(gradient).max() : 0;
  if (modulus == 0) return std::nan("");
  gradient /= modulus;
  const double whole = arma::accu(arma::square(gradient));
  trial.check_interrupt();
  const arma::mat& gram = measured.read.gram;
  if (A == nullptr) {
    const arma::vec squares = measured.diagonal.empty() ? arma::vec(gram.diag()) : measured.diagonal;
    return share(arma::accu(arma::square(gradient.cols(arma::find(squares <= 0)))), whole);
  }
  const Span span = span_looked_at(static_cast<double>(A->features), static_cast<double>(A->samples()));
  if (span == Span::not_looked_at) return std::nan("");
  const double d = rounding * arma::trace(gram) / measured.ranks.stable_rank;
  arma::mat L;
  if (!arma::chol(L, gram + d * arma::eye(arma::size(gram)), "lower")) return std::nan("");
  trial.check_interrupt();
  if (span == Span::gram_of_features) {
    const arma::mat outside = d * arma::solve(arma::trimatu(L.t()), arma::solve(arma::trimatl(L), arma::mat(gradient.t())));
    return share(arma::accu(arma::square(outside)), whole);
  }
  const arma::mat inside = arma::solve(arma::trimatl(L), arma::mat(product(gradient, *A, measured.divisor, trial).t()));
  return share(whole - arma::accu(arma::square(inside)), whole);
}

double outside_span_flops(double m, double k, double n) {
  switch (span_looked_at(k, n)) {
    case Span::gram_of_features:
      return k * k * k / 3 + 2 * m * k * k;
    case Span::gram_of_samples:
      return n * n * n / 3 + 2 * m * k * n + m * n * n;
    default:
      return 0;
  }
}

}  // namespace ranklab::files
