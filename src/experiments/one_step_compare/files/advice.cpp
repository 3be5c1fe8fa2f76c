// What the ratios nr(G) / st(A) of a layer settle.
#include <array>
#include <cmath>

#include "core/text.hpp"
#include "experiments/one_step_compare/files/rows.hpp"

namespace ranklab::files {
namespace {

// What is said of Muon, of neither, of Adam.
std::string named(Settled settled) {
  return settled == Settled::spectral ? "Muon" : settled == Settled::euclidean ? "keep Adam/SGD" : "either";
}

std::string with_role(std::string text, const std::string& role) {
  return is_kept_euclidean(role) ? text + "; " +
                                       (role == "first"  ? "the first layer"
                                        : role == "head" ? "the head"
                                                         : "an embedding") +
                                       ", which the paper keeps Euclidean"
                                 : text;
}

Advice of_one(double ratio) {
  const Words& words = words_for(advantage_of(ratio));
  return {settled_by(ratio), short_number(ratio), words.verdict, words.advice, words.comparison};
}

// By the interval of the mean over the batches of one step, and joined.
Advice of_batches(const StepRatio& ratio) {
  const Summary& batches = ratio.batches;
  const double measured = confidence_half_width(batches), half = measured > ratio_rounding * batches.mean ? measured : 0,
               low = batches.mean - half, high = batches.mean + half;
  const Settled settled = settled_by(ratio);
  const std::string over = "over " + std::to_string(batches.n) + " batches", together = short_number(ratio.joined);
  const std::string verdict = low >= 1 ? "holds" : high < 1 ? "fails" : "undecided";
  const std::string open = settled_by(StepRatio{batches}) == Settled::nothing ? "a factor of 2 is not settled " + over
                                                                              : "so " + over + ", but not joined";
  return {settled,
          short_number(batches.mean) + " +- " + short_number(half) + (std::isnan(ratio.joined) ? "" : ", joined " + together),
          verdict, settled == Settled::nothing ? "either: " + open : words_for(advantage_of(batches.mean)).advice + " " + over,
          "mean and 99 % interval " + over};
}

Advice of_steps(const std::map<std::int64_t, StepRatio>& ratios) {
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
  Advice out{Settled::nothing, short_number(smallest) + " to " + short_number(largest), std::to_string(holds) + of, "", ""};
  std::string text;
  for (const Settled one : {Settled::spectral, Settled::nothing, Settled::euclidean}) {
    const std::size_t count = counts[static_cast<std::size_t>(one)];
    if (5 * count >= 4 * ratios.size() && one != Settled::nothing) out.settled = one;
    if (count > 0) text += (text.empty() ? "" : ", ") + named(one) + " in " + std::to_string(count);
  }
  out.text = (out.settled == Settled::nothing && !text.starts_with("either") ? "either: " : "") + text + of;
  out.comparison = out.text;
  return out;
}

}  // namespace

Advantage advantage_of(double ratio) {
  const auto at_least = [&](double limit) { return ratio >= limit * (1.0 - ratio_rounding); };
  if (at_least(2.0)) return Advantage::spectral;
  if (at_least(1.0)) return Advantage::spectral_by_guarantee;
  return ratio <= 0.5 * (1.0 + ratio_rounding) ? Advantage::euclidean : Advantage::euclidean_by_guarantee;
}

const Words& words_for(Advantage advantage) {
  static const std::array<Words, 4> words = {{
      {"holds", "Muon: the spectral step is ahead",
       "one spectral step is sure to lower the loss at least as far as one Euclidean step"},
      {"holds", "either: Muon is favoured, but by less than 2",
       "the guarantees favour the spectral step, the two-sided comparison decides nothing below 2"},
      {"fails", "either: Adam/SGD is favoured, but by less than 2",
       "the guarantees favour the Euclidean step, the mirrored two-sided comparison decides nothing above 1/2"},
      {"fails", "keep Adam/SGD: the Euclidean step is ahead",
       "one Euclidean step is sure to lower the loss at least as far as one spectral step (mirrored comparison, at most 1/2)"},
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
  Advice advice = ratios.size() > 1 ? of_steps(ratios) : first.batches.n > 1 ? of_batches(first) : of_one(first.batches.mean);
  advice.text = with_role(std::move(advice.text), role);
  return advice;
}

}  // namespace ranklab::files
