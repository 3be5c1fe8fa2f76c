#include "report/result_json.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "io/atomic_file.hpp"
#include "report/claim_json.hpp"
#include "report/claims.hpp"
#include "report/figure/json.hpp"
#include "temporary_folder.hpp"

namespace result_json_test {

using namespace ranklab;

namespace {

Result sample_result() {
  Result result;
  result.title = "T";
  result.scalars = {{"defined", {1, 3}}, {"partly", {2, NAN}}, {"never", {NAN, INFINITY}}};
  result.series = {{"s", "t", {0, 1}, {1, NAN}, {0, NAN}}};
  Claim claim =
      judge_mean({"spectral/eq-1.5", "spectral/eq-1.5", "s", "st"}, {1, 1, 1}, at_least(0));
  result.claims = {claim};
  return result;
}

}  // namespace

TEST_CASE(
    "non-finite numbers become null and are counted; undefined values do not enter the "
    "statistics") {
  ResultFile file;
  file.trials_requested = file.trials_completed = 2;
  const auto document = result_json(file, sample_result(), {{"seed", 1}}, {});
  CHECK(document["scalars"]["defined"]["mean"] == 2.0);
  CHECK(document["scalars"]["partly"]["mean"] == 2.0);
  CHECK(document["scalars"]["partly"]["n"] == 1);
  CHECK(document["scalars"]["partly"]["std"] == 0.0);
  CHECK(document["scalars"]["never"]["mean"].is_null());
  CHECK(document["scalars"]["never"]["n"] == 0);
  CHECK(document["trial_values"]["partly"].dump() == "[2.0,null]");
  CHECK(document["series"][0]["mean"].dump() == "[1.0,null]");
  // partly: 1 trial value; never: mean, std and 2 trial values; the series: mean and std.
  CHECK(document["non_finite"] == 7);
  const auto& claim = document["claims"][0];
  CHECK(claim["expected"].dump() == "[0.0,null]");
  CHECK(claim["kind"] == "theorem");
  CHECK(claim["figures"].dump() == "[]");
  CHECK(claim["unit"] == "seed");
  CHECK(claim["evidence"].dump() ==
        R"({"type":"mean","mean":1.0,"low":1.0,"high":1.0,"level":0.99,"n":3})");
  for (const char* absent : {"misprint_of", "threshold", "shortened"})
    CHECK_FALSE(claim.contains(absent));
  CHECK(document["source"].is_null());
  CHECK(document["figure"].is_null());
  CHECK(document["status"] == "complete");
  CHECK(document["title"] == "T");
}

TEST_CASE("a claim is the same after writing and reading; malformed parts are read as none") {
  const std::vector<Evidence> all = {
      MeanEvidence{1, 0.5, 1.5, 0.99, 4}, CountEvidence{2, 7, 3}, NumberEvidence{5},
      EquivalenceEvidence{0.1, -0.2, 0.4, 0.5, 0.99, 3}, std::monostate()};
  for (const Evidence& evidence : all) {
    Claim claim = judge_mean({"spectral/eq-1.5",
                              "spectral/eq-1.5/a",
                              "s",
                              "st",
                              Part::definition,
                              Kind::asymptotic,
                              {"Figure 3"},
                              "0.1",
                              "b",
                              "slip"},
                             {1, 1, 1}, at_least(0), "why");
    claim.evidence = evidence;
    claim.unit = Unit::draw;
    claim.holm_undecided = claim.shortened = true;
    claim.judged_in = "spectral-fig03";
    const nlohmann::ordered_json written = claim_json(claim);
    const Claim back = claim_from(nlohmann::json::parse(written.dump()));
    CHECK(claim_json(back) == written);
    CHECK(written["kind"] == "asymptotic");
    CHECK(written["part"] == "definition");
    CHECK(written["slip"] == "slip");
    CHECK(written["holm_undecided"] == true);
    CHECK(written["shortened"] == true);
    CHECK(written["judged_in"] == "spectral-fig03");
    CHECK(written["statement_id"] == "spectral/eq-1.5");
    CHECK(back.evidence.index() == evidence.index());
  }
  for (const nlohmann::json& none :
       {nlohmann::json(nullptr), nlohmann::json(7),
        nlohmann::json{{"evidence", {{"type", "guess"}}}},
        nlohmann::json{{"expected", "x"}, {"figures", 3}, {"kind", 7}}}) {
    const Claim claim = claim_from(none);
    CHECK(std::holds_alternative<std::monostate>(claim.evidence));
    CHECK(std::holds_alternative<std::monostate>(claim.expected));
  }
}

TEST_CASE("a result of an earlier version says how to make it again") {
  const TemporaryFolder folder;
  const std::string path = folder / "old.json";
  write_file_atomically(path, R"({"schema": "ranklab.result/1", "command": "rank-collapse"})");
  CHECK_THROWS_WITH_AS(read_result(path),
                       doctest::Contains("make it again with `ranklab rank-collapse --config"),
                       Failure);
}

TEST_CASE("the text `see` of a figure is kept, and an empty one is omitted") {
  ResultFile file;
  CHECK_FALSE(result_json(file, sample_result(), {}, {}).contains("see"));
  file.see = "Two curves.";
  CHECK(result_json(file, sample_result(), {}, {})["see"] == "Two curves.");
}

TEST_CASE("status: an interruption takes precedence over a divergence") {
  Result result = sample_result();
  result.diverged = true;
  ResultFile file;
  CHECK(result_json(file, result, {}, {})["status"] == "diverged");
  file.interrupted = true;
  CHECK(result_json(file, result, {}, {})["status"] == "interrupted");
}

TEST_CASE("a figure with bands is the same after reading; a panel without bands has no such key") {
  Result result = sample_result();
  Panel plain{"p", {"t", Scale::log}, {"v"}, {{"s", "S"}}, {}}, shaded = plain;
  shaded.bands = {{0.1, 2, "window", 3}, {-1, -1, ""}};
  result.figure.panels = {plain, shaded};
  const nlohmann::json document = result_json({}, result, {}, {});
  CHECK_FALSE(document["figure"]["panels"][0].contains("bands"));
  const std::vector<Panel> panels = read_figure(document).figure.panels;
  CHECK(panels.at(0).bands.empty());
  const std::vector<Band>& bands = panels.at(1).bands;
  REQUIRE(bands.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(bands[i].x_low == shaded.bands[i].x_low);
    CHECK(bands[i].x_high == shaded.bands[i].x_high);
    CHECK(bands[i].label == shaded.bands[i].label);
    CHECK(bands[i].color == shaded.bands[i].color);
  }
}

TEST_CASE(
    "groups, domains, floors, tables, trials and further figures are the same after reading") {
  Result result;
  result.series = {{"s", "t", {1, 2}, {3, 4}, {0, 0}, {}, {{3, 4}, {5, undefined}}}};
  Panel panel{"p", {"t"}, with_floor(rank_axis("nuclear rank"), 1e-16), {{"s", "S"}}};
  panel.curves[0].band = BandKind::trials;
  panel.group = "layers";
  result.figure = {"", {{"Table 1", {"model", "printed"}, {{"A", "1"}, {"B", "2"}}}}, {panel}, 4};
  panel.curves[0].band = BandKind::interval;
  panel.y = unit_axis("accuracy");
  result.more_figures = {{"Details", {}, {panel}}};
  const nlohmann::json document = result_json({}, result, {}, {});
  REQUIRE(number_of_figures(document) == 2);
  const FigureSource main = read_figure(document), more = read_figure(document, 1);
  CHECK(main.figure.title == "");
  CHECK(main.figure.columns == 4);
  REQUIRE(main.figure.tables.size() == 1);
  CHECK(main.figure.tables[0].title == "Table 1");
  CHECK(main.figure.tables[0].columns == std::vector<std::string>{"model", "printed"});
  CHECK(main.figure.tables[0].rows[1] == std::vector<std::string>{"B", "2"});
  const Panel& read = main.figure.panels.at(0);
  CHECK(read.group == "layers");
  CHECK(read.y.domain.low == 1);
  CHECK(std::isinf(read.y.domain.high));
  CHECK(read.y.floor == 1e-16);
  CHECK(std::isinf(read.x.floor));
  CHECK(read.curves[0].band == BandKind::trials);
  const Series& series = main.series.at("s");
  REQUIRE(series.trials.size() == 2);
  CHECK(series.trials[0] == std::vector<double>{3, 4});
  CHECK(series.trials[1][0] == 5);
  CHECK(std::isnan(series.trials[1][1]));
  CHECK(more.figure.title == "Details");
  CHECK(more.figure.panels.at(0).y.domain.high == 1);
  CHECK(more.figure.panels.at(0).curves.at(0).band == BandKind::interval);
}

TEST_CASE("formatted text is the same document, with plain lists on one line") {
  const nlohmann::ordered_json document = {
      {"a", {1.5, nullptr, 3}},
      {"b", {{"c", "x\ny"}, {"d", nlohmann::ordered_json::array()}}},
      {"e", {{{"f", 1}}}}};
  const std::string text = format_json(document);
  CHECK(nlohmann::ordered_json::parse(text) == document);
  CHECK(text.find("\"a\": [1.5,null,3]") != std::string::npos);
}

TEST_CASE("fields are converted to JSON and back; an error about a wrong type names the label") {
  std::vector<std::uint64_t> list = {1, 2};
  double real = 0.1 + 0.2;
  bool flag = true;
  std::string word = "relu";
  const Field list_field = size_list_field("l", list, 1, 9, "", "");
  const Field real_value = real_field("r", real, 0, 1, "", "");
  const Field flag_field = switch_field("f", flag, "");
  const Field word_field = choice_field("w", word, {"relu", "abs"}, "", "");
  for (const Field* field : {&list_field, &real_value, &flag_field, &word_field}) {
    const auto json = nlohmann::json::parse(field_json(*field).dump());
    const std::string before = field->value_text();
    set_field(*field, json, "label");
    CHECK(field->value_text() == before);
  }
  CHECK(field_json(list_field).dump() == "[1,2]");
  CHECK_THROWS_AS(set_field(real_value, "0.5", "label"), UsageError);
  CHECK_THROWS_AS(set_field(flag_field, 1, "label"), UsageError);
  CHECK_THROWS_AS(set_field(word_field, 3, "label"), UsageError);
  CHECK_THROWS_AS(set_field(word_field, {"relu"}, "label"), UsageError);
  CHECK_THROWS_AS(set_field(list_field, nlohmann::json::array(), "label"), UsageError);
  CHECK_THROWS_AS(set_field(list_field, {1, 2.5}, "label"), UsageError);
  CHECK_THROWS_AS(set_field(list_field, nullptr, "label"), UsageError);
}

TEST_CASE("a list of words may contain numbers") {
  std::vector<std::string> steps = {"0", "16"};
  Field field{"steps", &steps, "", ""};
  field.numeric_words = true;
  CHECK(field_json(field).dump() == "[0,16]");
  set_field(field, {1, 2}, "label");
  CHECK(steps == std::vector<std::string>{"1", "2"});
  set_field(field, {"all"}, "label");
  CHECK(field_json(field).dump() == "[\"all\"]");
  // 2^64 - 1 is the largest number that fits; anything else stays a word.
  steps = {"18446744073709551615",
           "18446744073709551616",
           "12x",
           "-1",
           "0.5",
           "1e-3",
           "nan",
           "mamba2:800",
           ""};
  CHECK(
      field_json(field).dump() ==
      R"([18446744073709551615,"18446744073709551616","12x",-1,0.5,0.001,"nan","mamba2:800",""])");
  set_field(field, {-1, 1.5}, "label");
  CHECK(steps == std::vector<std::string>{"-1", "1.5"});
  CHECK_THROWS_AS(set_field(field, {true}, "label"), UsageError);
}

TEST_CASE("reading JSON is strict") {
  const TemporaryFolder folder;
  const std::string path = folder / "x.json";
  const auto refused = [&](const std::string& text) {
    write_file_atomically(path, text);
    CHECK_THROWS_AS(read_json(path), Failure);
  };
  refused("");
  refused("{\"a\": 1");
  refused("{\"a\": NaN}");
  refused("{\"a\": 1, \"a\": 2}");
  refused("{\"b\": [{\"a\": 1, \"a\": 2}]}");
  refused("{} {}");
  refused("{\"a\": \"\xff\"}");
  write_file_atomically(path, "{\"a\": {\"k\": 1}, \"b\": {\"k\": 2}}");
  CHECK(read_json(path)["b"]["k"] == 2);
  CHECK_THROWS_AS(read_result(path), Failure);
}

}  // namespace result_json_test
