#include "core/text.hpp"
#include "experiments/rank_collapse/depth/run.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"

using namespace ranklab;

namespace {

ModelSpec tiny(const std::string& model) {
  ModelSpec spec;
  spec.model = model;
  spec.layers = 5;
  spec.tokens = 7;
  spec.dim = 6;
  spec.state = 4;
  settle(spec);
  return spec;
}

DepthCurve skip(double lambda) {
  return {"lambda=" + series_number(lambda), {lambda}};
}

DepthTrace run_one(const ModelSpec& spec, const DepthCurve& curve) {
  return run_depth<double>({spec, {curve}}, Trial(1, 0, 0)).front();
}

}  // namespace

TEST_CASE("variants of one model have the same numbers together and apart") {
  ModelSpec spec;
  spec.model = "mamba2";
  spec.layers = 3;
  spec.tokens = 9;
  spec.dim = 32;
  settle(spec);
  std::vector<DepthGroup> groups;
  for (const char* gating : {"on", "off"}) {
    for (const char* norm : {"rms", "none"}) {
      spec.gating = gating;
      spec.norm = norm;
      groups.push_back({spec, {skip(1)}});
    }
  }
  const Trial trial(1, 0, 0);
  const auto together = run_variants(groups, {trial}, false).front();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const DepthTrace apart = run_depth<double>(groups[g], trial).front();
    CHECK(together[g].front().log10_norm == apart.log10_norm);
    if (g > 0) CHECK(together[g].front().log10_norm != together[0].front().log10_norm);
  }
}

TEST_CASE("a curve does not depend on the others, and follows the blocks") {
  for (const std::string model : {"attention", "selective-ssm", "s4d", "mamba2", "post-norm", "pre-norm", "bert", "albert"}) {
    CAPTURE(model);
    const ModelSpec spec = tiny(model);
    const Trial trial(1, 0, 0);
    const auto traces = run_depth<double>({spec, {skip(-1), skip(0.5)}}, trial);
    const DepthTrace alone = run_one(spec, skip(0.5));
    REQUIRE(alone.after.size() == 6);

    State<double> state = draw_input<double>(spec, trial);
    for (std::uint64_t layer = 0; layer <= spec.layers; ++layer) {
      CHECK(traces[1].after[layer].mu == alone.after[layer].mu);
      CHECK(alone.after[layer].mu == token_geometry(state.Y).mu);
      if (layer == spec.layers) break;
      DrawnTensors<double> tensors = block_tensors<double>(spec, trial, layer);
      make_block<double>(spec, tensors)->forward(state, 0.5);
    }
  }
}

TEST_CASE("strengths for each layer, all the same, are one strength") {
  const ModelSpec spec = tiny("attention");
  const DepthTrace one = run_one(spec, skip(2)), each = run_one(spec, {"each", std::vector<double>(5, 2.0)});
  const DepthTrace other = run_one(spec, {"other", {2, 2, 2, 2, -2}});
  CHECK(each.after.back().mu == one.after.back().mu);
  CHECK(other.after[4].mu == one.after[4].mu);
  CHECK(other.after[5].mu != one.after[5].mu);
}

TEST_CASE("de-escalation removes its share of what the tokens have in common") {
  const ModelSpec spec = tiny("post-norm");
  for (const double tau : {0.25, 1.0}) {
    const DepthGroup group{spec, {{"tau", {1}, {tau}}}};
    const DepthTrace trace = run_depth<double>(group, Trial(1, 0, 0)).front();
    REQUIRE(trace.before.size() == 6);
    for (std::size_t k = 1; k < 6; ++k) {
      // The shared part shrinks by (1 - tau)^2, the rest stays: s -> (1 - tau)^2 s / ((1 - tau)^2 s + 1 - s).
      const double s = trace.before[k].token_similarity, left = std::pow(1 - tau, 2) * s;
      CHECK(trace.after[k].token_similarity == doctest::Approx(left / (left + 1 - s)).epsilon(1e3 * tolerance::residual<double>));
      CHECK(trace.after[k].mu == doctest::Approx(trace.before[k].mu).epsilon(tolerance::residual<double>));
    }
  }
}

TEST_CASE("without a norm a bare stack goes on beyond the range of a double") {
  ModelSpec spec = tiny("lti-ssm");
  spec.norm = "none";
  const DepthTrace grown = run_one(spec, skip(1e100)), shrunk = run_one(spec, skip(0));
  CHECK(grown.overflow_layer == 0);
  CHECK(grown.log10_norm.back() == doctest::Approx(500 + grown.log10_norm.front()).epsilon(1e-3));
  CHECK(std::isinf(grown.after.back().norm));
  // Against 1e100 the mixing is nothing, so that the geometry stays that of the input.
  CHECK(grown.after.back().mu_normalized == doctest::Approx(grown.after.front().mu_normalized).epsilon(1e-12));
  CHECK(std::isfinite(shrunk.log10_norm.back()));
}

TEST_CASE("norm and mu are those of the state, its scale included") {
  // Mamba-2's stream grows by 1e4 a layer and is held in a scaled representation beyond 2^40.
  const DepthTrace trace = run_one(tiny("mamba2"), skip(1e4));
  REQUIRE(trace.log10_norm.back() > 18);
  for (std::size_t k = 0; k < trace.after.size(); ++k) {
    const TokenGeometry& g = trace.after[k];
    CHECK(std::log10(g.norm) == doctest::Approx(trace.log10_norm[k]).epsilon(tolerance::residual<double>));
    CHECK(g.mu == doctest::Approx(g.mu_normalized * g.norm).epsilon(tolerance::residual<double>));
  }
}

TEST_CASE("a block that cannot be scaled ends with the layer named") {
  ModelSpec spec = tiny("pre-norm");
  spec.norm = "none";
  const DepthTrace trace = run_one(spec, skip(1e120));
  CHECK(trace.overflow_layer == 3);  // 1e120, 1e240, beyond 1e308
  CHECK(std::isfinite(trace.after[2].mu));
  for (std::size_t k = 3; k < 6; ++k) {
    CHECK(std::isnan(trace.after[k].mu));
    CHECK(std::isnan(trace.log10_norm[k]));
  }
}

TEST_CASE("a record holds every measure by layer") {
  const ModelSpec spec = tiny("attention");
  TrialRecord record;
  record_trace("lambda=2", run_one(spec, skip(2)), record);
  for (const std::string& measure : token_measures()) CHECK(record.array("lambda=2." + measure).size() == 6);
  CHECK_FALSE(record.has("lambda=2.before.mu"));
  CHECK(record.scalar("lambda=2.overflow_layer") == 0);
  CHECK(record.scalar("lambda=2.degenerate_rows") == 0);
}

TEST_CASE("Mamba-2's stream may leave the range of single precision: its geometry goes on") {
  ModelSpec spec = tiny("mamba2");
  spec.layers = 80;
  spec.dim = 32;
  const Trial trial(1, 0, 0);
  const DepthTrace narrow = run_depth<float>({spec, {skip(-5)}}, trial).front(),
                   wide = run_depth<double>({spec, {skip(-5)}}, trial).front();
  CHECK(narrow.overflow_layer == 0);
  CHECK(narrow.log10_norm.back() > 55);  // 5^80 = 8e55
  for (std::size_t k = 0; k < narrow.after.size(); ++k) {
    CHECK(narrow.after[k].mu_normalized == doctest::Approx(wide.after[k].mu_normalized).epsilon(1e4 * tolerance::epsilon<float>));
    CHECK(narrow.log10_norm[k] == doctest::Approx(wide.log10_norm[k]).epsilon(1e3 * tolerance::epsilon<float>));
  }
}
