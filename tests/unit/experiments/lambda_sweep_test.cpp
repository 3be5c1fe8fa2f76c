#include "experiments/rank_collapse/lambda_sweep.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/rank_collapse/layers.hpp"
#include "experiments/rank_collapse/series_number.hpp"
#include "experiments/result_parts.hpp"

using namespace ranklab;

namespace {

const FlagValues tiny = {{"layers", "8"}, {"tokens", "8"}, {"dim", "12"}, {"state", "4"}};

Result sweep(FlagValues flags, std::uint64_t trials = 3) {
  flags.insert(flags.begin(), tiny.begin(), tiny.end());
  return run_configured(make_lambda_sweep_study(), flags, trials);
}

}  // namespace

TEST_CASE("the sweep ends where the study of the layers ends") {
  const Result result = sweep({{"lambda", "2,-1,0"}});
  FlagValues flags = tiny;
  flags.push_back({"lambda", "-1,0,2"});
  const Result layers = run_configured(make_layers_study(), flags, 3);
  const Series& final = find_series(result, "final.mu_normalized");
  CHECK(final.x == std::vector<double>{-1, 0, 2});
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string curve = "lambda=" + series_number(final.x[i]);
    CHECK(final.mean[i] == find_series(layers, curve + ".mu_normalized").mean.back());
    CHECK(find_series(result, "final.rank_one_residual").mean[i] == find_series(layers, curve + ".rank_one_residual").mean.back());
  }
}

TEST_CASE("the smallest strength is refined between the grid's neighbours") {
  const FlagValues grid = {{"model", "selective-ssm"}, {"lambda", "-8,-4,-2,-1,0,1,2,4,8"}};
  FlagValues coarse = grid, fine = grid;
  coarse.push_back({"refine", "0"});
  fine.push_back({"refine", "3"});
  const Result rough = sweep(coarse), refined = sweep(fine);
  for (const std::string sign : {"positive", "negative"}) {
    const auto &large = find_scalar(rough, "smallest_lambda_" + sign), &small = find_scalar(refined, "smallest_lambda_" + sign);
    for (std::size_t t = 0; t < large.size(); ++t) {
      CAPTURE(sign);
      REQUIRE(std::isfinite(large[t]));
      REQUIRE(large[t] > 0);
      const double below = large[t] == 1 ? 0 : large[t] / 2;  // the next strength of the grid
      CHECK(small[t] <= large[t]);
      CHECK(small[t] > below);
      const double quarters = 4 * (small[t] - below) / (large[t] - below);
      CHECK(quarters == doctest::Approx(std::round(quarters)).epsilon(tolerance::closed_form<double>));
    }
  }
}

TEST_CASE("Theorem 4.1 asks for far more than is needed") {
  const Result result = sweep({{"model", "attention"}}, 4);
  CHECK(find_claim(result, "lambda-skip/thm-4.1/conservative/attention").verdict == Verdict::holds);
  const double C_M = find_scalar(result, "C_M").front(), S = find_scalar(result, "S").front();
  // Rows of a softmax sum to one: 1 <= ||M||_F <= sqrt(N). W_V has d^2 entries of variance 1/d.
  CHECK(C_M >= 1);
  CHECK(C_M <= std::sqrt(8.0));
  CHECK(S == doctest::Approx(std::sqrt(12.0)).epsilon(0.5));
  CHECK(find_scalar(result, "theorem_lambda").front() > find_scalar(result, "theorem_condition").front());
}

TEST_CASE("a model that is no bare stack has no threshold of Theorem 4.1") {
  const Result result = sweep({{"model", "post-norm"}, {"lambda", "-1,0,1"}});
  CHECK(find_claim(result, "lambda-skip/thm-4.1/conservative/post-norm").verdict == Verdict::not_applicable);
}

TEST_CASE("the sign matters with C_V = I and a mixing matrix of one sign, and not with a random weight of mean zero") {
  const Result result = sweep({{"also", "attention+identity,selective-ssm"}, {"lambda", "-2,-1,1,2"}}, 400);
  for (const std::string model : {"attention", "attention+identity", "selective-ssm"}) {
    CAPTURE(model);
    CHECK(find_claim(result, "lambda-skip/fig-2/" + model + "/asymmetry/corrected").verdict == Verdict::holds);
  }
  CHECK(find_claim(result, "lambda-skip/fig-2/attention+identity/asymmetry/as-printed").verdict == Verdict::holds);
  CHECK(find_claim(result, "lambda-skip/fig-2/attention/asymmetry/as-printed").verdict == Verdict::not_applicable);
}
