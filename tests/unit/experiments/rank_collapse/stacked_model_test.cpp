#include "experiments/rank_collapse/stacked_model.hpp"

#include <doctest/doctest.h>

#include <set>

#include "experiments/rank_collapse/depth/depth.hpp"

namespace stacked_model_test {

using namespace ranklab;

TEST_CASE(
    "further models have the sizes that their words give, and otherwise those of the main model") {
  ModelSpec main;
  main.layers = 5;
  main.tokens = 7;
  main.dim = 12;
  resolve_defaults(main);
  const std::vector<StackedModel> models =
      stacked_models(main, {"post-norm:3x24", "attention+identity:4", "bert"});
  REQUIRE(models.size() == 4);
  CHECK(models[0].spec.layers == 5);
  CHECK(models[1].spec.layers == 3);
  CHECK(models[1].spec.dim == 24);
  CHECK(models[2].spec.layers == 4);
  CHECK(models[2].spec.dim == 12);
  CHECK(models[2].spec.value_weights == "identity");
  CHECK(models[3].spec.layers == 5);
  for (const StackedModel& model : models) CHECK(model.spec.tokens == 7);
}

TEST_CASE(
    "the series names of further models start with their labels, those of the main model do not") {
  ModelSpec main;
  resolve_defaults(main);
  const std::vector<StackedModel> models =
      stacked_models(main, {"attention+orthogonal", "attention+identity:4"});
  REQUIRE(models.size() == 3);
  CHECK(models[0].label == "attention");
  CHECK(models[0].at.text.empty());
  CHECK(models[1].at.text == "attention+orthogonal");
  CHECK(models[2].label == "attention+identity");
  CHECK(models[2].at.text == "attention+identity");
}

TEST_CASE("every model has a title of its own, which is not its name on the command line") {
  std::set<std::string> titles;
  for (const ModelRow& row : model_rows()) {
    CAPTURE(row.name);
    CHECK_FALSE(row.title.empty());
    CHECK(row.title != row.name);
    CHECK(titles.insert(row.title).second);
  }
}

TEST_CASE("a label names C_V, and the size of a model that was trained here") {
  ModelSpec spec;
  spec.model = "attention";
  CHECK(figure_label(spec) == "softmax attention");
  spec.value_weights = "identity";
  CHECK(figure_label(spec) == "softmax attention, C_V = I");
  spec.value_weights = "orthogonal";
  CHECK(figure_label(spec) == "softmax attention, orthogonal W_V");
  ModelSpec trained;
  trained.model = "mamba2";
  trained.layers = 4;
  trained.dim = 64;
  CHECK(figure_label(trained) == "Mamba-2");
  trained.trainings = 5;
  CHECK(figure_label(trained) == "trained here: Mamba-2, 4 layers, width 64");
  trained.layers = 1;
  CHECK(figure_label(trained) == "trained here: Mamba-2, 1 layer, width 64");
}

TEST_CASE("single trials are shown if they are few or trainings, otherwise an interval") {
  ModelSpec drawn, trained;
  trained.trainings = 7;
  CHECK(band_of_trials(drawn, 5) == BandKind::trials);
  CHECK(band_of_trials(drawn, 6) == BandKind::interval);
  CHECK(band_of_trials(trained, 7) == BandKind::trials);
}

}  // namespace stacked_model_test
