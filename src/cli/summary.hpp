// What a run found, in words for the terminal.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ranklab {

/// "7 hold, 2 fail, 1 not applicable"; "no claims" of an empty list.
std::string verdict_counts(const nlohmann::ordered_json& claims);

/// On standard error: table, what was left out, and the claims, failures first, in colour and as wide as the terminal where it
/// is one.
void print_findings(const nlohmann::ordered_json& document);

}  // namespace ranklab
