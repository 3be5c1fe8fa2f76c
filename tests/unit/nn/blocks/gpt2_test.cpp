#include "nn/blocks/stack.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "gaussian.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/blocks/sublayers_by_loops.hpp"
#include "nn/checkpoints/unread_checkpoint.hpp"

namespace gpt2_test {

using namespace ranklab;

namespace {

constexpr arma::uword d = 12, N = 9;

ModelSpec spec_of(const std::string& norm = "layer", const std::string& mlp = "on",
                  const std::string& lambda_at = "attention") {
  ModelSpec spec;
  spec.model = "gpt2";
  spec.dim = d;
  spec.tokens = N;
  spec.heads = 3;
  spec.ffn = 20;
  spec.layers = 8;
  spec.vocabulary = 40;
  spec.norm = norm;
  spec.mlp = mlp;
  spec.lambda_at = lambda_at;
  resolve_defaults(spec);
  return spec;
}

using by_loops::layer_norm, by_loops::linear, by_loops::sigma, by_loops::Weights;
constexpr double step =
    0.4;  // far from the initial weights, so that no map is nearly 0 and no gain nearly 1

arma::mat attention(const ModelSpec& spec, const Weights& w, const arma::mat& X) {
  const arma::mat fused = linear(w, "attn.c_attn", layer_norm(spec, w, "ln_1", X));
  arma::mat Q(d, X.n_cols), K(d, X.n_cols), V(d, X.n_cols);
  for (arma::uword t = 0; t < X.n_cols; ++t) {
    for (arma::uword c = 0; c < d; ++c) {
      Q(c, t) = fused(c, t);
      K(c, t) = fused(d + c, t);
      V(c, t) = fused(2 * d + c, t);
    }
  }
  const double scale = 1 / std::sqrt(static_cast<double>(spec.dim / spec.heads));
  return linear(w, "attn.c_proj", by_loops::attention(Q, K, V, spec.heads, scale, true));
}

arma::mat expected_output(const ModelSpec& spec, const Weights& w, const arma::mat& X,
                          double lambda) {
  const arma::mat Y = lambda * X + attention(spec, w, X);
  if (!spec.has_mlp()) return Y;
  arma::mat Z = linear(w, "mlp.c_fc", layer_norm(spec, w, "ln_2", Y));
  for (double& z : Z) z = sigma(spec.activation, z);
  return (spec.lambda_at == "both" ? lambda : 1.0) * Y + linear(w, "mlp.c_proj", Z);
}

const Streams trial(3, 1);

arma::mat input() {
  return gaussian(d, N, "X");
}

}  // namespace

TEST_CASE_TEMPLATE("GPT-2 block agrees with a calculation token by token and head by head", T,
                   float, double) {
  for (const std::string norm : {"layer", "none"}) {
    for (const std::string mlp : {"on", "off"}) {
      for (const std::string lambda_at : {"attention", "both"}) {
        CAPTURE(norm);
        CAPTURE(mlp);
        CAPTURE(lambda_at);
        const ModelSpec spec = spec_of(norm, mlp, lambda_at);
        PerturbedTensors<T> tensors(step);
        const auto block = make_block<T>(spec, tensors);
        Weights weights(step);
        make_block<double>(spec, weights);
        for (const double lambda : {1.0, -0.6, 0.0}) {
          const arma::mat expected = expected_output(spec, weights, input(), lambda);
          CHECK(relative_error(output(*block, input(), lambda), expected) <=
                tolerance::residual<T>);
        }
      }
    }
  }
}

TEST_CASE("GPT-2 block uses the epsilon, activation and number of heads of the spec") {
  for (const std::string activation : {"gelu", "gelu-tanh", "relu"}) {
    for (const std::uint64_t heads : {1u, 4u, 12u}) {
      CAPTURE(activation);
      CAPTURE(heads);
      ModelSpec spec = spec_of();
      CHECK(spec.activation == "gelu-tanh");
      CHECK(spec.norm_epsilon == 1e-5);
      spec.norm_epsilon = 0.3;
      spec.activation = activation;
      spec.heads = heads;
      Weights weights(step);
      const auto block = make_block<double>(spec, weights);
      const arma::mat expected = expected_output(spec, weights, input(), 0.8);
      CHECK(relative_error(output(*block, input(), 0.8), expected) <= tolerance::residual<double>);
    }
  }
}

TEST_CASE("GPT-2: tensors have the published names, shapes and initial values") {
  ModelSpec spec = spec_of();
  spec.dim = 48;
  spec.ffn = 96;
  PerturbedTensors<double> start(0.0), bare(0.0);
  make_block<double>(spec, start);
  CHECK(start.all().size() == 12);
  const auto is_constant = [&](const std::string& name, arma::uword size, double value) {
    REQUIRE(arma::size(start[name]) == arma::SizeMat(size, 1));
    CHECK(arma::all(arma::vectorise(start[name]) == value));
  };
  const auto is_normal = [&](const std::string& name, arma::uword rows, arma::uword cols,
                             double std) {
    const arma::mat& W = start[name];
    REQUIRE(arma::size(W) == arma::SizeMat(rows, cols));
    const double n = static_cast<double>(W.n_elem), variance = std * std;
    CHECK(std::abs(arma::accu(W)) / n <= tolerance::standard_errors * std::sqrt(variance / n));
    CHECK(std::abs(arma::accu(arma::square(W)) / n - variance) <=
          tolerance::standard_errors * variance * std::sqrt(2 / n));
  };
  for (const std::string name : {"ln_1", "ln_2"}) {
    is_constant(name + ".weight", 48, 1.0);
    is_constant(name + ".bias", 48, 0.0);
  }
  is_normal("attn.c_attn.weight", 48, 144, 0.02);
  is_normal("attn.c_proj.weight", 48, 48, 0.02 / 4);  // sqrt(2 x 8 layers)
  is_normal("mlp.c_fc.weight", 48, 96, 0.02);
  is_normal("mlp.c_proj.weight", 96, 48, 0.02 / 4);
  is_constant("attn.c_attn.bias", 144, 0.0);
  is_constant("attn.c_proj.bias", 48, 0.0);
  is_constant("mlp.c_fc.bias", 96, 0.0);
  is_constant("mlp.c_proj.bias", 48, 0.0);

  make_block<double>(spec_of("none", "off"), bare);
  CHECK(bare.all().size() == 4);  // an omitted norm or MLP has no tensors
}

// The published gpt2 has 124,439,808 parameters, 1536 of them in the final norm, which is omitted
// here.
TEST_CASE("GPT-2 has the published number of parameters") {
  ModelSpec spec;
  spec.model = "gpt2";
  spec.dim = 768;
  resolve_defaults(spec);
  CHECK(spec.heads == 12);
  DrawnTensors<float> block(trial, ""), embedding(trial, "");
  make_block<float>(spec, block);
  embed_tokens<float>(spec, embedding, {1, 2, 3});
  CHECK(embedding.parameters() + 12 * block.parameters() + 1536 == 124439808);
  CHECK(parameters_per_block(spec) == static_cast<double>(block.parameters()));
}

TEST_CASE_TEMPLATE("GPT-2 embedding is the sum of token and position", T, float, double) {
  const std::vector<std::uint32_t> ids = {7, 0, 39, 7};
  PerturbedTensors<T> tensors(step);
  const arma::Mat<T> X = embed_tokens<T>(spec_of(), tensors, ids);
  Weights w(step);
  embed_tokens<double>(spec_of(), w, ids);
  REQUIRE(X.n_cols == 4);
  REQUIRE(w.all().size() == 2);
  for (arma::uword t = 0; t < 4; ++t) {
    for (arma::uword c = 0; c < d; ++c) {
      const double sum = w["wte.weight"](c, t) + w["wpe.weight"](c, t);
      CHECK(std::abs(static_cast<double>(X(c, t)) - sum) <= tolerance::closed_form<T>);
    }
  }
}

TEST_CASE(
    "GPT-2 embedding: a token's column depends only on its id and position; the table grows for "
    "more tokens") {
  ModelSpec spec = spec_of();
  DrawnTensors<double> tensors(trial, ""), usual(trial, ""), longer(trial, "");
  const arma::mat X = embed_tokens(spec, tensors, {7, 3, 7}),
                  Y = embed_tokens(spec, tensors, {7, 5});
  CHECK(arma::approx_equal(X.col(0), Y.col(0), "absdiff", 0.0));
  CHECK(arma::norm(X.col(0) - X.col(2)) > 0.01);
  CHECK(arma::norm(X.col(1) - Y.col(1)) > 0.01);

  embed_tokens(spec, usual, {1, 2});
  CHECK(usual.parameters() == (40 + 1024) * d);
  CHECK(embed_tokens(spec, longer, std::vector<std::uint32_t>(1100, 1)).n_cols == 1100);
  CHECK(longer.parameters() == (40 + 1100) * d);
  spec.checkpoint = unread_checkpoint();
  CHECK_THROWS_AS(embed_tokens(spec, longer, std::vector<std::uint32_t>(1100, 1)), Failure);
}

TEST_CASE(
    "GPT-2 block: a separate power of two does not change the result; without a norm it is "
    "multiplied back") {
  const arma::mat X = input();
  for (const std::string lambda_at : {"attention", "both"}) {
    Weights weights(step);
    const auto block = make_block<double>(spec_of("layer", "on", lambda_at), weights);
    State<double> plain{X}, scaled{X / 1024, 10.0};
    block->forward(plain, 0.7);
    block->forward(scaled, 0.7);
    CHECK(scaled.log2_scale == 10);
    CHECK(relative_error<double>(1024 * scaled.Y, plain.Y) <= tolerance::closed_form<double>);
  }
  Weights weights(step);
  const auto block = make_block<double>(spec_of("none"), weights);
  State<double> plain{X}, scaled{X / 1024, 10.0};
  block->forward(plain, 0.7);
  block->forward(scaled, 0.7);
  CHECK(scaled.log2_scale == 0);
  CHECK(arma::approx_equal(scaled.Y, plain.Y, "absdiff", 0.0));
}

TEST_CASE(
    "GPT-2 block: a stream beyond the range of single precision continues as in double precision") {
  PerturbedTensors<float> single(step);
  PerturbedTensors<double> twice(step);
  const ModelSpec spec = spec_of("layer", "on", "both");
  const auto a = make_block<float>(spec, single);
  const auto b = make_block<double>(spec, twice);
  State<float> x{arma::conv_to<arma::fmat>::from(input())};
  State<double> y{input()};
  for (int k = 0; k < 30; ++k) {  // 30^60 = 2^294
    a->forward(x, -30.0);
    b->forward(y, -30.0);
  }
  CHECK(x.log2_scale > 128);
  const arma::mat up = std::exp2(x.log2_scale - y.log2_scale) * arma::conv_to<arma::mat>::from(x.Y);
  CHECK(relative_error<double>(up, y.Y) <= tolerance::trajectory<float>);
  // Back to ordinary size, so that the branches matter.
  for (int k = 0; k < 40; ++k) {
    a->forward(x, 0.05);
    b->forward(y, 0.05);
  }
  CHECK(x.log2_scale == 0);
  CHECK(y.log2_scale == 0);
  CHECK(relative_error(x.Y, y.Y) <= tolerance::trajectory<float>);
}

}  // namespace gpt2_test
