// How a run differs from its preset: in words, because such a run does not reproduce the paper's
// figure, and in its verdicts, some of which a shorter run cannot give.
#pragma once

#include <string>
#include <vector>

#include "result/result_file.hpp"

namespace ranklab {

/// "4 of 32 inputs" if a run has fewer trials than its preset and no other difference, otherwise
/// "changed from the preset: 4 of 32 inputs, 2 of 5 values of lambda (0,1), n 2048 instead of
/// 8196". Empty if nothing was changed.
std::string changes_text(const ResultFile& file);

/// True if a run of a preset changed anything except a reduced number of trials.
bool changes_more_than_trials(const ResultFile& file);

/// True if a run of a preset changed anything except that it is shorter: fewer trials, steps or
/// values.
bool changes_more_than_length(const ResultFile& file);

/// Withholds the verdicts that the preset's full run could change, if the run has fewer trials,
/// steps or values than its preset: these claims become not-applicable with the reason "shortened:
/// 2 of 12 seeds". Claims that the short run leaves undecided get the same reason.
///
/// These verdicts are kept: counts for theorems about every case; and, if only the number of trials
/// is reduced, a violation, a mean that is decided after Holm's correction for all means of the
/// run, and a number without trials.
void withhold_verdicts(ResultFile& file);

/// Refers claims whose id matches one of `globs` to the preset that judges them on the same
/// numbers: they become not-applicable with "judged in spectral-fig04, which has these runs".
/// Nothing happens if the run differs from its preset in more than being shorter.
void refer_verdicts(ResultFile& file, const std::string& preset,
                    const std::vector<std::string>& globs);

/// The preset's number of trials if the run has fewer, otherwise the requested number.
std::uint64_t trials_of_preset(const ResultFile& file);

/// A value of a config in the syntax of its flag; "none" for an empty list.
std::string flag_text(const nlohmann::ordered_json& value);

}  // namespace ranklab
