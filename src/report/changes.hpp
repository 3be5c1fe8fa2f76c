// How a run differs from its preset: in words, since such a run is not the paper's figure, and in the verdicts that it withholds.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/result.hpp"

namespace ranklab {

/// "4 of 32 inputs" where a result document has fewer trials than its preset and differs in nothing else, otherwise
/// "changed from the preset: 4 of 32 inputs, 2 of 5 values of lambda (0,1), n 2048 instead of 8196". Empty where nothing was
/// changed.
std::string changes_text(const nlohmann::json& result);

/// True where a run of a preset changed anything but to run fewer trials.
bool changes_more_than_trials(const nlohmann::json& result);

/// Withholds the verdicts that the preset's full run may turn, if the run has fewer trials, steps or values than its preset:
/// they become not-applicable with "shortened: 2 of 12 seeds". What the short run leaves undecided gets the same reason. `changed`
/// is the result document's, `unit` what a trial is called.
///
/// These stand: what theorems say of every case; a violation, if only trials are fewer; a mean that is decided among all of the
/// run's means (Holm), if only trials are fewer; a number without trials, if only trials are fewer.
void withhold_verdicts(std::vector<Claim>& claims, const nlohmann::ordered_json& changed, const std::string& unit);

/// Leaves claims whose id matches one of `globs` to the preset that judges them on the same numbers: they become not-applicable
/// with "judged in spectral-fig04, which has these runs". Nothing happens if the run changed anything but to be shorter than its
/// preset.
void refer_verdicts(std::vector<Claim>& claims, const nlohmann::ordered_json& changed, const std::string& preset,
                    const std::vector<std::string>& globs);

/// The trials of the preset where the run has fewer, otherwise null.
nlohmann::json trials_of_preset(const nlohmann::json& result);

/// A value of a config as its flag takes it; "none" of an empty list.
std::string flag_text(const nlohmann::json& value);

}  // namespace ranklab
