#include "models/mamba2.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"
#include "models/state_space.hpp"
#include "perturbed_tensors.hpp"

using namespace ranklab;

namespace {

constexpr arma::uword dim = 6, heads = 3, state_size = 5, width = 2 * dim, per_head = width / heads;

ModelSpec small_spec() {
  ModelSpec spec;
  spec.model = "mamba2";
  spec.dim = dim;
  spec.heads = heads;
  spec.state = state_size;
  settle(spec);
  return spec;
}

template <class T>
arma::Mat<T> output(const Block<T>& block, const arma::mat& R, double lambda) {
  State<T> state;
  state.Y = arma::conv_to<arma::Mat<T>>::from(R);
  block.forward(state, lambda);
  return state.Y;
}

double relative(const arma::mat& Y, const arma::mat& expected) {
  return arma::norm(Y - expected, "fro") / arma::norm(expected, "fro");
}

double silu(double t) {
  return t / (1 + std::exp(-t));
}

arma::vec rms_normed(const arma::vec& x, const arma::mat& gain) {
  return gain.col(0) % x / std::sqrt(arma::dot(x, x) / static_cast<double>(x.n_elem) + 1e-5);
}

// What the tensors make of the normed tokens before the state-space model: gate, x, B, C and steps, one token per column.
struct Projected {
  arma::mat z, x, B, C, dt;
};

Projected projected(const PerturbedTensors<double>& tensors, const arma::mat& U) {
  const arma::mat &W = tensors["mixer.in_proj.weight"], &w = tensors["mixer.conv1d.weight"];
  const arma::uword channels = width + 2 * state_size, tokens = U.n_cols;
  const auto row = [&](arma::uword o, arma::uword t) {
    double sum = 0;
    for (arma::uword i = 0; i < dim; ++i) sum += W(i, o) * U(i, t);
    return sum;
  };
  Projected out{arma::mat(width, tokens), arma::mat(width, tokens), arma::mat(state_size, tokens), arma::mat(state_size, tokens),
                arma::mat(heads, tokens)};
  for (arma::uword t = 0; t < tokens; ++t) {
    for (arma::uword o = 0; o < width; ++o) out.z(o, t) = row(o, t);
    for (arma::uword c = 0; c < channels; ++c) {
      double sum = tensors["mixer.conv1d.bias"](c);
      for (arma::uword k = 0; k < 4; ++k) {
        if (t + k >= 3) sum += w(k, c) * row(width + c, t + k - 3);
      }
      if (c < width) out.x(c, t) = silu(sum);
      if (c >= width && c < width + state_size) out.B(c - width, t) = silu(sum);
      if (c >= width + state_size) out.C(c - width - state_size, t) = silu(sum);
    }
    for (arma::uword k = 0; k < heads; ++k) {
      out.dt(k, t) = std::log(1 + std::exp(row(width + channels + k, t) + tensors["mixer.dt_bias"](k)));
    }
  }
  return out;
}

// y_t = h_t' C_t + D x_t with h_t = exp(dt_t A) h_{t-1} + dt_t B_t x_t', one number of the state at a time.
arma::mat state_space_by_loops(const PerturbedTensors<double>& tensors, const Projected& in) {
  arma::mat y(arma::size(in.x));
  for (arma::uword c = 0; c < width; ++c) {
    const arma::uword k = c / per_head;
    const double A = -std::exp(tensors["mixer.A_log"](k));
    arma::vec h(state_size, arma::fill::zeros);
    for (arma::uword t = 0; t < in.x.n_cols; ++t) {
      y(c, t) = tensors["mixer.D"](k) * in.x(c, t);
      for (arma::uword s = 0; s < state_size; ++s) {
        h(s) = std::exp(in.dt(k, t) * A) * h(s) + in.dt(k, t) * in.B(s, t) * in.x(c, t);
        y(c, t) += h(s) * in.C(s, t);
      }
    }
  }
  return y;
}

// The dense form: Y = X (M diag(dt) + D I)', M the matrix of the head.
arma::mat state_space_by_matrix(const PerturbedTensors<double>& tensors, const Projected& in) {
  arma::mat y(arma::size(in.x));
  for (arma::uword k = 0; k < heads; ++k) {
    const arma::rowvec a = -std::exp(tensors["mixer.A_log"](k)) * in.dt.row(k);
    const arma::mat M =
        ssd_matrix(a, in.B, in.C) * arma::diagmat(in.dt.row(k)) + tensors["mixer.D"](k) * arma::eye(in.x.n_cols, in.x.n_cols);
    y.rows(k * per_head, (k + 1) * per_head - 1) = in.x.rows(k * per_head, (k + 1) * per_head - 1) * M.t();
  }
  return y;
}

using StateSpace = arma::mat(const PerturbedTensors<double>&, const Projected&);

// One reading of the block, by the equations.
struct Reading {
  bool gate = true, block_norm = true, inner_norm = true;
  bool skip_in_mixer = false, skip_normed = false;
};

arma::mat expected_output(const PerturbedTensors<double>& tensors, const arma::mat& R, double lambda, const Reading& reading,
                          StateSpace state_space = state_space_by_loops) {
  arma::mat U = R;
  for (arma::uword t = 0; t < R.n_cols && reading.block_norm; ++t) U.col(t) = rms_normed(R.col(t), tensors["norm.weight"]);
  const Projected in = projected(tensors, U);
  const arma::mat y = state_space(tensors, in);
  arma::mat out(arma::size(R));
  for (arma::uword t = 0; t < R.n_cols; ++t) {
    arma::vec r = y.col(t);
    if (reading.skip_in_mixer) r += lambda * in.x.col(t);
    for (arma::uword c = 0; c < width && reading.gate; ++c) r(c) *= silu(in.z(c, t));
    if (reading.inner_norm) r = rms_normed(r, tensors["mixer.norm.weight"]);
    const arma::vec skip = reading.skip_in_mixer ? arma::vec(R.col(t)) : lambda * (reading.skip_normed ? U.col(t) : R.col(t));
    out.col(t) = skip + tensors["mixer.out_proj.weight"].t() * r;
  }
  return out;
}

// The largest relative deviation over several lambda, for 70 tokens: more than one chunk.
double deviation(const ModelSpec& spec, const Reading& reading) {
  const arma::mat R = 2.0 * gaussian(dim, 70, "R");
  double worst = 0;
  for (const double lambda : {1.0, 0.0, -1.5}) {
    PerturbedTensors<double> tensors;
    const auto block = make_mamba2_block<double>(spec, tensors);
    worst = std::max(worst, relative(output(*block, R, lambda), expected_output(tensors, R, lambda, reading)));
  }
  return worst;
}

}  // namespace

TEST_CASE("Mamba-2 block: token by token in loops, as published") {
  CHECK(deviation(small_spec(), {}) <= tolerance::residual<double>);
}

TEST_CASE("Mamba-2 block: by the matrix of each head") {
  PerturbedTensors<double> tensors;
  const auto block = make_mamba2_block<double>(small_spec(), tensors);
  const arma::mat R = gaussian(dim, 70, "R");
  CHECK(relative(output(*block, R, 1.0), expected_output(tensors, R, 1.0, {}, state_space_by_matrix)) <=
        tolerance::residual<double>);
}

TEST_CASE("Mamba-2 block without its gate: y takes the place of y o silu(z), and z's weights count for nothing") {
  ModelSpec spec = small_spec();
  spec.gating = "off";
  CHECK(deviation(spec, {.gate = false}) <= tolerance::residual<double>);
}

TEST_CASE("Mamba-2 block: lambda in the mixer, in the gate's place or with it") {
  ModelSpec spec = small_spec();
  spec.skip_at = "mixer";
  CHECK(deviation(spec, {.skip_in_mixer = true}) <= tolerance::residual<double>);
  spec.gating = "off";
  CHECK(deviation(spec, {.gate = false, .skip_in_mixer = true}) <= tolerance::residual<double>);
}

TEST_CASE("Mamba-2 block: lambda on the normed stream") {
  ModelSpec spec = small_spec();
  spec.skip_input = "normed";
  CHECK(deviation(spec, {.skip_normed = true}) <= tolerance::residual<double>);
}

TEST_CASE("Mamba-2 block without a norm: the block's, the mixer's or both") {
  ModelSpec spec = small_spec();
  spec.norm = "none";
  CHECK(deviation(spec, {.block_norm = false, .inner_norm = false}) <= tolerance::residual<double>);
  spec.norm_off = "block";
  CHECK(deviation(spec, {.block_norm = false}) <= tolerance::residual<double>);
  spec.norm_off = "inner";
  CHECK(deviation(spec, {.inner_norm = false}) <= tolerance::residual<double>);
  spec.norm = "rms";  // norm_off says nothing where the norms are on
  CHECK(deviation(spec, {}) <= tolerance::residual<double>);
}

TEST_CASE("Mamba-2 block: causal, and blind to a power of two kept aside") {
  PerturbedTensors<double> tensors;
  const auto block = make_mamba2_block<double>(small_spec(), tensors);
  arma::mat R = gaussian(dim, 90, "R");
  const arma::mat Y = output(*block, R, 0.5);
  State<double> scaled;
  scaled.Y = R / 1024;
  scaled.log2_scale = 10;
  block->forward(scaled, 0.5);
  CHECK(scaled.log2_scale == 0.0);
  CHECK(arma::approx_equal(scaled.Y, Y, "absdiff", 0.0));

  R.col(66) += 1;
  const arma::mat Z = output(*block, R, 0.5);
  CHECK(arma::approx_equal(Y.head_cols(66), Z.head_cols(66), "absdiff", 0.0));
  for (arma::uword t = 66; t < 90; ++t) CHECK(arma::norm(Y.col(t) - Z.col(t)) > 0);
}

TEST_CASE("Mamba-2 block: single precision is double precision, rounded") {
  ModelSpec spec;
  spec.model = "mamba2";
  spec.dim = 64;
  settle(spec);
  PerturbedTensors<double> tensors;
  PerturbedTensors<float> rounded;
  const arma::mat R = gaussian(64, 150, "R"), Y = output(*make_mamba2_block<double>(spec, tensors), R, 1.0);
  const auto Z = output(*make_mamba2_block<float>(spec, rounded), R, 1.0);
  CHECK(relative(arma::conv_to<arma::mat>::from(Z), Y) <= tolerance::residual<float>);
}

TEST_CASE("Mamba-2 block: steps and decays far outside their start give no NaN") {
  ModelSpec spec = small_spec();
  PerturbedTensors<double> tensors;
  const auto block = make_mamba2_block<double>(spec, tensors);
  spec.norm = "none";
  const auto bare = make_mamba2_block<double>(spec, tensors);
  for (const double size : {0.0, 1e-200, 1e30}) {
    CHECK(output(*block, size * gaussian(dim, 70, "R"), 1.0).is_finite());
    CHECK(output(*bare, size * gaussian(dim, 70, "R"), 1.0).is_finite());
  }
}

TEST_CASE("a layer of the published mamba2-130m: (128,989,632 - 50,288 x 768 - 768) / 24 parameters") {
  ModelSpec spec;
  spec.model = "mamba2";
  spec.dim = 768;
  settle(spec);
  CHECK(spec.heads == 24);
  const Trial trial(1, 0, 0);
  DrawnTensors<float> tensors(trial, "");
  make_mamba2_block<float>(spec, tensors);
  CHECK(24 * tensors.parameters() + 50288 * 768 + 768 == 128989632);
  CHECK(static_cast<double>(tensors.parameters()) == parameters_per_block(spec));
}

TEST_CASE("Mamba-2: tensors have the published names, shapes and starts") {
  ModelSpec spec;
  spec.model = "mamba2";
  spec.dim = 300;
  spec.heads = 600;
  spec.state = 8;
  spec.layers = 9;
  settle(spec);
  PerturbedTensors<double> tensors;
  make_mamba2_block<double>(spec, tensors);
  CHECK(tensors.all().size() == 9);
  const auto start = [&](const std::string& name, arma::uword rows, arma::uword cols = 1) -> arma::mat {
    const arma::mat& W = tensors[name];
    CHECK(arma::size(W) == arma::SizeMat(rows, cols));
    return W - 0.1 * gaussian(W.n_rows, W.n_cols, ("moved " + name).c_str());
  };
  // The ends of a uniform law, reached to the last percents.
  const auto uniform = [](const arma::mat& W, double low, double high) {
    const double slack = 0.02 * (high - low);
    return W.min() >= low && W.min() <= low + slack && W.max() <= high && W.max() >= high - slack;
  };
  const double in = 1 / std::sqrt(300.0), out = 1 / std::sqrt(600.0) / 3;
  CHECK(uniform(start("mixer.in_proj.weight", 300, 600 + 600 + 16 + 600), -in, in));
  CHECK(uniform(start("mixer.conv1d.weight", 4, 616), -0.5, 0.5));
  CHECK(uniform(start("mixer.conv1d.bias", 616), -0.5, 0.5));
  CHECK(uniform(start("mixer.out_proj.weight", 600, 300), -out, out));
  CHECK(uniform(arma::exp(start("mixer.A_log", 600)), 1, 16));
  const arma::mat dt = arma::log1p(arma::exp(start("mixer.dt_bias", 600)));
  CHECK(uniform(arma::log(dt), std::log(1e-3), std::log(1e-1)));
  CHECK(arma::abs(start("mixer.D", 600) - 1).max() <= tolerance::closed_form<double>);
  CHECK(arma::abs(start("mixer.norm.weight", 600) - 1).max() <= tolerance::closed_form<double>);
  CHECK(arma::abs(start("norm.weight", 300) - 1).max() <= tolerance::closed_form<double>);
}
