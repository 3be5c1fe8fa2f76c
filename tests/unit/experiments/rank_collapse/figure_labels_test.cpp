#include "experiments/rank_collapse/figure_labels.hpp"

#include <doctest/doctest.h>

#include <set>

#include "nn/blocks/model_row.hpp"

namespace figure_labels_test {

using namespace ranklab;

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

}  // namespace figure_labels_test
