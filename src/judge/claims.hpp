// Claims: statements of a paper, judged from the numbers of a run. A study declares what it judges,
// its trials count or measure, and a `Claims` object turns both into verdicts.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <statement_ids.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/fits.hpp"
#include "core/record.hpp"
#include "core/text.hpp"
#include "judge/divergence.hpp"
#include "result/result.hpp"

namespace ranklab {

/// What a claim judges: one part of a statement of the catalog (`judge/catalog.hpp`).
struct Statement {
  std::string statement_id;  // the catalog's, spectral::eq_1_5 of the generated header
  std::string id;            // the claim's: spectral/eq-1.5/gd
  std::string source;        // the place in the paper
  std::string text;          // the statement, in our words
  Part part = Part::statement;
  Kind kind = Kind::theorem;
  std::string threshold =
      {};  // our number, with its unit; of a reading, and of an asymptotic claim
  std::string misprint_of = {};  // of a corrected form: the id of the claim as printed
  std::string slip = {};         // of a form as printed: the slip of the catalog that it shows
};

/// A statement "for all cases" that the trials count. Each record has its tally under the id. The
/// violations of each trial become the scalar of the given name (empty: no scalar).
struct Inequality : Statement {
  std::string scalar = {};
};

/// Marks a statement whose number the paper prints.
template <class S>
S printed_number(S statement) {
  statement.kind = Kind::printed_number;
  return statement;
}
/// Marks a statement for which the paper gives no number; `threshold` is ours.
template <class S>
S reading(S statement, const std::string& threshold) {
  statement.kind = Kind::reading;
  statement.threshold = threshold;
  return statement;
}
/// Marks a statement about an exponent, a limit or an open constant: it is seen or not seen at the
/// sizes of the run, and `threshold` is our slack.
template <class S>
S asymptotic(S statement, const std::string& threshold) {
  statement.kind = Kind::asymptotic;
  statement.threshold = threshold;
  return statement;
}
/// Marks a statement, or those of a place, as not in the paper. The part of its claims is `ours`.
template <class S>
S beyond(S statement) {
  statement.kind = Kind::beyond;
  return statement;
}
/// Marks a form as printed that shows a slip of the catalog.
template <class S>
S showing(const std::string& slip, S statement) {
  statement.slip = slip;
  return statement;
}
/// Marks the corrected form of a statement with a slip.
template <class S>
S correcting(const Statement& as_printed, S statement) {
  statement.misprint_of = as_printed.id;
  return statement;
}

/// A statement with a slip, as printed and corrected.
struct Misprint {
  Statement as_printed, corrected;
};

/// One place of a paper: its claims share the statement of the catalog, the source and the
/// beginning of their ids.
struct Place {
  std::string statement_id, prefix, source;
  Part part = Part::statement;
  Kind kind = Kind::theorem;

  /// A prefix that starts with "/" continues the id of the statement.
  Place(std::string of_statement, const std::string& begins, std::string in_paper,
        Part of_part = Part::statement, Kind of_kind = Kind::theorem)
      : statement_id(std::move(of_statement)),
        prefix((begins.starts_with('/') ? statement_id : "") + begins),
        source(std::move(in_paper)),
        part(of_part),
        kind(of_kind) {}

  Statement operator()(const std::string& id, std::string text) const {
    return {statement_id, prefix + id, source, std::move(text), part, kind};
  }
  Inequality counted(const std::string& id, std::string text, std::string scalar = {}) const;
  /// The ids end in "/as-printed" and "/corrected"; `slip` is the catalog's.
  Misprint misprint(const std::string& slip, const std::string& id, std::string printed,
                    std::string corrected) const;
};

/// A place for claims about a figure or table; `source` names it, with the section that describes
/// it.
inline Place in_figure(std::string statement_id, const std::string& prefix, std::string source) {
  return {std::move(statement_id), prefix, std::move(source), Part::statement, Kind::figure};
}

/// The figures and tables that a source names, in its order: "Figure 18 (a)" of "Figure 18 (a),
/// caption", and "Figure 8" and "Figure 9" of "Figures 8, 9".
std::vector<std::string> figures_in(const std::string& source);

/// The closed interval in which a number is allowed to lie.
struct Region {
  double low = -std::numeric_limits<double>::infinity(),
         high = std::numeric_limits<double>::infinity();
  bool is_comparison = false;  // a tie never holds: see compared() and positive()
};
inline Region at_most(double high) {
  return {.high = high};
}
inline Region at_least(double low) {
  return {.low = low};
}
inline Region within(double center, double margin) {
  return {center - margin, center + margin};
}
/// The region of "A exceeds B" for values of A - B; a tie fails.
inline Region positive() {
  return {.low = std::numeric_limits<double>::min(), .is_comparison = true};
}
/// The region of a comparison, such as "A is at most B" for values of A - B. If every value lies on
/// an end of the region, the comparison is a tie and the claim is undecided.
inline Region compared(Region region) {
  region.is_comparison = true;
  return region;
}

/// "a tie, all 3 differences are zero" if the values are a tie in the region of a comparison; else
/// empty. Values that are not finite are left out.
std::string tie_text(const std::vector<double>& values, Region allowed);

/// "trials 0 to 2, 4": those that are marked; "9 of 24 trials" if they are in many places; empty
/// if none is.
std::string trials_text(const std::vector<bool>& marked);

/// With fewer independent values a claim about their mean is undecided.
inline constexpr std::size_t fewest_values = 3;

/// Holds if Student's confidence interval of the mean (at `confidence_level`) lies in `allowed` and
/// fails if it lies outside. Otherwise, or if fewer than `fewest_values` are finite, the verdict is
/// not_applicable with `undecided` set. A tie in a comparison never holds. If the values were
/// chosen among several `candidates` because of their mean, the interval is wider (Bonferroni).
/// Equal values have no interval: they are counted ("1 in each of 12 seeds").
/// Undefined values (NaN) are left out. If a value is infinite, there is no mean, and the trials
/// are counted: a comparison holds if every value lies in `allowed` and fails if none does.
/// Otherwise the claim is undecided.
Claim judge_mean(const Statement& statement, const std::vector<double>& per_trial, Region allowed,
                 const std::string& detail = "", double candidates = 1);

/// The same for a share of 0/1 outcomes, such as "in at least 0.9 of the trials": `hits` of `units`
/// independent ones. The exact binomial interval decides.
Claim judge_share(const Statement& statement, double hits, double units, Region allowed,
                  const std::string& detail = "", double candidates = 1);

/// The same for an interval that was computed elsewhere, such as one whose variance is shared by
/// several layers.
Claim judge_interval(const Statement& statement, const MeanEvidence& interval, Region allowed,
                     const std::string& detail = "");

/// Two one-sided tests: holds if the confidence interval of the mean lies within `margin` of zero
/// and fails if it lies outside, so a lack of power never makes the claim hold. judge_no_worse
/// tests only the lower side: the mean is above -margin.
Claim judge_equivalence(const Statement& statement, const std::vector<double>& differences,
                        double margin, const std::string& detail = "");
Claim judge_no_worse(const Statement& statement, const std::vector<double>& differences,
                     double margin, const std::string& detail = "");

/// The end of a tally's numbers that is the worst case.
enum class WorstCase { unsaid, smallest, largest };

/// Holds if no case violates the statement. Not applicable if there is no case; undecided if the
/// number of a case is infinite.
Claim judge_tally(const Statement& statement, const Tally& tally, const std::string& detail = "",
                  WorstCase worst = WorstCase::unsaid);

/// A number without trials, accurate to a relative error of `rounding`: holds if it lies in
/// `allowed` or misses it by at most that error. A number that is not finite is not applicable.
Claim judge_number(const Statement& statement, double measured, Region allowed,
                   const std::string& detail = "", double rounding = 0.0);

/// A claim whose statement does not apply to this run, for the given reason.
Claim not_applicable(const Statement& statement, const std::string& reason);

/// Marks the claims about means that are decided on their own, but not after Holm's correction for
/// all means in the list, and removes earlier marks. Equal values are no mean.
void note_holm_corrections(std::vector<Claim>& claims);

/// The claims of a run, in the order in which they are added.
class Claims {
 public:
  /// Sets the independent unit of this run, for all claims except those about a number without
  /// trials.
  void set_unit(Unit unit) { unit_ = unit; }
  /// Sets how many such units the run has, for counts whose tally does not tell them apart. With a
  /// case in fewer than `fewest_values` units, or in half of them or fewer, a count without a
  /// violation is undecided, unless it is about a theorem that covers every case. 0: only worked
  /// examples count. Default: enough units.
  void set_units(std::size_t units) { units_ = units; }

  void mean(const Statement& statement, const std::vector<double>& per_trial, Region allowed,
            const std::string& detail = "", double candidates = 1);
  void share(const Statement& statement, double hits, double units, Region allowed,
             const std::string& detail = "", double candidates = 1);
  void interval(const Statement& statement, const MeanEvidence& interval, Region allowed,
                const std::string& detail = "");
  void equivalent(const Statement& statement, const std::vector<double>& differences, double margin,
                  const std::string& detail = "");
  void no_worse(const Statement& statement, const std::vector<double>& differences, double margin,
                const std::string& detail = "");
  void never_violated(const Statement& statement, const Tally& tally,
                      const std::string& detail = "", WorstCase worst = WorstCase::unsaid);
  /// Judges the tallies that the trials recorded under the statement's id.
  void never_violated(const Statement& statement, const Records& records,
                      const std::string& detail = "", WorstCase worst = WorstCase::unsaid);
  void number(const Statement& statement, double measured, Region allowed,
              const std::string& detail = "", double rounding = 0.0);
  void not_applicable(const Statement& statement, const std::string& reason);
  /// True if the statement's hypothesis is met. Otherwise adds a claim that is not applicable for
  /// the reason `unmet`; the caller then judges nothing.
  bool applies(const Statement& statement, const std::string& unmet);
  void add(Claim claim);
  /// A claim that rests on the value of each trial, NaN where it is undefined.
  void add(Claim claim, const std::vector<double>& per_trial) { add(std::move(claim), &per_trial); }

  /// The detail of a claim whose hypothesis is not met: the reason only; "reason; measured: " with
  /// the evidence and the detail that the claim would have had; or "reason, compared anyway" and
  /// that detail. In the last case the claim also keeps its evidence, and only the verdict is not
  /// applicable.
  enum class Unmet { reason, reason_and_measured, verdict_alone };

  /// What all claims have in common that are added during its lifetime.
  class Scope {
   public:
    ~Scope() { claims_.scopes_.pop_back(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    friend class Claims;
    Scope(Claims& claims, std::string unmet, Unmet detail, JudgedRuns runs) : claims_(claims) {
      claims_.scopes_.push_back({std::move(unmet), detail, std::move(runs)});
    }
    Claims& claims_;
  };
  /// The claims are not applicable because of `unmet`, unless `unmet` is empty.
  [[nodiscard]] Scope only_where(std::string unmet, Unmet detail = Unmet::reason) {
    return {*this, std::move(unmet), detail, {}};
  }
  /// The claims are about these runs, which may have diverged (judge/divergence.hpp). A comparison
  /// without an extreme needs `compared`. An inner scope with runs replaces an outer one.
  [[nodiscard]] Scope about(std::vector<Divergence> runs, bool compared = false,
                            std::string counted_how = "which count until then") {
    return {*this, "", Unmet::reason, {std::move(runs), compared, std::move(counted_how)}};
  }

  const std::vector<Claim>& list() const { return claims_; }
  /// The claims. Holm's method corrects each mean for the others: if a verdict does not survive, it
  /// is kept and the detail says so.
  std::vector<Claim> take();

 private:
  void require_units(Claim& claim) const;
  /// `per_trial`: the values of a mean, else null.
  void add(Claim claim, const std::vector<double>* per_trial);

  Unit unit_ = Unit::seed;
  std::size_t units_ = fewest_values;
  std::vector<Claim> claims_;
  struct InScope {
    std::string unmet;
    Unmet detail;
    JudgedRuns runs;
  };
  std::vector<InScope> scopes_;
};

/// value(record, i): a quantity of one trial at the i-th size.
using ValueAtSize = std::function<double(const TrialRecord& record, std::size_t i)>;

/// One fit of value(record, i) over x[i] for each record, by fit_line or fit_power, from the points
/// at which the value is finite (and positive, for a power law). All fields are NaN if there are
/// fewer than `fewest` such points.
using Fit = LineFit (*)(std::span<const double> x, std::span<const double> y);
std::vector<LineFit> fits_over(const Records& records, const std::vector<double>& x,
                               const ValueAtSize& value, Fit fit, std::size_t fewest = 3);
/// The slopes of those fits; with fit_power they are exponents.
std::vector<double> slopes_over(const Records& records, const std::vector<double>& x,
                                const ValueAtSize& value, Fit fit, std::size_t fewest = 3);

}  // namespace ranklab
