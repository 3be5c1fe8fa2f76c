// Features that the models do not use: attention to later tokens, and one head with joined maps.
// The rest is tested through the models.
#include "nn/layers/attention.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"
#include "ensembles/random_features.hpp"
#include "nn/blocks/attention.hpp"
#include "nn/layers/attention_mixer.hpp"
#include "nn/layers/mixer_checks.hpp"

namespace attention_test {

using namespace ranklab;

namespace {

constexpr std::uint64_t d = 8, heads = 2, context = 5, N = 15;
const Streams trial(5, 0);

AttentionPass<double> drawn() {
  AttentionPass<double> pass;
  pass.q = draw_gaussian<double>(trial, "q", d, N, 1.0);
  pass.k = draw_gaussian<double>(trial, "k", d, N, 1.0);
  pass.v = draw_gaussian<double>(trial, "v", d, N, 1.0);
  return pass;
}

}  // namespace

TEST_CASE("attention agrees with the blocks of rank-collapse, sequence by sequence") {
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    const Attention<double> attention({.heads = heads, .context = context, .causal = causal}, d);
    AttentionPass<double> pass = drawn();
    attention.forward(pass);
    for (arma::uword first = 0; first < N; first += context) {
      const arma::uword last = first + context - 1;
      const auto P = head_attention_matrices<double>(
          pass.q.cols(first, last), pass.k.cols(first, last), heads, 1 / std::sqrt(4.0), causal);
      const arma::mat expected = mixed_heads<double>(pass.v.cols(first, last), P);
      CHECK(arma::approx_equal(pass.H.cols(first, last), expected, "absdiff",
                               tolerance::closed_form<double>));
    }
  }
}

TEST_CASE("gradients of full attention agree with central differences") {
  for (const bool rotary : {false, true}) {
    for (const bool qk_norm : {false, true}) {
      const Attention<double> attention({.heads = heads,
                                         .context = context,
                                         .causal = false,
                                         .rotary = rotary,
                                         .qk_norm = qk_norm},
                                        d);
      const arma::mat weights = draw_gaussian<double>(
          trial, "weights", d, N, 1.0);  // the loss is their inner product with H
      const AttentionPass<double> start = drawn();
      const auto loss = [&](const AttentionPass<double>& at) {
        AttentionPass<double> pass = at;
        attention.forward(pass);
        return arma::dot(weights, pass.H);
      };
      AttentionPass<double> pass = start;
      attention.forward(pass);
      arma::mat dq, dk, dv;
      attention.backward(pass, weights, dq, dk, dv);
      for (const auto& [input, gradient] : {std::pair{&AttentionPass<double>::q, &dq},
                                            {&AttentionPass<double>::k, &dk},
                                            {&AttentionPass<double>::v, &dv}}) {
        for (arma::uword i = 0; i < d * N; ++i) {
          const double h = 1e-5;
          AttentionPass<double> above = start, below = start;
          (above.*input)[i] += h;
          (below.*input)[i] -= h;
          CHECK(std::fabs((loss(above) - loss(below)) / (2 * h) - (*gradient)[i]) <=
                tolerance::central_difference);
        }
      }
    }
  }
}

TEST_CASE(
    "one head with joined maps agrees with the four maps, forward and by central differences") {
  for (const bool causal : {false, true}) {
    for (const bool output : {false, true}) {
      for (const bool output_bias : {false, true}) {
        CAPTURE(causal);
        CAPTURE(output);
        CAPTURE(output_bias);
        const AttentionShape shape{.context = context, .causal = causal};
        const AttentionMaps maps{.output = output, .output_bias = output_bias};
        const InitialWeights initial(Initialization::fan, trial);
        AttentionMixer<double> mixer(d, shape, initial, maps);
        AttentionMixer<float> narrow(d, shape, initial, maps);
        mixer_checks::perturb(mixer);
        mixer_checks::perturb(narrow);
        const arma::mat X = draw_gaussian<double>(trial, "X", d, N, 1.0);
        const auto W = [&](std::size_t i) -> const arma::mat& { return mixer.parameters()[i]->W; };
        AttentionPass<double> pass;
        pass.q = W(0) * X, pass.k = W(1) * X, pass.v = W(2) * X;
        Attention<double>(shape, d).forward(pass);
        arma::mat expected = output ? arma::mat(W(3) * pass.H) : pass.H;
        if (output && output_bias) expected.each_col() += arma::vec(W(4));
        CHECK(arma::approx_equal(mixer_checks::output(mixer, X), expected, "absdiff",
                                 tolerance::residual<double>));
        mixer_checks::check_gradients(mixer, X);
        mixer_checks::check_single_precision(mixer, narrow, X);
      }
    }
  }
}

}  // namespace attention_test
