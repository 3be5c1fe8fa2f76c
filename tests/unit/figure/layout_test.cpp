#include "figure/layout.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "figure/sample.hpp"
#include "figure/symbols.hpp"
#include "figure/text.hpp"
#include "result/typed.hpp"

namespace layout_test {

using namespace ranklab;
using ranklab::testing::sample_result;
using ranklab::testing::typed;

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
      for (const auto& segment : curve.segments) {
        for (const DrawnPoint& point : segment) {
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

}  // namespace

TEST_CASE("in every reference figure, text is readable, nothing overlaps, every curve has a key") {
  const std::vector<std::string> paths = reference_results();
  REQUIRE(paths.size() > 40);
  for (const std::string& path : paths) {
    const ResultFile result = read_result(path);
    for (std::size_t which = 0; which <= result.more_figures.size(); ++which) {
      CAPTURE(path);
      CAPTURE(which);
      const FigureData data = figure_data(result, which);
      for (const Extract extract : {Extract::whole, Extract::untitled, Extract::thumbnail}) {
        for (const std::string& problem : problems(place_figure(data, extract)))
          FAIL_CHECK(problem);
      }
      for (const std::string& problem : problems(data.figure, make_panels(data, {})))
        FAIL_CHECK(problem);
      CHECK(data.figure.panels.size() <= (which == 0 ? 6 : 16));
      for (const DrawnPanel& panel : make_panels(data, {})) CHECK(panel.legend.size() <= 9);
    }
  }
}

TEST_CASE("a line does not end inside what is read as one") {
  const auto lines = [](const std::string& text, const std::string& widest) {
    return wrap(text, 12, text_width(widest, 12) + 0.1, 3);
  };
  using Lines = std::vector<std::string>;
  CHECK(lines("minus Adam's (\u00B1 99 %)", "minus Adam's (\u00B1") ==
        Lines{"minus Adam's", "(\u00B1 99 %)"});
  CHECK(lines("here: \u03BB = 1", "here: \u03BB =") == Lines{"here:", "\u03BB = 1"});
  const std::string index = "A\uE000mlp rms\uE002";
  CHECK(lines("MLP input " + index, "MLP input A\uE000mlp\uE002") == Lines{"MLP input", index});
  // What does not fit at all is broken at any blank.
  CHECK(lines("a = b", "a =") == Lines{"a =", "b"});
}

TEST_CASE(
    "the title of the only panel is not repeated, and marks in the head of a table are read") {
  nlohmann::json result = sample_result();
  auto& panels = result["figure"]["panels"];
  const auto texts = [&](TextRole role) {
    std::vector<std::string> out;
    for (const PlacedText& text : place_figure(figure_data(typed(result))).texts) {
      if (text.role == role) out.push_back(text.text);
    }
    return out;
  };
  using Texts = std::vector<std::string>;
  panels.erase(1);
  CHECK(texts(TextRole::panel_title) == Texts{"Objective gap"});
  result["title"] = "The objective gap of GD";
  CHECK(texts(TextRole::panel_title).empty());
  result["figure"]["tables"] = {
      {{"title", ""}, {"columns", {"st of A_1"}}, {"rows", {nlohmann::json::array({"lambda"})}}}};
  CHECK(texts(TextRole::cell) == Texts{label_with_symbols("st of A_1"), "\u03BB"});
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
    const PlacedFigure figure = place_figure(figure_data(typed(result)));
    CHECK(figure.width <= widest_figure);
    CHECK(problems(figure).empty());
  }
}

TEST_CASE("a figure may have a table and nothing else") {
  nlohmann::json result = sample_result();
  result["figure"] = {{"tables",
                       {{{"title", "Table 1"},
                         {"columns", {"model", "printed", "measured"}},
                         {"rows", {{"A", "62", "61"}}}}}},
                      {"panels", nlohmann::json::array()}};
  CHECK(problems(place_figure(figure_data(typed(result)))).empty());
}

TEST_CASE("a band around a mean outside of its domain is drawn whole, and shows the mistake") {
  nlohmann::json result = sample_result();  // means from 1 to 0.68, spread twice the mean
  auto& axis = result["figure"]["panels"][0]["y"];
  axis = {{"label", "gap"}, {"scale", "linear"}, {"domain", {0, nullptr}}};
  const auto lowest = [&] {
    return make_panels(figure_data(typed(result)), {})
        .front()
        .curves.at(0)
        .segments.at(0)
        .at(0)
        .low;
  };
  CHECK(lowest() == 0);
  axis["domain"] = {2, nullptr};
  CHECK(lowest() == doctest::Approx(-1).epsilon(1e-9));
}

TEST_CASE("a thumbnail has one panel and no text but its ticks") {
  const FigureData data = figure_data(typed(sample_result()));
  for (const std::size_t panel : {0, 1, 99}) {
    const PlacedFigure figure = place_figure(data, Extract::thumbnail, panel);
    CHECK(figure.panels.size() == 1);
    CHECK(figure.width < 320);
    CHECK(std::all_of(figure.texts.begin(), figure.texts.end(),
                      [](const PlacedText& text) { return text.role == TextRole::tick; }));
  }
}

}  // namespace layout_test
