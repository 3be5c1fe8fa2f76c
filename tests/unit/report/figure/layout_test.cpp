#include "report/figure/layout.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "report/figure/json.hpp"
#include "report/figure/sample.hpp"
#include "report/result_json.hpp"

namespace layout_test {

using namespace ranklab;
using ranklab::testing::sample_result;

namespace {

bool overlap(const Box& a, const Box& b) {
  constexpr double slack = 0.5;  // pixels
  return a.left < b.right - slack && b.left < a.right - slack && a.top < b.bottom - slack &&
         b.top < a.bottom - slack;
}

// Problems of a placed figure that a reader would see, one line each.
std::vector<std::string> problems(const PlacedFigure& figure) {
  std::vector<std::string> out;
  if (figure.width > widest_figure) out.push_back("wider than a page");
  std::vector<Box> boxes;
  for (const PlacedText& text : figure.texts) {
    const Box box = box_of(text);
    const std::string name = "'" + text.text + "'";
    if (text.size < 11) out.push_back(name + " is smaller than 11 pixels");
    // Estimated widths are a little larger than the drawn text.
    if (box.left < -8 || box.right > figure.width + 8 || box.top < -2 ||
        box.bottom > figure.height + 2)
      out.push_back(name + " is outside the picture");
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      // Slanted names are parallel, and their boxes overlap where the names do not.
      const bool slanted = text.degrees == 35 || figure.texts[i].degrees == 35;
      if (!slanted && overlap(box, boxes[i]))
        out.push_back(name + " is over '" + figure.texts[i].text + "'");
    }
    for (const PlacedPanel& panel : figure.panels) {
      const Box area{panel.left, panel.top, panel.left + panel.width, panel.top + panel.height};
      if (text.role != TextRole::message && overlap(box, area))
        out.push_back(name + " is over a panel");
    }
    boxes.push_back(box);
  }
  for (const PlacedKey& key : figure.keys) {
    const Box box{key.x, key.y - 5, key.x + key_width, key.y + 5};
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      if (overlap(box, boxes[i]))
        out.push_back("the key of '" + key.entry.label + "' is over '" + figure.texts[i].text +
                      "'");
    }
    if (box.left < 0 || box.right > figure.width)
      out.push_back("the key of '" + key.entry.label + "' is outside the picture");
  }
  return out;
}

// Bands and bars outside the domain of their quantity, and curves that no key explains.
std::vector<std::string> problems(const Figure& figure, const std::vector<DrawnPanel>& drawn) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const Panel& panel = figure.panels[i];
    std::size_t labeled_ticks = 0;
    const DrawnAxis& values = drawn[i].horizontal_bars ? drawn[i].x : drawn[i].y;
    for (const Tick& tick : values.ticks) labeled_ticks += !tick.label.empty();
    if (labeled_ticks < 3) out.push_back("'" + panel.title + "' has few ticks");
    std::set<std::pair<std::size_t, Look>> keyed;
    std::set<std::size_t> keyed_colors;
    for (std::size_t c = 0; c < panel.curves.size(); ++c) {
      if (panel.curves[c].label.empty()) continue;
      keyed.insert({drawn[i].curves[c].color, drawn[i].curves[c].look});
      keyed_colors.insert(drawn[i].curves[c].color);
    }
    for (std::size_t c = 0; c < panel.curves.size(); ++c) {
      const DrawnCurve& curve = drawn[i].curves[c];
      // Unlabeled curves share color and look with a labeled one, or the title says what another
      // look means ("dots: ...", "dashed: ...").
      const std::string words = panel.title + panel.x.label + panel.y.label;
      const bool explained =
          words.find("dash") != std::string::npos || words.find("dots") != std::string::npos;
      if (!keyed.contains({curve.color, curve.look}) &&
          !(explained && keyed_colors.contains(curve.color)) && panel.curves.size() > 1)
        out.push_back("a curve of '" + panel.title + "' has no key: " + panel.curves[c].series);
      for (const auto& run : curve.runs) {
        for (const DrawnPoint& point : run) {
          if (point.low < panel.y.domain.low * (1 - 1e-9) - 1e-12 ||
              point.high > panel.y.domain.high * (1 + 1e-9) + 1e-12)
            out.push_back("a band of '" + panel.title + "' leaves the domain");
        }
      }
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<std::string> reference_results() {
  std::vector<std::string> out;
  for (const auto& file : std::filesystem::directory_iterator("results/reference")) {
    if (file.path().extension() == ".json") out.push_back(file.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

const PlacedText* find(const PlacedFigure& figure, const std::string& text) {
  for (const PlacedText& each : figure.texts) {
    if (each.text == text) return &each;
  }
  return nullptr;
}

std::size_t count(const PlacedFigure& figure, TextRole role) {
  return static_cast<std::size_t>(
      std::count_if(figure.texts.begin(), figure.texts.end(),
                    [&](const auto& text) { return text.role == role; }));
}

}  // namespace

TEST_CASE("in every reference figure, text is readable, nothing overlaps, every curve has a key") {
  const std::vector<std::string> paths = reference_results();
  REQUIRE(paths.size() > 40);
  for (const std::string& path : paths) {
    const nlohmann::json result = read_result(path);
    for (std::size_t which = 0; which < number_of_figures(result); ++which) {
      CAPTURE(path);
      CAPTURE(which);
      const FigureSource source = read_figure(result, which);
      for (const Extract extract : {Extract::whole, Extract::untitled, Extract::thumbnail}) {
        for (const std::string& problem : problems(place_figure(source, extract)))
          FAIL_CHECK(problem);
      }
      for (const std::string& problem : problems(source.figure, make_panels(source, {})))
        FAIL_CHECK(problem);
      CHECK(source.figure.panels.size() <= (which == 0 ? 6 : 16));
      for (const DrawnPanel& panel : make_panels(source, {})) CHECK(panel.legend.size() <= 9);
    }
  }
}

TEST_CASE("panels of a group share their ranges, one legend, and the y axis of the first column") {
  nlohmann::json result = sample_result();
  auto& panels = result["figure"]["panels"];
  panels.erase(1);
  panels.push_back(panels[0]);
  panels[1]["curves"].erase(1);
  panels[1]["curves"][0]["series"] = "low";
  result["series"].push_back(ranklab::testing::sample_series("low", 10, 1e-3));
  const auto ranges = [&] {
    const PlacedFigure figure = place_figure(read_figure(result));
    return std::pair(figure.panels[0].panel.y, figure.panels[1].panel.y);
  };
  CHECK(ranges().first.low != ranges().second.low);
  for (auto& panel : panels) panel["group"] = "methods";
  CHECK(ranges().first.low == ranges().second.low);
  CHECK(ranges().first.high == ranges().second.high);
  CHECK(ranges().second.low < 1e-3);
  const PlacedFigure figure = place_figure(read_figure(result));
  CHECK(count(figure, TextRole::legend) == 2);  // GD and SpecGD, once
  CHECK(figure.keys.size() == 2);
  CHECK(std::count_if(figure.texts.begin(), figure.texts.end(),
                      [](const PlacedText& text) { return text.text == "gap"; }) == 1);
  CHECK(figure.panels[0].top == figure.panels[1].top);
  CHECK(problems(figure).empty());
}

TEST_CASE("small multiples in two rows show the x axis below the lower row only") {
  nlohmann::json result = sample_result();
  auto& panels = result["figure"]["panels"];
  panels.erase(1);
  panels[0]["group"] = "g";
  for (int i = 0; i < 3; ++i) panels.push_back(panels[0]);
  result["figure"]["columns"] = 2;
  const PlacedFigure figure = place_figure(read_figure(result));
  CHECK(std::count_if(figure.texts.begin(), figure.texts.end(),
                      [](const PlacedText& text) { return text.text == "iteration"; }) == 2);
  CHECK(figure.panels[2].top > figure.panels[0].top + figure.panels[0].height);
  CHECK(problems(figure).empty());
}

TEST_CASE("a figure never exceeds the width of a page, whatever its columns and names") {
  for (const int panels_wanted : {1, 2, 3, 4, 5, 7}) {
    CAPTURE(panels_wanted);
    nlohmann::json result = sample_result();
    auto& panels = result["figure"]["panels"];
    panels.erase(1);
    panels[0]["title"] = std::string(150, 'w');
    panels[0]["y"]["label"] = std::string(150, 'w');
    panels[0]["lines"] = {{{"y", 0.5}, {"label", "a long label"}}};
    for (auto& curve : panels[0]["curves"])
      curve["label"] = curve["label"].get<std::string>() + std::string(300, 'w');
    while (static_cast<int>(panels.size()) < panels_wanted) panels.push_back(panels[0]);
    if (panels_wanted > 3) result["figure"]["columns"] = 5;
    const PlacedFigure figure = place_figure(read_figure(result));
    CHECK(figure.width <= widest_figure);
    CHECK(problems(figure).empty());
  }
}

TEST_CASE("a table has its cells in columns, and a figure may have nothing else") {
  nlohmann::json result = sample_result();
  result["figure"] = {{"tables",
                       {{{"title", "Table 1"},
                         {"columns", {"model", "printed", "measured (\u00B1 99 %)"}},
                         {"rows", {{"A", "62", "61.5 \u00B1 1.2"}, {"B", "27", "undefined"}}}}}},
                      {"panels", nlohmann::json::array()}};
  const PlacedFigure figure = place_figure(read_figure(result));
  CHECK(count(figure, TextRole::cell) == 9);
  CHECK(figure.rules.size() == 3);
  REQUIRE(find(figure, "62") != nullptr);
  CHECK(find(figure, "62")->x == find(figure, "27")->x);
  CHECK(find(figure, "62")->y == find(figure, "61.5 \u00B1 1.2")->y);
  CHECK(find(figure, "62")->y < find(figure, "27")->y);
  CHECK(problems(figure).empty());
  result["figure"]["tables"][0]["rows"][0] = {"A"};
  CHECK_THROWS_AS(read_figure(result), Failure);
}

TEST_CASE("few different x values have ticks at the values, as far as there is room") {
  nlohmann::json result = sample_result();
  result["figure"]["panels"].erase(1);
  for (auto& series : result["series"])
    series.update({{"x", {24, 48}}, {"mean", {1, 2}}, {"std", {0, 0}}});
  const auto labels = [&] {
    std::vector<std::string> out;
    const std::vector<DrawnPanel> panels = make_panels(read_figure(result), {});
    for (const Tick& tick : panels.front().x.ticks) {
      if (!tick.label.empty()) out.push_back(tick.label);
    }
    return out;
  };
  CHECK(labels() == std::vector<std::string>{"24", "48"});
  for (auto& series : result["series"])
    series.update({{"x", {1, 2, 1000}}, {"mean", {1, 2, 3}}, {"std", {0, 0, 0}}});
  CHECK(labels() == std::vector<std::string>{"1", "1000"});
}

TEST_CASE("a floor cuts an axis that would reach below, and no other") {
  nlohmann::json result = sample_result();
  result["figure"]["panels"].erase(1);
  const auto lowest = [&] { return make_panels(read_figure(result), {}).front().y.low; };
  result["figure"]["panels"][0]["y"]["floor"] = 1e-9;
  CHECK(lowest() > 1e-2);
  result["series"][0]["mean"][7] = 1e-30;
  CHECK(lowest() < 1e-9);
  CHECK(lowest() > 1e-10);
  result["figure"]["panels"][0]["y"].erase("floor");
  CHECK(lowest() < 1e-30);
}

TEST_CASE("the band of a mean is its interval, or every trial with their median") {
  nlohmann::json result = sample_result();
  auto& panel = result["figure"]["panels"][0];
  result["figure"]["panels"].erase(1);
  panel["y"]["scale"] = "linear";
  panel["curves"].erase(1);
  panel["curves"][0]["band"] = "interval";
  // Ten trials: Student's t for 99 % and 9 degrees of freedom is 3.2498 (tables).
  const auto first = [&] { return make_panels(read_figure(result), {}).front().curves.at(0); };
  CHECK(first().runs.at(0).at(0).high ==
        doctest::Approx(1 + 2 * 3.249836 / std::sqrt(10.0)).epsilon(1e-6));
  panel["curves"][0]["band"] = "trials";
  CHECK(first().trials.empty());  // the result does not have the values of the trials
  result["series"][0]["trials"] = nlohmann::json::array();
  for (const double factor : {1.0, 5.0, 2.0, 100.0, 3.0}) {
    auto values = result["series"][0]["mean"];
    for (auto& value : values) value = factor;
    values[1] = nullptr;
    result["series"][0]["trials"].push_back(values);
  }
  const DrawnCurve curve = first();
  CHECK(curve.trials.size() == 5);
  CHECK(curve.runs.at(0).at(0).y == 3);  // the median
  CHECK(curve.runs.at(0).size() == 1);   // the second point is undefined in every trial
  CHECK_FALSE(curve.band);
  panel["curves"][0]["style"] = "points";
  const DrawnCurve dots = first();
  CHECK(dots.markers.size() == 5 * 39);
  CHECK(dots.medians);
  CHECK(dots.runs.size() == 39);
  result["series"][0]["trials"][0].erase(0);
  CHECK_THROWS_AS(read_figure(result), Failure);
}

TEST_CASE("bands are cut at the domain of the quantity") {
  nlohmann::json result = sample_result();  // means from 1 to 0.68, spread twice the mean
  result["figure"]["panels"].erase(1);
  auto& axis = result["figure"]["panels"][0]["y"];
  axis["scale"] = "linear";
  const auto point = [&] {
    return make_panels(read_figure(result), {}).front().curves.at(0).runs.at(0).at(0);
  };
  CHECK(point().low == doctest::Approx(-1).epsilon(1e-9));
  axis["domain"] = {0, nullptr};
  CHECK(point().low == 0);
  CHECK(point().high == doctest::Approx(3).epsilon(1e-9));
  axis["domain"] = {0, 1};
  CHECK(point().high == 1);
  axis["domain"] = {2, nullptr};  // wrong: the mean is below, and the band shows it whole
  CHECK(point().low == doctest::Approx(-1).epsilon(1e-9));
}

TEST_CASE("the note says what bands are and which trials are left") {
  nlohmann::json result = sample_result();
  result["trials"]["unit"] = "seed";
  const auto note = [&] {
    const PlacedFigure figure = place_figure(read_figure(result));
    std::string out;
    for (const PlacedText& text : figure.texts) {
      if (text.role == TextRole::note) out += (out.empty() ? "" : " ") + text.text;
    }
    return out;
  };
  CHECK(note() == "Bands: one standard deviation over 10 seeds.");
  for (auto& panel : result["figure"]["panels"]) {
    for (auto& curve : panel["curves"]) curve["band"] = "interval";
  }
  CHECK(note() == "Bands: 99 % confidence interval of the mean over 10 seeds, as in the verdicts.");
  result["figure"]["panels"][1]["curves"][0]["band"] = "standard-error";
  CHECK(note().starts_with("Bands: standard error of the mean over 10 seeds (panel 2); 99 % "));
  CHECK(note().ends_with(", as in the verdicts (panel 1)."));
  auto n = nlohmann::json::array();
  for (int i = 0; i < 40; ++i) n.push_back(i < 20 ? 10 : 4);
  result["series"][0]["n"] = n;
  CHECK(note().ends_with(" Seeds left at the end: 4 of 10 (GD)."));
  result["series"][1]["n"] = n;
  CHECK(note().ends_with(" Seeds left at the end: 4 of 10."));
}

TEST_CASE("a thumbnail has one panel and its ticks, and no other text") {
  const FigureSource source = read_figure(sample_result());
  const PlacedFigure figure = place_figure(source, Extract::thumbnail, 1);
  REQUIRE(figure.panels.size() == 1);
  CHECK(figure.panels[0].panel.title == "Nuclear rank");
  CHECK(figure.width < 320);
  CHECK(figure.texts.size() == count(figure, TextRole::tick));
  CHECK(count(figure, TextRole::tick) >= 4);
  CHECK(problems(figure).empty());
  CHECK(place_figure(source, Extract::thumbnail, 99).panels.size() == 1);
}

}  // namespace layout_test
