// Files that commands read: checksums of the files of a run, because a resumed run and all parts of
// a run must have read the same bytes, and the results in a folder.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/fields.hpp"
#include "result/result_file.hpp"

namespace ranklab {

/// Checksums, by path, of all files that a text field names. A text may be a file, a folder (all
/// files in it), `FILE.npz:key`, or a comma-separated list such as `NAME,FILE,FILE`. Files that a
/// named JSON file mentions (the index of weights in several files) are included.
/// Fields that name outputs are skipped. A file that cannot be read has the
/// checksum "unreadable".
std::map<std::string, std::string> input_checksums(const std::vector<Field>& fields);

/// The result files of a folder by path, in alphabetical order; none if it does not exist. Other
/// JSON files are passed over. Throws Failure for a file that is not valid.
std::vector<std::pair<std::string, ResultFile>> results_in(const std::string& folder);

}  // namespace ranklab
