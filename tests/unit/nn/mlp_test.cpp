// Compares the network with loops over its entries, and its gradients with central differences of
// that second implementation.
#include "nn/mlp.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "core/tolerances.hpp"
#include "ensembles/random_features.hpp"

namespace mlp_test {

using namespace ranklab;

namespace {

constexpr std::uint64_t d = 3, width = 4, hidden = 3, n = 5;

// Computes one sample and one unit at a time; outputs of the same sample are adjacent.
std::vector<double> outputs_by_loops(const Mlp<double>& net, const arma::mat& X) {
  std::vector<double> out;
  for (arma::uword sample = 0; sample < X.n_cols; ++sample) {
    std::vector<double> a(X.begin_col(sample), X.end_col(sample));
    for (std::size_t l = 0; l < net.W.size(); ++l) {
      const arma::mat& W = net.W[l];
      std::vector<double> z(W.n_rows, 0.0);
      for (arma::uword i = 0; i < W.n_rows; ++i)
        for (arma::uword j = 0; j < W.n_cols; ++j) z[i] += W(i, j) * a[j];
      if (l + 1 == net.W.size()) {
        out.insert(out.end(), z.begin(), z.end());
        break;
      }
      const std::size_t units = net.sigma->gated ? z.size() / 2 : z.size();
      a.assign(units, 0.0);
      for (std::size_t i = 0; i < units; ++i)
        a[i] = net.sigma->value(z[i]) * (net.sigma->gated ? z[units + i] : 1.0);
    }
  }
  return out;
}

double mean_squared_error(const Mlp<double>& net, const arma::mat& X, const arma::rowvec& y) {
  const std::vector<double> f = outputs_by_loops(net, X);
  double sum = 0;
  for (std::size_t i = 0; i < f.size(); ++i) sum += (f[i] - y(i)) * (f[i] - y(i));
  return sum / static_cast<double>(f.size());
}

/// The largest difference between pass.G and central differences of loss(net), relative to the
/// largest gradient of the matrix.
template <class LossOf>
double error_of_gradients(Mlp<double> net, const MlpPass<double>& pass, const LossOf& loss) {
  const double step = std::cbrt(tolerance::epsilon<double>);
  double error = 0;
  for (std::size_t l = 0; l < net.W.size(); ++l) {
    REQUIRE(arma::size(pass.G[l]) == arma::size(net.W[l]));
    const double largest = arma::abs(pass.G[l]).max();
    REQUIRE(largest > 0);
    for (arma::uword i = 0; i < net.W[l].n_elem; ++i) {
      const double w = net.W[l](i);
      net.W[l](i) = w + step;
      const double above = loss(net);
      net.W[l](i) = w - step;
      const double below = loss(net);
      net.W[l](i) = w;
      error = std::max(error, std::abs((above - below) / (2 * step) - pass.G[l](i)) / largest);
    }
  }
  return error;
}

struct Problem {
  Mlp<double> net;
  arma::mat X;
  arma::rowvec y;
};

Problem problem(const std::string& activation) {
  const Streams trial(7, 0);
  return {Mlp<double>::draw(trial, d, width, hidden, find_activation(activation)),
          draw_gaussian<double>(trial, "X", d, n, 1.5),
          draw_gaussian<double>(trial, "y", 1, n, 1.0)};
}

}  // namespace

TEST_CASE("outputs, activations and loss agree with loops") {
  for (const std::string& activation : activation_names()) {
    CAPTURE(activation);
    const Problem p = problem(activation);
    MlpPass<double> pass;
    p.net.forward(p.X, pass);
    const std::vector<double> expected = outputs_by_loops(p.net, p.X);
    for (std::size_t i = 0; i < n; ++i)
      CHECK(pass.output(i) == doctest::Approx(expected[i]).epsilon(tolerance::closed_form<double>));
    set_mean_squared_error(p.y, pass);
    CHECK(pass.loss == doctest::Approx(mean_squared_error(p.net, p.X, p.y))
                           .epsilon(tolerance::closed_form<double>));
    REQUIRE(pass.A.size() == hidden);
    for (const arma::mat& A : pass.A) CHECK(arma::size(A) == arma::size(width, n));
  }
}

TEST_CASE("gradients agree with central differences of the loss for every activation") {
  for (const std::string& activation : activation_names()) {
    CAPTURE(activation);
    const Problem p = problem(activation);
    MlpPass<double> pass;
    p.net.forward(p.X, pass);
    set_mean_squared_error(p.y, pass);
    p.net.backward(pass);
    CHECK(error_of_gradients(p.net, pass, [&](const Mlp<double>& net) {
            return mean_squared_error(net, p.X, p.y);
          }) < tolerance::central_difference);
  }
}

TEST_CASE("a loss of several outputs has the same gradients, at every depth") {
  constexpr std::uint64_t outputs = 2;
  const Streams trial(7, 0);
  // The loss is <Q, output>, so that Q is its gradient in the outputs.
  const arma::mat Q = draw_gaussian<double>(trial, "Q", outputs, n, 1.0);
  for (const char* activation : {"tanh", "swiglu"}) {
    for (std::size_t depth = 1; depth <= 3; ++depth) {
      CAPTURE(activation);
      CAPTURE(depth);
      Problem p = problem(activation);
      p.net.W.resize(depth);
      p.net.W.back() = draw_gaussian<double>(trial, "W", outputs, depth == 1 ? d : width, 1.0);
      MlpPass<double> pass;
      p.net.forward(p.X, pass);
      REQUIRE(arma::size(pass.output) == arma::size(outputs, n));
      pass.d_output = Q;
      p.net.backward(pass);
      CHECK(error_of_gradients(p.net, pass, [&](const Mlp<double>& net) {
              const std::vector<double> f = outputs_by_loops(net, p.X);
              double sum = 0;
              for (std::size_t i = 0; i < f.size(); ++i) sum += Q(i) * f[i];
              return sum;
            }) < tolerance::central_difference);
    }
  }
}

TEST_CASE("pre-activations are kept where asked for") {
  const Problem p = problem("swiglu");
  MlpPass<double> without, with;
  with.keeps_Z = true;
  for (MlpPass<double>* pass : {&without, &with}) p.net.forward(p.X, *pass);
  CHECK(without.Z.empty());
  REQUIRE(with.Z.size() == hidden);
  for (std::size_t l = 0; l < hidden; ++l)
    CHECK(arma::approx_equal(with.Z[l], p.net.W[l] * with.input(l), "absdiff", 0.0));
  CHECK(arma::approx_equal(with.output, without.output, "absdiff", 0.0));
}

TEST_CASE("a second pass with the same buffers gives the same numbers") {
  const Problem p = problem("swiglu");
  MlpPass<double> fresh, used;
  p.net.forward(p.X, fresh);
  set_mean_squared_error(p.y, fresh);
  p.net.backward(fresh);
  for (int i = 0; i < 2; ++i) {
    p.net.forward(p.X, used);
    set_mean_squared_error(p.y, used);
    p.net.backward(used);
  }
  for (std::size_t l = 0; l < p.net.W.size(); ++l)
    CHECK(arma::approx_equal(fresh.G[l], used.G[l], "absdiff", 0.0));
}

TEST_CASE("the single-precision network is the same network rounded") {
  const Problem p = problem("swiglu");
  const Streams trial(7, 0);
  const Mlp<float> net = Mlp<float>::draw(trial, d, width, hidden, find_activation("swiglu"));
  MlpPass<float> pass;
  const arma::fmat X = arma::conv_to<arma::fmat>::from(p.X);
  const arma::frowvec y = arma::conv_to<arma::frowvec>::from(p.y);
  net.forward(X, pass);
  set_mean_squared_error(y, pass);
  CHECK(
      pass.loss ==
      doctest::Approx(mean_squared_error(p.net, p.X, p.y)).epsilon(tolerance::closed_form<float>));
}

TEST_CASE(
    "initial weights are uniform on +-1/sqrt(fan_in); a gated activation doubles only the hidden "
    "rows") {
  const Streams trial(3, 0);
  const Mlp<double> net = Mlp<double>::draw(trial, 16, 50, 3, find_activation("swiglu"));
  REQUIRE(net.W.size() == 4);
  CHECK(arma::size(net.W[0]) == arma::size(100, 16));
  CHECK(arma::size(net.W[1]) == arma::size(100, 50));
  CHECK(arma::size(net.W[2]) == arma::size(100, 50));
  CHECK(arma::size(net.W[3]) == arma::size(1, 50));
  CHECK(arma::size(Mlp<double>::draw(trial, 16, 50, 1, find_activation("relu")).W[0]) ==
        arma::size(50, 16));
  for (std::size_t l = 0; l < 3; ++l) {
    const double bound = l == 0 ? 0.25 : 1 / std::sqrt(50.0),
                 count = static_cast<double>(net.W[l].n_elem);
    CHECK(arma::abs(net.W[l]).max() <= bound);
    // The variance is bound^2 / 3; the square of a uniform number on (-1, 1) has variance 4/45.
    const double square = arma::mean(arma::vectorise(arma::square(net.W[l] / bound)));
    CHECK(std::abs(square - 1.0 / 3) < tolerance::standard_errors * std::sqrt(4.0 / 45 / count));
  }
}

}  // namespace mlp_test
