// Compares gradients of the whole model with central differences for every switch.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/tolerances.hpp"
#include "nn/sequence_models.hpp"

namespace sequence_gradients_test {

using namespace sequence_models;

namespace {

/// Some gradients of a mean over tokens are as small as 1e-4, so rounding of the loss contributes a
/// relative error of 1e-7.
constexpr double gradient_error = 50 * tolerance::central_difference;

void check_gradients(const SequenceShape& shape, bool labeled = false) {
  SequenceModel<double> model(shape, initial);
  perturb(model);
  const auto slope = [](double& w, const auto& loss) {
    constexpr double h = 5e-4;
    return (4 * central_difference(w, loss, h) - central_difference(w, loss, 2 * h)) /
           3;  // exact for polynomials of degree 4
  };
  for_each_gradient(
      model, batch_of(shape, labeled, "the batch before"), batch_of(shape, labeled), slope,
      [](const std::string& name, const arma::mat& found, const arma::mat& slopes) {
        CAPTURE(name);
        REQUIRE(arma::size(found) == arma::size(slopes));
        const double size = arma::norm(found, "fro");
        CHECK(arma::norm(found - slopes, "fro") <= gradient_error * (size > 0 ? size : 1.0));
      });
}

}  // namespace

TEST_CASE("gradients agree with central differences: every mixer, pre-norm and post-norm") {
  for (const MixerKind mixer : mixers) {
    for (const bool post : {false, true}) {
      CAPTURE(static_cast<int>(mixer));
      CAPTURE(post);
      SequenceShape shape = shape_of(mixer);
      shape.post = post;
      check_gradients(shape);
    }
  }
}

TEST_CASE(
    "gradients agree with central differences: no feed-forward network, RMS norms, loss at some "
    "tokens") {
  for (const bool post : {false, true}) {
    CAPTURE(post);
    SequenceShape shape = shape_of(post ? MixerKind::s4d : MixerKind::attention);
    shape.post = post;
    shape.hidden = 0;
    check_gradients(shape);
    shape = shape_of(post ? MixerKind::attention : MixerKind::linear_attention);
    shape.post = post;
    shape.norm = Norm::rms;
    check_gradients(shape, true);
  }
}

TEST_CASE("gradients agree with central differences: classes of sequences of numbers and of ids") {
  for (const MixerKind mixer : mixers) {
    CAPTURE(static_cast<int>(mixer));
    SequenceShape shape = classes_shape(mixer);
    shape.post = mixer == MixerKind::mamba2 || mixer == MixerKind::linear_attention;
    shape.heads = mixer == MixerKind::attention ? 2 : 1;
    check_gradients(shape);
  }
  SequenceShape shape = shape_of(MixerKind::attention);  // of ids
  shape.classes = 4;
  check_gradients(shape);
}

}  // namespace sequence_gradients_test
