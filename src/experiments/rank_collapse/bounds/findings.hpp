// What one part of a trial of the study bounds found: counts of cases and violations of each inequality, and named numbers.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "run/trials.hpp"

namespace ranklab::bounds {

/// One inequality over many cases.
struct Tally {
  double cases = 0, violations = 0;
  double closest = std::numeric_limits<double>::infinity();  // smallest (larger side) / (smaller side), both positive

  /// Counts the case `smaller <= larger`, where rounding may break it by `slack`.
  void compare(double smaller, double larger, double slack);
  /// The same for natural logarithms; the slack is relative to their size.
  void compare_logs(double smaller, double larger, double slack);
  void count(bool violated);
  void add(const Tally& other);
};

struct Findings {
  std::map<std::string, Tally> tallies;
  std::map<std::string, std::vector<double>> values;  // scalars and curves
  double degenerate_rows = 0;

  Tally& operator[](const std::string& inequality) { return tallies[inequality]; }
  void add(const Findings& other);
};

/// Into a record, and the tally of one inequality out of all records (no case where none has it).
TrialRecord to_record(const Findings& findings);
Tally tally_over(const std::vector<TrialRecord>& records, const std::string& inequality);

/// Relative slack for rounding of a stack computed in double or in single precision.
double rounding_slack(bool single_precision);

}  // namespace ranklab::bounds
