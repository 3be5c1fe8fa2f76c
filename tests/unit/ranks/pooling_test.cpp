#include "ranks/pooling.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "judge/claims.hpp"

namespace ranks_pooling_test {

using namespace ranklab::ranks;

namespace {

std::vector<double> logs(const std::vector<double>& ratios) {
  std::vector<double> out;
  for (const double ratio : ratios) out.push_back(std::log(ratio));
  return out;
}

// A model whose layers have a true log nr/st and a spread over batches. All layers of a batch share
// a part of its deviation, as in a network: their correlation is 0.3.
class Model {
 public:
  explicit Model(unsigned seed) : engine_(seed) {
    for (int layer = 0; layer < 26; ++layer) {
      means_.push_back(-1.5 + 0.12 * layer);
      spreads_.push_back(0.04 + 0.004 * ((7 * layer) % 26));
    }
  }

  // One step. The joined batches have the mean of the batches.
  std::vector<LogRatios> record(int batches) {
    std::vector<LogRatios> out(means_.size());
    for (int b = 0; b < batches; ++b) {
      const double common = normal_(engine_);
      for (std::size_t i = 0; i < means_.size(); ++i) {
        const double deviation = std::sqrt(0.3) * common + std::sqrt(0.7) * normal_(engine_);
        out[i].batches.push_back(means_[i] + spreads_[i] * deviation);
      }
    }
    for (LogRatios& layer : out) {
      double sum = 0;
      for (const double value : layer.batches) sum += value;
      layer.center = sum / batches;
    }
    return out;
  }
  const std::vector<double>& means() const { return means_; }

 private:
  std::mt19937 engine_;
  std::normal_distribution<double> normal_;
  std::vector<double> means_, spreads_;
};

}  // namespace

TEST_CASE("one batch has no interval") {
  const PooledRatio ratio = pooled({{std::log(2.5), logs({2.5})}}).front();
  CHECK(ratio.ratio == doctest::Approx(2.5).epsilon(1e-12));
  CHECK_FALSE(ratio.has_interval());
  CHECK(ratio.values == 1);
}

TEST_CASE("a layer alone has Student's interval of the logarithms") {
  // 9.9248: Student's 0.995 quantile for two degrees of freedom, from tables.
  const double mean = (std::log(2) + std::log(3) + std::log(4)) / 3;
  double squares = 0;
  for (const double ratio : {2.0, 3.0, 4.0}) squares += std::pow(std::log(ratio) - mean, 2);
  const double half = 9.924843 * std::sqrt(squares / 2 / 3);
  // The joined batches give the estimate, the batches its spread.
  const PooledRatio batches = pooled({{std::log(2.2), logs({2, 3, 4})}}).front();
  CHECK(batches.values == 3);
  CHECK(batches.ratio == doctest::Approx(2.2).epsilon(1e-12));
  CHECK(batches.low == doctest::Approx(2.2 * std::exp(-half)).epsilon(1e-6));
}

TEST_CASE("two batches borrow the variance of the other layers that have several") {
  // log ratios +-a have the variance 2 a^2.
  const auto layer = [](double a) { return LogRatios{0.0, {-a, a}}; };
  std::vector<LogRatios> layers = {layer(0.1), layer(0.2), layer(0.2), layer(0.2), layer(0.2)};
  // One degree of freedom of its own, three of the others; 4.6041: Student's 0.995 quantile for 4.
  const double half =
      4.604095 * std::sqrt((2 * 0.1 * 0.1 + 3 * 2 * 0.2 * 0.2) / 4) / std::sqrt(2.0);
  CHECK(pooled(layers)[0].high == doctest::Approx(std::exp(half)).epsilon(1e-6));
  layers.push_back({3.0, {3.0}});  // a layer with one batch
  CHECK(pooled(layers)[0].high == doctest::Approx(std::exp(half)).epsilon(1e-6));
  // One other layer counts as one degree of freedom; 9.9248 for two.
  const double with_one =
      9.924843 * std::sqrt((2 * 0.1 * 0.1 + 2 * 0.2 * 0.2) / 2) / std::sqrt(2.0);
  CHECK(pooled({layer(0.1), layer(0.2)})[0].high ==
        doctest::Approx(std::exp(with_one)).epsilon(1e-6));
}

TEST_CASE(
    "the interval contains the true value in at least 98.5 of 100 layers, from 2 batches on") {
  for (const int batches : {2, 3, 4, 8}) {
    CAPTURE(batches);
    Model model(7);
    int inside = 0, all = 0;
    double width = 0;
    for (int recording = 0; recording < 400; ++recording) {
      const std::vector<PooledRatio> ratios = pooled(model.record(batches));
      for (std::size_t i = 0; i < ratios.size(); ++i) {
        const double truth = std::exp(model.means()[i]);
        inside += ratios[i].low <= truth && truth <= ratios[i].high ? 1 : 0;
        width += std::log(ratios[i].high / ratios[i].low);
        all += 1;
      }
    }
    CHECK(inside >= 0.985 * all);
    CHECK(width / all < 0.75);  // for two batches, a factor of 1.45 to either side
  }
}

TEST_CASE("(1.8) is undecided if the interval contains 1, and with two values, as its claim") {
  const auto holds = [](double ratio, double low, double high, std::size_t values) {
    return inequality_holds({ratio, low, high, values});
  };
  CHECK(holds(2.5, 1.01, 6, 3) == Holds::yes);
  CHECK(holds(2.5, 0.99, 6, 3) == Holds::undecided);
  CHECK(holds(0.4, 0.2, 0.99, 3) == Holds::no);
  CHECK(holds(2.5, 1.5, 4, 2) == Holds::undecided);
  CHECK(inequality_holds({1 - 1e-12}) == Holds::yes);  // one batch: no interval
  CHECK(inequality_holds({0.999}) == Holds::no);
  const ranklab::Statement statement{"spectral/eq-1.8", "fc/eq-1.8", "", ""};
  const auto judged = [&](double ratio, double low, double high, std::size_t values) {
    return ranklab::judge_interval(statement, {ratio, low, high, 0.99, values, 4},
                                   ranklab::at_least(1));
  };
  CHECK(judged(2.5, 1.01, 6, 3).verdict == ranklab::Verdict::holds);
  CHECK(judged(2.5, 0.99, 6, 3).undecided);
  CHECK(judged(0.4, 0.2, 0.99, 3).verdict == ranklab::Verdict::fails);
  CHECK(judged(2.5, 1.5, 4, 2).undecided);
}

}  // namespace ranks_pooling_test
