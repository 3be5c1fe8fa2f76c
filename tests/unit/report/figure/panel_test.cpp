#include "report/figure/panel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "report/figure/layout.hpp"
#include "report/figure/palette.hpp"
#include "report/figure/sample.hpp"

namespace panel_test {

using namespace ranklab;
using ranklab::testing::contains;
using ranklab::testing::sample_result;

namespace {

std::vector<DrawnPanel> panels_of(const nlohmann::json& result) {
  return make_panels(read_figure(result), {});
}

// How many texts of the figure are these words.
std::ptrdiff_t texts_with(const nlohmann::json& result, const std::string& words) {
  const PlacedFigure figure = place_figure(read_figure(result));
  return std::count_if(figure.texts.begin(), figure.texts.end(),
                       [&](const PlacedText& text) { return text.text == words; });
}

}  // namespace

TEST_CASE("on a log axis the band mirrors around the mean and stays positive") {
  const std::vector<DrawnPanel> panels = panels_of(sample_result());
  for (const DrawnCurve& curve : panels[0].curves) {
    REQUIRE(curve.runs.size() == 1);
    CHECK(curve.runs[0].size() == 40);
    for (const DrawnPoint& point : curve.runs[0]) {
      CHECK(point.low > 0);
      CHECK(point.y / point.low == doctest::Approx(point.high / point.y).epsilon(1e-6));
      CHECK(point.high == doctest::Approx(3 * point.y).epsilon(1e-6));
    }
  }
  CHECK(panels[1].curves[0].markers[0].low == doctest::Approx(-1.0).epsilon(1e-6));
}

TEST_CASE("over very many decades, a log axis has ticks only at its labels") {
  const auto minor_ticks = [](double decades_a_point) {
    nlohmann::json document = sample_result();
    for (auto& series : document["series"]) {
      for (std::size_t i = 0; i < series["mean"].size(); ++i) {
        series["mean"][i] = std::pow(10.0, -decades_a_point * static_cast<double>(i));
        series["std"][i] = 0.0;
      }
    }
    const std::vector<DrawnPanel> panels = panels_of(document);
    const std::vector<Tick>& ticks = panels[0].y.ticks;
    return std::count_if(ticks.begin(), ticks.end(), [](const Tick& tick) { return tick.minor; });
  };
  CHECK(minor_ticks(0.5) > 10);
  CHECK(minor_ticks(5) == 0);
}

TEST_CASE("nulls break a line, and values that a log axis cannot show are omitted") {
  auto result = sample_result();
  auto& series = result["series"][0];
  series["x"] = {0, 1, 2, 3, 4, 5, 6};
  series["mean"] = {1, 2, nullptr, 4, 5, -1, 7};
  series["std"] = {0, 0, nullptr, 0, 0, 0, 0};
  const DrawnCurve curve = panels_of(result)[0].curves[0];
  REQUIRE(curve.runs.size() == 3);
  const std::vector<std::vector<double>> means = {{1, 2}, {4, 5}, {7}};
  for (std::size_t run = 0; run < 3; ++run) {
    REQUIRE(curve.runs[run].size() == means[run].size());
    for (std::size_t i = 0; i < means[run].size(); ++i)
      CHECK(curve.runs[run][i].y == means[run][i]);
  }
  CHECK_FALSE(curve.band);  // no spread, no band
  series["mean"] = {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
  result["figure"]["panels"][0]["curves"].erase(1);
  CHECK(texts_with(result, "no defined values") == 2);
}

TEST_CASE("long curves are thinned but keep their ends and their peak") {
  auto result = sample_result();
  result["series"][0] = ranklab::testing::sample_series("gd.gap", 20000, 100);
  for (int i = 0; i < 20000; ++i)
    result["series"][0]["mean"][static_cast<std::size_t>(i)] =
        i == 7777 ? 99.0 : 1 + (i % 7) * 0.01;
  for (const char* scale : {"linear", "log"}) {
    result["figure"]["panels"][0]["x"]["scale"] = scale;
    const std::vector<DrawnPoint> line = panels_of(result)[0].curves[0].runs.at(0);
    CHECK(line.size() <= 620);
    CHECK(line.size() > 200);
    CHECK(line.front().x == (scale == std::string("log") ? 1 : 0));
    CHECK(line.back().x == 19999);
    CHECK(std::any_of(line.begin(), line.end(),
                      [](const DrawnPoint& point) { return point.y == 99.0; }));
  }
}

TEST_CASE("a point at the end of an axis lies inside the range despite rounding") {
  auto result = sample_result();
  for (auto& series : result["series"]) {
    for (auto& x : series["x"]) x = (x.get<double>() + 1) * 2 / 3;
  }
  for (const char* scale : {"linear", "log"}) {
    result["figure"]["panels"][0]["x"]["scale"] = scale;
    const DrawnAxis x = panels_of(result)[0].x;
    CHECK(x.low < 0.666666666);
    CHECK(x.high > 26.6666667);
  }
}

TEST_CASE("x_offset shifts a curve") {
  auto result = sample_result();
  result["figure"]["panels"][0]["curves"][0]["x_offset"] = 100;
  CHECK(panels_of(result)[0].curves[0].runs[0][0].x == 100);
}

TEST_CASE("a band can show the standard error of the mean") {
  auto result = sample_result();  // 10 trials, spread 2 around a mean of 1
  result["figure"]["panels"][1]["curves"][0]["style"] = "line";
  result["figure"]["panels"][1]["curves"][0]["band"] = "standard-error";
  CHECK(panels_of(result)[1].curves[0].runs[0][0].low ==
        doctest::Approx(1 - 2 / std::sqrt(10.0)).epsilon(1e-6));
}

TEST_CASE("the standard error uses the number of trials that are left") {
  auto result = sample_result();  // 10 trials, spread 2 around a mean of 1
  auto n = nlohmann::json::array();
  for (int i = 0; i < 40; ++i) n.push_back(i < 20 ? 10 : i < 30 ? 4 : 0);
  result["series"][0]["n"] = n;
  result["figure"]["panels"][1]["curves"][0]["style"] = "line";
  result["figure"]["panels"][1]["curves"][0]["band"] = "standard-error";
  const double mean = std::exp(-0.25);
  CHECK(panels_of(result)[1].curves[0].runs[0][25].low ==
        doctest::Approx(mean - 2 * mean / std::sqrt(4.0)).epsilon(1e-6));
  result["series"][0]["n"] = {1, 2};
  CHECK_THROWS_WITH_AS(panels_of(result), "figure: series 'gd.gap' has x and n of unequal length",
                       Failure);
}

TEST_CASE("an axis of logarithms shows powers, even if they overflow a double") {
  auto result = sample_result();
  auto& panel = result["figure"]["panels"][1];
  panel["y"]["scale"] = "log10";
  panel["lines"] = nlohmann::json::array();
  for (const double highest : {6.0, 600.0}) {
    CAPTURE(highest);
    auto& series = result["series"][0];
    for (std::size_t i = 0; i < series["mean"].size(); ++i) {
      series["mean"][i] = highest * static_cast<double>(i) / 39;
      series["std"][i] = 0;
    }
    const DrawnAxis y = panels_of(result)[1].y;
    CHECK_FALSE(y.log);
    const double at = highest == 6 ? 4 : 400;
    const auto tick = std::find_if(y.ticks.begin(), y.ticks.end(),
                                   [&](const Tick& each) { return each.at == at; });
    REQUIRE(tick != y.ticks.end());
    CHECK(tick->label == "10");
    CHECK(tick->power == (highest == 6 ? "4" : "400"));
  }
}

TEST_CASE("neighbors with the same legend share it") {
  auto result = sample_result();
  auto& panels = result["figure"]["panels"];
  panels[1] = panels[0];
  CHECK(texts_with(result, "SpecGD") == 1);
  panels[1]["curves"][1]["color"] = 2;  // a different look gives a separate legend
  CHECK(texts_with(result, "SpecGD") == 2);
  panels[1] = panels[0];
  for (int i = 2; i < 9; ++i) panels.push_back(panels[0]);
  CHECK(texts_with(result, "SpecGD") == 1);  // three rows of three
  panels[4]["curves"].erase(1);
  // The first row, both sides of the odd one, the last row.
  CHECK(texts_with(result, "SpecGD") == 4);
}

TEST_CASE(
    "bars with many names are horizontal and split into pieces, first name on top; classes share a "
    "position") {
  auto result = sample_result();
  result["figure"]["panels"].erase(1);
  auto& panel = result["figure"]["panels"][0];
  auto names = nlohmann::json::array(), x = names, even = names, odd = names, spread = names;
  for (int i = 1; i <= 100; ++i) {
    names.push_back("layer." + std::to_string(i));
    x.push_back(i);
    even.push_back(i % 2 == 0 ? nlohmann::json(i) : nlohmann::json());
    odd.push_back(i % 2 == 1 ? nlohmann::json(i) : nlohmann::json());
    spread.push_back(0);
  }
  panel["x"] = {{"label", "layer"}, {"scale", "linear"}, {"ticks", names}};
  panel["y"] = {{"label", "value"}, {"scale", "linear"}};
  panel["lines"] = {{{"y", 50}, {"label", "limit"}}};
  for (auto& curve : panel["curves"]) curve["style"] = "bars";
  for (const int which : {0, 1}) {
    result["series"][static_cast<std::size_t>(which)].update(
        {{"x", x}, {"mean", which == 0 ? even : odd}, {"std", spread}});
  }
  const PlacedFigure figure = place_figure(read_figure(result));
  REQUIRE(figure.panels.size() == 2);
  const DrawnPanel &first = figure.panels[0].panel, &second = figure.panels[1].panel;
  CHECK(first.horizontal_bars);
  CHECK(first.y.low == 50.5);
  CHECK(first.y.high == 0.5);
  CHECK(second.y.low == 100.5);
  CHECK(second.title == "Objective gap, 51 to 100");
  CHECK(texts_with(result, "layer.17") == 1);
  const DrawnCurve& bars = second.curves[0];
  std::vector<DrawnPoint> points;
  for (const auto& run : bars.runs) points.insert(points.end(), run.begin(), run.end());
  REQUIRE(points.size() == 25);  // the second piece's even names
  CHECK(points[0].x == 52);
  CHECK(points[0].y == 52);
  CHECK(bars.bar_left == doctest::Approx(-0.4).epsilon(1e-9));
  CHECK(bars.bar_right == doctest::Approx(0.4).epsilon(1e-9));
  panel["x"]["ticks"] = {"a", "b"};
  CHECK_FALSE(panels_of(result)[0].horizontal_bars);
}

TEST_CASE("an axis covers the requested values and all of its curves") {
  auto result = sample_result();  // the mean falls from 1 to 0.68
  for (auto& series : result["series"]) {
    for (auto& std : series["std"]) std = 0;
  }
  result["figure"]["panels"][1]["lines"] = nlohmann::json::array();
  const auto lowest = [&] { return panels_of(result)[1].y.low; };
  CHECK(lowest() > 0.6);
  result["figure"]["panels"][1]["y"]["covers"] = {0, 0.9};
  CHECK(lowest() < 0);
  CHECK(lowest() > -0.1);
  result["figure"]["panels"][1]["y"]["covers"] = {"0"};
  CHECK_THROWS_AS(panels_of(result), Failure);
}

TEST_CASE("the band of a mean of shares ends at 0 and at 1") {
  auto result = sample_result();  // the mean falls from 1 to 0.68, its spread is twice that
  auto& panel = result["figure"]["panels"][1];
  panel["lines"] = nlohmann::json::array();
  panel["curves"][0]["style"] = "line";
  const auto lowest = [&] { return panels_of(result)[1].y.low; };
  panel["y"]["covers"] = {0, 0.99};
  CHECK(lowest() < -0.9);
  panel["y"]["covers"] = {0, 1};
  CHECK(lowest() > -0.1);
}

TEST_CASE("the spelling of older results, colour, is read") {
  auto older = sample_result();
  older["figure"]["panels"][1]["curves"][0]["colour"] = 5;
  CHECK(panels_of(older)[1].curves[0].color == 5);
  CHECK(panels_of(sample_result())[1].curves[0].color != 5);
}

TEST_CASE("curves with the same color have different markers") {
  std::set<std::pair<std::string_view, Marker>> looks;
  std::set<std::string_view> colors;
  for (std::size_t color = 0; color < 14; ++color) {
    looks.emplace(palette_entry(color).color, palette_entry(color).marker);
    colors.insert(palette_entry(color).color);
  }
  CHECK(looks.size() == 14);
  CHECK(colors.size() == 7);
}

TEST_CASE(
    "bars are side by side and start at 0, or at 1 on a log axis, where smaller values point down; "
    "null is a gap") {
  auto result = sample_result();
  result["figure"]["panels"].erase(1);
  auto& panel = result["figure"]["panels"][0];
  for (auto& curve : panel["curves"]) curve["style"] = "bars";
  for (auto& series : result["series"]) {
    series["x"] = {1, 3, 5};
    series["mean"] = {4, nullptr, 0.25};
    series["std"] = {0, nullptr, 0};
  }
  result["series"][1]["std"] = {1, nullptr, 0};
  for (const bool log : {false, true}) {
    CAPTURE(log);
    panel["y"]["scale"] = log ? "log" : "linear";
    const DrawnPanel drawn = panels_of(result)[0];
    // Points are 2 apart: a group is 1.6 wide, a bar half of that.
    REQUIRE(drawn.curves.size() == 2);
    CHECK(drawn.curves[0].bar_left == doctest::Approx(-0.8).epsilon(1e-9));
    CHECK(drawn.curves[0].bar_right == doctest::Approx(0).epsilon(1e-9));
    CHECK(drawn.curves[1].bar_right == doctest::Approx(0.8).epsilon(1e-9));
    CHECK(drawn.curves[0].runs.size() == 2);
    CHECK(drawn.bar_foot == (log ? 1 : 0));
    CHECK(drawn.x.low == doctest::Approx(0.2).epsilon(1e-4));
    CHECK((log ? drawn.y.low > 0.2 && drawn.y.low < 0.25 : drawn.y.low < 0));
    CHECK_FALSE(drawn.curves[0].band);
    CHECK(drawn.curves[1].band);  // the spread of one point
  }
  panel["x"]["scale"] = "log";
  CHECK_THROWS_WITH_AS(panels_of(result), "figure: panel 1 has bars on a log x axis", Failure);
}

TEST_CASE("shaded ranges are clipped at the sides of the panel and do not change the axes") {
  for (const bool log : {false, true}) {
    CAPTURE(log);
    auto result = sample_result();
    auto& panel = result["figure"]["panels"][0];
    panel["x"]["scale"] = log ? "log" : "linear";
    const DrawnPanel before = panels_of(result)[0];
    panel["bands"] = {{{"x_low", 10}, {"x_high", 20}, {"label", "window"}, {"color", 1}},
                      {{"x_low", -1e9}, {"x_high", 1e9}},
                      {{"x_low", 40}, {"x_high", 50}, {"label", "beyond"}}};
    const DrawnPanel drawn = panels_of(result)[0];
    CHECK(drawn.x.low == before.x.low);
    CHECK(drawn.x.high == before.x.high);
    REQUIRE(drawn.bands.size() == 2);
    CHECK(drawn.bands[0].low == 10);
    CHECK(drawn.bands[0].high == 20);
    CHECK(drawn.bands[0].color == 1);
    CHECK(drawn.bands[1].low == drawn.x.low);
    CHECK(drawn.bands[1].high == drawn.x.high);
    CHECK(drawn.bands[1].color == neutral_color);
    // There is one sample in the legend, in the color of the labeled range.
    const auto samples =
        std::count_if(drawn.legend.begin(), drawn.legend.end(),
                      [](const LegendEntry& entry) { return entry.sample == Sample::band; });
    CHECK(samples == 1);
  }
}

TEST_CASE("malformed documents give one-line failures that say what is wrong") {
  const auto failure = [](const char* pointer, const nlohmann::json& value) -> std::string {
    auto result = sample_result();
    result[nlohmann::json::json_pointer(pointer)] = value;
    try {
      panels_of(result);
    } catch (const Failure& error) {
      return error.what();
    }
    return "";
  };
  CHECK(failure("/figure", nullptr) == "the result has no figure");
  CHECK(failure("/figure/panels", nlohmann::json::array()) ==
        "the result has no figure (no panels)");
  CHECK(failure("/figure/panels/0/curves/0/series", "no.such") ==
        "figure: a curve names the series 'no.such', which the result does not have");
  CHECK(contains(failure("/figure/panels/0/y/scale", "cubic"),
                 "panel 1, axis y has the unknown scale 'cubic'; allowed: linear, log"));
  CHECK(contains(failure("/figure/panels/0/curves/0/style", "wavy\n!x"),
                 "unknown style 'wavy !x'; allowed: line, dashed"));
  CHECK(contains(failure("/figure/panels/0/curves/0/color", -5), "palette index"));
  CHECK(contains(failure("/figure/panels/0/curves/0/color", 1e300), "as 'color'"));
  CHECK(contains(failure("/figure/panels/0/title", 7), "needs text as 'title'"));
  CHECK(contains(failure("/figure/panels/0/x", 7), "is not an object"));
  CHECK(contains(failure("/figure/panels/0/lines", 7), "needs a list as 'lines'"));
  CHECK(contains(failure("/figure/panels/0", 7), "needs objects in 'panels'"));
  CHECK(contains(failure("/figure/panels/0/bands", 7), "needs a list as 'bands'"));
  CHECK(failure("/figure/panels/0/bands", {{{"x_low", 2}, {"x_high", 1}}}) ==
        "figure: panel 1, a band needs numbers 'x_low' <= 'x_high'");
  CHECK(contains(failure("/figure/panels/0/bands", {{{"x_low", 2}, {"x_high", nullptr}}}),
                 "needs numbers 'x_low' <= 'x_high'"));
  CHECK(contains(failure("/figure/panels/0/bands", {{{"x_low", "1"}, {"x_high", 2}}}),
                 "a band needs a number as 'x_low'"));
  CHECK(contains(failure("/figure/panels/0/bands", {{{"x_low", 1}, {"x_high", 1e300}}}),
                 "a band needs a number as 'x_high'"));
  CHECK(contains(failure("/figure/panels/0/bands", {{{"x_low", 1}, {"x_high", 2}, {"color", 0.5}}}),
                 "palette index"));
  CHECK(contains(failure("/figure/panels/0/bands", {{{"x_low", 1}, {"x_high", 2}, {"label", 7}}}),
                 "needs text as 'label'"));
  CHECK(contains(failure("/series/0/mean/3", "system"),
                 "series 'gd.gap' needs numbers or null in 'mean'"));
  CHECK(contains(failure("/series/0/x", {1, 2}), "of unequal length"));
}

}  // namespace panel_test
