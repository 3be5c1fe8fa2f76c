// A number of a result in words, as references and notes have it (page/numbers.hpp has the grammar
// of references):
//
//   what    = [ "-" ] "claim" which         of a claim: its mean or number, or a field of its
//                                            evidence
//           | [ over ] value [ "from" condition ]   as in `ranklab judge`, of the means over the
//                                            trials; claim(which) is a number in it
//   over    = "median" | "largest" | "least"  of the numbers of the trials that have one
//   which   = ( ID | "min" GLOB | "max" GLOB ) [ field ]
//   field   = violations, cases, share (of the two), worst, units, violated, low, high
//   format  = .2f | .3g | .0% | ,d  [ "+-" ]  with the half width of the 99 % interval; of a
//                                            value: over its numbers in the trials
#pragma once

#include <string>

#include "result/result_file.hpp"

namespace ranklab::own {

/// What a value is of: the means of its quantities over the trials, or it is the mean of the values
/// in the trials.
enum class Over { means, trials };

/// "0.0123", "0.013 +- 0.012". Throws UsageError that says what is wrong, without a label; that a
/// number is not finite is wrong of means only.
std::string number_text(const ResultFile& result, const std::string& what, std::string format,
                        Over over = Over::means);

}  // namespace ranklab::own
