// Comparison of two results of one config: the same bits, or the same within the error bars.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ranklab {

struct Comparison {
  bool same_bits = false;                // scalars, trial values, series and claims agree digit by digit
  bool within_error_bars = false;        // every mean within z = 3 standard errors, every verdict the same
  std::vector<std::string> differences;  // what lies outside the error bars, one line each, at most ten
};

/// Compares an earlier result with a new one. A quantity that does not vary over trials must agree to 1e-9 relative.
Comparison compare_results(const nlohmann::json& earlier, const nlohmann::json& again);

}  // namespace ranklab
