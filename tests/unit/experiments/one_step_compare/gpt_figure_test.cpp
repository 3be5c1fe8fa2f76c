// Figures of the study gpt on handmade records: panels, tables, and the names of runs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "experiments/one_step_compare/gpt/gpt.hpp"
#include "experiments/result_parts.hpp"
#include "figure/cell_text.hpp"

namespace gpt_figure_test {

using namespace ranklab;

namespace {

/// An empty text, read once.
std::shared_ptr<OncePerRun<Corpus>> no_text() {
  auto out = std::make_shared<OncePerRun<Corpus>>();
  out->get([] { return Corpus{}; });
  return out;
}

gpt::Config config() {
  gpt::Config out;
  out.read_text = no_text();
  out.layers = 2;
  out.dim = 32;
  out.steps = 100;
  out.optimizer = {"adam", "muon"};
  out.measure_steps = {0, 8, 32, 50};
  return out;
}

/// A trial of every run; its final losses are 4 for the first run, 4.1 for the second and so on,
/// plus `noise`.
TrialRecord record(const gpt::Plan& plan, double noise) {
  TrialRecord out;
  double loss = 4 + noise;
  for (const gpt::Run& run : plan.runs) {
    const std::string prefix = run.name() + ".";
    const auto set = [&](const std::string& name, std::size_t values) {
      out.set(prefix + name, std::vector<double>(values, 3 + noise));
    };
    set("train_loss", static_cast<std::size_t>(run.config.steps) + 1);
    set("validation_loss", run.measured.size());
    for (const gpt::RankSeries& each : gpt::rank_series(run)) {
      set(each.name, run.measured.size());
      set("probe." + each.name.name, run.probed.size());
    }
    out.set(prefix + "final_validation_loss", loss);
    out.set(prefix + "violations", 0.25);
    out.set(prefix + "violations_early", std::nan(""));
    out.set(prefix + "diverged", 0.0);
    if (run.follows_criterion()) {
      for (const std::string& block : run.blocks())
        out.set(prefix + "criterion." + block, static_cast<double>(run.config.layers));
    }
    for (const char* when : {"", "early."}) {
      out.set(prefix + when + "one_step.predicted", std::vector<double>{1, 2 + noise});
      out.set(prefix + when + "one_step.by_curvature", std::vector<double>{1, 2});
      out.set(prefix + when + "one_step.batch", std::vector<double>{3, 4});
      out.set(prefix + when + "one_step.independent", std::vector<double>{std::nan(""), 5});
      for (const char* joint : {"one_step.joint.batch", "one_step.joint.independent"})
        out.set(prefix + when + joint, std::vector<double>(2, 1.0));
    }
    loss += 0.1;
  }
  out.set("indicator.stable_rank", std::vector<double>(plan.runs.front().measured.size(), 18.0));
  return out;
}

Result drawn(const gpt::Config& of, std::size_t trials = 3) {
  const gpt::Plan plan = gpt::plan_of(of);
  Records records;
  for (std::size_t i = 0; i < trials; ++i)
    records.push_back(record(plan, 0.01 * static_cast<double>(i * i)));
  return of.report(records);
}

/// The runs of Table 2.
gpt::Config table_2() {
  gpt::Config out = config();
  out.also = {"muon,spectral-on=W2", "adam,activation=swiglu", "muon,activation=swiglu",
              "muon,activation=swiglu,spectral-on=W2"};
  return out;
}

const Figure& figure_with(const Result& result, std::string_view title) {
  const auto found = std::find_if(result.more_figures.begin(), result.more_figures.end(),
                                  [&](const Figure& each) { return each.title == title; });
  CAPTURE(std::string(title));
  REQUIRE(found != result.more_figures.end());
  return *found;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("runs have names for readers, while claims and series keep the words of the flags") {
  gpt::Config of = config();
  of.optimizer = {"adam", "muon", "polar", "sgd"};
  of.lr_embedding = 0.1;
  of.also = {"muon,lr-embedding=3e-2",
             "adam,lr-adam=0.0033,lr-embedding=0.01",
             "muon,spectral-on=hidden+embedding",
             "muon,spectral-on=W2",
             "muon,activation=swiglu,spectral-on=W1+W2+Wg",
             "adam,activation=relu,init=gauss,steps=1",
             "muon,dim=64,steps=110"};
  const gpt::Plan plan = gpt::plan_of(of);
  Words names, ticks;
  for (const gpt::Run& run : plan.runs) {
    names.push_back(run.figure_label());
    ticks.push_back(run.tick_label(false));
  }
  CHECK(names ==
        Words{"Adam", "Muon", "polar factor", "SGD", "Muon, embedding rate 0.03",
              "Adam at rate 0.0033, embedding rate 0.01", "Muon on hidden layers and embedding",
              "Muon on W2 only", "Muon on W1, W2 and Wg only, SwiGLU",
              "Adam, ReLU, Gaussian initial weights, 1 step", "Muon, width 64, 110 steps"});
  CHECK(ticks[4] == "Muon, emb. rate 0.03");
  CHECK(ticks[6] == "Muon + embedding");
  CHECK(plan.runs[4].tick_label(true) == "Muon");
  CHECK(ticks[7] == "Muon on W2");
  CHECK(ticks[8] == "Muon on W1+W2+Wg, SwiGLU");
  CHECK(plan.runs[2].label == "polar");
  CHECK(plan.runs[4].label == "Muon,lr-embedding=3e-2");
  CHECK(plan.runs[4].name() == "muon,lr-embedding=3e-2");
}

TEST_CASE("the first figure shows the ranks of Muon's run, with a color for each layer") {
  Result result = drawn(config());
  drop_unused_trials(result);
  const Figure& figure = result.figure;
  CHECK(figure.tables.empty());
  CHECK(figure.columns == 3);
  CHECK(titles_of(figure) == Words{"B, input of W2 (Figure 2)", "A^rms_mlp, input of W1 (Figure 6)",
                                   "A^rms, input of attention (Figure 6)",
                                   "Gradient of W2 (Figure 5)", "Gradient of W1 (Figure 5)",
                                   "W1 A^rms_mlp, before the activation"});
  const Words series = {"S.stable_rank",   "Am.stable_rank",  "A.stable_rank",
                        "W2.nuclear_rank", "W1.nuclear_rank", "Z.stable_rank"};
  for (std::size_t i = 0; i < series.size(); ++i) {
    const Panel& panel = figure.panels[i];
    CAPTURE(panel.title);
    CHECK(panel.group == "ranks");
    CHECK(panel.x.label == "training step with Muon");
    CHECK(labels_of(panel) == Words{"layer 1", "layer 2"});
    CHECK(panel.curves[1].series == "muon.layer1." + series[i]);
    CHECK(panel.curves[0].color != panel.curves[1].color);
    for (const Curve& curve : panel.curves) {
      CHECK(curve.band == BandKind::trials);
      CHECK(find_series(result, curve.series).trials.size() == 3);
    }
  }
  CHECK(figure.panels[0].lines[0].y == doctest::Approx(12.8).epsilon(1e-12));  // 4 d / 10
  CHECK(figure.panels[1].lines[0].y == 8);
  CHECK(figure.panels[3].lines[0].y == 32);
  CHECK(find_series(result, "muon.train_loss").trials.empty());
}

TEST_CASE("of many layers, some are drawn, among them the first and the last") {
  gpt::Config of = config();
  of.layers = 20;
  const Words shown = labels_of(drawn(of).figure.panels[0]);
  CHECK(shown ==
        Words{"layer 1", "layer 4", "layer 7", "layer 11", "layer 14", "layer 17", "layer 20"});
}

TEST_CASE("a run is compared with Adam's run with the same settings, seed by seed") {
  gpt::Config of = config();
  of.also = {"muon,lr-embedding=0.01", "adam,lr-adam=0.003,lr-embedding=0.01",
             "muon,spectral-on=hidden+embedding", "muon,dim=16"};
  const Result result = drawn(of);
  const Figure& losses = figure_with(result, "Losses of the optimizers");
  REQUIRE(titles_of(losses) == Words{"Held-out loss", "Held-out loss minus that of Adam",
                                     "Final held-out loss minus Adam's with the same settings"});
  CHECK(labels_of(losses.panels[1]) == Words{"Muon"});  // the others are too many for curves
  const Panel& final = losses.panels[2];
  CHECK(final.x.ticks == Words{"Muon", "Muon, emb. rate 0.01", "Muon + embedding"});
  CHECK(labels_of(final) == Words{"Muon"});
  CHECK(final.curves[0].style == LineStyle::points);
  CHECK(final.curves[0].color == losses.panels[1].curves[0].color);
  const Series& series = find_series(result, "muon.final_validation_loss_difference");
  CHECK(series.x == std::vector<double>{1, 2, 3});
  REQUIRE(series.trials.size() == 3);
  // The losses of the runs, in order, are 4, 4.1, ...: minus that of the first run, or for an
  // embedding rate of 0.01 minus that of the fourth.
  for (const std::vector<double>& trial : series.trials) {
    CHECK(std::fabs(trial[0] - 0.1) <= 1e-12);
    CHECK(std::fabs(trial[1] + 0.1) <= 1e-12);
    CHECK(std::fabs(trial[2] - 0.4) <= 1e-12);
  }
  REQUIRE(losses.tables.size() == 1);
  const auto& rows = losses.tables[0].rows;
  REQUIRE(rows.size() == 5);  // those of other widths are left out
  CHECK(rows[0] == Words{"Adam", mean_text({4, 4.01, 4.04}), ""});
  CHECK(rows[2] == Words{"Muon, embedding rate 0.01", mean_text({4.2, 4.21, 4.24}),
                         mean_text({4.2 - 4.3, 4.21 - 4.31, 4.24 - 4.34})});
}

TEST_CASE("if there are more than four runs, curves over steps show those of --optimizer only") {
  gpt::Config of = config();
  for (const char* rate : {"0.1", "0.2", "0.3", "0.4", "0.5"})
    of.also.push_back(std::string("muon,lr-muon=") + rate);
  const Result result = drawn(of);
  const Figure& losses = figure_with(result, "Losses of the optimizers");
  CHECK(labels_of(losses.panels[0]) == Words{"Adam", "Muon"});
  CHECK(labels_of(losses.panels[1]) == Words{"Muon"});
  CHECK(losses.panels[2].x.ticks.size() == 6);
  find_series(result, "muon,lr-muon=0.5.validation_loss_difference");
  of.also.resize(2);
  CHECK(labels_of(figure_with(drawn(of), "Losses of the optimizers").panels[0]) ==
        Words{"Adam", "Muon", "Muon at rate 0.1", "Muon at rate 0.2"});
}

TEST_CASE("the first figure of runs that choose matrices has their losses and what meets (1.8)") {
  gpt::Config of = config();
  of.optimizer = {"adam"};
  of.also = {"muon,lr-embedding=0.01", "muon,lr-adam=0.1,spectral-on=criterion",
             "muon,spectral-on=against-criterion", "muon,spectral-on=Wv+Wo+W1+W2",
             "muon,lr-muon=0.01,spectral-on=criterion"};
  const Result result = drawn(of);
  REQUIRE(result.figure.tables.size() == 2);
  CHECK(result.figure.tables[0].rows.size() == 6);
  CHECK(result.figure.tables[0].rows[1].back() != "");  // against Adam at its own embedding rate
  const FigureTable& matrices = result.figure.tables[1];
  CHECK(matrices.columns == Words{"run", "Wq", "Wk", "Wv", "Wo", "W1", "W2"});
  REQUIRE(matrices.rows.size() == 2);
  // The last run has the rates of Adam of the third one, which decide.
  CHECK(matrices.rows[1] == Words{"Muon where (1.8) fails; Muon at rate 0.01 where (1.8) holds",
                                  "2 of 2", "2 of 2", "2 of 2", "2 of 2", "2 of 2", "2 of 2"});
  REQUIRE(result.figure.panels.size() == 1);
  CHECK(result.figure.panels[0].x.ticks ==
        Words{"all in layers", "by (1.8)", "against (1.8)", "Wv+Wo+W1+W2", "by (1.8)"});
  const Series& differences = find_series(result, "muon.final_validation_loss_difference");
  CHECK(differences.mean[1] == doctest::Approx(0.2).epsilon(1e-9));  // third run minus the first
  // Of all runs; but Adam updates what meets (1.8) and what does not.
  of.spectral_on = {"criterion"};
  of.also = {"muon,lr-muon=0.01"};
  const FigureTable of_muon = drawn(of).figure.tables.at(1);
  REQUIRE(of_muon.rows.size() == 1);
  CHECK(of_muon.rows[0][0].starts_with("Muon"));
}

TEST_CASE(
    "runs that cut matrices are compared with those that have them whole, at equally many heads") {
  gpt::Config of = config();
  of.heads = 4;
  of.optimizer = {"adam"};
  of.also = {"muon,lr-muon=0.01", "muon,muon-parts=heads", "muon,muon-parts=q=heads+k=heads",
             "muon,heads=2,muon-parts=heads", "muon,heads=2"};
  const Result result = drawn(of);
  CHECK(result.figure.panels.at(0).x.ticks ==
        Words{"by heads", "heads of q, k", "2 heads, by heads"});
  // Each run's loss is 0.1 above that of the run before.
  const Series& differences = find_series(result, "muon.final_validation_loss_over_whole");
  const double expected[] = {0.1, 0.2, -0.1};
  REQUIRE(differences.mean.size() == 3);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(differences.mean[i] == doctest::Approx(expected[i]).epsilon(1e-9));
  const FigureTable& table = result.figure.tables.at(0);
  CHECK(table.columns.at(3) == "minus that of whole matrices (\u00B1 99 %)");
  CHECK(table.rows.at(1).at(3) == "");
  CHECK(table.rows.at(2).at(3) != "");
}

TEST_CASE("the first figure of runs without the mean token compares them with those with it") {
  gpt::Config of = config();
  of.also = {"adam,mean-token=remove", "muon,mean-token=remove"};
  of.optimizer = {"adam", "muon"};
  const Result result = drawn(of);
  REQUIRE(result.figure.tables.size() == 1);
  Words names;
  for (const auto& row : result.figure.tables[0].rows) names.push_back(row[0]);
  CHECK(names ==
        Words{"Adam", "Adam, without the mean token", "Muon", "Muon, without the mean token"});
  CHECK(result.figure.panels.size() == 4);
  for (const Panel& panel : result.figure.panels) CHECK(panel.curves.size() == 4);
}

TEST_CASE("the first figure of the runs of Table 2 is the table, printed and measured") {
  const Result result = drawn(table_2());
  REQUIRE(result.figure.tables.size() == 1);
  const FigureTable& table = result.figure.tables[0];
  REQUIRE(table.rows.size() == 6);
  for (const auto& row : table.rows) CHECK(row.size() == table.columns.size());
  const auto column = [&](std::size_t i) {
    Words out;
    for (const auto& row : table.rows) out.push_back(row[i]);
    return out;
  };
  CHECK(column(1) == Words{"3.9242", "3.7023", "3.5654", "0.2219", "0.3588", "62"});
  CHECK(column(3) == Words{"3.8837", "3.7843", "3.5125", "0.0994", "0.3712", "27"});
  CHECK(column(2)[0] == mean_text({4, 4.01, 4.04}));
  CHECK(column(2)[1] == mean_text({4.2, 4.21, 4.24}));
  CHECK(column(2)[2] == mean_text({4.1, 4.11, 4.14}));
  CHECK(column(2)[5] == "undefined");  // Muon gains nothing
  CHECK(column(4)[0] == mean_text({4.3, 4.31, 4.34}));
  CHECK(titles_of(result.figure) ==
        Words{"Final held-out loss minus Adam's with the same settings"});
  CHECK(result.figure.panels[0].x.ticks ==
        Words{"Muon", "Muon on W2", "Muon, SwiGLU", "Muon on W2, SwiGLU"});
  CHECK(
      figure_with(result, "Ranks of inputs and MLP gradients (Figures 2, 5 and 6)").panels.size() ==
      6);
  CHECK(titles_of(figure_with(result, "Losses of the optimizers")) ==
        Words{"Held-out loss", "Held-out loss minus that of Adam"});
}

TEST_CASE("the effect of a gate is drawn for each optimizer, dashed in the optimizer's color") {
  const Result result = drawn(table_2());
  const Figure& gate = figure_with(result, "Without and with a gate (SwiGLU), means over layers");
  REQUIRE(titles_of(gate) == Words{"Post-activations B, input of W2", "Condition (1.8) at W2"});
  for (const Panel& panel : gate.panels) {
    CHECK(labels_of(panel) == Words{"Adam", "Adam, SwiGLU", "Muon", "Muon, SwiGLU"});
    CHECK(panel.curves[0].color == panel.curves[1].color);
    CHECK(panel.curves[0].color != panel.curves[2].color);
    CHECK(panel.curves[1].style == LineStyle::dashed);
  }
  CHECK(gate.panels[0].curves[1].series == "adam,activation=swiglu.mean.S.stable_rank");
  CHECK(gate.panels[1].curves[2].series == "muon.mean.W2.ratio");
  for (const Figure& figure : drawn(config()).more_figures) CHECK(figure.title != gate.title);
}

TEST_CASE("the share of the gain is in percent, and runs that are missing are named so") {
  gpt::Config of = config();
  of.also = {"muon,spectral-on=W2"};
  const gpt::Plan plan = gpt::plan_of(of);
  Records records;
  for (const double noise : {0.0, 0.01, 0.02}) {
    records.push_back(record(plan, noise));
    records.back().set("adam.final_validation_loss", 4.2);
    records.back().set("muon.final_validation_loss", 4.1 - noise);
    records.back().set("muon,spectral-on=W2.final_validation_loss", 4.15 - noise / 2);
  }
  const Result result = of.report(records);
  REQUIRE(result.figure.tables.size() == 1);
  const auto& rows = result.figure.tables[0].rows;
  CHECK(rows[3][2] == mean_text({0.05, 0.055, 0.06}));
  CHECK(rows[4][2] == mean_text({0.1, 0.11, 0.12}));
  CHECK(rows[5][2].starts_with("50"));
  for (const auto& row : rows) CHECK(row[4] == "not run");
}

TEST_CASE(
    "other gradients, the ratios of condition (1.8) and single steps have their own figures") {
  gpt::Config of = config();
  of.optimizer = {"muon", "adam"};
  of.one_step = true;
  of.one_step_at = {8, 32};
  const Result result = drawn(of);
  const Figure& gradients =
      figure_with(result, "Attention, embedding and head gradients (Figures 7 to 10)");
  CHECK(titles_of(gradients) == Words{"Gradient of Wq (Figure 8)", "Gradient of Wk (Figure 8)",
                                      "Gradient of Wv (Figure 9)", "Gradient of Wo (Figure 9)",
                                      "Embedding (Figures 7 and 10)", "Head (Figures 6 and 7)"});
  CHECK(gradients.columns == 2);
  const Figure& ratios =
      figure_with(result, "Condition (1.8): nr(G) is at least the stable rank of the input");
  CHECK(ratios.columns == 4);
  REQUIRE(ratios.panels.size() == 8);
  CHECK(ratios.panels[5].curves[1].series == "adam.mean.W2.ratio");
  CHECK(ratios.panels[6].curves[0].series == "muon.head.ratio");
  for (const Panel& panel : ratios.panels) CHECK(labels_of(panel) == Words{"Muon", "Adam"});
  // No step before 32 has a finite share.
  REQUIRE(ratios.tables.size() == 1);
  CHECK(ratios.tables[0].columns == Words{"run", "from step 32 on, % (\u00B1 99 %)"});
  CHECK(ratios.tables[0].rows == std::vector<Words>{{"Muon", "25"}, {"Adam", "25"}});
  const Figure& steps = figure_with(result, "One-step comparisons (eq. 1.1), run of Muon");
  REQUIRE(steps.panels.size() == 2);
  for (const Panel& panel : steps.panels)
    CHECK(labels_of(panel) ==
          Words{"on the batch that gave G", "on an independent batch", "prediction of eq. (1.1)"});
  const Series &batch = find_series(result, "muon.early.one_step.batch.points"),
               &independent = find_series(result, "muon.one_step.independent.points");
  CHECK(batch.x == std::vector<double>{1, 2, 1, 2.01, 1, 2.04});
  CHECK(batch.mean == std::vector<double>{3, 4, 3, 4, 3, 4});
  CHECK(independent.x == std::vector<double>{2, 2.01, 2.04});  // undefined ratios are left out
}

TEST_CASE("a run that is alone has nothing to be compared with") {
  gpt::Config of = config();
  of.optimizer = {"sgd"};
  const Result result = drawn(of, 1);
  const Figure& losses = figure_with(result, "Losses of the optimizers");
  CHECK(titles_of(losses) == Words{"Held-out loss"});
  CHECK(losses.tables.empty());
  CHECK(result.figure.panels[0].x.label == "training step with SGD");
}

}  // namespace gpt_figure_test
