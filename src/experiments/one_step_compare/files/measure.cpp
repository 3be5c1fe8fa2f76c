#include "experiments/one_step_compare/files/measure.hpp"

#include <limits>

#include "linalg/decompositions.hpp"
#include "linalg/largest_eigenvalue.hpp"
#include "linalg/spectra.hpp"

namespace ranklab {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
// Entries between these have squares, and sums of squares, that neither overflow nor vanish.
constexpr double smallest_unscaled = 1e-130, largest_unscaled = 1e130;

}  // namespace

ActivationRank measure_activation(const StoredTensor& A, const Trial& trial) {
  StreamedGram read = streamed_gram(A, 1.0, trial);
  if (read.non_finite.count > 0 || read.largest_modulus == 0) return {undefined, read.non_finite};
  if (read.largest_modulus < smallest_unscaled || read.largest_modulus > largest_unscaled) {
    read = streamed_gram(A, read.largest_modulus, trial);
  }
  const double largest = largest_eigenvalue(read.gram, [&] { trial.check_interrupt(); });
  return {arma::trace(read.gram) / largest, {}};
}

GradientRank measure_gradient(const StoredTensor& G, std::uint64_t first, std::uint64_t count, const Trial& trial) {
  trial.check_interrupt();
  const arma::mat block = G.rows(first, count);
  GradientRank rank{undefined, undefined, {}};
  rank.non_finite.include(block, first, 0);
  if (rank.non_finite.count > 0) return rank;
  const arma::vec s = singular_values(block);
  rank.nuclear_rank = nuclear_rank(s);
  rank.stable_rank = stable_rank(s);
  return rank;
}

std::string undefined_reason(const std::string& what, const NonFinite& bad) {
  if (bad.count == 0) return "the " + what + " is zero, " + (what == "gradient" ? "nr" : "st") + " of a zero matrix is undefined";
  return "the " + what + " has " + std::to_string(bad.count) + (bad.count == 1 ? " entry that is" : " entries that are") +
         " not finite, the first in row " + std::to_string(bad.row) + ", column " + std::to_string(bad.column) +
         " (counted from 0)";
}

}  // namespace ranklab
