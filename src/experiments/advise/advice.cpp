#include "experiments/advise/advice.hpp"

#include <array>
#include <cmath>

#include "core/text.hpp"
#include "report/claims.hpp"

namespace ranklab::advise {
namespace {

std::string with_role(std::string text, const std::string& role) {
  if (!is_kept_euclidean(role)) return text;
  return text + "; the paper keeps Euclidean steps for " +
         (role == "first"  ? "the first layer"
          : role == "head" ? "the head"
                           : "embeddings");
}

bool contains_one(const PooledRatio& ratio) {
  return ratio.has_interval() && ratio.low < 1 - ratio_rounding && ratio.high >= 1 - ratio_rounding;
}

std::string text_of(const PooledRatio& ratio) {
  switch (settled_by(ratio)) {
    case Settled::spectral:
      return "Muon: its guaranteed step gains at least as much as that of gradient descent";
    case Settled::euclidean:
      return "Euclidean: its guaranteed step gains at least as much as that of Muon";
    case Settled::nothing:
      break;
  }
  if (contains_one(ratio)) return "either: the interval contains 1";
  return "either: the ratio favors " +
         std::string(ratio.ratio >= 1 - ratio_rounding ? "Muon" : "the Euclidean step") +
         ", but by less than a factor of 2";
}

}  // namespace

Advantage advantage_of(double ratio) {
  const auto at_least = [&](double limit) { return ratio >= limit * (1.0 - ratio_rounding); };
  if (at_least(2.0)) return Advantage::spectral;
  if (at_least(1.0)) return Advantage::spectral_by_guarantee;
  return ratio <= 0.5 * (1.0 + ratio_rounding) ? Advantage::euclidean
                                               : Advantage::euclidean_by_guarantee;
}

std::string_view comparison_of(Advantage advantage) {
  static constexpr std::array<std::string_view, 4> words = {
      "for least squares, a spectral step of the guarantee's length lowers the loss at least as "
      "much as a Euclidean step of the guarantee's length; at the best lengths it need not",
      "the decrease that the spectral step guarantees is at least as large, but a ratio below 2 "
      "does not decide which step is ahead",
      "the decrease that the Euclidean step guarantees is larger, but a ratio above 1/2 does not "
      "decide which step is ahead (mirrored comparison)",
      "for least squares, a Euclidean step of the guarantee's length lowers the loss at least as "
      "much as a spectral step of the guarantee's length; at the best lengths it need not "
      "(mirrored "
      "comparison, ratio at most 1/2)"};
  return words[static_cast<std::size_t>(advantage)];
}

Settled settled_by(double ratio) {
  const Advantage advantage = advantage_of(ratio);
  if (advantage == Advantage::spectral) return Settled::spectral;
  return advantage == Advantage::euclidean ? Settled::euclidean : Settled::nothing;
}

Settled settled_by(const PooledRatio& ratio) {
  return contains_one(ratio) ? Settled::nothing : settled_by(ratio.ratio);
}

std::string_view word_for(Settled settled) {
  static constexpr std::array<std::string_view, 3> words = {"muon", "either", "euclidean"};
  return words[static_cast<std::size_t>(settled)];
}

Holds inequality_holds(const PooledRatio& ratio) {
  const bool too_few = ratio.has_interval() && ratio.values < fewest_values;
  if (too_few || contains_one(ratio)) return Holds::undecided;
  return ratio.ratio >= 1 - ratio_rounding ? Holds::yes : Holds::no;
}

bool is_kept_euclidean(const std::string& role) {
  return role == "head" || role == "first" || role == "embedding";
}

Advice advice_of(const PooledRatio& ratio, const std::string& role) {
  const Holds holds = inequality_holds(ratio);
  return {settled_by(ratio),
          short_number(ratio.ratio) + (ratio.high - ratio.low > ratio_rounding * ratio.ratio
                                           ? " (" + range_text(ratio.low, ratio.high) + ")"
                                           : ""),
          holds == Holds::yes  ? "holds"
          : holds == Holds::no ? "fails"
                               : "undecided",
          with_role(text_of(ratio), role)};
}

}  // namespace ranklab::advise
