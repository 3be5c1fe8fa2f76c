#include "figure/panel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "figure/layout.hpp"
#include "figure/palette.hpp"
#include "figure/sample.hpp"
#include "result/typed.hpp"

namespace panel_test {

using namespace ranklab;
using ranklab::testing::contains;
using ranklab::testing::sample_result;
using ranklab::testing::typed;

namespace {

std::vector<DrawnPanel> panels_of(const nlohmann::json& result) {
  return make_panels(figure_data(typed(result)), {});
}

// How many texts of the figure are these words.
std::ptrdiff_t texts_with(const nlohmann::json& result, const std::string& words) {
  const PlacedFigure figure = place_figure(figure_data(typed(result)));
  return std::count_if(figure.texts.begin(), figure.texts.end(),
                       [&](const PlacedText& text) { return text.text == words; });
}

}  // namespace

TEST_CASE("bands: standard deviation, standard error of the trials left, interval, single trials") {
  auto result = sample_result();  // 10 trials, mean 1 and spread 2 at the first point
  auto &curve = result["figure"]["panels"][0]["curves"][0], &series = result["series"][0];
  const auto first = [&] { return panels_of(result)[0].curves[0].segments.at(0).at(0); };
  CHECK(first().high == doctest::Approx(3).epsilon(1e-9));
  CHECK(first().low == doctest::Approx(1.0 / 3).epsilon(1e-9));  // mirrored on the log axis
  result["figure"]["panels"][0]["y"]["scale"] = "linear";
  CHECK(first().low == doctest::Approx(-1).epsilon(1e-9));
  curve["band"] = "interval";  // Student's t for 99 % and 9 degrees of freedom (tables): 3.2498
  CHECK(first().high == doctest::Approx(1 + 2 * 3.249836 / std::sqrt(10.0)).epsilon(1e-6));
  curve["band"] = "trials";  // the result does not have their values: the spread
  CHECK(first().high == doctest::Approx(3).epsilon(1e-9));
  curve["band"] = "standard-error";
  series["n"] = std::vector<int>(40, 4);
  CHECK(first().high == doctest::Approx(1 + 2 / std::sqrt(4.0)).epsilon(1e-9));
  series["n"] = {1, 2};
  CHECK_THROWS_WITH_AS(panels_of(result), "sample: series[0]: has x and n of unequal length",
                       Failure);
  series.erase("n");
  series["trials"] = {std::vector<double>(39, 1.0)};
  CHECK_THROWS_AS(panels_of(result), Failure);
}

namespace {

// The sample with the values of four trials along its first curve: all, and two of them to the end.
nlohmann::json with_trials(const std::function<double(int trial, int i)>& value, int points = 40) {
  nlohmann::json result = sample_result();
  result["status"] = "diverged";
  result["trials"] = {{"requested", 4}, {"completed", 4}, {"unit", "seed"}};
  for (auto& series : result["series"]) {
    series = ranklab::testing::sample_series(series["name"], points);
    nlohmann::json trials, n;
    for (int i = 0; i < points; ++i) n.push_back(0);
    for (int trial = 0; trial < 4; ++trial) {
      nlohmann::json values;
      for (int i = 0; i < points; ++i) {
        const double at = value(trial, i);
        values.push_back(std::isnan(at) ? nlohmann::json() : nlohmann::json(at));
        if (!std::isnan(at))
          n[static_cast<std::size_t>(i)] = n[static_cast<std::size_t>(i)].get<int>() + 1;
      }
      trials.push_back(values);
    }
    series["trials"] = trials;
    series["n"] = n;
  }
  for (auto& panel : result["figure"]["panels"]) {
    for (auto& curve : panel["curves"]) curve["band"] = "trials";
  }
  return result;
}

std::string texts_of(const nlohmann::json& result, TextRole role) {
  std::string out;
  for (const PlacedText& text : place_figure(figure_data(typed(result))).texts) {
    if (text.role == role) out += text.text + " ";
  }
  return out;
}

}  // namespace

TEST_CASE("the note names lines where there are lines, and dots where there are dots") {
  nlohmann::json result = with_trials([](int, int i) { return 1.0 + i; });
  const auto starts_with = [&](const std::string& words) {
    return contains(texts_of(result, TextRole::note), words);
  };
  CHECK(
      starts_with("Thin lines and dots: single seeds (4); thick lines and dashes: their median."));
  result["figure"]["panels"].erase(1);
  CHECK(starts_with("Thin lines: single seeds (4); thick lines: their median."));
  for (auto& curve : result["figure"]["panels"][0]["curves"]) curve["style"] = "points";
  CHECK(starts_with("Dots: single seeds (4); dashes: their median."));
}

TEST_CASE("there is no median of the few trials that did not diverge, and the head says it") {
  const auto left = [](int trials) {
    return with_trials([trials](int trial, int i) {
      return i < 10 || trial < trials ? 1.0 + trial : std::nan("");
    });
  };
  const auto end_of_median = [&](int trials) {
    return panels_of(left(trials))[0].curves[0].segments.back().back().x;
  };
  CHECK(end_of_median(2) == 39);
  CHECK(end_of_median(1) == 9);
  CHECK(panels_of(left(1))[0].curves[0].trials[0].back().back().x == 39);
  CHECK_FALSE(contains(texts_of(left(2), TextRole::title), "Diverged"));
  CHECK(contains(texts_of(left(2), TextRole::note), "Seeds left at the end: 2 of 4."));
  CHECK(contains(texts_of(left(1), TextRole::title), "Diverged seeds: 3 of 4"));
  CHECK(contains(texts_of(left(1), TextRole::note), "No median where fewer than half are left."));
}

TEST_CASE("oscillating trials are drawn as the median and the range of each stretch") {
  const auto wave = [](int trial, int i) { return 10.0 * (trial + 1) + (i % 2 == 0 ? -1 : 1); };
  const DrawnPanel panel = panels_of(with_trials(wave, 401))[0];
  CHECK(panel.in_stretches);
  const std::vector<DrawnPoint> points = panel.curves[0].trials[0].at(0);
  CHECK(points.size() <= 52);
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    CHECK(points[i].y == doctest::Approx(10).epsilon(0.1001));
    CHECK(points[i].low == 9);
    CHECK(points[i].high == 11);
  }
  CHECK_FALSE(panel.curves[0].band);
  CHECK(contains(texts_of(with_trials(wave, 401), TextRole::note), "Where they oscillate"));
  const auto line = [](int trial, int i) { return 10.0 * (trial + 1) + i; };
  CHECK_FALSE(panels_of(with_trials(line, 401))[0].in_stretches);
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
  REQUIRE(curve.segments.size() == 3);
  const std::vector<std::vector<double>> means = {{1, 2}, {4, 5}, {7}};
  for (std::size_t segment = 0; segment < 3; ++segment) {
    REQUIRE(curve.segments[segment].size() == means[segment].size());
    for (std::size_t i = 0; i < means[segment].size(); ++i)
      CHECK(curve.segments[segment][i].y == means[segment][i]);
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
    const std::vector<DrawnPoint> line = panels_of(result)[0].curves[0].segments.at(0);
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

TEST_CASE("more horizontal bars than a panel has room for are split into pieces") {
  auto result = sample_result();
  result["figure"]["panels"].erase(1);
  auto& panel = result["figure"]["panels"][0];
  auto names = nlohmann::json::array(), x = names;
  for (int i = 1; i <= 100; ++i) {
    names.push_back("layer." + std::to_string(i));
    x.push_back(i);
  }
  panel["x"] = {{"label", "layer"}, {"scale", "linear"}, {"ticks", names}};
  panel["y"] = {{"label", "value"}, {"scale", "linear"}};
  panel["curves"].erase(1);
  panel["curves"][0]["style"] = "bars";
  result["series"][0].update({{"x", x}, {"mean", x}, {"std", std::vector<int>(100, 0)}});
  const PlacedFigure figure = place_figure(figure_data(typed(result)));
  REQUIRE(figure.panels.size() == 2);
  CHECK(figure.panels[0].panel.y.high == 0.5);
  CHECK(figure.panels[0].panel.y.low == 50.5);
  CHECK(figure.panels[1].panel.y.low == 100.5);
  CHECK(figure.panels[1].panel.title == "Objective gap, 51 to 100");
  std::size_t bars = 0;
  for (const auto& segment : figure.panels[1].panel.curves[0].segments) bars += segment.size();
  CHECK(bars == 50);
  CHECK(texts_with(result, "layer.17") == 1);
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

TEST_CASE("bars leave a gap where a value is null, show their spread, and refuse a log x axis") {
  auto result = sample_result();
  auto& panel = result["figure"]["panels"][0];
  panel["curves"][0]["style"] = "bars";
  result["series"][0].update(
      {{"x", {1, 3, 5}}, {"mean", {4, nullptr, 2}}, {"std", {0, nullptr, 1}}});
  const DrawnCurve bars = panels_of(result)[0].curves[0];
  CHECK(bars.segments.size() == 2);
  CHECK(bars.band);
  panel["x"]["scale"] = "log";
  CHECK_THROWS_WITH_AS(panels_of(result), "figure: panel 1 has bars on a log x axis", Failure);
}

TEST_CASE("shaded ranges are clipped at the sides of the panel and do not change the axes") {
  auto result = sample_result();
  auto& panel = result["figure"]["panels"][0];
  const DrawnPanel before = panels_of(result)[0];
  panel["bands"] = {{{"x_low", -1e9}, {"x_high", 1e9}, {"label", ""}},
                    {{"x_low", 40}, {"x_high", 50}, {"label", "beyond"}}};
  const DrawnPanel drawn = panels_of(result)[0];
  CHECK(drawn.x.low == before.x.low);
  CHECK(drawn.x.high == before.x.high);
  REQUIRE(drawn.bands.size() == 1);
  CHECK(drawn.bands[0].low == drawn.x.low);
  CHECK(drawn.bands[0].high == drawn.x.high);
}

TEST_CASE("figures that cannot be drawn give one-line failures that say what is wrong") {
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
  const auto band = [](const nlohmann::json& low, const nlohmann::json& high) {
    return nlohmann::json{{{"x_low", low}, {"x_high", high}, {"label", ""}}};
  };
  const char* const needs = "figure: panel 1, a band needs numbers 'x_low' <= 'x_high'";
  CHECK(failure("/figure", nullptr) == "the result has no figure (no panels)");
  CHECK(failure("/figure/panels", nlohmann::json::array()) ==
        "the result has no figure (no panels)");
  CHECK(failure("/figure/panels/0/curves/0/series", "no.such\n") ==
        "figure: a curve names the series 'no.such', which the result does not have");
  CHECK(failure("/figure/panels/0/bands", band(2, 1)) == needs);
  CHECK(failure("/figure/panels/0/bands", band(2, nullptr)) == needs);
  CHECK(failure("/figure/panels/0/bands", band(1, 1e300)) == needs);
  CHECK(failure("/figure/panels/0/curves/0/x_offset", nullptr) ==
        "figure: panel 1, curve of 'gd.gap' needs a number as 'x_offset'");
  CHECK(failure("/figure/panels/0/lines", {{{"y", -1e300}, {"label", ""}}}) ==
        "figure: panel 1, a line needs a number as 'y'");
  CHECK(failure("/figure/panels/0/x/covers", std::vector<double>(501, 1)) ==
        "figure: panel 1, axis x has more than 500 entries in 'covers'");
  const nlohmann::json panel = sample_result()["figure"]["panels"][0];
  CHECK(failure("/figure/panels", std::vector<nlohmann::json>(65, panel)) ==
        "figure: the document has more than 64 entries in 'panels'");
  CHECK(failure("/more_figures", std::vector<nlohmann::json>(65, sample_result()["figure"])) ==
        "figure: the document has more than 64 entries in 'more_figures'");
  CHECK(failure("/figure/panels/0/lines", {{{"y", nullptr}, {"label", ""}}}).empty());
}

}  // namespace panel_test
