#include "result/result_file.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "judge/claims.hpp"
#include "result/result_members.hpp"
#include "result/typed.hpp"

namespace result_file_test {

using namespace ranklab;

namespace {

// Every member has a value that a new object does not have.
ResultFile whole_file() {
  Result result;
  result.title = "T";
  result.diverged = true;
  result.diverged_methods = {{"gd", 2}};
  result.scalars = {
      {At("d", 0.5) / "defined", {1, 3}}, {"partly", {2, NAN}}, {"never", {NAN, INFINITY}}};
  result.series = {{At("layer", 1, "layer1") / At("run", "gd") / "s",
                    "t",
                    {0, 1},
                    {1, NAN},
                    {0, NAN},
                    {2, 0},
                    {{3, 4}, {5, NAN}}}};
  Claim claim = judge_mean({"spectral/eq-1.5", "spectral/eq-1.5/a", "Figure 3", "st",
                            Part::definition, Kind::asymptotic, "0.1", "b", "slip"},
                           {1, 1, 1}, at_least(0), "why");
  claim.unit = Unit::draw;
  claim.verdict = Verdict::fails;
  claim.paper = "Spectral";
  claim.undecided = claim.holm_undecided = claim.shortened = true;
  claim.judged_in = "spectral-fig03";
  claim.formula = "a > 1";
  for (const Evidence& evidence :
       {Evidence(MeanEvidence{1, 0.5, 1.5, 0.99, 4}), Evidence(CountEvidence{2, 7, 3}),
        Evidence(NumberEvidence{5}), Evidence(EquivalenceEvidence{0.1, -0.2, 0.4, 0.5, 0.99, 3}),
        Evidence(std::monostate())}) {
    claim.evidence = evidence;
    claim.id += "/" + std::to_string(evidence.index());
    result.claims.push_back(claim);
  }
  result.claims[1].expected = 0.25;
  result.claims[2].expected = std::monostate();
  Panel panel{"p",
              {"t", Scale::log, {"one"}, {1, 2}},
              with_floor(rank_axis("nuclear rank"), 1e-16),
              {{"s", "S", LineStyle::dotted, 4, 7.5, BandKind::trials}},
              {{0.5, "half"}},
              {{0.1, 2, "window", 3}, {-1, -1, ""}},
              "layers"};
  result.figure = {"F", {{"Table 1", {"model", "printed"}, {{"A", "1"}, {"B", "2"}}}}, {panel}, 4};
  panel.y = unit_axis("accuracy");
  result.more_figures = {{"Details", {}, {panel}}};
  result.table = {{"layer", "ratio"}, {{"W", "2"}}, "1 layer"};
  result.notes = {"n"};
  result.skipped = {{"W2", "zero"}};
  result.failed_gates = {"*: ratio<1"};
  ResultFile file;
  file.command = "random-features";
  file.study = "trajectory";
  file.preset = "spectral-fig03";
  file.source = {"[Spectral]", "Figure 3"};
  file.config = {{"seed", 1}};
  file.trials = {3, 2, "seed"};
  file.changed = {{"trials", 12, 3}};
  file.see = "Two curves.";
  file.keeps_trials = true;
  file.finding = {"spectral/eq-1.5/a", 1, "GD violates it.", Verdict::fails};
  file.report = {{"notes", {"n"}}};
  file.environment = {{"cpu", "a machine"}};
  file.timing = {1, 2, 3};
  add_result(file, std::move(result));
  return file;
}

}  // namespace

TEST_CASE("a file with every member is the same after writing and reading") {
  const ResultFile file = whole_file();
  const nlohmann::ordered_json written = result_json(file);
  const ResultFile back = result_from(nlohmann::json::parse(result_text(file)), "x.json");
  CHECK(nlohmann::json(result_json(back)) == nlohmann::json(written));
  CHECK(first_difference(file, back).empty());
  for_each_member<ResultFile>([&](const auto& member) {
    CHECK_MESSAGE(written.contains(member.key), std::string(member.key));
  });
  for_each_member<Claim>([&](const auto& member) {
    CHECK_MESSAGE(written["claims"][0].contains(member.key), std::string(member.key));
  });
}

TEST_CASE("a new file omits its optional members, and has the others") {
  const nlohmann::ordered_json written = result_json(ResultFile());
  std::set<std::string> keys;
  for (const auto& [key, value] : written.items()) keys.insert(key);
  CHECK(keys == std::set<std::string>{"schema", "command", "study", "preset", "title", "source",
                                      "config", "status", "trials", "scalars", "series", "claims",
                                      "figure", "trial_values", "timing", "environment",
                                      "non_finite"});
  CHECK(written["preset"].is_null());
  CHECK(written["source"].is_null());
  CHECK(written["figure"].is_null());
  CHECK(written["trials"].dump() == R"({"requested":0,"completed":0})");
}

TEST_CASE("the values of a file have the form of the schema") {
  const nlohmann::ordered_json written = result_json(whole_file()), claims = written["claims"];
  CHECK(written["status"] == "diverged");
  CHECK(written["diverged"].dump() == R"([{"method":"gd","trials":2}])");
  CHECK(written["finding"]["verdict"] == "fails");
  CHECK(claims[0]["kind"] == "asymptotic");
  CHECK(claims[0]["part"] == "definition");
  CHECK(claims[0]["unit"] == "draw");
  CHECK(claims[0]["expected"].dump() == "[0.0,null]");
  CHECK(claims[1]["expected"] == 0.25);
  CHECK(claims[2]["expected"].is_null());
  CHECK(claims[0]["evidence"].dump() ==
        R"({"type":"mean","mean":1.0,"low":0.5,"high":1.5,"level":0.99,"n":4})");
  CHECK(claims[4]["evidence"].dump() == R"({"type":"none"})");
  const nlohmann::ordered_json& panel = written["figure"]["panels"][0];
  CHECK(panel["y"]["domain"].dump() == "[1.0,null]");
  CHECK(panel["curves"][0]["style"] == "dotted");
  CHECK(panel["curves"][0]["band"] == "trials");
  CHECK_FALSE(panel["x"].contains("domain"));
  CHECK_FALSE(panel["bands"][1].contains("color"));
}

TEST_CASE(
    "a scalar and a series say what they are and where, also after a file of the last schema") {
  nlohmann::json written = nlohmann::json::parse(result_text(whole_file()));
  CHECK(written["schema"] == "ranklab.result/3");
  CHECK(written["scalars"]["d=0.5.defined"]["quantity"] == "defined");
  CHECK(written["scalars"]["d=0.5.defined"]["at"].dump() == R"({"d":0.5})");
  CHECK(written["series"][0]["name"] == "layer1.gd.s");
  CHECK(written["series"][0]["at"].dump() == R"({"layer":1.0,"run":"gd"})");
  CHECK(!written["scalars"]["partly"].contains("at"));

  written["schema"] = "ranklab.result/2";
  for (nlohmann::json& scalar : written["scalars"]) scalar.erase("quantity"), scalar.erase("at");
  written["series"][0].erase("quantity"), written["series"][0].erase("at");
  const ResultFile earlier = result_from(written, "x.json");
  CHECK(earlier.schema == "ranklab.result/3");
  CHECK(earlier.series[0].quantity == "layer1.gd.s");
  CHECK(earlier.scalars[0].at.empty());
}

TEST_CASE(
    "non-finite numbers become null and are counted; undefined values do not enter the "
    "statistics") {
  const nlohmann::ordered_json written = result_json(whole_file()), scalars = written["scalars"];
  CHECK(scalars["d=0.5.defined"]["mean"] == 2.0);
  CHECK(scalars["partly"]["mean"] == 2.0);
  CHECK(scalars["partly"]["n"] == 1);
  CHECK(scalars["partly"]["std"] == 0.0);
  CHECK(scalars["never"]["mean"].is_null());
  CHECK(scalars["never"]["n"] == 0);
  CHECK(written["trial_values"]["partly"].dump() == "[2.0,null]");
  CHECK(written["series"][0]["mean"].dump() == "[1.0,null]");
  // partly: 1 trial value; never: mean, std and 2 trial values; the series: mean, std and 1 trial.
  CHECK(written["non_finite"] == 8);
}

TEST_CASE("the file's own title and an interruption take precedence") {
  ResultFile file;
  file.title = "of the preset";
  file.status = Status::interrupted;
  Result result;
  result.title = "of the study";
  result.diverged = true;
  add_result(file, result);
  CHECK(file.title == "of the preset");
  CHECK(file.status == Status::interrupted);
}

TEST_CASE("a member that is missing or has another type is named, with the file") {
  const nlohmann::json whole = result_json(whole_file());
  const auto refused = [&](const char* pointer, const nlohmann::json& value, const char* message) {
    CAPTURE(pointer);
    nlohmann::json changed = whole;
    changed[nlohmann::json::json_pointer(pointer)] = value;
    CHECK_THROWS_WITH_AS(result_from(changed, "x.json"), message, Failure);
  };
  refused("/title", 7, "x.json: title: must be text");
  refused("/claims/2/verdict", "maybe",
          "x.json: claims[2].verdict: must be one of holds, fails, not-applicable");
  refused("/claims/0/expected", {1},
          "x.json: claims[0].expected: must be a list of two entries, numbers or null");
  refused("/claims/0/expected", "x",
          "x.json: claims[0].expected: must be a number, a list of two, or null");
  refused("/claims/0/evidence", nullptr,
          "x.json: claims[0].evidence.type: must be one of none, mean, count, number, equivalence");
  refused("/claims/1/evidence/cases", "7",
          "x.json: claims[1].evidence.cases: must be a number or null");
  refused("/claims/0/undecided", 1, "x.json: claims[0].undecided: must be true or false");
  refused("/series/0/x", {0}, "x.json: series[0]: has x and mean of unequal length");
  refused("/series/0/trials/1", {0}, "x.json: series[0]: has x and a trial of unequal length");
  refused("/series/0/n/1", -1, "x.json: series[0].n[1]: must be an integer that is not negative");
  refused("/scalars", nlohmann::json::array(), "x.json: scalars: must be an object");
  refused("/trial_values/defined/0", "1",
          "x.json: trial_values.defined[0]: must be a number or null");
  refused("/figure/panels/0/curves/0/color", 1001,
          "x.json: figure.panels[0].curves[0].color: must be an integer, -1 to 1000");
  refused("/figure/panels/0/x/scale", "cubic",
          "x.json: figure.panels[0].x.scale: must be one of linear, log, log10, percent");
  refused("/figure/tables/0/rows/0", {"A"},
          "x.json: figure.tables[0].rows: must have a cell for every column");
  refused("/table/rows/0", {"A"}, "x.json: table.rows: must have a cell for every column");
  refused("/claims", nlohmann::json::object(), "x.json: claims: must be a list");
  refused("/config", nullptr, "x.json: config: must be an object");
  refused("/environment", {1}, "x.json: environment: must be an object");
  refused("/finding/verdict", "maybe",
          "x.json: finding.verdict: must be one of holds, fails, not-applicable");
  refused("/schema", "ranklab.result/1",
          "x.json: not a result file: its \"schema\" is not \"ranklab.result/3\"");
  for (const char* key : {"command", "figure", "trials", "timing"}) {
    nlohmann::json changed = whole;
    changed.erase(key);
    CHECK_THROWS_WITH_AS(result_from(changed, "x.json"),
                         ("x.json: " + std::string(key) + ": is missing").c_str(), Failure);
  }
  CHECK_THROWS_AS(result_from(7, "x.json"), Failure);
}

TEST_CASE("the first difference is named, and what the run does not compute makes none") {
  const ResultFile file = whole_file();
  const auto place = [&](const auto& change) {
    ResultFile other = file;
    change(other);
    CHECK(first_difference(file, other) == first_difference(other, file));
    return first_difference(file, other);
  };
  CHECK(place([](ResultFile& f) { f.series[0].mean[0] += 1e-15; }) == "series[0].mean[0]");
  CHECK(place([](ResultFile& f) { f.scalars[1].per_trial[0] = 3; }) == "trial_values[2][0]");
  CHECK(place([](ResultFile& f) { std::swap(f.scalars[0], f.scalars[1]); }).empty());
  CHECK(place([](ResultFile& f) { f.claims[1].detail = "other"; }) == "claims[1].detail");
  CHECK(place([](ResultFile& f) { std::get<CountEvidence>(f.claims[1].evidence).worst = 4; }) ==
        "claims[1].evidence.worst");
  CHECK(place([](ResultFile& f) { f.claims[1].evidence = std::monostate(); }) ==
        "claims[1].evidence.type");
  CHECK(place([](ResultFile& f) { f.claims[0].expected = 1.0; }) == "claims[0].expected");
  CHECK(place([](ResultFile& f) { f.figure.panels[0].y.domain.low = 2; }) ==
        "figure.panels[0].y.domain");
  CHECK(place([](ResultFile& f) { f.notes.emplace_back("m"); }) == "notes[1]");
  CHECK(place([](ResultFile& f) {
          f.config["threads"] = 7;
          f.environment["cpu"] = "another";
          f.timing.wall = 9;
          f.see = f.finding->sentence = "other words";
        }).empty());
}

}  // namespace result_file_test
