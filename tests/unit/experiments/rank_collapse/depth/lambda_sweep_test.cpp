#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "core/tolerances.hpp"
#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/redrawn.hpp"
#include "experiments/result_parts.hpp"

namespace lambda_sweep_test {

using namespace ranklab;

namespace {

const FlagValues tiny = {{"layers", "8"}, {"tokens", "8"}, {"dim", "12"}, {"state", "4"}};

Result sweep(FlagValues flags, std::uint64_t trials = 3) {
  flags.insert(flags.begin(), tiny.begin(), tiny.end());
  return run_configured(make_lambda_sweep_study(), flags, trials);
}

}  // namespace

TEST_CASE("the sweep's final values equal those of the study layers") {
  const Result result = sweep({{"lambda", "2,-1,0"}});
  FlagValues flags = tiny;
  flags.push_back({"lambda", "-1,0,2"});
  const Result layers = run_configured(make_layers_study(), flags, 3);
  const Series& final = find_series(result, "final.mu_normalized");
  CHECK(final.x == std::vector<double>{-1, 0, 2});
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string curve = "lambda=" + series_number(final.x[i]);
    CHECK(final.mean[i] == find_series(layers, curve + ".mu_normalized").mean.back());
    CHECK(find_series(result, "final.rank_one_residual").mean[i] ==
          find_series(layers, curve + ".rank_one_residual").mean.back());
  }
}

TEST_CASE("strengths at which the state overflows cannot be compared with others") {
  const Result result =
      sweep({{"model", "pre-norm"}, {"norm", "none"}, {"lambda", "-1,0,1,1e12"}, {"layers", "40"}});
  REQUIRE(result.diverged);
  const Claim& dip = find_claim(result, "lambda-skip/fig-2/pre-norm/dip-at-0");
  CHECK(dip.undecided);
  CHECK(dip.detail.starts_with("a run that diverged cannot be compared in 3 trials; "));
  CHECK(dip.detail.find("lambda=1e+12 diverged in 3 of 3 trials") != std::string::npos);
  // -1 and 1 are compared with each other alone.
  CHECK(std::get<MeanEvidence>(
            find_claim(result, "lambda-skip/fig-2/pre-norm/asymmetry/as-printed").evidence)
            .n == 3);
}

TEST_CASE("the figure shows normalized mu, a second one the distance from rank one") {
  const Result result =
      sweep({{"model", "attention"}, {"also", "attention+identity"}, {"lambda", "-1,0,1"}}, 6);
  REQUIRE(result.figure.panels.size() == 1);
  const Panel& panel = result.figure.panels.front();
  REQUIRE(panel.curves.size() == 2);
  CHECK(panel.curves[0].series == "final.mu_normalized");
  CHECK(panel.curves[0].label == "softmax attention, random W_V");
  CHECK(panel.curves[1].label == "softmax attention, C_V = I");
  for (const Curve& curve : panel.curves) CHECK(curve.band == BandKind::interval);
  REQUIRE(result.more_figures.size() == 1);
  REQUIRE(result.more_figures.front().panels.size() == 1);
  CHECK(result.more_figures.front().panels.front().curves[0].series == "final.rank_one_residual");
  // Alone, the model needs no addition.
  const Result alone = sweep({{"model", "attention"}, {"lambda", "-1,0,1"}});
  CHECK(alone.figure.panels.front().curves.front().label == "softmax attention");
}

TEST_CASE("the smallest strength is refined between neighboring values of the grid") {
  const FlagValues grid = {{"model", "selective-ssm"}, {"lambda", "-8,-4,-2,-1,0,1,2,4,8"}};
  FlagValues coarse = grid, fine = grid;
  coarse.push_back({"refine", "0"});
  fine.push_back({"refine", "3"});
  const Result rough = sweep(coarse), refined = sweep(fine);
  for (const std::string sign : {"positive", "negative"}) {
    const auto &large = find_scalar(rough, "smallest_lambda_" + sign),
               &small = find_scalar(refined, "smallest_lambda_" + sign);
    for (std::size_t t = 0; t < large.size(); ++t) {
      CAPTURE(sign);
      REQUIRE(std::isfinite(large[t]));
      REQUIRE(large[t] > 0);
      const double below =
          large[t] == 1 ? 0 : large[t] / 2;  // the next smaller strength of the grid
      CHECK(small[t] <= large[t]);
      CHECK(small[t] > below);
      const double quarters = 4 * (small[t] - below) / (large[t] - below);
      CHECK(quarters ==
            doctest::Approx(std::round(quarters)).epsilon(tolerance::closed_form<double>));
    }
  }
}

TEST_CASE(
    "Theorem 4.1 requires a far larger lambda than necessary, and eq. (7) alone a larger one") {
  const Result result = sweep({{"model", "attention"}}, 4);
  const double C_M = find_scalar(result, "C_M").front(), S = find_scalar(result, "S").front();
  // The rows of a softmax sum to one, so 1 <= ||M||_F <= sqrt(N). W_V has d^2 entries of variance
  // 1/d.
  CHECK(C_M >= 1);
  CHECK(C_M <= std::sqrt(8.0));
  CHECK(S == doctest::Approx(std::sqrt(12.0)).epsilon(0.5));
  const std::vector<double>& condition = find_scalar(result, "theorem_condition");
  CHECK(find_scalar(result, "theorem_lambda").front() > condition.front());
  for (const std::string sign : {"positive", "negative"}) {
    const double orders = find_scalar(result, "orders_of_magnitude_" + sign).front();
    CHECK(std::pow(10, orders) * find_scalar(result, "smallest_lambda_" + sign).front() ==
          doctest::Approx(find_scalar(result, "theorem_lambda").front())
              .epsilon(1e3 * tolerance::closed_form<double>));
  }
  // The claim is about eq. (7) and the sign with the smaller strength.
  double mean = 0;
  for (std::size_t t = 0; t < 4; ++t) {
    mean +=
        std::log10(condition[t] / std::min(find_scalar(result, "smallest_lambda_positive")[t],
                                           find_scalar(result, "smallest_lambda_negative")[t])) /
        4;
  }
  CHECK(mean > 0);
  CHECK(find_claim(result, "lambda-skip/thm-4.1/conservative/attention").measured ==
        doctest::Approx(mean).epsilon(tolerance::closed_form<double>));
}

TEST_CASE("Figure 2 shows Mamba-2 and ALBERT: claims about other models are ours") {
  for (const char* model : {"mamba2", "albert", "attention", "post-norm"}) {
    CAPTURE(model);
    const std::string name = model;
    const bool shown = name == "mamba2" || name == "albert", bare = name == "attention";
    FlagValues flags = {{"model", name}, {"lambda", "-2,-1,0,1,2"}};
    if (name == "albert") flags.push_back({"vocabulary", "50"});
    const Result result = sweep(flags, 1);
    for (const char* what :
         {"low-at-0", "dip-at-0", "asymmetry/as-printed", "flat-at-large-lambda"}) {
      const Claim& claim = find_claim(result, "lambda-skip/fig-2/" + name + "/" + what);
      CHECK((claim.part == Part::ours) == !shown);
      CHECK((claim.kind == Kind::beyond) == !shown);
    }
    const Claim& explained =
        find_claim(result, "lambda-skip/fig-2/" + name + "/asymmetry/corrected");
    CHECK(explained.part == Part::ours);
    CHECK(explained.misprint_of.empty());
    // Eq. (7) is about stacks of eq. (6), which the paper's sentence does not name.
    const std::string conservative = "lambda-skip/thm-4.1/conservative/" + name;
    CHECK(std::ranges::any_of(
              result.claims, [&](const Claim& claim) { return claim.id == conservative; }) == bare);
    if (bare) CHECK(find_claim(result, conservative).kind == Kind::beyond);
  }
}

TEST_CASE(
    "a feed-forward net that is not odd makes the signs unequal and is not judged; without it they "
    "are") {
  for (const std::string mlp : {"on", "off"}) {
    const Result result = sweep({{"model", "post-norm"}, {"mlp", mlp}, {"lambda", "-1,0,1"}});
    const Claim& claim = find_claim(result, "lambda-skip/fig-2/post-norm/asymmetry/corrected");
    CHECK((claim.detail.find("not odd") != std::string::npos) == (mlp == "on"));
  }
}

TEST_CASE(
    "the sign of lambda matters if C_V = I and the mixing matrix has one sign, but not with random "
    "weights of mean zero") {
  const Result result =
      sweep({{"also", "attention+identity,selective-ssm"}, {"lambda", "-2,-1,1,2"}}, 400);
  for (const std::string model : {"attention", "attention+identity", "selective-ssm"}) {
    CAPTURE(model);
    CHECK(find_claim(result, "lambda-skip/fig-2/" + model + "/asymmetry/corrected").verdict ==
          Verdict::holds);
  }
  CHECK(find_claim(result, "lambda-skip/fig-2/attention+identity/asymmetry/as-printed").verdict ==
        Verdict::holds);
  CHECK(find_claim(result, "lambda-skip/fig-2/attention/asymmetry/as-printed").verdict ==
        Verdict::not_applicable);
}

TEST_CASE("refining on one sign gives the same strengths as a finer grid") {
  // With C_V = I and a mixing matrix of one sign, the strengths of the two signs differ.
  const FlagValues model = {
      {"model", "mamba2"}, {"also", "attention+identity"}, {"layers", "12"}, {"threshold", "0.3"}};
  const std::string prefix = "attention+identity.";
  std::string integers = "0";
  for (int i = 1; i <= 16; ++i) integers += "," + std::to_string(i) + ",-" + std::to_string(i);
  FlagValues coarse = model, fine = model;
  coarse.insert(coarse.end(), {{"lambda", "-16,0,16"}, {"refine", "15"}});
  fine.insert(fine.end(), {{"lambda", integers}, {"refine", "0"}});
  const Result refined = sweep(coarse), listed = sweep(fine);
  for (const std::string sign : {"positive", "negative"}) {
    CHECK(find_scalar(refined, prefix + "smallest_lambda_" + sign) ==
          find_scalar(listed, prefix + "smallest_lambda_" + sign));
  }
  CHECK(find_scalar(refined, prefix + "smallest_lambda_positive") !=
        find_scalar(refined, prefix + "smallest_lambda_negative"));
}

TEST_CASE("the least value over the layers excludes only the input") {
  const FlagValues flags = {{"model", "selective-ssm"}, {"lambda", "-4,-1,0,4"}};
  const Result result = sweep(flags, 1);
  FlagValues all = tiny;
  all.insert(all.end(), flags.begin(), flags.end());
  const Result layers = run_configured(make_layers_study(), all, 1);
  const Series& least = find_series(result, "least.mu_normalized");
  std::size_t least_in_first_layer = 0;
  for (std::size_t i = 0; i < least.x.size(); ++i) {
    const std::vector<double>& mu =
        find_series(layers, "lambda=" + series_number(least.x[i]) + ".mu_normalized").mean;
    CHECK(least.mean[i] == *std::min_element(mu.begin() + 1, mu.end()));
    least_in_first_layer += least.mean[i] == mu[1] ? 1 : 0;
  }
  CHECK(least_in_first_layer >
        0);  // otherwise the test would miss that the first layer is excluded too
}

TEST_CASE(
    "the numbers of Theorem 4.1 cover all curves, and its rate reaches the threshold at the last "
    "layer") {
  const auto one = [](const char* lambda) {
    return sweep({{"model", "attention"}, {"lambda", lambda}, {"refine", "0"}}, 1);
  };
  const Result both = one("0,3"), first = one("0"), second = one("3");
  const double a = find_scalar(first, "C_M").front(), b = find_scalar(second, "C_M").front();
  CHECK(a != b);
  CHECK(find_scalar(both, "C_M").front() == std::max(a, b));

  FlagValues flags = tiny;
  flags.insert(flags.end(), {{"model", "attention"}, {"lambda", "0"}});
  const double mu =
      find_series(run_configured(make_layers_study(), flags, 1), "lambda=0.mu").mean.front();
  // For unit rows the normalized mu is mu over sqrt(N), and a^K mu_0^2 = (threshold sqrt(N))^2.
  const double rate = find_scalar(first, "theorem_rate").front();
  CHECK(std::pow(rate, 8) * mu * mu ==
        doctest::Approx(0.1 * 0.1 * 8).epsilon(1e3 * tolerance::closed_form<double>));
}

namespace {

// A sweep over -2, -1, 0, 1, 2 (or with another largest value) whose final normalized mu has these
// values.
Result judged(const std::vector<double>& mu, double largest_lambda = 2, Drawing more = {}) {
  const std::string largest = series_number(largest_lambda);
  FlagValues flags = tiny;
  flags.insert(
      flags.end(),
      {{"layers", "2"}, {"refine", "0"}, {"lambda", "-" + largest + ",-1,0,1," + largest}});
  more.emplace_back("final.mu_normalized", mu);
  return run_redrawn(make_lambda_sweep_study(), flags, std::move(more));
}

Verdict verdict_of(const Result& result, const std::string& what) {
  return find_claim(result, "lambda-skip/fig-2/attention/" + what).verdict;
}

}  // namespace

TEST_CASE("verdicts about Figure 2 for given curves") {
  const Result dip = judged({0.6, 0.5, 0.1, 0.5, 0.6}), bump = judged({0.1, 0.2, 0.9, 0.2, 0.1});
  CHECK(verdict_of(dip, "dip-at-0") == Verdict::holds);
  CHECK(verdict_of(judged({0.6, 0.5, 0.09, 0.5, 0.6}), "low-at-0") == Verdict::holds);
  CHECK(verdict_of(judged({0.6, 0.5, 0.11, 0.5, 0.6}), "low-at-0") == Verdict::fails);
  CHECK(verdict_of(bump, "dip-at-0") == Verdict::fails);
  const Result left = judged({0.9, 0.8, 0.1, 0.2, 0.3}), right = judged({0.3, 0.2, 0.1, 0.8, 0.9});
  CHECK(verdict_of(left, "asymmetry/as-printed") == Verdict::holds);
  CHECK(verdict_of(right, "asymmetry/as-printed") == Verdict::fails);
  CHECK(verdict_of(left, "asymmetry/corrected") == Verdict::fails);
  CHECK(verdict_of(dip, "asymmetry/corrected") == Verdict::holds);
  // The curve is flat from half the largest abs(lambda) on, here 1. The two signs may differ.
  CHECK(verdict_of(judged({0.9, 0.85, 0.1, 0.2, 0.25}), "flat-at-large-lambda") == Verdict::holds);
  CHECK(verdict_of(judged({0.9, 0.5, 0.1, 0.2, 0.25}), "flat-at-large-lambda") == Verdict::fails);
  CHECK(verdict_of(judged({0.9, 0.5, 0.1, 0.2, 0.25}, 4), "flat-at-large-lambda") ==
        Verdict::not_applicable);  // lambda = 1 does not count, because 1 < 4/2: one value is no
                                   // range
}

TEST_CASE(
    "eq. (7) is conservative if it requires ten times the lambda that keeps the tokens apart, for "
    "the sign with the larger factor") {
  const auto verdict = [](double positive, double negative) {
    const Result result = judged({0.5, 0.5, 0.1, 0.5, 0.5}, 2,
                                 {{"smallest_lambda_positive", {positive}},
                                  {"smallest_lambda_negative", {negative}},
                                  {"theorem_condition", {100}}});
    return find_claim(result, "lambda-skip/thm-4.1/conservative/attention").verdict;
  };
  CHECK(verdict(9, 5) == Verdict::holds);
  CHECK(verdict(11, 5) == Verdict::holds);
  CHECK(verdict(5, 11) == Verdict::holds);
  CHECK(verdict(11, 12) == Verdict::fails);
  CHECK(verdict(9, undefined) ==
        Verdict::holds);  // no strength of this sign keeps the tokens apart
  CHECK(verdict(undefined, undefined) == Verdict::not_applicable);
}

}  // namespace lambda_sweep_test
