// Claims: what a paper says, judged from the numbers of a run. A study declares its statements, its trials count or measure,
// and a `Claims` turns both into verdicts.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/fits.hpp"
#include "core/record.hpp"
#include "core/text.hpp"
#include "report/result.hpp"

namespace ranklab {

struct Statement {
  std::string id;      // spectral/eq-1.5/gd
  std::string source;  // where the paper says it
  std::string text;    // what it says, in our words
  Kind kind = Kind::theorem;
  std::vector<std::string> figures = {};  // that it is about: "Figure 3", "Table 1"
  std::string threshold = {};             // of a reading: the number that the paper does not give, with its unit
  std::string misprint_of = {};           // of a corrected form: the id of the statement as printed
};

/// A statement "for all" that the trials count: its tally stands in the records under its id, and the violations of each trial
/// become the scalar of that name (empty: none).
struct Inequality : Statement {
  std::string scalar = {};
};

/// The paper prints this number.
template <class S>
S printed_number(S statement) {
  statement.kind = Kind::printed_number;
  return statement;
}
/// The paper's words have no number: `threshold` is ours.
template <class S>
S reading(S statement, std::string threshold) {
  statement.kind = Kind::reading;
  statement.threshold = std::move(threshold);
  return statement;
}
/// The paper does not say it.
template <class S>
S beyond(S statement) {
  statement.kind = Kind::beyond;
  return statement;
}
/// It corrects a statement that is misprinted.
template <class S>
S correcting(const Statement& as_printed, S statement) {
  statement.misprint_of = as_printed.id;
  return statement;
}

/// A statement that is misprinted, and what is true in its place.
struct Misprint {
  Statement as_printed, corrected;
};

/// One place of a paper: its statements share the source and the beginning of their ids.
struct Place {
  std::string prefix, source;
  Kind kind = Kind::theorem;
  std::vector<std::string> figures = {};

  Statement operator()(const std::string& id, std::string text) const {
    return {prefix + id, source, std::move(text), kind, figures};
  }
  Inequality counted(const std::string& id, std::string text, std::string scalar = {}) const;
  /// The ids end in "/as-printed" and "/corrected".
  Misprint misprint(const std::string& id, std::string printed, std::string corrected) const;
};

/// What a figure or table shows: `source` names it, with the section that describes it.
inline Place in_figure(std::string prefix, std::string source, std::vector<std::string> figures) {
  return {std::move(prefix), std::move(source), Kind::figure, std::move(figures)};
}

/// Where a number is allowed to lie.
struct Region {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};
inline Region at_most(double high) {
  return {.high = high};
}
inline Region at_least(double low) {
  return {.low = low};
}
inline Region within(double centre, double margin) {
  return {centre - margin, centre + margin};
}
inline Region positive() {
  return {.low = std::numeric_limits<double>::min()};
}

/// Fewer independent values decide nothing about their mean.
inline constexpr std::size_t fewest_values = 3;

/// Holds if Student's confidence interval of the mean (at `confidence_level`) lies in `allowed`, fails if it lies outside,
/// otherwise not-applicable with "undecided at n trials"; so too if fewer than `fewest_values` are finite. If the values were
/// chosen among several `candidates` because of their mean, the interval is wider (Bonferroni).
Claim judge_mean(const Statement& statement, const std::vector<double>& per_trial, Region allowed, const std::string& detail = "",
                 double candidates = 1);

/// Two one-sided tests: holds if the confidence interval of the mean lies within `margin` of zero, fails if it lies outside, so
/// that a lack of power never holds. judge_no_worse asks for the lower side alone: the mean is above -margin.
Claim judge_equivalence(const Statement& statement, const std::vector<double>& differences, double margin,
                        const std::string& detail = "");
Claim judge_no_worse(const Statement& statement, const std::vector<double>& differences, double margin,
                     const std::string& detail = "");

/// Which end of a tally's numbers is the worst case.
enum class WorstCase { unsaid, smallest, largest };

/// Holds when no case violates the statement. No case at all is not-applicable.
Claim judge_tally(const Statement& statement, const Tally& tally, const std::string& detail = "",
                  WorstCase worst = WorstCase::unsaid);

/// The same of a tally whose cases are the independent units themselves, such as trained models: without a violation it holds only
/// if there are at least `fewest_values`.
Claim judge_units(const Statement& statement, const Tally& tally, const std::string& detail = "",
                  WorstCase worst = WorstCase::unsaid);

/// A number that no trial draws, good to a relative error of `rounding`: holds where it lies in `allowed`, or misses it by that.
/// One that is not finite is not-applicable.
Claim judge_number(const Statement& statement, double measured, Region allowed, const std::string& detail = "",
                   double rounding = 0.0);

/// The statement says nothing of this run, as `reason` says.
Claim not_applicable(const Statement& statement, const std::string& reason);

/// The claims of a run, in the order in which they are made.
class Claims {
 public:
  /// Names what is independent in this run, for every claim but those about a number without trials.
  void set_unit(Unit unit) { unit_ = unit; }
  /// Says how many such units the run has. With fewer than `fewest_values` a count without a violation is undecided, unless a
  /// theorem speaks of every case. 0: only worked examples count. Not said: enough.
  void set_units(std::size_t units) { units_ = units; }

  void mean(const Statement& statement, const std::vector<double>& per_trial, Region allowed, const std::string& detail = "",
            double candidates = 1);
  void equivalent(const Statement& statement, const std::vector<double>& differences, double margin,
                  const std::string& detail = "");
  void no_worse(const Statement& statement, const std::vector<double>& differences, double margin, const std::string& detail = "");
  void never_violated(const Statement& statement, const Tally& tally, const std::string& detail = "",
                      WorstCase worst = WorstCase::unsaid);
  void in_every_unit(const Statement& statement, const Tally& tally, const std::string& detail = "",
                     WorstCase worst = WorstCase::unsaid);
  /// From the tallies that the trials recorded under the statement's id.
  void never_violated(const Statement& statement, const Records& records, const std::string& detail = "",
                      WorstCase worst = WorstCase::unsaid);
  void number(const Statement& statement, double measured, Region allowed, const std::string& detail = "", double rounding = 0.0);
  void not_applicable(const Statement& statement, const std::string& reason);
  /// True where the statement's hypothesis is met. Otherwise it is not applicable, as `unmet` says, and there is nothing to judge.
  bool applies(const Statement& statement, const std::string& unmet);
  void add(Claim claim);

  /// What a claim under an unmet hypothesis says: the reason alone; "reason; measured: " and the detail that it would have had; or
  /// "reason; compared all the same: " and that detail, beside the number and the region, of which only the verdict is withheld.
  enum class Unmet { reason, reason_and_measured, verdict_alone };

  /// While it lives, every claim that is made is not applicable because of `unmet`, unless that is empty.
  class Hypothesis {
   public:
    ~Hypothesis() { claims_.unmet_.pop_back(); }
    Hypothesis(const Hypothesis&) = delete;
    Hypothesis& operator=(const Hypothesis&) = delete;

   private:
    friend class Claims;
    Hypothesis(Claims& claims, std::string unmet, Unmet says) : claims_(claims) {
      claims_.unmet_.emplace_back(std::move(unmet), says);
    }
    Claims& claims_;
  };
  [[nodiscard]] Hypothesis only_where(std::string unmet, Unmet says = Unmet::reason) { return {*this, std::move(unmet), says}; }

  const std::vector<Claim>& list() const { return claims_; }
  /// The claims, each mean corrected for the others by Holm's method: a verdict that does not survive stands, and its detail says
  /// so.
  std::vector<Claim> take();

 private:
  Unit unit_ = Unit::seed;
  std::size_t units_ = fewest_values;
  std::vector<Claim> claims_;
  std::vector<std::pair<std::string, Unmet>> unmet_;
};

/// value(record, i), a quantity of one trial at the i-th size.
using ValueAtSize = std::function<double(const TrialRecord& record, std::size_t i)>;

/// One fit of value(record, i) over x[i] for each record, by fit_line or fit_power, from the points where it is finite (and
/// positive, for a power law); all NaN where these are fewer than `fewest`.
using Fit = LineFit (*)(std::span<const double> x, std::span<const double> y);
std::vector<LineFit> fits_over(const Records& records, const std::vector<double>& x, const ValueAtSize& value, Fit fit,
                               std::size_t fewest = 3);
/// The slopes of those fits: with fit_power, exponents.
std::vector<double> slopes_over(const Records& records, const std::vector<double>& x, const ValueAtSize& value, Fit fit,
                                std::size_t fewest = 3);

}  // namespace ranklab
