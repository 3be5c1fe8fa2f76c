#include "own/own_claims.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>

#include "core/error.hpp"
#include "core/fits.hpp"
#include "core/text.hpp"
#include "core/tolerances.hpp"
#include "judge/divergence.hpp"
#include "own/formula.hpp"
#include "own/values.hpp"
#include "result/changes.hpp"

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
  return {own.id, own.id + ending, "own statement", own.says, Part::statement, Kind::own};
}

// The unit of the run's other claims: what is independent is the same.
Unit unit_of(const ResultFile& result) {
  for (const Claim& claim : result.claims) {
    if (claim.unit != Unit::none) return claim.unit;
  }
  return Unit::seed;
}

// What the detail of a claim says of values that are missing.
std::string left_out_text(std::size_t curve_values, const std::vector<bool>& lost) {
  const std::string trials = trials_text(lost);
  return clauses(
      curve_values == 0 ? "" : plural(curve_values, "undefined value") + " of curves left out",
      trials.empty() ? "" : "undefined in " + trials);
}

// Trials of several runs are paired by their numbers, so each of these is one independent unit.
std::size_t fewest_trials(const std::vector<Run>& runs) {
  std::size_t out = runs.front().trials();
  for (const Run& run : runs) out = std::min(out, run.trials());
  return out;
}

// A claim, and the value of each trial if it rests on one; else empty.
struct Judged {
  Claim claim;
  std::vector<double> per_trial = {};
};

// Trials in which one curve of the formula ends undefined and another one does not: these runs
// cannot be compared.
class OneSided {
 public:
  void note(Evaluation& evaluation, std::size_t trial) {
    if (in_.size() <= trial) in_.resize(trial + 1);
    if (evaluation.is_one_sided(trial)) in_[trial] = true;
  }
  void judge(Claim& claim) const {
    const std::string trials = trials_text(in_);
    if (!trials.empty() && claim.verdict != Verdict::not_applicable)
      leave_undecided(claim, "a curve that ends undefined cannot be compared: " + trials);
  }

 private:
  std::vector<bool> in_;
};

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
    Tally here;
    lost_.resize(std::max(lost_.size(), run.trials()));
    for (std::size_t trial = 0; trial < run.trials(); ++trial) {
      const auto [cases, margins] = evaluation.condition(formula_.first, trial);
      if (!cases.is_condition)
        own::refuse(formula_.first.column,
                    "this is no condition: compare numbers by <, <=, >, >=, or begin with mean, "
                    "often, slope or alike");
      here.begin_trial();
      const bool is_curve = cases.axis != nullptr;
      if ((is_curve && cases.is_lost()) || evaluation.from_is_lost(trial)) lost_[trial] = true;
      if (cases.is_lost()) one_sided_.note(evaluation, trial);
      for (std::size_t i = 0; i < cases.at.size(); ++i) {
        if (std::isnan(cases.at[i])) {
          ++undefined_;
          continue;
        }
        const bool never = formula_.form == Form::never;
        here.count((cases.at[i] != 0) == never);
        if (margins.empty() || std::isnan(margins[i])) continue;
        const double margin = never ? -margins[i] : margins[i];
        if (has_least_ && !(margin < least_)) continue;
        least_ = margin, has_least_ = true;
        where_ = {&run, match, trial, is_curve ? cases.axis->name : "",
                  is_curve ? cases.axis->x[i] : 0};
      }
    }
    here.end_trials();
    tally_.add(here);
    evaluation.require_places();
    left_out_ += evaluation.left_out();
  }

  Judged judge(const OwnStatement& own, bool names_run) const {
    std::string detail =
        !has_least_ ? "" : say("least margin {} ", least_) + where_.text(names_run);
    if (undefined_ > 0)
      detail = clauses(detail, plural(undefined_, "undefined case") + " not judged");
    Claim claim =
        judge_tally(statement_of(own, ""), tally_, clauses(detail, left_out_text(left_out_, {})));
    if (claim.verdict != Verdict::holds) return {std::move(claim)};
    one_sided_.judge(claim);
    const std::string lost = trials_text(lost_);
    if (!lost.empty() && claim.verdict == Verdict::holds)
      leave_undecided(claim, "a curve ends undefined, or is at most of its points, in " + lost);
    return {std::move(claim)};
  }

 private:
  const Formula& formula_;
  Tally tally_;
  std::size_t undefined_ = 0, left_out_ = 0;
  std::vector<bool> lost_;  // trials in which the curve ends undefined, as after a divergence
  OneSided one_sided_;
  double least_ = 0;
  bool has_least_ = false;
  Where where_;
};

std::vector<bool> undefined_in(const std::vector<double>& values) {
  std::vector<bool> out;
  for (const double value : values) out.push_back(std::isnan(value));
  return out;
}

// How many numbers differ by more than rounding.
std::size_t count_different(std::vector<double> x) {
  std::ranges::sort(x);
  std::size_t out = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    out += i == 0 || x[i] - x[i - 1] > tolerance::residual<double> * std::abs(x[i]) ? 1 : 0;
  return out;
}

// The slopes of y over x in the trials, each through finite points with at least three different
// x. None if y ends undefined, as after a divergence.
class Slopes {
 public:
  void add(const std::vector<double>& x, const std::vector<double>& y, bool is_lost) {
    std::vector<double> at, of;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!std::isfinite(x[i]) || !std::isfinite(y[i])) continue;
      at.push_back(x[i]);
      of.push_back(y[i]);
    }
    left_out_ += x.size() - at.size();
    const bool has_line = !is_lost && count_different(at) >= 3;
    slopes_.push_back(has_line ? fit_line(at, of).slope : undefined);
    fewest_ = std::min(fewest_, at.size());
    most_ = std::max(most_, at.size());
  }

  Judged judge(const Statement& statement, Region allowed, const OneSided& one_sided) const {
    const std::string lost = trials_text(undefined_in(slopes_));
    const std::string points =
        fewest_ == most_ ? plural(most_, "point") : say("{} to {} points", fewest_, most_);
    std::string detail = say("slope of a line through {} in each trial", points);
    if (left_out_ > 0) detail = clauses(detail, plural(left_out_, "undefined point") + " left out");
    if (!lost.empty())
      detail = clauses(detail, "no line in " + lost +
                                   ": it needs three different x and a curve that does not end "
                                   "undefined");
    Claim claim = judge_mean(statement, slopes_, allowed, detail);
    one_sided.judge(claim);
    return {std::move(claim), slopes_};
  }

 private:
  std::vector<double> slopes_;
  std::size_t fewest_ = std::numeric_limits<std::size_t>::max(), most_ = 0, left_out_ = 0;
};

// A slope along the curves of one run.
Judged judge_slope(const OwnStatement& own, const Formula& formula, const Run& run,
                   const Match& match, const std::string& ending) {
  Evaluation evaluation(formula, run, match);
  Slopes slopes;
  OneSided one_sided;
  for (std::size_t trial = 0; trial < run.trials(); ++trial) {
    const Values y = evaluation.value(formula.first, trial),
                 x = evaluation.value(formula.second, trial);
    if (y.axis == nullptr || x.axis == nullptr || y.at.size() != x.at.size())
      own::refuse(formula.first.column,
                  "a slope needs two curves over the same x, or several results: `ranklab judge "
                  "A.json B.json C.json`");
    slopes.add(x.at, y.at, y.is_lost() || x.is_lost() || evaluation.from_is_lost(trial));
    one_sided.note(evaluation, trial);
  }
  evaluation.require_places();
  return slopes.judge(statement_of(own, ending), formula.allowed, one_sided);
}

// "the results also differ in activation (relu, gelu)": in other parameters than those of x.
std::string other_differences(const Formula& formula, const std::vector<NamedResult>& results) {
  std::set<std::string> of_x, keys;
  own::for_each_name(formula.second, [&](const Node& name) { of_x.insert(name.word); });
  for (const NamedResult& result : results) {
    for (const auto& [key, unused] : result.file->config.items()) keys.insert(key);
  }
  std::vector<std::string> differing;
  for (const std::string& key : keys) {
    std::vector<std::string> values;
    for (const NamedResult& result : results) {
      const auto found = result.file->config.find(key);
      const std::string value =
          found == result.file->config.end() ? "missing" : printable_key(flag_text(*found));
      if (std::ranges::find(values, value) == values.end()) values.push_back(value);
    }
    if (values.size() > 1 && !of_x.contains(key))
      differing.push_back(printable_key(key) + " (" + joined(values) + ")");
  }
  return differing.empty() ? "" : "the results also differ in " + joined(differing);
}

// A slope with one point for each run.
Judged judge_slope_over(const OwnStatement& own, const Formula& formula,
                        const std::vector<Run>& runs, const Match& match,
                        const std::string& ending) {
  const std::size_t trials = fewest_trials(runs);
  std::vector<std::vector<double>> x(trials), y(trials);
  OneSided one_sided;
  for (const Run& run : runs) {
    Evaluation evaluation(formula, run, match);
    for (std::size_t trial = 0; trial < trials; ++trial) {
      x[trial].push_back(evaluation.number(formula.second, trial));
      y[trial].push_back(evaluation.number(formula.first, trial));
      if (std::isnan(x[trial].back() + y[trial].back())) one_sided.note(evaluation, trial);
    }
    evaluation.require_places();
  }
  Slopes slopes;
  for (std::size_t trial = 0; trial < trials; ++trial) slopes.add(x[trial], y[trial], false);
  Judged out = slopes.judge(statement_of(own, ending), formula.allowed, one_sided);
  const bool unpaired =
      std::ranges::any_of(runs, [&](const Run& run) { return run.trials() > trials; });
  if (unpaired)
    out.claim.detail =
        clauses(out.claim.detail, say("paired: the first {}", plural(trials, "trial")));
  return out;
}

// Whether a value is the share of one number's condition, so that each trial contributes 0 or 1.
bool is_outcome(const Formula& formula, Evaluation& evaluation) {
  if (formula.form == Form::often) return true;
  const Node& share = formula.first;
  return formula.form == Form::mean && share.word == "share" &&
         evaluation.value(share.parts.front(), 0).axis == nullptr;
}

double outcome_of(const Formula& formula, Evaluation& evaluation, std::size_t trial) {
  const Node& node = formula.form == Form::often ? formula.first : formula.first.parts.front();
  const Values outcome = evaluation.value(node, trial);
  if (!outcome.is_condition)
    own::refuse(node.column, "'often' takes a condition, such as often last(a) < last(b) >= 0.9");
  if (outcome.axis != nullptr)
    own::refuse(node.column,
                "'often' takes a condition on one number of each trial; first, last, max, "
                "share(...) make one number of a curve");
  return outcome.at.front();
}

Judged judge_values(const OwnStatement& own, const Formula& formula, const Run& run,
                    const Match& match, const std::string& ending) {
  Evaluation evaluation(formula, run, match);
  const bool is_share = is_outcome(formula, evaluation);
  const Node difference{
      Node::Kind::operation, 0, "-", {formula.first, formula.second}, formula.first.column};
  const std::vector<double> bounds =
      formula.form == Form::alike ? std::vector<double>{0, formula.margin, -formula.margin}
                                  : std::vector<double>{formula.allowed.low, formula.allowed.high};
  std::vector<double> values;
  OneSided one_sided;
  for (std::size_t trial = 0; trial < run.trials(); ++trial) {
    values.push_back(
        is_share ? outcome_of(formula, evaluation, trial)
                 : evaluation.number(formula.form == Form::alike ? difference : formula.first,
                                     trial, bounds));
    if (std::isnan(values.back())) one_sided.note(evaluation, trial);
  }
  evaluation.require_places();
  const Statement statement = statement_of(own, ending);
  const std::string detail = left_out_text(evaluation.left_out(), undefined_in(values));
  Judged out;
  if (is_share) {
    std::vector<double> outcomes = values;
    std::erase_if(outcomes, [](double value) { return std::isnan(value); });
    out.claim = judge_share(statement, std::accumulate(outcomes.begin(), outcomes.end(), 0.0),
                            static_cast<double>(outcomes.size()), formula.allowed, detail);
  } else {
    out.claim = formula.form == Form::alike
                    ? judge_equivalence(statement, values, formula.margin, detail)
                    : judge_mean(statement, values, formula.allowed, detail);
  }
  one_sided.judge(out.claim);
  out.per_trial = std::move(values);
  return out;
}

std::vector<Judged> judge_one(const OwnStatement& own, const std::vector<Run>& runs,
                              const std::vector<NamedResult>& results) {
  const Formula formula = own::parse(own.claim);
  const bool several = runs.size() > 1;
  if (formula.form == Form::always || formula.form == Form::never) {
    Counting counting(formula);
    for (const Run& run : runs) {
      for (const Match& match : own::matches_of(formula, run)) counting.add(run, match);
    }
    return {counting.judge(own, several)};
  }
  std::vector<Judged> out;
  const auto ending_of = [](const Match& match) {
    return match.empty() ? "" : "/" + joined(match, "/");
  };
  const auto is_along_curve = [&](const Match& match) {
    return Evaluation(formula, runs.front(), match).value(formula.second, 0).axis != nullptr;
  };
  if (formula.form == Form::slope && several) {
    const std::vector<Match> matches = own::matches_of(formula, runs.front());
    if (!is_along_curve(matches.front())) {
      const std::string differences = other_differences(formula, results);
      for (const Match& match : matches) {
        out.push_back(judge_slope_over(own, formula, runs, match, ending_of(match)));
        out.back().claim.detail = clauses(out.back().claim.detail, differences);
      }
      return out;
    }
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const Match& match : own::matches_of(formula, runs[i])) {
      const std::string ending = ending_of(match) + (several ? say("/{}", i + 1) : "");
      out.push_back(formula.form == Form::slope
                        ? judge_slope(own, formula, runs[i], match, ending)
                        : judge_values(own, formula, runs[i], match, ending));
      if (several) out.back().claim.detail = clauses(runs[i].name(), out.back().claim.detail);
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
    std::vector<Judged> all;
    try {
      all = judge_one(own, runs, results);
    } catch (const UsageError& error) {
      mistakes.push_back(own.id + ": " + error.what());
      all = {{not_applicable(statement_of(own, ""), error.what())}};
    }
    for (auto& [claim, per_trial] : all) {
      claim.formula = own.claim;
      out.add(std::move(claim), per_trial);
    }
  }
  return out.list();
}

void add_own(ResultFile& result, std::vector<Claim> claims) {
  std::move(claims.begin(), claims.end(), std::back_inserter(result.claims));
  note_holm_corrections(result.claims);
}

}  // namespace ranklab
