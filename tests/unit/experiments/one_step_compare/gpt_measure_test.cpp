// Checks the measurements of a step by other methods: ranks of whole matrices, and best steps from
// a fine grid.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <numbers>

#include "core/tolerances.hpp"
#include "ensembles/random_features.hpp"
#include "experiments/one_step_compare/gpt/measure.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/polar.hpp"
#include "linalg/spectra.hpp"

namespace gpt_measure_test {

using namespace ranklab;

namespace {

const Trial trial(21, 0, 0);

using Batch = SequenceBatch<double>;

SequenceShape shape() {
  SequenceShape shape = gpt_shape(find_activation("swiglu"), Norm::rms, false, true);
  shape.vocabulary = 13, shape.layers = 2, shape.dim = 8, shape.heads = 2, shape.length = 6;
  shape.hidden = 16;
  return shape;
}

Batch batch_of(const char* name, std::uint64_t sequences = 4) {
  Batch batch;
  Stream stream = trial.stream(name);
  for (std::uint64_t n = 0; n < sequences * 6; ++n) {
    batch.ids.push_back(static_cast<std::uint32_t>(stream.uniform() * stream.uniform() * 13));
    batch.targets.push_back(static_cast<std::uint32_t>(stream.uniform() * 13));
  }
  return batch;
}

struct Step {
  SequenceModel<double> model{shape(), gpt_initial_weights("gauss", shape(), trial)};
  Batch batch;
  gpt::Moments moments;

  explicit Step(const char* name = "batch") : batch(batch_of(name)) {
    for (const auto& [parameter, role, l, block] : gpt_weights(model)) {
      if (role != WeightRole::embedding)
        parameter->error_moment.emplace(parameter->W.n_rows, parameter->W.n_rows,
                                        arma::fill::zeros);
    }
    model.forward(batch);
    model.loss(batch, true);
    model.backward(batch);
    Turns alone;
    gpt::add_activations(model, batch, alone, moments);
  }

  GptLayer<Parameter<double>> layer(std::uint64_t l) { return gpt_layer(model, l); }

  double loss_with(Parameter<double>& parameter, const arma::mat& W, const Batch& on) {
    const arma::mat start = parameter.W;
    parameter.W = W;
    model.forward(on);
    parameter.W = start;
    return model.loss(on, false);
  }
};

Track ranks_of(Step& step, gpt::MeasuredOn text) {
  gpt::Run run;
  run.config.layers = 2, run.config.activation = "swiglu";
  run.measured = run.probed = {0};
  Track track(gpt::columns_of(run));
  gpt::add_ranks(step.model, step.moments, text, track);
  return track;
}

double stable(const arma::mat& A) {
  return stable_rank(singular_values(A));
}
double nuclear(const arma::mat& G) {
  return nuclear_rank(singular_values(G));
}

/// The indicator matrix (V, N).
arma::mat indicator_of(const Batch& batch) {
  arma::mat H(13, batch.ids.size(), arma::fill::zeros);
  for (arma::uword n = 0; n < batch.ids.size(); ++n) H(batch.ids[n], n) = 1;
  return H;
}

}  // namespace

TEST_CASE(
    "ranks and ratios equal those of the whole matrices, with the activation that each block "
    "multiplies") {
  Step step;
  Track track = ranks_of(step, gpt::MeasuredOn::training_batch);
  const GptActivations<double> layer = gpt_activations(step.model, 1);
  const auto agrees = [&](const std::string& name, double expected) {
    CAPTURE(name);
    CHECK(std::fabs(track.values(name).at(0) / expected - 1) <= 1e-9);
  };
  for (const auto& [name, A] : {std::pair{"A", &layer.A},
                                {"Am", &layer.Am},
                                {"H", &layer.H},
                                {"Z", &layer.Z},
                                {"S", &layer.S}}) {
    agrees("layer1." + std::string(name) + ".stable_rank", stable(*A));
  }
  agrees("Af.stable_rank", stable(step.model.read_out()));
  agrees("embedding.stable_rank", stable(step.model.embedding().W * indicator_of(step.batch)));
  agrees("indicator.stable_rank", stable(indicator_of(step.batch)));
  const arma::vec mean = arma::mean(layer.S, 1);
  agrees("layer1.S.mean_share", 24 * arma::dot(mean, mean) / arma::accu(arma::square(layer.S)));
  const auto weights = step.layer(1);
  const struct {
    const char* block;
    const arma::mat &G, &A;
  } pairs[] = {{"Wq", weights.Wq.G, layer.A},  {"Wk", weights.Wk.G, layer.A},
               {"Wv", weights.Wv.G, layer.A},  {"Wo", weights.Wo.G, layer.A},
               {"W1", weights.W1.G, layer.Am}, {"Wg", weights.Wg->G, layer.Am},
               {"W2", weights.W2.G, layer.S}};
  for (const auto& [block, G, A] : pairs) {
    agrees("layer1." + std::string(block) + ".nuclear_rank", nuclear(G));
    agrees("layer1." + std::string(block) + ".ratio", nuclear(G) / stable(A));
    agrees("layer1." + std::string(block) + ".gradient_norm", arma::norm(G, "fro"));
  }
  agrees("layer1.Wo.ratio_to_H", nuclear(weights.Wo.G) / stable(layer.H));
  agrees("head.ratio", nuclear(step.model.head()->G) / stable(step.model.read_out()));
  agrees("embedding.ratio", nuclear(step.model.embedding().G) / stable(indicator_of(step.batch)));
}

TEST_CASE("moments are added over batches") {
  Step step;
  const Batch other = batch_of("other");
  const arma::mat S = gpt_activations(step.model, 0).S;
  step.model.forward(other);
  Turns alone;
  gpt::add_activations(step.model, other, alone, step.moments);
  const arma::mat both = arma::join_rows(S, gpt_activations(step.model, 0).S);
  CHECK(std::fabs(step.moments.stable_rank("layer0.S") / stable(both) - 1) <= 1e-9);
  CHECK(std::fabs(step.moments.indicator() /
                      stable(arma::join_rows(indicator_of(step.batch), indicator_of(other))) -
                  1) <= 1e-12);
}

TEST_CASE("a zero gradient has no nuclear rank") {
  Step step;
  step.model.head()->G.zeros();
  Track track = ranks_of(step, gpt::MeasuredOn::held_out_text);
  CHECK(std::isnan(track.values("probe.head.nuclear_rank").at(0)));
  CHECK(std::isnan(track.values("probe.head.ratio").at(0)));
  CHECK(std::isfinite(track.values("probe.embedding.ratio").at(0)));
}

TEST_CASE("the best decrease along a line is found from any starting step size") {
  // f = 1 + 2 (s - 1)^2 is 3 at s = 0 and 1 at its minimum.
  const auto parabola = [](double s) { return 1 + 2 * (s - 1) * (s - 1); };
  for (const double first : {1e-6, 0.01, 0.3, 0.9, 1.0, 1.3, 5.0, 1e4}) {
    CAPTURE(first);
    CHECK(std::fabs(gpt::best_step(parabola, 3, first).decrease - 2) <= 1e-3);
  }
  // f = 1 - s e^-s has its largest decrease e^-1 at s = 1. A starting step near 1 needs few losses.
  for (const double first : {1e-3, 0.4, 0.7, 1.0, 1.6, 3.0}) {
    CAPTURE(first);
    int evaluations = 0;
    const auto humped = [&](double s) { return ++evaluations, 1 - s * std::exp(-s); };
    CHECK(std::fabs(gpt::best_step(humped, 1, first).decrease * std::numbers::e - 1) <= 2e-3);
    if (first > 0.5 && first < 2) CHECK(evaluations <= 6);
  }
  CHECK(std::isnan(gpt::best_step([](double s) { return 1 + s; }, 1, 0.1).decrease));
  CHECK(std::isnan(gpt::best_step(parabola, 3, 0.0).decrease));
  // A loss that is undefined beyond some step size.
  CHECK(gpt::best_step([](double s) { return s > 0.5 ? std::nan("") : 1 - s; }, 1, 0.1).decrease >=
        0.4);
}

TEST_CASE(
    "the ratio of best decreases equals that of a fine grid, block by block, on both batches") {
  Step step;
  const Batch independent = batch_of("independent");
  const auto grid = [&](Parameter<double>& parameter, const arma::mat& D, const Batch& on) {
    const double at_0 = step.loss_with(parameter, parameter.W, on);
    double best = 0;
    // The grid stops when the loss rises; there may be other minima beyond.
    for (double size = 1e-5; size < 1e4; size *= 1.01) {
      const double decrease = at_0 - step.loss_with(parameter, parameter.W - size * D, on);
      if (decrease < best) return best;
      best = std::max(best, decrease);
    }
    return best;
  };
  const arma::mat W2_before = step.layer(1).W2.W;
  const gpt::StepRatios ratios =
      gpt::step_ratios(step.model, step.batch, independent, step.moments, trial);
  CHECK(arma::approx_equal(step.layer(1).W2.W, W2_before, "absdiff", 0.0));
  REQUIRE(ratios.predicted.size() == 16);
  Track track = ranks_of(step, gpt::MeasuredOn::training_batch);
  const struct {
    std::size_t index;
    std::string name;
    Parameter<double>& parameter;
  } cases[] = {{2, "layer0.Wv", step.layer(0).Wv},
               {12, "layer1.W2", step.layer(1).W2},
               {14, "head", *step.model.head()},
               {15, "embedding", step.model.embedding()}};
  for (const auto& [i, name, parameter] : cases) {
    const auto& shown = name;  // clang 14 cannot capture a structured binding
    CAPTURE(shown);
    CHECK(std::fabs(ratios.predicted[i] / track.values(name + ".ratio").at(0) - 1) <= 1e-9);
    const arma::mat polar = polar_factor(parameter.G).factor, G = parameter.G;
    CHECK(std::fabs(ratios.on_batch[i] /
                        (grid(parameter, polar, step.batch) / grid(parameter, G, step.batch)) -
                    1) <= 0.05);
    // Along the polar factor of Wv, this batch has two minima, and the search ends in the second.
    const double elsewhere = grid(parameter, polar, independent) / grid(parameter, G, independent);
    if (name != "layer0.Wv" && std::isfinite(elsewhere))
      CHECK(std::fabs(ratios.on_independent[i] / elsewhere - 1) <= 0.05);
  }
}

TEST_CASE("the curvature of the head is that of the softmax errors, and tables have none") {
  Step step;
  const arma::mat A = step.model.read_out(), W = step.model.head()->W, G = step.model.head()->G;
  arma::mat E = arma::exp(W * A);
  E.each_row() /= arma::sum(E, 0);
  for (arma::uword n = 0; n < E.n_cols; ++n) E(step.batch.targets[n], n) -= 1;
  E /= static_cast<double>(E.n_cols);
  // tr(D M D' B) = ||E' D A||_F^2
  const auto curvature = [&](const arma::mat& D) {
    return arma::accu(arma::square(E.t() * D * A));
  };
  const arma::mat polar = polar_factor(G).factor;
  const double expected = std::pow(arma::dot(G, polar), 2) / curvature(polar) /
                          (std::pow(arma::dot(G, G), 2) / curvature(G));
  const gpt::StepRatios ratios =
      gpt::step_ratios(step.model, step.batch, batch_of("independent"), step.moments, trial);
  CHECK(std::fabs(ratios.by_curvature.at(14) / expected - 1) <= 1e-9);
  CHECK(std::isnan(ratios.by_curvature.at(15)));
}

TEST_CASE("all hidden blocks together move along the steps of Section 1.2.1 with a common scale") {
  for (const char* drawn : {"a", "b", "c"}) {
    Step step(drawn);
    const gpt::StepRatios ratios =
        gpt::step_ratios(step.model, step.batch, batch_of("independent"), step.moments, trial);
    // Both directions come from their formulas with whole matrices; N cancels in the ratio.
    struct Block {
      Parameter<double>* parameter;
      arma::mat start, euclidean, spectral;
    };
    std::vector<Block> blocks;
    step.model.forward(step.batch);  // step_ratios has run it with other weights
    for (const auto& [parameter, role, l, block] : gpt_weights(step.model)) {
      if (role != WeightRole::in_layer) continue;
      const std::string of = gpt::activation_of(block);
      const GptActivations<double> layer = gpt_activations(step.model, l);
      const arma::vec s = singular_values(of == "A"    ? layer.A
                                          : of == "Am" ? layer.Am
                                                       : layer.S),
                      g = singular_values(parameter->G);
      blocks.push_back({parameter, parameter->W, parameter->G / (s(0) * s(0)),
                        arma::accu(g) / arma::dot(s, s) * polar_factor(parameter->G).factor});
    }
    const auto best = [&](arma::mat Block::*direction) {
      double at_0 = 0, most = 0;
      for (double scale = 0; scale < 1e4; scale = scale == 0 ? 1e-4 : scale * 1.02) {
        for (Block& block : blocks) block.parameter->W = block.start - scale * (block.*direction);
        step.model.forward(step.batch);
        const double loss = step.model.loss(step.batch, false);
        if (scale == 0) at_0 = loss;
        if (at_0 - loss < most) break;
        most = at_0 - loss;
      }
      for (Block& block : blocks) block.parameter->W = block.start;
      return most;
    };
    CHECK(std::fabs(ratios.joint_on_batch / (best(&Block::spectral) / best(&Block::euclidean)) -
                    1) <= 0.005);
  }
}

}  // namespace gpt_measure_test
