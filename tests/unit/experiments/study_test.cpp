#include "experiments/study.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

namespace study_test {

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

// A study whose report is given.
struct Reported : Study {
  std::function<void(Numbers&)> numbers = [](Numbers&) {};
  std::function<void(Display&)> figures = [](Display&) {};
  std::vector<Field> flags() override { return {}; }
  Estimate memory() const override { return {}; }
  Work work() const override { return {}; }
  std::string title() const override { return "title"; }
  void derive(Numbers& out) const override { numbers(out); }
  void judge(const Records&, Claims&) const override {}
  void show(Display& out) const override { figures(out); }
};

}  // namespace

TEST_CASE("a report has the scalars and series that derive takes from the records") {
  const Records records = two_trials();
  Reported study;
  study.numbers = [&](Numbers& out) {
    out.scalar("diverged");
    out.scalar(Inequality{{"spectral/x", "spectral/x", "", ""}, "violations.x"});
    out.diverged("gd", scalars_of(out.records(), "diverged"));
    out.diverged("specgd", {0, 0});
    out.series("gap", "iteration", 1.0);
    out.series("twice", "k", {10, 20}, [](const TrialRecord& record, std::size_t i) {
      return 2 * record.array("gap").at(i);
    });
    CHECK_THROWS_AS(out.scalar("lost"), const std::logic_error&);
  };
  const Result result = study.report(records);
  CHECK(result.title == "title");
  CHECK(result.diverged);
  REQUIRE(result.diverged_methods.size() == 1);
  CHECK(result.diverged_methods[0].method == "gd");
  CHECK(result.diverged_methods[0].trials == 1);
  CHECK(result.scalars[0].per_trial == std::vector<double>{0, 1});
  CHECK(result.scalars[1].name == "violations.x");
  CHECK(result.scalars[1].per_trial[0] == 1);
  CHECK(std::isnan(result.scalars[1].per_trial[1]));
  CHECK(result.series[0].x == std::vector<double>{1, 2});
  CHECK(result.series[0].mean == std::vector<double>{3, 1});
  CHECK(result.series[1].x == std::vector<double>{10, 20});
  CHECK(result.series[1].mean == std::vector<double>{6, 2});
}

TEST_CASE("without records, the same code declares what a run has: where, over what, and when") {
  static constexpr Measure gap = {"gap", "L - min L", "the loss above its minimum", "nats"};
  Reported study;
  study.numbers = [](Numbers& out) {
    out.series(At("run", "gd") / gap, "iteration", {0, 1});
    out.sometimes(false, [&] { out.scalar(gap); });
  };
  const std::vector<DeclaredQuantity> declared = study.quantities();
  REQUIRE(declared.size() == 2);
  CHECK(declared[0].quantity.name == "gd.gap");
  CHECK(declared[0].quantity.at.coordinates.at("run") == Coordinate("gd"));
  CHECK(std::string(declared[0].quantity.unit) == "nats");
  CHECK(declared[0].x_name == "iteration");
  CHECK(declared[0].x == std::vector<double>{0, 1});
  CHECK(declared[0].always);
  CHECK(declared[1].x_name == "");
  CHECK(!declared[1].always);
  Records records(1);
  records[0].set("gd.gap", std::vector<double>{4, 2});
  const Result result = study.report(records);
  CHECK(result.scalars.empty());
  CHECK(result.series.size() == 1);
}

TEST_CASE("adding a curve without its series is an error; panels without a curve are omitted") {
  Reported study;
  study.numbers = [](Numbers& out) { out.series("gap", "iteration"); };
  study.figures = [](Display& out) {
    PanelBuilder panel = out.panel("Gap", {"iteration"}, log_axis("gap"));
    panel.curve("gap", "GD", {LineStyle::dashed, 1, 5.0})
        .line(0.5, "half")
        .line(NAN, "nowhere")
        .band(1, 2, "window");
    CHECK_THROWS_AS(panel.curve("gab", "GD"), const std::logic_error&);
    out.panel("Nothing measured", {"iteration"}, {"y"}).curve_if_measured("other", "");
  };
  const Result result = study.report(two_trials());
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

TEST_CASE("values of single trials stay in a series that a curve shows trial by trial, up to 20") {
  for (const std::size_t trials : {2u, 20u, 21u}) {
    CAPTURE(trials);
    Records records(trials);
    for (std::size_t i = 0; i < trials; ++i) {
      records[i].set("gap", std::vector<double>{1.0, static_cast<double>(i)});
      records[i].set("loss", std::vector<double>{2.0});
    }
    records[1].set("gap", std::vector<double>{7.0});
    Reported study;
    study.numbers = [](Numbers& out) {
      out.series("gap", "iteration");
      out.series("loss", "iteration");
    };
    study.figures = [](Display& out) {
      out.panel("Gap", {"iteration"}, {"gap"}).curve("gap", "GD", {.band = BandKind::trials});
      out.panel("Loss", {"iteration"}, {"loss"}).curve("loss", "GD");
    };
    Result result = study.report(records);
    CHECK(result.series[0].trials.size() == trials);
    CHECK(result.series[1].trials.size() == trials);
    drop_unused_trials(result);
    CHECK(result.series[0].trials.size() == (trials <= 20 ? trials : 0));
    CHECK(result.series[1].trials.empty());
    if (trials > 20) continue;
    // A trial has as many values as the series has points: as many as the shortest trial.
    CHECK(result.series[0].trials[1] == std::vector<double>{7});
    CHECK(result.series[0].trials[0] == std::vector<double>{1});
  }
}

TEST_CASE("panels after next_figure belong to a further figure; one without panels is omitted") {
  Reported study;
  study.numbers = [](Numbers& out) { out.series("gap", "iteration"); };
  study.figures = [](Display& out) {
    out.panel("First", {"iteration"}, {"gap"}).curve("gap", "GD").group("g");
    out.columns(3);
    out.next_figure("Details");
    out.panel("Second", {"iteration"}, {"gap"}).curve("gap", "GD");
    out.columns(2);
    out.figure_table({"Table", {"a"}, {{"1"}}});
    out.next_figure("Nothing");
  };
  const Result result = study.report(two_trials());
  REQUIRE(result.figure.panels.size() == 1);
  CHECK(result.figure.panels[0].group == "g");
  CHECK(result.figure.columns == 3);
  CHECK(result.figure.tables.empty());
  REQUIRE(result.more_figures.size() == 1);
  CHECK(result.more_figures[0].title == "Details");
  CHECK(result.more_figures[0].panels.size() == 1);
  CHECK(result.more_figures[0].columns == 2);
  CHECK(result.more_figures[0].tables.size() == 1);
}

}  // namespace study_test
