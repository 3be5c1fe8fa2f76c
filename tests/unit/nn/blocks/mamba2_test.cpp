#include "nn/blocks/stack.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/text.hpp"
#include "nn/blocks/block_checks.hpp"
#include "nn/blocks/mamba2_by_loops.hpp"

namespace mamba2_test {

using namespace ranklab;
using namespace block_checks;
using namespace by_loops;

namespace {

ModelSpec small_spec(const Sizes& sizes = {}) {
  ModelSpec spec;
  spec.model = "mamba2";
  spec.dim = dim;
  spec.heads = heads;
  spec.state = state_size;
  spec.groups = sizes.groups;
  spec.taps = sizes.taps;
  if (sizes.epsilon != 1e-5) spec.norm_epsilon = sizes.epsilon;
  resolve_defaults(spec);
  return spec;
}

// The sum of the relative deviations over several lambda, for 70 tokens (more than one chunk).
double deviation(const ModelSpec& spec, const Reading& reading,
                 StateSpace state_space = state_space_by_loops) {
  const arma::mat R = 2.0 * gaussian(dim, 70, "R");
  double sum = 0;
  for (const double lambda : {1.0, 0.0, -1.5}) {
    PerturbedTensors<double> tensors;
    const auto block = make_block<double>(spec, tensors);
    sum += relative_error<double>(output(*block, R, lambda),
                                  expected_output(tensors, R, lambda, reading, state_space));
  }
  return sum;
}

}  // namespace

TEST_CASE("Mamba-2 block agrees with loops for groups of heads, other taps and another epsilon") {
  for (const arma::uword groups : {1u, 2u, 4u}) {
    for (const arma::uword taps : {1u, 3u, 4u, 6u}) {
      const Sizes sizes{groups, taps, 0.03};
      CAPTURE(groups);
      CAPTURE(taps);
      CHECK(deviation(small_spec(sizes), {.sizes = sizes}) <= tolerance::residual<double>);
      CHECK(deviation(small_spec(sizes), {.sizes = sizes}, state_space_by_matrix) <=
            tolerance::residual<double>);
      ModelSpec bare = small_spec(sizes);
      bare.gating = "off";
      bare.norm_off = "block";
      bare.norm = "none";
      CHECK(deviation(bare, {.gate = false, .block_norm = false, .sizes = sizes}) <=
            tolerance::residual<double>);
    }
  }
}

TEST_CASE(
    "Mamba-2 block: lambda = 0 gives the mixer's output for a stream beyond the range of single "
    "precision") {
  PerturbedTensors<float> tensors;
  const auto block = make_block<float>(small_spec(), tensors);
  State<float> state;
  state.Y = arma::conv_to<arma::fmat>::from(gaussian(dim, 20, "R"));
  for (int k = 0; k < 30; ++k) block->forward(state, 1e3);
  CHECK(state.log2_scale > 200);
  State<float> shrunk = state;
  shrunk.log2_scale = 60;  // the norm's epsilon is negligible at both sizes
  block->forward(state, 0.0);
  CHECK(state.log2_scale == 0);
  CHECK(arma::norm(state.Y, "fro") > 0);
  block->forward(shrunk, 0.0);
  CHECK(relative_error<double>(arma::conv_to<arma::mat>::from(state.Y),
                               arma::conv_to<arma::mat>::from(shrunk.Y)) <=
        tolerance::closed_form<float>);
  // A skip of the normalized stream has no scale either.
  ModelSpec normed = small_spec();
  normed.skip_input = "normed";
  PerturbedTensors<float> others;
  state.log2_scale = 60;
  make_block<float>(normed, others)->forward(state, 1.0);
  CHECK(state.log2_scale == 0);
}

TEST_CASE("Mamba-2 block agrees with loops for every switch of its gate, skip and norms") {
  const struct {
    const char *gating, *skip_at, *skip_input, *norm, *norm_off;
    Reading reading;
  } cases[] = {
      {"on", "residual", "stream", "rms", "inner", {}},  // norm_off needs --norm none
      {"off", "residual", "stream", "rms", "both", {.gate = false}},
      {"on", "mixer", "stream", "rms", "both", {.skip_in_mixer = true}},
      {"off", "mixer", "stream", "rms", "both", {.gate = false, .skip_in_mixer = true}},
      {"on", "residual", "normed", "rms", "both", {.skip_normed = true}},
      {"on", "residual", "stream", "none", "both", {.block_norm = false, .inner_norm = false}},
      {"on", "residual", "stream", "none", "block", {.block_norm = false}},
      {"on", "residual", "stream", "none", "inner", {.inner_norm = false}}};
  for (const auto& each : cases) {
    CAPTURE(&each - cases);
    ModelSpec spec = small_spec();
    spec.gating = each.gating, spec.skip_at = each.skip_at, spec.skip_input = each.skip_input;
    spec.norm = each.norm, spec.norm_off = each.norm_off;
    CHECK(deviation(spec, each.reading) <= tolerance::residual<double>);
  }
}

TEST_CASE(
    "Mamba-2 block: states that pass together come out as one by one, also of other lengths") {
  for (const char* reading : {"block", "mixer", "normed"}) {
    CAPTURE(reading);
    ModelSpec spec = small_spec();
    if (reading == std::string("mixer")) spec.skip_at = "mixer";
    if (reading == std::string("normed")) spec.skip_input = "normed";
    PerturbedTensors<double> tensors;
    const auto block = make_block<double>(spec, tensors);
    const std::vector<double> lambda = {1.0, 0.0, -1.5};
    std::vector<State<double>> states(3);
    std::vector<State<double>*> together;
    for (std::size_t i = 0; i < states.size(); ++i) {
      states[i].Y = gaussian(dim, 20 + 30 * i, "R");
      together.push_back(&states[i]);
    }
    const std::vector<State<double>> before = states;
    block->forward_all(together, lambda);
    for (std::size_t i = 0; i < states.size(); ++i) {
      State<double> alone = before[i];
      block->forward(alone, lambda[i]);
      CHECK(relative_error<double>(states[i].Y, alone.Y) <= tolerance::closed_form<double>);
      CHECK(states[i].log2_scale == alone.log2_scale);
    }
  }
  CHECK(make_block<double>(small_spec(), *std::make_unique<PerturbedTensors<double>>())
            ->states_together(128) == 4);
}

TEST_CASE("Mamba-2 block is causal, and a separate power of two does not change the result") {
  check_causal_and_scaled(small_spec(), 90, 66);
}

TEST_CASE("Mamba-2 block: single precision agrees with double precision up to rounding") {
  ModelSpec spec;
  spec.model = "mamba2";
  spec.dim = 64;
  resolve_defaults(spec);
  check_single_precision(spec);
}

TEST_CASE("Mamba-2 block: steps and decays far from their initial values give no NaN") {
  check_stays_finite(small_spec());
}

TEST_CASE(
    "a layer of the published mamba2-130m has (128,989,632 - 50,288 x 768 - 768) / 24 parameters") {
  ModelSpec spec;
  spec.model = "mamba2";
  spec.dim = 768;
  resolve_defaults(spec);
  CHECK(spec.heads == 24);
  const Streams trial(1, 0);
  DrawnTensors<float> tensors(trial, "");
  make_block<float>(spec, tensors);
  CHECK(24 * tensors.parameters() + 50288 * 768 + 768 == 128989632);
  CHECK(static_cast<double>(tensors.parameters()) == parameters_per_block(spec));
}

TEST_CASE("Mamba-2: tensors have the published names, shapes and initial values") {
  ModelSpec spec;
  spec.model = "mamba2";
  spec.dim = 300;
  spec.heads = 600;
  spec.state = 8;
  spec.layers = 9;
  resolve_defaults(spec);
  ModelSpec grouped = spec;
  grouped.groups = 3;
  grouped.taps = 2;
  const Streams trial(1, 0);
  DrawnTensors<float> counted(trial, "");
  make_block<float>(grouped, counted);
  CHECK(static_cast<double>(counted.parameters()) == parameters_per_block(grouped));
  PerturbedTensors<double> of_groups;
  make_block<double>(grouped, of_groups);
  CHECK(arma::size(of_groups["mixer.in_proj.weight"]) == arma::SizeMat(300, 600 + 600 + 48 + 600));
  CHECK(arma::size(of_groups["mixer.conv1d.weight"]) == arma::SizeMat(2, 648));
  CHECK(of_groups["mixer.conv1d.bias"].n_elem == 648);
  CHECK(of_groups["mixer.norm.weight"].n_elem == 600);

  PerturbedTensors<double> tensors;
  make_block<double>(spec, tensors);
  CHECK(tensors.all().size() == 9);
  const auto start = [&](const std::string& name, arma::uword rows, arma::uword cols = 1) {
    return drawn_part(tensors, name, rows, cols);
  };
  const double in = 1 / std::sqrt(300.0), out = 1 / std::sqrt(600.0) / 3;
  CHECK(is_uniform(start("mixer.in_proj.weight", 300, 600 + 600 + 16 + 600), -in, in));
  CHECK(is_uniform(start("mixer.conv1d.weight", 4, 616), -0.5, 0.5));
  CHECK(is_uniform(start("mixer.conv1d.bias", 616), -0.5, 0.5));
  CHECK(is_uniform(start("mixer.out_proj.weight", 600, 300), -out, out));
  CHECK(is_uniform(arma::exp(start("mixer.A_log", 600)), 1, 16));
  const arma::mat dt = arma::log1p(arma::exp(start("mixer.dt_bias", 600)));
  CHECK(is_uniform(arma::log(dt), std::log(1e-3), std::log(1e-1)));
  CHECK(arma::abs(start("mixer.D", 600) - 1).max() <= tolerance::closed_form<double>);
  CHECK(arma::abs(start("mixer.norm.weight", 600) - 1).max() <= tolerance::closed_form<double>);
  CHECK(arma::abs(start("norm.weight", 300) - 1).max() <= tolerance::closed_form<double>);
}

}  // namespace mamba2_test
