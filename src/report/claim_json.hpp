// A claim as JSON and back, by one list of fields for both directions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "report/result.hpp"

namespace ranklab {

nlohmann::ordered_json claim_json(const Claim& claim);

/// The claim in a result file. A field that is missing or has another type keeps its default, so
/// that a damaged file is shown as far as it can be read.
Claim claim_from(const nlohmann::json& json);

/// The claims of a result document; none if it has no list of them.
std::vector<Claim> claims_from(const nlohmann::json& result);

}  // namespace ranklab
