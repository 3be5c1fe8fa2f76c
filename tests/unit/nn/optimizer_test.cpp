#include "nn/optimizer.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "core/tolerances.hpp"
#include "ensembles/random_features.hpp"
#include "linalg/decompositions.hpp"

namespace optimizer_test {

using namespace ranklab;

namespace {

const Streams trial(9, 0);

arma::mat gradient(int t) {
  return draw_gaussian<double>(trial, ("g" + std::to_string(t)).c_str(), 6, 3, 1.0);
}

Parameter<double> start() {
  return {"W", draw_gaussian<double>(trial, "W", 6, 3, 1.0)};
}

}  // namespace

TEST_CASE("Adam agrees, entry by entry, with the sums that define its averages") {
  const double lr = 0.1, decay = 0.3, b1 = 0.9, b2 = 0.95;
  Parameter<double> parameter = start();
  Optimizer<double> adam({.rule = Rule::adam, .decay = decay});
  arma::mat expected = parameter.W;
  for (int t = 1; t <= 5; ++t) {
    parameter.G = gradient(t);
    adam.step(parameter, lr);
    for (arma::uword i = 0; i < expected.n_elem; ++i) {
      double m = 0, v = 0, weight_m = 0, weight_v = 0;
      for (int s = 1; s <= t; ++s) {
        const double g = gradient(s)[i];
        m += std::pow(b1, t - s) * g, weight_m += std::pow(b1, t - s);
        v += std::pow(b2, t - s) * g * g, weight_v += std::pow(b2, t - s);
      }
      expected[i] -= lr * (m / weight_m / (std::sqrt(v / weight_v) + 1e-8) + decay * expected[i]);
    }
    CHECK(arma::approx_equal(parameter.W, expected, "absdiff", tolerance::trajectory<double>));
  }
}

TEST_CASE_TEMPLATE(
    "AdamW follows its published form if the rate changes at every step: decay is multiplied by "
    "the rate",
    T, float, double) {
  const double decay = 0.2, b2 = 0.999;
  Parameter<T> parameter{"W", arma::conv_to<arma::Mat<T>>::from(start().W)};
  Optimizer<T> adam({.rule = Rule::adam, .beta_2 = b2, .decay = decay});
  arma::mat W = start().W, m(6, 3, arma::fill::zeros), v = m;
  for (int t = 1; t <= 30; ++t) {
    const double lr = 0.02 * t;
    parameter.G = arma::conv_to<arma::Mat<T>>::from(gradient(t));
    adam.step(parameter, lr);
    for (arma::uword i = 0; i < W.n_elem; ++i) {
      const double g = gradient(t)[i];
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = b2 * v[i] + (1 - b2) * g * g;
      W[i] -=
          lr * (m[i] / (1 - std::pow(0.9, t)) / (std::sqrt(v[i] / (1 - std::pow(b2, t))) + 1e-8) +
                decay * W[i]);
    }
    CHECK(arma::approx_equal(arma::conv_to<arma::mat>::from(parameter.W), W, "absdiff",
                             tolerance::trajectory<T>));
  }
}

TEST_CASE("SGD's momentum is the sum of all gradients, each reduced by a twentieth per step") {
  Parameter<double> parameter = start();
  Optimizer<double> sgd({.rule = Rule::sgd});
  arma::mat expected = parameter.W;
  for (int t = 1; t <= 4; ++t) {
    parameter.G = gradient(t);
    sgd.step(parameter, 0.2);
    for (int s = 1; s <= t; ++s) expected -= 0.2 * std::pow(0.95, t - s) * gradient(s);
    CHECK(arma::approx_equal(parameter.W, expected, "absdiff", tolerance::trajectory<double>));
  }
}

TEST_CASE_TEMPLATE(
    "singular values of polar steps are all equal to the rate times the root of the aspect ratio",
    T, float, double) {
  Parameter<T> parameter{"W", arma::Mat<T>(6, 3, arma::fill::zeros)};
  Optimizer<T> polar({.rule = Rule::polar});
  for (int t = 1; t <= 3; ++t) {
    parameter.G = arma::conv_to<arma::Mat<T>>::from(gradient(t));
    const arma::Mat<T> before = parameter.W;
    polar.step(parameter, 0.5);
    const arma::vec s = singular_values(arma::conv_to<arma::mat>::from(before - parameter.W));
    for (const double value : s)
      CHECK(std::fabs(value - 0.5 * std::sqrt(2.0)) <= 10 * tolerance::residual<T>);
  }
}

// U V' of an SVD.
arma::mat polar_by_svd(const arma::mat& A) {
  arma::mat U, V;
  arma::vec s;
  arma::svd_econ(U, s, V, A);
  return U * V.t();
}

TEST_CASE("polar orthogonalizes the parts of a cut one by one, each at the scale of its shape") {
  for (const Cut cut : {Cut{2, 1}, Cut{1, 3}, Cut{3, 1}}) {
    Parameter<double> parameter{"W", arma::mat(6, 3, arma::fill::zeros), gradient(1)};
    Optimizer<double>({.rule = Rule::polar, .cut = cut}).step(parameter, 0.5);
    const arma::uword m = 6 / cut.rows, n = 3 / cut.columns;
    const double scale = std::sqrt(std::max(1.0, double(m) / double(n)));
    for (arma::uword i = 0; i < cut.rows; ++i) {
      for (arma::uword j = 0; j < cut.columns; ++j) {
        const auto part = [&](const arma::mat& A) -> arma::mat {
          return A.submat(i * m, j * n, (i + 1) * m - 1, (j + 1) * n - 1);
        };
        CHECK(arma::approx_equal(part(parameter.W), -0.5 * scale * polar_by_svd(part(gradient(1))),
                                 "absdiff", tolerance::polar_agreement<double>));
      }
    }
  }
}

TEST_CASE("stacked matrices have the polar factor of one matrix") {
  Parameter<double> top{"a", arma::mat(2, 3, arma::fill::zeros), gradient(1).rows(0, 1)},
      rest{"b", arma::mat(4, 3, arma::fill::zeros), gradient(1).rows(2, 5)};
  Optimizer<double>({.rule = Rule::polar}).step({&top, &rest}, 0.5);
  const arma::mat expected = -0.5 * std::sqrt(2.0) * polar_by_svd(gradient(1));
  CHECK(arma::approx_equal(arma::join_cols(top.W, rest.W), expected, "absdiff",
                           tolerance::polar_agreement<double>));
  Optimizer<double> adam({});
  CHECK_THROWS_AS(adam.step({&top, &rest}, 0.5), const std::logic_error&);
}

TEST_CASE_TEMPLATE("parts keep their momentum, and one part is the whole bit for bit", T, float,
                   double) {
  for (const Rule rule : {Rule::muon, Rule::polar}) {
    Parameter<T> whole{"W", arma::Mat<T>(6, 3, arma::fill::zeros)}, one = whole, cut = whole;
    Parameter<T> halves[] = {{"W", arma::Mat<T>(3, 3, arma::fill::zeros)},
                             {"W", arma::Mat<T>(3, 3, arma::fill::zeros)}};
    Optimizer<T> of_whole({.rule = rule}), of_one({.rule = rule, .cut = {1, 1}}),
        of_cut({.rule = rule, .cut = {2, 1}});
    std::vector<Optimizer<T>> of_halves(2, Optimizer<T>({.rule = rule}));
    for (int t = 1; t <= 3; ++t) {
      whole.G = one.G = cut.G = arma::conv_to<arma::Mat<T>>::from(gradient(t));
      of_whole.step(whole, 0.1), of_one.step(one, 0.1), of_cut.step(cut, 0.1);
      for (arma::uword i = 0; i < 2; ++i) {
        halves[i].G = whole.G.rows(3 * i, 3 * i + 2);
        of_halves[i].step(halves[i], 0.1);
      }
    }
    const auto equal = [](const arma::Mat<T>& A, const arma::Mat<T>& B) {
      return arma::approx_equal(A, B, "absdiff", 0);
    };
    CHECK(equal(whole.W, one.W));
    CHECK(equal(cut.W, arma::join_cols(halves[0].W, halves[1].W)));
    CHECK(!equal(cut.W, whole.W));
  }
}

TEST_CASE("polar drops singular values below 1e-7 of the largest") {
  Parameter<double> parameter{"W", arma::mat(4, 4, arma::fill::zeros),
                              arma::diagmat(arma::vec{1, 1e-6, 1e-8, 0})};
  Optimizer<double>({.rule = Rule::polar}).step(parameter, 1.0);
  const arma::vec expected = {-1, -1, 0, 0};
  CHECK(arma::approx_equal(parameter.W, arma::mat(arma::diagmat(expected)), "absdiff",
                           tolerance::polar_agreement<double>));
}

TEST_CASE("the trapezoid schedule rises during warm-up, stays constant, and falls to a tenth") {
  CHECK(trapezoid(0, 300) == 1.0 / 20);
  CHECK(trapezoid(9, 300) == 0.5);
  CHECK(trapezoid(19, 300) == 1.0);
  CHECK(trapezoid(180, 300) == 1.0);
  CHECK(std::fabs(trapezoid(240, 300) - 0.55) <= tolerance::closed_form<double>);
  CHECK(std::fabs(trapezoid(300, 300) - 0.1) <= tolerance::closed_form<double>);
  CHECK(trapezoid(3, 5) < 1.0);  // a run shorter than its warm-up
}

TEST_CASE("half a cosine after a linear warm-up matches closed forms") {
  constexpr double limit = tolerance::closed_form<double>;
  CHECK(warm_cosine(0, 300, 30) == 1.0 / 30);
  CHECK(warm_cosine(14, 300, 30) == 0.5);
  CHECK(warm_cosine(29, 300, 30) == 1.0);
  CHECK(warm_cosine(300, 300, 30) == 0.0);
  // 300 steps from step 2 on; after a third of them cos(pi / 3) = 1/2.
  CHECK(warm_cosine(0, 301, 2) == 0.5);
  CHECK(warm_cosine(1, 301, 2) == 1.0);
  CHECK(std::fabs(warm_cosine(101, 301, 2) - 0.75) <= limit);
  CHECK(std::fabs(warm_cosine(151, 301, 2) - 0.5) <= limit);
  CHECK(std::fabs(warm_cosine(201, 301, 2) - 0.25) <= limit);
  for (const std::uint64_t warmup : {0u, 1u}) {  // no warm-up
    CHECK(warm_cosine(0, 300, warmup) == 1.0);
    CHECK(std::fabs(warm_cosine(100, 300, warmup) - 0.75) <= limit);
    CHECK(warm_cosine(300, 300, warmup) == 0.0);
  }
  for (const std::uint64_t warmup :
       {300u, 600u}) {  // a run that ends with its warm-up or during it
    for (std::uint64_t t = 0; t < 300; ++t) {
      CHECK(std::fabs(warm_cosine(t, 300, warmup) -
                      static_cast<double>(t + 1) / static_cast<double>(warmup)) <= limit);
    }
  }
}

TEST_CASE(
    "the warm cosine schedule rises by equal steps to 1 and then falls at most as fast as the "
    "cosine") {
  for (const std::uint64_t warmup : {1u, 2u, 30u, 150u}) {
    CAPTURE(warmup);
    const double up = 1 / static_cast<double>(warmup),
                 steepest = std::numbers::pi / 2 / static_cast<double>(301 - warmup);
    for (std::uint64_t t = 1; t <= 300; ++t) {
      CAPTURE(t);
      const double change = warm_cosine(t, 300, warmup) - warm_cosine(t - 1, 300, warmup);
      if (t < warmup) {
        CHECK(std::fabs(change - up) <= tolerance::closed_form<double>);
      } else {
        CHECK(change < 0);
        CHECK(change >= -steepest);
      }
    }
  }
}

TEST_CASE_TEMPLATE("gradients are clipped together, exactly to the largest allowed norm", T, float,
                   double) {
  // Squares 9 + 16 + 144: a norm of 13.
  Parameter<T> first{"first", arma::Row<T>(2), arma::Row<T>{3, -4}},
      second{"second", arma::Row<T>(1), arma::Row<T>{12}};
  const std::vector<Parameter<T>*> both = {&first, &second};
  const auto are = [&](double scale) {
    const double limit = tolerance::closed_form<T> * 13;
    return std::fabs(static_cast<double>(first.G[0]) - 3 * scale) <= limit &&
           std::fabs(static_cast<double>(first.G[1]) + 4 * scale) <= limit &&
           std::fabs(static_cast<double>(second.G[0]) - 12 * scale) <= limit;
  };
  CHECK(gradient_norm(both) == 13.0);
  CHECK(gradient_norm(std::vector<Parameter<T>*>{&first}) == 5.0);
  CHECK(gradient_norm(std::vector<Parameter<T>*>{}) == 0.0);
  for (const double largest : {13.5, 13.0}) {
    CHECK(clip_gradients(both, largest) == 13.0);
    CHECK((first.G[0] == 3 && first.G[1] == -4 && second.G[0] == 12));
  }
  CHECK(clip_gradients(both, 6.5) == 13.0);  // the norm before clipping
  CHECK(are(0.5));
  CHECK(std::fabs(gradient_norm(both) - 6.5) <= tolerance::closed_form<T> * 13);
  CHECK(clip_gradients(both, 100.0) == gradient_norm(both));
  CHECK(are(0.5));
  // A norm that is NaN is returned, and nothing is scaled.
  second.G[0] = std::numeric_limits<T>::quiet_NaN();
  CHECK(std::isnan(clip_gradients(both, 1.0)));
  CHECK(std::fabs(static_cast<double>(first.G[0]) - 1.5) <= tolerance::closed_form<T> * 13);
}

TEST_CASE(
    "steps: a fifth from 70 % on, a twenty-fifth from 90 % on; quarter cosine; both after a "
    "warm-up") {
  CHECK(stepped(0, 200, 0) == 1.0);
  CHECK(stepped(139, 200, 0) == 1.0);
  CHECK(stepped(140, 200, 0) == 0.2);
  CHECK(stepped(179, 200, 0) == 0.2);
  CHECK(stepped(180, 200, 0) == 0.04);
  CHECK(stepped(4, 200, 10) == 0.5);
  CHECK(stepped(145, 200, 290) == doctest::Approx(0.2 * 146 / 290));
  CHECK(quarter_cosine(0, 200, 0) == 1.0);
  CHECK(quarter_cosine(100, 200, 0) == doctest::Approx(0.96193976625564337));  // cos^2(pi / 16)
  CHECK(quarter_cosine(200, 200, 0) == doctest::Approx(0.85355339059327376));  // cos^2(pi / 8)
  CHECK(quarter_cosine(0, 200, 4) == 0.25);
}

}  // namespace optimizer_test
