// Batches in parts give the losses, logits and gradients of whole batches.
#include "nn/parts.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/tolerances.hpp"
#include "nn/sequence_models.hpp"
#include "run/trials.hpp"

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
    const double by_parts = parted.loss_by_parts(
        batch, gradient,
        [&](const SequenceModel<double>& of, const SequenceBatch<double>& part, Turns&) {
          CHECK(part.targets.size() == of.logits().n_cols);
          seen = arma::join_rows(seen, of.logits());
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

TEST_CASE("few parts come in two pieces of about equal size") {
  // 30 sequences of 25 tokens are three parts of ten.
  const std::vector<PartRange> ranges = part_ranges(30, 25, 8, true);
  CHECK(ranges.size() == 6);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    CHECK(ranges[i].first == 5 * i);
    CHECK(ranges[i].end == 5 * (i + 1));
    CHECK(ranges[i].piece.first == (i % 2 == 0));
    CHECK(ranges[i].piece.last == (i % 2 == 1));
  }
  const std::vector<PartRange> odd = part_ranges(9, 25, 8, true);
  CHECK(odd.size() == 2);
  CHECK(odd[0].end == 5);
  CHECK(odd[1].first == 5);
  CHECK(odd[1].end == 9);
  CHECK(part_ranges(1, 25, 8, true).size() == 1);  // a piece has at least one sequence
  CHECK(part_ranges(1, 25, 8, true).front().piece.is_whole());
  CHECK(part_ranges(50, 25, 8, true).size() == 10);
  const std::vector<PartRange> many = part_ranges(60, 25, 8, true);
  CHECK(many.size() == 6);
  CHECK(many.front().piece.is_whole());
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
  CHECK(std::fabs(parted.loss_by_parts(batch, true, [&](const auto&...) { ++parts; }) - loss) <=
        limit);
  CHECK(parts == 1);
  for (std::size_t i = 0; i < whole.parameters().size(); ++i)
    CHECK(
        arma::approx_equal(parted.parameters()[i]->G, whole.parameters()[i]->G, "absdiff", limit));
}

namespace {

/// Runs each part on its own thread, in turn. After each of its turns the first part waits, so that
/// whatever the others add to the same sums out of turn comes too early.
class LateFirstPart : public PartRunner {
 public:
  void run_in_turn(std::size_t n, const std::function<void(std::size_t, std::size_t, Turns&)>& part)
      const override {
    std::mutex lock;
    std::condition_variable changed;
    std::vector<std::size_t> ended(n, 0);
    const auto run = [&](std::size_t i) {
      struct InOrder : Turns {
        std::mutex& lock;
        std::condition_variable& changed;
        std::vector<std::size_t>& ended;
        std::size_t i;
        InOrder(std::mutex& l, std::condition_variable& c, std::vector<std::size_t>& e,
                std::size_t part_number)
            : lock(l), changed(c), ended(e), i(part_number) {}
        void begin() override {
          std::unique_lock guard(lock);
          changed.wait(guard, [&] { return i == 0 || ended[i - 1] > ended[i]; });
        }
        void end() override {
          {
            const std::lock_guard guard(lock);
            ++ended[i];
          }
          changed.notify_all();
          if (i == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
      } turns(lock, changed, ended, i);
      part(i, i, turns);
      {
        const std::lock_guard guard(lock);
        ended[i] = n * 1000;
      }
      changed.notify_all();
    };
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < n; ++i) threads.emplace_back(run, i);
    run(0);
  }
};

/// The loss, the logits in the order in which they are seen, and all gradients.
std::vector<arma::mat> results(SequenceModel<double>& model, const SequenceBatch<double>& batch,
                               const PartRunner& parts) {
  std::vector<arma::mat> out(1);
  const double loss = model.loss_by_parts(
      batch, true,
      [&](const SequenceModel<double>& of, const SequenceBatch<double>&, Turns& turns) {
        turns.take([&] { out[0] = arma::join_rows(out[0], of.logits()); });
      },
      parts);
  out.push_back({loss});
  for (const Parameter<double>* parameter : model.parameters()) {
    out.push_back(parameter->G);
    if (parameter->error_moment) out.push_back(*parameter->error_moment);
  }
  return out;
}

/// A shape whose parts come in pieces.
SequenceShape in_pieces() {
  SequenceShape shape = classes_shape(MixerKind::attention);
  shape.dim = 16;
  shape.hidden = 24;
  shape.heads = 2;
  return shape;
}

void check_same_bits(const SequenceShape& shape, bool labeled = false) {
  // In double precision with five parts, sums in another order differ in their last bits.
  const SequenceBatch<double> batch = batch_of(shape, labeled, "five parts", 250);
  std::vector<std::vector<arma::mat>> of_runs;
  SequenceModel<double> model(shape, initial);
  perturb(model);
  const PartRunner alone;
  const LateFirstPart late;
  const Trial two(1, 0, 1), four(1, 0, 3);
  for (const PartRunner* parts :
       std::initializer_list<const PartRunner*>{&alone, &late, &two, &four}) {
    for (Parameter<double>* parameter : model.parameters()) {
      if (parameter->name.ends_with("W1"))
        parameter->error_moment.emplace(shape.hidden, shape.hidden, arma::fill::zeros);
    }
    of_runs.push_back(results(model, batch, *parts));
    REQUIRE(of_runs.back().size() == of_runs.front().size());
    for (std::size_t i = 0; i < of_runs.back().size(); ++i) {
      CAPTURE(i);
      CHECK(arma::approx_equal(of_runs.back()[i], of_runs.front()[i], "absdiff", 0.0));
    }
  }
}

}  // namespace

TEST_CASE("the bits of losses and gradients do not depend on the threads that run the parts") {
  for (const MixerKind kind : mixers) {
    CAPTURE(static_cast<int>(kind));
    check_same_bits(shape_of(kind));
    check_same_bits(shape_of(kind), true);
    check_same_bits(classes_shape(kind));
  }
  SequenceShape gated = shape_of(MixerKind::attention);
  gated.activation = &find_activation("swiglu");
  gated.heads = 2;
  gated.untied_head = gated.embedding_norm = gated.rotary = true;
  check_same_bits(gated);
  SequenceShape image = classes_shape(MixerKind::attention);
  image.class_token = true;
  check_same_bits(image);
  image.post = image.learns_lambda = image.lambda_at_both = true;
  check_same_bits(image);
  SequenceShape language = shape_of(MixerKind::attention);
  language.relative = language.post = language.output_bias = true;
  check_same_bits(language);
  for (const DeEscalation::At at : {DeEscalation::At::end, DeEscalation::At::feed_forward}) {
    SequenceShape removal = shape_of(MixerKind::attention);
    removal.post = true;
    removal.de_escalation = {.tau = 0.5,
                             .mean = MeanOver::strict,
                             .at = at,
                             .length = removal.length,
                             .learns_tau = true};
    check_same_bits(removal);
  }
  check_same_bits(in_pieces());
}

TEST_CASE_TEMPLATE("the pieces of a part give the bits of the gradients of the whole part", T,
                   float, double) {
  const auto check_bits = [](const SequenceShape& shape) {
    REQUIRE(can_come_in_pieces(shape));
    // One part, so that a pass over the whole batch takes the same sums.
    const SequenceBatch<T> batch = batch_of<T>(shape, false, "one part", 40);
    SequenceModel<T> whole(shape, initial), parted(shape, initial);
    for (SequenceModel<T>* each : {&whole, &parted}) perturb(*each);
    const double loss = pass(whole, batch);
    for (int repeat = 0; repeat < 2; ++repeat) {
      int pieces = 0;
      const double by_pieces = parted.loss_by_parts(batch, true, [&](const auto&...) { ++pieces; });
      CHECK(pieces == 2);
      CHECK(std::fabs(by_pieces - loss) <= tolerance::residual<double>);
      for (std::size_t i = 0; i < whole.parameters().size(); ++i) {
        CAPTURE(whole.parameters()[i]->name);
        CHECK(arma::approx_equal(parted.parameters()[i]->G, whole.parameters()[i]->G, "absdiff",
                                 T(0)));
      }
    }
  };
  SequenceShape shape = in_pieces();
  check_bits(shape);
  shape.class_token = shape.post = true;
  shape.lambda = 0.5;
  check_bits(shape);
  shape.de_escalation = {.tau = 0.5, .at = DeEscalation::At::end, .length = shape.length};
  check_bits(shape);
  shape.norm = Norm::rms;
  shape.maps.input_biases = true;
  shape.activation = &find_activation("swiglu");
  check_bits(shape);
  shape.hidden = 0;
  check_bits(shape);
}

TEST_CASE("only parts whose gradients can be continued come in pieces") {
  const auto with = [](const auto& change) {
    SequenceShape shape = in_pieces();
    change(shape);
    return can_come_in_pieces(shape);
  };
  CHECK(with([](SequenceShape&) {}));
  CHECK_FALSE(with([](SequenceShape& shape) { shape.heads = 1; }));  // merged maps
  CHECK_FALSE(with([](SequenceShape& shape) { shape.classes = 0; }));
  CHECK_FALSE(with([](SequenceShape& shape) { shape.mixer = MixerKind::mamba1; }));
  CHECK_FALSE(with([](SequenceShape& shape) { shape.learns_lambda = true; }));
  CHECK_FALSE(with([](SequenceShape& shape) {
    shape.de_escalation = {.length = shape.length, .learns_tau = true};
  }));
  // Longer sums than product() takes in one go: of a hidden layer, or of a part.
  CHECK_FALSE(with([](SequenceShape& shape) { shape.hidden = 257; }));
  CHECK_FALSE(with([](SequenceShape& shape) { shape.dim = 128; }));
}

TEST_CASE("class tokens, relative positions and a learned lambda give the same result by parts") {
  SequenceShape image = classes_shape(MixerKind::attention);
  image.class_token = true;
  image.learns_lambda = true;
  check(image, large_batch(image));
  SequenceShape language = shape_of(MixerKind::attention);
  language.relative = language.post = language.output_bias = true;
  check(language, large_batch(language));
  check(in_pieces(), large_batch(in_pieces()));
}

}  // namespace parts_test
