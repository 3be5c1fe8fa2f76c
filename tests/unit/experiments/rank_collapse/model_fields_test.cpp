#include "experiments/rank_collapse/model_fields.hpp"

#include <doctest/doctest.h>

namespace model_fields_test {

using namespace ranklab;

TEST_CASE("further models have the sizes that their words say, otherwise the main model's") {
  ModelSpec main;
  main.layers = 5;
  main.tokens = 7;
  main.dim = 12;
  settle(main);
  const std::vector<StackedModel> models = stacked_models(main, {"post-norm:3x24", "attention+identity:4", "bert"});
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

TEST_CASE("the names of further models begin with their labels, the main model's with nothing") {
  ModelSpec main;
  main.value_weights = "orthogonal";
  settle(main);
  const std::vector<StackedModel> models = stacked_models(main, {"attention", "attention+identity:4"});
  REQUIRE(models.size() == 3);
  CHECK(models[0].label == "attention+orthogonal");
  CHECK(models[0].prefix.empty());
  CHECK(models[1].prefix == "attention.");
  CHECK(models[2].label == "attention+identity");
  CHECK(models[2].prefix == "attention+identity.");
}

}  // namespace model_fields_test
