#include "experiments/rank_collapse/model_fields.hpp"

#include <doctest/doctest.h>

namespace model_fields_test {

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
  main.value_weights = "orthogonal";
  resolve_defaults(main);
  const std::vector<StackedModel> models =
      stacked_models(main, {"attention", "attention+identity:4"});
  REQUIRE(models.size() == 3);
  CHECK(models[0].label == "attention+orthogonal");
  CHECK(models[0].prefix.empty());
  CHECK(models[1].prefix == "attention.");
  CHECK(models[2].label == "attention+identity");
  CHECK(models[2].prefix == "attention+identity.");
}

}  // namespace model_fields_test
