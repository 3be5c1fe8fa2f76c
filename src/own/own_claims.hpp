// Statements of one's own, judged as those of the papers are: with the same judges, units,
// intervals and corrections.
#pragma once

#include <string>
#include <vector>

#include "result/result_file.hpp"

namespace ranklab {

/// A statement of one's own, from --claim or from "claims" of a preset.
struct OwnStatement {
  std::string id;     // mine/st-grows; empty: "mine/<i>"
  std::string says;   // in words; empty: the formula
  std::string claim;  // the formula (own/formula.hpp)
};

/// The statements with their defaults; those without an id get numbers that `others` do not have.
/// Throws UsageError, which begins with `label`, for a formula with a mistake, an id that is not
/// "mine/..." and an id that is there twice.
std::vector<OwnStatement> checked(std::vector<OwnStatement> statements, const std::string& label,
                                  const std::vector<OwnStatement>& others = {});

/// The statements of a result's own claims.
std::vector<OwnStatement> own_statements_of(const ResultFile& result);

struct NamedResult {
  const ResultFile* file;
  std::string name;  // in details and mistakes, if there are several
};

/// The claims about one result; a statement with a glob has several, unless it counts cases. Over
/// several results, each a size, a slope has one point for each of them, paired by the number of
/// the trial; cases are counted in all of them, and all else is judged in each. A statement that
/// does not fit a run is not applicable, with the mistake as its detail, and `mistakes` has a line
/// about it. Units, shares, equal values and divergence follow the rule of the papers' claims
/// (judge/claims.hpp). A curve that ends undefined in a trial, or is undefined at most of its
/// points, leaves a condition on every point undecided, unless it is violated, and has no mean or
/// slope.
std::vector<Claim> judge_own(const std::vector<OwnStatement>& statements,
                             const std::vector<NamedResult>& results,
                             std::vector<std::string>& mistakes);

/// Appends the claims; Holm's method corrects each mean of the run for all others.
void add_own(ResultFile& result, std::vector<Claim> claims);

}  // namespace ranklab
