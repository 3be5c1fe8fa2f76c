#include "ensembles/spiked_gram.hpp"

#include <cmath>

#include "core/error.hpp"
#include "ensembles/random_features.hpp"

namespace ranklab {
namespace {

// Independent uniform draws from the range of the bulk, descending.
arma::vec draw_bulk(const Streams& streams, const SpikedShape& shape, const std::string& name,
                    std::uint64_t count) {
  arma::vec values(count);
  streams.stream(name + shape.suffix())
      .fill_uniform({values.memptr(), values.n_elem}, shape.bulk_low, shape.bulk_high);
  return arma::sort(values, "descend");
}

// Q diag(values) Q', exactly symmetric.
arma::mat symmetric(const arma::mat& Q, const arma::vec& values) {
  const arma::mat product = Q * arma::diagmat(values) * Q.t();
  return arma::symmatu(product);
}

}  // namespace

std::string SpikedShape::suffix() const {
  return "/d=" + std::to_string(d);
}

arma::vec SpikedShape::spike_values() const {
  arma::vec values(spikes);
  for (std::uint64_t i = 0; i < spikes; ++i) {
    const double part =
        spikes == 1 ? 0.0 : static_cast<double>(i) / static_cast<double>(spikes - 1);
    values(i) = std::pow(static_cast<double>(d), high + part * (low - high));
  }
  return values;
}

arma::mat draw_orthonormal(const Streams& streams, const std::string& name, std::uint64_t d,
                           std::uint64_t columns) {
  arma::mat Q, R;
  if (!arma::qr_econ(Q, R, draw_gaussian<double>(streams, name.c_str(), d, columns, 1.0))) {
    throw Failure("QR decomposition of a " + std::to_string(d) + " x " + std::to_string(columns) +
                  " matrix failed");
  }
  for (arma::uword j = 0; j < Q.n_cols; ++j) {
    if (R(j, j) < 0) Q.col(j) *= -1.0;
  }
  return Q;
}

SpikedGram draw_spiked_gram(const Streams& streams, const SpikedShape& shape) {
  const std::string suffix = shape.suffix();
  SpikedGram gram;
  gram.U = draw_orthonormal(streams, "spike_directions" + suffix, shape.d, shape.spikes);
  gram.spikes = shape.spike_values();
  gram.S = symmetric(gram.U, gram.spikes);
  const arma::mat Q = draw_orthonormal(streams, "bulk_basis" + suffix, shape.d, shape.d);
  gram.Sigma = symmetric(Q, draw_bulk(streams, shape, "bulk", shape.d));
  return gram;
}

SpikedCrossGram draw_spiked_cross_gram(const Streams& streams, const SpikedShape& shape,
                                       const SpikedGram& gram) {
  const std::string suffix = shape.suffix();
  SpikedCrossGram cross;
  cross.V = draw_orthonormal(streams, "left_spike_directions" + suffix, shape.d, shape.spikes);
  cross.H = cross.V * arma::diagmat(gram.spikes) * gram.U.t();
  const arma::mat left =
      draw_orthonormal(streams, "cross_left" + suffix, shape.d, shape.cross_rank());
  const arma::mat right =
      draw_orthonormal(streams, "cross_right" + suffix, shape.d, shape.cross_rank());
  cross.Sigma =
      left * arma::diagmat(draw_bulk(streams, shape, "cross_bulk", shape.cross_rank())) * right.t();
  return cross;
}

}  // namespace ranklab
