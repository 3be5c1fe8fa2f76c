// Batches in parts: the losses, logits and gradients of whole ones.
#include "training/parts.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"
#include "training/sequence_models.hpp"

namespace parts_test {

using namespace sequence_models;

namespace {

/// More tokens than a part has.
SequenceBatch<double> many(const SequenceShape& shape, bool labelled = false) {
  return batch_of(shape, labelled, "many", 60);
}

void check(const SequenceShape& shape, const SequenceBatch<double>& batch) {
  constexpr double limit = tolerance::residual<double>;
  SequenceModel<double> model(shape, initial), parted(shape, initial);
  for (SequenceModel<double>* each : {&model, &parted}) perturb(*each);
  const arma::mat expected = logits(model, batch);
  const double loss = pass(model, batch);
  // Twice: what a batch leaves behind does not count for the next.
  for (const bool gradient : {true, false, true}) {
    arma::mat seen(expected.n_rows, 0);
    int parts = 0;
    const double by_parts = parted.loss_by_parts(batch, gradient, [&](const SequenceBatch<double>& part) {
      CHECK(part.targets.size() == parted.logits().n_cols);
      seen = arma::join_rows(seen, parted.logits());
      ++parts;
    });
    CHECK(parts > 1);
    CHECK(std::fabs(by_parts - loss) <= limit);
    CHECK(arma::approx_equal(seen, expected, "absdiff", limit));
  }
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    const Parameter<double>&whole = *model.parameters()[i], &sum = *parted.parameters()[i];
    CAPTURE(whole.name);
    CHECK(arma::norm(sum.G - whole.G, "fro") <= 100 * limit * arma::norm(whole.G, "fro"));
  }
}

}  // namespace

TEST_CASE("parts have a few hundred tokens, more of wide models, and a sequence at least") {
  CHECK(parts_of(60, 5, 8) == 2);
  CHECK(parts_of(1, 5, 8) == 1);
  CHECK(parts_of(4, 64, 64) == 1);
  CHECK(parts_of(5, 64, 64) == 2);
  CHECK(parts_of(16, 64, 128) == 2);
  CHECK(parts_of(3, 1000, 8) == 3);
}

TEST_CASE("every mixer by parts is itself: answers everywhere, at some tokens, classes of sequences") {
  for (const MixerKind kind : mixers) {
    CAPTURE(static_cast<int>(kind));
    check(shape_of(kind), many(shape_of(kind)));
    check(shape_of(kind), many(shape_of(kind), true));
    check(classes_shape(kind), many(classes_shape(kind)));
  }
}

TEST_CASE("parts about which nobody asks are left out") {
  constexpr double limit = tolerance::residual<double>;
  const SequenceShape shape = shape_of(MixerKind::attention);
  SequenceBatch<double> batch = many(shape, true);
  batch.labelled.resize(2);
  batch.targets.resize(2);
  SequenceModel<double> whole(shape, initial), parted(shape, initial);
  const double loss = pass(whole, batch);
  int parts = 0;
  CHECK(std::fabs(parted.loss_by_parts(batch, true, [&](const SequenceBatch<double>&) { ++parts; }) - loss) <= limit);
  CHECK(parts == 1);
  for (std::size_t i = 0; i < whole.parameters().size(); ++i)
    CHECK(arma::approx_equal(parted.parameters()[i]->G, whole.parameters()[i]->G, "absdiff", limit));
}

TEST_CASE("a class token, relative positions and a learned lambda by parts") {
  SequenceShape image = classes_shape(MixerKind::attention);
  image.class_token = true;
  image.learns_lambda = true;
  check(image, many(image));
  SequenceShape language = shape_of(MixerKind::attention);
  language.relative = language.post = language.output_bias = true;
  check(language, many(language));
}

}  // namespace parts_test
