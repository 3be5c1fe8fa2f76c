// The engine of grids of trainings: names and groups from settings, numbers of runs over trials,
// and a panel of dots.
#include <doctest/doctest.h>

#include <cmath>

#include "experiments/grid/runs.hpp"
#include "experiments/result_parts.hpp"

namespace runs_test {

using namespace ranklab;
using namespace ranklab::grid;

namespace {

/// A model with a skip and a depth.
grid::Run run_of(const std::string& model, double lambda, double depth) {
  grid::Run run;
  run.settings = {{"model", model, model, "the " + model, true},
                  {"lambda", lambda, lambda == 1 ? "" : say("lambda={}", lambda), "skip", false},
                  {"L", depth, say("L={}", depth), say("{} layers", depth), true}};
  run.place = place_of(run.settings);
  run.label = run.name();
  return run;
}

const std::vector<grid::Run> runs = {run_of("mamba", 0, 2), run_of("mamba", 1, 2),
                                     run_of("attention", 0, 2), run_of("mamba", 1, 8)};

constexpr Measure loss = {"loss", "", "a loss", "nats"};

/// The losses of the first run in three trials, of which it diverged in the second.
Records some_records() {
  Records out(3);
  for (std::size_t t = 0; t < out.size(); ++t) {
    out[t].set(runs[0].key(loss), t == 1 ? std::nan("") : 0.5 * static_cast<double>(t));
    out[t].set(runs[0].key(diverged), t == 1);
  }
  return out;
}

}  // namespace

TEST_CASE("the name of a run is that of its settings, in their order, and its place has them") {
  CHECK(runs[0].name() == "mamba,lambda=0,L=2");
  CHECK(runs[1].name() == "mamba,L=2");  // a setting without a name is left out
  CHECK_FALSE(runs[1].place.coordinates.contains("lambda"));
  CHECK(runs[0].place.coordinates.at("L") == Coordinate(2.0));
  CHECK(runs[0].key(loss).name == "mamba,lambda=0,L=2.loss");
  CHECK(std::string(runs[0].key(loss).unit) == "nats");
  CHECK(place_of(runs[0].but_for({"lambda"})).text == "mamba,L=2");
  CHECK(words_of(varying(runs[0].settings)) == std::vector<std::string>{"the mamba", "2 layers"});
  CHECK(words_of(runs[0].on({"L", "model"})) == std::vector<std::string>{"2 layers", "the mamba"});
}

TEST_CASE("runs are the same on some axes or but for some, by value and not by name") {
  CHECK(runs[0].same_but_for(runs[1], {"lambda"}));
  CHECK_FALSE(runs[0].same_but_for(runs[1], {"L"}));
  CHECK(runs[1].same_on(runs[3], {"model", "lambda"}));
  CHECK_FALSE(runs[0].same_on(runs[2], {"model"}));
  grid::Run renamed = runs[0];
  for (Setting& setting : renamed.settings) setting.name = setting.words = "other";
  CHECK(renamed.same_but_for(runs[0], {}));
  const auto groups =
      grouped(runs, [](const auto& a, const auto& b) { return a.same_but_for(b, {"lambda"}); });
  REQUIRE(groups.size() == 3);
  CHECK(groups[0] == std::vector<const grid::Run*>{&runs[0], &runs[1]});
  CHECK(groups[2].front() == &runs[3]);
  CHECK(first_where(groups[0], [](const auto& run) { return run.name() == "mamba,L=2"; }) ==
        &runs[1]);
  CHECK(first_where(runs, [](const auto& run) { return run.name().empty(); }) == nullptr);
}

TEST_CASE("every run trains once in a trial, and the record has its numbers at its place") {
  const TrialRecord record = train_each(
      runs, Trial(1, 0, 2), [](const auto&) { return 1.0; },
      [](const grid::Run& run) {
        TrialRecord out;
        out.set(loss, std::get<double>(run.settings.back().value));
        return out;
      });
  CHECK(record.arrays().size() == runs.size());
  for (const grid::Run& run : runs)
    CHECK(InTrial{run, record}(loss) == std::get<double>(run.settings.back().value));
}

TEST_CASE("a number of a run that diverged has a stand-in, and claims know the trial") {
  const Records records = some_records();
  const RunRecords view(runs[0], records);
  CHECK(view.numbers(loss, 9) == std::vector<double>{0, 9, 1});
  CHECK(std::isnan(view.numbers(loss)[1]));
  CHECK(view.times_diverged() == 1);
  const auto found = divergences_of<grid::Run>({&runs[0], nullptr}, records);
  REQUIRE(found.size() == 1);
  CHECK(found[0].run == "mamba,lambda=0,L=2");
  CHECK(found[0].in_trial == std::vector<bool>{false, true, false});
  Result result;
  Numbers numbers(result, records);
  derive_divergences(numbers, std::vector{runs[0]});
  CHECK(result.diverged);
  Display display(result, records);
  note_divergences(
      display, std::vector{runs[0]}, [](const auto&) { return "It"; }, " So.");
  CHECK(result.notes == std::vector<std::string>{"It diverged in 1 of 3 trials. So."});
}

TEST_CASE("a panel of dots adds a series for each color, and draws it at named places") {
  const Records records(2);
  const DotPanel panel{
      "Title",
      "run",
      {"", Scale::linear, {"a", "b", "c"}},
      {"y"},
      {{loss, places_to(2), [](const auto&, std::size_t i) { return i == 0 ? 0.5 : 1.5; }, "one", 4,
        0.25},
       {At("run", "c") / loss, {3}, [](const auto&, std::size_t) { return 7.0; }, "two"}}};
  Result result;
  Numbers numbers(result, records);
  panel.derive(numbers);
  CHECK(find_series(result, "loss").x == std::vector<double>{1, 2});
  CHECK(find_series(result, "loss").mean == std::vector<double>{0.5, 1.5});
  CHECK(find_series(result, "c.loss").x == std::vector<double>{3});
  Display display(result, records);
  panel.show(display).line(0);
  const Panel& drawn = result.figure.panels.front();
  CHECK(drawn.x.ticks.size() == 3);
  CHECK(drawn.curves[0].x_offset == 0.25);
  CHECK(drawn.curves[0].color == 4);
  CHECK(drawn.curves[1].label == "two");
  CHECK(drawn.curves[1].band == BandKind::trials);
  // Without records it declares what it would add.
  CHECK(Numbers::declared_by([&](Numbers& out) { panel.derive(out); }).size() == 2);
}

}  // namespace runs_test
