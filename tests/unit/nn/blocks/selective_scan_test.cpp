// The scan alone: closed forms for constant steps, and buffers that are used again. The gradients
// in all inputs are tested through the mixer of Mamba.
#include "nn/blocks/selective_scan.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"
#include "gaussian.hpp"

namespace selective_scan_test {

using namespace ranklab;

namespace {

/// Inputs of a scan, their gradients, and dy.
template <class T>
struct Scan {
  arma::Mat<T> dt, x, BC, A, D, dy;  // BC (2 n, length)

  Scan(arma::uword channels, arma::uword n, arma::uword length)
      : dt(drawn(channels, length, "dt")),
        x(drawn(channels, length, "x")),
        BC(drawn(2 * n, length, "BC")),
        A(-arma::exp(drawn(channels, n, "A"))),
        D(drawn(channels, 1, "D")),
        dy(drawn(channels, length, "dy")) {
    dt = arma::exp(dt - T(1));
  }
  static arma::Mat<T> drawn(arma::uword rows, arma::uword columns, const char* name) {
    return arma::conv_to<arma::Mat<T>>::from(gaussian(rows, columns, name));
  }

  ScanInputs<T> inputs() const {
    return {x.n_cols,  dt.memptr(), x.memptr(), BC.memptr(), BC.memptr() + BC.n_rows / 2,
            BC.n_rows, A,           D};
  }
  arma::Mat<T> output() const {
    arma::Mat<T> y(arma::size(x));
    selective_scan(inputs(), y.memptr());
    return y;
  }
  struct Gradients {
    arma::Mat<T> dt, x, BC, A, D;
  };
  Gradients gradients() const {
    Gradients out{arma::Mat<T>(arma::size(dt)), arma::Mat<T>(arma::size(x)),
                  arma::Mat<T>(arma::size(BC)), arma::Mat<T>(arma::size(A), arma::fill::zeros),
                  arma::Mat<T>(arma::size(D), arma::fill::zeros)};
    selective_scan_backward<T>(inputs(), dy.memptr(),
                               {out.dt.memptr(), out.x.memptr(), out.BC.memptr(),
                                out.BC.memptr() + BC.n_rows / 2, out.A, out.D});
    return out;
  }
};

double relative(const arma::mat& Y, const arma::mat& expected) {
  return arma::norm(Y - expected, "fro") / arma::norm(expected, "fro");
}

template <class T>
bool same(const arma::Mat<T>& a, const arma::Mat<T>& b) {
  return arma::approx_equal(a, b, "absdiff", T(0));
}

/// Makes dt, B and C the same for all tokens.
void make_time_invariant(Scan<double>& scan) {
  scan.dt.each_col() = arma::vec(scan.dt.col(0));
  scan.BC.each_col() = arma::vec(scan.BC.col(0));
}

/// K_l[c] = sum_s C_s exp(l dt A) dt B_s, and D added to K_0: (channels, length).
arma::mat kernels(const Scan<double>& scan) {
  arma::mat K(arma::size(scan.x));
  const arma::uword n = scan.A.n_cols;
  for (arma::uword c = 0; c < K.n_rows; ++c) {
    for (arma::uword l = 0; l < K.n_cols; ++l) {
      long double sum = l == 0 ? scan.D(c) : 0.0;
      for (arma::uword s = 0; s < n; ++s) {
        sum += std::exp(static_cast<long double>(l) * scan.dt(c, 0) * scan.A(c, s)) *
               scan.dt(c, 0) * scan.BC(s, 0) * scan.BC(n + s, 0);
      }
      K(c, l) = static_cast<double>(sum);
    }
  }
  return K;
}

}  // namespace

TEST_CASE("selective scan: with constant steps, B and C, it is a convolution, and so is dx") {
  for (const arma::uword n : {1u, 5u, 8u, 16u, 19u}) {
    for (const arma::uword channels : {3u, 8u, 21u}) {
      CAPTURE(n);
      CAPTURE(channels);
      Scan<double> scan(channels, n, 30);
      make_time_invariant(scan);
      const arma::mat K = kernels(scan);
      arma::mat y(arma::size(scan.x), arma::fill::zeros), dx = y;
      for (arma::uword t = 0; t < 30; ++t) {
        for (arma::uword j = 0; j <= t; ++j) {
          y.col(t) += K.col(t - j) % scan.x.col(j);
          dx.col(j) += K.col(t - j) % scan.dy.col(t);
        }
      }
      CHECK(relative(scan.output(), y) <= tolerance::residual<double>);
      CHECK(relative(scan.gradients().x, dx) <= tolerance::residual<double>);
    }
  }
}

TEST_CASE_TEMPLATE("selective scan: a step so large that exp(dt A) is negligible forgets the state",
                   T, float, double) {
  Scan<T> scan(5, 3, 6);
  scan.dt.col(3).fill(T(1e6));
  Scan<T> forgotten = scan;
  forgotten.x.head_cols(3) *= T(-2);
  const arma::Mat<T> y = scan.output(), z = forgotten.output();
  CHECK(same<T>(y.tail_cols(3), z.tail_cols(3)));
  CHECK_FALSE(same<T>(y.head_cols(3), z.head_cols(3)));
  scan.dy.head_cols(3).zeros();
  CHECK(arma::abs(scan.gradients().x.head_cols(3)).max() == T(0));
  CHECK(arma::abs(scan.gradients().x.tail_cols(3)).min() > T(0));
}

TEST_CASE("selective scan: results do not depend on earlier scans in the thread") {
  const Scan<double> small(5, 3, 4), large(40, 19, 25);
  Scan<double> other = small;
  other.x *= -2;
  const arma::mat y = small.output();
  const auto gradients = small.gradients();
  for (const Scan<double>* before : {&large, static_cast<const Scan<double>*>(&other)}) {
    before->output();
    before->gradients();
    CHECK(same(small.output(), y));
    const auto again = small.gradients();
    CHECK(same(again.dt, gradients.dt));
    CHECK(same(again.BC, gradients.BC));
    CHECK(same(again.A, gradients.A));
  }
}

}  // namespace selective_scan_test
