// The models of [Shallow] Section 3: forward pass compared with the equations, causality, and the
// mean that de-escalation leaves.
#include "nn/de_escalated_models.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/tolerances.hpp"
#include "nn/layers/mixer_checks.hpp"

namespace de_escalated_models_test {

using namespace de_escalated_models;
using mixer_checks::relative;

namespace {

/// The equations of post-norm blocks with de-escalation, one sequence after another.
class ByEquations {
 public:
  explicit ByEquations(const SequenceModel<double>& model) : model_(model), shape_(model.shape()) {}

  /// R_0 ... R_L of a sequence, each (d, T).
  std::vector<arma::mat> streams(const SequenceBatch<double>& batch, arma::uword sequence) const {
    std::vector<arma::mat> out = {embedded(batch, sequence)};
    for (std::uint64_t l = 0; l < shape_.layers; ++l)
      out.push_back(block("layer" + std::to_string(l) + ".", out.back()));
    return out;
  }

  arma::vec class_logits(const arma::mat& R) const {
    const arma::mat h = shape_.has_final_norm() ? norm("norm.", R) : R;
    return W("head") * (shape_.class_token ? arma::vec(h.col(0)) : arma::vec(arma::mean(h, 1))) +
           W("head.bias");
  }

  arma::mat token_logits(const arma::mat& R) const {
    return plus(W("embedding").t() * R, W("output.bias"));
  }

 private:
  const arma::mat& W(const std::string& name) const { return model_.parameter(name).W; }

  static arma::mat plus(arma::mat X, const arma::vec& bias) {
    X.each_col() += bias;
    return X;
  }

  arma::mat embedded(const SequenceBatch<double>& batch, arma::uword sequence) const {
    arma::mat R(shape_.dim, shape_.length);
    for (arma::uword t = 0; t < shape_.length; ++t) {
      if (shape_.inputs == 0) {
        R.col(t) = std::sqrt(8.0) * W("embedding").col(batch.ids[sequence * shape_.length + t]);
      } else if (t == 0) {
        R.col(t) = W("class_token") + W("positions").col(0);
      } else {
        const arma::vec numbers = batch.values.col(sequence * (shape_.length - 1) + t - 1);
        R.col(t) = W("embedding") * numbers + W("embedding.bias") + W("positions").col(t);
      }
    }
    return R;
  }

  /// D of the shape if it has de-escalation at this position.
  arma::mat de_escalated(const arma::mat& X, DeEscalation::At at) const {
    if (!shape_.de_escalation || shape_.de_escalation->at != at) return X;
    return X * de_escalation_matrix(*shape_.de_escalation).t();
  }

  arma::mat block(const std::string& of, const arma::mat& X) const {
    const arma::mat Y = de_escalated(norm(of + "norm1.", X + mixed(of + "mixer.", X)),
                                     DeEscalation::At::feed_forward);
    const arma::mat F = feed_forward(of, de_escalated(Y, DeEscalation::At::branch));
    return de_escalated(norm(of + "norm2.", Y + F), DeEscalation::At::end);
  }

  arma::mat norm(const std::string& of, arma::mat X) const {
    for (arma::uword n = 0; n < X.n_cols; ++n) {
      X.col(n) -= arma::mean(X.col(n));
      X.col(n) /= std::sqrt(arma::mean(arma::square(X.col(n))) + shape_.norm_epsilon);
      X.col(n) = X.col(n) % W(of + "gain") + W(of + "bias");
    }
    return X;
  }

  arma::mat mixed(const std::string& of, const arma::mat& X) const {
    if (!shape_.relative) {
      const arma::mat q = plus(W(of + "Wq") * X, W(of + "bq")),
                      k = plus(W(of + "Wk") * X, W(of + "bk")),
                      v = plus(W(of + "Wv") * X, W(of + "bv"));
      return plus(W(of + "Wo") * attention(q, k, v, shape_.heads, false, nullptr), W(of + "bo"));
    }
    const RelativeTerms terms{W("relative.u"), W("relative.v"), lags(W(of + "Wr"), shape_.length)};
    return attention(W(of + "Wq") * X, W(of + "Wk") * X, W(of + "Wv") * X, shape_.heads, true,
                     &terms);
  }

  arma::mat feed_forward(const std::string& of, const arma::mat& X) const {
    const arma::mat Z = plus(W(of + "W1") * X, W(of + "b1"));
    return plus(W(of + "W2") * arma::clamp(Z, 0.0, arma::datum::inf), W(of + "b2"));
  }

  const SequenceModel<double>& model_;
  const SequenceShape& shape_;
};

void check_forward(const SequenceShape& shape, const InitialWeights& weights) {
  constexpr double limit =
      10 * tolerance::residual<double>;  // norms amplify rounding errors of small tokens
  SequenceModel<double> model(shape, weights);
  perturb(model);
  const SequenceBatch<double> batch = de_escalated_batch(shape);
  const ByEquations expected(model);
  model.forward(batch);
  for (arma::uword b = 0; b < 3; ++b) {
    const std::vector<arma::mat> streams = expected.streams(batch, b);
    const arma::uword first = b * shape.length, last = first + shape.length - 1;
    for (std::uint64_t l = 0; l <= shape.layers; ++l)
      CHECK(relative(model.stream(l).cols(first, last), streams[l]) <= limit);
    if (shape.classes > 0) {
      CHECK(relative(model.logits().col(b), expected.class_logits(streams.back())) <= limit);
    } else {
      CHECK(relative(model.logits().cols(first, last), expected.token_logits(streams.back())) <=
            limit);
    }
  }
}

/// Changes the tokens of each sequence from `kept` on; returns whether the logits of an earlier
/// token change.
template <class T>
bool depends_on_later(const SequenceShape& shape, arma::uword kept) {
  SequenceModel<T> model(shape, language_initial);
  perturb(model);
  SequenceBatch<T> batch = batch_of<T>(shape);
  const arma::Mat<T> before = logits(model, batch);
  for (std::size_t n = 0; n < batch.ids.size(); ++n) {
    if (n % shape.length >= kept)
      batch.ids[n] = static_cast<std::uint32_t>((batch.ids[n] + 1) % shape.vocabulary);
  }
  const arma::Mat<T> after = logits(model, batch);
  bool depends = false;
  for (arma::uword n = 0; n < before.n_cols; ++n) {
    const bool same = arma::approx_equal(before.col(n), after.col(n), "absdiff", T(0));
    if (n % shape.length < kept) depends = depends || !same;
    if (n % shape.length == kept) CHECK_FALSE(same);  // otherwise the change had no effect
  }
  return depends;
}

/// Whether the logits of token t of the second sequence have a gradient with respect to R_0 of
/// later tokens.
template <class T>
bool has_later_gradient(const SequenceShape& shape, arma::uword t) {
  SequenceModel<T> model(shape, language_initial);
  perturb(model);
  const SequenceBatch<T> batch = batch_of<T>(shape);
  arma::Mat<T> unit(arma::size(logits(model, batch)), arma::fill::zeros);
  const arma::uword asked = shape.length + t;
  unit(2, asked) = 1;
  model.set_logit_gradient(unit);
  model.backward(batch);
  const arma::Mat<T>& G = model.input_gradient();
  REQUIRE(arma::size(G) == arma::size(model.stream(0)));
  // Prefix means at tau = 1 make the first token 0, or constant at the end.
  if (t > 0) CHECK(arma::any(G.col(asked) != T(0)));
  CHECK(arma::all(arma::vectorise(G.head_cols(shape.length)) == T(0)));
  CHECK(arma::all(arma::vectorise(G.tail_cols(shape.length)) == T(0)));
  return arma::any(arma::vectorise(G.cols(asked + 1, 2 * shape.length - 1)) != T(0));
}

template <class T>
void check_causality(const SequenceShape& shape, bool depends) {
  for (arma::uword kept = 1; kept < shape.length; ++kept) {
    CAPTURE(kept);
    CHECK(depends_on_later<T>(shape, kept) == depends);
    CHECK(has_later_gradient<T>(shape, kept - 1) == depends);
  }
}

}  // namespace

TEST_CASE("the image and language models follow their equations for every de-escalation") {
  for (SequenceShape start : {language_shape(), image_shape()}) {
    check_forward(start, start.relative ? language_initial : image_initial);
    start.norm_epsilon = 0.1;
    check_forward(start, start.relative ? language_initial : image_initial);
    start.norm_epsilon = 1e-5;
    for_each_de_escalation(start, [](SequenceShape shape) {
      CAPTURE(static_cast<int>(shape.de_escalation->at));
      CAPTURE(static_cast<int>(shape.de_escalation->mean));
      CAPTURE(shape.de_escalation->tau);
      check_forward(shape, shape.relative ? language_initial : image_initial);
      if (shape.relative) return;
      shape.final_norm = false;
      check_forward(shape, image_initial);
    });
  }
}

TEST_CASE(
    "logits do not depend on later tokens, bit by bit, and have no gradient there; with segment "
    "means they do") {
  check_causality<double>(language_shape(), false);
  check_causality<float>(language_shape(), false);
  for_each_de_escalation(language_shape(), [](const SequenceShape& shape) {
    CAPTURE(static_cast<int>(shape.de_escalation->at));
    CAPTURE(static_cast<int>(shape.de_escalation->mean));
    CAPTURE(shape.de_escalation->tau);
    const bool depends = shape.de_escalation->mean == MeanOver::segment;
    check_causality<double>(shape, depends);
    check_causality<float>(shape, depends);
  });
}

TEST_CASE("both models agree in single and double precision, forward and backward") {
  for (SequenceShape shape : {language_shape(), image_shape()}) {
    shape.de_escalation = DeEscalation{
        .tau = 0.3, .mean = MeanOver::strict, .at = DeEscalation::At::end, .length = shape.length};
    const InitialWeights& weights = shape.relative ? language_initial : image_initial;
    SequenceModel<float> narrow(shape, weights);
    perturb(narrow);
    SequenceModel<double> wide(shape, weights);
    wide.copy_weights(narrow);
    const SequenceBatch<double> batch = de_escalated_batch(shape);
    const SequenceBatch<float> rounded{.ids = batch.ids,
                                       .values = arma::conv_to<arma::fmat>::from(batch.values),
                                       .labeled = {},
                                       .targets = batch.targets};
    CHECK(relative(logits(narrow, rounded), logits(wide, batch)) <= tolerance::residual<float>);
    CHECK(std::fabs(pass(narrow, rounded) - pass(wide, batch)) <= tolerance::residual<float>);
    for (std::size_t i = 0; i < wide.parameters().size(); ++i) {
      CAPTURE(wide.parameters()[i]->name);
      // The term 0.01 is for key biases, whose gradient is 0.
      const arma::mat left =
          arma::conv_to<arma::mat>::from(narrow.parameters()[i]->G) - wide.parameters()[i]->G;
      CHECK(arma::norm(left, "fro") <=
            10 * tolerance::residual<float> * (arma::norm(wide.parameters()[i]->G, "fro") + 0.01));
    }
  }
}

TEST_CASE(
    "if the segment mean is fully removed at the end of a block, a readout of the mean is "
    "constant") {
  SequenceShape shape = image_shape();
  shape.class_token = false;
  shape.final_norm = false;
  shape.de_escalation = DeEscalation{
      .tau = 1, .mean = MeanOver::segment, .at = DeEscalation::At::end, .length = shape.length};
  for (const double tau : {1.0, 0.3}) {
    shape.de_escalation->tau = tau;
    SequenceModel<double> model(shape, image_initial);
    perturb(model);
    model.forward(de_escalated_batch(shape));
    const arma::mat& R = model.stream(shape.layers);
    for (arma::uword b = 0; b < 3; ++b) {
      const arma::vec pooled = arma::mean(R.cols(b * shape.length, (b + 1) * shape.length - 1), 1);
      const double left = arma::norm(pooled) / arma::norm(R, "fro"),
                   readout = relative(model.logits().col(b), model.parameter("head.bias").W);
      CHECK((left <= tolerance::closed_form<double>) == (tau == 1));
      CHECK((readout <= tolerance::residual<double>) == (tau == 1));
    }
  }
}

}  // namespace de_escalated_models_test
