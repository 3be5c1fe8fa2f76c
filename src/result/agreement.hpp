// Whether runs give the published verdicts.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "result/result_file.hpp"

namespace ranklab {

/// The verdicts of one run or several, next to the published ones of the same claims. A claim that
/// is not applicable in both has no verdict, nor has one that another preset judges.
struct Agreement {
  std::size_t verdicts = 0, as_published = 0;
  std::size_t withheld = 0;  // by a run that is shorter than its preset; not among the verdicts
  /// "spectral-fig03 spectral/eq-1.5/gd (published holds, here fails)". A verdict contradicts if
  /// one of the two holds and the other fails. That a claim is undecided, not applicable or missing
  /// on one side only is a difference, not a contradiction: rounding on another processor can move
  /// an interval over its threshold.
  std::vector<std::string> contradictions, differences;

  void add(const ResultFile& run, const ResultFile& published);
  /// "1,205 of 1,205 verdicts as published; 41 withheld, the run is shorter".
  std::string text() const;
};

}  // namespace ranklab
