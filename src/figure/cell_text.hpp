// Numbers as text for the cells of tables, rounded for a reader.
#pragma once

#include <string>
#include <vector>

namespace ranklab {

/// "12.4 ± 2.1": the half width with two digits, and the mean to the same place. Only the mean if
/// the half width is infinite or zero.
std::string interval_text(double mean, double half_width);

/// The mean and the half width of its 99 % confidence interval over trials; only the mean with
/// fewer than three. Values that are not finite are left out; "undefined" if none is finite.
std::string mean_text(const std::vector<double>& per_trial);

/// Four significant digits: "12.4", "0.05", "1.2e−8".
std::string number_text(double value);

}  // namespace ranklab
