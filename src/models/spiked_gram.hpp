// Synthetic Gram matrices with several spikes above a bulk, [Spectral] Assumption F, and cross-Gram matrices that share their
// right spike directions, Assumption H; square, k = m = d. No features stand behind them: the theorems of Sections 3.1.4 and
// 3.2.4 see the matrices alone.
//
// Shapes: d x d throughout, U and V d x r. Spikes, bulk bases and bulk spectra are drawn independently of each other, so that
// no basis diagonalises both parts.
#pragma once

#include <armadillo>
#include <cstdint>
#include <string>

#include "run/trials.hpp"

namespace ranklab {

struct SpikedShape {
  std::uint64_t d = 64;                    // size of the matrices
  std::uint64_t spikes = 4;                // r of Assumption F, p of Assumption H; at most d
  double low = 0.75, high = 1.0;           // l <= u: the spikes are d^e, e equally spaced from l to u; a single one is d^u
  double bulk_low = 0.5, bulk_high = 1.5;  // c_1, c_2: the bulk spectrum is uniform in between
  std::string suffix() const;              // "/d=64", the end of the names of this size's random streams
  arma::vec spike_values() const;          // (r), descending
  std::uint64_t cross_rank() const { return d / 2; }  // r of Assumption H: singular values of the cross bulk that are not 0
};

/// [Spectral] eq. (3.10): B = S + Sigma, S = U diag(d^e) U', Sigma = Q diag(bulk) Q'.
struct SpikedGram {
  arma::mat U;         // orthonormal columns
  arma::vec spikes;    // descending
  arma::mat S, Sigma;  // symmetric to the last bit
  arma::mat B() const { return S + Sigma; }
};

/// Draws the streams "spike_directions", "bulk_basis" and "bulk", each with the suffix. Throws Failure where a QR fails.
SpikedGram draw_spiked_gram(const Trial& trial, const SpikedShape& shape);

/// [Spectral] eq. (3.23), right: B-bar = H_2 + Sigma, H_2 = V diag(d^e) U' with the U and spikes of the Gram matrix, and a Sigma
/// with cross_rank() singular values in the bulk's range and the others 0.
struct SpikedCrossGram {
  arma::mat V;         // orthonormal columns
  arma::mat H, Sigma;  // H is the paper's H_2
  arma::mat B() const { return H + Sigma; }
};

/// Draws the streams "left_spike_directions", "cross_left", "cross_right" and "cross_bulk", each with the suffix.
SpikedCrossGram draw_spiked_cross_gram(const Trial& trial, const SpikedShape& shape, const SpikedGram& gram);

/// d x columns with orthonormal columns, uniformly distributed: Q of a Gaussian matrix from the stream `name`, signs chosen so
/// that R has a positive diagonal. Fewer columns are the first of more.
arma::mat draw_orthonormal(const Trial& trial, const std::string& name, std::uint64_t d, std::uint64_t columns);

}  // namespace ranklab
