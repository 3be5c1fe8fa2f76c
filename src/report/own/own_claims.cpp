#include "report/own/own_claims.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/error.hpp"
#include "core/fits.hpp"
#include "core/text.hpp"
#include "report/divergence.hpp"
#include "report/own/formula.hpp"
#include "report/own/values.hpp"

namespace ranklab {
namespace {

using own::Evaluation;
using own::Form;
using own::Formula;
using own::Match;
using own::Node;
using own::Run;
using own::Values;

constexpr char own_prefix[] = "mine/";

Statement statement_of(const OwnStatement& own, const std::string& ending) {
  return {own.id, own.id + ending, "own statement", own.says, Part::ours, Kind::own};
}

// The unit of the run's other claims: what is independent is the same.
Unit unit_of(const ResultFile& result) {
  for (const Claim& claim : result.claims) {
    if (claim.unit != Unit::none) return claim.unit;
  }
  return Unit::seed;
}

std::string left_out_text(std::size_t curve_values, std::size_t trials) {
  return clauses(
      curve_values == 0 ? "" : plural(curve_values, "undefined value") + " of curves left out",
      trials == 0 ? "" : "undefined in " + plural(trials, "trial"));
}

// A claim rests on a majority of the trials: the lost ones could have any value.
void require_majority(Claim& claim, std::size_t lost, std::size_t trials) {
  if (lost > 0 && 2 * lost >= trials && claim.verdict != Verdict::not_applicable)
    leave_undecided(claim, "at least half of the trials have no value");
}

// Trials of several runs are paired by their numbers, so each of these is one independent unit.
std::size_t fewest_trials(const std::vector<Run>& runs) {
  std::size_t out = runs.front().trials();
  for (const Run& run : runs) out = std::min(out, run.trials());
  return out;
}

// "at iteration 37 of trial 3, layer 2": where a case is. Trials have the numbers of the journal,
// from 0.
struct Where {
  const Run* run = nullptr;
  Match match = {};
  std::size_t trial = 0;
  std::string axis = {};
  double x = 0;

  std::string text(bool names_run) const {
    return (axis.empty() ? say("in trial {}", trial)
                         : say("at {} {} of trial {}", axis, x, trial)) +
           (match.empty() ? "" : ", * = " + joined(match)) + (names_run ? ", " + run->name() : "");
  }
};

// Counts the cases of a condition, and finds the one with the least margin.
class Counting {
 public:
  explicit Counting(const Formula& formula) : formula_(formula) {}

  void add(const Run& run, const Match& match) {
    Evaluation evaluation(formula_, run, match);
    for (std::size_t trial = 0; trial < run.trials(); ++trial) {
      const Values cases = evaluation.value(formula_.first, trial);
      if (!cases.is_condition)
        own::refuse(formula_.first.column,
                    "this is no condition: compare numbers by <, <=, >, >=, or begin with mean, "
                    "slope or alike");
      ++trials_;
      lost_ += !cases.at.empty() && std::isnan(cases.at.back());
      const std::vector<double> margins = margins_of(evaluation, trial);
      for (std::size_t i = 0; i < cases.at.size(); ++i) {
        if (std::isnan(cases.at[i])) {
          ++undefined_;
          continue;
        }
        tally_.count((cases.at[i] != 0) == (formula_.form == Form::never));
        const double margin = margins.empty() ? undefined : margins[margins.size() > 1 ? i : 0];
        if (!(margin < least_) && has_least_) continue;
        if (std::isnan(margin)) continue;
        least_ = margin, has_least_ = true;
        where_ = {&run, match, trial, cases.axis ? cases.axis->name : "",
                  cases.axis ? cases.axis->x[i] : 0};
      }
    }
    left_out_ += evaluation.left_out();
  }

  Claim judge(const OwnStatement& own, bool names_run) const {
    std::string detail =
        !has_least_ ? "" : say("least margin {} ", least_) + where_.text(names_run);
    if (undefined_ > 0)
      detail = clauses(detail, plural(undefined_, "undefined case") + " not judged");
    Claim claim =
        judge_tally(statement_of(own, ""), tally_, clauses(detail, left_out_text(left_out_, 0)));
    if (claim.verdict == Verdict::holds) require_majority(claim, lost_, trials_);
    return claim;
  }

 private:
  // By how much a comparison holds; negative for a violation. Empty for other conditions.
  std::vector<double> margins_of(Evaluation& evaluation, std::size_t trial) const {
    const std::string& word = formula_.first.word;
    const bool is_upper = word == "<=" || word == "<";
    if (!is_upper && word != ">=" && word != ">") return {};
    Node difference = formula_.first;
    difference.word = "-";
    if (is_upper != (formula_.form == Form::never))
      std::swap(difference.parts[0], difference.parts[1]);
    return evaluation.value(difference, trial).at;
  }

  const Formula& formula_;
  Tally tally_;
  std::size_t undefined_ = 0, left_out_ = 0;
  std::size_t trials_ = 0, lost_ = 0;  // lost: undefined at the end, as after a divergence
  double least_ = 0;
  bool has_least_ = false;
  Where where_;
};

std::size_t count_undefined(const std::vector<double>& values) {
  return static_cast<std::size_t>(
      std::count_if(values.begin(), values.end(), [](double x) { return std::isnan(x); }));
}

// The slopes of y over x in the trials, each through at least three finite points with different x.
class Slopes {
 public:
  void add(const std::vector<double>& x, const std::vector<double>& y) {
    std::vector<double> at, of;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!std::isfinite(x[i]) || !std::isfinite(y[i])) continue;
      at.push_back(x[i]);
      of.push_back(y[i]);
    }
    left_out_ += x.size() - at.size();
    const bool has_line = at.size() >= 3 && std::ranges::min(at) < std::ranges::max(at);
    slopes_.push_back(has_line ? fit_line(at, of).slope : undefined);
    fewest_ = std::min(fewest_, at.size());
    most_ = std::max(most_, at.size());
  }

  Claim judge(const Statement& statement, Region allowed) const {
    const std::size_t lost = count_undefined(slopes_);
    const std::string points =
        fewest_ == most_ ? plural(most_, "point") : say("{} to {} points", fewest_, most_);
    std::string detail = say("slope of a line through {} in each trial", points);
    if (left_out_ > 0) detail = clauses(detail, plural(left_out_, "undefined point") + " left out");
    if (lost > 0)
      detail =
          clauses(detail, say("no line in {}: it needs three different x", plural(lost, "trial")));
    Claim claim = judge_mean(statement, slopes_, allowed, detail);
    require_majority(claim, lost, slopes_.size());
    return claim;
  }

 private:
  std::vector<double> slopes_;
  std::size_t fewest_ = std::numeric_limits<std::size_t>::max(), most_ = 0, left_out_ = 0;
};

// A slope along the curves of one run.
Claim judge_slope(const OwnStatement& own, const Formula& formula, const Run& run,
                  const Match& match, const std::string& ending) {
  Evaluation evaluation(formula, run, match);
  Slopes slopes;
  for (std::size_t trial = 0; trial < run.trials(); ++trial) {
    const Values y = evaluation.value(formula.first, trial),
                 x = evaluation.value(formula.second, trial);
    if (y.axis == nullptr || x.axis == nullptr || y.at.size() != x.at.size())
      own::refuse(formula.first.column,
                  "a slope needs two curves over the same x, or several results: `ranklab judge "
                  "A.json B.json C.json`");
    slopes.add(x.at, y.at);
  }
  return slopes.judge(statement_of(own, ending), formula.allowed);
}

// A slope with one point for each run.
Claim judge_slope_over(const OwnStatement& own, const Formula& formula,
                       const std::vector<Run>& runs, const Match& match,
                       const std::string& ending) {
  const std::size_t trials = fewest_trials(runs);
  std::vector<std::vector<double>> x(trials), y(trials);
  for (const Run& run : runs) {
    Evaluation evaluation(formula, run, match);
    for (std::size_t trial = 0; trial < trials; ++trial) {
      x[trial].push_back(evaluation.number(formula.second, trial));
      y[trial].push_back(evaluation.number(formula.first, trial));
    }
  }
  Slopes slopes;
  for (std::size_t trial = 0; trial < trials; ++trial) slopes.add(x[trial], y[trial]);
  Claim claim = slopes.judge(statement_of(own, ending), formula.allowed);
  const bool unpaired =
      std::ranges::any_of(runs, [&](const Run& run) { return run.trials() > trials; });
  if (unpaired)
    claim.detail = clauses(claim.detail, say("paired: the first {}", plural(trials, "trial")));
  return claim;
}

Claim judge_values(const OwnStatement& own, const Formula& formula, const Run& run,
                   const Match& match, const std::string& ending) {
  Evaluation evaluation(formula, run, match);
  std::vector<double> values;
  for (std::size_t trial = 0; trial < run.trials(); ++trial) {
    double value = evaluation.number(formula.first, trial);
    if (formula.form == Form::alike) value -= evaluation.number(formula.second, trial);
    values.push_back(value);
  }
  const Statement statement = statement_of(own, ending);
  const std::size_t lost = count_undefined(values);
  const std::string detail = left_out_text(evaluation.left_out(), lost);
  Claim claim = formula.form == Form::alike
                    ? judge_equivalence(statement, values, formula.margin, detail)
                    : judge_mean(statement, values, formula.allowed, detail);
  require_majority(claim, lost, values.size());
  return claim;
}

std::vector<Claim> judge_one(const OwnStatement& own, const std::vector<Run>& runs) {
  const Formula formula = own::parse(own.claim);
  const bool several = runs.size() > 1;
  if (formula.form == Form::always || formula.form == Form::never) {
    Counting counting(formula);
    for (const Run& run : runs) {
      for (const Match& match : own::matches_of(formula, run)) counting.add(run, match);
    }
    return {counting.judge(own, several)};
  }
  std::vector<Claim> out;
  const auto ending_of = [](const Match& match) {
    return match.empty() ? "" : "/" + joined(match, "/");
  };
  const auto is_along_curve = [&](const Match& match) {
    return Evaluation(formula, runs.front(), match).value(formula.second, 0).axis != nullptr;
  };
  if (formula.form == Form::slope && several) {
    const std::vector<Match> matches = own::matches_of(formula, runs.front());
    if (!is_along_curve(matches.front())) {
      for (const Match& match : matches)
        out.push_back(judge_slope_over(own, formula, runs, match, ending_of(match)));
      return out;
    }
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const Match& match : own::matches_of(formula, runs[i])) {
      const std::string ending = ending_of(match) + (several ? say("/{}", i + 1) : "");
      out.push_back(formula.form == Form::slope
                        ? judge_slope(own, formula, runs[i], match, ending)
                        : judge_values(own, formula, runs[i], match, ending));
      if (several) out.back().detail = clauses(runs[i].name(), out.back().detail);
    }
  }
  return out;
}

}  // namespace

std::vector<OwnStatement> checked(std::vector<OwnStatement> statements, const std::string& label,
                                  const std::vector<OwnStatement>& others) {
  std::set<std::string> ids;
  for (const OwnStatement& other : others) ids.insert(other.id);
  for (std::size_t i = 0; i < statements.size(); ++i) {
    OwnStatement& own = statements[i];
    const std::string place = say("{} '{}'", label, printable_key(own.claim));
    for (std::size_t number = i + 1; own.id.empty(); ++number) {
      const std::string id = say("{}{}", own_prefix, number);
      if (!ids.contains(id)) own.id = id;
    }
    if (own.says.empty()) own.says = own.claim;
    if (!own.id.starts_with(own_prefix) || own.id.size() == std::string(own_prefix).size() ||
        own.id.size() > 100)
      throw UsageError(place + ": the id '" + printable_key(own.id) +
                       "' is not allowed; allowed: " + own_prefix + "NAME");
    if (!ids.insert(own.id).second)
      throw UsageError(place + ": another statement has the id '" + printable_key(own.id) + "'");
    try {
      own::parse(own.claim);
    } catch (const UsageError& error) {
      throw UsageError(place + ": " + error.what());
    }
  }
  return statements;
}

std::vector<OwnStatement> own_statements_of(const ResultFile& result) {
  std::vector<OwnStatement> out;
  for (const Claim& claim : result.claims) {
    const bool is_same = !out.empty() && out.back().id == claim.statement_id;
    if (claim.kind == Kind::own && !is_same)
      out.push_back({claim.statement_id, claim.statement, claim.formula});
  }
  return out;
}

std::vector<Claim> judge_own(const std::vector<OwnStatement>& statements,
                             const std::vector<NamedResult>& results,
                             std::vector<std::string>& mistakes) {
  std::vector<Run> runs;
  for (const auto& [file, name] : results) runs.emplace_back(*file, name);
  Claims out;
  out.set_unit(unit_of(*results.front().file));
  out.set_units(fewest_trials(runs));
  for (const OwnStatement& own : statements) {
    std::vector<Claim> claims;
    try {
      claims = judge_one(own, runs);
    } catch (const UsageError& error) {
      mistakes.push_back(own.id + ": " + error.what());
      claims = {not_applicable(statement_of(own, ""), error.what())};
    }
    for (Claim& claim : claims) {
      claim.formula = own.claim;
      out.add(std::move(claim));
    }
  }
  return out.list();
}

void add_own(ResultFile& result, std::vector<Claim> claims) {
  const std::size_t first = result.claims.size();
  std::vector<Claim> all = result.claims;
  all.insert(all.end(), claims.begin(), claims.end());
  note_holm_corrections(all);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    claims[i].holm_undecided = all[first + i].holm_undecided;
    result.claims.push_back(std::move(claims[i]));
  }
}

}  // namespace ranklab
