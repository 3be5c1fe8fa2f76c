// Synthetic Gram matrices with several spikes above a bulk, [Spectral] Assumption F, and cross-Gram
// matrices with the same right spike directions, Assumption H; square, k = m = d. They are not
// built from features: the theorems of Sections 3.1.4 and 3.2.4 involve only the matrices.
//
// Shapes: d x d, U and V d x r. Spikes, bulk bases and bulk spectra are drawn independently, so
// that no basis diagonalizes both parts.
#pragma once

#include <armadillo>
#include <cstdint>
#include <string>

#include "core/random.hpp"

namespace ranklab {

struct SpikedShape {
  std::uint64_t d = 64;      // size of the matrices
  std::uint64_t spikes = 4;  // r of Assumption F, p of Assumption H; at most d
  // l <= u: the spikes are d^e with e equally spaced from l to u; a single spike is d^u.
  double low = 0.75, high = 1.0;
  double bulk_low = 0.5, bulk_high = 1.5;  // c_1, c_2: the bulk spectrum is uniform on [c_1, c_2]
  std::string suffix() const;              // "/d=64": suffix of the names of its random streams
  arma::vec spike_values() const;          // (r), descending
  /// r of Assumption H: the number of nonzero singular values of the cross bulk.
  std::uint64_t cross_rank() const { return d / 2; }
};

/// [Spectral] eq. (3.10): B = S + Sigma, S = U diag(d^e) U', Sigma = Q diag(bulk) Q'.
struct SpikedGram {
  arma::mat U;         // orthonormal columns
  arma::vec spikes;    // descending
  arma::mat S, Sigma;  // exactly symmetric
  arma::mat B() const { return S + Sigma; }
};

/// Draws the streams "spike_directions", "bulk_basis" and "bulk", each with the suffix. Throws
/// Failure if a QR decomposition fails.
SpikedGram draw_spiked_gram(const Streams& streams, const SpikedShape& shape);

/// [Spectral] eq. (3.23), right: B-bar = H_2 + Sigma, H_2 = V diag(d^e) U' with U and the spikes of
/// the Gram matrix. Sigma has cross_rank() singular values in the range of the bulk; the others are
/// 0.
struct SpikedCrossGram {
  arma::mat V;         // orthonormal columns
  arma::mat H, Sigma;  // H is the paper's H_2
  arma::mat B() const { return H + Sigma; }
};

/// Draws the streams "left_spike_directions", "cross_left", "cross_right" and "cross_bulk", each
/// with the suffix.
SpikedCrossGram draw_spiked_cross_gram(const Streams& streams, const SpikedShape& shape,
                                       const SpikedGram& gram);

/// d x columns with orthonormal columns, uniformly distributed: Q of a Gaussian matrix from the
/// stream `name`, with signs such that R has a positive diagonal. With fewer columns, the result is
/// the first columns of a larger draw.
arma::mat draw_orthonormal(const Streams& streams, const std::string& name, std::uint64_t d,
                           std::uint64_t columns);

}  // namespace ranklab
