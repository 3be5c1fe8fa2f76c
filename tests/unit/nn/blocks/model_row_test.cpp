// The table of models: the name and properties of each row, and that every row is complete.
#include "nn/blocks/model_row.hpp"

#include <doctest/doctest.h>

#include <set>
#include <stdexcept>

#include "nn/blocks/block.hpp"

namespace model_row_test {

using namespace ranklab;

using Names = std::vector<std::string>;

TEST_CASE("model rows: each model has the right properties") {
  for (const std::string& model : model_names()) {
    CAPTURE(model);
    const ModelRow& row = model_row(model);
    CHECK(row.name == model);
    CHECK(row.bare ==
          (model.ends_with("attention") || model == "lti-ssm" || model == "selective-ssm"));
    CHECK(row.has_steps == (model.ends_with("bert") || model == "post-norm"));
    CHECK(row.published.has_value() ==
          (model.ends_with("bert") || model == "gpt2" || model == "mamba2"));
    CHECK(row.has_positions == (model.ends_with("bert") || model == "gpt2"));
    CHECK((row.figure == DepthFigure::shallow_1) == model.ends_with("bert"));
    CHECK((row.figure == DepthFigure::shallow_2) == (model == "post-norm"));
    CHECK((row.figure == DepthFigure::shallow_4) == (model == "pre-norm"));
    CHECK((row.ablation == Ablation::figure_3) == (model == "mamba2"));
    CHECK((row.ablation == Ablation::figure_4) == (model == "s4d"));
    CHECK(row.lambda_varies == (row.bare || model == "s4d" || model == "mamba2"));
  }
  CHECK_THROWS_AS(model_row("bort"), std::logic_error);
}

TEST_CASE("model rows: the names are those of --model, each once, and a spec finds its row") {
  CHECK(model_names() == Names{"attention", "linear-attention", "lti-ssm", "s4d", "selective-ssm",
                               "mamba2", "mamba1", "post-norm", "pre-norm", "bert", "albert",
                               "gpt2"});
  CHECK(std::set<std::string>(model_names().begin(), model_names().end()).size() ==
        model_rows().size());
  ModelSpec spec;
  for (const ModelRow& row : model_rows()) {
    spec.model = row.name;
    CHECK(&spec.row() == &row);
  }
}

TEST_CASE("model rows: models are listed by the features that they have") {
  CHECK(models_with("gating") == Names{"mamba2", "mamba1"});
  CHECK(models_with("lambda-at") == Names{"bert", "albert", "gpt2"});
  CHECK(models_with("no-such-flag").empty());
  CHECK(published_models() == Names{"mamba2", "bert", "albert", "gpt2"});
  CHECK(models_that([](const ModelRow& row) { return row.expand == 2; }) == Names{"mamba2"});
}

TEST_CASE("model rows: every row is complete") {
  for (const ModelRow& row : model_rows()) {
    CAPTURE(row.name);
    REQUIRE(row.makers != nullptr);
    CHECK((std::get<MakeBlock<float>>(row.makers->block) != nullptr));
    CHECK((std::get<MakeBlock<double>>(row.makers->block) != nullptr));
    CHECK((std::get<Embed<float>>(row.makers->embed) == nullptr) ==
          (std::get<Embed<double>>(row.makers->embed) == nullptr));
    CHECK((row.parameters != nullptr));
    CHECK((row.flops != nullptr));
    CHECK(std::count(row.norms.begin(), row.norms.end(), row.norm) == 1);
    CHECK(std::count(row.norms.begin(), row.norms.end(), "none") == 1);
    if (!row.published) continue;
    const PublishedLayout& layout = *row.published;
    CHECK(row.input == "tokens");
    CHECK_FALSE(layout.characteristic.empty());
    for (const auto& part : {layout.embedding, layout.layer, layout.final_norm})
      CHECK((part != nullptr));
    CHECK((layout.read_config != nullptr));
    for (const auto size : {&ModelSpec::dim, &ModelSpec::vocabulary}) CHECK(layout.shows(size));
    CHECK(layout.shows(&ModelSpec::positions) == row.has_positions);
    CHECK(layout.shows(&ModelSpec::embedding) == row.embeds_narrowly);
  }
}

}  // namespace model_row_test
