// For the tests of the study spectral-gap.
#pragma once

#include <armadillo>
#include <array>

#include "experiments/kit.hpp"
#include "nn/blocks/tensors.hpp"

namespace ranklab::spectral_gap {

struct Config : Study {
  std::vector<std::uint64_t> tokens = {32, 64, 128, 256, 512};  // n, each at least 2
  std::vector<std::uint64_t> dim = {16, 64, 256, 1024};         // d

  std::vector<Field> flags() override;
  Estimate memory() const override;
  Work work() const override;
  std::string title() const override { return "Spectral gaps of stochastic matrices"; }
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;
};

/// A law of independent positive entries with finite moments.
struct Law {
  std::string name;
  double variation;  // the standard deviation of an entry divided by its mean
  EntryLaw entry;
};
/// uniform on (0, 1); exponential, with which the rows are uniform on the simplex; lognormal,
/// exp(N(0, 1)).
extern const std::array<Law, 3> laws;

/// An n x n matrix of independent entries whose rows are divided by their sums, transposed: columns
/// sum to one.
arma::mat markov_matrix(const Law& law, std::uint64_t n, const Streams& streams);

/// P' of eq. (2) for X (n, d) with entries N(0, 1): columns sum to one.
arma::mat attention(std::uint64_t n, std::uint64_t d, const Streams& streams);

/// sqrt(1/n + 1/d)/3.
double predicted_second_eigenvalue(std::uint64_t n, std::uint64_t d);

/// What a trial records: |lambda_2| over n in ascending order, for a law or for attention of one d.
Quantity array_of(const Law& law);
Quantity array_of(std::uint64_t d);

}  // namespace ranklab::spectral_gap
