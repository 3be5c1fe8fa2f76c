#include "nn/blocks/s4d.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "core/tolerances.hpp"
#include "nn/blocks/by_loops.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/blocks/perturbed_tensors.hpp"
#include "nn/blocks/stack.hpp"

namespace s4d_test {

using namespace ranklab;

namespace {

using std::numbers::pi;

ModelSpec spec_of(std::uint64_t dim, std::uint64_t state, const std::string& norm = "layer") {
  ModelSpec spec;
  spec.model = "s4d";
  spec.dim = dim;
  spec.state = state;
  spec.norm = norm;
  resolve_defaults(spec);
  return spec;
}

// K_c[l] = 2 Re sum_m C_m (exp(dt A_m) - 1) / A_m exp(l dt A_m), term by term; (d, N).
arma::mat kernels(const PerturbedTensors<double>& tensors, arma::uword tokens) {
  using Complex = std::complex<long double>;
  const arma::mat &C = tensors["kernel.C"], &re = tensors["kernel.log_A_real"],
                  &im = tensors["kernel.A_imag"];
  const arma::uword pairs = C.n_rows / 2;
  arma::mat K(C.n_cols, tokens);
  for (arma::uword c = 0; c < C.n_cols; ++c) {
    const long double dt = std::exp(static_cast<long double>(tensors["kernel.log_dt"](c)));
    for (arma::uword l = 0; l < tokens; ++l) {
      long double sum = 0;
      for (arma::uword m = 0; m < pairs; ++m) {
        const Complex A(-std::exp(static_cast<long double>(re(c * pairs + m))), im(c * pairs + m));
        const Complex held = Complex(C(2 * m, c), C(2 * m + 1, c)) * (std::exp(dt * A) - 1.0L) / A;
        sum += 2 * (held * std::exp(static_cast<long double>(l) * dt * A)).real();
      }
      K(c, l) = static_cast<double>(sum);
    }
  }
  return K;
}

arma::mat convolved(const arma::mat& K, const arma::mat& U) {
  arma::mat Y(arma::size(U), arma::fill::zeros);
  for (arma::uword t = 0; t < U.n_cols; ++t) {
    for (arma::uword j = 0; j <= t; ++j) Y.col(t) += K.col(j) % U.col(t - j);
  }
  return Y;
}

// lambda X + GLU(W_o gelu(K * X + D X) + b_o), one number at a time.
arma::mat before_norm(const PerturbedTensors<double>& tensors, const arma::mat& X, double lambda) {
  const arma::mat &W = tensors["output_linear.0.weight"], &b = tensors["output_linear.0.bias"],
                  &D = tensors["D"];
  arma::mat Y = convolved(kernels(tensors, X.n_cols), X), out = lambda * X;
  const arma::uword d = X.n_rows;
  for (arma::uword t = 0; t < X.n_cols; ++t) {
    for (arma::uword c = 0; c < d; ++c) {
      const double y = Y(c, t) + D(c) * X(c, t);
      Y(c, t) = y / 2 * (1 + std::erf(y / std::sqrt(2.0)));
    }
    for (arma::uword o = 0; o < d; ++o) {
      double value = b(o), gate = b(d + o);
      for (arma::uword c = 0; c < d; ++c) {
        value += W(c, o) * Y(c, t);
        gate += W(c, d + o) * Y(c, t);
      }
      out(o, t) += value / (1 + std::exp(-gate));
    }
  }
  return out;
}

arma::mat layer_normed(const PerturbedTensors<double>& tensors, arma::mat Y) {
  for (arma::uword t = 0; t < Y.n_cols; ++t) {
    const double mean = arma::mean(Y.col(t)), deviation = std::sqrt(arma::var(Y.col(t), 1) + 1e-5);
    Y.col(t) =
        (Y.col(t) - mean) / deviation % tensors["norm.weight"].col(0) + tensors["norm.bias"].col(0);
  }
  return Y;
}

S4dModes modes_of(const PerturbedTensors<double>& tensors) {
  return s4d_modes(tensors["kernel.C"], tensors["kernel.log_dt"], tensors["kernel.log_A_real"],
                   tensors["kernel.A_imag"]);
}

}  // namespace

TEST_CASE(
    "the impulse response equals the kernel of the published formula over a thousand tokens") {
  PerturbedTensors<double> tensors;
  make_block<double>(spec_of(6, 64), tensors);
  arma::mat impulse(6, 1000, arma::fill::zeros);
  impulse.col(0).ones();
  CHECK(relative_error<double>(modal_convolution(modes_of(tensors), impulse),
                               kernels(tensors, 1000)) <= tolerance::residual<double>);
}

TEST_CASE("S4D block agrees with loops for every norm and several lambda") {
  const arma::mat X = gaussian(6, 40, "X");
  for (const double lambda : {1.0, 0.0, -2.5}) {
    CAPTURE(lambda);
    for (const std::string norm : {"layer", "rows", "rms", "none"}) {
      CAPTURE(norm);
      PerturbedTensors<double> tensors;
      const auto block = make_block<double>(spec_of(6, 8, norm), tensors);
      arma::mat expected = before_norm(tensors, X, lambda);
      if (norm == "layer") expected = layer_normed(tensors, expected);
      for (arma::uword t = 0; t < 40 && norm == "rows"; ++t)
        expected.col(t) /= arma::norm(expected.col(t));
      for (arma::uword t = 0; t < 40 && norm == "rms"; ++t) {
        expected.col(t) /= std::sqrt(arma::dot(expected.col(t), expected.col(t)) / 6 + 1e-5);
      }
      CHECK(relative_error<double>(output(*block, X, lambda), expected) <=
            tolerance::residual<double>);
    }
  }
}

TEST_CASE("S4D block: a separate power of two does not change the result") {
  PerturbedTensors<double> tensors;
  const auto block = make_block<double>(spec_of(6, 8), tensors);
  const arma::mat X = gaussian(6, 40, "X"), Y = output(*block, X, 0.5);
  State<double> scaled;
  scaled.Y = X / 1024;
  scaled.log2_scale = 10;
  block->forward(scaled, 0.5);
  CHECK(scaled.log2_scale == 0.0);
  CHECK(arma::approx_equal(scaled.Y, Y, "absdiff", 0.0));
}

TEST_CASE(
    "S4D block: single precision agrees with double precision up to rounding over a thousand "
    "tokens") {
  PerturbedTensors<double> tensors;
  PerturbedTensors<float> rounded;
  const arma::mat X = gaussian(16, 1000, "X"),
                  Y = output(*make_block<double>(spec_of(16, 64), tensors), X, 1.0);
  const auto Z = output(*make_block<float>(spec_of(16, 64), rounded), X, 1.0);
  CHECK(relative_error(Z, Y) <= tolerance::residual<float>);
}

TEST_CASE("S4D: [LambdaSkip] A.13.1 has 32 layers and 1.6 million parameters") {
  const ModelSpec spec = spec_of(128, 64);
  const Streams trial(1, 0);
  DrawnTensors<float> tensors(trial, "");
  make_block<float>(spec, tensors);
  CHECK(tensors.parameters() == 49920);  // 2 d^2 + 134 d
  CHECK(static_cast<double>(tensors.parameters()) == parameters_per_block(spec));
  // The authors' example.py has an encoder from three colors and a decoder to ten classes, both
  // with bias.
  CHECK(32 * tensors.parameters() + (3 * 128 + 128) + (128 * 10 + 10) == 1599242);
}

TEST_CASE(
    "S4D: tensors have the published names, shapes and initial values; --weight-scale does not "
    "change the poles") {
  const arma::uword d = 400, n = 8;
  PerturbedTensors<double> tensors;
  make_block<double>(spec_of(d, n), tensors);
  const auto start = [&](const std::string& name) -> arma::mat {
    const arma::mat& W = tensors[name];
    return W - 0.1 * gaussian(W.n_rows, W.n_cols, ("moved " + name).c_str());
  };
  CHECK(tensors.all().size() == 9);
  CHECK(arma::size(tensors["output_linear.0.weight"]) == arma::SizeMat(d, 2 * d));
  CHECK(arma::size(tensors["output_linear.0.bias"]) == arma::SizeMat(2 * d, 1));
  // The draws reach the ends of the laws up to a few percent: 1/sqrt(400); log-uniform steps.
  CHECK(std::fabs(start("output_linear.0.weight").max() / 0.05 - 1) <= 0.01);
  CHECK(std::fabs(start("output_linear.0.bias").min() / -0.05 - 1) <= 0.01);

  const arma::mat C = start("kernel.C"), D = start("D"), log_dt = start("kernel.log_dt");
  CHECK(arma::size(C) == arma::SizeMat(n, d));
  const double mean_square = arma::mean(
      arma::mean(C % C));  // of the square of a real or imaginary part: mean 1/2, variance 1/2
  CHECK(std::fabs(mean_square - 0.5) <= tolerance::standard_errors * std::sqrt(0.5 / (n * d)));
  CHECK(std::fabs(arma::mean(arma::vec(D % D)) - 1.0) <=
        tolerance::standard_errors * std::sqrt(2.0 / d));
  CHECK(std::fabs(std::exp(log_dt.min()) / 0.001 - 1) <= 0.05);
  CHECK(std::fabs(std::exp(log_dt.max()) / 0.1 - 1) <= 0.05);

  const arma::mat re = start("kernel.log_A_real"), im = start("kernel.A_imag");
  CHECK(arma::size(re) == arma::SizeMat(d * n / 2, 1));
  CHECK(arma::size(im) == arma::SizeMat(d * n / 2, 1));
  const arma::mat lin =
      pi * arma::repmat(arma::regspace(0, n / 2 - 1), d, 1);  // S4D-Lin, the same for every channel
  CHECK(arma::abs(im - lin).max() <= tolerance::closed_form<double>);
  CHECK(arma::abs(arma::exp(re) - 0.5).max() <= tolerance::closed_form<double>);
  CHECK(arma::abs(start("norm.weight") - 1).max() <= tolerance::closed_form<double>);
  CHECK(arma::abs(start("norm.bias")).max() <= tolerance::closed_form<double>);
}

}  // namespace s4d_test
