#include "nn/layers/s4d.hpp"

#include <complex>
#include <numbers>
#include <stdexcept>

#include "nn/blocks/s4d.hpp"
#include "nn/layers/mixer_checks.hpp"

namespace s4d_test {

using namespace ranklab;
using namespace mixer_checks;

namespace {

constexpr arma::uword length = 9, n = 6;
const Streams trial(3, 0);
const InitialWeights initial(Initialization::fan, trial, "mixer.");

arma::mat tokens(arma::uword d) {
  return gaussian(d, 2 * length, "X");
}

template <class T = double>
S4dMixer<T> mixer_of(arma::uword d) {
  S4dMixer<T> mixer(d, length, {.state = n}, initial);
  perturb<T>(mixer);
  return mixer;
}

// K_c[l] = 2 Re sum_m C_m (exp(dt A_m) - 1) / A_m exp(l dt A_m), term by term; (d, length).
arma::mat kernels(Mixer<double>& mixer) {
  using Complex = std::complex<long double>;
  const auto W = mixer.parameters();
  arma::mat K(W[4]->W.n_elem, length);
  for (arma::uword c = 0; c < K.n_rows; ++c) {
    const long double dt = std::exp(static_cast<long double>(W[1]->W(c)));
    for (arma::uword l = 0; l < length; ++l) {
      long double sum = 0;
      for (arma::uword m = 0; m < n / 2; ++m) {
        const Complex A(-std::exp(static_cast<long double>(W[2]->W(m, c))), W[3]->W(m, c));
        const Complex held =
            Complex(W[0]->W(2 * m, c), W[0]->W(2 * m + 1, c)) * (std::exp(dt * A) - 1.0L) / A;
        sum += 2 * (held * std::exp(static_cast<long double>(l) * dt * A)).real();
      }
      K(c, l) = static_cast<double>(sum);
    }
  }
  return K;
}

/// GLU(Wo gelu(U) + bo), computed one number at a time.
arma::mat after_convolution(Mixer<double>& mixer, const arma::mat& U) {
  const arma::mat &W = mixer.parameters()[5]->W, &b = mixer.parameters()[6]->W;
  const arma::uword d = U.n_rows;
  arma::mat Y(arma::size(U));
  for (arma::uword t = 0; t < U.n_cols; ++t) {
    for (arma::uword o = 0; o < d; ++o) {
      double value = b(o), gate = b(d + o);
      for (arma::uword c = 0; c < d; ++c) {
        const double gelu = U(c, t) / 2 * (1 + std::erf(U(c, t) / std::sqrt(2.0)));
        value += W(o, c) * gelu;
        gate += W(d + o, c) * gelu;
      }
      Y(o, t) = value / (1 + std::exp(-gate));
    }
  }
  return Y;
}

}  // namespace

TEST_CASE("S4D agrees with loops, sequence by sequence, with and without groups of 16 channels") {
  for (const arma::uword d : {6u, 16u, 35u}) {
    CAPTURE(d);
    S4dMixer<double> mixer = mixer_of(d);
    const arma::mat X = tokens(d), K = kernels(mixer), &D = mixer.parameters()[4]->W;
    arma::mat U(arma::size(X));
    for (arma::uword t = 0; t < X.n_cols; ++t) {
      U.col(t) = D % X.col(t);
      for (arma::uword j = 0; j <= t % length; ++j) U.col(t) += K.col(j) % X.col(t - j);
    }
    CHECK(relative(output<double>(mixer, X), after_convolution(mixer, U)) <=
          tolerance::residual<double>);
  }
}

TEST_CASE("S4D agrees with that of rank-collapse, which uses states instead of kernels") {
  S4dMixer<double> mixer = mixer_of(6);
  const auto W = mixer.parameters();
  const S4dModes modes =
      s4d_modes(W[0]->W, W[1]->W, arma::vectorise(W[2]->W), arma::vectorise(W[3]->W));
  const arma::mat X = tokens(6).head_cols(length);
  const arma::mat U = modal_convolution(modes, X) + X.each_col() % W[4]->W.as_col();
  CHECK(relative(output<double>(mixer, X), after_convolution(mixer, U)) <=
        tolerance::residual<double>);
}

TEST_CASE("S4D: gradients agree with central differences") {
  for (const arma::uword d : {6u, 17u}) {
    CAPTURE(d);
    S4dMixer<double> mixer = mixer_of(d);
    check_gradients(mixer, tokens(d));
  }
}

TEST_CASE("S4D: sequences are independent, the mixer is causal, and single precision agrees") {
  S4dMixer<double> mixer = mixer_of(18);
  S4dMixer<float> narrow = mixer_of<float>(18);
  check_sequences_apart(mixer, tokens(18));
  check_causal(mixer, tokens(18));
  check_single_precision(mixer, narrow, tokens(18));
}

TEST_CASE("S4D: parameters have the right names, shapes and initial values") {
  constexpr arma::uword d = 400;
  S4dMixer<double> mixer(d, length, {}, initial);
  const auto W = mixer.parameters();
  std::string names, decaying;
  for (const Parameter<double>* parameter : W) {
    names += parameter->name + " ";
    if (parameter->decays) decaying += parameter->name + " ";
  }
  CHECK(names == "mixer.C mixer.log_dt mixer.log_A_real mixer.A_imag mixer.D mixer.Wo mixer.bo ");
  CHECK(decaying == "mixer.Wo ");
  CHECK(arma::size(W[0]->W) == arma::SizeMat(16, d));
  for (const std::size_t i : {1u, 4u}) CHECK(arma::size(W[i]->W) == arma::SizeMat(d, 1));
  for (const std::size_t i : {2u, 3u}) CHECK(arma::size(W[i]->W) == arma::SizeMat(8, d));
  CHECK(arma::size(W[5]->W) == arma::SizeMat(2 * d, d));
  CHECK(arma::size(W[6]->W) == arma::SizeMat(2 * d, 1));

  const auto mean_square = [](const arma::mat& of) { return arma::mean(arma::vectorise(of % of)); };
  // The square of a real or imaginary part has mean 1/2 and variance 1/2.
  CHECK(std::fabs(mean_square(W[0]->W) - 0.5) <=
        tolerance::standard_errors * std::sqrt(0.5 / (16 * d)));
  CHECK(std::fabs(mean_square(W[4]->W) - 1.0) <= tolerance::standard_errors * std::sqrt(2.0 / d));
  CHECK(std::fabs(std::exp(W[1]->W.min()) / 0.001 - 1) <= 0.05);
  CHECK(std::fabs(std::exp(W[1]->W.max()) / 0.1 - 1) <= 0.05);
  CHECK(arma::abs(arma::exp(W[2]->W) - 0.5).max() <= tolerance::closed_form<double>);
  const arma::mat lin = std::numbers::pi * arma::repmat(arma::regspace(0, 7), 1, d);  // S4D-Lin
  CHECK(arma::abs(W[3]->W - lin).max() <= tolerance::closed_form<double>);
  CHECK(arma::abs(W[6]->W).max() == 0.0);
  CHECK_THROWS_AS(S4dMixer<double>(6, length, {.state = 5}, initial), std::logic_error);
}

}  // namespace s4d_test
