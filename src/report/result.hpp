// The result of a study as typed values; JSON, tables, figures and pages are made from it elsewhere.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/statistics.hpp"

namespace ranklab {

struct Series {
  std::string name;
  std::string x_name;
  std::vector<double> x, mean, std;  // of equal length
};

/// One quantity measured in every trial; values that are not finite stand for "undefined".
struct Scalar {
  std::string name;
  std::vector<double> per_trial;
};

enum class Verdict { holds, fails, not_applicable };

/// A statement of a paper, judged from the run's own numbers.
struct Claim {
  std::string id;         // spectral/eq-1.5/gd
  std::string source;     // where the paper says it
  std::string statement;  // what it says, in our words
  Verdict verdict = Verdict::not_applicable;
  double measured = 0.0;  // NaN: null
  std::variant<std::monostate, double, std::pair<double, double>> expected;
  std::string detail;  // counts, hypothesis not met, corrected form
};

struct Axis {
  std::string label;
  std::string scale = "linear";         // "linear" or "log"
  std::vector<std::string> ticks = {};  // names for x = 1, 2, ...; empty: numbers
};

struct Curve {
  std::string series;
  std::string label;           // empty: no legend entry
  std::string style = "line";  // "line", "dashed", "dotted", "points", "line+points", "bars"
  int colour = -1;             // index into the palette; -1: next. Curves of one family share a colour.
  double x_offset = 0.0;       // added to x when drawn: a restart counts from 0 but is drawn where it starts
};

struct ReferenceLine {
  double y;
  std::string label;
};

/// A shaded range of x over the panel's full height, such as the iterations that a theorem speaks of.
struct Band {
  double x_low, x_high;  // finite, x_low <= x_high
  std::string label;     // empty: no legend entry
  int colour = -1;       // palette index, that of the curve it belongs to; -1: grey
};

struct Panel {
  std::string title;
  Axis x, y;
  std::vector<Curve> curves;
  std::vector<ReferenceLine> lines;
  std::vector<Band> bands = {};
};

struct Figure {
  std::vector<Panel> panels;
};

/// A layer or tensor that was left out.
struct Skipped {
  std::string name, reason;
};

/// What a reader wants to see at once, as text: on standard error after the run, and in the page. Every row has one cell
/// for each column.
struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

struct Result {
  std::string title;
  bool diverged = false;  // some trajectory ended in a non-finite loss
  std::vector<Scalar> scalars;
  std::vector<Series> series;
  std::vector<Claim> claims;
  Figure figure;
  Table table;                     // may be empty
  std::vector<std::string> notes;  // what a reader must know, one sentence each
  std::vector<Skipped> skipped;
};

// Series and verdicts from trials -------------------------------------------------------------------------------------

/// Mean and standard deviation over trials, point by point, up to the shortest trial; x = first_x, first_x + 1, ...
Series series_over_trials(std::string name, std::string x_name, const std::vector<std::vector<double>>& per_trial,
                          double first_x = 0.0);

/// The same with given x.
Series series_over_trials(std::string name, std::string x_name, std::vector<double> x,
                          const std::vector<std::vector<double>>& per_trial);

/// A number in the detail of a claim: four significant digits.
std::string short_number(double x);

/// A claim that the mean lies in [low, high]: holds when the confidence interval (z = 3) lies inside, fails when it lies
/// outside, otherwise not-applicable with "undecided at n trials". Infinite bounds are allowed.
Claim judge_mean(std::string id, std::string source, std::string statement, const std::vector<double>& per_trial, double low,
                 double high, const std::string& detail = "");

/// A claim "for all": holds when none of `cases` violates it. No case at all is not-applicable.
Claim judge_violations(std::string id, std::string source, std::string statement, double violations, double cases,
                       const std::string& detail = "");

/// A claim whose hypothesis is not met, which `reason` names.
Claim not_applicable(std::string id, std::string source, std::string statement, const std::string& reason);

}  // namespace ranklab
