// Batches in parts give the losses, logits and gradients of whole batches.
#include "nn/parts.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"
#include "nn/sequence_models.hpp"

namespace parts_test {

using namespace sequence_models;

namespace {

/// A batch with more tokens than one part.
SequenceBatch<double> large_batch(const SequenceShape& shape, bool labeled = false) {
  return batch_of(shape, labeled, "many", 60);
}

void check(const SequenceShape& shape, const SequenceBatch<double>& batch) {
  constexpr double limit = tolerance::residual<double>;
  SequenceModel<double> model(shape, initial), parted(shape, initial);
  for (SequenceModel<double>* each : {&model, &parted}) perturb(*each);
  const arma::mat expected = logits(model, batch);
  const double loss = pass(model, batch);
  // Repeats: a batch must not affect the next one.
  for (const bool gradient : {true, false, true}) {
    arma::mat seen(expected.n_rows, 0);
    int parts = 0;
    const double by_parts =
        parted.loss_by_parts(batch, gradient, [&](const SequenceBatch<double>& part) {
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

TEST_CASE("parts have a few hundred tokens, more for wide models, and at least one sequence") {
  CHECK(part_ranges(60, 5, 8).size() == 2);
  CHECK(part_ranges(1, 5, 8).size() == 1);
  CHECK(part_ranges(4, 64, 64).size() == 1);
  CHECK(part_ranges(5, 64, 64).size() == 2);
  CHECK(part_ranges(16, 64, 128).size() == 2);
  CHECK(part_ranges(3, 1000, 8).size() == 3);
  std::size_t next = 0;  // the parts follow each other
  for (const PartRange& part : part_ranges(61, 5, 8)) {
    CHECK(part.first == next);
    CHECK(part.end - part.first >= 30);
    next = part.end;
  }
  CHECK(next == 61);
}

TEST_CASE(
    "every mixer gives the same result by parts: targets at all or some tokens, classes of "
    "sequences") {
  for (const MixerKind kind : mixers) {
    CAPTURE(static_cast<int>(kind));
    check(shape_of(kind), large_batch(shape_of(kind)));
    check(shape_of(kind), large_batch(shape_of(kind), true));
    check(classes_shape(kind), large_batch(classes_shape(kind)));
  }
}

TEST_CASE("parts without targets are skipped") {
  constexpr double limit = tolerance::residual<double>;
  const SequenceShape shape = shape_of(MixerKind::attention);
  SequenceBatch<double> batch = large_batch(shape, true);
  batch.labeled.resize(2);
  batch.targets.resize(2);
  SequenceModel<double> whole(shape, initial), parted(shape, initial);
  const double loss = pass(whole, batch);
  int parts = 0;
  CHECK(std::fabs(parted.loss_by_parts(batch, true, [&](const SequenceBatch<double>&) {
          ++parts;
        }) - loss) <= limit);
  CHECK(parts == 1);
  for (std::size_t i = 0; i < whole.parameters().size(); ++i)
    CHECK(
        arma::approx_equal(parted.parameters()[i]->G, whole.parameters()[i]->G, "absdiff", limit));
}

TEST_CASE("class tokens, relative positions and a learned lambda give the same result by parts") {
  SequenceShape image = classes_shape(MixerKind::attention);
  image.class_token = true;
  image.learns_lambda = true;
  check(image, large_batch(image));
  SequenceShape language = shape_of(MixerKind::attention);
  language.relative = language.post = language.output_bias = true;
  check(language, large_batch(language));
}

}  // namespace parts_test
