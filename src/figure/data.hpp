// What a drawing needs of a result file, checked: files may be edited by hand.
#pragma once

#include <map>
#include <string>

#include "result/result_file.hpp"

namespace ranklab {

/// The figure, the series that its curves name, and the surrounding text.
struct FigureData {
  std::string title;
  Status status = Status::complete;
  std::string changes;  // differences of the run from its preset; empty: no difference
  TrialCounts trials;   // completed 0: unknown
  Figure figure;
  std::map<std::string, Series> series;  // by name; undefined values are NaN

  std::string trial_unit() const { return trials.unit.empty() ? "trial" : trials.unit; }
};

/// Throws a Failure of one line if there is no figure, if it is larger than any that a reader could
/// use, or if a curve names a series that the result does not have. `which` is 0 for the figure of
/// the result and counts its further figures from 1.
FigureData figure_data(const ResultFile& result, std::size_t which = 0);

}  // namespace ranklab
