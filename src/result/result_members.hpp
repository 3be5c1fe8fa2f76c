// The members of everything in a result file, in the order of the file.
#pragma once

#include <array>
#include <string_view>
#include <tuple>

#include "result/members.hpp"
#include "result/result_file.hpp"

namespace ranklab {

template <>
struct Names<Status> {
  static constexpr auto list = status_names;
};
template <>
struct Names<Verdict> {
  static constexpr std::array<std::string_view, 3> list = {"holds", "fails", "not-applicable"};
};
template <>
struct Names<Kind> {
  static constexpr std::array<std::string_view, 7> list = {
      "theorem", "asymptotic", "printed-number", "figure", "reading", "beyond", "own"};
};
template <>
struct Names<Part> {
  static constexpr std::array<std::string_view, 6> list = {"statement", "proof", "definition",
                                                           "caption",   "text",  "ours"};
};
template <>
struct Names<Unit> {
  static constexpr std::array<std::string_view, 5> list = {"seed", "training", "draw", "sequence",
                                                           "none"};
};
template <>
struct Names<Scale> {
  static constexpr auto list = scale_names;
};
template <>
struct Names<LineStyle> {
  static constexpr auto list = line_style_names;
};
template <>
struct Names<BandKind> {
  static constexpr auto list = band_names;
};

// The figure --------------------------------------------------------------------------------------

template <>
struct Members<Axis> {
  static constexpr auto list =
      std::tuple(required("label", &Axis::label), required("scale", &Axis::scale),
                 optional("ticks", &Axis::ticks), optional("covers", &Axis::covers),
                 optional("domain", &Axis::domain), optional("floor", &Axis::floor));
};
template <>
struct Members<Curve> {
  static constexpr auto list =
      std::tuple(required("series", &Curve::series), required("label", &Curve::label),
                 required("style", &Curve::style), optional("color", &Curve::color),
                 optional("x_offset", &Curve::x_offset), optional("band", &Curve::band));
};
template <>
struct Members<ReferenceLine> {
  static constexpr auto list =
      std::tuple(required("y", &ReferenceLine::y), required("label", &ReferenceLine::label));
};
template <>
struct Members<Band> {
  static constexpr auto list =
      std::tuple(required("x_low", &Band::x_low), required("x_high", &Band::x_high),
                 required("label", &Band::label), optional("color", &Band::color));
};
template <>
struct Members<Panel> {
  static constexpr auto list =
      std::tuple(required("title", &Panel::title), required("x", &Panel::x),
                 required("y", &Panel::y), required("curves", &Panel::curves),
                 required("lines", &Panel::lines), optional("bands", &Panel::bands),
                 optional("group", &Panel::group), optional("own", &Panel::own));
};
template <>
struct Members<FigureTable> {
  static constexpr auto list =
      std::tuple(required("title", &FigureTable::title), required("columns", &FigureTable::columns),
                 required("rows", &FigureTable::rows));
};
template <>
struct Members<Figure> {
  static constexpr auto list =
      std::tuple(optional("title", &Figure::title), optional("tables", &Figure::tables),
                 required("panels", &Figure::panels), optional("columns", &Figure::columns));
};

// A list of two numbers; null: no bound.
OrderedJson to_json_value(const Domain& domain);
void from_json_value(const Json& json, Domain& domain);
bool operator==(const Domain& a, const Domain& b);
DifferencePlace difference(const Domain& a, const Domain& b, const Equality& equal);
// Null if it has nothing to draw.
OrderedJson to_json_value(const Figure& figure);
void from_json_value(const Json& json, Figure& figure);

// These also check the lengths of lists.
void from_json_value(const Json& json, Series& series);
void from_json_value(const Json& json, Table& table);
void from_json_value(const Json& json, FigureTable& table);

// Claims ------------------------------------------------------------------------------------------

template <>
struct Members<MeanEvidence> {
  static constexpr auto list =
      std::tuple(required("mean", &MeanEvidence::mean), required("low", &MeanEvidence::low),
                 required("high", &MeanEvidence::high), required("level", &MeanEvidence::level),
                 required("n", &MeanEvidence::n), optional("binomial", &MeanEvidence::binomial));
};
template <>
struct Members<CountEvidence> {
  static constexpr auto list = std::tuple(
      required("violations", &CountEvidence::violations), required("cases", &CountEvidence::cases),
      required("worst", &CountEvidence::worst), optional("units", &CountEvidence::units),
      optional("units_with_case", &CountEvidence::units_with_case),
      optional("units_violated", &CountEvidence::units_violated),
      optional("mean", &CountEvidence::value));
};
template <>
struct Members<NumberEvidence> {
  static constexpr auto list = std::tuple(required("value", &NumberEvidence::value));
};
template <>
struct Members<EquivalenceEvidence> {
  static constexpr auto list = std::tuple(
      required("mean", &EquivalenceEvidence::mean), required("low", &EquivalenceEvidence::low),
      required("high", &EquivalenceEvidence::high),
      required("margin", &EquivalenceEvidence::margin),
      required("level", &EquivalenceEvidence::level), required("n", &EquivalenceEvidence::n));
};
template <>
struct Members<Claim> {
  static constexpr auto list = std::tuple(
      required("id", &Claim::id), required("statement_id", &Claim::statement_id),
      required("part", &Claim::part), required("kind", &Claim::kind),
      required("paper", &Claim::paper), required("figures", &Claim::figures),
      required("source", &Claim::source), required("statement", &Claim::statement),
      required("verdict", &Claim::verdict), required("measured", &Claim::measured),
      required("expected", &Claim::expected), required("unit", &Claim::unit),
      required("evidence", &Claim::evidence), required("detail", &Claim::detail),
      optional("claim", &Claim::formula), optional("slip", &Claim::slip),
      optional("misprint_of", &Claim::misprint_of), optional("threshold", &Claim::threshold),
      optional("undecided", &Claim::undecided), optional("holm_undecided", &Claim::holm_undecided),
      optional("shortened", &Claim::shortened), optional("judged_in", &Claim::judged_in));
};

// An object with its type, "mean", "count", "number", "equivalence" or "none".
OrderedJson to_json_value(const Evidence& evidence);
void from_json_value(const Json& json, Evidence& evidence);
DifferencePlace difference(const Evidence& a, const Evidence& b, const Equality& equal);

// The rest of a result ----------------------------------------------------------------------------

template <>
struct Members<Series> {
  static constexpr auto list = std::tuple(
      required("name", &Series::name), optional("quantity", &Series::quantity),
      optional("at", &Series::at), required("x_name", &Series::x_name), required("x", &Series::x),
      required("mean", &Series::mean), required("std", &Series::std), optional("n", &Series::n),
      optional("trials", &Series::trials), optional("own", &Series::own));
};
template <>
struct Members<ScalarMean> {
  static constexpr auto list =
      std::tuple(required<ScalarMean, double>("mean", &ScalarMean::mean),
                 required<ScalarMean, double>("std", &ScalarMean::std),
                 required<ScalarMean, std::size_t>("n", &ScalarMean::n),
                 optional("quantity", &ScalarMean::quantity), optional("at", &ScalarMean::at));
};

// An object: a number or a label for each axis.
OrderedJson to_json_value(const std::map<std::string, Coordinate>& at);
void from_json_value(const Json& json, std::map<std::string, Coordinate>& at);
DifferencePlace difference(const std::map<std::string, Coordinate>& a,
                           const std::map<std::string, Coordinate>& b, const Equality& equal);
template <>
struct Members<Table> {
  static constexpr auto list =
      std::tuple(required("columns", &Table::columns), required("rows", &Table::rows),
                 optional("summary", &Table::summary));
};
template <>
struct Members<Skipped> {
  static constexpr auto list =
      std::tuple(required("name", &Skipped::name), required("reason", &Skipped::reason));
};
template <>
struct Members<Diverged> {
  static constexpr auto list =
      std::tuple(required("method", &Diverged::method), required("trials", &Diverged::trials));
};
template <>
struct Members<Source> {
  static constexpr auto list =
      std::tuple(required("paper", &Source::paper), required("figure", &Source::figure));
};
template <>
struct Members<TrialCounts> {
  static constexpr auto list = std::tuple(required("requested", &TrialCounts::requested),
                                          required("completed", &TrialCounts::completed),
                                          optional("unit", &TrialCounts::unit));
};
template <>
struct Members<Change> {
  static constexpr auto list =
      std::tuple(required("name", &Change::name), required("preset", &Change::preset),
                 required("run", &Change::run));
};
template <>
struct Members<PresetFinding> {
  static constexpr auto list = std::tuple(
      required("claim", &PresetFinding::claim), optional("panel", &PresetFinding::panel),
      required("sentence", &PresetFinding::sentence), required("verdict", &PresetFinding::verdict));
};
template <>
struct Members<Timing> {
  static constexpr auto list =
      std::tuple(required("wall_s", &Timing::wall), required("cpu_s", &Timing::cpu),
                 required("trials_s", &Timing::trials));
};

// An object: the values of each scalar in every trial.
OrderedJson to_json_value(const std::vector<Scalar>& scalars);
void from_json_value(const Json& json, std::vector<Scalar>& scalars);
DifferencePlace difference(const Scalar& a, const Scalar& b, const Equality& equal);

template <>
struct Members<ResultFile> {
  static constexpr auto list = std::tuple(
      required("schema", &ResultFile::schema), required("command", &ResultFile::command),
      required("study", &ResultFile::study), required("preset", &ResultFile::preset),
      required("title", &ResultFile::title), required("source", &ResultFile::source),
      required("config", &ResultFile::config), required("status", &ResultFile::status),
      required("trials", &ResultFile::trials), required("scalars", &ResultFile::means),
      required("series", &ResultFile::series), required("claims", &ResultFile::claims),
      required("figure", &ResultFile::figure), optional("more_figures", &ResultFile::more_figures),
      optional("changed", &ResultFile::changed),
      optional("diverged", &ResultFile::diverged_methods), optional("table", &ResultFile::table),
      optional("failed_gates", &ResultFile::failed_gates), optional("see", &ResultFile::see),
      optional("finding", &ResultFile::finding), optional("notes", &ResultFile::notes),
      optional("skipped", &ResultFile::skipped), optional("report", &ResultFile::report),
      optional("keeps_trials", &ResultFile::keeps_trials),
      required("environment", &ResultFile::environment),
      required("trial_values", &ResultFile::scalars),
      required("non_finite", &ResultFile::non_finite), required("timing", &ResultFile::timing));
};

}  // namespace ranklab
