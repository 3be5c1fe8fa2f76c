// Gradients of whole models with de-escalation against central differences: every mean, strength and place.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/tolerances.hpp"
#include "training/de_escalated_models.hpp"

namespace de_escalation_gradients_test {

using namespace de_escalated_models;

namespace {

/// As in sequence_gradients_test.cpp. The floor is for gradients that are 0, of bk, and of a last bias that de-escalation takes out
/// again: there the rounding of the loss over the step, some 1e-12, stays.
constexpr double gradient_error = 50 * tolerance::central_difference, floor_of_gradient = 1e-3;

/// The slope of `loss` in w. ReLU has kinks, and a token that de-escalation has made small has a norm that multiplies by up to
/// 1/sqrt(epsilon) = 316: where the step is too long for either, that of half the step says something else, and the step shrinks.
template <class Loss>
double slope(double& w, const Loss& loss) {
  const auto difference = [&](double step) { return central_difference(w, loss, step); };
  double fine = 0, coarse = 0;
  for (double h = 2.5e-4; h > 1e-8; h /= 8) {
    const double half = difference(h), whole = difference(2 * h), twice = difference(4 * h);
    fine = (4 * half - whole) / 3, coarse = (4 * whole - twice) / 3;  // exact for polynomials of degree 4
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
        const double size = std::max(arma::norm(slopes, "fro"), floor_of_gradient);
        CHECK(arma::norm(found - slopes, "fro") <= gradient_error * size);
      });
}

void check_moved(const SequenceShape& shape, const InitialWeights& weights) {
  SequenceModel<double> model(shape, weights);
  perturb(model);
  check_gradients(model, shape);
}

void check_every_de_escalation(const SequenceShape& start, const InitialWeights& weights) {
  for_each_de_escalation(start, [&](const SequenceShape& shape) {
    CAPTURE(static_cast<int>(shape.de_escalation->at));
    CAPTURE(static_cast<int>(shape.de_escalation->mean));
    CAPTURE(shape.de_escalation->tau);
    check_moved(shape, weights);
  });
}

}  // namespace

TEST_CASE("gradients of the language model, every de-escalation: u and v of two layers, the table at both ends") {
  check_every_de_escalation(language_shape(), language_initial);
}

TEST_CASE("gradients of the image model, every de-escalation: class token, every bias") {
  check_every_de_escalation(image_shape(), image_initial);
}

TEST_CASE("gradients of both models without de-escalation, norms before and after") {
  for (const bool post : {false, true}) {
    CAPTURE(post);
    for (SequenceShape shape : {language_shape(), image_shape()}) {
      shape.post = post;
      check_moved(shape, shape.relative ? language_initial : image_initial);
    }
  }
}

TEST_CASE("gradients where the mean of a prefix leaves 0 of the first token, which the next norm multiplies by 316") {
  SequenceShape shape = language_shape();
  shape.activation = &find_activation("gelu");  // ReLU has its kink there
  for (const DeEscalation::At at : places) {
    CAPTURE(static_cast<int>(at));
    shape.de_escalation = DeEscalation{.tau = 1, .mean = MeanOver::prefix, .at = at, .length = shape.length};
    SequenceModel<double> model(shape, language_initial);  // biases are 0, so that the feed-forward net leaves the token at 0
    check_gradients(model, shape);
    const double largest = arma::abs(model.parameter("layer0.b2").G).max();
    CHECK((largest > 1) == (at == DeEscalation::At::feed_forward));
  }
}

}  // namespace de_escalation_gradients_test
