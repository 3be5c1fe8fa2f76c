// The published verdicts: the results in results/reference when the program was built, without
// their numbers and figures.
#pragma once

#include <string>
#include <vector>

#include "result/result_file.hpp"

namespace ranklab {

/// In the order of their presets; empty if the program was built without results/reference. Throws
/// Failure if they are not of this program's format.
const std::vector<ResultFile>& published_results();

/// The published result of a preset; null: none.
const ResultFile* published_result(const std::string& preset);

}  // namespace ranklab
