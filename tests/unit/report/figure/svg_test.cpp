#include "report/figure/svg.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "report/figure/picture.hpp"
#include "report/figure/sample.hpp"
#include "report/figure/svg_path.hpp"
#include "report/figure/text.hpp"

namespace svg_test {

using namespace ranklab;
using ranklab::testing::contains;
using ranklab::testing::count;
using ranklab::testing::sample_result;

namespace {

// A result with one panel and one curve, without spread.
nlohmann::json one_curve(const std::vector<double>& x, const std::vector<double>& mean) {
  nlohmann::json result = sample_result();
  result["figure"]["panels"].erase(1);
  auto& panel = result["figure"]["panels"][0];
  panel["curves"].erase(1);
  panel["y"]["scale"] = "linear";
  result["series"][0].update(
      {{"x", x}, {"mean", mean}, {"std", std::vector<double>(x.size(), 0.0)}});
  return result;
}

PlacedPanel placed(const nlohmann::json& result) {
  return place_figure(read_figure(result)).panels.at(0);
}

// "12.3 45" for values on the axes of the panel.
std::string place_text(const PlacedPanel& panel, double x, double y) {
  return svg_number(panel.x_of(x)) + " " + svg_number(panel.y_of(y));
}

}  // namespace

TEST_CASE("the same document gives identical SVG bytes with a title, a description and a size") {
  const auto result = sample_result();
  const std::string svg = draw_svg(result);
  CHECK(svg == draw_svg(result));
  CHECK(contains(svg, "<title>GD against SpecGD</title>"));
  CHECK(contains(
      svg,
      "Objective gap: gap (log scale) against iteration; curves: GD (line), SpecGD (dashed)."));
  CHECK(contains(svg, "reference lines: st(A) at 0.5"));
  CHECK(contains(svg, "over 10 trials"));
  CHECK(contains(svg, "role=\"img\""));
  CHECK(contains(svg, "viewBox="));
  CHECK(contains(svg, " width=\""));
  CHECK(count(svg, "<title") == 1);
  CHECK_FALSE(contains(svg, " id="));  // a page holds many drawings
}

TEST_CASE("a path has relative points to a tenth of a pixel, without those that it does not need") {
  CHECK(line_path({{1.04, 2.06}, {1.54, 1.96}, {9, 9}}) == "M1 2.1l.5-.1 7.5 7");
  CHECK(line_path({{0, 0}, {1, 1.1}, {2, 2}, {3, 3.1}, {4, 4}}) ==
        "M0 0l4 4");  // straight up to a fifth of a pixel
  CHECK(line_path({{0, 0}, {1, 1}, {2, 5}, {3, 1}, {4, 4}}) == "M0 0l1 1 1 4 1-4 1 3");
  CHECK(line_path({{3, 4}}) == "M3 4h0");
  CHECK(line_path({}) == "");
  CHECK(area_path({{0, 0}, {2, 0}, {2, 3}, {2, 5}, {1, 3}, {0, 3.5}, {7, 3}}) ==
        "M0 0h2v5l-1-2-1 .5 7-.5z");
  CHECK(rectangle_path({1, 5}, {3.5, 2}) == "M1 5h2.5v-3h-2.5z");
  CHECK(circle_path({5, 5}, 2) == "M3 5a2 2 0 1 0 4 0a2 2 0 1 0 -4 0z");
  CHECK(svg_number(-0.34) == "-.3");
  CHECK(svg_number(0.02) == "0");
}

TEST_CASE("a curve is drawn at the places of its points, and a single point as a dot") {
  const nlohmann::json result = one_curve({0, 1, 2}, {1, 5, 2});
  const std::string svg = draw_svg(result);
  const PlacedPanel panel = placed(result);
  CHECK(contains(svg, "stroke=\"#0072b2\" stroke-width=\"1.8\" d=\"M" + place_text(panel, 0, 1)));
  nlohmann::json lonely = one_curve({0, 1, 2}, {1, 5, 2});
  lonely["series"][0]["mean"][1] = nullptr;
  CHECK(count(draw_svg(lonely), "a1.3 1.3") == 2 * 2);  // two dots of two arcs
  CHECK(count(svg, "a1.3 1.3") == 0);
}

TEST_CASE("what is below the floor of an axis is cut at the bottom of the panel") {
  nlohmann::json result = one_curve({0, 1, 2, 3}, {10, 10, -10, 10});
  result["figure"]["panels"][0]["y"]["floor"] = 0.0;
  const PlacedPanel panel = placed(result);
  const double bottom = panel.top + panel.height, share = (10 - panel.panel.y.low) / 20;
  // The line falls from (1, 10) and comes back to (3, 10); each crossing is where the axis ends.
  const std::string cut = svg_number(panel.x_of(3 - share)) + " " + svg_number(bottom);
  const std::string svg = draw_svg(result);
  CHECK(contains(svg, "M" + place_text(panel, 0, 10) + "h"));
  CHECK(contains(svg, "M" + cut + "l"));
  // Nothing of the curve is below.
  CHECK_FALSE(contains(svg, svg_number(panel.y_of(-10))));
}

TEST_CASE("a band has its upper edge forward and its lower edge back") {
  nlohmann::json result = one_curve({0, 10}, {5, 5});
  result["series"][0]["std"] = {1.0, 2.0};
  const PlacedPanel panel = placed(result);
  const auto at = [&](double x, double y) { return Pixel{panel.x_of(x), panel.y_of(y)}; };
  CHECK(contains(
      draw_svg(result),
      "fill-opacity=\".18\" d=\"" + area_path({at(0, 6), at(10, 7), at(10, 3), at(0, 4)}) + "\""));
}

TEST_CASE("bars are rectangles from the foot, side by side") {
  nlohmann::json result = one_curve({1, 3}, {4, 2});
  result["figure"]["panels"][0]["curves"][0]["style"] = "bars";
  const PlacedPanel panel = placed(result);
  // Points are 2 apart: a bar is 1.6 wide.
  const auto bar = [&](double x, double y) {
    return rectangle_path({panel.x_of(x - 0.8), panel.y_of(0)},
                          {panel.x_of(x + 0.8), panel.y_of(y)});
  };
  CHECK(contains(draw_svg(result), " d=\"" + bar(1, 4) + bar(3, 2) + "\""));
  CHECK(contains(draw_svg(result), "fill=\"#1980ba\""));  // 90 % of #0072b2 on white
  CHECK(contains(draw_svg(result), "curves: GD (bars)."));
}

TEST_CASE("a shaded range fills the height of the panel and is described") {
  nlohmann::json result = one_curve({0, 39}, {1, 2});
  result["figure"]["panels"][0]["bands"] = {
      {{"x_low", 10}, {"x_high", 20}, {"label", "window"}, {"color", 1}}};
  const PlacedPanel panel = placed(result);
  const std::string svg = draw_svg(result);
  const std::string range =
      rectangle_path({panel.x_of(10), panel.top}, {panel.x_of(20), panel.top + panel.height});
  CHECK(contains(svg,
                 "fill=\"#d55e00\" fill-opacity=\".12\" stroke=\"#d55e00\" "
                 "stroke-width=\".7\" d=\"" +
                     range + "\""));
  CHECK(contains(svg, "; shaded: window from 10 to 20."));
  CHECK(count(svg, "fill-opacity=\".12\"") == 2);  // and its sample in the legend
}

TEST_CASE("a power of ten has its exponent above the line") {
  nlohmann::json result = one_curve({0, 1}, {1e-7, 1e-3});
  result["figure"]["panels"][0]["y"]["scale"] = "log";
  CHECK(
      contains(draw_svg(result), ">10<tspan dy=\"-5.5\" font-size=\"8.8\">\u22123</tspan></text>"));
}

TEST_CASE("turned texts turn around their place") {
  const PlacedFigure figure = place_figure(read_figure(sample_result()));
  for (const PlacedText& text : figure.texts) {
    if (text.degrees == 0) continue;
    CHECK(contains(draw_svg(sample_result()), " transform=\"rotate(-90 " + svg_number(text.x) +
                                                  " " + svg_number(text.y) + ")\">" + text.text));
  }
}

TEST_CASE("text of the document is text of the drawing, whatever it holds") {
  const std::string hostile =
      "'; </text><script>x</script> \"onload=\" <b> & \\ ${\n!x\nEOD\n&#60;b&#62; ]]>";
  auto result = sample_result();
  result["title"] = hostile;
  auto& panel = result["figure"]["panels"][0];
  panel["title"] = hostile;
  panel["x"] = {{"label", hostile}, {"scale", "linear"}, {"ticks", {hostile, "a%d", "'"}}};
  panel["y"]["label"] = hostile;
  panel["curves"][0]["label"] = hostile;
  panel["curves"][0]["series"] = hostile;
  result["series"][0]["name"] = hostile;
  result["figure"]["panels"][1]["curves"][0]["series"] = hostile;
  panel["lines"] = {{{"y", 0.1}, {"label", hostile}}};
  panel["bands"] = {{{"x_low", 1}, {"x_high", 2}, {"label", hostile}}};
  const std::string svg = draw_svg(result);
  CHECK(contains(svg, "&lt;/text&gt;&lt;script&gt;x"));
  CHECK(contains(svg, ">a%d</text>"));
  for (const char* part : {"<b>", "<script", " \"onload", "\n", "&#60;", "]]>"})
    CHECK_FALSE_MESSAGE(contains(svg, part), std::string(part));
}

TEST_CASE("markup is escaped, and lines are kept") {
  CHECK(escape_markup("<a href=\"x\">'&'\nnext\x01 line") ==
        "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;\nnext line");
}

TEST_CASE("extreme but finite numbers are drawn without an error") {
  auto result = sample_result();
  for (const auto& mean : {nlohmann::json{1e308, -1e308, 1e-308, 0, 1e200},
                           nlohmann::json{5e-324, 5e-324, 5e-324, 5e-324, 5e-324},
                           nlohmann::json{1e9, 1e9 + 1e-6, 1e9, 1e9, 1e9},
                           nlohmann::json{1e-280, 1e280, 1, 1, 1}, nlohmann::json{0, 0, 0, 0, 0}}) {
    for (auto& series : result["series"]) {
      series["x"] = {0, 1, 2, 3, 4};
      series["mean"] = mean;
      series["std"] = {1e308, 0, 1, 1e-320, nullptr};
    }
    for (const char* style : {"line", "bars"}) {
      for (auto& panel : result["figure"]["panels"]) panel["curves"][0]["style"] = style;
      CHECK(contains(draw_svg(result), "</svg>"));
    }
  }
}

}  // namespace svg_test
