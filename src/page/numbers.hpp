// Numbers in sentences. A number that comes from a result is written as a reference to it, with its
// present value:
//
//   {{spectral-fig03: last(gd.objective_gap) | .3g = 0.0123}}          in a preset or the catalog
//   <!--{spectral-fig03: last(gd.objective_gap) | .3g}-->0.0123<!--/--> in Markdown
//
// `ranklab numbers` writes the values anew; readers see the values alone.
//
//   reference  = preset ":" what "|" format     with "\|" in a cell of a Markdown table
//   what       = [ "-" ] "claim" which         of a claim: its mean or number, or a field of its
//                                               evidence
//              | [ over ] value [ "from" condition ]   as in `ranklab judge`, of the means over the
//                                               trials; claim(which) is a number in it
//   over       = "median" | "largest" | "least"  of the numbers of the trials that have one
//   which      = ( ID | "min" GLOB | "max" GLOB ) [ field ]
//   field      = violations, cases, share (of the two), worst, units, violated, low, high
//   format     = .2f | .3g | .0% | ,d  [ "+-" ]  with the half width of the 99 % interval; of a
//                                               value: over its numbers in the trials
//
// "papers: numbered" counts the numbered statements, "papers: numbered false-as-printed constant"
// those with a verdict and class, "papers: verdict spectral/thm-3.7" is a verdict in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "result/result_file.hpp"

namespace ranklab {

/// The results to which references refer.
class NumberedResults {
 public:
  explicit NumberedResults(const std::vector<ResultFile>& results) : results_(results) {}

  /// The number in words: "0.0123", "0.013 +- 0.012". Throws UsageError that says what is wrong
  /// with the reference, without a label.
  std::string value_of(std::string_view reference) const;

  /// The text with all its values written anew. Appends "line 12: ..." to `mistakes` for a
  /// reference that has no value; it keeps the old one.
  std::string renewed(std::string_view text, std::vector<std::string>& mistakes) const;

 private:
  const ResultFile& result(const std::string& preset) const;
  std::string of_papers(const std::string& what) const;

  const std::vector<ResultFile>& results_;
};

}  // namespace ranklab
