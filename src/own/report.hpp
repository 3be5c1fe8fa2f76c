// A report of one's own, "report" in a preset: quantities, statements, panels and notes, which a
// result gets besides what its study reports. Formulas are in the language of `ranklab judge`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "own/own_claims.hpp"
#include "result/figure.hpp"
#include "result/result_file.hpp"

namespace ranklab {

/// A formula with a name. It is measured wherever all of its quantities are.
struct OwnQuantity {
  std::string name;   // letters, digits and _
  std::string is;     // "nuclear_rank / stable_rank_A"
  std::string label;  // on axes and in legends; empty: the name
};

struct OwnX {
  std::string of;  // what the curves are over, or an axis of their places; empty: the former
  std::string label;
  Scale scale = Scale::linear;
};

struct OwnY {
  std::string label;
  Scale scale = Scale::linear;
  std::vector<double> covers;
};

/// Curves of one quantity: one, or one for each place on an axis.
struct OwnCurve {
  std::string of, each;
  std::string label;  // may have the places, as {run}; empty: the place, or the quantity
  LineStyle style = LineStyle::line;
  int color = -1;
  BandKind band = BandKind::interval;
};

/// A horizontal line at the mean of a value over the trials.
struct OwnLine {
  std::string y, label;
};

/// One panel, or one for each place of its curves on an axis.
struct OwnPanel {
  std::string title, each;
  OwnX x;
  OwnY y;
  std::vector<OwnCurve> curves;
  std::vector<OwnLine> lines;
};

struct OwnReport {
  std::vector<OwnQuantity> quantities;
  std::vector<OwnStatement> claims;
  std::vector<OwnPanel> panels;
  std::vector<std::string> notes;  // may have numbers, as {{mean(loss) | .3g}}

  bool empty() const {
    return quantities.empty() && claims.empty() && panels.empty() && notes.empty();
  }
};

/// Strict: throws ReadError for an unknown key. An axis may be its text alone, a y a number.
void from_json_value(const nlohmann::json& json, OwnReport& report);
nlohmann::ordered_json to_json_value(const OwnReport& report);

/// The report of a preset or result, which need not have one. Throws UsageError that begins with
/// `label`, also for statements that are not allowed.
OwnReport own_report_in(const nlohmann::json& document, const std::string& label);

/// What follows adds to a result. What does not fit it is left out, and `mistakes` has a line with
/// its place: "report.panels[0].curves[1].of: column 1: ...".
using Mistakes = std::vector<std::string>;
/// Needs the curves of single trials, where the formulas have curves; but not for the quantities
/// that the report of the result has too.
void add_own_quantities(const OwnReport& report, ResultFile& result, Mistakes& mistakes);
/// The panels of the figure get `own`. The result has the quantities of the report.
void add_own_panels(const OwnReport& report, ResultFile& result, Mistakes& mistakes);
/// Needs the claims, which notes may name.
void add_own_notes(const OwnReport& report, ResultFile& result, Mistakes& mistakes);

/// Removes what the report of a result has added to it, claims, panels, notes and quantities, but
/// for the first quantities of the next report, if they are the same.
void remove_own_report(ResultFile& result, const OwnReport& next);

}  // namespace ranklab
