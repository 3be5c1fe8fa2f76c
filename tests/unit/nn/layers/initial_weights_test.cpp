#include "nn/layers/initial_weights.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/tolerances.hpp"
#include "nn/sequence_model.hpp"

namespace initial_weights_test {

using namespace ranklab;

namespace {

const Streams trial(23, 4);

void check_normal(const Parameter<double>& drawn, double deviation) {
  const double n = static_cast<double>(drawn.W.n_elem);
  double sum = 0, squares = 0, fourth = 0;
  for (const double w : drawn.W) {
    const double z = w / deviation;
    sum += z, squares += z * z, fourth += z * z * z * z;
  }
  // Mean, variance and fourth moment of N(0, 1); the averaged terms have variances 1, 2 and 105
  // - 9.
  CHECK(std::fabs(sum / n) <= tolerance::standard_errors * std::sqrt(1 / n));
  CHECK(std::fabs(squares / n - 1) <= tolerance::standard_errors * std::sqrt(2 / n));
  CHECK(std::fabs(fourth / n - 3) <= tolerance::standard_errors * std::sqrt(96 / n));
}

void check_uniform(const Parameter<double>& drawn, double bound) {
  const double n = static_cast<double>(drawn.W.n_elem);
  double sum = 0, squares = 0, largest = 0;
  for (const double w : drawn.W) {
    const double z = w / bound;
    sum += z, squares += z * z, largest = std::max(largest, std::fabs(z));
  }
  // U(-1, 1) has variance 1/3 and fourth moment 1/5. The probability that all n are farther than
  // 10/n from the bound is e^-10.
  CHECK(largest <= 1);
  CHECK(largest >= 1 - 10 / n);
  CHECK(std::fabs(sum / n) <= tolerance::standard_errors * std::sqrt(1 / (3 * n)));
  CHECK(std::fabs(squares / n - 1 / 3.0) <=
        tolerance::standard_errors * std::sqrt((1 / 5.0 - 1 / 9.0) / n));
}

void check_zero(const Parameter<double>& parameter) {
  CHECK(arma::all(arma::vectorise(parameter.W) == 0.0));
}

}  // namespace

TEST_CASE(
    "maps are N(0, 1 / inputs) and tables N(0, 1 / width), or both N(0, 0.02^2); both have weight "
    "decay") {
  for (const Initialization scheme : {Initialization::fan, Initialization::small}) {
    const InitialWeights initial(scheme, trial);
    CHECK(initial.scheme() == scheme);
    CHECK(initial.of("layer").scheme() == scheme);
    const bool fan = scheme == Initialization::fan;
    const Parameter<double> map = initial.map<double>("map", 300, 64),
                            table = initial.table<double>("table", 25, 400);
    CHECK(arma::size(map.W) == arma::SizeMat(300, 64));
    CHECK(arma::size(table.W) == arma::SizeMat(25, 400));
    check_normal(map, fan ? 1 / 8.0 : 0.02);
    check_normal(table, fan ? 1 / 5.0 : 0.02);
    CHECK(map.decays);
    CHECK(table.decays);
    CHECK(map.rate == 1.0);
  }
}

TEST_CASE(
    "parameters of a given law do not depend on the initialization and can have no weight decay") {
  for (const Initialization scheme : {Initialization::fan, Initialization::small}) {
    const InitialWeights initial(scheme, trial);
    const Parameter<double> normal = initial.without_decay<double>("normal", 90, 70,
                                                                   EntryLaw::normal(3.0)),
                            uniform = initial.without_decay<double>("uniform", 40, 200,
                                                                    EntryLaw::uniform(-1.0, 3.0)),
                            constant = initial.without_decay<double>("constant", 6, 2,
                                                                     EntryLaw::constant(-0.3));
    check_normal(normal, 3.0);
    const double n = static_cast<double>(uniform.W.n_elem);
    CHECK(arma::size(uniform.W) == arma::SizeMat(40, 200));
    CHECK(uniform.W.min() > -1.0);
    CHECK(uniform.W.max() < 3.0);
    // The variance of (-1, 3) is 16 / 12; the variance of the squared deviation from the mean is
    // 4^4 (1/80 - 1/144).
    CHECK(std::fabs(arma::accu(uniform.W) / n - 1) <=
          tolerance::standard_errors * std::sqrt(16 / 12.0 / n));
    CHECK(std::fabs(arma::accu(arma::square(uniform.W - 1)) / n - 16 / 12.0) <=
          tolerance::standard_errors * std::sqrt(256 * (1 / 80.0 - 1 / 144.0) / n));
    CHECK(arma::size(constant.W) == arma::SizeMat(6, 2));
    CHECK(arma::all(arma::vectorise(constant.W) == -0.3));
    for (const Parameter<double>* parameter : {&normal, &uniform, &constant})
      CHECK_FALSE(parameter->decays);
  }
}

TEST_CASE(
    "maps, value maps, tables and biases follow every initialization; biases have no weight "
    "decay") {
  for (const Initialization scheme :
       {Initialization::fan, Initialization::small, Initialization::normal, Initialization::torch,
        Initialization::alg1}) {
    CAPTURE(static_cast<int>(scheme));
    const InitialWeights initial(scheme, trial, "", 0.3),
        part = initial.of("part").by(Initialization::zero).by(scheme);
    CHECK(part.scheme() == scheme);
    const Parameter<double> map = part.map<double>("map", 300, 64),
                            values = part.value_map<double>("values", 300, 64),
                            table = part.table<double>("table", 25, 400),
                            bias = part.bias<double>("bias", 300, 64);
    const bool torch = scheme == Initialization::torch,
               uniform = torch || scheme == Initialization::alg1;
    const auto deviation = [scheme](double by_fan) {
      return scheme == Initialization::small    ? 0.02
             : scheme == Initialization::normal ? 0.3
                                                : by_fan;
    };
    uniform ? check_uniform(map, 1 / 8.0) : check_normal(map, deviation(1 / 8.0));
    torch ? check_uniform(values, 1 / 8.0) : check_normal(values, deviation(1 / 8.0));
    check_normal(table, deviation(1 / 5.0));
    torch ? check_uniform(bias, 1 / 8.0) : check_zero(bias);
    for (const Parameter<double>* parameter : {&map, &values})
      CHECK(arma::size(parameter->W) == arma::SizeMat(300, 64));
    CHECK(arma::size(table.W) == arma::SizeMat(25, 400));
    CHECK(arma::size(bias.W) == arma::SizeMat(300, 1));
    for (const Parameter<double>* parameter : {&map, &values, &table}) CHECK(parameter->decays);
    CHECK_FALSE(bias.decays);
    CHECK(map.name == "part.map");
  }
  check_normal(InitialWeights(Initialization::normal, trial).map<double>("map", 300, 64), 0.02);
}

TEST_CASE("the initialization zero sets all drawn parameters to 0 but keeps constant ones") {
  const InitialWeights zero(Initialization::zero, trial);
  check_zero(zero.map<double>("map", 4, 5));
  check_zero(zero.value_map<double>("values", 4, 5));
  check_zero(zero.table<double>("table", 4, 5));
  check_zero(zero.bias<double>("bias", 4, 5));
  check_zero(zero.without_decay<double>("normal", 4, 5, EntryLaw::normal(3.0)));
  CHECK(arma::all(
      arma::vectorise(zero.without_decay<double>("gain", 4, 1, EntryLaw::constant(1.0)).W) == 1.0));
  CHECK(zero.map<double>("map", 4, 5).decays);
}

TEST_CASE(
    "alg1 and torch: maps are uniform, except value maps for alg1; biases in blocks are "
    "random only for torch") {
  for (const Initialization scheme : {Initialization::alg1, Initialization::torch}) {
    for (const bool images : {false, true}) {
      CAPTURE(static_cast<int>(scheme));
      CAPTURE(images);
      SequenceShape shape;
      shape.dim = 64, shape.hidden = 50, shape.length = 40, shape.layers = 1, shape.vocabulary = 30,
      shape.post = true;
      shape.activation = &find_activation("relu");
      shape.inputs = images ? 9 : 0, shape.classes = images ? 45 : 0;
      shape.relative = shape.output_bias = !images;
      shape.class_token = images;
      shape.maps = {.output = images, .input_biases = images, .output_bias = images};
      const SequenceModel<double> model(shape, InitialWeights(scheme, trial));
      const auto of = [&model](const std::string& name) { return model.parameter(name); };
      const std::string layer = "layer0.", mixer = "layer0.mixer.";
      const bool torch = scheme == Initialization::torch;
      std::vector<std::string> within{layer + "b1", layer + "b2"};
      if (images) {
        check_uniform(of("embedding"), 1 / 3.0);
        check_uniform(of("embedding.bias"), 1 / 3.0);
        check_uniform(of("head"), 1 / 8.0);
        check_uniform(of("head.bias"), 1 / 8.0);
        check_normal(of("class_token"), 1);
        check_normal(of("positions"), 1);
        check_uniform(of(mixer + "Wo"), 1 / 8.0);
        for (const char* bias : {"bq", "bk", "bv", "bo"}) within.push_back(mixer + bias);
      } else {
        for (const char* name : {"embedding", "relative.u", "relative.v"})
          check_normal(of(name), 1 / 8.0);
        check_uniform(of(mixer + "Wr"), 1 / 8.0);
        check_zero(of("output.bias"));
      }
      for (const char* map : {"mixer.Wq", "mixer.Wk", "W1"})
        check_uniform(of(layer + map), 1 / 8.0);
      check_uniform(of(layer + "W2"), 1 / std::sqrt(50.0));
      torch ? check_uniform(of(mixer + "Wv"), 1 / 8.0) : check_normal(of(mixer + "Wv"), 1 / 8.0);
      for (const std::string& bias : within) {
        CAPTURE(bias);
        torch ? check_uniform(of(bias), bias == layer + "b2" ? 1 / std::sqrt(50.0) : 1 / 8.0)
              : check_zero(of(bias));
      }
      for (const Parameter<double>* parameter : model.parameters()) {
        const std::string last = parameter->name.substr(parameter->name.rfind('.') + 1);
        CAPTURE(parameter->name);
        CHECK(parameter->decays == !(last == "gain" || last.starts_with("b")));
      }
    }
  }
}

TEST_CASE("each parameter is drawn from the stream of its trial and full name") {
  const InitialWeights initial(Initialization::fan, trial, "model."),
      part = initial.of("layer0").of("mixer");
  const Parameter<double> Wq = part.map<double>("Wq", 5, 16),
                          bias = part.without_decay<double>("bias", 3, 1,
                                                            EntryLaw::uniform(-0.5, 0.5));
  CHECK(Wq.name == "model.layer0.mixer.Wq");
  CHECK(initial.without_decay<double>("gain", 1, 1, EntryLaw::constant(1.0)).name == "model.gain");
  arma::mat expected(5, 16), expected_bias(3, 1);
  Stream(23, 4, "model.layer0.mixer.Wq").fill_normal({expected.memptr(), expected.n_elem}, 0.25);
  Stream(23, 4, "model.layer0.mixer.bias").fill_uniform({expected_bias.memptr(), 3}, -0.5, 0.5);
  CHECK(arma::approx_equal(Wq.W, expected, "absdiff", 0.0));
  CHECK(arma::approx_equal(bias.W, expected_bias, "absdiff", 0.0));
}

TEST_CASE("single precision gives the same numbers, rounded") {
  const InitialWeights initial(Initialization::fan, trial);
  const auto check = [](const Parameter<float>& narrow, const Parameter<double>& wide) {
    CHECK(narrow.name == wide.name);
    CHECK(narrow.decays == wide.decays);
    REQUIRE(arma::size(narrow.W) == arma::size(wide.W));
    for (arma::uword i = 0; i < wide.W.n_elem; ++i)
      CHECK(narrow.W[i] == static_cast<float>(wide.W[i]));
  };
  check(initial.map<float>("map", 7, 9), initial.map<double>("map", 7, 9));
  check(initial.table<float>("table", 7, 9), initial.table<double>("table", 7, 9));
  check(initial.value_map<float>("values", 7, 9), initial.value_map<double>("values", 7, 9));
  check(initial.by(Initialization::torch).bias<float>("bias", 7, 9),
        initial.by(Initialization::torch).bias<double>("bias", 7, 9));
  for (const EntryLaw& law :
       {EntryLaw::normal(0.3), EntryLaw::uniform(-2, 1), EntryLaw::constant(0.1)}) {
    check(initial.with_decay<float>("given", 7, 9, law),
          initial.with_decay<double>("given", 7, 9, law));
  }
}

}  // namespace initial_weights_test
