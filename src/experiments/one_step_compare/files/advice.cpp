#include "experiments/one_step_compare/files/advice.hpp"
#include "core/text.hpp"

#include <limits>

namespace ranklab {
namespace {

// Both ranks are good to about 1e-12.
constexpr double rounding = 1e-10;

bool at_least(double ratio, double limit) {
  return ratio >= limit * (1.0 - rounding);
}

// What is sure is so for least squares.
std::string comparison(Advantage advantage) {
  switch (advantage) {
    case Advantage::spectral:
      return "one spectral step is sure to lower the loss at least as far as one Euclidean step";
    case Advantage::spectral_by_guarantee:
      return "inconclusive: the guarantees favour the spectral step, the two-sided comparison decides nothing below 2";
    case Advantage::euclidean_by_guarantee:
      return "the guarantees favour the Euclidean step, the mirrored two-sided comparison decides nothing above 1/2";
    case Advantage::euclidean:
      break;
  }
  return "one Euclidean step is sure to lower the loss at least as far as one spectral step (mirrored comparison, at most 1/2)";
}

}  // namespace

Advantage advantage_of(double ratio) {
  if (at_least(ratio, 2.0)) return Advantage::spectral;
  if (at_least(ratio, 1.0)) return Advantage::spectral_by_guarantee;
  return ratio <= 0.5 * (1.0 + rounding) ? Advantage::euclidean : Advantage::euclidean_by_guarantee;
}

std::string advice(Advantage advantage) {
  switch (advantage) {
    case Advantage::spectral:
      return "Muon: the spectral step is ahead";
    case Advantage::spectral_by_guarantee:
      return "either: Muon is favoured, but by less than 2";
    case Advantage::euclidean_by_guarantee:
      return "either: Adam/SGD is favoured, but by less than 2";
    case Advantage::euclidean:
      break;
  }
  return "keep Adam/SGD: the Euclidean step is ahead";
}

Claim advantage_claim(const std::string& layer, double nuclear_rank, double stable_rank) {
  const double ratio = nuclear_rank / stable_rank;
  const Advantage advantage = advantage_of(ratio);
  Claim claim{layer + "/eq-1.8",
              "Section 1.2.1, eq. (1.8); Section 1.2, two-sided comparison",
              "nr(G) >= st(A), by a factor of 2 at least: the spectral step is ahead of the Euclidean step",
              Verdict::not_applicable,
              ratio,
              std::pair(2.0, std::numeric_limits<double>::infinity()),
              "nr/st = " + short_number(ratio) + ": " + comparison(advantage)};
  if (advantage == Advantage::spectral) claim.verdict = Verdict::holds;
  if (advantage == Advantage::euclidean || advantage == Advantage::euclidean_by_guarantee) claim.verdict = Verdict::fails;
  return claim;
}

}  // namespace ranklab
