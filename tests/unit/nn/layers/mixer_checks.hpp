// Checks for every mixer: gradients agree with central differences, sequences are independent,
// single precision agrees with double precision, and if a mixer is causal, earlier tokens do not
// depend on later ones.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/tolerances.hpp"
#include "gaussian.hpp"
#include "nn/layers/mixer.hpp"

namespace mixer_checks {

template <class A, class B>
double relative(const A& Y, const B& expected) {
  const arma::mat wanted = arma::conv_to<arma::mat>::from(expected);
  return arma::norm(arma::conv_to<arma::mat>::from(Y) - wanted, "fro") / arma::norm(wanted, "fro");
}

/// Adds 0.1 N(0, 1) to every parameter, so that gains of 1 and biases of 0 matter too.
template <class T>
void perturb(ranklab::Mixer<T>& mixer) {
  for (ranklab::Parameter<T>* parameter : mixer.parameters()) {
    const arma::mat step = 0.1 * gaussian(parameter->W.n_rows, parameter->W.n_cols,
                                          ("moved " + parameter->name).c_str());
    parameter->W =
        arma::conv_to<arma::Mat<T>>::from(arma::conv_to<arma::mat>::from(parameter->W) + step);
  }
}

template <class T>
arma::Mat<T> output(ranklab::Mixer<T>& mixer, const arma::Mat<T>& X) {
  arma::Mat<T> Y;
  mixer.prepare();
  mixer.forward(X, Y);
  return Y;
}

/// Gradients of the loss sum(G o Y): dX, then those of the parameters.
template <class T>
std::vector<arma::Mat<T>> gradients(ranklab::Mixer<T>& mixer, const arma::Mat<T>& X,
                                    const arma::Mat<T>& G) {
  std::vector<arma::Mat<T>> all(1);
  output(mixer, X);
  for (ranklab::Parameter<T>* parameter : mixer.parameters()) parameter->clear_gradient();
  mixer.backward(X, G, all.front());
  mixer.finish();
  for (const ranklab::Parameter<T>* parameter : mixer.parameters()) all.push_back(parameter->G);
  return all;
}

inline void check_gradients(ranklab::Mixer<double>& mixer, arma::mat X) {
  const arma::mat G = gaussian(X.n_rows, X.n_cols, "G");
  const std::vector<arma::mat> found = gradients(mixer, X, G);
  // Of fourth order: (8 (f(h) - f(-h)) - (f(2 h) - f(-2 h))) / 12 h. Some gradients are small
  // relative to the loss and its rounding.
  const auto by_differences = [&](arma::mat& W) {
    constexpr double h = 1e-4;
    arma::mat slopes(arma::size(W));
    for (arma::uword i = 0; i < W.n_elem; ++i) {
      const double at = W[i];
      const auto rise = [&](double step) {
        W[i] = at + step;
        const double above = arma::dot(G, output(mixer, X));
        W[i] = at - step;
        return above - arma::dot(G, output(mixer, X));
      };
      slopes[i] = (8 * rise(h) - rise(2 * h)) / (12 * h);
      W[i] = at;
    }
    return slopes;
  };
  CHECK(relative(found[0], by_differences(X)) <= ranklab::tolerance::central_difference);
  std::size_t index = 0;
  for (ranklab::Parameter<double>* parameter : mixer.parameters()) {
    CAPTURE(parameter->name);
    REQUIRE(arma::size(found[++index]) == arma::size(parameter->W));
    CHECK(relative(found[index], by_differences(parameter->W)) <=
          ranklab::tolerance::central_difference);
  }
  // A second pass adds to them.
  arma::mat dX;
  output(mixer, X);
  mixer.backward(X, G, dX);
  mixer.finish();
  CHECK(relative(dX, found[0]) <= ranklab::tolerance::residual<double>);
  index = 0;
  for (const ranklab::Parameter<double>* parameter : mixer.parameters()) {
    CAPTURE(parameter->name);
    CHECK(relative(parameter->G, 2 * found[++index]) <= ranklab::tolerance::residual<double>);
  }
  // So does a second backward pass after the same forward pass.
  mixer.backward(X, G, dX);
  mixer.finish();
  index = 0;
  for (const ranklab::Parameter<double>* parameter : mixer.parameters()) {
    CAPTURE(parameter->name);
    CHECK(relative(parameter->G, 3 * found[++index]) <= ranklab::tolerance::residual<double>);
  }
}

/// X holds two sequences. The outputs must equal those of each sequence alone, and the gradients of
/// parameters the sums.
inline void check_sequences_apart(ranklab::Mixer<double>& mixer, const arma::mat& X) {
  constexpr double limit = ranklab::tolerance::residual<double>;
  const arma::uword length = X.n_cols / 2;
  const arma::mat G = gaussian(X.n_rows, X.n_cols, "G"), Y = output(mixer, X);
  const std::vector<arma::mat> both = gradients(mixer, X, G);
  std::vector<arma::mat> sums(both.size());
  for (arma::uword first = 0; first < X.n_cols; first += length) {
    const arma::mat alone = X.cols(first, first + length - 1),
                    G_alone = G.cols(first, first + length - 1);
    CHECK(relative(Y.cols(first, first + length - 1), output(mixer, alone)) <= limit);
    const std::vector<arma::mat> of_one = gradients(mixer, alone, G_alone);
    CHECK(relative(both[0].cols(first, first + length - 1), of_one[0]) <= limit);
    for (std::size_t i = 1; i < sums.size(); ++i)
      sums[i] = first == 0 ? of_one[i] : sums[i] + of_one[i];
  }
  // Sums over all tokens, with cancellation.
  for (std::size_t i = 1; i < sums.size(); ++i) CHECK(relative(both[i], sums[i]) <= 10 * limit);
}

/// X holds two sequences. If the last tokens of each change, the earlier outputs must be the same,
/// bit by bit.
inline void check_causal(ranklab::Mixer<double>& mixer, arma::mat X) {
  const arma::uword length = X.n_cols / 2, kept = length / 2;
  const arma::mat Y = output(mixer, X);
  for (const arma::uword first : {arma::uword(0), length})
    X.cols(first + kept, first + length - 1) *= -1.5;
  const arma::mat Z = output(mixer, X);
  for (arma::uword n = 0; n < X.n_cols; ++n) {
    CAPTURE(n);
    CHECK(arma::approx_equal(Y.col(n), Z.col(n), "absdiff", 0.0) == (n % length < kept));
  }
}

/// Two mixers constructed in the same way.
inline void check_single_precision(ranklab::Mixer<double>& wide, ranklab::Mixer<float>& narrow,
                                   const arma::mat& X) {
  constexpr double limit = ranklab::tolerance::residual<float>;
  const arma::mat G = gaussian(X.n_rows, X.n_cols, "G");
  const arma::fmat x = arma::conv_to<arma::fmat>::from(X), g = arma::conv_to<arma::fmat>::from(G);
  CHECK(relative(output(narrow, x), output(wide, X)) <= limit);
  const std::vector<arma::mat> expected = gradients(wide, X, G);
  const std::vector<arma::fmat> found = gradients(narrow, x, g);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(relative(found[i], expected[i]) <= limit);
  }
}

}  // namespace mixer_checks
