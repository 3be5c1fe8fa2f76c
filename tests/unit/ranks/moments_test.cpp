// Layers recorded at several steps and on several batches, and second moments instead of
// activations.
#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "experiments/result_parts.hpp"
#include "linalg/spectra.hpp"
#include "ranks/matrices.hpp"
#include "ranks/measure.hpp"
#include "ranks/ranks.hpp"
#include "run/journal_format.hpp"

namespace ranks_moments_test {

using namespace ranklab;
using namespace ranklab::ranks;

namespace {

// Recordings in one folder, one for each step and batch.
struct Recordings {
  TemporaryFolder folder;
  Recording next;

  void write(int step, int batch = -1) {
    next.write(folder / ("step" + std::to_string(step) +
                         (batch < 0 ? "" : ".batch" + std::to_string(batch)) + ".safetensors"));
    next = {};
  }
  Result run(const FlagValues& values = {}) const { return ranks_of({folder.path()}, values); }
};

std::string failure(const Recordings& recordings) {
  try {
    recordings.run();
  } catch (const Failure& error) {
    return error.what();
  }
  return "";
}

double st_of(const arma::mat& A) {
  const arma::vec s = arma::svd(A);
  return arma::dot(s, s) / (s(0) * s(0));
}

double nr_of(const arma::mat& G) {
  const arma::vec s = arma::svd(G);
  return arma::accu(s) * arma::accu(s) / arma::dot(s, s);
}

}  // namespace

TEST_CASE(
    "batches of one step are joined: their samples are concatenated and their gradients averaged") {
  for (const bool as_moments : {false, true}) {
    CAPTURE(as_moments);
    Recordings moments;
    std::vector<arma::mat> A, G;
    for (int batch = 0; batch < 6; ++batch) {
      A.push_back(gaussian(24, 10, ("A" + std::to_string(batch)).c_str()));
      G.push_back(gaussian(12, 10, ("E" + std::to_string(batch)).c_str()) * A.back().t());
      moments.next.add("fc", A.back(), G.back(), nlohmann::json::object(), !as_moments);
      moments.write(3, batch);
    }
    const Result result = moments.run();
    arma::mat samples, gradient(12, 24, arma::fill::zeros);
    for (std::size_t b = 0; b < A.size(); ++b) {
      samples = arma::join_rows(samples, A[b]);
      gradient += G[b];
    }
    CHECK(scalar(result, "fc.ratio") ==
          doctest::Approx(nr_of(gradient) / st_of(samples)).epsilon(1e-10));
  }
}

TEST_CASE("joined batches give the ratio, which one batch alone may not") {
  Recordings moments;
  const arma::mat A = of_stable_rank(8, 40, 1.25, "A");
  // The gradient of one batch is flat, with a ratio of 3.2, but its noise cancels over two or four
  // batches, and rank one remains.
  const arma::mat noise = isometry(4, 8, "noise"), signal = 0.01 * flat(4, 8, 1, "signal");
  for (int batch = 0; batch < 4; ++batch) {
    moments.next.add("noisy", A, (batch % 2 == 0 ? 1 : -1) * noise + signal);
    moments.next.add("flat", A, (1 + 1e-4 * batch) * noise);
    moments.write(7, batch);
  }
  const Result result = moments.run();
  CHECK(scalar(result, "noisy.ratio") == doctest::Approx(0.8).epsilon(exact));
  CHECK(scalar(result, "noisy.predicted_ratio") == doctest::Approx(3.2).epsilon(0.05));
  CHECK(cell(result, "noisy", 7).starts_with("0.8 ("));
  CHECK(cell(result, "flat", 7).starts_with("3.2"));
  CHECK(scalar(result, "flat.ratio") == doctest::Approx(3.2).epsilon(exact));
  CHECK(cell(result, "flat", 8) == "yes");
}

TEST_CASE("many layers with steps and batches are drawn, even if one layer has only one step") {
  Recordings moments;
  for (const int step : {1, 2}) {
    for (const int batch : {0, 1}) {
      for (int layer = 0; layer < 9; ++layer) {
        const arma::mat A =
            gaussian(5, 20, ("A" + std::to_string(step + 10 * batch + 100 * layer)).c_str());
        if (layer > 0 || step == 1)
          moments.next.add("b." + std::to_string(layer), A, gaussian(4, 20, "E") * A.t());
      }
      moments.write(step, batch);
    }
  }
  const Result result = moments.run();
  CHECK(result.table.rows.size() == 17);  // b.0 has one step
  CHECK(find_series(result, "b.1.predicted_ratio").x == std::vector<double>{1, 2});
  CHECK(result.figure.panels.at(0).x.ticks.size() == 9);
}

TEST_CASE("every step has its own ratio and interval, and (1.8) is judged at every step") {
  // A ratio that falls steadily, with nearly no spread over the batches.
  const arma::mat A = of_stable_rank(8, 40, 2, "A");
  Recordings moments;
  for (const int step : {0, 10, 20}) {
    for (int batch = 0; batch < 3; ++batch) {
      const arma::mat G = flat(6, 8, 6 - static_cast<arma::uword>(step) / 4, "G");
      moments.next.add("falls", A, (1 + 0.01 * batch) * G);
      moments.next.add("stays", A, (1 + 0.01 * batch) * flat(6, 8, 5, "H"));
      moments.write(step, batch);
    }
  }
  const Result result = moments.run({{"fail-if", "falls: ratio<1.5"}});
  CHECK(result.table.columns.at(2) == "step");
  REQUIRE(result.table.rows.size() == 6);
  const Series& ratios = find_series(result, "falls.ratio");
  CHECK(ratios.x == std::vector<double>{0, 10, 20});
  for (std::size_t i = 0; i < 3; ++i) {
    const double expected = std::vector<double>{3, 2, 0.5}[i];
    CHECK(ratios.mean[i] == doctest::Approx(expected).epsilon(exact));
    CHECK(find_series(result, "falls.ratio_high").mean[i] ==
          doctest::Approx(expected).epsilon(exact));
    CHECK(result.table.rows[i][0] == "falls");
    CHECK(result.table.rows[i][8] == (i < 2 ? "yes" : "no"));
  }
  const Claim& falls = find_claim(result, "falls/eq-1.8");
  CHECK(falls.verdict == Verdict::fails);
  CHECK(contains(falls.statement, "at every step"));
  CHECK(falls.measured == doctest::Approx(0.5).epsilon(exact));
  CHECK(contains(falls.detail, "at step 20, which decides among 3 steps"));
  CHECK(find_claim(result, "stays/eq-1.8").verdict == Verdict::holds);
  for (const Scalar& each : result.scalars) CHECK(each.name != "falls.ratio");
  REQUIRE(result.failed_gates.size() == 1);
  CHECK(contains(result.failed_gates[0], "falls at step 20: nr/st = 0.5, pooled over 3 batches"));
}

TEST_CASE("steps at which a layer has other shapes do not count") {
  const arma::mat A = gaussian(6, 30, "A"), G = gaussian(5, 30, "E") * A.t();
  const arma::mat wide = gaussian(7, 30, "B"), other = gaussian(5, 30, "E") * wide.t();
  Recordings moments;
  for (const int step : {1, 2, 5}) {
    moments.next.add("fc", A, step * G);
    moments.write(step);
  }
  moments.next.add("fc", wide, other);
  moments.write(4);
  moments.next.add_entry("fc", 0);
  moments.write(3);
  const Result result = moments.run();
  CHECK(find_series(result, "fc.predicted_ratio").x == std::vector<double>{1, 2, 5});
  CHECK(find_claim(result, "fc/eq-1.8").verdict ==
        (nr_of(G) >= st_of(A) ? Verdict::holds : Verdict::fails));
  CHECK(reason(result, "fc") ==
        "no sample has an output gradient, and other reasons (in 2 of 5 recordings)");
}

TEST_CASE("a layer that is left out at several steps is named once") {
  const std::vector<LeftOut> skipped = {{{"a", "zero"}, {0, -1}},
                                        {{"b", "odd"}, {0, -1}},
                                        {{"a", "zero"}, {10, -1}},
                                        {{"b", "odd"}, {0, -1}}};
  const std::vector<Skipped> once = unique_reasons(skipped, 3);
  REQUIRE(once.size() == 2);
  CHECK(once[0].reason == "zero (in 2 of 3 recordings)");
  CHECK(once[1].reason == "odd (in 1 of 3 recordings)");
  CHECK(unique_reasons(skipped, 1)[1].reason == "odd");
}

TEST_CASE("an invalid second moment is refused with the reason") {
  const arma::mat A = gaussian(12, 30, "A"), G = gaussian(6, 30, "E") * A.t();
  const auto why = [&](const arma::mat& moment, std::uint64_t samples, const arma::mat& gradient,
                       double scale = 1) {
    Recordings one;
    one.next.tensors = {
        tensor<float>("fc.gradient", arma::conv_to<arma::fmat>::from(gradient)),
        tensor<float>("fc.second_moment", arma::conv_to<arma::fmat>::from(scale * scale * moment))};
    one.next.add_entry("fc", samples);
    one.write(0);
    return failure(one);
  };
  const arma::mat moment = A * A.t();
  arma::mat skew = moment, negative = skew;
  skew(0, 1) += arma::abs(skew).max();
  negative(2, 2) = -1;
  CHECK(contains(why(skew, 30, G), "not symmetric"));
  CHECK(contains(why(negative, 30, G), "negative"));
  // The rank of this gradient is higher than its number of samples allows.
  CHECK(contains(why(moment, 2, gaussian(12, 12, "G")),
                 "exceeds the limit of 2 for 2 samples and a gradient of 12 x 12"));
  CHECK(why(moment, 30, G).empty());
  // The squares of these samples leave the range of single precision, in which they are stored.
  CHECK(why(moment, 30, G, 1e15).empty());
  CHECK(why(moment, 30, G, 1e-16).empty());
  CHECK(contains(why(moment, 30, G, 1e19), "overflow"));
  CHECK(contains(why(moment, 30, G, 1e-20), "underflow"));
  CHECK(contains(why(moment, 30, G, 1e-25), "underflow"));
  CHECK(why(moment, 30, 1e-36 * G).empty());
  CHECK(contains(why(moment, 30, 1e-41 * G), "underflow"));
}

TEST_CASE("layers that are measured at once on several threads have the bits of one thread") {
  // The cache of open files keeps few of them, so that threads that share it crash in most runs.
  constexpr int layers = 30;
  const arma::mat A = gaussian(4, 9, "A");
  Recordings moments;
  for (int batch = 0; batch < 2; ++batch) {
    for (int layer = 0; layer < layers; ++layer)
      moments.next.add("fc" + std::to_string(layer), A, gaussian(3, 4, "G"));
    moments.write(0, batch);
  }
  RanksConfig config;
  config.from = {moments.folder.path()};
  const Plan plan = plan_of(config);
  const TrialRecord one = run_trial(plan, Trial(1, 0, 0));
  for (int layer = 0; layer < layers; ++layer)
    CHECK(joined_ratio(one, "fc" + std::to_string(layer), 0) > 0);
  const Trial four(1, 0, 3);
  for (int round = 0; round < 15; ++round)
    CHECK(encode_trial(0, run_trial(plan, four)) == encode_trial(0, one));
}

}  // namespace ranks_moments_test
