#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"
#include "ensembles/random_features.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/one_step_compare/one_step_compare.hpp"
#include "experiments/result_parts.hpp"
#include "nn/mlp.hpp"

namespace mlp_init_test {

using namespace ranklab;

namespace {

Result run_study(const FlagValues& more, std::uint64_t trials, std::uint64_t threads = 1) {
  FlagValues values = {{"d", "6"}, {"width", "10"}};
  values.insert(values.end(), more.begin(), more.end());
  return run_configured(make_mlp_init_study(), values, trials, threads);
}

double stable_rank_by_svd(const arma::mat& A) {
  const arma::vec s = arma::svd(A);
  return arma::dot(s, s) / (s(0) * s(0));
}

// Records of one trial whose stable ranks are powers of n.
TrialRecord powers(const std::vector<double>& n, double gated, double squared) {
  TrialRecord out;
  for (const auto& [prefix, exponent] :
       {std::pair<std::string, double>{"", gated}, {"relu2.", squared}}) {
    for (const char* layer : {"layer1", "layer2", "layer3"}) {
      std::vector<double> ranks;
      for (const double each : n) ranks.push_back(2 * std::pow(each, exponent));
      out.set(prefix + layer + ".stable_rank", ranks);
    }
  }
  out.set("X.stable_rank", std::vector<double>(n.size(), 4.0));
  return out;
}

}  // namespace

TEST_CASE("stable ranks are those of the outputs of the layers, for ascending n") {
  const Result result = run_study({{"n", "20,5,12"}}, 1);
  const Trial trial(1, 0, 0);
  for (const auto& [activation, prefix] :
       {std::pair<std::string, std::string>{"swiglu", ""}, {"relu2", "relu2."}}) {
    const Mlp<double> net = Mlp<double>::draw(trial, 6, 10, 3, find_activation(activation), prefix);
    for (std::size_t i = 0; i < 3; ++i) {
      const std::uint64_t n = std::vector<std::uint64_t>{5, 12, 20}[i];
      const arma::mat X =
          draw_gaussian<double>(trial, ("X/n=" + std::to_string(n)).c_str(), 6, n, 1.0);
      MlpPass<double> pass;
      net.forward(X, pass);
      for (std::size_t l = 0; l < 3; ++l) {
        const Series& series =
            find_series(result, prefix + "layer" + std::to_string(l + 1) + ".stable_rank");
        CHECK(series.x.at(i) == double(n));
        CHECK(series.mean.at(i) ==
              doctest::Approx(stable_rank_by_svd(pass.A[l])).epsilon(tolerance::residual<double>));
      }
      CHECK(find_series(result, "X.stable_rank").mean.at(i) ==
            doctest::Approx(stable_rank_by_svd(X)).epsilon(tolerance::residual<double>));
    }
  }
}

TEST_CASE("threads, other values of n and other activations do not change a number") {
  const Result all = run_study({{"n", "4,8,16"}}, 2), threads = run_study({{"n", "4,8,16"}}, 2, 3),
               less = run_study({{"n", "8"}, {"also", ""}}, 2);
  CHECK(find_series(all, "layer3.stable_rank").mean ==
        find_series(threads, "layer3.stable_rank").mean);
  CHECK(find_series(all, "layer3.stable_rank").mean.at(1) ==
        find_series(less, "layer3.stable_rank").mean.at(0));
}

TEST_CASE("growth is the fitted exponent of a power of n") {
  const std::vector<double> n = {128, 256, 512, 1024, 2048, 4096, 8192};  // the default values
  const auto judged = [](const Records& records) {
    return result_of(make_mlp_init_study(), {{"width", "512"}}, records);
  };
  const Result as_printed =
      judged({powers(n, 0.6, 0.01), powers(n, 0.6001, 0.0101), powers(n, 0.6002, 0.0102)});
  CHECK(find_series(as_printed, "layer2.stable_rank").x == n);
  CHECK(find_scalar(as_printed, "layer2.exponent").at(0) ==
        doctest::Approx(0.6).epsilon(tolerance::residual<double>));
  CHECK(find_claim(as_printed, "spectral/fig-17/swiglu/layer2/grows").verdict == Verdict::holds);
  CHECK(find_claim(as_printed, "spectral/fig-17/relu2/layer2/constant").verdict == Verdict::holds);
  CHECK(find_claim(as_printed, "spectral/fig-17/swiglu/layer2/grows").part == Part::caption);
  // 2 * 8192^0.6 = 446, compared with the width 512. Half of the width is ours.
  CHECK(find_claim(as_printed, "spectral/fig-17/swiglu/layer2/ambient-dimension").kind ==
        Kind::beyond);
  CHECK(find_claim(as_printed, "spectral/fig-17/swiglu/layer2/ambient-dimension").verdict ==
        Verdict::holds);
  const Result reversed =
      judged({powers(n, 0.05, 0.5), powers(n, 0.0501, 0.5001), powers(n, 0.0502, 0.5002)});
  CHECK(find_claim(reversed, "spectral/fig-17/swiglu/layer1/grows").verdict == Verdict::fails);
  CHECK(find_claim(reversed, "spectral/fig-17/relu2/layer3/constant").verdict == Verdict::fails);
  CHECK(find_claim(reversed, "spectral/fig-17/swiglu/layer1/ambient-dimension").verdict ==
        Verdict::fails);
}

TEST_CASE("too few or too small batches decide nothing") {
  const Result result = run_study({{"n", "8,16"}}, 2);
  CHECK(find_claim(result, "spectral/fig-17/swiglu/layer1/grows").verdict ==
        Verdict::not_applicable);
  CHECK(find_claim(result, "spectral/fig-17/swiglu/layer1/ambient-dimension").verdict ==
        Verdict::not_applicable);
}

TEST_CASE("the activation of --activation is refused in --also") {
  CHECK(refusal(make_mlp_init_study(), {{"activation", "relu2"}}).find("--also") !=
        std::string::npos);
  CHECK(refusal(make_mlp_init_study(), {{"activation", "relu2"}, {"also", "swiglu"}}).empty());
  CHECK(refusal(make_mlp_init_study(), {{"n", "0"}}).find("--n") != std::string::npos);
}

TEST_CASE("the networks are small multiples, with a curve per layer and one for the input") {
  const Result result = run_study({{"n", "20,5,12"}}, 3);
  REQUIRE(result.figure.panels.size() == 2);
  for (std::size_t net = 0; net < 2; ++net) {
    const Panel& panel = result.figure.panels[net];
    const std::string prefix = net == 0 ? "" : "relu2.";
    CHECK(panel.title ==
          std::string(net == 0 ? "SwiGLU" : "Squared ReLU") + ": stable rank at initialization");
    CHECK(panel.group == result.figure.panels[0].group);
    CHECK(!panel.group.empty());
    REQUIRE(panel.curves.size() == 4);
    for (std::size_t l = 0; l < 3; ++l) {
      CHECK(panel.curves[l].series == prefix + "layer" + std::to_string(l + 1) + ".stable_rank");
    }
    CHECK(panel.curves[3].series == "X.stable_rank");
    for (const Curve& curve : panel.curves) {
      CHECK(!curve.label.empty());
      CHECK(curve.band == BandKind::interval);
    }
  }
}

}  // namespace mlp_init_test
