// A result as tidy CSV (RFC 4180): one observation a row, a header, numbers as they stand in the file, nothing for null.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ranklab {

/// scalars: name, mean, std, n. series: name, x_name, x, mean, std; one row a point. trials: name, trial, value. claims: id,
/// source, statement, verdict, measured, expected_low, expected_high, detail.
inline const std::vector<std::string> exported_parts = {"scalars", "series", "trials", "claims"};

/// One of these parts as CSV. Throws Failure where the document does not hold it whole.
std::string export_csv(const nlohmann::json& result, const std::string& part);

/// The same of several results in one table: first come `file`, and each parameter in which the results differ, by its name.
/// Throws Failure that names the file.
std::string export_csv(const std::vector<nlohmann::json>& results, const std::vector<std::string>& files, const std::string& part);

}  // namespace ranklab
