#include <doctest/doctest.h>

#include <cmath>

#include "nn/blocks/block_checks.hpp"

namespace mamba1_block_test {

using namespace ranklab;
using namespace block_checks;

namespace {

constexpr arma::uword dim = 18, width = 2 * dim, rank = 2, states = 5;

ModelSpec spec_of(std::uint64_t d = dim, std::uint64_t state = states) {
  ModelSpec spec;
  spec.model = "mamba1";
  spec.dim = d;
  spec.state = state;
  resolve_defaults(spec);
  return spec;
}

double silu(double t) {
  return t / (1 + std::exp(-t));
}

/// [x; z] of one token, x before its convolution.
arma::vec map_in(const PerturbedTensors<double>& tensors, const arma::vec& u) {
  return tensors["mixer.in_proj.weight"].t() * u;
}

/// x after its convolution, (d_i, N).
arma::mat convolved(const PerturbedTensors<double>& tensors, const arma::mat& U) {
  arma::mat x(width, U.n_cols);
  for (arma::uword t = 0; t < U.n_cols; ++t) {
    for (arma::uword c = 0; c < width; ++c) {
      double sum = tensors["mixer.conv1d.bias"](c);
      for (arma::uword k = 0; k < 4; ++k) {
        if (t + k >= 3)
          sum += tensors["mixer.conv1d.weight"](k, c) * map_in(tensors, U.col(t + k - 3))(c);
      }
      x(c, t) = silu(sum);
    }
  }
  return x;
}

/// y = M x + D x with the matrix of each channel, M_ij = sum_s C_i exp(A sum_{j < k <= i} dt_k)
/// dt_j B_j, instead of the recurrence.
arma::mat scanned(const PerturbedTensors<double>& tensors, const arma::mat& x) {
  const arma::mat low = tensors["mixer.x_proj.weight"].t() * x,
                  &W_dt = tensors["mixer.dt_proj.weight"];
  arma::mat y(arma::size(x));
  for (arma::uword c = 0; c < width; ++c) {
    arma::vec dt(x.n_cols);
    for (arma::uword t = 0; t < x.n_cols; ++t) {
      double raw = tensors["mixer.dt_proj.bias"](c);
      for (arma::uword j = 0; j < rank; ++j) raw += W_dt(j, c) * low(j, t);
      dt(t) = std::log1p(std::exp(raw));
    }
    for (arma::uword i = 0; i < x.n_cols; ++i) {
      y(c, i) = tensors["mixer.D"](c) * x(c, i);
      double elapsed = 0;
      for (arma::uword j = i + 1; j-- > 0; elapsed += dt(j)) {
        for (arma::uword s = 0; s < states; ++s) {
          const double A = -std::exp(tensors["mixer.A_log"](c * states + s));
          y(c, i) += low(rank + states + s, i) * std::exp(A * elapsed) * dt(j) * low(rank + s, j) *
                     x(c, j);
        }
      }
    }
  }
  return y;
}

arma::mat expected(const PerturbedTensors<double>& tensors, const arma::mat& R, double lambda,
                   bool gate, bool norm) {
  arma::mat U = R;
  for (arma::uword t = 0; t < R.n_cols && norm; ++t) {
    U.col(t) = tensors["norm.weight"] % R.col(t) /
               std::sqrt(arma::dot(R.col(t), R.col(t)) / static_cast<double>(dim) + 1e-5);
  }
  arma::mat y = scanned(tensors, convolved(tensors, U));
  for (arma::uword t = 0; t < R.n_cols && gate; ++t) {
    const arma::vec in = map_in(tensors, U.col(t));
    for (arma::uword c = 0; c < width; ++c) y(c, t) *= silu(in(width + c));
  }
  return lambda * R + tensors["mixer.out_proj.weight"].t() * y;
}

}  // namespace

TEST_CASE("Mamba-1 block agrees with the matrix of each channel, with and without gate and norm") {
  const arma::mat R = 2.0 * gaussian(dim, 40, "R");
  for (const bool gate : {true, false}) {
    for (const bool norm : {true, false}) {
      for (const double lambda : {1.0, 0.0, -1.5}) {
        CAPTURE(gate);
        CAPTURE(norm);
        CAPTURE(lambda);
        ModelSpec spec = spec_of();
        spec.gating = gate ? "on" : "off";
        spec.norm = norm ? "rms" : "none";
        PerturbedTensors<double> tensors;
        const auto block = make_block<double>(spec, tensors);
        CHECK(relative_error<double>(output(*block, R, lambda),
                                     expected(tensors, R, lambda, gate, norm)) <=
              tolerance::residual<double>);
      }
    }
  }
}

TEST_CASE("Mamba-1 block is causal, and a separate power of two does not change the result") {
  check_causal_and_scaled(spec_of(), 40, 26);
}

TEST_CASE("Mamba-1 block: single precision agrees with double precision up to rounding") {
  check_single_precision(spec_of(64, 16));
}

TEST_CASE("Mamba-1 block: steps and decays far from their initial values give no NaN") {
  check_stays_finite(spec_of());
}

TEST_CASE(
    "a layer of the published mamba-130m has (129,135,360 - 50,280 x 768 - 768) / 24 parameters") {
  ModelSpec spec;
  spec.model = "mamba1";
  spec.dim = 768;
  resolve_defaults(spec);
  const Streams trial(1, 0);
  DrawnTensors<float> tensors(trial, "");
  make_block<float>(spec, tensors);
  CHECK(24 * tensors.parameters() + 50280 * 768 + 768 == 129135360);
  CHECK(static_cast<double>(tensors.parameters()) == parameters_per_block(spec));
}

TEST_CASE("Mamba-1: tensors have the published names, shapes and initial values") {
  ModelSpec spec = spec_of(300, 8);
  spec.layers = 9;
  PerturbedTensors<double> tensors;
  make_block<double>(spec, tensors);
  CHECK(tensors.all().size() == 10);
  const auto start = [&](const std::string& name, arma::uword rows, arma::uword cols = 1) {
    return drawn_part(tensors, name, rows, cols);
  };
  const double in = 1 / std::sqrt(300.0), inner = 1 / std::sqrt(600.0), steps = 1 / std::sqrt(19.0);
  CHECK(is_uniform(start("mixer.in_proj.weight", 300, 1200), -in, in));
  CHECK(is_uniform(start("mixer.conv1d.weight", 4, 600), -0.5, 0.5));
  CHECK(is_uniform(start("mixer.conv1d.bias", 600), -0.5, 0.5));
  CHECK(is_uniform(start("mixer.x_proj.weight", 600, 19 + 16), -inner, inner));
  CHECK(is_uniform(start("mixer.dt_proj.weight", 19, 600), -steps, steps));
  const arma::mat dt = arma::log1p(arma::exp(start("mixer.dt_proj.bias", 600)));
  CHECK(is_uniform(arma::log(dt), std::log(1e-3), std::log(1e-1)));
  CHECK(is_uniform(start("mixer.out_proj.weight", 600, 300), -inner / 3, inner / 3));
  const arma::mat real = arma::repmat(arma::regspace(1, 8), 600, 1);  // S4D-Real, per channel
  CHECK(arma::abs(arma::exp(start("mixer.A_log", 4800)) - real).max() <=
        8 * tolerance::closed_form<double>);
  CHECK(arma::abs(start("mixer.D", 600) - 1).max() <= tolerance::closed_form<double>);
  CHECK(arma::abs(start("norm.weight", 300) - 1).max() <= tolerance::closed_form<double>);
}

}  // namespace mamba1_block_test
