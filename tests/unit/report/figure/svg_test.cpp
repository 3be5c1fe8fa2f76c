#include "report/figure/svg.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "report/figure/picture.hpp"
#include "report/figure/sample.hpp"
#include "report/figure/svg_path.hpp"
#include "report/figure/text.hpp"
#include "report/typed.hpp"

namespace svg_test {

using namespace ranklab;
using ranklab::testing::contains;
using ranklab::testing::count;
using ranklab::testing::sample_result;
using ranklab::testing::typed;

TEST_CASE("a path leaves out points that a reader cannot see, and survives one point and none") {
  CHECK(line_path({{0, 0}, {1, 1.1}, {2, 2}, {3, 3.1}, {4, 4}}) ==
        "M0 0l4 4");  // straight up to a fifth of a pixel
  CHECK(line_path({{0, 0}, {1, 1}, {2, 5}, {3, 1}, {4, 4}}) == "M0 0l1 1 1 4 1-4 1 3");
  CHECK(line_path({{3, 4}}) == "M3 4h0");
  CHECK(line_path({}) == "");
  CHECK(svg_number(-0.34) == "-.3");
  CHECK(svg_number(-0.02) == "0");
}

TEST_CASE("a point without neighbors is drawn as a dot") {
  nlohmann::json result = sample_result();
  result["figure"]["panels"].erase(1);
  result["figure"]["panels"][0]["curves"].erase(1);
  result["series"][0].update({{"x", {0, 1, 2}}, {"mean", {1, 5, 2}}, {"std", {0, 0, 0}}});
  CHECK(count(draw_svg(typed(result)), "a1.3 1.3") == 0);
  result["series"][0]["mean"][1] = nullptr;
  CHECK(count(draw_svg(typed(result)), "a1.3 1.3") == 2 * 2);  // two dots of two arcs
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
  const std::string svg = draw_svg(typed(result));
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
      CHECK(contains(draw_svg(typed(result)), "</svg>"));
    }
  }
}

}  // namespace svg_test
