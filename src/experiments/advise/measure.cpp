#include "experiments/advise/measure.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/machine.hpp"
#include "core/undefined.hpp"
#include "io/tensors/stored_matrix.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/largest_eigenvalue.hpp"
#include "linalg/spectra.hpp"

namespace ranklab::advise {
namespace {

// Entries with a modulus in this range have squares, and sums of squares, that neither overflow nor
// underflow.
constexpr double smallest_unscaled = 1e-130, largest_unscaled = 1e130;

// Rows first ... first + count - 1 of the gradient, in the stored orientation.
StoredBlock stored_rows(const StoredGradient& G, std::uint64_t first, std::uint64_t count) {
  return G.transposed ? G.tensor.block(G.first_feature, G.features, first, count)
                      : G.tensor.block(first, count, G.first_feature, G.features);
}

// The number of samples that are read at once (k x count), to bound memory.
std::uint64_t samples_at_once(std::uint64_t k) {
  constexpr std::uint64_t entries = 1 << 22;
  return std::max<std::uint64_t>(1, entries / k);
}

arma::mat samples_of(const StoredActivation& A, std::uint64_t first, std::uint64_t count) {
  if (A.samples_are_rows) return matrix_of(A.block(first, count, 0, A.features)).t();
  return matrix_of(A.block(0, A.features, first, count));
}

// G A / divisor, one piece of A at a time.
arma::mat product(const arma::mat& G, const StoredActivation& A, double divisor,
                  const Trial& trial) {
  const std::uint64_t n = A.samples(), at_once = samples_at_once(A.features);
  arma::mat out(G.n_rows, n);
  for (std::uint64_t first = 0; first < n; first += at_once) {
    trial.check_interrupt();
    const std::uint64_t count = std::min(at_once, n - first);
    out.cols(first, first + count - 1) = G * samples_of(A, first, count) / divisor;
  }
  return out;
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
  if (largest < smallest_unscaled || largest > largest_unscaled) {
    out.divisor = largest;
    out.read = streamed_gram(A, largest, trial);
  }
  out.ranks.stable_rank = arma::trace(out.read.gram) /
                          largest_eigenvalue(out.read.gram, [&] { trial.check_interrupt(); });
  return out;
}

SecondMoment<double> second_moment(const StoredActivation& A, const Trial& trial) {
  const std::uint64_t k = A.features, n = A.samples(), at_once = samples_at_once(k);
  arma::mat out(k, k, arma::fill::zeros);
  for (std::uint64_t first = 0; first < n; first += at_once) {
    trial.check_interrupt();
    const arma::mat samples = samples_of(A, first, std::min(at_once, n - first));
    out += samples * samples.t();
  }
  return {MomentForm::whole, std::move(out)};
}

Piece StoredMoment::block(std::uint64_t first, std::uint64_t count) const {
  if (storage == MomentStorage::samples)
    return scan_block(tensor.block(0, tensor.rows(), first, count));
  if (storage == MomentStorage::matrix) {
    const bool diagonal = tensor.shape().size() == 1;
    const StoredTensor matrix = diagonal ? tensor.as_matrix(tensor.elements(), 1) : tensor;
    return scan_block(matrix.block(first, count, diagonal ? 0 : first, diagonal ? 1 : count));
  }
  Piece out{arma::mat(count, count, arma::fill::none), 0, {}};
  prefer_large_pages(out.block.memptr(), out.block.n_elem * sizeof(double));
  arma::vec entries(tensor.elements(), arma::fill::none);
  tensor.copy_to(entries.memptr());
  // A row of the lower triangle is a column of the upper one, whose entries follow each other.
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t row = first + i;
    const double* stored = entries.memptr() + row * (row + 1) / 2 + first;
    std::copy_n(stored, i + 1, out.block.colptr(i));
    for (std::uint64_t j = 0; j <= i; ++j) {
      if (std::isfinite(stored[j])) {
        out.largest_modulus = std::max(out.largest_modulus, std::abs(stored[j]));
      } else {
        out.non_finite.include({1, static_cast<double>(row), static_cast<double>(first + j)});
      }
    }
  }
  // Mirrored in blocks that stay in the cache.
  constexpr std::uint64_t side = 64;
  for (std::uint64_t j = 0; j < count; j += side) {
    const std::uint64_t end = std::min(j + side, count);
    for (std::uint64_t i = 0; i <= j; i += side) {
      for (std::uint64_t column = j; column < end; ++column) {
        for (std::uint64_t row = i; row < std::min(i + side, column); ++row)
          out.block(column, row) = out.block(row, column);
      }
    }
  }
  return out;
}

SecondMoment<double> StoredMoment::moment_of(arma::mat block) const {
  if (storage == MomentStorage::samples) return {MomentForm::samples, std::move(block)};
  if (storage == MomentStorage::triangle) return {MomentForm::whole, std::move(block)};
  if (tensor.shape().size() == 1) return {MomentForm::diagonal, std::move(block)};
  return {MomentForm::whole, (block + block.t()) / 2};
}

MeasuredActivation measure_second_moment(const StoredMoment& stored, std::uint64_t first_feature,
                                         std::uint64_t features, const Trial& trial) {
  constexpr double asymmetry = 1e-3;
  Piece read = stored.block(first_feature, features);
  MeasuredActivation out;
  out.ranks.non_finite = read.non_finite;
  if (read.non_finite.count > 0) return out;
  const bool is_whole =
      stored.storage == MomentStorage::matrix && stored.tensor.shape().size() == 2;
  const bool symmetric =
      !is_whole || arma::abs(read.block - read.block.t()).max() <= asymmetry * read.largest_modulus;
  const SecondMoment<double> moment = stored.moment_of(std::move(read.block));
  out.squares = diagonal_of(moment);
  out.is_valid_moment = symmetric && out.squares.min() >= 0;
  if (out.is_valid_moment) {
    out.ranks.stable_rank = stable_rank_of_moment(moment, [&] { trial.check_interrupt(); });
  }
  return out;
}

Piece rows_of(const StoredGradient& G, const Layer& layer) {
  if (layer.m == layer.run) {
    Piece one = scan_block(stored_rows(G, layer.first_row, layer.m));
    if (G.transposed) one.block = arma::mat(one.block.t());
    return one;
  }
  Piece rows{arma::mat(layer.m, G.features), 0, {}};
  for (std::uint64_t at = 0, first = layer.first_row; at < layer.m;
       at += layer.run, first += layer.stride) {
    const Piece run = scan_block(stored_rows(G, first, layer.run));
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

// With d added to the eigenvalues lambda of the Gram matrix, a direction in the span keeps the
// factor d / (lambda + d), and G = E A' has a component proportional to sqrt(lambda) there. With
// the Gram matrix of the features, G - G P = d G (A A' + d)^-1. With that of fewer samples, P = A
// M^-1 A', M = A' A + d = L L', so that
//   ||G - G P||^2 = ||G||^2 - ||G A L'^-1||^2 - d ||G A M^-1||^2.
double outside_span(const StoredActivation* A, const MeasuredActivation& measured,
                    const StoredGradient& G, const Trial& trial) {
  arma::mat gradient = matrix_of(stored_rows(G, 0, G.rows()));
  if (G.transposed) gradient = gradient.t();
  const double modulus = gradient.is_finite() ? arma::abs(gradient).max() : 0;
  if (modulus == 0) return undefined;
  gradient /= modulus;
  const double whole = arma::accu(arma::square(gradient));
  trial.check_interrupt();
  if (A == nullptr) {
    const arma::uvec never = arma::find(measured.squares <= 0);
    return share(arma::accu(arma::square(gradient.cols(never))), whole);
  }
  const arma::mat& gram = measured.read.gram;
  const Span span =
      span_to_check(static_cast<double>(A->features), static_cast<double>(A->samples()));
  if (span == Span::not_checked) return undefined;
  // d lies above the eigenvalues that rounding makes of zeros.
  const double rounding =
      4 * static_cast<double>(gram.n_rows) * std::numeric_limits<double>::epsilon();
  const double d = rounding * arma::trace(gram) / measured.ranks.stable_rank;
  arma::mat L = gram;
  L.diag() += d;
  if (!arma::chol(L, L, "lower")) return undefined;
  trial.check_interrupt();
  const auto solved = [&](const arma::mat& right) {
    return arma::mat(arma::solve(arma::trimatl(L), right));
  };
  const auto solved_twice = [&](const arma::mat& once) {
    return arma::mat(arma::solve(arma::trimatu(L.t()), once));
  };
  if (span == Span::gram_of_features)
    return share(d * d * arma::accu(arma::square(solved_twice(solved(gradient.t())))), whole);
  const arma::mat inside = solved(product(gradient, *A, measured.divisor, trial).t());
  return share(
      whole - arma::accu(arma::square(inside)) - d * arma::accu(arma::square(solved_twice(inside))),
      whole);
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

}  // namespace ranklab::advise
