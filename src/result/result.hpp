// The result of a study as typed values. Other files make JSON, tables, figures and pages from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/quantity.hpp"
#include "core/record.hpp"
#include "core/statistics.hpp"
#include "result/figure.hpp"

namespace ranklab {

/// A quantity over x. Its name is unique in the result.
struct Series {
  std::string name;
  std::string x_name;
  std::vector<double> x, mean, std;  // of equal length
  std::vector<std::uint64_t> n =
      {};  // number of trials that define each point; empty: all, or unknown
  std::vector<std::vector<double>> trials =
      {};                     // the values of every trial at x, if a curve shows them; else empty
  std::string quantity = {};  // what it is, and where
  std::map<std::string, Coordinate> at = {};
  bool own = false;  // numbers at places, which a panel of one's own draws over an axis of these

  Series() = default;
  Series(Quantity of, std::string over, std::vector<double> xs, std::vector<double> means,
         std::vector<double> deviations, std::vector<std::uint64_t> defined = {},
         std::vector<std::vector<double>> of_trials = {})
      : name(std::move(of.name)),
        x_name(std::move(over)),
        x(std::move(xs)),
        mean(std::move(means)),
        std(std::move(deviations)),
        n(std::move(defined)),
        trials(std::move(of_trials)),
        quantity(std::move(of.kind)),
        at(std::move(of.at.coordinates)) {}
};

/// Whether a curve of so many trials shows each of them. One trial is the mean, and curves of many
/// cannot be told apart.
constexpr bool shows_each(std::size_t trials) {
  return trials > 1 && trials <= 20;
}

/// One quantity, measured in every trial. A value that is not finite means "undefined".
struct Scalar {
  std::string name;
  std::vector<double> per_trial;
  std::string quantity = {};
  std::map<std::string, Coordinate> at = {};

  Scalar() = default;
  Scalar(Quantity of, std::vector<double> values)
      : name(std::move(of.name)),
        per_trial(std::move(values)),
        quantity(std::move(of.kind)),
        at(std::move(of.at.coordinates)) {}
};

enum class Verdict { holds, fails, not_applicable };

/// The kind of a claim: a statement that covers every finite case; an exponent, a limit or an open
/// constant, which is seen or not seen at the sizes of the run; a number that the paper prints; an
/// observation from its figure or text; a reading of such an observation with a threshold of ours;
/// a statement that is not in the paper; or a statement of the user's own.
enum class Kind { theorem, asymptotic, printed_number, figure, reading, beyond, own };

/// The part of a statement of the catalog that a claim judges; ours: the paper does not say it.
enum class Part { statement, proof, definition, caption, text, ours };

/// The unit that is independent between repetitions; none: the claim is about a deterministic
/// quantity.
enum class Unit { seed, training, draw, sequence, none };
/// "seed", "training", ...; "trial" for none.
const char* name_of(Unit unit);

/// The evidence for a verdict. NaN in a field: not measured.
struct MeanEvidence {
  double mean = 0, low = 0, high = 0,
         level = 0;       // the confidence interval of the mean, and its level
  std::uint64_t n = 0;    // independent units
  double degrees = 0;     // of freedom of Student's quantile; 0: n - 1
  bool binomial = false;  // the mean is the share of n units; the interval is exact
};
struct CountEvidence {
  double violations = 0, cases = 0;
  double worst = 0;  // the number of the worst case
  // The independent units, those of them with a case, and those with a violation. 0 units: the
  // cases are not told apart by unit.
  std::uint64_t units = 0, units_with_case = 0, units_violated = 0;
  std::optional<double> value = {};  // of a mean: what it is in each unit
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
using Evidence =
    std::variant<std::monostate, MeanEvidence, CountEvidence, NumberEvidence, EquivalenceEvidence>;

/// The expected number, or the smallest and the largest; an infinite end is open.
using Expected = std::variant<std::monostate, double, std::pair<double, double>>;

/// A statement of a paper, judged from the numbers of the run.
struct Claim {
  std::string id;            // spectral/eq-1.5/gd
  std::string statement_id;  // the statement that it judges, of the catalog (spectral/eq-1.5) or of
                             // one's own (mine/monotone)
  std::string paper;         // the name of its paper: Spectral
  Part part = Part::statement;
  std::string source;     // the place in the paper
  std::string statement;  // the statement, in our words
  Verdict verdict = Verdict::not_applicable;
  double measured = 0.0;  // NaN: null
  Expected expected;
  std::string detail;  // what the evidence does not say: how it was measured, or the hypothesis
                       // that is not met
  Kind kind = Kind::theorem;
  std::vector<std::string> figures;  // "Figure 3", "Table 1"
  Unit unit = Unit::seed;
  Evidence evidence;
  std::string misprint_of;  // of a corrected form: the id of the claim as printed
  std::string slip;         // of a form as printed: the slip of the catalog that it shows
  std::string formula;      // of a statement of one's own (own/formula.hpp)
  std::string threshold;    // of a reading or an asymptotic claim: our number and its unit
  bool undecided =
      false;  // not_applicable because there are too few data, not because of a hypothesis
  bool shortened = false;  // no verdict, because the run is shorter than the preset
  std::string judged_in;   // the preset that judges the statement on the same trials
  bool holm_undecided =
      false;  // decided on its own, but not after Holm's correction for the run's other means
};

/// The evidence of a claim in words: "mean 12.44 +- 2.149 (99 %, 12 seeds)", "0 violations in 2,002
/// cases", "0.5". Empty for a claim without evidence.
std::string evidence_text(const Claim& claim);

/// A layer or tensor that was left out.
struct Skipped {
  std::string name, reason;
};

/// A method, such as an optimizer or a curve through the layers, some of whose runs diverged, and
/// the number of trials in which they did.
struct Diverged {
  std::string method;
  std::uint64_t trials = 0;
};

/// The main findings as text: printed on standard error after the run, and shown on the page. Every
/// row has one cell per column.
struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::string summary = {};  // in one line, above it
};

/// The beginning of a note about an assumption of the run. Such notes are shown on the terminal
/// too.
inline constexpr char assumed[] = "Assumed: ";
/// The same for what a reader of the table must know.
inline constexpr char caution[] = "Caution: ";

struct Result {
  std::string title;
  bool diverged = false;  // some trajectory ended in a non-finite loss
  std::vector<Diverged> diverged_methods;
  std::vector<Scalar> scalars;
  std::vector<Series> series;
  std::vector<Claim> claims;
  Figure figure;
  std::vector<Figure> more_figures;  // details that the figure leaves out
  Table table;                       // may be empty
  std::vector<std::string> notes;    // information that a reader needs, one sentence each
  std::vector<Skipped> skipped;
  std::vector<std::string> failed_gates;  // a study's failed conditions for exit status 3
};

/// Mean and standard deviation over trials, point by point, up to the shortest trial; x = first_x,
/// first_x + 1, ...
Series series_over_trials(Quantity quantity, std::string x_name,
                          const std::vector<std::vector<double>>& per_trial, double first_x = 0.0);

/// Like the above, with given x.
Series series_over_trials(Quantity quantity, std::string x_name, std::vector<double> x,
                          const std::vector<std::vector<double>>& per_trial);

/// Leaves the values of single trials only in series that a curve shows trial by trial, and of at
/// most 20 trials.
void drop_unused_trials(Result& result);

}  // namespace ranklab
