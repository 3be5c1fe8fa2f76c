// Checksums of the files that a run reads: a resumed run and all parts of a run must have read the
// same bytes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace ranklab {

/// Checksums, by path, of all files that a text field names. A text may be a file, a folder (all
/// files in it), `FILE.npz:key`, or a comma-separated list such as `NAME,FILE,FILE`. Files that a
/// named JSON file mentions (a manifest, or the index of weights in several files) are included.
/// Fields that name outputs are skipped. A file that cannot be read has the
/// checksum "unreadable".
std::map<std::string, std::string> input_checksums(const std::vector<Field>& fields);

}  // namespace ranklab
