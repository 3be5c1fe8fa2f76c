#include "nn/blocks/dropout.hpp"

#include <doctest/doctest.h>

#include "core/tolerances.hpp"

namespace dropout_test {

using namespace ranklab;

TEST_CASE_TEMPLATE("dropout sets a fraction `rate` of the entries to 0 and scales up the others", T,
                   float, double) {
  const Stream stream(5, 2, "dropout");
  for (const double rate : {0.0, 0.1, 0.75}) {
    arma::Mat<T> X(300, 200, arma::fill::value(3)), again = X;
    Dropout dropout(rate, stream), same(rate, stream);
    dropout(X);
    same(again);
    CHECK(arma::approx_equal(X, again, "absdiff", T(0)));
    const double n = static_cast<double>(X.n_elem);
    double fallen = 0;
    for (const T x : X) {
      if (x == 0) {
        ++fallen;
      } else {
        CHECK(static_cast<double>(x) ==
              doctest::Approx(3 / (1 - rate)).epsilon(tolerance::closed_form<T>));
      }
    }
    CHECK(std::abs(fallen / n - rate) <=
          tolerance::standard_errors * std::sqrt(rate * (1 - rate) / n));
    // The next matrix drops different entries.
    again.fill(3);
    dropout(again);
    CHECK(arma::approx_equal(X, again, "absdiff", T(0)) == (rate == 0));
  }
}

}  // namespace dropout_test
