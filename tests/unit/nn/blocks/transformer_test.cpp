#include "nn/blocks/stack.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"
#include "gaussian.hpp"
#include "nn/blocks/by_loops.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/blocks/perturbed_tensors.hpp"

namespace transformer_test {

using namespace ranklab;

namespace {

constexpr arma::uword d = 12, N = 9;

ModelSpec spec_of(const std::string& model, const std::string& norm = "layer",
                  const std::string& mlp = "on") {
  ModelSpec spec;
  spec.model = model;
  spec.dim = d;
  spec.tokens = N;
  spec.heads = 3;
  spec.ffn = 20;
  spec.alpha = 0.8;
  spec.norm = norm;
  spec.mlp = mlp;
  resolve_defaults(spec);
  return spec;
}

// alpha [P_1 X W_1 ... P_h X W_h]
arma::mat attended(const ModelSpec& spec, const PerturbedTensors<double>& w, const arma::mat& X) {
  const arma::mat Q = by_loops::linear(w["W_q"], X), K = by_loops::linear(w["W_k"], X),
                  V = by_loops::linear(w["W"], X);
  return spec.alpha *
         by_loops::attention(Q, K, V, spec.heads, 1 / std::sqrt(static_cast<double>(spec.dim)));
}

// relu(X U) V
arma::mat fed_forward(const PerturbedTensors<double>& w, const arma::mat& X) {
  arma::mat Z = by_loops::linear(w["U"], X);
  for (double& z : Z) z = std::max(z, 0.0);
  return by_loops::linear(w["V"], Z);
}

arma::mat expected_output(const ModelSpec& spec, const PerturbedTensors<double>& w,
                          const arma::mat& X, double lambda) {
  const auto norm = [&](const arma::mat& Y) { return by_loops::normalized(Y, spec.norm, 1e-5); };
  if (spec.model == "post-norm") {
    const arma::mat Y = norm(lambda * X + attended(spec, w, X));
    return spec.has_mlp() ? norm(Y + fed_forward(w, Y)) : Y;
  }
  const arma::mat Y = lambda * X + attended(spec, w, norm(X));
  return spec.has_mlp() ? arma::mat(Y + fed_forward(w, norm(Y))) : Y;
}

// A block from drawn tensors and the input of most tests.
const Streams trial(3, 1);

std::unique_ptr<Block<double>> drawn_block(const ModelSpec& spec) {
  DrawnTensors<double> tensors(trial, "");
  return make_block(spec, tensors);
}

arma::mat input() {
  return gaussian(d, N, "X");
}

}  // namespace

TEST_CASE_TEMPLATE("Transformer blocks agree with a calculation token by token and head by head", T,
                   float, double) {
  for (const std::string model : {"post-norm", "pre-norm"}) {
    for (const std::string norm : {"layer", "rms", "rows", "none"}) {
      for (const std::string mlp : {"on", "off"}) {
        CAPTURE(model);
        CAPTURE(norm);
        CAPTURE(mlp);
        const ModelSpec spec = spec_of(model, norm, mlp);
        PerturbedTensors<T> tensors;
        const auto block = make_block<T>(spec, tensors);
        PerturbedTensors<double> weights;
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

TEST_CASE("Transformer weights follow their laws") {
  const arma::uword width = 64, q = 96;
  ModelSpec spec = spec_of("post-norm");
  spec.dim = width;
  spec.heads = 4;
  spec.ffn = q;
  const auto check_law = [](const arma::mat& W, double variance, double kurtosis) {
    const double n = static_cast<double>(W.n_elem), mean_error = std::sqrt(variance / n);
    CHECK(std::abs(arma::accu(W)) / n <= tolerance::standard_errors * mean_error);
    const double squares_error = variance * std::sqrt((kurtosis - 1) / n);
    CHECK(std::abs(arma::accu(arma::square(W)) / n - variance) <=
          tolerance::standard_errors * squares_error);
  };
  const double uniform = 1.8, normal = 3.0;  // their kurtosis
  for (const std::string variance : {"1/d", "h/d"}) {
    spec.weight_variance = variance;
    PerturbedTensors<double> weights(0.0);
    make_block<double>(spec, weights);
    const double in = static_cast<double>(width), inner = static_cast<double>(q);
    check_law(weights["W"], (spec.weight_variance == "h/d" ? 4.0 : 1.0) / in, normal);
    for (const char* name : {"W_q", "W_k", "U"}) {
      check_law(weights[name], 1 / (3 * in), uniform);
      CHECK(arma::abs(weights[name]).max() < 1 / std::sqrt(in));
    }
    check_law(weights["V"], 1 / (3 * inner), uniform);
    CHECK(arma::abs(weights["V"]).max() < 1 / std::sqrt(inner));
    DrawnTensors<double> tensors(trial, "");
    make_block(spec, tensors);
    CHECK(tensors.parameters() == 3 * width * width + 2 * width * q);
    CHECK(parameters_per_block(spec) == static_cast<double>(tensors.parameters()));
  }
}

TEST_CASE("Transformer without an MLP draws no MLP tensors") {
  for (const std::string model : {"post-norm", "pre-norm"}) {
    PerturbedTensors<double> weights(0.0);
    const ModelSpec spec = spec_of(model, "layer", "off");
    make_block<double>(spec, weights);
    CHECK(weights.all().size() == 3);
    CHECK(parameters_per_block(spec) == 3 * d * d);
    for (const char* name : {"W_q", "W_k", "W"}) CHECK(weights[name].n_elem == d * d);
  }
}

TEST_CASE("post-norm steps agree with loops, and the last one is the block's output") {
  for (const std::string norm : {"layer", "none"}) {
    for (const std::string mlp : {"on", "off"}) {
      const ModelSpec spec = spec_of("post-norm", norm, mlp);
      PerturbedTensors<double> tensors;
      const auto block = make_block_of<SteppedBlock, double>(spec, tensors);
      const arma::mat X = input();
      const auto steps = block->steps(X, -0.6).Y;

      const auto normalized = [&](const arma::mat& Y) {
        return by_loops::normalized(Y, norm, 1e-5);
      };
      const arma::mat Y1 = -0.6 * X + attended(spec, tensors, X), Y2 = normalized(Y1);
      const arma::mat Y3 = spec.has_mlp() ? arma::mat(Y2 + fed_forward(tensors, Y2)) : Y2;
      const arma::mat Y4 = spec.has_mlp() ? normalized(Y3) : Y3;
      CHECK(relative_error(steps[0], Y1) <= tolerance::residual<double>);
      CHECK(relative_error(steps[1], Y2) <= tolerance::residual<double>);
      CHECK(relative_error(steps[2], Y3) <= tolerance::residual<double>);
      CHECK(relative_error(steps[3], Y4) <= tolerance::residual<double>);
      CHECK(arma::approx_equal(output(*block, X, -0.6), steps[3], "absdiff", 0.0));
    }
  }
}

TEST_CASE("Transformer without a norm: the state's scale is part of the representation") {
  for (const std::string model : {"post-norm", "pre-norm"}) {
    const auto block = drawn_block(spec_of(model, "none"));
    State<double> plain{input()}, scaled{input() / 1024, 10.0};
    block->forward(plain, 0.7);
    block->forward(scaled, 0.7);
    scaled.unscale();
    CHECK(relative_error(scaled.Y, plain.Y) <=
          tolerance::closed_form<double>);  // a power of two causes no rounding
  }
}

TEST_CASE("Transformer with the norm rows: zero tokens are counted at every norm") {
  for (const std::string model : {"post-norm", "pre-norm"}) {
    for (const std::string mlp : {"on", "off"}) {
      State<double> state{arma::mat(d, N, arma::fill::zeros)};
      drawn_block(spec_of(model, "rows", mlp))->forward(state, 1.0);
      CHECK(state.degenerate_rows == (mlp == "on" ? 2 * N : N));
    }
  }
}

}  // namespace transformer_test
