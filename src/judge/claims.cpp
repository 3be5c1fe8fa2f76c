#include "judge/claims.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <regex>

#include "core/statistics.hpp"
#include "core/text.hpp"
#include "core/tolerances.hpp"
#include "core/undefined.hpp"
#include "result/standing.hpp"

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
  if (is_beyond_the_paper(claim)) claim.part = Part::ours;
  claim.figures = figures_in(statement.source);
  claim.misprint_of = statement.misprint_of;
  claim.slip = statement.slip;
  claim.threshold = statement.threshold;
  return claim;
}

const std::string too_few_units =
    "at least " + std::to_string(fewest_values) + " independent units are needed";

std::string without_case_text(const Tally& tally) {
  if (tally.cases == 0) return "";
  std::vector<bool> without;
  for (const Tally::InTrial& trial : tally.trials) without.push_back(trial.cases == 0);
  const std::string trials = trials_text(without);
  return trials.empty() ? "" : "no case in " + trials;
}

// Equal up to rounding.
bool are_equal(const std::vector<double>& values) {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    least = std::min(least, value), most = std::max(most, value);
  }
  return most - least <=
         tolerance::closed_form<double> * std::max(std::fabs(least), std::fabs(most));
}

struct Interval {
  Summary summary;
  double level = 0, low = 0, high = 0;
};
Interval interval_of(const std::vector<double>& values, double level = confidence_level) {
  Summary summary = summarize(values);
  if (are_equal(values)) summary.std = 0;
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

// Equal values show no spread, so that no interval says how far the mean may be away. They are
// counted, like the cases of "for all".
void count_equal(Claim& claim, const std::vector<double>& values, const Summary& summary,
                 Region allowed) {
  if (summary.n < fewest_values || summary.std != 0) return;
  const bool is_outside = summary.mean < allowed.low || summary.mean > allowed.high;
  const std::uint64_t violated = is_outside ? summary.n : 0;
  claim.evidence = CountEvidence{static_cast<double>(violated),
                                 static_cast<double>(summary.n),
                                 undefined,
                                 values.size(),
                                 summary.n,
                                 violated,
                                 summary.mean};
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
    outside.begin_trial();
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
  count_equal(claim, differences, interval.summary, allowed);
  return claim;
}

// That of the edge of the region that is harder to tell from the share.
double p_value_of_share(const MeanEvidence& share, double low, double high) {
  const double units = static_cast<double>(share.n), hits = std::round(share.mean * units);
  double out = 0;
  if (low > 0) out = std::max(out, binomial_p_value(hits, units, low));
  if (high < 1) out = std::max(out, binomial_p_value(hits, units, high));
  return out;
}

/// The two-sided p-value of the mean if the true mean were at the edge of the region; 1 if the
/// claim is undecided. A verdict that is only withheld counts as one.
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
  const bool is_withheld = claim.shortened || !claim.judged_in.empty();
  if (!allowed || !(degrees >= fewest_values - 1) ||
      (claim.verdict == Verdict::not_applicable && !is_withheld))
    return 1;
  const auto* share = std::get_if<MeanEvidence>(&claim.evidence);
  if (share && share->binomial) return p_value_of_share(*share, allowed->first, allowed->second);
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
    claim.holm_undecided = false;
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

std::vector<std::string> figures_in(const std::string& source) {
  static const std::regex place(R"((Figure|Table)s? (\d+)( \([a-c]\))?(?:, (\d+))?)");
  std::vector<std::string> out;
  for (std::sregex_iterator at(source.begin(), source.end(), place), end; at != end; ++at) {
    out.push_back(at->str(1) + " " + at->str(2) + at->str(3));
    if ((*at)[4].matched) out.push_back(at->str(1) + " " + at->str(4));
  }
  return out;
}

Inequality Place::counted(const std::string& id, std::string text, std::string scalar) const {
  return {(*this)(id, std::move(text)), std::move(scalar)};
}

Misprint Place::misprint(const std::string& slip, const std::string& id, std::string printed,
                         std::string corrected) const {
  const Statement as_printed = showing(slip, (*this)(id + "/as-printed", std::move(printed)));
  return {as_printed, correcting(as_printed, (*this)(id + "/corrected", std::move(corrected)))};
}

std::string trials_text(const std::vector<bool>& marked) {
  constexpr std::size_t most_ranges = 4;
  const std::size_t trials = marked.size();
  std::vector<std::string> ranges;
  std::size_t count = 0;
  for (std::size_t t = 0; t < trials; ++t) {
    if (!marked[t]) continue;
    std::size_t last = t;
    while (last + 1 < trials && marked[last + 1]) ++last;
    count += last - t + 1;
    ranges.push_back(last == t ? say("{}", t) : say("{} to {}", t, last));
    t = last;
  }
  if (count == 0) return "";
  if (ranges.size() > most_ranges) return say("{} of {}", count, plural(trials, "trial"));
  return (count == 1 ? "trial " : "trials ") + joined(ranges);
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
  count_equal(claim, per_trial, interval.summary, allowed);
  return claim;
}

Claim judge_share(const Statement& statement, double hits, double units, Region allowed,
                  const std::string& detail, double candidates) {
  const double level = 1 - (1 - confidence_level) / candidates;
  const BinomialInterval interval = binomial_interval(hits, units, level);
  return judge_interval(statement,
                        {hits / units, interval.low, interval.high, level,
                         static_cast<std::uint64_t>(units), 0, true},
                        allowed, detail);
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
  CountEvidence count{tally.violations, tally.cases,
                      !has_worst_case                ? undefined
                      : worst == WorstCase::smallest ? tally.smallest
                                                     : tally.largest};
  count.units = tally.trials.size();
  for (const Tally::InTrial& trial : tally.trials) {
    count.units_with_case += trial.cases > 0 ? 1 : 0;
    count.units_violated += trial.violations > 0 ? 1 : 0;
  }
  claim.evidence = count;
  if (tally.cases > 0 && !overflows)
    claim.verdict = tally.violations == 0 ? Verdict::holds : Verdict::fails;
  claim.undecided = overflows;
  claim.detail = clauses(overflows          ? "the number of a case overflows"
                         : tally.cases == 0 ? "no case to judge"
                                            : "",
                         clauses(detail, without_case_text(tally)));
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

namespace {

// A mean over trials says nothing about every finite case.
void require_sampled(const Statement& statement) {
  if (statement.kind == Kind::theorem)
    throw std::logic_error("the claim " + statement.id +
                           " covers every finite case, so no mean judges it: count cases, or the "
                           "distances of estimates from an expectation (judge/distances.hpp); or "
                           "it is asymptotic, a printed number, a figure, a reading or beyond the "
                           "paper");
}

}  // namespace

void Claims::mean(const Statement& statement, const std::vector<double>& per_trial, Region allowed,
                  const std::string& detail, double candidates) {
  require_sampled(statement);
  add(judge_mean(statement, per_trial, allowed, detail, candidates), &per_trial);
}

void Claims::share(const Statement& statement, double hits, double units, Region allowed,
                   const std::string& detail, double candidates) {
  require_sampled(statement);
  add(judge_share(statement, hits, units, allowed, detail, candidates));
}

void Claims::interval(const Statement& statement, const MeanEvidence& interval, Region allowed,
                      const std::string& detail) {
  require_sampled(statement);
  add(judge_interval(statement, interval, allowed, detail));
}

void Claims::equivalent(const Statement& statement, const std::vector<double>& differences,
                        double margin, const std::string& detail) {
  require_sampled(statement);
  add(judge_equivalence(statement, differences, margin, detail), &differences);
}

void Claims::no_worse(const Statement& statement, const std::vector<double>& differences,
                      double margin, const std::string& detail) {
  require_sampled(statement);
  add(judge_no_worse(statement, differences, margin, detail), &differences);
}

void Claims::never_violated(const Statement& statement, const Tally& tally,
                            const std::string& detail, WorstCase worst) {
  add(judge_tally(statement, tally, detail, worst));
}

void Claims::never_violated(const Statement& statement, const Records& records,
                            const std::string& detail, WorstCase worst) {
  add(judge_tally(statement, tally_of(records, statement.id), detail, worst));
}

void Claims::number(const Statement& statement, double measured, Region allowed,
                    const std::string& detail, double rounding) {
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
  add(std::move(claim), nullptr);
}

// A count without a violation needs cases in enough units, and in most of them.
void Claims::require_units(Claim& claim) const {
  const auto* count = std::get_if<CountEvidence>(&claim.evidence);
  if (!count || claim.kind == Kind::theorem || claim.verdict != Verdict::holds ||
      claim.unit == Unit::none || units_ == 0)
    return;
  const std::uint64_t units = count->units > 0 ? count->units_with_case : units_;
  if (units < fewest_values) return mark_undecided(claim);
  require_majority(claim, count->units - count->units_with_case, count->units, "case");
}

void Claims::add(Claim claim, const std::vector<double>* per_trial) {
  claim.unit = std::holds_alternative<NumberEvidence>(claim.evidence) ? Unit::none : unit_;
  require_units(claim);
  const auto about = std::find_if(scopes_.rbegin(), scopes_.rend(),
                                  [](const InScope& scope) { return !scope.runs.runs.empty(); });
  if (about != scopes_.rend()) note_divergences(claim, about->runs, per_trial);
  if (per_trial)
    require_majority(claim,
                     static_cast<std::uint64_t>(std::ranges::count_if(
                         *per_trial, [](double value) { return std::isnan(value); })),
                     per_trial->size(), "value");
  const auto unmet =
      std::ranges::find_if(scopes_, [](const InScope& scope) { return !scope.unmet.empty(); });
  if (unmet != scopes_.end()) {
    const auto& [reason, unmet_detail, runs] = *unmet;
    claim.verdict = Verdict::not_applicable;
    claim.undecided = false;
    if (unmet_detail == Unmet::verdict_alone) {
      claim.detail = clauses(reason + ", compared anyway", claim.detail);
    } else {
      const std::string measured = clauses(evidence_text(claim), claim.detail);
      claim.detail = clauses(
          reason, unmet_detail == Unmet::reason_and_measured ? "measured: " + measured : "");
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
