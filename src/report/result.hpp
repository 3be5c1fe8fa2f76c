// The result of a study as typed values; JSON, tables, figures and pages are made from it elsewhere.
#pragma once

#include <cstdint>
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

/// What sort of statement a claim judges: a theorem (lemma, equation, proposition), a number that the paper prints, what its figure
/// or text shows, a reading of that with a threshold of ours, or something that is not in the paper.
enum class Kind { theorem, printed_number, figure, reading, beyond };

/// What is independent from one repetition to the next; none: the claim is about something deterministic.
enum class Unit { seed, training, draw, sequence, none };

/// What a verdict rests on. NaN in a field: it was not measured.
struct MeanEvidence {
  double mean = 0, low = 0, high = 0, level = 0;  // the confidence interval of the mean, and its level
  std::uint64_t n = 0;                            // independent units
};
struct CountEvidence {
  double violations = 0, cases = 0;
  double worst = 0;  // the number of the worst case
};
struct NumberEvidence {
  double value = 0;
};
/// Two one-sided tests: the mean lies within `margin` of zero if its interval does.
struct EquivalenceEvidence {
  double mean = 0, low = 0, high = 0, margin = 0, level = 0;
  std::uint64_t n = 0;
};
/// Empty if a hypothesis is not met.
using Evidence = std::variant<std::monostate, MeanEvidence, CountEvidence, NumberEvidence, EquivalenceEvidence>;

/// A statement of a paper, judged from the run's own numbers.
struct Claim {
  std::string id;         // spectral/eq-1.5/gd
  std::string source;     // where the paper says it
  std::string statement;  // what it says, in our words
  Verdict verdict = Verdict::not_applicable;
  double measured = 0.0;  // NaN: null
  std::variant<std::monostate, double, std::pair<double, double>> expected;
  std::string detail;  // the evidence in words, hypothesis not met, corrected form
  Kind kind = Kind::theorem;
  std::vector<std::string> figures;  // "Figure 3", "Table 1"
  Unit unit = Unit::seed;
  Evidence evidence;
  std::string misprint_of;      // of a corrected form: the id of the claim as printed
  std::string threshold;        // of a reading: the number and its unit
  bool undecided = false;       // not applicable because the run's numbers do not decide
  bool shortened = false;       // the verdict is withheld because the run is shorter than the preset
  std::string judged_in;        // the preset that judges it on the same trials
  bool holm_undecided = false;  // the verdict stands alone, but not among the other means of the run
};

/// The evidence in words, as `detail` begins with it: "mean 12.44 +- 2.149 (99 %, 12 trials)". Empty for a
/// number and for no evidence.
std::string evidence_text(const Evidence& evidence);

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
