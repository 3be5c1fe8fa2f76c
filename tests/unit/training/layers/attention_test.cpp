// What the model does not use of it: attention to later tokens too. The rest is tested through the model.
#include "training/layers/attention.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"
#include "models/blocks/attention.hpp"
#include "models/random_features.hpp"

namespace attention_test {

using namespace ranklab;

namespace {

constexpr std::uint64_t d = 8, heads = 2, context = 5, N = 15;
const Trial trial(5, 0, 0);

AttentionPass<double> drawn() {
  AttentionPass<double> pass;
  pass.q = draw_gaussian<double>(trial, "q", d, N, 1.0);
  pass.k = draw_gaussian<double>(trial, "k", d, N, 1.0);
  pass.v = draw_gaussian<double>(trial, "v", d, N, 1.0);
  return pass;
}

}  // namespace

TEST_CASE("attention is that of the blocks of rank-collapse, sequence by sequence") {
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    const Attention<double> attention({.heads = heads, .context = context, .causal = causal}, d);
    AttentionPass<double> pass = drawn();
    attention.forward(pass);
    for (arma::uword first = 0; first < N; first += context) {
      const arma::uword last = first + context - 1;
      const auto P =
          head_attention_matrices<double>(pass.q.cols(first, last), pass.k.cols(first, last), heads, 1 / std::sqrt(4.0), causal);
      const arma::mat expected = mixed_heads<double>(pass.v.cols(first, last), P);
      CHECK(arma::approx_equal(pass.H.cols(first, last), expected, "absdiff", tolerance::closed_form<double>));
    }
  }
}

TEST_CASE("gradients of full attention are those of central differences") {
  for (const bool rotary : {false, true}) {
    for (const bool qk_norm : {false, true}) {
      const Attention<double> attention({.heads = heads, .context = context, .causal = false, .rotary = rotary, .qk_norm = qk_norm},
                                        d);
      const arma::mat weights = draw_gaussian<double>(trial, "weights", d, N, 1.0);  // the loss is their product with H
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
      for (const auto& [input, gradient] :
           {std::pair{&AttentionPass<double>::q, &dq}, {&AttentionPass<double>::k, &dk}, {&AttentionPass<double>::v, &dv}}) {
        for (arma::uword i = 0; i < d * N; ++i) {
          const double h = 1e-5;
          AttentionPass<double> above = start, below = start;
          (above.*input)[i] += h;
          (below.*input)[i] -= h;
          CHECK(std::fabs((loss(above) - loss(below)) / (2 * h) - (*gradient)[i]) <= tolerance::central_difference);
        }
      }
    }
  }
}

}  // namespace attention_test
