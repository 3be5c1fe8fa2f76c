// Verdicts of the study regression, from the records of its trials.
#pragma once

#include <string>
#include <vector>

#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// The smallest, middle and largest of some values, for details and tables. NaN where there is none.
struct Spread {
  std::size_t count = 0;
  double smallest = 0.0, median = 0.0, upper_tenth = 0.0, largest = 0.0;  // upper_tenth: a tenth of the values lie above
};
/// Of the finite values.
Spread spread_of(std::vector<double> values);

/// `tolerance` is the relative excess from which a decrease violates an inequality.
std::vector<Claim> regression_claims(const std::vector<TrialRecord>& records, double tolerance);

}  // namespace ranklab
