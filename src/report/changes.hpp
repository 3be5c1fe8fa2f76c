// What a run of a preset changed, in words: such a run is not the paper's figure, and says so wherever it is shown.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ranklab {

/// "4 of 32 inputs" where a result document has fewer trials than its preset and differs in nothing else, otherwise
/// "changed from the preset: 4 of 32 inputs, 2 of 5 values of lambda (0,1), n 2048 instead of 8196". Empty where nothing was
/// changed.
std::string changes_text(const nlohmann::json& result);

/// True where a run of a preset changed anything but to run fewer trials.
bool changes_more_than_trials(const nlohmann::json& result);

/// The trials of the preset where the run has fewer, otherwise null.
nlohmann::json trials_of_preset(const nlohmann::json& result);

/// A value of a config as its flag takes it; "none" of an empty list.
std::string flag_text(const nlohmann::json& value);

}  // namespace ranklab
