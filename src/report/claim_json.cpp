#include "report/claim_json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/statistics.hpp"
#include "core/undefined.hpp"
#include "io/json_file.hpp"
#include "report/catalog.hpp"

namespace ranklab {

// The first entry is the value of an unknown word.
NLOHMANN_JSON_SERIALIZE_ENUM(Verdict, {{Verdict::not_applicable, "not-applicable"},
                                       {Verdict::holds, "holds"},
                                       {Verdict::fails, "fails"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Kind, {{Kind::beyond, "beyond"},
                                    {Kind::theorem, "theorem"},
                                    {Kind::asymptotic, "asymptotic"},
                                    {Kind::printed_number, "printed-number"},
                                    {Kind::figure, "figure"},
                                    {Kind::reading, "reading"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Part, {{Part::ours, "ours"},
                                    {Part::statement, "statement"},
                                    {Part::proof, "proof"},
                                    {Part::definition, "definition"},
                                    {Part::caption, "caption"},
                                    {Part::text, "text"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Unit, {{Unit::none, "none"},
                                    {Unit::seed, "seed"},
                                    {Unit::training, "training"},
                                    {Unit::draw, "draw"},
                                    {Unit::sequence, "sequence"}})

namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

// Null means "undefined" or "unbounded".
OrderedJson number_json(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}

OrderedJson expected_json(const Claim& claim) {
  if (const auto* value = std::get_if<double>(&claim.expected)) return number_json(*value);
  if (const auto* range = std::get_if<std::pair<double, double>>(&claim.expected))
    return OrderedJson::array({number_json(range->first), number_json(range->second)});
  return nullptr;
}

struct EvidenceJson {
  OrderedJson operator()(std::monostate) const { return {{"type", "none"}}; }
  OrderedJson operator()(const MeanEvidence& e) const {
    return {{"type", "mean"},
            {"mean", number_json(e.mean)},
            {"low", number_json(e.low)},
            {"high", number_json(e.high)},
            {"level", e.level},
            {"n", e.n}};
  }
  OrderedJson operator()(const CountEvidence& e) const {
    return {{"type", "count"},
            {"violations", e.violations},
            {"cases", e.cases},
            {"worst", number_json(e.worst)}};
  }
  OrderedJson operator()(const NumberEvidence& e) const {
    return {{"type", "number"}, {"value", number_json(e.value)}};
  }
  OrderedJson operator()(const EquivalenceEvidence& e) const {
    return {{"type", "equivalence"},
            {"mean", number_json(e.mean)},
            {"low", number_json(e.low)},
            {"high", number_json(e.high)},
            {"margin", e.margin},
            {"level", e.level},
            {"n", e.n}};
  }
};

const Json& member_of(const Json& object, const char* key) {
  static const Json null;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? null : *found;
}

Evidence evidence_from(const Json& json) {
  const auto number = [&](const char* key) { return value_or(json, key, undefined); };
  const auto n = [&] { return whole_count(number("n")); };
  const std::string type = value_or(json, "type", std::string());
  if (type == "mean")
    return MeanEvidence{number("mean"), number("low"), number("high"), number("level"), n()};
  if (type == "count") return CountEvidence{number("violations"), number("cases"), number("worst")};
  if (type == "number") return NumberEvidence{number("value")};
  if (type == "equivalence")
    return EquivalenceEvidence{number("mean"),   number("low"),   number("high"),
                               number("margin"), number("level"), n()};
  return {};
}

// A bound that is null is open.
std::variant<std::monostate, double, std::pair<double, double>> expected_from(const Json& json) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (json.is_number()) return json.get<double>();
  if (!json.is_array() || json.size() != 2) return {};
  const auto bound = [&](std::size_t i, double open) {
    return json[i].is_number() ? json[i].get<double>() : open;
  };
  return std::pair(bound(0, -infinity), bound(1, infinity));
}

}  // namespace

OrderedJson claim_json(const Claim& claim) {
  OrderedJson out = {{"id", claim.id},
                     {"statement_id", claim.statement_id},
                     {"part", claim.part},
                     {"kind", claim.kind},
                     {"paper", paper_of_statement(claim.statement_id)},
                     {"figures", claim.figures},
                     {"source", claim.source},
                     {"statement", claim.statement},
                     {"verdict", claim.verdict},
                     {"measured", number_json(claim.measured)},
                     {"expected", expected_json(claim)},
                     {"unit", claim.unit},
                     {"evidence", std::visit(EvidenceJson(), claim.evidence)},
                     {"detail", claim.detail}};
  if (!claim.slip.empty()) out["slip"] = claim.slip;
  if (!claim.misprint_of.empty()) out["misprint_of"] = claim.misprint_of;
  if (!claim.threshold.empty()) out["threshold"] = claim.threshold;
  if (claim.undecided && claim.verdict == Verdict::not_applicable) out["undecided"] = true;
  if (claim.holm_undecided) out["holm_undecided"] = true;
  if (claim.shortened) out["shortened"] = true;
  if (!claim.judged_in.empty()) out["judged_in"] = claim.judged_in;
  return out;
}

Claim claim_from(const Json& json) {
  const auto text = [&](const char* key) { return value_or(json, key, std::string()); };
  const auto is_set = [&](const char* key) { return member_of(json, key) == true; };
  Claim out;
  out.id = text("id");
  out.statement_id = text("statement_id");
  out.part = member_of(json, "part").get<Part>();
  out.source = text("source");
  out.statement = text("statement");
  out.verdict = member_of(json, "verdict").get<Verdict>();
  out.measured = value_or(json, "measured", undefined);
  out.expected = expected_from(member_of(json, "expected"));
  out.detail = text("detail");
  out.kind = member_of(json, "kind").get<Kind>();
  for (const Json& figure : member_of(json, "figures")) {
    if (figure.is_string()) out.figures.push_back(figure);
  }
  out.unit = member_of(json, "unit").get<Unit>();
  out.evidence = evidence_from(member_of(json, "evidence"));
  out.slip = text("slip");
  out.misprint_of = text("misprint_of");
  out.threshold = text("threshold");
  out.undecided = is_set("undecided");
  out.holm_undecided = is_set("holm_undecided");
  out.shortened = is_set("shortened");
  out.judged_in = text("judged_in");
  return out;
}

std::vector<Claim> claims_from(const Json& result) {
  std::vector<Claim> out;
  const Json& claims = member_of(result, "claims");
  if (!claims.is_array()) return out;
  for (const Json& claim : claims) out.push_back(claim_from(claim));
  return out;
}

}  // namespace ranklab
