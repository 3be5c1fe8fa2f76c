#include "training/initial_weights.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"

using namespace ranklab;

namespace {

const Trial trial(23, 4, 0);

void check_normal(const Parameter<double>& drawn, double deviation) {
  const double n = static_cast<double>(drawn.W.n_elem);
  double sum = 0, squares = 0, fourth = 0;
  for (const double w : drawn.W) {
    const double z = w / deviation;
    sum += z, squares += z * z, fourth += z * z * z * z;
  }
  // Mean, variance and fourth moment of N(0, 1), and the variances 1, 2 and 105 - 9 of what they are means of.
  CHECK(std::fabs(sum / n) <= tolerance::standard_errors * std::sqrt(1 / n));
  CHECK(std::fabs(squares / n - 1) <= tolerance::standard_errors * std::sqrt(2 / n));
  CHECK(std::fabs(fourth / n - 3) <= tolerance::standard_errors * std::sqrt(96 / n));
}

}  // namespace

TEST_CASE("maps are N(0, 1 / inputs), tables N(0, 1 / width), or both N(0, 0.02^2); these decay") {
  for (const WeightLaw law : {WeightLaw::fan, WeightLaw::small}) {
    const InitialWeights initial(law, trial);
    CHECK(initial.law() == law);
    CHECK(initial.of("layer").law() == law);
    const bool fan = law == WeightLaw::fan;
    const Parameter<double> map = initial.map<double>("map", 300, 64), table = initial.table<double>("table", 25, 400);
    CHECK(arma::size(map.W) == arma::SizeMat(300, 64));
    CHECK(arma::size(table.W) == arma::SizeMat(25, 400));
    check_normal(map, fan ? 1 / 8.0 : 0.02);
    check_normal(table, fan ? 1 / 5.0 : 0.02);
    CHECK(map.decays);
    CHECK(table.decays);
    CHECK(map.rate == 1.0);
  }
}

TEST_CASE("normal, uniform and constant parameters are what they are whatever the law, and do not decay") {
  for (const WeightLaw law : {WeightLaw::fan, WeightLaw::small}) {
    const InitialWeights initial(law, trial);
    const Parameter<double> normal = initial.normal<double>("normal", 90, 70, 3.0),
                            uniform = initial.uniform<double>("uniform", 40, 200, -1.0, 3.0),
                            constant = initial.constant<double>("constant", 6, 2, -0.3);
    check_normal(normal, 3.0);
    const double n = static_cast<double>(uniform.W.n_elem);
    CHECK(arma::size(uniform.W) == arma::SizeMat(40, 200));
    CHECK(uniform.W.min() > -1.0);
    CHECK(uniform.W.max() < 3.0);
    // The variance of (-1, 3) is 16 / 12; that of its square about the mean, 4^4 (1/80 - 1/144).
    CHECK(std::fabs(arma::accu(uniform.W) / n - 1) <= tolerance::standard_errors * std::sqrt(16 / 12.0 / n));
    CHECK(std::fabs(arma::accu(arma::square(uniform.W - 1)) / n - 16 / 12.0) <=
          tolerance::standard_errors * std::sqrt(256 * (1 / 80.0 - 1 / 144.0) / n));
    CHECK(arma::size(constant.W) == arma::SizeMat(6, 2));
    CHECK(arma::all(arma::vectorise(constant.W) == -0.3));
    for (const Parameter<double>* parameter : {&normal, &uniform, &constant}) CHECK_FALSE(parameter->decays);
  }
}

TEST_CASE("each parameter is drawn from the stream of its trial and full name") {
  const InitialWeights initial(WeightLaw::fan, trial, "model."), part = initial.of("layer0").of("mixer");
  const Parameter<double> Wq = part.map<double>("Wq", 5, 16), bias = part.uniform<double>("bias", 3, 1, -0.5, 0.5);
  CHECK(Wq.name == "model.layer0.mixer.Wq");
  CHECK(initial.constant<double>("gain", 1, 1, 1.0).name == "model.gain");
  arma::mat expected(5, 16), expected_bias(3, 1);
  Stream(23, 4, "model.layer0.mixer.Wq").fill_normal({expected.memptr(), expected.n_elem}, 0.25);
  Stream(23, 4, "model.layer0.mixer.bias").fill_uniform({expected_bias.memptr(), 3}, -0.5, 0.5);
  CHECK(arma::approx_equal(Wq.W, expected, "absdiff", 0.0));
  CHECK(arma::approx_equal(bias.W, expected_bias, "absdiff", 0.0));
}

TEST_CASE("in single precision, the same numbers rounded") {
  const InitialWeights initial(WeightLaw::fan, trial);
  const auto check = [](const Parameter<float>& narrow, const Parameter<double>& wide) {
    CHECK(narrow.name == wide.name);
    CHECK(narrow.decays == wide.decays);
    REQUIRE(arma::size(narrow.W) == arma::size(wide.W));
    for (arma::uword i = 0; i < wide.W.n_elem; ++i) CHECK(narrow.W[i] == static_cast<float>(wide.W[i]));
  };
  check(initial.map<float>("map", 7, 9), initial.map<double>("map", 7, 9));
  check(initial.table<float>("table", 7, 9), initial.table<double>("table", 7, 9));
  check(initial.normal<float>("normal", 7, 9, 0.3), initial.normal<double>("normal", 7, 9, 0.3));
  check(initial.uniform<float>("uniform", 7, 9, -2, 1), initial.uniform<double>("uniform", 7, 9, -2, 1));
  check(initial.constant<float>("constant", 7, 9, 0.1), initial.constant<double>("constant", 7, 9, 0.1));
}
