// Where the source judges each statement of the catalog, as the build found it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ranklab {

/// The lines of src/experiments and src/ranks that name the statement,
/// "src/experiments/.../trajectory.cpp:348", by file and line. Empty if no claim is about it.
std::vector<std::string> judged_at(std::string_view statement_id);

/// The files of these lines, each once.
std::vector<std::string> files_that_judge(std::string_view statement_id);

}  // namespace ranklab
