// What a run of a preset changed, in words: such a run is not the paper's figure, and says so wherever it is shown.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ranklab {

/// "4 of the paper's 32 inputs" where a result document has fewer trials than its preset and differs in nothing else, otherwise
/// "changed from the preset: n 2048 instead of 8196, steps 60 instead of 500". Empty where nothing was changed.
std::string changes_text(const nlohmann::json& result);

}  // namespace ranklab
