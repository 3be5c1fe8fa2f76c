// The printed summary of a result.
#pragma once

#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/result.hpp"

namespace ranklab {

/// Prints the table, the skipped layers, the failed gates and the assumptions. On a terminal, lines
/// are cut at its width.
void print_result_table(const nlohmann::ordered_json& document, std::FILE* to);

/// Prints to standard error the table and the claims, failures first. On a terminal the output is
/// in color and fits the width.
void print_findings(const nlohmann::ordered_json& document, const std::vector<Claim>& claims);

}  // namespace ranklab
