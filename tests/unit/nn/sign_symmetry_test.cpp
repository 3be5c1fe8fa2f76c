// Lambda and -lambda: if a mixer is odd or has linear maps at its ends, sign changes of weights can
// compensate the sign of lambda, so both models train in the same way. Negating the inputs of sums,
// products, norms and AdamW steps negates the results exactly.
//
// Notation: ~ marks the twin, lambda~ = -lambda, M is a mixer, s is the sign between the two
// streams, s' the sign after the mixer, s'' the sign after the feed-forward network:
//   s' R' = -lambda s R + M~(s norm(R)), so s' = -s and M~(s X) = -s M(X):
//     signs s into the mixer, -s out of it.
//   s'' R+ = c~ s' R' + F~(s' norm(R')), so s'' = s' if c = 1, else s'' = -s' = s:
//     signs s' into F, s'' out of it.
// At the end an untied head can absorb s'', a head tied to the embedding cannot. Biases start at 0
// and follow.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/tolerances.hpp"
#include "nn/sequence_models.hpp"

namespace sign_symmetry_test {

using namespace sequence_models;

namespace {

constexpr double limit = tolerance::trajectory<double>;
constexpr double different = 1e-3;  // for losses of 1 to 3 nats

struct Twins {
  double loss_difference;  // the largest difference between their losses
  double lambda_mismatch;  // the largest |lambda + lambda~| over the layers after training
  double lambda_changed;   // the change of lambda during training
};

using Signs =
    std::vector<std::string>;  // suffixes of the names of parameters that are negated in the twin

/// A model with lambda = -1 and its twin with lambda = 1, both trained.
Twins trained(SequenceShape shape, const Signs& negated,
              const std::function<void(SequenceModel<double>&)>& change = {}) {
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
  CHECK(losses[19] < losses[3]);  // losses of the same batch
  Twins out{};
  for (std::size_t t = 0; t < losses.size(); ++t)
    out.loss_difference = std::max(out.loss_difference, std::fabs(losses[t] - of_twin[t]));
  for (std::uint64_t l = 0; l < shape.layers; ++l) {
    out.lambda_mismatch =
        std::max(out.lambda_mismatch, std::fabs(model.lambda(l) + twin.lambda(l)));
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

TEST_CASE(
    "two-layer attention: lambda = -1 trains like lambda = 1 with negated Wo, for all norms and "
    "readouts") {
  for (SequenceShape shape :
       {shape_of(MixerKind::attention), classes_shape(MixerKind::attention)}) {
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
          CHECK(twins.loss_difference <= limit);
          CHECK(twins.lambda_mismatch <= limit);
          CHECK((twins.lambda_changed > different) == learns);
          CHECK(trained(shape, {}).loss_difference > different);
        }
      }
    }
  }
}

TEST_CASE("at odd depth a tied head breaks the symmetry, and an untied head has to be negated") {
  for (const std::uint64_t layers : {1u, 3u}) {
    CAPTURE(layers);
    const SequenceShape tied = without_net(shape_of(MixerKind::attention), layers),
                        untied = without_net(classes_shape(MixerKind::attention), layers);
    CHECK(trained(tied, {"Wo"}).loss_difference > different);
    CHECK(trained(tied, {"Wo", "embedding", "positions"}).loss_difference > different);
    CHECK(trained(untied, {"Wo"}).loss_difference > different);
    CHECK(trained(untied, {"Wo", "head"}).loss_difference <= limit);
  }
}

TEST_CASE("maps at both ends of a mixer and of a feed-forward network absorb the signs") {
  for (const bool post : {false, true}) {
    CAPTURE(post);
    SequenceShape shape = shape_of(MixerKind::attention);
    shape.post = post;
    // s = 1, -1; s' = -1, 1.
    CHECK(trained(shape, {"Wo", "layer0.W1", "layer0.W2"}).loss_difference <= limit);
    CHECK(trained(shape, {"Wo"}).loss_difference > different);
    for (const MixerKind mamba : {MixerKind::mamba1, MixerKind::mamba2}) {
      shape = shape_of(mamba);
      shape.post = post;
      CHECK(trained(shape,
                    {"layer0.mixer.out_proj", "layer1.mixer.in_proj", "layer0.W1", "layer0.W2"})
                .loss_difference <= limit);
    }
    shape = shape_of(MixerKind::linear_attention);
    shape.post = post;
    CHECK(trained(shape, {"layer0.mixer.Wo", "layer1.mixer.Wq", "layer1.mixer.Wk",
                          "layer1.mixer.Wv", "layer0.W1", "layer0.W2"})
              .loss_difference <= limit);
  }
}

TEST_CASE(
    "with lambda at both skips, every block restores the sign of the stream, also at odd depth and "
    "with a tied head") {
  for (const bool post : {false, true}) {
    for (const std::uint64_t layers : {1u, 2u, 3u}) {
      CAPTURE(post);
      CAPTURE(layers);
      SequenceShape shape = shape_of(MixerKind::attention);
      shape.layers = layers;
      shape.post = post;
      shape.lambda_at_both = true;
      CHECK(trained(shape, {"Wo", "W1"}).loss_difference <= limit);
      CHECK(trained(shape, {"W1"}).loss_difference > different);
    }
  }
}

TEST_CASE("S4D has no input map: the sign of one layer can be compensated, that of two cannot") {
  for (const std::uint64_t layers : {1u, 2u}) {
    CAPTURE(layers);
    const SequenceShape shape = without_net(classes_shape(MixerKind::s4d), layers);
    // Y = a o sigmoid(b): only the rows of a.
    const auto negate_values = [&](SequenceModel<double>& model) {
      for (Parameter<double>* parameter : model.mixer_parameters(0)) {
        if (parameter->name.ends_with("Wo") || parameter->name.ends_with("bo"))
          parameter->W.head_rows(shape.dim) *= -1;
      }
    };
    const Twins twins = trained(shape, layers == 1 ? Signs{"head"} : Signs{}, negate_values);
    CHECK((twins.loss_difference <= limit) == (layers == 1));
    if (layers == 2) CHECK(twins.loss_difference > different);
  }
}

}  // namespace sign_symmetry_test
