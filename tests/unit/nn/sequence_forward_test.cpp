// Compares the forward pass of the model with its equations, and its mixers with those of each
// kind.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/tolerances.hpp"
#include "nn/layers/attention_mixer.hpp"
#include "nn/layers/linear_attention.hpp"
#include "nn/layers/mamba1.hpp"
#include "nn/layers/mamba2.hpp"
#include "nn/layers/mixer_checks.hpp"
#include "nn/layers/s4d.hpp"
#include "nn/sequence_models.hpp"

namespace sequence_forward_test {

using namespace sequence_models;
using mixer_checks::relative;

namespace {

/// The equations of the model with attention, sequence by sequence.
class ByEquations {
 public:
  explicit ByEquations(const SequenceModel<double>& model) : model_(model), shape_(model.shape()) {}

  /// R_0 ... R_L, then h, of the tokens of a sequence, each (d, length).
  std::vector<arma::mat> streams(const SequenceBatch<double>& batch, arma::uword sequence) const {
    arma::mat R(shape_.dim, shape_.length);
    for (arma::uword t = 0; t < shape_.length; ++t) {
      const arma::uword n = sequence * shape_.length + t;
      R.col(t) = shape_.inputs == 0
                     ? W("embedding").col(batch.ids[n])
                     : arma::vec(W("embedding") * batch.values.col(n) + W("embedding.bias"));
      R.col(t) += W("positions").col(t);
    }
    std::vector<arma::mat> out = {R};
    for (std::uint64_t l = 0; l < shape_.layers; ++l) {
      const std::string layer = "layer" + std::to_string(l) + ".";
      const double lambda = shape_.learns_lambda ? W(layer + "lambda")(0) : shape_.lambda,
                   c = shape_.lambda_at_both ? lambda : 1;
      if (shape_.post) {
        R = norm(layer + "norm1.", lambda * R + attention(layer + "mixer.", R));
        if (shape_.hidden > 0) R = norm(layer + "norm2.", c * R + feed_forward(layer, R));
      } else {
        R = lambda * R + attention(layer + "mixer.", norm(layer + "norm1.", R));
        if (shape_.hidden > 0) R = c * R + feed_forward(layer, norm(layer + "norm2.", R));
      }
      out.push_back(R);
    }
    out.push_back(shape_.post ? R : norm("norm.", R));
    return out;
  }

  arma::mat logits(const SequenceBatch<double>& batch) const {
    arma::mat all;
    for (arma::uword b = 0; b < 3; ++b) {
      const arma::mat h = streams(batch, b).back();
      if (shape_.classes > 0) {
        all = arma::join_rows(
            all, W("head") * arma::sum(h, 1) / static_cast<double>(shape_.length) + W("head.bias"));
      } else {
        all = arma::join_rows(all, W("embedding").t() * h);
      }
    }
    return batch.labeled.empty() ? all : all.cols(arma::conv_to<arma::uvec>::from(batch.labeled));
  }

 private:
  const arma::mat& W(const std::string& name) const { return model_.parameter(name).W; }

  arma::mat norm(const std::string& of, arma::mat X) const {
    const bool layer = shape_.norm == Norm::layer;
    for (arma::uword n = 0; n < X.n_cols; ++n) {
      if (layer) X.col(n) -= arma::mean(X.col(n));
      X.col(n) %= W(of + "gain") / std::sqrt(arma::mean(arma::square(X.col(n))) + 1e-5);
      if (layer) X.col(n) += W(of + "bias");
    }
    return X;
  }

  arma::mat attention(const std::string& of, const arma::mat& X) const {
    const arma::mat q = W(of + "Wq") * X, k = W(of + "Wk") * X, v = W(of + "Wv") * X;
    arma::mat H(arma::size(X), arma::fill::zeros);
    const arma::uword width = shape_.dim / shape_.heads;
    for (arma::uword head = 0; head < shape_.heads; ++head) {
      const arma::span rows(head * width, (head + 1) * width - 1);
      for (arma::uword i = 0; i < X.n_cols; ++i) {
        const arma::uword seen = shape_.causal ? i + 1 : X.n_cols;
        double total = 0;
        for (arma::uword j = 0; j < seen; ++j) {
          const double e = std::exp(arma::dot(q(rows, arma::span(i)), k(rows, arma::span(j))) /
                                    std::sqrt(static_cast<double>(width)));
          H(rows, arma::span(i)) += e * v(rows, arma::span(j));
          total += e;
        }
        H(rows, arma::span(i)) /= total;
      }
    }
    return W(of + "Wo") * H;
  }

  arma::mat feed_forward(const std::string& of, const arma::mat& X) const {
    arma::mat Z = W(of + "W1") * X;
    for (arma::uword n = 0; n < Z.n_cols; ++n) {
      for (arma::uword i = 0; i < Z.n_rows; ++i) {
        Z(i, n) += W(of + "b1")(i);
        Z(i, n) *= (1 + std::erf(Z(i, n) / std::sqrt(2.0))) / 2;
      }
    }
    return W(of + "W2") * Z + arma::repmat(W(of + "b2"), 1, X.n_cols);
  }

  const SequenceModel<double>& model_;
  const SequenceShape& shape_;
};

void check_forward(const SequenceShape& shape, bool labeled = false) {
  constexpr double limit = tolerance::residual<double>;
  SequenceModel<double> model(shape, initial);
  perturb(model);
  const SequenceBatch<double> batch = batch_of(shape, labeled);
  const ByEquations expected(model);
  model.forward(batch);
  for (arma::uword b = 0; b < 3; ++b) {
    const std::vector<arma::mat> streams = expected.streams(batch, b);
    const arma::uword first = b * shape.length, last = first + shape.length - 1;
    for (std::uint64_t l = 0; l <= shape.layers; ++l)
      CHECK(relative(model.stream(l).cols(first, last), streams[l]) <= limit);
    CHECK(relative(model.read_out().cols(first, last), streams.back()) <= limit);
  }
  const arma::mat logits = expected.logits(batch);
  REQUIRE(arma::size(model.logits()) == arma::size(logits));
  CHECK(relative(model.logits(), logits) <= limit);
  double loss = 0;
  for (arma::uword i = 0; i < logits.n_cols; ++i) {
    loss += std::log(arma::accu(arma::exp(logits.col(i)))) - logits(batch.targets[i], i);
  }
  CHECK(std::fabs(model.loss(batch, false) - loss / static_cast<double>(logits.n_cols)) <= limit);
}

}  // namespace

TEST_CASE("the forward pass follows the equations") {
  for (const bool post : {false, true}) {
    for (const Norm norm : {Norm::rms, Norm::layer}) {
      for (const bool both : {false, true}) {
        for (const std::uint64_t hidden : {0u, 6u}) {
          SequenceShape shape = shape_of(MixerKind::attention);
          shape.post = post;
          shape.norm = norm;
          shape.lambda_at_both = both;
          shape.hidden = hidden;
          shape.lambda = -0.7;
          shape.layers = 3;
          check_forward(shape, both);
          shape = classes_shape(MixerKind::attention);
          shape.post = post;
          shape.norm = norm;
          shape.heads = both ? 2 : 4;
          shape.hidden = hidden;
          shape.learns_lambda = true;
          check_forward(shape);
          shape.inputs = 0;
          check_forward(shape);
        }
      }
    }
  }
}

TEST_CASE("each layer has a mixer of the requested kind, which is initialized by its own names") {
  for (const MixerKind kind : mixers) {
    for (const bool causal : {false, true}) {
      CAPTURE(static_cast<int>(kind));
      CAPTURE(causal);
      SequenceShape shape = shape_of(kind);
      shape.hidden = 0;
      shape.lambda = 0;
      shape.causal = causal;
      SequenceModel<double> model(shape, initial);
      model.forward(batch_of(shape));
      for (std::uint64_t l = 0; l < shape.layers; ++l) {
        CAPTURE(l);
        const InitialWeights weights = initial.of("layer" + std::to_string(l)).of("mixer");
        std::unique_ptr<Mixer<double>> mixer;
        if (kind == MixerKind::attention)
          mixer = std::make_unique<AttentionMixer<double>>(
              shape.dim, AttentionShape{.context = 5, .causal = causal}, weights);
        if (kind == MixerKind::linear_attention)
          mixer = std::make_unique<LinearAttentionMixer<double>>(shape.dim, 5, causal, weights);
        if (kind == MixerKind::mamba2)
          mixer = std::make_unique<Mamba2Mixer<double>>(shape.dim, 5, Mamba2Shape{}, weights);
        if (kind == MixerKind::mamba1)
          mixer = std::make_unique<Mamba1Mixer<double>>(shape.dim, 5, Mamba1Shape{}, weights);
        if (kind == MixerKind::s4d)
          mixer = std::make_unique<S4dMixer<double>>(shape.dim, 5, S4dShape{}, weights);
        arma::mat normed = model.stream(l), Y;
        normed.each_row() -= arma::mean(normed, 0);
        normed.each_row() /= arma::sqrt(arma::mean(arma::square(normed), 0) + 1e-5);
        mixer->prepare();
        mixer->forward(normed, Y);
        CHECK(relative(model.stream(l + 1), Y) <= tolerance::residual<double>);
      }
      CHECK(shape.has_positions() == (model.parameters()[1]->name == "positions"));
    }
  }
}

}  // namespace sequence_forward_test
