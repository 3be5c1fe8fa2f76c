#include "nn/layers/mamba1.hpp"

#include "nn/layers/mixer_checks.hpp"

namespace mamba1_test {

using namespace ranklab;
using namespace mixer_checks;

namespace {

constexpr arma::uword length = 9;
const Streams trial(3, 0);
const InitialWeights initial(Initialization::fan, trial, "mixer.");

/// Sizes of the mixer: one step per channel from one number or from two; states that fill registers
/// in part, or more than one.
struct Size {
  arma::uword d, n;
};
constexpr Size sizes[] = {{6, 11}, {18, 5}};

arma::mat tokens(arma::uword d) {
  return gaussian(d, 2 * length, "X");
}

template <class T = double>
Mamba1Mixer<T> mixer_of(const Size& size, arma::uword tokens = length) {
  Mamba1Mixer<T> mixer(size.d, tokens, {.state = size.n}, initial);
  perturb<T>(mixer);
  return mixer;
}

template <class T>
Parameter<T>& dt_bias_of(Mixer<T>& mixer) {
  return *mixer.parameters()[5];
}

double silu(double t) {
  return t / (1 + std::exp(-t));
}

/// Computes one sequence by the recurrence, one number at a time.
arma::mat by_loops(Mixer<double>& mixer, const arma::mat& U) {
  const auto W = mixer.parameters();
  const arma::uword d = U.n_rows, width = 2 * d, n = W[6]->W.n_cols, rank = W[4]->W.n_cols;
  const arma::mat in = W[0]->W * U;
  arma::mat Y(d, U.n_cols), h(n, width, arma::fill::zeros);
  for (arma::uword t = 0; t < U.n_cols; ++t) {
    arma::vec x(width), gated(width);
    for (arma::uword c = 0; c < width; ++c) {
      double sum = W[2]->W(c);
      for (arma::uword k = 0; k < 4; ++k) sum += t + k < 3 ? 0.0 : W[1]->W(c, k) * in(c, t + k - 3);
      x(c) = silu(sum);
    }
    const arma::vec low = W[3]->W * x;
    for (arma::uword c = 0; c < width; ++c) {
      double raw = W[5]->W(c), y = W[7]->W(c) * x(c);
      for (arma::uword j = 0; j < rank; ++j) raw += W[4]->W(c, j) * low(j);
      const double dt = std::log1p(std::exp(raw));
      for (arma::uword s = 0; s < n; ++s) {
        h(s, c) = std::exp(-dt * std::exp(W[6]->W(c, s))) * h(s, c) + dt * low(rank + s) * x(c);
        y += h(s, c) * low(rank + n + s);
      }
      gated(c) = y * silu(in(width + c, t));
    }
    Y.col(t) = W[8]->W * gated;
  }
  return Y;
}

}  // namespace

TEST_CASE("Mamba-1 agrees with loops over the recurrence, sequence by sequence") {
  for (const Size& size : sizes) {
    CAPTURE(size.d);
    Mamba1Mixer<double> mixer = mixer_of(size);
    const arma::mat X = tokens(size.d), Y = output<double>(mixer, X);
    CHECK(relative(Y.head_cols(length), by_loops(mixer, X.head_cols(length))) <=
          tolerance::residual<double>);
    CHECK(relative(Y.tail_cols(length), by_loops(mixer, X.tail_cols(length))) <=
          tolerance::residual<double>);
  }
}

TEST_CASE("Mamba-1 works for steps from nearly 0 to so large that the state is forgotten") {
  for (const double dt : {-40.0, -4.0, 0.0, 4.0, 300.0}) {
    CAPTURE(dt);
    Mamba1Mixer<double> mixer = mixer_of(sizes[0]);
    dt_bias_of(mixer).W += dt;
    const arma::mat U = tokens(sizes[0].d).head_cols(length);
    CHECK(relative(output<double>(mixer, U), by_loops(mixer, U)) <= tolerance::residual<double>);
  }
}

TEST_CASE("Mamba-1: gradients agree with central differences") {
  for (const double dt : {0.0, 2.0, 5.0}) {  // added to the small initial steps
    for (const Size& size : sizes) {
      if (size.d > 6 && dt != 2) continue;
      CAPTURE(dt);
      CAPTURE(size.d);
      Mamba1Mixer<double> mixer = mixer_of(size);
      dt_bias_of(mixer).W += dt;
      check_gradients(mixer, tokens(size.d));
    }
  }
}

TEST_CASE("Mamba-1 works for sequences shorter than the taps of the convolution") {
  Mamba1Mixer<double> mixer = mixer_of(sizes[0], 2);
  dt_bias_of(mixer).W += 3;  // steps and decays for which two tokens depend strongly on A
  mixer.parameters()[6]->W -= 2.5;
  const arma::mat two = tokens(sizes[0].d).head_cols(4);
  CHECK(relative(output<double>(mixer, two).tail_cols(2), by_loops(mixer, two.tail_cols(2))) <=
        tolerance::residual<double>);
  check_gradients(mixer, two);
}

TEST_CASE("Mamba-1: sequences are independent, the mixer is causal, and single precision agrees") {
  for (const Size& size : sizes) {
    CAPTURE(size.d);
    Mamba1Mixer<double> mixer = mixer_of(size);
    Mamba1Mixer<float> narrow = mixer_of<float>(size);
    check_sequences_apart(mixer, tokens(size.d));
    check_causal(mixer, tokens(size.d));
    check_single_precision(mixer, narrow, tokens(size.d));
  }
}

TEST_CASE("Mamba-1: sequences are independent if large maps are applied to all tokens at once") {
  constexpr arma::uword wide = 32, tokens = 200;
  Mamba1Mixer<double> mixer(wide, tokens, {}, initial);
  perturb(mixer);
  check_sequences_apart(mixer, gaussian(wide, 2 * tokens, "X"));
}

TEST_CASE("Mamba-1: names, shapes and initial values are those of the authors' code") {
  constexpr arma::uword d = 200, width = 2 * d, rank = 13, n = 16;  // 200 / 16 = 12.5
  Mamba1Mixer<double> mixer(d, 4, {}, initial);
  const auto W = mixer.parameters();
  std::string names, decaying;
  for (const Parameter<double>* parameter : W) {
    names += parameter->name + " ";
    if (parameter->decays) decaying += parameter->name + " ";
  }
  CHECK(names ==
        "mixer.in_proj mixer.conv.weight mixer.conv.bias mixer.x_proj mixer.dt_proj mixer.dt_bias "
        "mixer.A_log mixer.D mixer.out_proj ");
  CHECK(decaying == "mixer.in_proj mixer.x_proj mixer.dt_proj mixer.out_proj ");
  const arma::uword shapes[][2] = {{2 * width, d}, {width, 4}, {width, 1}, {rank + 2 * n, width},
                                   {width, rank},  {width, 1}, {width, n}, {width, 1},
                                   {d, width}};
  for (std::size_t i = 0; i < W.size(); ++i) {
    CAPTURE(W[i]->name);
    CHECK(arma::size(W[i]->W) == arma::SizeMat(shapes[i][0], shapes[i][1]));
  }

  // The draws reach the ends of the laws up to a few percent.
  CHECK(std::fabs(W[1]->W.max() - 0.5) <= 0.005);
  CHECK(std::fabs(W[1]->W.min() + 0.5) <= 0.005);
  CHECK(arma::abs(W[2]->W).max() == 0.0);
  const double bound = 1 / std::sqrt(13.0);
  CHECK(std::fabs(W[4]->W.max() / bound - 1) <= 0.01);
  CHECK(std::fabs(W[4]->W.min() / bound + 1) <= 0.01);
  const arma::vec dt = arma::log(1 + arma::exp(W[5]->W));
  CHECK(std::fabs(dt.min() / 1e-3 - 1) <= 0.2);
  CHECK(std::fabs(dt.max() / 1e-1 - 1) <= 0.2);
  CHECK(std::fabs(arma::median(arma::vec(arma::log(dt))) - std::log(1e-2)) <= 0.7);
  const arma::mat real = arma::repmat(arma::regspace<arma::rowvec>(1, n), width, 1);  // S4D-Real
  CHECK(arma::abs(arma::exp(W[6]->W) - real).max() <= n * tolerance::closed_form<double>);
  CHECK(arma::abs(W[7]->W - 1).max() == 0.0);
}

}  // namespace mamba1_test
