#include <doctest/doctest.h>

#include <cmath>

#include "core/text.hpp"
#include "core/tolerances.hpp"
#include "experiments/rank_collapse/depth/depth.hpp"
#include "experiments/rank_collapse/stacked_model.hpp"
#include "linalg/similarity.hpp"
#include "nn/blocks/model_row.hpp"

namespace depth_run_test {

using namespace ranklab;

namespace {

ModelSpec tiny(const std::string& model) {
  ModelSpec spec;
  spec.model = model;
  spec.layers = 5;
  spec.tokens = 7;
  spec.dim = 6;
  spec.state = 4;
  resolve_defaults(spec);
  return spec;
}

DepthPath skip(double lambda) {
  return {At("lambda", lambda), {lambda}};
}

// The arrays that a trial recorded for one curve.
class Trace {
 public:
  Trace(TrialRecord record, At curve) : record_(std::move(record)), curve_(std::move(curve)) {}

  const std::vector<double>& operator[](const std::string& what) const {
    return record_.array(curve_ / what);
  }
  double overflow() const { return record_.scalar(curve_ / overflow_layer); }

 private:
  TrialRecord record_;
  At curve_;
};

Trace run_one(const ModelSpec& spec, const DepthPath& curve, bool single_precision = false) {
  return {run_groups({{spec, {curve}}}, {Trial(1, 0, 0)}, single_precision).front(), curve.at};
}

}  // namespace

TEST_CASE("variants of one model have the same numbers together and alone") {
  ModelSpec spec;
  spec.model = "mamba2";
  spec.layers = 3;
  spec.tokens = 9;
  spec.dim = 32;
  resolve_defaults(spec);
  std::vector<DepthGroup> groups;
  for (const std::string gating : {"on", "off"}) {
    for (const std::string norm : {"rms", "none"}) {
      spec.gating = gating;
      spec.norm = norm;
      groups.push_back({spec, {{At("switches", gating + norm), {1}}}});
    }
  }
  const TrialRecord together =
      run_variants(groups, {Trial(1, 0, 3)}, false).front();  // on four threads
  const std::vector<double>& first = together.array("onrms." + std::string(measure::log10_norm));
  for (const DepthGroup& group : groups) {
    const DepthPath& curve = group.curves.front();
    const std::vector<double>& log10_norm = together.array(curve.at / measure::log10_norm);
    CHECK(log10_norm == run_one(group.spec, curve)[measure::log10_norm]);
    CHECK((log10_norm == first) == (curve.at.text == "onrms"));
  }
}

TEST_CASE("a curve does not depend on other curves and equals the output of the blocks") {
  for (const std::string model :
       {"attention", "selective-ssm", "s4d", "mamba2", "post-norm", "pre-norm", "bert", "albert"}) {
    CAPTURE(model);
    const ModelSpec spec = tiny(model);
    const Trial trial(1, 0, 0);
    const TrialRecord both = run_groups({{spec, {skip(-1), skip(0.5)}}}, {trial}, false).front();
    const Trace alone = run_one(spec, skip(0.5));
    const std::vector<double>& mu = alone[measure::mu];
    const std::vector<double>& with_another = both.array("lambda=0.5.mu");
    REQUIRE(mu.size() == 6);
    REQUIRE(with_another.size() == 6);
    // Mamba-2 passes both states through a block together, and the last bits of a product can
    // depend on its number of columns.
    const double rounding = model == "mamba2" ? tolerance::trajectory<double> : 0.0;
    for (std::size_t i = 0; i < mu.size(); ++i)
      CHECK(std::fabs(with_another[i] - mu[i]) <= rounding * mu[i]);

    State<double> state = draw_input<double>(spec, trial);
    for (std::uint64_t layer = 0; layer <= spec.layers; ++layer) {
      CHECK(mu[layer] == token_geometry(state.Y).mu);
      if (layer == spec.layers) break;
      DrawnTensors<double> tensors = block_tensors<double>(spec, trial, layer);
      make_block<double>(spec, tensors)->forward(state, 0.5);
    }
  }
}

TEST_CASE("an observer sees the states that go into each block") {
  const ModelSpec spec = tiny("attention");
  const Trial trial(1, 0, 0);
  const std::vector<DepthPath> curves = {skip(-1), skip(2)};
  std::vector<std::vector<double>> seen(curves.size());
  const TrialRecord record = run_observed<double>(
      {spec, curves}, trial, [&](std::size_t c, const auto&, const auto& state) {
        seen[c].push_back(token_geometry(state.Y).mu_normalized);
      });
  for (std::size_t c = 0; c < curves.size(); ++c) {
    std::vector<double> inputs = record.array(curves[c].at / measure::mu_normalized);
    inputs.pop_back();
    CHECK(seen[c] == inputs);
  }
}

TEST_CASE("equal strengths for all layers equal one strength") {
  const ModelSpec spec = tiny("attention");
  const Trace one = run_one(spec, skip(2)),
              each = run_one(spec, {At("curve", "each"), std::vector<double>(5, 2.0)}),
              other = run_one(spec, {At("curve", "other"), {2, 2, 2, 2, -2}});
  CHECK(each[measure::mu].back() == one[measure::mu].back());
  CHECK(other[measure::mu][4] == one[measure::mu][4]);
  CHECK(other[measure::mu][5] != one[measure::mu][5]);
}

TEST_CASE("de-escalation removes the fraction tau of what the tokens share") {
  const ModelSpec spec = tiny("post-norm");
  for (const double tau : {0.25, 1.0}) {
    const Trace trace = run_one(spec, {At("curve", "tau"), {1}, {tau}});
    const auto &before = trace[before_de_escalation::token_similarity],
               &after = trace[measure::token_similarity];
    const auto &mu_before = trace[before_de_escalation::mu], &mu_after = trace[measure::mu];
    REQUIRE(before.size() == 6);
    CHECK(before[0] == after[0]);  // the input is not de-escalated
    for (std::size_t k = 1; k < 6; ++k) {
      // The shared part shrinks by (1 - tau)^2, and the rest stays: s -> (1 - tau)^2 s / ((1 -
      // tau)^2 s + 1 - s).
      const double s = before[k], left = std::pow(1 - tau, 2) * s;
      CHECK(after[k] ==
            doctest::Approx(left / (left + 1 - s)).epsilon(1e3 * tolerance::residual<double>));
      CHECK(mu_after[k] == doctest::Approx(mu_before[k]).epsilon(tolerance::residual<double>));
    }
  }
}

TEST_CASE("without a norm, a bare stack continues beyond the range of a double") {
  ModelSpec spec = tiny("lti-ssm");
  spec.norm = "none";
  const Trace grown = run_one(spec, skip(1e100)), shrunk = run_one(spec, skip(0));
  CHECK(grown.overflow() == 0);
  CHECK(grown[measure::log10_norm].back() ==
        doctest::Approx(500 + grown[measure::log10_norm].front()).epsilon(1e-3));
  CHECK(std::isinf(grown[measure::norm].back()));
  // The mixing is negligible compared to 1e100, so the geometry stays that of the input.
  const std::vector<double>& mu = grown[measure::mu_normalized];
  CHECK(mu.back() == doctest::Approx(mu.front()).epsilon(1e-12));
  CHECK(std::isfinite(shrunk[measure::log10_norm].back()));
}

TEST_CASE("norm and mu are those of the state, including its scale") {
  // Mamba-2's stream grows by 1e4 per layer and is stored in a scaled representation beyond 2^40.
  const Trace trace = run_one(tiny("mamba2"), skip(1e4));
  const auto &log10_norm = trace[measure::log10_norm], &norm = trace[measure::norm],
             &mu = trace[measure::mu];
  REQUIRE(log10_norm.size() == 6);
  REQUIRE(log10_norm.back() > 18);
  for (std::size_t k = 0; k < log10_norm.size(); ++k) {
    CHECK(std::log10(norm[k]) ==
          doctest::Approx(log10_norm[k]).epsilon(tolerance::residual<double>));
    CHECK(mu[k] == doctest::Approx(trace[measure::mu_normalized][k] * norm[k])
                       .epsilon(tolerance::residual<double>));
  }
}

TEST_CASE("if a block cannot be scaled, the curve ends and the layer of the overflow is recorded") {
  ModelSpec spec = tiny("pre-norm");
  spec.norm = "none";
  const Trace trace = run_one(spec, skip(1e120));
  CHECK(trace.overflow() == 3);  // 1e120, then 1e240, then beyond 1e308
  CHECK(std::isfinite(trace[measure::mu][2]));
  for (std::size_t k = 3; k < 6; ++k) {
    CHECK(std::isnan(trace[measure::mu][k]));
    CHECK(std::isnan(trace[measure::log10_norm][k]));
    CHECK(std::isnan(trace[measure::branch_output_norm][k - 1]));
  }
}

TEST_CASE("a record holds every measure for every layer") {
  const TrialRecord record =
      run_groups({{tiny("attention"), {skip(2)}}}, {Trial(1, 0, 0)}, false).front();
  CHECK(token_measures().size() == 9);
  for (const Measure& what : token_measures()) CHECK(record.array(skip(2).at / what).size() == 6);
  CHECK_FALSE(record.has("lambda=2.before.mu"));
  CHECK_FALSE(record.has("lambda=2.branch_output_norm"));
  CHECK(record.scalar("lambda=2.overflow_layer") == 0);
  CHECK(record.scalar("lambda=2.degenerate_rows") == 0);
}

TEST_CASE(
    "the record of a training is the mean over its sequences, with the earliest overflow layer") {
  ModelSpec model;
  model.trainings = 5;
  model.sequences = std::make_shared<const TokenSequences>(TokenSequences{{1}, {2}, {3}});
  const double layers[] = {0, 7, 5}, mu[] = {0.25, 0.5, 0.75};
  const Work work = depth_work(
      model, {At("lambda", 1)}, [&](std::uint64_t training, const std::vector<Trial>& sequences) {
        CHECK(training == 4);
        Records records(sequences.size());
        for (std::size_t i = 0; i < sequences.size(); ++i) {
          records[i].set("lambda=1.overflow_layer", layers[sequences[i].index()]);
          records[i].set("lambda=1.mu", mu[sequences[i].index()]);
        }
        return records;
      });
  Trial trial(1, 4, 0);
  const TrialRecord record = work.trial(trial);
  CHECK(record.scalar("lambda=1.mu") == 0.5);
  CHECK(record.scalar("lambda=1.overflow_layer") == 5);
}

TEST_CASE("Mamba-2's geometry is still right if its stream exceeds the range of single precision") {
  ModelSpec spec = tiny("mamba2");
  spec.layers = 80;
  spec.dim = 32;
  const Trace narrow = run_one(spec, skip(-5), true), wide = run_one(spec, skip(-5));
  CHECK(narrow.overflow() == 0);
  CHECK(narrow[measure::log10_norm].back() > 55);  // 5^80 = 8e55
  REQUIRE(narrow[measure::mu].size() == 81);
  for (std::size_t k = 0; k < 81; ++k) {
    const double mu = wide[measure::mu_normalized][k], log10_norm = wide[measure::log10_norm][k];
    CHECK(narrow[measure::mu_normalized][k] ==
          doctest::Approx(mu).epsilon(1e4 * tolerance::epsilon<float>));
    CHECK(narrow[measure::log10_norm][k] ==
          doctest::Approx(log10_norm).epsilon(1e3 * tolerance::epsilon<float>));
  }
}

}  // namespace depth_run_test
