#include "figure/svg.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "figure/picture.hpp"
#include "figure/sample.hpp"
#include "figure/svg_pen.hpp"
#include "figure/text.hpp"
#include "result/typed.hpp"

namespace svg_test {

using namespace ranklab;
using ranklab::testing::contains;
using ranklab::testing::count;
using ranklab::testing::sample_result;
using ranklab::testing::typed;

TEST_CASE("a path leaves out points that a reader cannot see, and survives one point and none") {
  const auto line = [](const PixelLine& points) {
    return path_data(line_path(points), file_precision);
  };
  CHECK(line({{0, 0}, {1, 1.1}, {2, 2}, {3, 3.1}, {4, 4}}) ==
        "M0 0l4 4");  // straight up to a fifth of a pixel
  CHECK(line({{0, 0}, {1, 1}, {2, 5}, {3, 1}, {4, 4}}) == "M0 0l1 1 1 4 1-4 1 3");
  CHECK(line({{3, 4}}) == "M3 4h0");
  CHECK(line({}) == "");
  CHECK(file_precision.number(-0.34).text() == "-.3");
  CHECK(file_precision.number(-0.02).text() == "0");
}

TEST_CASE("a path of a page has whole half pixels, and steps from part to part") {
  const auto page = [](const Path& path) { return path_data(path, page_precision); };
  CHECK(page(line_path({{0, 0}, {1, 0}, {2, 5}, {3, 1.2}, {4, 4}})) == "M0 0h2l2 10 2-8 2 6");
  CHECK(page(line_path({{100, 200}, {101, 205}}) + line_path({{103, 204}, {104, 206}})) ==
        "M200 400l2 10m4-2 2 4");
  CHECK(page(line_path({{100, 200}}) + line_path({{3, 4}})) == "M200 400h0M6 8h0");
  CHECK(page(rectangle_path({10, 20}, {11, 22}) + circle_path({12, 20}, 1.3)) ==
        "M20 40h2v4h-2zm1 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z");
  // Equal markers stay equal, wherever they are.
  const PixelLine triangle = {{0, -4.34}, {3.76, 2.17}, {-3.76, 2.17}};
  for (const double at : {50.0, 50.1, 50.2, 50.3})
    CHECK(contains(page(area_path(triangle, {at, 2 * at})), "l8 13h-16z"));
}

TEST_CASE("a page draws neighboring lines of one pen at once, but no translucent areas") {
  PenSheet sheet;
  const Path line = line_path({{0, 0}, {5, 5}}), area = area_path({{0, 0}, {5, 5}, {5, 0}});
  const Drawing lines = drawn(line, stroke("#000000", 1)) + drawn(line, stroke("#000000", 1)),
                areas = drawn(area, fill("#000000", 1, 0.5)) + drawn(area, fill("#000000", 1, 0.5));
  CHECK(drawing_svg(lines, &sheet).text() == "<path class=A d=\"M0 0l10 10M0 0l10 10\"/>");
  CHECK(count(drawing_svg(areas, &sheet).text(), "<path class=B ") == 2);
  CHECK(count(drawing_svg(lines + areas, nullptr).text(), "<path ") == 4);
  CHECK(sheet == PenSheet{{"stroke:#000000;stroke-width:2px;", "A"},
                          {"fill:#000000;fill-opacity:.5;", "B"}});
}

TEST_CASE("a point without neighbors is drawn as a dot") {
  nlohmann::json result = sample_result();
  result["figure"]["panels"].erase(1);
  result["figure"]["panels"][0]["curves"].erase(1);
  result["series"][0].update({{"x", {0, 1, 2}}, {"mean", {1, 5, 2}}, {"std", {0, 0, 0}}});
  CHECK(count(draw_svg(typed(result)).text(), "a1.3 1.3") == 0);
  result["series"][0]["mean"][1] = nullptr;
  CHECK(count(draw_svg(typed(result)).text(), "a1.3 1.3") == 2 * 2);  // two dots of two arcs
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
  const std::string svg = draw_svg(typed(result)).text();
  CHECK(contains(svg, "&lt;/text&gt;&lt;script&gt;x"));
  CHECK(contains(svg, ">a%d</text>"));
  for (const char* part : {"<b>", "<script", " \"onload", "\n", "&#60;", "]]>"})
    CHECK_FALSE_MESSAGE(contains(svg, part), std::string(part));
}

TEST_CASE("markup is escaped, and lines are kept") {
  CHECK(escape_markup("<a href=\"x\">'&'\nnext\x01 line").text() ==
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
      CHECK(contains(draw_svg(typed(result)).text(), "</svg>"));
    }
  }
}

}  // namespace svg_test
