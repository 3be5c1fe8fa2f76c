// Batches in pieces give the losses, logits and gradients of whole batches.
#include "nn/pieces.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/tolerances.hpp"
#include "nn/sequence_models.hpp"
#include "run/trials.hpp"

namespace pieces_test {

using namespace sequence_models;

namespace {

/// A batch with more tokens than one piece.
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
    int pieces = 0;
    const double by_parts = parted.loss_by_pieces(
        batch, gradient,
        [&](const SequenceModel<double>& of, const SequenceBatch<double>& piece, Turns&) {
          CHECK(piece.targets.size() == of.logits().n_cols);
          seen = arma::join_rows(seen, of.logits());
          ++pieces;
        });
    CHECK(pieces > 1);
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

TEST_CASE("pieces have a few hundred tokens, more for wide models, and at least one sequence") {
  CHECK(piece_ranges(60, 5, 8).size() == 2);
  CHECK(piece_ranges(1, 5, 8).size() == 1);
  CHECK(piece_ranges(4, 64, 64).size() == 1);
  CHECK(piece_ranges(5, 64, 64).size() == 2);
  CHECK(piece_ranges(16, 64, 128).size() == 2);
  CHECK(piece_ranges(3, 1000, 8).size() == 3);
  std::size_t next = 0;  // the pieces follow each other
  for (const PartRange& piece : piece_ranges(61, 5, 8)) {
    CHECK(piece.first == next);
    CHECK(piece.end - piece.first >= 30);
    next = piece.end;
  }
  CHECK(next == 61);
}

TEST_CASE(
    "every mixer gives the same result by pieces: targets at all or some tokens, classes of "
    "sequences") {
  for (const MixerKind kind : mixers) {
    CAPTURE(static_cast<int>(kind));
    check(shape_of(kind), large_batch(shape_of(kind)));
    check(shape_of(kind), large_batch(shape_of(kind), true));
    check(classes_shape(kind), large_batch(classes_shape(kind)));
  }
}

TEST_CASE("pieces without targets are skipped") {
  constexpr double limit = tolerance::residual<double>;
  const SequenceShape shape = shape_of(MixerKind::attention);
  SequenceBatch<double> batch = large_batch(shape, true);
  batch.labeled.resize(2);
  batch.targets.resize(2);
  SequenceModel<double> whole(shape, initial), parted(shape, initial);
  const double loss = pass(whole, batch);
  int pieces = 0;
  CHECK(std::fabs(parted.loss_by_pieces(batch, true, [&](const auto&...) { ++pieces; }) - loss) <=
        limit);
  CHECK(pieces == 1);
  for (std::size_t i = 0; i < whole.parameters().size(); ++i)
    CHECK(
        arma::approx_equal(parted.parameters()[i]->G, whole.parameters()[i]->G, "absdiff", limit));
}

namespace {

/// Runs each piece on its own thread, in turn. After each of its turns the first piece waits, so
/// that whatever the others add to the same sums out of turn comes too early.
class LateFirstPart : public PieceRunner {
 public:
  void run_in_turn(
      std::size_t n,
      const std::function<void(std::size_t, std::size_t, Turns&)>& piece) const override {
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
      piece(i, i, turns);
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
                               const PieceRunner& pieces) {
  std::vector<arma::mat> out(1);
  const double loss = model.loss_by_pieces(
      batch, true,
      [&](const SequenceModel<double>& of, const SequenceBatch<double>&, Turns& turns) {
        turns.take([&] { out[0] = arma::join_rows(out[0], of.logits()); });
      },
      pieces);
  out.push_back({loss});
  for (const Parameter<double>* parameter : model.parameters()) {
    out.push_back(parameter->G);
    if (parameter->error_moment) out.push_back(*parameter->error_moment);
  }
  return out;
}

void check_same_bits(const SequenceShape& shape, bool labeled = false) {
  // In double precision with five pieces, sums in another order differ in their last bits.
  const SequenceBatch<double> batch = batch_of(shape, labeled, "five pieces", 250);
  std::vector<std::vector<arma::mat>> of_runs;
  SequenceModel<double> model(shape, initial);
  perturb(model);
  const PieceRunner alone;
  const LateFirstPart late;
  const Trial two(1, 0, 1), four(1, 0, 3);
  for (const PieceRunner* pieces :
       std::initializer_list<const PieceRunner*>{&alone, &late, &two, &four}) {
    for (Parameter<double>* parameter : model.parameters()) {
      if (parameter->name.ends_with("W1"))
        parameter->error_moment.emplace(shape.hidden, shape.hidden, arma::fill::zeros);
    }
    of_runs.push_back(results(model, batch, *pieces));
    REQUIRE(of_runs.back().size() == of_runs.front().size());
    for (std::size_t i = 0; i < of_runs.back().size(); ++i) {
      CAPTURE(i);
      CHECK(arma::approx_equal(of_runs.back()[i], of_runs.front()[i], "absdiff", 0.0));
    }
  }
}

}  // namespace

TEST_CASE("the bits of losses and gradients do not depend on the threads that run the pieces") {
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
}

TEST_CASE(
    "class tokens, relative positions, a learned lambda and the switches of GPT give the same "
    "result by pieces") {
  SequenceShape image = classes_shape(MixerKind::attention);
  image.class_token = true;
  image.learns_lambda = true;
  check(image, large_batch(image));
  SequenceShape language = shape_of(MixerKind::attention);
  language.relative = language.post = language.output_bias = true;
  check(language, large_batch(language));
  SequenceShape gpt = shape_of(MixerKind::attention);
  gpt.activation = &find_activation("swiglu");
  gpt.heads = 2;
  gpt.untied_head = gpt.embedding_norm = gpt.rotary = gpt.qk_norm = true;
  check(gpt, large_batch(gpt));
}

}  // namespace pieces_test
