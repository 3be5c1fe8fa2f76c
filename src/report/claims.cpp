#include "report/claims.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/statistics.hpp"
#include "core/text.hpp"
#include "core/tolerances.hpp"
#include "core/undefined.hpp"

namespace ranklab {
namespace {

Claim claim_of(const Statement& statement) {
  Claim claim;
  claim.id = statement.id;
  claim.statement_id = statement.statement_id;
  claim.part = statement.part;
  claim.source = statement.source;
  claim.statement = statement.text;
  claim.measured = undefined;
  claim.kind = statement.kind;
  claim.figures = statement.figures;
  claim.misprint_of = statement.misprint_of;
  claim.slip = statement.slip;
  claim.threshold = statement.threshold;
  return claim;
}

const std::string too_few_units =
    "at least " + std::to_string(fewest_values) + " independent units are needed";

struct Interval {
  Summary summary;
  double level = 0, low = 0, high = 0;
};
Interval interval_of(const std::vector<double>& values, double level = confidence_level) {
  const Summary summary = summarize(values);
  const double half_width = confidence_half_width(summary, level);
  return {summary, level, summary.mean - half_width, summary.mean + half_width};
}

std::string tie_text(const Summary& summary, Region allowed) {
  if (!allowed.is_comparison || summary.n < fewest_values || summary.std != 0) return "";
  const double low = allowed.low == positive().low ? 0 : allowed.low;
  if (summary.mean != low && summary.mean != allowed.high) return "";
  const std::string all = "a tie, all " + std::to_string(summary.n);
  return summary.mean == 0 ? all + " differences are zero"
                           : all + " values are " + short_number(summary.mean);
}

void decide(Claim& claim, const Interval& interval, Region allowed, const std::string& detail) {
  const Summary& summary = interval.summary;
  const std::string tie = tie_text(summary, allowed);
  claim.measured = summary.mean;
  claim.expected = std::pair(allowed.low, allowed.high);
  std::string reason;
  if (summary.n == 0) {
    reason = "no finite value";
  } else if (summary.n < fewest_values) {
    reason = too_few_units;
  } else if (!tie.empty()) {
    if (summary.mean < allowed.low) claim.verdict = Verdict::fails;
    reason = tie;
  } else if (interval.low >= allowed.low && interval.high <= allowed.high) {
    claim.verdict = Verdict::holds;
  } else if (interval.high < allowed.low || interval.low > allowed.high) {
    claim.verdict = Verdict::fails;
  }
  claim.undecided = summary.n > 0 && claim.verdict == Verdict::not_applicable;
  claim.detail = clauses(reason, detail);
}

bool has_infinite(const std::vector<double>& values) {
  return std::ranges::any_of(values, [](double value) { return std::isinf(value); });
}

/// A value is infinite if one of two compared runs diverged, or if one of them ended at zero. Then
/// a mean does not exist, and that of the finite values is biased toward the other trials. The
/// signs of a comparison decide if all trials agree. Nothing else decides: an infinite value says
/// nothing about a margin.
Claim judge_by_trial(const Statement& statement, const std::vector<double>& per_trial,
                     Region allowed, const std::string& detail) {
  Tally outside;
  double inside = 0, infinite = 0;
  for (const double value : per_trial) {
    if (std::isnan(value)) continue;
    const bool is_outside = value < allowed.low || value > allowed.high,
               is_tie = std::isfinite(value) && (value == allowed.low || value == allowed.high);
    outside.count(is_outside);
    inside += is_outside || is_tie ? 0 : 1;
    infinite += std::isinf(value) ? 1 : 0;
  }
  const std::string reason = outside.cases < fewest_values ? too_few_units
                             : !allowed.is_comparison ? "a margin cannot be judged without a mean"
                             : inside < outside.cases && outside.violations < outside.cases
                                 ? "the trials disagree"
                                 : "";
  Claim claim = judge_tally(statement, outside);
  if (!reason.empty()) claim.verdict = Verdict::not_applicable;
  claim.undecided = !reason.empty();
  claim.detail = clauses(reason, clauses("counted by trial, because " +
                                             plural(static_cast<std::uint64_t>(infinite), "value") +
                                             (infinite == 1 ? " is" : " are") + " infinite",
                                         detail));
  return claim;
}

Claim judge_within(const Statement& statement, const std::vector<double>& differences,
                   double margin, Region allowed, const std::string& detail) {
  if (has_infinite(differences)) return judge_by_trial(statement, differences, allowed, detail);
  Claim claim = claim_of(statement);
  const Interval interval = interval_of(differences);
  claim.evidence =
      EquivalenceEvidence{interval.summary.mean, interval.low,      interval.high, margin,
                          confidence_level,      interval.summary.n};
  decide(claim, interval, allowed, detail);
  return claim;
}

/// The two-sided p-value of the mean if the true mean were at the edge of the region; 1 if the
/// claim is undecided.
double p_value(const Claim& claim) {
  double mean = undefined, high = undefined, level = undefined, degrees = 0;
  std::visit(
      [&](const auto& evidence) {
        if constexpr (requires { evidence.high; })
          mean = evidence.mean, high = evidence.high, level = evidence.level,
          degrees = static_cast<double>(evidence.n) - 1;
        if constexpr (requires { evidence.degrees; })
          degrees = evidence.degrees > 0 ? evidence.degrees : degrees;
      },
      claim.evidence);
  const auto* allowed = std::get_if<std::pair<double, double>>(&claim.expected);
  if (!allowed || !(degrees >= fewest_values - 1) || claim.verdict == Verdict::not_applicable)
    return 1;
  const double to_edge =
                   std::min(std::abs(mean - allowed->first), std::abs(allowed->second - mean)),
               error = (high - mean) / student_quantile((1 - level) / 2, degrees);
  return error > 0 ? 2 * student_tail(to_edge / error, degrees) : 0;
}

/// Makes the claim undecided: with so few independent units another unit might violate the
/// statement.
void mark_undecided(Claim& claim) {
  claim.verdict = Verdict::not_applicable;
  claim.undecided = true;
  claim.detail = clauses(too_few_units, claim.detail);
}

bool rests_on_mean(const Claim& claim) {
  return std::holds_alternative<MeanEvidence>(claim.evidence) ||
         std::holds_alternative<EquivalenceEvidence>(claim.evidence);
}

}  // namespace

// Holm (1979): of m means, the one with the i-th smallest p-value is decided if (m - i + 1) times
// that value is at most 1 - confidence_level and all means before it are decided.
void note_holm_corrections(std::vector<Claim>& claims) {
  std::vector<std::pair<double, Claim*>> means;
  for (Claim& claim : claims) {
    if (rests_on_mean(claim)) means.emplace_back(p_value(claim), &claim);
  }
  std::stable_sort(means.begin(), means.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  bool survives = true;
  for (std::size_t i = 0; i < means.size(); ++i) {
    const auto& [p, claim] = means[i];
    survives = survives && static_cast<double>(means.size() - i) * p <=
                               (1 - confidence_level) * (1 + tolerance::closed_form<double>);
    if (survives || claim->verdict == Verdict::not_applicable) continue;
    claim->holm_undecided = true;
  }
}

Inequality Place::counted(const std::string& id, std::string text, std::string scalar) const {
  return {(*this)(id, std::move(text)), std::move(scalar)};
}

Misprint Place::misprint(const std::string& slip, const std::string& id, std::string printed,
                         std::string corrected) const {
  const Statement as_printed = showing(slip, (*this)(id + "/as-printed", std::move(printed)));
  return {as_printed, correcting(as_printed, (*this)(id + "/corrected", std::move(corrected)))};
}

std::string tie_text(const std::vector<double>& values, Region allowed) {
  return tie_text(summarize(values), allowed);
}

Claim judge_mean(const Statement& statement, const std::vector<double>& per_trial, Region allowed,
                 const std::string& detail, double candidates) {
  if (has_infinite(per_trial)) return judge_by_trial(statement, per_trial, allowed, detail);
  Claim claim = claim_of(statement);
  const Interval interval = interval_of(per_trial, 1 - (1 - confidence_level) / candidates);
  claim.evidence = MeanEvidence{interval.summary.mean, interval.low, interval.high, interval.level,
                                interval.summary.n};
  decide(claim, interval, allowed, detail);
  return claim;
}

Claim judge_interval(const Statement& statement, const MeanEvidence& interval, Region allowed,
                     const std::string& detail) {
  Claim claim = claim_of(statement);
  claim.measured = interval.mean;
  claim.expected = std::pair(allowed.low, allowed.high);
  claim.evidence = interval;
  claim.detail = detail;
  if (interval.n < fewest_values) {
    mark_undecided(claim);
  } else if (interval.low >= allowed.low && interval.high <= allowed.high) {
    claim.verdict = Verdict::holds;
  } else if (interval.high < allowed.low || interval.low > allowed.high) {
    claim.verdict = Verdict::fails;
  } else {
    claim.undecided = true;
  }
  return claim;
}

Claim judge_equivalence(const Statement& statement, const std::vector<double>& differences,
                        double margin, const std::string& detail) {
  return judge_within(statement, differences, margin, within(0, margin), detail);
}

Claim judge_no_worse(const Statement& statement, const std::vector<double>& differences,
                     double margin, const std::string& detail) {
  return judge_within(statement, differences, margin, at_least(-margin), detail);
}

Claim judge_tally(const Statement& statement, const Tally& tally, const std::string& detail,
                  WorstCase worst) {
  Claim claim = claim_of(statement);
  const bool has_range = tally.smallest <= tally.largest,
             has_worst_case = has_range && worst != WorstCase::unsaid,
             overflows = has_range && !std::isfinite(tally.smallest + tally.largest);
  claim.measured = tally.violations;
  claim.expected = 0.0;
  claim.evidence = CountEvidence{tally.violations, tally.cases,
                                 !has_worst_case                ? undefined
                                 : worst == WorstCase::smallest ? tally.smallest
                                                                : tally.largest};
  if (tally.cases > 0 && !overflows)
    claim.verdict = tally.violations == 0 ? Verdict::holds : Verdict::fails;
  claim.undecided = overflows;
  claim.detail = clauses(overflows          ? "the number of a case overflows"
                         : tally.cases == 0 ? "no case to judge"
                                            : "",
                         detail);
  return claim;
}

Claim judge_units(const Statement& statement, const Tally& tally, const std::string& detail,
                  WorstCase worst) {
  Claim claim = judge_tally(statement, tally, detail, worst);
  if (claim.verdict == Verdict::holds && tally.cases < fewest_values) mark_undecided(claim);
  return claim;
}

Claim judge_number(const Statement& statement, double measured, Region allowed,
                   const std::string& detail, double rounding) {
  Claim claim = claim_of(statement);
  claim.measured = measured;
  claim.expected = std::pair(allowed.low, allowed.high);
  claim.detail = detail;
  claim.evidence = NumberEvidence{measured};
  const double slack = rounding * std::fabs(measured);
  if (!std::isfinite(measured)) return claim;
  claim.verdict = measured + slack >= allowed.low && measured - slack <= allowed.high
                      ? Verdict::holds
                      : Verdict::fails;
  return claim;
}

Claim not_applicable(const Statement& statement, const std::string& reason) {
  Claim claim = claim_of(statement);
  claim.detail = reason;
  return claim;
}

void Claims::mean(const Statement& statement, const std::vector<double>& per_trial, Region allowed,
                  const std::string& detail, double candidates, SourceLine line) {
  add(judge_mean(statement, per_trial, allowed, detail, candidates), &per_trial, line);
}

void Claims::interval(const Statement& statement, const MeanEvidence& interval, Region allowed,
                      const std::string& detail, SourceLine line) {
  add(judge_interval(statement, interval, allowed, detail), line);
}

void Claims::equivalent(const Statement& statement, const std::vector<double>& differences,
                        double margin, const std::string& detail, SourceLine line) {
  add(judge_equivalence(statement, differences, margin, detail), &differences, line);
}

void Claims::no_worse(const Statement& statement, const std::vector<double>& differences,
                      double margin, const std::string& detail, SourceLine line) {
  add(judge_no_worse(statement, differences, margin, detail), &differences, line);
}

void Claims::never_violated(const Statement& statement, const Tally& tally,
                            const std::string& detail, WorstCase worst, SourceLine line) {
  add(judge_tally(statement, tally, detail, worst), line);
}

void Claims::in_every_unit(const Statement& statement, const Tally& tally,
                           const std::string& detail, WorstCase worst, SourceLine line) {
  add(judge_units(statement, tally, detail, worst), line);
}

void Claims::never_violated(const Statement& statement, const Records& records,
                            const std::string& detail, WorstCase worst, SourceLine line) {
  add(judge_tally(statement, tally_of(records, statement.id), detail, worst), line);
}

void Claims::number(const Statement& statement, double measured, Region allowed,
                    const std::string& detail, double rounding, SourceLine line) {
  add(judge_number(statement, measured, allowed, detail, rounding), line);
}

void Claims::not_applicable(const Statement& statement, const std::string& reason,
                            SourceLine line) {
  add(ranklab::not_applicable(statement, reason), line);
}

bool Claims::applies(const Statement& statement, const std::string& unmet, SourceLine line) {
  if (!unmet.empty()) not_applicable(statement, unmet, line);
  return unmet.empty();
}

void Claims::add(Claim claim, SourceLine line) {
  add(std::move(claim), nullptr, line);
}

void Claims::add(Claim claim, const std::vector<double>* per_trial, SourceLine line) {
  claim.judged_at = line;
  claim.read = WatchedReads::take();
  claim.unit = std::holds_alternative<NumberEvidence>(claim.evidence) ? Unit::none : unit_;
  const bool counts =
      std::holds_alternative<CountEvidence>(claim.evidence) && claim.kind != Kind::theorem;
  if (counts && claim.verdict == Verdict::holds && claim.unit != Unit::none && units_ > 0 &&
      units_ < fewest_values)
    mark_undecided(claim);
  const auto about = std::find_if(scopes_.rbegin(), scopes_.rend(),
                                  [](const InScope& scope) { return !scope.runs.runs.empty(); });
  if (about != scopes_.rend()) note_divergences(claim, about->runs, per_trial);
  const auto unmet =
      std::ranges::find_if(scopes_, [](const InScope& scope) { return !scope.unmet.empty(); });
  if (unmet != scopes_.end()) {
    const auto& [reason, says, runs] = *unmet;
    claim.verdict = Verdict::not_applicable;
    claim.undecided = false;
    if (says == Unmet::verdict_alone) {
      claim.detail = clauses(reason + ", compared anyway", claim.detail);
    } else {
      const std::string measured = clauses(evidence_text(claim), claim.detail);
      claim.detail =
          clauses(reason, says == Unmet::reason_and_measured ? "measured: " + measured : "");
      claim.measured = undefined;
      claim.expected = {};
      claim.evidence = {};
    }
  }
  claims_.push_back(std::move(claim));
}

std::vector<Claim> Claims::take() {
  note_holm_corrections(claims_);
  return std::move(claims_);
}

std::vector<LineFit> fits_over(const Records& records, const std::vector<double>& x,
                               const ValueAtSize& value, Fit fit, std::size_t fewest) {
  return per_trial(records, [&](const TrialRecord& record) {
    std::vector<double> at, y;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double measured = value(record, i);
      if (!std::isfinite(measured) || (fit == fit_power && measured <= 0)) continue;
      at.push_back(x[i]);
      y.push_back(measured);
    }
    const bool varies = std::adjacent_find(at.begin(), at.end(), std::not_equal_to<>()) != at.end();
    if (y.size() < fewest || !varies)
      return LineFit{undefined, undefined, undefined, undefined, undefined, y.size()};
    return fit(at, y);
  });
}

std::vector<double> slopes_over(const Records& records, const std::vector<double>& x,
                                const ValueAtSize& value, Fit fit, std::size_t fewest) {
  std::vector<double> slopes;
  for (const LineFit& each : fits_over(records, x, value, fit, fewest))
    slopes.push_back(each.slope);
  return slopes;
}

}  // namespace ranklab
