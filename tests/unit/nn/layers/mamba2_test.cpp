#include "nn/layers/mamba2.hpp"

#include <stdexcept>

#include "nn/layers/mixer_checks.hpp"

namespace mamba2_test {

using namespace ranklab;
using namespace mixer_checks;

namespace {

constexpr arma::uword d = 6, length = 9, p = 4, n = 5, width = 2 * d, heads = width / p,
                      channels = width + 2 * n;
const Streams trial(3, 0);
const InitialWeights initial(Initialization::fan, trial, "mixer.");
const arma::mat X = gaussian(d, 2 * length, "X");

template <class T = double>
Mamba2Mixer<T> mixer_of(arma::uword tokens = length) {
  Mamba2Mixer<T> mixer(d, tokens, {.head_width = p, .state = n}, initial);
  perturb<T>(mixer);
  return mixer;
}

double silu(double t) {
  return t / (1 + std::exp(-t));
}

/// Computes one sequence by the recurrence, one number at a time.
arma::mat by_loops(Mixer<double>& mixer, const arma::mat& U) {
  const auto W = mixer.parameters();
  const arma::mat in = W[0]->W * U;
  arma::mat Y(d, U.n_cols), xBC(channels, U.n_cols), h(n, width, arma::fill::zeros);
  for (arma::uword t = 0; t < U.n_cols; ++t) {
    for (arma::uword c = 0; c < channels; ++c) {
      double sum = W[2]->W(c);
      for (arma::uword k = 0; k < 4; ++k)
        sum += t + k < 3 ? 0.0 : W[1]->W(c, k) * in(width + c, t + k - 3);
      xBC(c, t) = silu(sum);
    }
    arma::vec r(width, arma::fill::zeros);
    double squares = 0;
    for (arma::uword c = 0; c < width; ++c) {
      const arma::uword head = c / p;
      const double dt = std::log1p(std::exp(in(width + channels + head, t) + W[3]->W(head))),
                   A = -std::exp(W[4]->W(head));
      for (arma::uword s = 0; s < n; ++s) {
        h(s, c) = std::exp(dt * A) * h(s, c) + dt * xBC(width + s, t) * xBC(c, t);
        r(c) += h(s, c) * xBC(width + n + s, t);
      }
      r(c) = (r(c) + W[5]->W(head) * xBC(c, t)) * silu(in(c, t));
      squares += r(c) * r(c) / width;
    }
    Y.col(t) = W[7]->W * (W[6]->W % r / std::sqrt(squares + 1e-5));
  }
  return Y;
}

}  // namespace

TEST_CASE("Mamba-2 agrees with loops over the recurrence, sequence by sequence") {
  Mamba2Mixer<double> mixer = mixer_of();
  const arma::mat Y = output<double>(mixer, X);
  CHECK(relative(Y.head_cols(length), by_loops(mixer, X.head_cols(length))) <=
        tolerance::residual<double>);
  CHECK(relative(Y.tail_cols(length), by_loops(mixer, X.tail_cols(length))) <=
        tolerance::residual<double>);
}

TEST_CASE("Mamba-2 works for steps from nearly 0 to so large that the state is forgotten") {
  for (const double dt : {-40.0, -4.0, 0.0, 4.0, 300.0}) {
    CAPTURE(dt);
    Mamba2Mixer<double> mixer = mixer_of();
    mixer.parameters()[3]->W += dt;
    const arma::mat U = X.head_cols(length);
    CHECK(relative(output<double>(mixer, U), by_loops(mixer, U)) <= tolerance::residual<double>);
  }
}

TEST_CASE("Mamba-2: gradients agree with central differences") {
  for (const double dt : {0.0, 2.0, 5.0}) {  // added to the small initial steps
    CAPTURE(dt);
    Mamba2Mixer<double> mixer = mixer_of();
    mixer.parameters()[3]->W += dt;
    check_gradients(mixer, X);
  }
}

TEST_CASE("Mamba-2 works for sequences shorter than the taps of the convolution") {
  Mamba2Mixer<double> mixer = mixer_of(2);
  mixer.parameters()[3]->W += 3;  // steps and decays for which two tokens depend strongly on A
  mixer.parameters()[4]->W -= 2.5;
  const arma::mat two = X.head_cols(4);
  CHECK(relative(output<double>(mixer, two).tail_cols(2), by_loops(mixer, two.tail_cols(2))) <=
        tolerance::residual<double>);
  check_gradients(mixer, two);
}

TEST_CASE("Mamba-2: sequences are independent, the mixer is causal, and single precision agrees") {
  Mamba2Mixer<double> mixer = mixer_of();
  Mamba2Mixer<float> narrow = mixer_of<float>();
  check_sequences_apart(mixer, X);
  check_causal(mixer, X);
  check_single_precision(mixer, narrow, X);
}

TEST_CASE("Mamba-2: sequences are independent if large maps are applied to all tokens at once") {
  constexpr arma::uword wide = 32, tokens = 200;  // 162 x 32 x 200 multiplications per sequence
  Mamba2Mixer<double> mixer(wide, tokens, {}, initial);
  perturb(mixer);
  check_sequences_apart(mixer, gaussian(wide, 2 * tokens, "X"));
}

TEST_CASE("Mamba-2: names, shapes and initial values are those of the published layout") {
  constexpr arma::uword wide = 200, of_channels = 2 * wide + 32, of_heads = 100;
  Mamba2Mixer<double> mixer(wide, 4, {.head_width = 4}, initial);
  const auto W = mixer.parameters();
  std::string names, decaying;
  for (const Parameter<double>* parameter : W) {
    names += parameter->name + " ";
    if (parameter->decays) decaying += parameter->name + " ";
  }
  CHECK(names ==
        "mixer.in_proj mixer.conv.weight mixer.conv.bias mixer.dt_bias mixer.A_log mixer.D "
        "mixer.norm mixer.out_proj ");
  CHECK(decaying == "mixer.in_proj mixer.out_proj ");
  CHECK(arma::size(W[0]->W) == arma::SizeMat(2 * wide + of_channels + of_heads, wide));
  CHECK(arma::size(W[1]->W) == arma::SizeMat(of_channels, 4));
  CHECK(arma::size(W[2]->W) == arma::SizeMat(of_channels, 1));
  for (const std::size_t i : {3u, 4u, 5u}) CHECK(arma::size(W[i]->W) == arma::SizeMat(of_heads, 1));
  CHECK(arma::size(W[6]->W) == arma::SizeMat(2 * wide, 1));
  CHECK(arma::size(W[7]->W) == arma::SizeMat(wide, 2 * wide));

  // The draws reach the ends of the laws up to a few percent.
  CHECK(std::fabs(W[1]->W.max() - 0.5) <= 0.005);
  CHECK(std::fabs(W[1]->W.min() + 0.5) <= 0.005);
  CHECK(arma::abs(W[2]->W).max() == 0.0);
  const arma::vec dt = arma::log(1 + arma::exp(W[3]->W)), A = arma::exp(W[4]->W);
  CHECK(std::fabs(dt.min() / 1e-3 - 1) <= 0.2);
  CHECK(std::fabs(dt.max() / 1e-1 - 1) <= 0.2);
  CHECK(std::fabs(arma::median(arma::vec(arma::log(dt))) - std::log(1e-2)) <= 0.7);
  CHECK(std::fabs(A.min() - 1) <= 0.5);
  CHECK(std::fabs(A.max() - 16) <= 0.5);
  CHECK(arma::abs(W[5]->W - 1).max() == 0.0);
  CHECK(arma::abs(W[6]->W - 1).max() == 0.0);
  CHECK_THROWS_AS(Mamba2Mixer<double>(d, length, {.head_width = 5}, initial), std::logic_error);
}

}  // namespace mamba2_test
