// Runs that diverged, and what a claim about them may say: the rule for all studies. A run is that
// of an optimizer, or a curve through the layers; its values after the divergence are undefined.
//
//  1. A comparison with an extreme, such as that of final losses: the loss of a run that diverged
//     is infinite, so that the trial counts for the other run. A mean of infinite values does not
//     exist. judge_mean then counts the trials, and a statement about a margin is undecided.
//  2. A comparison without one, such as a difference of ranks: undecided.
//  3. A quantity of one run, and trials in which all compared runs diverged: judged over the other
//     trials, and the detail says so. Undecided if they are half of all trials or fewer. The median
//     over all trials is among the values of a majority, wherever the lost values would lie.
//  4. A count over iterations keeps those before the divergence. Violations count; without one,
//     as in 3, and for (1.5) at every iteration undecided as soon as one run diverged. A theorem
//     covers every case on its own, so that lost ones change nothing.
#pragma once

#include <string>
#include <vector>

#include "core/record.hpp"
#include "result/result.hpp"

namespace ranklab {

/// The trials in which a run diverged.
struct Divergence {
  std::string run;  // "GD", "lambda=2"
  std::vector<bool> in_trial;
};

/// From a number of each trial that is above 0 if the run diverged.
Divergence divergence_of(const Records& records, const std::string& run, const std::string& number);

/// The runs that claims are about.
struct JudgedRuns {
  std::vector<Divergence> runs;
  bool compared = false;    // by differences that no value of a run that diverged can stand for
  std::string counted_how;  // how their trials enter a count: "which count as guessing"
};

/// The claim has no verdict, for a reason that its detail begins with.
void leave_undecided(Claim& claim, const std::string& reason);

/// Leaves a decided claim undecided if at least half of the units are `lost`: without a value, or
/// without a case. The lost ones could say anything.
void require_majority(Claim& claim, std::uint64_t lost, std::uint64_t units,
                      const std::string& without);

/// Applies 2, 3 and 4 to a claim about the runs. `per_trial`, the values of a mean, is null for
/// other claims; a value is NaN if a divergence left it undefined.
void note_divergences(Claim& claim, const JudgedRuns& runs, const std::vector<double>* per_trial);

}  // namespace ranklab
