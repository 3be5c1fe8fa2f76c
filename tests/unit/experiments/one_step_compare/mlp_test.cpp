// The study mlp agrees with a second implementation of its steps and ranks that only uses LAPACK's
// singular value decomposition. The gradients of the net have their own test.
#include "experiments/one_step_compare/mlp/mlp.hpp"
#include "experiments/one_step_compare/one_step_compare.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/tolerances.hpp"
#include "ensembles/random_features.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/result_parts.hpp"
#include "io/atomic_file.hpp"
#include "io/tensors/stored_matrix.hpp"
#include "io/tensors/tensor_file.hpp"
#include "nn/mlp.hpp"
#include "temporary_folder.hpp"

namespace mlp_test {

using namespace ranklab;

namespace {

constexpr std::uint64_t d = 4, width = 7, n = 9, steps = 6;
constexpr double lr_gd = 0.02, lr_spec = 0.03, lr_muon = 0.01, beta = 0.8;

Result run_study(const FlagValues& more = {}, std::uint64_t trials = 1, std::uint64_t threads = 1) {
  FlagValues values = {{"d", "4"},     {"width", "7"},    {"n", "9"},
                       {"steps", "6"}, {"lr-gd", "0.02"}, {"lr-spec", "0.03"}};
  values.insert(values.end(), more.begin(), more.end());
  return run_configured(make_mlp_study(), values, trials, threads);
}

struct Decomposed {
  arma::mat U, V;
  arma::vec s;
  explicit Decomposed(const arma::mat& A) { REQUIRE(arma::svd_econ(U, s, V, A, "both", "std")); }
  double stable_rank() const { return arma::dot(s, s) / (s(0) * s(0)); }
  double nuclear_rank() const { return std::pow(arma::accu(s), 2) / arma::dot(s, s); }
};

// Muon's factor of G, with the polynomial applied to each singular value.
arma::mat muon_factor(const arma::mat& G) {
  Decomposed svd(G);
  arma::vec s = svd.s / (arma::norm(svd.s) + 1e-7);
  for (int i = 0; i < 5; ++i) s = 3.4445 * s - 4.7750 * arma::pow(s, 3) + 2.0315 * arma::pow(s, 5);
  return std::sqrt(std::max(1.0, double(G.n_rows) / double(G.n_cols))) * svd.U * arma::diagmat(s) *
         svd.V.t();
}

using Curves = std::map<std::string, std::vector<double>>;

// The expected series of a method, by name without the method. `inner` is the step rule of layers 2
// and 3.
Curves reference(const std::string& activation, const std::string& inner, double lr) {
  const Trial trial(1, 0, 0);
  const arma::mat X = draw_gaussian<double>(trial, "X", d, n, 1.0);
  const arma::rowvec y = X.row(0) % X.row(1) % X.row(2);
  Mlp<double> net = Mlp<double>::draw(trial, d, width, 3, find_activation(activation));
  std::vector<arma::mat> momentum(4);
  Curves out;
  for (std::uint64_t t = 0; t <= steps; ++t) {
    MlpPass<double> pass;
    net.forward(X, pass);
    set_mean_squared_error(y, pass);
    net.backward(pass);
    out["loss"].push_back(pass.loss);
    for (std::size_t l = 0; l < 4; ++l) {
      const Decomposed A(l == 0 ? X : pass.A[l - 1]), G(pass.G[l]);
      const std::string number = std::to_string(l + 1);
      if (l < 3) {
        out["layer" + number + ".stable_rank"].push_back(Decomposed(pass.A[l]).stable_rank());
        out["W" + number + ".nuclear_rank"].push_back(G.nuclear_rank());
        out["W" + number + ".ratio"].push_back(G.nuclear_rank() / A.stable_rank());
      }
      const double L_F = A.s(0) * A.s(0) / n, L_op = arma::dot(A.s, A.s) / n;
      if (inner == "euclidean" || l == 0 || l == 3) {
        net.W[l] -= lr / L_F * pass.G[l];
      } else if (inner == "spectral") {
        net.W[l] -= lr * arma::accu(G.s) / L_op * (G.U * G.V.t());
      } else {
        if (t == 0) momentum[l].zeros(arma::size(pass.G[l]));
        momentum[l] = beta * momentum[l] + (1 - beta) * pass.G[l];
        net.W[l] -= lr_muon * muon_factor((1 - beta) * pass.G[l] + beta * momentum[l]);
      }
    }
  }
  return out;
}

void check_curves(const Result& result, const std::string& method, const Curves& expected,
                  double tolerance) {
  for (const auto& [name, values] : expected) {
    const Series& series = find_series(result, method + "." + name);
    CAPTURE(series.name);
    REQUIRE(series.mean.size() == values.size());
    for (std::size_t t = 0; t < values.size(); ++t) {
      CHECK(series.x[t] == double(t));
      CHECK(series.mean[t] == doctest::Approx(values[t]).epsilon(tolerance));
    }
  }
}

}  // namespace

TEST_CASE("every method takes its own steps, layer by layer") {
  for (const std::string activation : {"relu2", "swiglu", "tanh"}) {
    CAPTURE(activation);
    const Result result = run_study({{"activation", activation},
                                     {"optimizer", "specgd,muon"},
                                     {"equal-lr", "on"},
                                     {"lr-muon", "0.01"},
                                     {"momentum", "0.8"}});
    check_curves(result, "gd", reference(activation, "euclidean", lr_gd),
                 tolerance::trajectory<double>);
    check_curves(result, "specgd", reference(activation, "spectral", lr_spec),
                 tolerance::trajectory<double>);
    check_curves(result, "muon", reference(activation, "muon", lr_spec),
                 tolerance::trajectory<double>);
    check_curves(result, "specgd_equal_lr", reference(activation, "spectral", lr_gd),
                 tolerance::trajectory<double>);
  }
}

TEST_CASE("single precision follows double precision") {
  const Result single = run_study({{"precision", "f32"}});
  check_curves(single, "gd", reference("relu2", "euclidean", lr_gd), tolerance::trajectory<float>);
  check_curves(single, "specgd", reference("relu2", "spectral", lr_spec),
               tolerance::trajectory<float>);
}

TEST_CASE("recording ranks less often changes neither the recorded ranks nor the losses") {
  const Result all = run_study({}, 2), some = run_study({{"record-every", "4"}}, 2);
  const Series &ranks = find_series(some, "specgd.W2.nuclear_rank"),
               &every = find_series(all, "specgd.W2.nuclear_rank");
  CHECK(ranks.x == std::vector<double>{0, 4, 6});
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(ranks.mean[i] == doctest::Approx(every.mean[static_cast<std::size_t>(ranks.x[i])])
                               .epsilon(tolerance::residual<double>));
  CHECK(find_series(some, "gd.loss").mean == find_series(all, "gd.loss").mean);
  CHECK(find_series(some, "specgd.loss").mean == find_series(all, "specgd.loss").mean);
}

TEST_CASE(
    "results do not depend on threads, and a method's results do not depend on other methods") {
  const FlagValues both = {{"optimizer", "muon,specgd"}};
  const Result one = run_study(both, 2), three = run_study(both, 2, 3), alone = run_study({}, 2);
  for (const Series& series : one.series) {
    CAPTURE(series.name);
    CHECK(series.mean == find_series(three, series.name).mean);
    if (!series.name.starts_with("muon"))
      CHECK(series.mean == find_series(alone, series.name).mean);
  }
}

TEST_CASE("a trial that diverges is counted and named, and its later values are undefined") {
  const Result result = run_study({{"lr-gd", "900"}, {"lr-spec", "0.001"}}, 3);
  CHECK(result.diverged);
  CHECK(find_scalar(result, "gd.diverged") == std::vector<double>{1, 1, 1});
  CHECK(find_scalar(result, "specgd.diverged") == std::vector<double>{0, 0, 0});
  // After the first step the loss is more than a thousand times its start, but still finite.
  CHECK(find_scalar(result, "gd.diverged_at") == std::vector<double>{1, 1, 1});
  const Series& loss = find_series(result, "gd.loss");
  REQUIRE(loss.mean.size() == steps + 1);
  CHECK(std::isfinite(loss.mean[0]));
  CHECK(std::isnan(loss.mean[steps]));
  CHECK(find_series(result, "gd.W3.nuclear_rank").mean.size() == steps + 1);
  CHECK(std::isfinite(find_series(result, "specgd.loss").mean[steps]));
  REQUIRE(result.notes.size() == 1);
  CHECK(result.notes[0].starts_with("GD diverged in 3 of 3 trials"));
  CHECK_FALSE(run_study().diverged);
}

TEST_CASE(
    "Muon can run without SpecGD, which then has no claims, with either figure's activation") {
  for (const std::string activation : {"relu2", "swiglu"}) {
    const Result result = run_study({{"activation", activation}, {"optimizer", "muon"}}, 2);
    for (const Claim& claim : result.claims) CHECK(claim.id.find("specgd") == std::string::npos);
    if (activation == "swiglu") {
      CHECK(find_scalar(result, "gd.diverged") == std::vector<double>{0, 1});
      const Claim& caption = find_claim(result, "spectral/fig-18/layer3-drops-to-3/gd");
      CHECK(caption.detail.ends_with(
          "; last stable rank; GD diverged in 1 of 2 trials; judged over the 1 trial with a "
          "value"));
    }
  }
}

TEST_CASE("a single sample and a net with zero gradients give finite losses") {
  for (const char* count : {"1", "2"}) {
    const Result result = run_study({{"n", count}, {"width", "1"}}, 4);
    CHECK_FALSE(result.diverged);
    for (const double loss : find_series(result, "specgd.loss").mean) CHECK(std::isfinite(loss));
  }
}

TEST_CASE("a dump contains the last activations and gradients, in either precision") {
  for (const bool single : {false, true}) {
    CAPTURE(single);
    const double tolerance = single ? tolerance::trajectory<float> : tolerance::trajectory<double>;
    const TemporaryFolder folder;
    const std::string path = folder / "new/dump";
    run_study({{"activation", "swiglu"}, {"dump", path}, {"precision", single ? "f32" : "f64"}}, 2);
    const Result trial_0 = run_study({{"activation", "swiglu"}});
    const Series &first = find_series(trial_0, "specgd.W1.nuclear_rank"),
                 &ratio = find_series(trial_0, "specgd.W3.ratio");
    for (std::size_t l = 0; l < 4; ++l) {
      const std::string key = ":W" + std::to_string(l + 1);
      const StoredTensor activation = open_tensor(path + "/activations.safetensors" + key),
                         gradient = open_tensor(path + "/gradients.safetensors" + key);
      CHECK(activation.dtype() == (single ? Dtype::f32 : Dtype::f64));
      CHECK(gradient.dtype() == activation.dtype());
      const arma::mat A = matrix_of(activation), G = matrix_of(gradient);
      CHECK(arma::size(A) == arma::size(l == 0 ? d : width, n));
      CHECK(arma::size(G) == arma::size(l == 3 ? 1 : 2 * width, A.n_rows));
      if (l == 0)
        CHECK(Decomposed(G).nuclear_rank() ==
              doctest::Approx(first.mean.back()).epsilon(tolerance));
      if (l == 2) {
        CHECK(Decomposed(G).nuclear_rank() / Decomposed(A).stable_rank() ==
              doctest::Approx(ratio.mean.back()).epsilon(tolerance));
      }
    }
  }
}

TEST_CASE("a trial that diverged is not dumped, and a note says so") {
  const TemporaryFolder folder;
  const Result result = run_study({{"lr-spec", "900"}, {"dump", folder / "dump"}});
  CHECK(find_scalar(result, "specgd.diverged") == std::vector<double>{1});
  CHECK(result.notes.back().find("--dump") != std::string::npos);
  CHECK_THROWS_AS(read_file(folder / "dump/gradients.safetensors"), Failure);
}

TEST_CASE(
    "a figure shows the losses and one quantity, one panel per layer and one curve per method") {
  const Result result = run_study({{"optimizer", "specgd,muon"}}, 3);
  REQUIRE(result.figure.panels.size() == 4);
  CHECK(result.figure.columns == 4);
  const Panel& loss = result.figure.panels[0];
  CHECK(loss.title == "Training loss: median and seeds");
  CHECK(loss.y.floor == 1e-16);
  CHECK(loss.group.empty());
  REQUIRE(result.more_figures.size() == 2);
  const auto check_layers = [&](const Panel* panels, const std::string& group,
                                const std::string& quantity, std::size_t lines) {
    CAPTURE(group);
    const std::string matrix = quantity == "stable_rank" ? "layer" : "W";
    for (std::size_t l = 1; l <= 3; ++l) {
      const Panel& panel = panels[l - 1];
      CHECK(panel.group == group);
      CHECK(panel.title.ends_with("layer " + std::to_string(l)));
      CHECK(panel.lines.size() == lines);
      REQUIRE(panel.curves.size() == 3);
      for (std::size_t i = 0; i < 3; ++i) {
        const std::string method = std::vector<std::string>{"gd", "specgd", "muon"}[i];
        const Curve &curve = panel.curves[i], &same = loss.curves.at(i);
        CHECK(curve.series == method + "." + matrix + std::to_string(l) + "." + quantity);
        CHECK(curve.label == same.label);
        CHECK(curve.color == same.color);
        CHECK(curve.band == BandKind::trials);
        CHECK(find_series(result, curve.series).trials.size() == 3);
      }
    }
  };
  for (const Curve& curve : loss.curves) {
    CHECK(curve.band == BandKind::trials);
    CHECK(find_series(result, curve.series).trials.size() == 3);
  }
  check_layers(&result.figure.panels[1], "stable-rank", "stable_rank", 2);
  for (const Figure& figure : result.more_figures) {
    REQUIRE(figure.panels.size() == 3);
    CHECK(figure.columns == 3);
  }
  check_layers(result.more_figures[0].panels.data(), "nuclear-rank", "nuclear_rank", 0);
  check_layers(result.more_figures[1].panels.data(), "ratio", "ratio", 1);
}

TEST_CASE("--panels chooses the panels, and a single trial has no median") {
  const Result ratio = run_study({{"panels", "ratio,loss"}});
  REQUIRE(ratio.figure.panels.size() == 4);
  CHECK(ratio.figure.panels[0].group == "ratio");
  CHECK(ratio.figure.panels[3].title == "Training loss");
  CHECK(ratio.more_figures.empty());
  const Result ranks = run_study({{"panels", "stable-rank,ratio"}});
  CHECK(ranks.figure.panels.size() == 3);
  REQUIRE(ranks.more_figures.size() == 1);
  CHECK(ranks.more_figures[0].panels.at(0).group == "ratio");
}

TEST_CASE("the width defaults to four times d") {
  const auto study = configured(make_mlp_study(), {{"d", "5"}});
  CHECK(find_field(*study, "width").value_text() == "20");
}

TEST_CASE("invalid values are refused with the name of the flag") {
  for (const char* flag : {"lr-gd", "lr-spec", "lr-muon"}) {
    for (const char* value : {"-0.1", "nan", "0", "inf"}) {
      CAPTURE(flag);
      CAPTURE(value);
      CHECK(refusal(make_mlp_study(), {{flag, value}}).find(std::string("--") + flag) !=
            std::string::npos);
    }
  }
  CHECK(refusal(make_mlp_study(), {{"d", "2"}}).find("--d") != std::string::npos);
  CHECK(refusal(make_mlp_study(), {{"optimizer", "adam"}}).find("muon") != std::string::npos);
  CHECK(refusal(make_mlp_study(), {{"equal-lr", "on"}, {"optimizer", "muon"}}).find("--equal-lr") !=
        std::string::npos);
  CHECK(refusal(make_mlp_study(), {{"equal-lr", "on"}}).empty());
}

}  // namespace mlp_test
