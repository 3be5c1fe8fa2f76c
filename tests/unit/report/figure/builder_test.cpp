#include "report/figure/builder.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

namespace builder_test {

using namespace ranklab;

namespace {

Records two_trials() {
  Records records(2);
  records[0].set("gap", std::vector<double>{4, 2});
  records[1].set("gap", std::vector<double>{2, 0, 9});
  records[0].set("diverged", 0);
  records[1].set("diverged", 1);
  records[0].count("spectral/x", true);
  return records;
}

}  // namespace

TEST_CASE("a builder takes scalars and series from the records by their names") {
  const Records records = two_trials();
  ResultBuilder out("title", records);
  out.scalar("diverged");
  out.scalar(Inequality{{"spectral/x", "", ""}, "violations.x"});
  out.diverged_where("diverged");
  out.series("gap", "iteration", 1.0);
  out.series("twice", "k", {10, 20}, [](const TrialRecord& record, std::size_t i) {
    return 2 * record.array("gap").at(i);
  });
  CHECK_THROWS_AS(out.scalar("lost"), const std::logic_error&);
  const Result result = out.take();
  CHECK(result.diverged);
  CHECK(result.scalars[0].per_trial == std::vector<double>{0, 1});
  CHECK(result.scalars[1].name == "violations.x");
  CHECK(result.scalars[1].per_trial[0] == 1);
  CHECK(std::isnan(result.scalars[1].per_trial[1]));
  CHECK(result.series[0].x == std::vector<double>{1, 2});
  CHECK(result.series[0].mean == std::vector<double>{3, 1});
  CHECK(result.series[1].x == std::vector<double>{10, 20});
  CHECK(result.series[1].mean == std::vector<double>{6, 2});
}

TEST_CASE("adding a curve without its series is an error; panels without a curve are omitted") {
  const Records records = two_trials();
  ResultBuilder out("title", records);
  out.series("gap", "iteration");
  PanelBuilder panel = out.panel("Gap", {"iteration"}, log_axis("gap"));
  panel.curve("gap", "GD", {LineStyle::dashed, 1, 5.0})
      .line(0.5, "half")
      .line(NAN, "nowhere")
      .band(1, 2, "window");
  CHECK_THROWS_AS(panel.curve("gab", "GD"), const std::logic_error&);
  out.panel("Nothing measured", {"iteration"}, {"y"}).curve_if_measured("other", "");
  const Result result = out.take();
  REQUIRE(result.figure.panels.size() == 1);
  const Panel& drawn = result.figure.panels[0];
  CHECK(drawn.y.scale == Scale::log);
  REQUIRE(drawn.curves.size() == 1);
  CHECK(drawn.curves[0].style == LineStyle::dashed);
  CHECK(drawn.curves[0].color == 1);
  CHECK(drawn.curves[0].x_offset == 5.0);
  CHECK(drawn.lines.size() == 1);
  CHECK(drawn.bands.size() == 1);
}

}  // namespace builder_test
