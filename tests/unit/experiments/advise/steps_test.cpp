// Compares the advice of --study files with the losses after both steps, layer by layer. Each step
// uses the step size of its own geometry.
#include <doctest/doctest.h>

#include <functional>

#include "core/random.hpp"
#include "experiments/advise/advice.hpp"
#include "experiments/advise/matrices.hpp"

namespace advise_steps_test {

using namespace ranklab;
using namespace ranklab::advise;

namespace {

// A loss of W A with its gradient in W. Its second derivative along a unit change of one entry of W
// A is at most `curvature` / n.
struct Case {
  std::string name;
  arma::mat A, W;
  std::function<double(const arma::mat& W)> loss;
  std::function<arma::mat(const arma::mat& W)> gradient;
  double curvature;

  arma::mat G() const { return gradient(W); }
};

// The losses after a Euclidean and after a spectral step, with the step sizes of [Spectral] eq.
// (1.4).
std::pair<double, double> losses_after(const Case& layer) {
  arma::mat U, V;
  arma::vec s;
  const arma::mat G = layer.G();
  arma::svd_econ(U, s, V, G);
  const double scale = layer.curvature / static_cast<double>(layer.A.n_cols),
               largest = arma::norm(layer.A, 2);
  const double L_F = scale * largest * largest, L_op = scale * arma::accu(arma::square(layer.A));
  return {layer.loss(layer.W - G / L_F), layer.loss(layer.W - arma::accu(s) / L_op * U * V.t())};
}

// The mean of ||W a - y||^2 / 2 over the samples. Y is chosen so that the gradient at W is G.
Case least_squares(const std::string& name, const arma::mat& A, const arma::mat& G) {
  const auto n = static_cast<double>(A.n_cols);
  const arma::mat W = gaussian(G.n_rows, A.n_rows, "W"),
                  Y = W * A - n * G * arma::solve(A * A.t(), A);
  return {name,
          A,
          W,
          [=](const arma::mat& at) { return arma::accu(arma::square(at * A - Y)) / (2 * n); },
          [=](const arma::mat& at) { return arma::mat((at * A - Y) * A.t() / n); },
          1.0};
}

arma::mat softmax(arma::mat logits) {
  logits.each_row() -= arma::max(logits, 0);
  logits = arma::exp(logits);
  logits.each_row() /= arma::sum(logits, 0);
  return logits;
}

// The mean cross entropy of the labels (one of `classes` for each sample) at W. The Hessian for one
// sample is at most 1/2.
Case cross_entropy(const std::string& name, const arma::mat& A, const arma::uvec& labels,
                   arma::uword classes) {
  const auto n = static_cast<double>(A.n_cols);
  arma::mat Y(classes, A.n_cols, arma::fill::zeros);
  for (arma::uword i = 0; i < A.n_cols; ++i) Y(labels(i), i) = 1;
  return {name,
          A,
          arma::mat(classes, A.n_rows, arma::fill::zeros),
          [=](const arma::mat& at) { return -arma::accu(arma::log(softmax(at * A)) % Y) / n; },
          [=](const arma::mat& at) { return arma::mat((softmax(at * A) - Y) * A.t() / n); },
          0.5};
}

// Gaussian samples plus a mean vector, as activations have.
arma::mat with_mean(arma::uword k, arma::uword n, double mean, const char* name) {
  arma::mat A = gaussian(k, n, name);
  A.each_col() += mean * arma::ones(k);
  return A;
}

std::vector<Case> layers() {
  std::vector<Case> out;
  for (int i = 0; i < 40; ++i) {
    const auto k = static_cast<arma::uword>(8 + i % 5), m = static_cast<arma::uword>(6 + i % 4);
    const double st = 1.1 + 0.15 * i;
    out.push_back(least_squares(
        "squares." + std::to_string(i),
        of_stable_rank(k, 40, std::min(st, static_cast<double>(k) - 0.5), "A"),
        i % 2 == 0 ? isometry(m, k, "G") : flat(m, k, 1 + static_cast<arma::uword>(i) % 3, "G")));
  }
  for (int i = 0; i < 30; ++i) {
    const bool has_mean = i % 2 == 0;
    const auto k = static_cast<arma::uword>(10 + i % 7),
               classes = static_cast<arma::uword>(has_mean ? 8 + i % 3 : 3 + i % 3);
    const arma::mat A = with_mean(k, 200, has_mean ? 2.0 : 0.0, ("A" + std::to_string(i)).c_str());
    // The labels come from a teacher with all classes, or from one that separates two classes by
    // one direction.
    const arma::mat scores =
        gaussian(has_mean ? classes : 1, k, ("teacher" + std::to_string(i)).c_str()) * A;
    const arma::uvec labels =
        has_mean ? arma::uvec(arma::index_max(scores, 0).t()) : arma::uvec(scores.row(0).t() > 0);
    Case layer = cross_entropy("softmax." + std::to_string(i), A, labels, classes);
    // These Euclidean steps learn the direction of the mean.
    const double L_F = 0.5 * std::pow(arma::norm(A, 2), 2) / static_cast<double>(A.n_cols);
    for (int step = 0; has_mean && step < 20; ++step) layer.W -= layer.G() / L_F;
    out.push_back(std::move(layer));
  }
  return out;
}

}  // namespace

TEST_CASE(
    "if the advice names a step, that step gives the lower loss, for 70 layers with both steps "
    "taken") {
  const MatrixFolder folder;
  const std::vector<Case> all = layers();
  std::vector<std::string> pairs;
  for (const Case& layer : all) pairs.push_back(folder.pair(layer.name, layer.A, layer.G()));
  const Result result = run_pairs(pairs);
  std::map<std::string, int> sure, right;
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(all[i].name);
    REQUIRE(result.table.rows.at(i).front() == all[i].name);
    const std::string& advice = result.table.rows[i].back();
    const auto [euclidean, spectral] = losses_after(all[i]);
    CHECK(std::max(euclidean, spectral) <= all[i].loss(all[i].W));
    if (advice.starts_with("either")) continue;
    const std::string kind = all[i].name.substr(0, all[i].name.find('.')) +
                             (advice.starts_with("Muon") ? ": Muon" : ": keep");
    sure[kind] += 1;
    if (advice.starts_with("Muon") ? spectral <= euclidean : euclidean <= spectral)
      right[kind] += 1;
  }
  CHECK(right == sure);
  int count = 0;
  for (const auto& [kind, layers] : sure) {
    const auto& shown = kind;  // clang 14 cannot capture a structured binding
    CAPTURE(shown);
    CHECK(layers >= 5);
    count += layers;
  }
  CHECK(sure.size() == 4);
  CHECK(count >= 40);
}

}  // namespace advise_steps_test
