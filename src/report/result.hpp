// The result of a study as typed values; JSON, tables, figures and pages are made from it elsewhere.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/statistics.hpp"
#include "report/figure/figure.hpp"

namespace ranklab {

struct Series {
  std::string name;
  std::string x_name;
  std::vector<double> x, mean, std;  // of equal length
  std::vector<double> n = {};        // trials that define each point; empty: all do, or it is unknown
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

/// A layer or tensor that was left out.
struct Skipped {
  std::string name, reason;
};

/// What a reader wants to see at once, as text: on standard error after the run, and in the page. Every row has one cell
/// for each column.
struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::string summary = {};  // in one line, above it
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
  std::vector<std::string> failed_gates;  // of a study's own conditions for exit 3
};

/// Mean and standard deviation over trials, point by point, up to the shortest trial; x = first_x, first_x + 1, ...
Series series_over_trials(std::string name, std::string x_name, const std::vector<std::vector<double>>& per_trial,
                          double first_x = 0.0);

/// The same with given x.
Series series_over_trials(std::string name, std::string x_name, std::vector<double> x,
                          const std::vector<std::vector<double>>& per_trial);

}  // namespace ranklab
