#include "report/claims.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/statistics.hpp"
#include "core/text.hpp"
#include "core/undefined.hpp"

namespace ranklab {

Inequality Place::counted(const std::string& id, std::string text, std::string scalar) const {
  return {(*this)(id, std::move(text)), std::move(scalar)};
}

Misprint Place::misprint(const std::string& id, std::string printed, std::string corrected) const {
  return {(*this)(id + "/as-printed", std::move(printed)), (*this)(id + "/corrected", std::move(corrected))};
}

Claim judge_mean(const Statement& statement, const std::vector<double>& per_trial, Region allowed, const std::string& detail,
                 double standard_errors) {
  const Summary summary = summarise(per_trial);
  const double half_width = standard_errors > 0 ? standard_errors * standard_error(summary) : confidence_half_width(summary),
               low = summary.mean - half_width, high = summary.mean + half_width;
  Claim claim{statement.id,
              statement.source,
              statement.text,
              Verdict::not_applicable,
              summary.mean,
              std::pair(allowed.low, allowed.high),
              ""};
  const std::string mean = "mean " + short_number(summary.mean) + " +- " + short_number(half_width),
                    trials = counted(summary.n, "trial"),
                    level = standard_errors > 0 ? count_text(standard_errors) + " standard errors"
                                                : count_text(100 * confidence_level) + " %";
  std::string text;
  if (summary.n == 0) {
    text = "no finite value";
  } else if (low >= allowed.low && high <= allowed.high) {
    claim.verdict = Verdict::holds;
  } else if (high < allowed.low || low > allowed.high) {
    claim.verdict = Verdict::fails;
  } else {
    text = summary.n > 1 ? "undecided at " + trials + ": " + mean + " (" + level + ")" : "undecided: 1 trial, no error bars";
  }
  if (text.empty()) text = mean + " (" + level + ", " + trials + ")";
  claim.detail = clauses(text, detail);
  return claim;
}

Claim judge_tally(const Statement& statement, const Tally& tally, const std::string& detail) {
  Claim claim{statement.id, statement.source, statement.text, Verdict::not_applicable, tally.violations, 0.0, ""};
  if (tally.cases > 0) claim.verdict = tally.violations == 0 ? Verdict::holds : Verdict::fails;
  claim.detail =
      clauses(tally.cases > 0 ? count_text(tally.violations) + (tally.violations == 1 ? " violation in " : " violations in ") +
                                    count_text(tally.cases) + (tally.cases == 1 ? " case" : " cases")
                              : "no case to judge",
              detail);
  return claim;
}

Claim judge_number(const Statement& statement, double measured, Region allowed, const std::string& detail, double rounding) {
  Claim claim{
      statement.id, statement.source, statement.text, Verdict::not_applicable, measured, std::pair(allowed.low, allowed.high),
      detail};
  const double slack = rounding * std::fabs(measured);
  if (!std::isfinite(measured)) return claim;
  claim.verdict = measured + slack >= allowed.low && measured - slack <= allowed.high ? Verdict::holds : Verdict::fails;
  return claim;
}

Claim not_applicable(const Statement& statement, const std::string& reason) {
  return {statement.id, statement.source, statement.text, Verdict::not_applicable, undefined, {}, reason};
}

void Claims::mean(const Statement& statement, const std::vector<double>& per_trial, Region allowed, const std::string& detail,
                  double standard_errors) {
  add(judge_mean(statement, per_trial, allowed, detail, standard_errors));
}

void Claims::never_violated(const Statement& statement, const Tally& tally, const std::string& detail) {
  add(judge_tally(statement, tally, detail));
}

void Claims::never_violated(const Statement& statement, const Records& records, const std::string& detail) {
  add(judge_tally(statement, tally_of(records, statement.id), detail));
}

void Claims::number(const Statement& statement, double measured, Region allowed, const std::string& detail, double rounding) {
  add(judge_number(statement, measured, allowed, detail, rounding));
}

void Claims::not_applicable(const Statement& statement, const std::string& reason) {
  add(ranklab::not_applicable(statement, reason));
}

bool Claims::applies(const Statement& statement, const std::string& unmet) {
  if (!unmet.empty()) not_applicable(statement, unmet);
  return unmet.empty();
}

void Claims::add(Claim claim) {
  const auto unmet = std::find_if(unmet_.begin(), unmet_.end(), [](const auto& hypothesis) { return !hypothesis.first.empty(); });
  if (unmet != unmet_.end()) {
    const auto& [reason, says] = *unmet;
    if (says == Unmet::verdict_alone) {
      claim.verdict = Verdict::not_applicable;
      claim.detail = clauses(reason, "compared all the same: " + claim.detail);
    } else {
      const std::string measured = says == Unmet::reason_and_measured ? "measured: " + claim.detail : "";
      claim = ranklab::not_applicable({claim.id, claim.source, claim.statement}, clauses(reason, measured));
    }
  }
  claims_.push_back(std::move(claim));
}

std::vector<LineFit> fits_over(const Records& records, const std::vector<double>& x, const ValueAtSize& value, Fit fit,
                               std::size_t fewest) {
  return per_trial(records, [&](const TrialRecord& record) {
    std::vector<double> at, y;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double measured = value(record, i);
      if (!std::isfinite(measured) || (fit == fit_power && measured <= 0)) continue;
      at.push_back(x[i]);
      y.push_back(measured);
    }
    const bool varies = std::adjacent_find(at.begin(), at.end(), std::not_equal_to<>()) != at.end();
    if (y.size() < fewest || !varies) return LineFit{undefined, undefined, undefined, undefined, undefined, y.size()};
    return fit(at, y);
  });
}

std::vector<double> slopes_over(const Records& records, const std::vector<double>& x, const ValueAtSize& value, Fit fit,
                                std::size_t fewest) {
  std::vector<double> slopes;
  for (const LineFit& each : fits_over(records, x, value, fit, fewest)) slopes.push_back(each.slope);
  return slopes;
}

}  // namespace ranklab
