// The gradients of linear maps are tested with the layers that contain them; this is the second
// moment of output gradients, against a loop over samples.
#include "nn/layers/linear.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"
#include "ensembles/random_features.hpp"

namespace linear_test {

using namespace ranklab;

TEST_CASE_TEMPLATE("backward passes add the second moment of the output gradients if asked to", T,
                   float, double) {
  const Streams trial(7, 0);
  const arma::Mat<T> X = draw_gaussian<T>(trial, "X", 4, 9, 1.0),
                     dY = draw_gaussian<T>(trial, "dY", 3, 9, 1.0);
  Parameter<T> W{"W", arma::Mat<T>(3, 4, arma::fill::zeros)};
  W.clear_gradient();
  linear_backward_weights(W, X, dY);
  CHECK_FALSE(W.error_moment);
  W.error_moment.emplace(3, 3, arma::fill::zeros);
  linear_backward_weights(W, X, dY);
  linear_backward_weights(W, X, arma::Mat<T>(2 * dY));
  for (arma::uword i = 0; i < 3; ++i) {
    for (arma::uword j = 0; j < 3; ++j) {
      double sum = 0;
      for (arma::uword n = 0; n < 9; ++n)
        sum += 5 * static_cast<double>(dY(i, n)) * static_cast<double>(dY(j, n));
      CHECK(std::fabs((*W.error_moment)(i, j) - sum) <= 1e2 * tolerance::closed_form<double>);
    }
  }
}

}  // namespace linear_test
