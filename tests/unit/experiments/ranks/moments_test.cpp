// Layers recorded at several steps and on several batches, and second moments instead of
// activations.
#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "experiments/ranks/matrices.hpp"
#include "experiments/ranks/measure.hpp"
#include "experiments/ranks/ranks.hpp"
#include "experiments/result_parts.hpp"
#include "linalg/spectra.hpp"
#include "run/journal_format.hpp"

namespace ranks_moments_test {

using namespace ranklab;
using namespace ranklab::ranks;

namespace {

std::string failure(const Moments& moments) {
  try {
    moments.run();
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
    Moments moments;
    std::vector<arma::mat> A, G;
    for (int batch = 0; batch < 6; ++batch) {
      A.push_back(gaussian(24, 10, ("A" + std::to_string(batch)).c_str()));
      G.push_back(gaussian(12, 10, ("E" + std::to_string(batch)).c_str()) * A.back().t());
      moments.add("fc", as_moments ? arma::mat(A.back() * A.back().t()) : A.back(), G.back(),
                  as_moments ? 10 : 0);
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
  Moments moments;
  const arma::mat A = of_stable_rank(8, 40, 1.25, "A");
  // The gradient of one batch is flat, with a ratio of 3.2, but its noise cancels over two or four
  // batches, and rank one remains.
  const arma::mat noise = isometry(4, 8, "noise"), signal = 0.01 * flat(4, 8, 1, "signal");
  for (int batch = 0; batch < 4; ++batch) {
    moments.add("noisy", A, (batch % 2 == 0 ? 1 : -1) * noise + signal);
    moments.add("flat", A, (1 + 1e-4 * batch) * noise);
    moments.write(7, batch);
  }
  const Result result = moments.run();
  CHECK(scalar(result, "noisy.ratio") == doctest::Approx(0.8).epsilon(exact));
  CHECK(scalar(result, "noisy.predicted_ratio") == doctest::Approx(3.2).epsilon(0.05));
  CHECK(cell(result, "noisy", 6).starts_with("0.8 ("));
  CHECK(cell(result, "flat", 6).starts_with("3.2"));
  CHECK(scalar(result, "flat.ratio") == doctest::Approx(3.2).epsilon(exact));
  CHECK(cell(result, "flat", 7) == "yes");
}

TEST_CASE("many layers with steps and batches are drawn, even if one layer has only one step") {
  Moments moments;
  for (const int step : {1, 2}) {
    for (const int batch : {0, 1}) {
      for (int layer = 0; layer < 9; ++layer) {
        const arma::mat A =
            gaussian(5, 20, ("A" + std::to_string(step + 10 * batch + 100 * layer)).c_str());
        if (layer > 0 || step == 1)
          moments.add("b." + std::to_string(layer), A, gaussian(4, 20, "E") * A.t());
      }
      moments.write(step, batch);
    }
  }
  const Result result = moments.run();
  CHECK(result.table.rows.size() == 9);
  CHECK(find_series(result, "b.1.predicted_ratio").x == std::vector<double>{1, 2});
  CHECK(result.figure.panels.at(0).x.ticks.size() == 9);
}

TEST_CASE("steps at which a layer lacks a matrix or has other shapes do not count") {
  Moments moments;
  const arma::mat A = gaussian(6, 30, "A"), G = gaussian(5, 30, "E") * A.t(), none;
  const arma::mat wide = gaussian(7, 30, "B"), other = gaussian(5, 30, "E") * wide.t();
  moments.add("fc", none, G);
  moments.add("alone", A, none);
  moments.write(0);
  for (const int step : {1, 2, 5}) {
    moments.add("fc", A, step * G);
    moments.write(step);
  }
  moments.add("fc", A, none);
  moments.write(3);
  moments.add("fc", wide, other);
  moments.write(4);
  const Result result = moments.run();
  CHECK(find_series(result, "fc.predicted_ratio").x == std::vector<double>{1, 2, 5});
  CHECK(contains(find_claim(result, "fc/eq-1.8").detail, "pooled over 3 steps"));
  CHECK(find_claim(result, "fc/eq-1.8").verdict ==
        (nr_of(G) >= st_of(A) ? Verdict::holds : Verdict::fails));
  CHECK(reason(result, "fc") == "there is no activation, and other reasons (in 3 of 6 recordings)");
  CHECK(cell(result, "alone", 7) == "-");
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

TEST_CASE(
    "a second moment is split together with the columns, and an invalid one is refused with the "
    "reason") {
  const arma::mat A =
      arma::join_cols(of_stable_rank(4, 30, 1.5, "A"), of_stable_rank(8, 30, 3, "B"));
  const arma::mat G = gaussian(6, 30, "E") * A.t();
  Moments moments;
  moments.add("out", A * A.t(), G, 30);
  moments.write(0);
  const Result result = moments.run({{"split-columns", "out=1+2"}});
  CHECK(scalar(result, "out.1.stable_rank") == doctest::Approx(1.5).epsilon(1e-10));
  CHECK(scalar(result, "out.2.stable_rank") == doctest::Approx(3).epsilon(1e-10));
  CHECK(scalar(result, "out.2.nuclear_rank") ==
        doctest::Approx(nr_of(G.tail_cols(8))).epsilon(1e-10));

  const auto why = [&](const arma::mat& moment, std::uint64_t samples, const arma::mat& gradient) {
    Moments one;
    one.add("fc", moment, gradient, samples);
    one.write(0);
    return failure(one);
  };
  arma::mat skew = A * A.t(), negative = skew;
  skew(0, 1) += arma::abs(skew).max();
  negative(2, 2) = -1;
  CHECK(contains(why(skew, 30, G), "not symmetric"));
  CHECK(contains(why(negative, 30, G), "negative"));
  // The rank of this gradient is higher than its number of samples allows.
  CHECK(contains(why(A * A.t(), 2, gaussian(12, 12, "G")),
                 "exceeds the limit of 2 for 2 samples and a gradient of 12 x 12"));
  CHECK(why(A * A.t(), 30, G).empty());
}

TEST_CASE("layers that are measured at once on several threads have the bits of one thread") {
  // The cache of open files keeps few of them, so that threads that share it crash in most runs.
  constexpr int layers = 30;
  const arma::mat A = gaussian(4, 9, "A");
  Moments moments;
  for (int batch = 0; batch < 2; ++batch) {
    for (int layer = 0; layer < layers; ++layer)
      moments.add("fc" + std::to_string(layer), A * A.t(), gaussian(3, 4, "G"), 9);
    moments.write(0, batch);
  }
  FilesConfig config;
  config.manifest = moments.manifests;
  const Plan plan = plan_of(config);
  const TrialRecord one = run_trial(plan, Trial(1, 0, 0));
  for (int layer = 0; layer < layers; ++layer)
    CHECK(joined_ratio(one, "fc" + std::to_string(layer), 0) > 0);
  const Trial four(1, 0, 3);
  for (int round = 0; round < 15; ++round)
    CHECK(encode_trial(0, run_trial(plan, four)) == encode_trial(0, one));
}

}  // namespace ranks_moments_test
