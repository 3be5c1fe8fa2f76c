// The printed summary of a result.
#pragma once

#include <cstdio>

#include "result/result_file.hpp"

namespace ranklab {

/// Prints the table, the skipped layers, the failed gates and the assumptions. On a terminal, lines
/// are cut at its width.
void print_result_table(const Result& result, std::FILE* to);

/// Prints the table and the claims: failures first, one's own last. A long list is counted by
/// statement unless `all_claims`. On a terminal the output is in color and fits the width.
void print_findings(const Result& result, bool all_claims, std::FILE* to);

/// Prints the claims with their evidence, and what those say that do not hold.
void print_claims(const std::vector<Claim>& claims, std::FILE* to);

}  // namespace ranklab
