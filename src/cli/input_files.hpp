// The files that a run reads: parts of one run must have read the same bytes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace ranklab {

/// The checksum of every file that a text among the fields names, by path: the file, the files in a folder, those in a list
/// `NAME,FILE,FILE`, with the archive of `FILE.npz:key`, and those that a JSON file among them names (a manifest, the index of
/// weights in several files). Fields that name outputs are left out. Throws Failure for a file that cannot be read.
std::map<std::string, std::string> input_checksums(const std::vector<Field>& fields);

}  // namespace ranklab
