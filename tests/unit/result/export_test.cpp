#include "result/export.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "result/typed.hpp"

namespace export_test {

using namespace ranklab;
using nlohmann::json;
using ranklab::testing::typed;

namespace {

json sample() {
  return json::parse(R"json({
    "scalars": {"a,b": {"mean": 0.1, "std": null, "n": 2}},
    "trial_values": {"a,b": [0.1, null]},
    "series": [{"name": "s", "x_name": "t", "x": [0, 1], "mean": [1.5, null], "std": [0.0, null], "n": [2, 0]},
               {"name": "u", "x_name": "t", "x": [3], "mean": [1], "std": [2]}],
    "trials": {"requested": 4, "completed": 3},
    "claims": [{"id": "spectral/eq-1", "source": "(1)", "statement": "a \"b\", c", "verdict": "holds", "measured": 2.0,
                "expected": [null, 3], "detail": "", "kind": "reading", "threshold": "3", "unit": "seed", "figures": ["Figure 1", "Table 2"], "holm_undecided": true,
                "evidence": {"type": "mean", "mean": 2.0, "low": 1.5, "high": 2.5, "level": 0.99, "n": 3}},
               {"id": "spectral/eq-2", "source": "(2)", "part": "proof", "kind": "beyond", "statement": "d", "verdict": "not-applicable", "judged_in": "spectral-fig03", "measured": null, "expected": 4, "detail": "x"}]
})json");
}

}  // namespace

TEST_CASE(
    "each part is a table with a header; null is an empty cell, and cells with commas or quotes "
    "are quoted") {
  CHECK(export_csv(typed(sample()), "scalars") ==
        "name,mean,std,n,quantity,at\n\"a,b\",0.1,,2,\"a,b\",\n");
  CHECK(export_csv(typed(sample()), "trials") == "name,trial,value\n\"a,b\",0,0.1\n\"a,b\",1,\n");
  CHECK(export_csv(typed(sample()), "series") ==
        "name,x_name,x,mean,std,n,quantity,at\ns,t,0.0,1.5,0.0,2,s,\ns,t,1.0,,,0,s,\nu,t,3.0,1.0,2."
        "0,3,u,\n");
  CHECK(
      export_csv(typed(sample()), "claims") ==
      "id,statement_id,part,kind,slip,misprint_of,paper,figures,source,statement,claim,verdict,"
      "undecided,holm_undecided,shortened,judged_in,measured,expected_low,expected_high,"
      "threshold,unit,evidence,violations,cases,worst,low,high,margin,level,n,units_violated,"
      "detail\n"
      "spectral/eq-1,,statement,reading,,,,Figure 1; Table 2,(1),\"a \"\"b\"\", "
      "c\",,holds,,true,,,2.0,,3.0,3,"
      "seed,mean,,,,1.5,2.5,,0.99,3,,\n"
      "spectral/eq-2,,proof,beyond,,,,,(2),d,,not-applicable,,,,spectral-fig03,,4.0,4.0,,seed,none,"
      ",,,,,,,,,x\n");
}

TEST_CASE("the points of all figures are one table, with panel, curve and axes, as drawn") {
  json result = sample();
  const auto panel = [](const char* title, json curve) {
    return json{{"title", title},
                {"x", {{"label", "step"}, {"scale", "linear"}}},
                {"y", {{"label", "loss, nats"}, {"scale", "linear"}}},
                {"curves", {std::move(curve)}},
                {"lines", json::array()}};
  };
  result["figure"] = {
      {"panels",
       {panel("A", {{"series", "u"}, {"label", "Adam"}, {"style", "line"}, {"x_offset", 10}})}}};
  result["more_figures"] = {
      {{"panels", {panel("B", {{"series", "s"}, {"label", ""}, {"style", "line"}})}}}};
  CHECK(export_csv(typed(result), "figure") ==
        "figure,panel,curve,series,x_name,y_name,x,mean,std,n\n"
        "1,A,Adam,u,step,\"loss, nats\",13.0,1.0,2.0,3\n"
        "2,B,,s,step,\"loss, nats\",0.0,1.5,0.0,2\n2,B,,s,step,\"loss, nats\",1.0,,,0\n");
  result["figure"]["panels"][0]["curves"][0]["series"] = "v";
  CHECK_THROWS_AS(export_csv(typed(result), "figure"), Failure);
}

TEST_CASE(
    "several results make one table whose rows start with the file and the differing parameters") {
  std::vector<json> results = {sample(), sample()};
  results[0]["config"] = {{"d", 4}, {"lambda", {1, 2}}, {"n", 7}, {"seed", 1}};
  results[1]["config"] = {{"d", 5}, {"lambda", {3}}, {"n", 8}, {"seed", 1}};
  CHECK(export_csv(typed(results), {"a.json", "b,c.json"}, "scalars") ==
        "file,d,lambda,config.n,name,mean,std,n,quantity,at\na.json,4,\"1,2\",7,\"a,b\",0.1,,2,\"a,"
        "b\","
        "\n\"b,c.json\",5,3,8,\"a,b\",0.1,,2,\"a,b\",\n");
  results[1]["config"]["threshold"] = 2;  // a claim has one, too
  const std::string claims = export_csv(typed(results), {"a.json", "b.json"}, "claims");
  CHECK(claims.starts_with("file,d,lambda,config.n,config.threshold,id,"));
}

TEST_CASE("a row says what was measured, and where on which axes") {
  nlohmann::json placed = sample();
  placed["scalars"]["a,b"]["quantity"] = "b";
  placed["scalars"]["a,b"]["at"] = {{"layer", 1}, {"block", "W2"}};
  CHECK(export_csv(typed(placed), "scalars") ==
        "name,mean,std,n,quantity,at\n\"a,b\",0.1,,2,b,block=W2; layer=1\n");
}

TEST_CASE("names that a spreadsheet would take for formulas are quoted") {
  nlohmann::json odd = sample();
  odd["trial_values"] = {{"=1+1", {0.5}}, {"\x1b]0;x\n", {0.5}}, {"-0.9", {0.5}}, {"@f\"", {0.5}}};
  CHECK(export_csv(typed(odd), "trials") ==
        "name,trial,value\n\\x1b]0;x\\x0a,0,0.5\n-0.9,0,0.5\n'=1+1,0,0.5\n\"'@f\"\"\",0,0.5\n");
}

}  // namespace export_test
