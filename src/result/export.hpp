// A result as tidy CSV (RFC 4180): one observation per row, a header, numbers as in the file, an
// empty cell for null.
#pragma once

#include <string>
#include <vector>

#include "result/result_file.hpp"

namespace ranklab {

/// scalars: name, mean, std, n. series: name, x_name, x, mean, std, n; one row per point. trials:
/// name, trial, value. curves: series, trial, x, value. figure: figure, panel, curve, series,
/// x_name, y_name, x, mean, std, n; one row per point that is drawn. claims: id, source, statement,
/// verdict, measured, expected_low, expected_high, detail, kind, low, high, n, unit, threshold,
/// misprint_of.
inline const std::vector<std::string> exported_parts = {"scalars", "series", "trials",
                                                        "curves",  "figure", "claims"};

/// One of these parts as CSV. Throws Failure if the result has no curves of single trials.
std::string export_csv(const ResultFile& result, const std::string& part);

/// The same for several results in one table. The first columns are `file` and each parameter in
/// which the results differ. Throws a Failure that names the file.
std::string export_csv(const std::vector<ResultFile>& results,
                       const std::vector<std::string>& files, const std::string& part);

}  // namespace ranklab
