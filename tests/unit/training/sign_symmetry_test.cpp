// Lambda and -lambda: where a mixer is odd, or has linear maps at its ends, the signs of weights can make up for that of lambda, so
// that both models train alike. Sums, products and norms of negated numbers are negated exactly, and so is a step of AdamW.
//
// With ~ for the twin, lambda~ = -lambda, M a mixer, s the sign between the two streams, s' behind the mixer, s'' behind the net:
//   s' R' = -lambda s R + M~(s norm(R)), so s' = -s and M~(s X) = -s M(X): signs s into the mixer, -s out of it
//   s'' R+ = c~ s' R' + F~(s' norm(R')): s'' = s' where c = 1, else -s' = s; signs s' into F, s'' out of it
// At the end a head of the model's own can take s'', a head tied to the embedding cannot. Biases start at 0 and follow.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/tolerances.hpp"
#include "training/sequence_models.hpp"

namespace sign_symmetry_test {

using namespace sequence_models;

namespace {

constexpr double limit = tolerance::trajectory<double>;
constexpr double different = 1e-3;  // of losses of 1 to 3 nats

struct Twins {
  double apart;           // the largest difference between their losses
  double lambdas_apart;   // |lambda + lambda~| in the end, the largest of all layers
  double lambda_changed;  // how far lambda came
};

using Signs = std::vector<std::string>;  // what is negated in the twin: ends of names

/// A model with lambda = -1 and its twin with lambda = 1, both trained.
Twins trained(SequenceShape shape, const Signs& negated, const std::function<void(SequenceModel<double>&)>& change = {}) {
  shape.lambda = -1;
  SequenceModel<double> model(shape, initial);
  shape.lambda = 1;
  SequenceModel<double> twin(shape, initial);
  for (Parameter<double>* parameter : twin.parameters()) {
    for (const std::string& end : negated) {
      if (parameter->name.ends_with(end)) parameter->W *= -1;
    }
  }
  if (change) change(twin);
  const std::vector<double> losses = train(model), of_twin = train(twin);
  CHECK(losses[19] < losses[3]);  // of the same batch
  Twins out{};
  for (std::size_t t = 0; t < losses.size(); ++t) out.apart = std::max(out.apart, std::fabs(losses[t] - of_twin[t]));
  for (std::uint64_t l = 0; l < shape.layers; ++l) {
    out.lambdas_apart = std::max(out.lambdas_apart, std::fabs(model.lambda(l) + twin.lambda(l)));
    out.lambda_changed = std::max(out.lambda_changed, std::fabs(model.lambda(l) + 1));
  }
  return out;
}

SequenceShape without_net(SequenceShape shape, std::uint64_t layers) {
  shape.hidden = 0;
  shape.layers = layers;
  return shape;
}

}  // namespace

TEST_CASE("attention, two layers: lambda = -1 trains as lambda = 1 with Wo negated, whatever the norms and the readout") {
  for (SequenceShape shape : {shape_of(MixerKind::attention), classes_shape(MixerKind::attention)}) {
    shape.hidden = 0;
    for (const bool post : {false, true}) {
      for (const Norm norm : {Norm::layer, Norm::rms}) {
        for (const bool learns : {false, true}) {
          CAPTURE(shape.classes);
          CAPTURE(post);
          CAPTURE(learns);
          shape.post = post;
          shape.norm = norm;
          shape.learns_lambda = learns;
          const Twins twins = trained(shape, {"Wo"});
          CHECK(twins.apart <= limit);
          CHECK(twins.lambdas_apart <= limit);
          CHECK((twins.lambda_changed > different) == learns);
          CHECK(trained(shape, {}).apart > different);
        }
      }
    }
  }
}

TEST_CASE("at odd depth a tied head breaks it; a head of its own has to be negated") {
  for (const std::uint64_t layers : {1u, 3u}) {
    CAPTURE(layers);
    const SequenceShape tied = without_net(shape_of(MixerKind::attention), layers),
                        own = without_net(classes_shape(MixerKind::attention), layers);
    CHECK(trained(tied, {"Wo"}).apart > different);
    CHECK(trained(tied, {"Wo", "embedding", "positions"}).apart > different);
    CHECK(trained(own, {"Wo"}).apart > different);
    CHECK(trained(own, {"Wo", "head"}).apart <= limit);
  }
}

TEST_CASE("maps at both ends of a mixer and of a feed-forward net take the signs") {
  for (const bool post : {false, true}) {
    CAPTURE(post);
    SequenceShape shape = shape_of(MixerKind::attention);
    shape.post = post;
    // s = 1, -1; s' = -1, 1.
    CHECK(trained(shape, {"Wo", "layer0.W1", "layer0.W2"}).apart <= limit);
    CHECK(trained(shape, {"Wo"}).apart > different);
    shape = shape_of(MixerKind::mamba2);
    shape.post = post;
    CHECK(trained(shape, {"layer0.mixer.out_proj", "layer1.mixer.in_proj", "layer0.W1", "layer0.W2"}).apart <= limit);
    shape = shape_of(MixerKind::linear_attention);
    shape.post = post;
    CHECK(trained(shape, {"layer0.mixer.Wo", "layer1.mixer.Wq", "layer1.mixer.Wk", "layer1.mixer.Wv", "layer0.W1", "layer0.W2"})
              .apart <= limit);
  }
}

TEST_CASE("with lambda at both skips the stream has its sign back after every block, at odd depth and with a tied head too") {
  for (const bool post : {false, true}) {
    for (const std::uint64_t layers : {1u, 2u, 3u}) {
      CAPTURE(post);
      CAPTURE(layers);
      SequenceShape shape = shape_of(MixerKind::attention);
      shape.layers = layers;
      shape.post = post;
      shape.lambda_at_both = true;
      CHECK(trained(shape, {"Wo", "W1"}).apart <= limit);
      CHECK(trained(shape, {"W1"}).apart > different);
    }
  }
}

TEST_CASE("S4D has no map at its entrance: one layer can be made up for, two cannot") {
  for (const std::uint64_t layers : {1u, 2u}) {
    CAPTURE(layers);
    const SequenceShape shape = without_net(classes_shape(MixerKind::s4d), layers);
    // Y = a o sigmoid(b): the rows of a alone.
    const auto negate_values = [&](SequenceModel<double>& model) {
      for (Parameter<double>* parameter : model.of_mixer(0)) {
        if (parameter->name.ends_with("Wo") || parameter->name.ends_with("bo")) parameter->W.head_rows(shape.dim) *= -1;
      }
    };
    const Twins twins = trained(shape, layers == 1 ? Signs{"head"} : Signs{}, negate_values);
    CHECK((twins.apart <= limit) == (layers == 1));
    if (layers == 2) CHECK(twins.apart > different);
  }
}

}  // namespace sign_symmetry_test
