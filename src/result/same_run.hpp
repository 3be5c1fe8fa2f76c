// One run may be in several files: under another name, or as the copy that `ranklab judge --out`
// wrote. It counts once.
#pragma once

#include <string>
#include <vector>

#include "result/result_file.hpp"

namespace ranklab {

/// Leaves one of each group of results of the same run: equal command, config with its seed,
/// program, input files and number of finished trials. An interrupted run that was finished later
/// is another result. Of a group stays the one that keeps the curves of its trials, else the one
/// with the most claims, else the first. Removes the same entries of `paths`. Returns a line for
/// each group that was reduced: "b.json and a.json are the same run; counted once (a.json)".
std::vector<std::string> drop_repeated_runs(std::vector<ResultFile>& results,
                                            std::vector<std::string>& paths);

}  // namespace ranklab
