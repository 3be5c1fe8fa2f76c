// Figures of the study train on handmade records: tables next to printed values, small multiples,
// and a dot or a line for each training.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "experiments/rank_collapse/trainings/train.hpp"
#include "experiments/result_parts.hpp"
#include "io/atomic_file.hpp"
#include "temporary_folder.hpp"

namespace train_figures_test {

using namespace ranklab;
using namespace ranklab::train;

namespace {

train::Config recall_config() {
  train::Config config;
  config.model = {"attention", "s4d"};
  config.layers = {2};
  config.dim = 32;
  config.batch = 64;
  config.length = 32;
  config.vocab = "64";
  config.steps = {"10"};
  config.lr = {"0.01"};
  config.ffn = {"64"};
  config.lambda = {"1", "learned", "0"};
  config.fill_defaults();
  return config;
}

/// A config for the letters of a file in `folder`.
train::Config text_config(const TemporaryFolder& folder) {
  std::string text;
  for (std::size_t i = 0; i < 4096; ++i) text += static_cast<char>('a' + i * i % 7);
  write_file_atomically(folder / "text", text);
  train::Config config;
  config.task = "text";
  config.text = folder / "text";
  config.vocab = "char";
  config.length = 8;
  config.batch = 4;
  config.steps = {"20"};
  return config;
}

/// Everything that a training records, with values that differ between trials.
Records records_of(const train::Config& config, std::size_t trials) {
  Records records(trials);
  for (std::size_t t = 0; t < trials; ++t) {
    const double value = 0.5 + 0.01 * static_cast<double>(t);
    for (const train::Run& run : config.runs()) {
      for (const Column& column : columns_of(config, run))
        records[t].set(run.key(column.quantity), std::vector<double>(column.x.size(), value));
      records[t].set(run.key(diverged), 0);
    }
  }
  return records;
}

void set_accuracies(Records& records, const std::string& run, std::vector<double> accuracies) {
  for (std::size_t t = 0; t < records.size(); ++t)
    records[t].set(run + "." + std::string(final_accuracy), accuracies.at(t));
}

/// Every curve of every panel shows its trainings one by one.
void check_that_all_curves_show_trials(const Figure& figure) {
  for (const Panel& panel : figure.panels) {
    for (const ranklab::Curve& curve : panel.curves) CHECK(curve.band == BandKind::trials);
  }
}

}  // namespace

TEST_CASE("recall is drawn as Table 1 with our accuracies, and as a dot per training") {
  const train::Config config = recall_config();
  Records records = records_of(config, 5);
  set_accuracies(records, "attention,lambda=1", {1, 1, 0.5, 1, 0.95});
  const Result result = config.report(records);

  REQUIRE(result.figure.tables.size() == 1);
  const FigureTable& table = result.figure.tables[0];
  CHECK(table.title.find("not comparable one to one") != std::string::npos);
  CHECK(table.title.find("guessing: 1.6 there, 25 here") != std::string::npos);
  CHECK(table.columns ==
        std::vector<std::string>{"model", "paper, lambda = 1", "paper, learned lambda",
                                 "here (median): lambda = 1", "here (median): learned",
                                 "here (median): lambda = 0"});
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[0] == std::vector<std::string>{"Softmax attention", "99.6", "98.9",
                                                  "100 (4 of 5 above 90)", "52 (0 of 5 above 90)",
                                                  "52 (0 of 5 above 90)"});
  CHECK(table.rows[1][0] == "S4D");
  CHECK(table.rows[1][1] == "not in the paper");

  CHECK(titles_of(result.figure) == std::vector<std::string>{"Softmax attention", "S4D"});
  CHECK(result.figure.columns == 2);
  for (const Panel& panel : result.figure.panels) {
    CHECK(panel.group == "accuracy");
    CHECK(panel.x.ticks == std::vector<std::string>{"1", "learned", "0"});
    CHECK(panel.y.domain.high == 1);
    REQUIRE(panel.curves.size() == 1);
    CHECK(panel.curves[0].style == LineStyle::points);
    REQUIRE(panel.lines.size() == 1);
    CHECK(panel.lines[0].y == 0.25);
  }
  check_that_all_curves_show_trials(result.figure);
  const Series& dots = find_series(result, "attention.accuracy_by_skip");
  REQUIRE(dots.trials.size() == 5);
  CHECK(dots.trials[2] == std::vector<double>{0.5, 0.52, 0.52});
  CHECK(find_series(result, "attention.accuracy_over_lambda").x.size() == 10);
  CHECK(find_series(result, "attention.accuracy_of_learned").x.size() == 5);

  REQUIRE(result.more_figures.size() == 2);
  CHECK(titles_of(result.more_figures[0]) ==
        std::vector<std::string>{"Softmax attention: accuracy", "S4D: accuracy",
                                 "Softmax attention: learned lambda", "S4D: learned lambda"});
  CHECK(labels_of(result.more_figures[0].panels[0]) ==
        std::vector<std::string>{"lambda = 1", "learned", "lambda = 0"});
  CHECK(labels_of(result.more_figures[0].panels[2]) == std::vector<std::string>{"learned"});
  CHECK(titles_of(result.more_figures[1]) ==
        std::vector<std::string>{"Softmax attention: mu before training", "S4D: mu before training",
                                 "Softmax attention: mu after training", "S4D: mu after training"});
  for (const Figure& figure : result.more_figures) {
    CHECK(figure.columns == 2);
    check_that_all_curves_show_trials(figure);
  }
}

TEST_CASE("Table 1 names the paper's Mamba if it is not trained, and otherwise its row") {
  train::Config config = recall_config();
  const auto missing = [](const Result& result) {
    return std::count(result.notes.begin(), result.notes.end(),
                      "The paper's Table 1 also has Mamba, which is not trained here.");
  };
  CHECK(missing(config.report(records_of(config, 5))) == 1);
  config.model = {"mamba2", "mamba1"};
  const Result result = config.report(records_of(config, 5));
  CHECK(missing(result) == 0);
  const FigureTable& table = result.figure.tables.at(0);
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[1][0] == "Mamba-1");
  CHECK(table.rows[1][1] == "81.5");
  CHECK(table.rows[1][2] == "85.3");
}

TEST_CASE("a learned lambda that starts like a fixed one is not drawn before training") {
  train::Config config = recall_config();
  config.lambda = {"1", "learned", "learned:0.5", "-1"};
  const Result result = config.report(records_of(config, 2));
  const Figure& tokens = result.more_figures.at(1);
  CHECK(labels_of(tokens.panels.at(0)) == std::vector<std::string>{"lambda = 1", "lambda = -1"});
  CHECK(labels_of(tokens.panels.at(2)) ==
        std::vector<std::string>{"lambda = 1", "learned", "learned, rate x 0.5", "lambda = -1"});
  CHECK(tokens.panels[0].curves[1].color == tokens.panels[2].curves[3].color);
}

TEST_CASE("eight layers of attention on images are drawn as the table of Figure 5") {
  const Task task(recall_config());  // for the accuracy of guessing alone
  train::Config config;
  config.task = "pixels";
  config.layers = {8};
  config.init = {"fan", "small"};
  config.lambda = {"-2", "0", "learned"};
  config.steps = {"fan:10", "small:20"};
  config.fill_defaults();
  Records records = records_of(config, 3);
  set_accuracies(records, "attention,lambda=0,L=8,init=small", {0.105, 0.6, 0.105});
  records[0].set("attention,lambda=0,L=8,init=small.end.mu_normalized",
                 std::vector<double>(9, 1e-15));
  const Result result = config.report(records);

  REQUIRE(result.figure.tables.size() == 1);
  const FigureTable& table = result.figure.tables[0];
  CHECK(table.columns == std::vector<std::string>{"lambda", "paper",
                                                  "Usual initial weights: median (range)",
                                                  "Small initial weights: median (range)"});
  REQUIRE(table.rows.size() == 3);
  CHECK(table.rows[0] == std::vector<std::string>{"-2", "38.61", "51 (50 to 52)", "51 (50 to 52)"});
  CHECK(table.rows[1] ==
        std::vector<std::string>{"0", "10.00", "51 (50 to 52)", "10.5 (10.5 to 60)"});
  CHECK(table.rows[2][0] == "learned");
  CHECK(table.rows[2][1] == "not in the paper");
  CHECK(titles_of(result.figure) ==
        std::vector<std::string>{"Usual initial weights (variance 1 / fan-in)",
                                 "Small initial weights (standard deviation 0.02)"});
  // The two starts take different numbers of steps, so that their learning curves share no axis.
  const Figure& learning = result.more_figures.at(0);
  CHECK(learning.panels.at(0).group.empty());
  CHECK_FALSE(learning.panels.at(2).group.empty());
  // One run has collapsed, so that mu is on a logarithmic axis in every panel.
  for (const Panel& panel : result.more_figures.at(1).panels)
    CHECK((panel.y.scale == Scale::log) == (panel.y.label.find("mu") != std::string::npos));
}

TEST_CASE("language models with one lambda have one figure, their training losses") {
  const TemporaryFolder folder;
  train::Config config = text_config(folder);
  config.model = {"mamba2", "attention"};
  config.fill_defaults();
  const Result result = config.report(records_of(config, 2));
  CHECK(result.figure.tables.empty());
  REQUIRE(titles_of(result.figure) == std::vector<std::string>{"Training loss"});
  CHECK(labels_of(result.figure.panels[0]) ==
        std::vector<std::string>{"Mamba-2", "Softmax attention"});
  CHECK(result.figure.panels[0].y.domain.low == 0);
  check_that_all_curves_show_trials(result.figure);
  CHECK(result.more_figures.empty());
}

TEST_CASE("variants are compared by their losses; tokens and gradients are a further figure") {
  const TemporaryFolder folder;
  train::Config config = text_config(folder);
  config.variant = {"post", "pre", "de-escalated"};
  config.mean = {"strict", "segment"};
  config.layers = {2, 3};
  config.lr_post = {0.001, 0.0005};
  config.fill_defaults();
  const Result result = config.report(records_of(config, 3));

  CHECK(titles_of(result.figure) ==
        std::vector<std::string>{"Final training loss", "Final held-out loss",
                                 "Training loss, 3 blocks", "Held-out loss, 3 blocks"});
  CHECK(result.figure.columns == 2);
  check_that_all_curves_show_trials(result.figure);
  for (const Panel& panel : result.figure.panels) {
    CHECK(labels_of(panel) == std::vector<std::string>{"post-norm, rate 0.001",
                                                       "post-norm, rate 0.0005", "pre-norm",
                                                       "de-escalated, mean of earlier tokens",
                                                       "de-escalated, mean of all tokens"});
    CHECK(panel.curves[2].color == 0);
    CHECK(panel.y.domain.low == 0);
    CHECK(panel.lines.size() == 1);
  }
  const Panel& final_losses = result.figure.panels[0];
  CHECK(final_losses.group == result.figure.panels[1].group);
  CHECK(final_losses.x.ticks == std::vector<std::string>{"2", "3"});
  std::set<double> offsets;
  for (const ranklab::Curve& curve : final_losses.curves) offsets.insert(curve.x_offset);
  CHECK(offsets.size() == 5);
  CHECK(find_series(result, final_losses.curves[0].series).trials.size() == 3);
  // The loss before training is recorded but would dwarf the others.
  const Series& held_out = find_series(result, result.figure.panels[3].curves[0].series);
  CHECK(held_out.x.front() == 2);
  CHECK(held_out.x.back() == 20);
  CHECK(find_series(result, "attention,post,L=3,lr=0.001.test_loss").x.size() == 11);
  CHECK(find_series(result, "post, lr = 0.001.loss_over_depth").x == std::vector<double>{2, 3});

  REQUIRE(result.more_figures.size() == 1);
  const Figure& details = result.more_figures[0];
  CHECK(details.title == "Tokens, gradients and attention, 3 blocks");
  CHECK(details.columns == 5);
  REQUIRE(details.panels.size() == 15);
  CHECK(details.panels[5].title == "Post-norm, rate 0.001: gradient norm");
  CHECK(labels_of(details.panels[5]) ==
        std::vector<std::string>{"before training", "after 1/8 of the steps"});
  CHECK(details.panels[5].group == details.panels[9].group);
  CHECK(details.panels[5].group != details.panels[10].group);
  check_that_all_curves_show_trials(details);
}

TEST_CASE("a row of small multiples that would be too long becomes a figure of its own") {
  CHECK(columns_for(1) == 1);
  CHECK(columns_for(5) == 5);
  CHECK(columns_for(6) == 3);
  CHECK(columns_for(8) == 4);
  const TemporaryFolder folder;
  train::Config config = text_config(folder);
  config.variant = {"post", "pre", "de-escalated"};
  config.layers = {3};
  config.lr_post = {0.001, 0.0005};
  config.warmup_post = {0, 2};
  config.fill_defaults();
  const Result result = config.report(records_of(config, 2));
  CHECK(labels_of(result.figure.panels.at(0)).at(1) == "post-norm, rate 0.001, warm-up 2 steps");
  REQUIRE(result.more_figures.size() == 3);
  CHECK(result.more_figures[1].title == "Gradient norm, 3 blocks");
  for (const Figure& figure : result.more_figures) {
    CHECK(figure.panels.size() == 6);
    CHECK(figure.columns == 3);
  }
}

}  // namespace train_figures_test
