// Compares gradients of whole models with de-escalation with central differences: every mean,
// strength and position.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/tolerances.hpp"
#include "nn/de_escalated_models.hpp"

namespace de_escalation_gradients_test {

using namespace de_escalated_models;

namespace {

/// As in sequence_gradients_test.cpp. The floor is for the zero gradients of bk and of a last bias
/// that de-escalation removes. Their central differences are the rounding error of the loss divided
/// by the step, about 1e-12.
constexpr double gradient_error = 50 * tolerance::central_difference, gradient_floor = 1e-3;

/// The derivative of `loss` with respect to w. ReLU has kinks, and the norm multiplies a token that
/// de-escalation made small by up to 1/sqrt(epsilon) = 316. If the step is too large for either,
/// half the step gives a different value, and the step is reduced.
template <class Loss>
double slope(double& w, const Loss& loss) {
  const auto difference = [&](double step) { return central_difference(w, loss, step); };
  double fine = 0, coarse = 0;
  for (double h = 2.5e-4; h > 1e-8; h /= 8) {
    const double half = difference(h), whole = difference(2 * h), twice = difference(4 * h);
    fine = (4 * half - whole) / 3,
    coarse = (4 * whole - twice) / 3;  // exact for polynomials of degree 4
    if (std::fabs(fine - coarse) <= 1e-8 * std::fabs(fine) + 1e-15 / h) break;
  }
  return fine;
}

void check_gradients(SequenceModel<double>& model, const SequenceShape& shape) {
  for_each_gradient(
      model, de_escalated_batch(shape, "the batch before"), de_escalated_batch(shape),
      [](double& w, const auto& loss) { return slope(w, loss); },
      [](const std::string& name, const arma::mat& found, const arma::mat& slopes) {
        CAPTURE(name);
        REQUIRE(arma::size(found) == arma::size(slopes));
        const double size = std::max(arma::norm(slopes, "fro"), gradient_floor);
        CHECK(arma::norm(found - slopes, "fro") <= gradient_error * size);
      });
}

void check_perturbed(const SequenceShape& shape, const InitialWeights& weights) {
  SequenceModel<double> model(shape, weights);
  perturb(model);
  check_gradients(model, shape);
}

void check_every_de_escalation(const SequenceShape& start, const InitialWeights& weights) {
  for_each_de_escalation(start, [&](const SequenceShape& shape) {
    CAPTURE(static_cast<int>(shape.de_escalation->at));
    CAPTURE(static_cast<int>(shape.de_escalation->mean));
    CAPTURE(shape.de_escalation->tau);
    check_perturbed(shape, weights);
  });
}

}  // namespace

TEST_CASE(
    "language model: gradients for every de-escalation, with u and v in two layers and a tied "
    "table") {
  check_every_de_escalation(language_shape(), language_initial);
}

TEST_CASE("image model: gradients for every de-escalation, with class token and all biases") {
  check_every_de_escalation(image_shape(), image_initial);
}

TEST_CASE("gradients of a learned tau for every mean and place, in pre-norm blocks too") {
  for (SequenceShape shape : {language_shape(), image_shape()}) {
    for (const bool post : {false, true}) {
      CAPTURE(post);
      for (const DeEscalation::At at : places) {
        if (!post && at != DeEscalation::At::branch) continue;
        CAPTURE(static_cast<int>(at));
        for (const MeanOver mean : means) {
          CAPTURE(static_cast<int>(mean));
          shape.post = post;
          shape.de_escalation = DeEscalation{
              .tau = 0.6, .mean = mean, .at = at, .length = shape.length, .learns_tau = true};
          const InitialWeights& weights = shape.relative ? language_initial : image_initial;
          CHECK(SequenceModel<double>(shape, weights).parameter("layer1.tau").W(0) == 0.6);
          check_perturbed(shape, weights);
        }
      }
    }
  }
}

TEST_CASE(
    "gradients are right if a prefix mean makes the first token 0, so that the next norm "
    "multiplies by 316") {
  SequenceShape shape = language_shape();
  shape.activation = &find_activation("gelu");  // ReLU has its kink at 0
  for (const DeEscalation::At at : places) {
    CAPTURE(static_cast<int>(at));
    shape.de_escalation =
        DeEscalation{.tau = 1, .mean = MeanOver::prefix, .at = at, .length = shape.length};
    SequenceModel<double> model(
        shape,
        language_initial);  // biases are 0, so the feed-forward network keeps the token at 0
    check_gradients(model, shape);
    const double largest = arma::abs(model.parameter("layer0.b2").G).max();
    CHECK((largest > 1) == (at == DeEscalation::At::feed_forward));
  }
}

}  // namespace de_escalation_gradients_test
