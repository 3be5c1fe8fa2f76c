// For the tests of the study stable-rank.
#pragma once

#include "ensembles/activations.hpp"
#include "experiments/kit.hpp"

namespace ranklab::stable_ranks {

struct Config : Study {
  std::vector<std::string> activation = {"abs", "relu", "leaky-relu", "relu2", "gelu", "silu"};
  std::uint64_t k = 512, d = 256, n = 2048, depth = 5;
  double epsilon = 0.1;  // eps_1 = eps_2 of Theorems 2.6 and 2.7
  std::uint64_t rank = 5;
  double power = 1.0;
  std::vector<double> variances = {0.25, 0.5, 1.0, 2.0, 4.0};
  std::uint64_t vocabulary = 50257, tokens = 16384;
  double zipf = 0.86, failure_probability = 0.25;

  std::vector<Field> flags() override;
  void check() const override;
  Estimate memory() const override;
  Work work() const override;
  std::string title() const override { return "Stable rank of post-activations"; }
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;

  bool lists(const std::string& sigma) const;
  /// Activations of the deep networks: those listed, and quadratic, which Theorem 2.8 is about.
  std::vector<std::string> stacks() const;
  /// Those listed that Theorems 2.6 and 2.7 cover.
  std::vector<std::string> covered() const;
  /// Of any A_l.
  double largest_rank() const;
};

/// One row of Figure 12: inequality (2.9), alpha f <= (E sigma)^2 and E sigma^2 <= beta f, and the
/// last column, NSR(z) <= beta / alpha. It is checked for a W with equal rows and for a W with one
/// row of each variance. Each listed variance in turn belongs to the row of W that sets s_*; every
/// listed variance that is at least as large is then a row of W. The claims' ids are
/// spectral/fig-12/<name> and <name>/nsr. If the row has an s_*, the reading of s_* follows in the
/// id.
void judge_row(const std::string& name, const Activation& activation, const PrintedMoments& printed,
               const std::vector<double>& variances, Claims& claims);

/// The probability, 8.8e-9, of a Gaussian 4 x 4 matrix W whose positive entries are those of a
/// permutation and lie in [1, largest_entry]. Then st(relu(W)) >= 1 + 3/largest_entry^2 = 3.241,
/// above the bound 1.01/0.99^2 pi = 3.2374 of Theorem 2.7.
double failure_of_copies();
inline constexpr double largest_entry = 1.157;

/// Eq. (2.12): the bound on st(A_l) with quadratic activations as printed, 27 * 3^(2^(l+2)) / (2c),
/// infinite if it overflows; and the number of samples that Theorem 2.8 requires for it, 9 *
/// 3^(2^(l+1)) log(1/(2c)) / 32.
double quadratic_bound(std::uint64_t layer, double c);
double quadratic_samples(std::uint64_t layer, double c);

}  // namespace ranklab::stable_ranks
