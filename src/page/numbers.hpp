// Numbers in sentences. A number that comes from a result is written as a reference to it, with its
// present value:
//
//   {{spectral-fig03: last(gd.objective_gap) | .3g = 0.0123}}          in a preset or the catalog
//   <!--{spectral-fig03: last(gd.objective_gap) | .3g}-->0.0123<!--/--> in Markdown
//
// `ranklab numbers` writes the values anew; readers see the values alone. {{last(gd.loss)}} without
// a preset is a number in a note of the preset's own report.
//
//   reference = preset ":" what "|" format     own/number.hpp; "\|" in a cell of Markdown
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
