// Token ids in files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ranklab {

/// The sequences of a file of token ids, one per row, of any lengths:
///   .npy    integers, (sequences x tokens) or one sequence (tokens)
///   .json   an array of arrays of integers, or one array of integers; at most 64 MiB
///   .txt    integers separated by blanks, tabs or commas, one sequence per line; blank lines are
///           skipped
/// Throws Failure that names the file, the row and the entry (from 1) for an entry that is not an
/// id: negative, not an integer, or beyond 32 bits. Also throws for an empty row, a row of one
/// token (similarity compares tokens), and a file without rows.
std::vector<std::vector<std::uint32_t>> read_token_ids(const std::string& path);

}  // namespace ranklab
