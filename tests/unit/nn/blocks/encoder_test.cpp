#include "nn/blocks/stack.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"
#include "gaussian.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/blocks/sublayers_by_loops.hpp"

namespace encoder_test {

using namespace ranklab;

namespace {

constexpr arma::uword d = 12, N = 9;

ModelSpec spec_of(const std::string& model, const std::string& norm = "layer",
                  const std::string& mlp = "on", const std::string& lambda_at = "attention") {
  ModelSpec spec;
  spec.model = model;
  spec.dim = d;
  spec.tokens = N;
  spec.heads = 3;
  spec.ffn = 20;
  spec.embedding = 5;
  spec.vocabulary = 40;
  spec.norm = norm;
  spec.mlp = mlp;
  spec.lambda_at = lambda_at;
  resolve_defaults(spec);
  CHECK(spec.norm_epsilon == 1e-12);
  return spec;
}

using by_loops::layer_norm, by_loops::linear, by_loops::sigma, by_loops::Weights;

const Streams trial(3, 1);

// The factors of dropout: 0, or 1 / (1 - rate).
class Factors {
 public:
  explicit Factors(double rate) : rate_(rate), stream_(trial.stream("dropout")) {}
  arma::mat next(arma::uword rows, arma::uword columns) {
    arma::mat M(rows, columns);
    if (rate_ == 0) return M.ones();
    stream_.fill_uniform({M.memptr(), M.n_elem});
    return M.for_each([this](double& m) { m = m < rate_ ? 0 : 1 / (1 - rate_); });
  }

 private:
  double rate_;
  Stream stream_;
};

arma::mat expected_output(const ModelSpec& spec, const Weights& w, const arma::mat& X,
                          double lambda, Factors factors = Factors(0)) {
  const auto norm = [&](const char* name, const arma::mat& Y) {
    return layer_norm(spec, w, name, Y);
  };
  const double scale = 1 / std::sqrt(static_cast<double>(spec.dim / spec.heads));
  std::vector<arma::mat> of_heads;
  for (std::uint64_t k = 0; k < spec.heads; ++k) of_heads.push_back(factors.next(N, N));
  const arma::mat mixed =
      by_loops::attention(linear(w, "query", X), linear(w, "key", X), linear(w, "value", X),
                          spec.heads, scale, false, of_heads);
  const arma::mat X1 =
      norm("attention_norm", lambda * X + factors.next(d, N) % linear(w, "dense", mixed));
  if (!spec.has_mlp()) return X1;
  arma::mat Z = linear(w, "ffn", X1);
  for (double& z : Z) z = sigma(spec.activation, z);
  return norm("output_norm", (spec.lambda_at == "both" ? lambda : 1.0) * X1 +
                                 factors.next(d, N) % linear(w, "ffn_output", Z));
}

std::unique_ptr<Block<double>> drawn_block(const ModelSpec& spec) {
  DrawnTensors<double> tensors(trial, "");
  return make_block(spec, tensors);
}

arma::mat input() {
  return gaussian(d, N, "X");
}

}  // namespace

TEST_CASE_TEMPLATE("encoder blocks agree with a calculation token by token and head by head", T,
                   float, double) {
  for (const std::string model : {"bert", "albert"}) {
    for (const std::string norm : {"layer", "none"}) {
      for (const std::string mlp : {"on", "off"}) {
        for (const std::string lambda_at : {"attention", "both"}) {
          CAPTURE(model);
          CAPTURE(norm);
          CAPTURE(mlp);
          CAPTURE(lambda_at);
          const ModelSpec spec = spec_of(model, norm, mlp, lambda_at);
          PerturbedTensors<T> tensors;
          const auto block = make_block<T>(spec, tensors);
          Weights weights;
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
}

TEST_CASE_TEMPLATE(
    "encoder blocks in training apply dropout to their attention matrices and to both branches", T,
    float, double) {
  for (const std::string mlp : {"on", "off"}) {
    const ModelSpec spec = spec_of("bert", "layer", mlp);
    PerturbedTensors<T> tensors;
    const auto block = make_block<T>(spec, tensors);
    Weights weights;
    make_block<double>(spec, weights);
    for (const double rate : {0.1, 0.7}) {
      State<T> state{arma::conv_to<arma::Mat<T>>::from(input()),
                     0,
                     0,
                     {},
                     Dropout(rate, trial.stream("dropout"))};
      block->forward(state, -0.6);
      const arma::mat expected = expected_output(spec, weights, input(), -0.6, Factors(rate));
      CHECK(relative_error(state.Y, expected) <= tolerance::residual<T>);
      CHECK(relative_error(output(*block, input(), -0.6), expected) > 0.01);
      // The next block draws new factors.
      State<T> next{arma::conv_to<arma::Mat<T>>::from(input()), 0, 0, {}, state.dropout};
      block->forward(next, -0.6);
      CHECK(relative_error(next.Y, expected) > 0.01);
    }
  }
}

TEST_CASE(
    "encoder blocks: the last step is the block's output, and an omitted step repeats the previous "
    "one") {
  for (const std::string norm : {"layer", "none"}) {
    for (const std::string mlp : {"on", "off"}) {
      const ModelSpec spec = spec_of("bert", norm, mlp);
      DrawnTensors<double> tensors(trial, ""), again(trial, "");
      const BlockSteps<double> steps =
          make_block_of<SteppedBlock>(spec, tensors)->steps(input(), -0.6);
      CHECK(arma::approx_equal(output(*make_block(spec, again), input(), -0.6), steps.Y[3],
                               "absdiff", 0.0));
      CHECK(steps.P.size() == spec.heads);
      const auto repeats = [&](std::size_t step) {
        return arma::approx_equal(steps.Y[step], steps.Y[step - 1], "absdiff", 0.0);
      };
      CHECK(repeats(1) == (norm == "none"));
      CHECK(repeats(2) == (mlp == "off"));
      CHECK(repeats(3) == (norm == "none" || mlp == "off"));
    }
  }
}

TEST_CASE("encoders use the epsilon and activation of the spec") {
  for (const std::string model : {"bert", "albert"}) {
    for (const std::string activation : {"gelu", "gelu-tanh", "relu"}) {
      CAPTURE(model);
      CAPTURE(activation);
      ModelSpec spec = spec_of(model);
      spec.norm_epsilon = 0.3;
      spec.activation = activation;
      Weights weights(0.4);
      const auto block = make_block<double>(spec, weights);
      const arma::mat expected = expected_output(spec, weights, input(), 0.8);
      CHECK(relative_error(output(*block, input(), 0.8), expected) <= tolerance::residual<double>);
    }
  }
}

TEST_CASE(
    "encoder blocks: weights N(0, 0.02^2), biases 0, gains 1; an omitted norm or MLP has no "
    "tensors") {
  ModelSpec spec = spec_of("bert");
  spec.dim = 48;
  spec.ffn = 96;
  PerturbedTensors<double> start(0.0), bare(0.0);
  make_block<double>(spec, start);
  REQUIRE(start.all().size() == 16);
  for (const auto& tensor : start.all()) {
    const std::string& name = tensor.first;
    const arma::mat& W = tensor.second;
    CAPTURE(name);
    const bool bias = name.ends_with(".bias"),
               gain = !bias && name.find("norm") != std::string::npos;
    if (bias || gain) {
      CHECK(arma::all(arma::vectorise(W) == (gain ? 1.0 : 0.0)));
      continue;
    }
    const double n = static_cast<double>(W.n_elem), variance = 4e-4;
    CHECK(std::abs(arma::accu(W)) / n <= tolerance::standard_errors * std::sqrt(variance / n));
    CHECK(std::abs(arma::accu(arma::square(W)) / n - variance) <=
          tolerance::standard_errors * variance * std::sqrt(2 / n));
  }
  make_block<double>(spec_of("bert", "none", "off"), bare);
  CHECK(bare.all().size() == 8);
}

// bert-base has 109,482,240 parameters and albert-base-v2 11,683,584; 590,592 of each belong to the
// pooler, which is omitted here.
TEST_CASE("encoders have the published numbers of parameters") {
  for (const std::string model : {"bert", "albert"}) {
    ModelSpec spec;
    spec.model = model;
    spec.dim = 768;
    resolve_defaults(spec);
    DrawnTensors<float> block(trial, ""), embedding(trial, "");
    make_block<float>(spec, block);
    embed_tokens<float>(spec, embedding, {1, 2, 3});
    CHECK(block.parameters() == 7087872);
    CHECK(parameters_per_block(spec) == 7087872);
    const std::uint64_t layers = spec.shares_weights() ? 1 : 12, pooler = 590592;
    CHECK(embedding.parameters() + layers * 7087872 + pooler ==
          (spec.model == "bert" ? 109482240u : 11683584u));
  }
}

TEST_CASE_TEMPLATE(
    "encoder embedding: sum of word, position and type, then a norm, then ALBERT's map", T, float,
    double) {
  const std::vector<std::uint32_t> ids = {7, 0, 39, 7};
  for (const std::string model : {"bert", "albert"}) {
    ModelSpec spec = spec_of(model);
    spec.norm_epsilon = 0.3;
    PerturbedTensors<T> tensors;
    const arma::Mat<T> X = embed_tokens<T>(spec, tensors, ids);
    Weights w;
    embed_tokens<double>(spec, w, ids);
    arma::mat sum = w["word.weight"];
    for (arma::uword t = 0; t < sum.n_cols; ++t) {
      for (arma::uword c = 0; c < sum.n_rows; ++c)
        sum(c, t) += w["position.weight"](c, t) + w["type.weight"](c, 0);
    }
    REQUIRE(sum.n_rows == (spec.model == "bert" ? 12 : 5));
    const arma::mat normed = layer_norm(spec, w, "embedding_norm", sum);
    CHECK(relative_error(X, spec.model == "bert" ? normed : linear(w, "embedding_map", normed)) <=
          tolerance::residual<T>);
  }
}

TEST_CASE("encoder embedding in training: dropout acts after the norm and before ALBERT's map") {
  const std::vector<std::uint32_t> ids = {7, 0, 39, 7};
  for (const std::string model : {"bert", "albert"}) {
    const ModelSpec spec = spec_of(model);
    Weights w;
    Dropout dropout(0.4, trial.stream("dropout"));
    const arma::mat X = embed_tokens<double>(spec, w, ids, &dropout);
    const arma::mat table =
        w["word.weight"] + w["position.weight"] + arma::repmat(w["type.weight"], 1, ids.size());
    const arma::mat kept =
        Factors(0.4).next(table.n_rows, ids.size()) % layer_norm(spec, w, "embedding_norm", table);
    CHECK(relative_error<double>(X, model == "bert" ? kept : linear(w, "embedding_map", kept)) <=
          tolerance::residual<double>);
  }
}

TEST_CASE("encoder embedding: a token's column depends only on its id and position") {
  const ModelSpec spec = spec_of("bert");
  DrawnTensors<double> tensors(trial, "");
  const arma::mat X = embed_tokens(spec, tensors, {7, 3, 7}),
                  Y = embed_tokens(spec, tensors, {7, 5});
  CHECK(arma::approx_equal(X.col(0), Y.col(0), "absdiff", 0.0));
  CHECK(arma::norm(X.col(0) - X.col(2)) > 0.1);
  CHECK(arma::norm(X.col(1) - Y.col(1)) > 0.1);
}

TEST_CASE("encoder embedding: the table grows if there are more tokens than BERT has positions") {
  const ModelSpec spec = spec_of("bert");
  DrawnTensors<double> usual(trial, ""), longer(trial, "");
  embed_tokens(spec, usual, {1, 2});
  CHECK(usual.parameters() == (spec.vocabulary + 512 + 2 + 2) * d);  // word, position, type, norm
  CHECK(embed_tokens(spec, longer, std::vector<std::uint32_t>(600, 1)).n_cols == 600);
  CHECK(longer.parameters() == (spec.vocabulary + 600 + 2 + 2) * d);
}

TEST_CASE("encoders undo the rescaling of a state, as GELU is not homogeneous") {
  const auto block = drawn_block(spec_of("bert", "none"));
  State<double> plain{input()}, scaled{input() / 1024, 10.0};
  block->forward(plain, 0.7);
  block->forward(scaled, 0.7);
  CHECK(scaled.log2_scale == 0);
  CHECK(arma::approx_equal(scaled.Y, plain.Y, "absdiff", 0.0));
}

}  // namespace encoder_test
