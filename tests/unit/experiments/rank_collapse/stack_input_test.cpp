#include "experiments/rank_collapse/stacked_model.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "nn/blocks/bare_block.hpp"
#include "nn/blocks/model_row.hpp"

namespace stack_input_test {

using namespace ranklab;

namespace {

ModelSpec spec_of(const std::string& model, const std::string& input = model_default) {
  ModelSpec spec;
  spec.model = model;
  spec.dim = 32;
  spec.tokens = 24;
  spec.vocabulary = 8;  // fewer ids than tokens, so that some of the 24 tokens are equal
  spec.input = input;
  resolve_defaults(spec);
  return spec;
}

const Trial trial(3, 1, 0);

template <class T = double>
arma::Mat<T> input_of(const ModelSpec& spec, const Trial& of = trial) {
  return draw_input<T>(spec, of).Y;
}

bool equal(const arma::mat& A, const arma::mat& B) {
  return arma::approx_equal(A, B, "absdiff", 0.0);
}

}  // namespace

TEST_CASE("input depends only on seed and trial, not on the draws of the model") {
  for (const std::string input : {"gaussian", "cone", "tokens"}) {
    CAPTURE(input);
    const ModelSpec spec = spec_of("post-norm", input);
    const arma::mat X = input_of(spec);
    CHECK(X.n_rows == 32);
    CHECK(X.n_cols == 24);
    CHECK(equal(X, input_of(spec)));
    CHECK(equal(X, input_of(spec_of("pre-norm", input))));
    CHECK_FALSE(equal(X, input_of(spec, Trial(3, 2, 0))));
    CHECK_FALSE(equal(X, input_of(spec, Trial(4, 1, 0))));
    const arma::mat single = arma::conv_to<arma::mat>::from(input_of<float>(spec));
    CHECK(arma::norm(single - X, "fro") <= tolerance::closed_form<float> * arma::norm(X, "fro"));
  }
}

TEST_CASE("Gaussian input has mean 0 and variance 1") {
  ModelSpec spec = spec_of("post-norm", "gaussian");
  spec.tokens = 500;
  const arma::mat X = input_of(spec);
  const double n = static_cast<double>(X.n_elem);
  CHECK(std::abs(arma::accu(X)) / n <= tolerance::standard_errors / std::sqrt(n));
  CHECK(std::abs(arma::accu(arma::square(X)) / n - 1) <=
        tolerance::standard_errors * std::sqrt(2 / n));
}

// [LambdaSkip] Theorem 4.2 and similar statements need a positive inner product of every pair.
TEST_CASE(
    "cone input: tokens in a narrow cone have acute angles and the norm of a Gaussian input") {
  ModelSpec spec = spec_of("post-norm", "cone");
  spec.cone_width = 0.3;
  arma::mat X = input_of(spec);
  CHECK(arma::norm(X, "fro") / std::sqrt(static_cast<double>(X.n_elem)) ==
        doctest::Approx(std::sqrt(1 + 0.09)).epsilon(0.1));
  normalize_rows(X);
  CHECK(arma::mat(X.t() * X).min() > 0);
  spec.cone_width = 0;
  X = input_of(spec);
  CHECK(arma::abs(X.each_col() - X.col(0)).max() == 0);
  CHECK(arma::norm(X.col(0)) ==
        doctest::Approx(std::sqrt(32.0)).epsilon(tolerance::closed_form<double>));
}

TEST_CASE("token input: equal ids give equal columns, except that an encoder adds positions") {
  for (const std::string model : {"attention", "selective-ssm", "s4d", "mamba2", "post-norm"}) {
    const arma::mat X = input_of(spec_of(model, "tokens"));
    arma::uword kinds = 0;
    for (arma::uword i = 0; i < X.n_cols; ++i) {
      bool seen = false;
      for (arma::uword j = 0; j < i; ++j) seen = seen || equal(X.col(i), X.col(j));
      if (!seen) ++kinds;
    }
    CAPTURE(model);
    CHECK(kinds > 1);
    CHECK(kinds <= 8);
  }
  for (const std::string model : {"bert", "albert", "gpt2"}) {
    const arma::mat X = input_of(spec_of(model));
    for (arma::uword i = 1; i < X.n_cols; ++i) CHECK_FALSE(equal(X.col(i), X.col(0)));
  }
}

TEST_CASE(
    "with --norm rows, the tokens of bare stacks start on the unit sphere, those of other models "
    "as drawn") {
  for (const std::string model :
       {"attention", "linear-attention", "lti-ssm", "selective-ssm", "s4d", "post-norm"}) {
    CAPTURE(model);
    ModelSpec spec = spec_of(model, "gaussian");
    spec.norm = "rows";
    const arma::mat X = input_of(spec);
    spec.norm = "none";
    const arma::mat drawn = input_of(spec);
    if (model != "s4d" && model != "post-norm") {
      CHECK(arma::abs(arma::sum(arma::square(X), 0) - 1).max() <= tolerance::closed_form<double>);
      CHECK_FALSE(equal(X, drawn));
    } else {
      CHECK(equal(X, drawn));
    }
  }
}

TEST_CASE("token embeddings have variance 0.02^2 for Mamba-2 and 1 for other models") {
  for (const std::string model : {"mamba2", "post-norm"}) {
    ModelSpec spec = spec_of(model, "tokens");
    spec.tokens = 400;
    spec.vocabulary = 1u << 24;  // all ids differ
    const arma::mat X = input_of(spec);
    const double n = static_cast<double>(X.n_elem), variance = model == "mamba2" ? 4e-4 : 1.0;
    CHECK(std::abs(arma::accu(arma::square(X)) / n - variance) <=
          tolerance::standard_errors * variance * std::sqrt(2 / n));
  }
}

TEST_CASE("token input: ids follow the Zipf distribution, which is uniform for exponent 0") {
  ModelSpec spec = spec_of("post-norm", "tokens");
  spec.tokens = 20000;
  spec.vocabulary = 4;
  // The columns of the ids; the test counts how often each occurs.
  DrawnTensors<double> tensors(trial, "");
  const arma::mat table =
      tensors.columns("embedding", spec.dim, 4, {0, 1, 2, 3}, EntryLaw::normal(1.0));
  for (const double exponent : {0.0, 1.0, 2.5}) {
    spec.zipf = exponent;
    const arma::mat X = input_of(spec);
    double sum = 0;
    for (int id = 0; id < 4; ++id) sum += std::pow(id + 1.0, -exponent);
    for (arma::uword id = 0; id < 4; ++id) {
      double count = 0;
      for (arma::uword t = 0; t < X.n_cols; ++t) count += X(0, t) == table(0, id) ? 1 : 0;
      const double p = std::pow(static_cast<double>(id) + 1, -exponent) / sum, n = 20000;
      CAPTURE(exponent);
      CAPTURE(id);
      CHECK(std::abs(count / n - p) <= tolerance::standard_errors * std::sqrt(p * (1 - p) / n));
    }
  }
}

TEST_CASE(
    "token input: each trial gets its own sequence of the file, cut to the number of tokens") {
  const auto sequences =
      std::make_shared<TokenSequences>(TokenSequences{{5, 5, 2}, {7, 0, 1, 7, 3}, {8, 1}});
  for (const std::string model : {"post-norm", "mamba2", "bert", "albert", "gpt2"}) {
    CAPTURE(model);
    ModelSpec spec = spec_of(model, "tokens");
    spec.sequences = sequences;
    DrawnTensors<double> tensors(trial, "");
    const auto embedded = [&](const std::vector<std::uint32_t>& ids) -> arma::mat {
      if (model == "bert" || model == "albert" || model == "gpt2")
        return embed_tokens(spec, tensors, ids);
      return tensors.columns("embedding", spec.dim, spec.vocabulary, ids,
                             EntryLaw::normal(model == "mamba2" ? 0.02 : 1.0));
    };
    spec.tokens = 5;
    CHECK(equal(input_of(spec), embedded({7, 0, 1, 7, 3})));  // the trial has index 1
    CHECK(input_of(spec, Trial(3, 0, 0)).n_cols == 3);
    spec.tokens = 2;
    CHECK(equal(input_of(spec), embedded({7, 0})));
    CHECK_THROWS_WITH_AS(
        input_of(spec, Trial(3, 2, 0)),
        "token id 8 of sequence 3 is not in the vocabulary of 8, whose ids are 0 to 7", Failure);
    spec.tokens_file = "a\nb.npy";
    CHECK_THROWS_WITH_AS(
        input_of(spec, Trial(3, 2, 0)),
        "a\\x0ab.npy: token id 8 of sequence 3 is not in the vocabulary of 8, whose ids are 0 to 7",
        Failure);
  }
}

TEST_CASE("tensors of a layer: without a checkpoint they are drawn, per layer or shared") {
  for (const std::string model : {"gpt2", "albert", "mamba2"}) {
    CAPTURE(model);
    ModelSpec spec = spec_of(model);
    spec.weight_scale = 1.5;
    for (const std::uint64_t layer : {0u, 3u}) {
      const auto tensors = tensors_of_layer<double>(spec, trial, layer);
      DrawnTensors<double> expected(
          trial, model == "albert" ? "layer0." : "layer" + std::to_string(layer) + ".", 1.5);
      CHECK(equal(tensors->matrix("W", 3, 4, EntryLaw::normal(1.0)),
                  expected.matrix("W", 3, 4, EntryLaw::normal(1.0))));
      CHECK(equal(tensors->vector("b", 5, EntryLaw::normal(1.0)),
                  expected.vector("b", 5, EntryLaw::normal(1.0))));
    }
  }
}

TEST_CASE("every model can be built, keeps the shape of its input and is reproducible") {
  for (const auto& model : model_names()) {
    CAPTURE(model);
    const ModelSpec spec = spec_of(model);
    const auto tensors = [&](std::uint64_t layer) {
      return block_tensors<double>(spec, trial, layer);
    };
    auto first = tensors(0), second = tensors(1), again = tensors(0);
    State<double> a = draw_input<double>(spec, trial), b = a, c = a;
    make_block(spec, first)->forward(a, 1.0);
    make_block(spec, second)->forward(b, 1.0);
    make_block(spec, again)->forward(c, 1.0);
    CHECK(a.Y.n_rows == spec.dim);
    CHECK(a.Y.n_cols == spec.tokens);
    CHECK(a.Y.is_finite());
    CHECK(equal(a.Y, c.Y));
    CHECK(equal(a.Y, b.Y) == spec.shares_weights());
    CHECK(static_cast<double>(first.parameters()) == parameters_per_block(spec));
  }
}

TEST_CASE("the number of parameters of a block is right with and without norms and MLP") {
  for (const std::string model : {"bert", "albert", "gpt2"}) {
    for (const std::string norm : {"layer", "none"}) {
      for (const std::string mlp : {"on", "off"}) {
        CAPTURE(model);
        CAPTURE(norm);
        CAPTURE(mlp);
        ModelSpec spec = spec_of(model);
        spec.norm = norm;
        spec.mlp = mlp;
        auto tensors = block_tensors<double>(spec, trial, 0);
        make_block(spec, tensors);
        CHECK(static_cast<double>(tensors.parameters()) == parameters_per_block(spec));
      }
    }
  }
}

// The tests of the blocks' own files check the equations behind each name.
TEST_CASE("make_block_of returns a block only of the kind that the model's row gives") {
  for (const auto& model : model_names()) {
    CAPTURE(model);
    const ModelSpec spec = spec_of(model);
    auto first = block_tensors<double>(spec, trial, 2),
         second = block_tensors<double>(spec, trial, 2);
    State<double> a = draw_input<double>(spec, trial), b = a;
    make_block(spec, first)->forward(a, 0.7);
    const auto require = [&](bool of_kind, auto make) {
      if (!of_kind) {
        CHECK_THROWS_AS(make(), std::bad_cast);
        return;
      }
      b = draw_input<double>(spec, trial);
      make()->forward(b, 0.7);
      CHECK(equal(a.Y, b.Y));
    };
    require(spec.row().bare, [&] { return make_block_of<BareBlock>(spec, second); });
    require(spec.row().has_steps, [&] { return make_block_of<SteppedBlock>(spec, second); });
  }
}

}  // namespace stack_input_test
