#include "experiments/advise/advice.hpp"

#include <array>
#include <cmath>

#include "core/text.hpp"

namespace ranklab::advise {
namespace {

// The word for a result in the advice over several steps.
std::string short_advice(Settled settled) {
  return settled == Settled::spectral    ? "Muon"
         : settled == Settled::euclidean ? "keep Adam/SGD"
                                         : "either";
}

std::string with_role(std::string text, const std::string& role) {
  if (!is_kept_euclidean(role)) return text;
  return text + "; the paper keeps Euclidean steps for " +
         (role == "first"  ? "the first layer"
          : role == "head" ? "the head"
                           : "embeddings");
}

Advice advice_of_ratio(double ratio) {
  const Words& words = words_for(advantage_of(ratio));
  return {settled_by(ratio), short_number(ratio), words.verdict, words.advice, words.comparison};
}

// Several batches at one step: the interval of their mean and the joined batches must agree.
Advice advice_of_batches(const StepRatio& ratio) {
  const Summary& batches = ratio.batches;
  const double measured = confidence_half_width(batches),
               half = measured > ratio_rounding * batches.mean ? measured : 0,
               low = batches.mean - half, high = batches.mean + half;
  const Settled settled = settled_by(ratio);
  const std::string over = "over " + std::to_string(batches.n) + " batches",
                    together = short_number(ratio.joined);
  const std::string verdict = low >= 1 ? "holds" : high < 1 ? "fails" : "undecided";
  const std::string reason =
      settled_by(StepRatio{batches}) == Settled::nothing
          ? "the 99 % interval " + over + " does not settle which step is ahead"
          : "the mean " + over + " and the joined batches disagree";
  return {settled,
          short_number(batches.mean) + " +- " + short_number(half) +
              (std::isnan(ratio.joined) ? "" : ", joined " + together),
          verdict,
          settled == Settled::nothing ? "either: " + reason
                                      : words_for(advantage_of(batches.mean)).advice + " " + over,
          "mean and 99 % interval " + over};
}

Advice advice_of_steps(const std::map<std::int64_t, StepRatio>& ratios) {
  std::array<std::size_t, 3> counts = {};
  std::size_t holds = 0;
  double smallest = INFINITY, largest = 0;
  for (const auto& [step, ratio] : ratios) {
    counts[static_cast<std::size_t>(settled_by(ratio))] += 1;
    holds += ratio.batches.mean >= 1 - ratio_rounding ? 1 : 0;
    smallest = std::min(smallest, ratio.batches.mean);
    largest = std::max(largest, ratio.batches.mean);
  }
  const std::string of = " of " + std::to_string(ratios.size()) + " steps";
  Advice out{Settled::nothing, short_number(smallest) + " to " + short_number(largest),
             std::to_string(holds) + of, "", ""};
  std::string text;
  for (const Settled one : {Settled::spectral, Settled::nothing, Settled::euclidean}) {
    const std::size_t count = counts[static_cast<std::size_t>(one)];
    if (5 * count >= 4 * ratios.size() && one != Settled::nothing) out.settled = one;
    if (count > 0)
      text += (text.empty() ? "" : ", ") + short_advice(one) + " in " + std::to_string(count);
  }
  const bool begins_with_either = counts[static_cast<std::size_t>(Settled::spectral)] == 0;
  out.text = (out.settled == Settled::nothing && !begins_with_either ? "either: " : "") + text + of;
  out.comparison = out.text;
  return out;
}

}  // namespace

Advantage advantage_of(double ratio) {
  const auto at_least = [&](double limit) { return ratio >= limit * (1.0 - ratio_rounding); };
  if (at_least(2.0)) return Advantage::spectral;
  if (at_least(1.0)) return Advantage::spectral_by_guarantee;
  return ratio <= 0.5 * (1.0 + ratio_rounding) ? Advantage::euclidean
                                               : Advantage::euclidean_by_guarantee;
}

const Words& words_for(Advantage advantage) {
  static const std::array<Words, 4> words = {{
      {"holds", "Muon: the spectral step is ahead",
       "for least squares, one spectral step is guaranteed to lower the loss at least as much as "
       "one Euclidean step"},
      {"holds", "either: the ratio favors Muon, but by less than a factor of 2",
       "the decrease that the spectral step guarantees is at least as large, but a ratio below 2 "
       "does not decide which step is ahead"},
      {"fails", "either: the ratio favors Adam/SGD, but by less than a factor of 2",
       "the decrease that the Euclidean step guarantees is larger, but a ratio above 1/2 does not "
       "decide which step is ahead (mirrored comparison)"},
      {"fails", "keep Adam/SGD: the Euclidean step is ahead",
       "for least squares, one Euclidean step is guaranteed to lower the loss at least as much as "
       "one spectral step (mirrored comparison, ratio at most 1/2)"},
  }};
  return words[static_cast<std::size_t>(advantage)];
}

Settled settled_by(double ratio) {
  const Advantage advantage = advantage_of(ratio);
  if (advantage == Advantage::spectral) return Settled::spectral;
  return advantage == Advantage::euclidean ? Settled::euclidean : Settled::nothing;
}

Settled settled_by(const StepRatio& ratio) {
  const Summary& batches = ratio.batches;
  if (batches.n < 2) return settled_by(batches.mean);
  const double half = confidence_half_width(batches);
  const Settled low = settled_by(batches.mean - half), high = settled_by(batches.mean + half);
  const Settled joined = std::isnan(ratio.joined) ? low : settled_by(ratio.joined);
  return low == high && low == joined ? low : Settled::nothing;
}

bool is_kept_euclidean(const std::string& role) {
  return role == "head" || role == "first" || role == "embedding";
}

Advice advice_of(const std::map<std::int64_t, StepRatio>& ratios, const std::string& role) {
  const StepRatio& first = ratios.begin()->second;
  Advice advice = ratios.size() > 1     ? advice_of_steps(ratios)
                  : first.batches.n > 1 ? advice_of_batches(first)
                                        : advice_of_ratio(first.batches.mean);
  advice.text = with_role(std::move(advice.text), role);
  return advice;
}

}  // namespace ranklab::advise
