// The choice of lambda by Theorem 4.1: thresholds by bisection, and stacks in plain loops.
#include "experiments/rank_collapse/bounds/with_skip.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "core/tolerances.hpp"
#include "experiments/rank_collapse/stacked_model.hpp"
#include "linalg/similarity.hpp"
#include "nn/blocks/bare_block.hpp"

namespace bounds_chosen_skip_test {

using namespace ranklab;
using namespace ranklab::bounds;

namespace {

doctest::Approx nearly(double value) {
  return doctest::Approx(value).scale(0).epsilon(tolerance::residual<double>);
}
// After a bisection and a few layers.
doctest::Approx roughly(double value) {
  return doctest::Approx(value).scale(0).epsilon(1e-9);
}

// The smallest x > 0 with holds(x), for a condition that holds from some x on.
double bisection(const std::function<bool(double)>& holds) {
  double low = 0, high = 1;
  while (!holds(high)) high *= 2;
  for (int step = 0; step < 200; ++step) {
    const double middle = (low + high) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

StackNorms example() {
  StackNorms norms;
  norms.N = 4;
  norms.d = 3;
  norms.S = 2;
  norms.C_M = 1.5;
  norms.tau = 0.5;
  return norms;
}

}  // namespace

TEST_CASE("bounds: own_lambda_for is where the condition of a layer begins to hold") {
  for (const double a : {0.01, 0.5, 0.99}) {
    for (const double mu : {0.01, 0.5, 2.0}) {
      CAPTURE(a);
      CAPTURE(mu);
      // N sigma_max(C_V) ||M||_2 = 4 * 0.5, and N d S C_M = 4 * 3 * 3.
      const auto expected = [&](double cross) {
        return bisection(
            [&](double x) { return mu * mu * (x * x - a * (3 + x) * (3 + x)) >= 2 * x * cross; });
      };
      CHECK(layer_lambda_for(a, mu, example(), Condition::sharper) == roughly(expected(2)));
      CHECK(layer_lambda_for(a, mu, example(), Condition::of_the_text) == roughly(expected(36)));
    }
  }
  // Without mixing in the norms, (1 - a) mu^2 lambda = 2 N tau.
  StackNorms still = example();
  still.S = 0;
  CHECK(layer_lambda_for(0.25, std::sqrt(2.0), still, Condition::sharper) ==
        nearly(2 * 4 * 0.5 / (0.75 * 2)));
  CHECK(std::isinf(layer_lambda_for(0.5, 0, example(), Condition::sharper)));
}

TEST_CASE("bounds: a layer's own lambda, against a stack in plain matrices") {
  Config config;
  config.spec.layers = 3;
  config.a = {0.3, 0.8};
  config.models = {"attention"};
  config.tokens = {5};
  config.dim = {4};
  const Sizes sizes{5, 4};
  const Trial trial(2, 0, 0);
  const ModelSpec spec = stack_spec(config, "attention", sizes, "rows");
  TrialRecord record;
  judge_layer_lambdas(config, "attention", sizes, trial, record);

  // Layers with lambda(mix, tau, mu^2, k), and the mu that they leave.
  struct Step {
    double lambda, mu, mu_next, S, C_M, tau;
  };
  const auto stack = [&](const std::function<double(double, double, double, int)>& lambda) {
    std::vector<Step> steps;
    arma::mat Y = draw_input<double>(spec, trial).Y;
    for (int k = 0; k < 3; ++k) {
      DrawnTensors<double> tensors =
          block_tensors<double>(spec, trial, static_cast<std::uint64_t>(k));
      const auto block = make_block_of<BareBlock>(spec, tensors);
      const arma::mat M = block->mixing_matrix({Y, 0.0, 0}), C_V = block->value_matrix();
      const double S = arma::norm(C_V, "fro"), C_M = arma::norm(M, "fro"),
                   tau = arma::norm(C_V, 2) * arma::norm(M, 2), mu = token_spread(Y),
                   x = lambda(S * C_M, tau, mu * mu, k);
      Y = C_V.t() * Y * M.t() + x * Y;
      for (arma::uword i = 0; i < 5; ++i) Y.col(i) /= arma::norm(Y.col(i));
      steps.push_back({x, mu, token_spread(Y), S, C_M, tau});
    }
    return steps;
  };
  Tally layer, whole, of_text, saved;  // the ratios of the two sides
  std::vector<double> largest, single;
  for (const double sign : {1.0, -1.0}) {
    for (const std::vector<double>& a : {std::vector{0.3}, std::vector{0.8}, config.a}) {
      const auto rate = [&](int k) { return a[static_cast<std::size_t>(k) % a.size()]; };
      // The condition of the text has d S C_M = 4 mix in place of tau.
      const auto sufficient = [&](bool ours) {
        return stack([&, ours](double mix, double tau, double mu_2, int k) {
          return sign * 1.01 * bisection([&](double x) {
                   return mu_2 * (x * x - rate(k) * (mix + x) * (mix + x)) >=
                          2 * x * 5 * (ours ? tau : 4 * mix);
                 });
        });
      };
      const auto count = [&](const std::vector<Step>& steps, Tally& by_layer) {
        double promised = std::pow(steps[0].mu, 2);
        for (int k = 0; k < 3; ++k) {
          const Step& step = steps[static_cast<std::size_t>(k)];
          promised *= rate(k);
          by_layer.count(false, std::pow(step.mu_next / step.mu, 2) / rate(k));
          whole.count(false, std::pow(step.mu_next, 2) / promised);
        }
      };
      const std::vector<Step> steps = sufficient(true);
      count(steps, layer);
      if (a.size() > 1) continue;
      count(sufficient(false), of_text);
      double S = 0, C_M = 0, tau = 0, most = 0;
      for (const Step& step : steps) {
        S = std::max(S, step.S);
        C_M = std::max(C_M, step.C_M);
        tau = std::max(tau, step.tau);
        most = std::max(most, std::abs(step.lambda));
      }
      const double mix = S * C_M;
      const double one =
          1.01 * bisection([&](double x) {
            return std::pow(steps[0].mu, 2) * (x * x - a[0] * (mix + x) * (mix + x)) >=
                   std::pow(a[0], -3) * 2 * x * 5 * tau;
          });
      saved.count(false, one / most);
      if (sign > 0) {
        largest.push_back(most);
        single.push_back(one);
      }
    }
  }
  CHECK(layer.cases == 18);
  CHECK(of_text.cases == 12);
  CHECK(whole.cases == 30);
  CHECK(saved.cases == 4);
  const auto agrees = [&](const Statement& statement, const Tally& expected) {
    const Tally found = record.tally(statement.id);
    CAPTURE(statement.id);
    CHECK(found.cases == expected.cases);
    CHECK(found.violations == 0);
    CHECK(found.smallest == roughly(expected.smallest));
    CHECK(found.largest == roughly(expected.largest));  // of the other sign, where they differ
  };
  agrees(layer_lambda::layer_sharper, layer);
  agrees(layer_lambda::layer, of_text);
  agrees(layer_lambda::stack, whole);
  agrees(layer_lambda::saves, saved);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(record.array("attention.largest_own_lambda")[i] == roughly(largest[i]));
    CHECK(record.array("attention.one_lambda")[i] == roughly(single[i]));
  }
}

TEST_CASE("bounds: Remark 4.1 is judged where its conditions hold") {
  using namespace remark_4_1;
  StackEnd end;
  end.norms = {4, 4, 2, 1, 1, 1};  // N, d, S, C_M, tau, row
  end.K = 64;
  end.mu_0 = 1;
  const auto tally = [&](const Statement& statement, double lambda, double mu_squared) {
    end.lambda = lambda;
    end.mu_K = std::sqrt(mu_squared);
    TrialRecord record;
    judge_remark(end, 0.0, record);
    return record.tally(statement.id);
  };
  // 0.9999^64 = 0.99362. With S = 1, mu(Y^0)^2 = 1 >= b is 1.0064 * 2 lambda * 16 <= lambda^2 -
  // 0.9999 (1 + lambda)^2, about 1e-4 lambda^2 - 2 lambda: lambda is at least about 342,050.
  for (const double sign : {1.0, -1.0}) {
    CHECK(tally(prevents, sign * 341'000, 0.9).cases == 0);
    CHECK(tally(prevents, sign * 343'000, 0.9935).violations == 1);
    CHECK(tally(prevents, sign * 343'000, 0.9937).violations == 0);
    CHECK(tally(prevents, sign * 343'000, 0.9937).cases == 1);
    // With S = 2, 1.0001^64 2 lambda 4 / (1e-4 lambda^2) <= 1 at about lambda = 120,500.
    CHECK(tally(prevents_sharper, sign * 115'000, 0.9).cases == 0);
    CHECK(tally(prevents_sharper, sign * 125'000, 0.9935).violations == 1);
    CHECK(tally(prevents_sharper, sign * 125'000, 0.9937).violations == 0);
  }
}

TEST_CASE("bounds: eq. (7) is solved close to the rate 1, and only below it") {
  for (const double mix : {1e-3, 1.0, 40.0}) {
    TrialRecord record;
    judge_rates(mix, record);
    CHECK(record.tally(remark_4_1::below_1.id).cases == 2);
    CHECK(record.tally(remark_4_1::below_1.id).violations == 0);
  }
  TrialRecord record;
  judge_rates(0, record);
  CHECK_FALSE(record.has_tally(remark_4_1::below_1.id));
}

TEST_CASE("bounds: the stacks of Remark 4.1 have the strengths that its conditions require") {
  using namespace remark_4_1;
  Config config;
  config.tokens = {3};
  config.dim = {5};
  TrialRecord record;
  judge_mamba(config, {3, 5}, Trial(1, 0, 0), record);
  CHECK(record.scalar(S) == nearly(std::sqrt(5)));
  CHECK(record.tally(below_1.id).cases == 4);  // Gaussian and cone
  CHECK(record.tally(below_1.id).violations == 0);
  // The largest norms of the 64 mixing matrices at each input, the strengths that they require, and
  // the stacks at these strengths.
  const Trial trial(1, 0, 0);
  Tally kept, kept_by_ours;  // mu(Y^64)^2 over 0.9999^64 mu(Y^0)^2
  for (const char* drawn : {"gaussian", "cone"}) {
    ModelSpec spec = stack_spec(config, "selective-ssm", {3, 5}, "rows");
    spec.input = drawn;
    std::vector<std::unique_ptr<BareBlock<double>>> blocks;
    const State<double> input = draw_input<double>(spec, trial);
    double largest = 0, spectral = 0;
    for (std::uint64_t k = 0; k < 64; ++k) {
      DrawnTensors<double> tensors = block_tensors<double>(spec, trial, k);
      blocks.push_back(make_block_of<BareBlock>(spec, tensors));
      const arma::mat M = blocks.back()->mixing_matrix(input);
      largest = std::max(largest, arma::norm(M, "fro"));
      spectral = std::max(spectral, arma::norm(M, 2));
    }
    const double mu_2 = std::pow(token_spread(input.Y), 2), mix = std::sqrt(5) * largest,
                 by_7 = bisection(
                     [&](double x) { return x * x > 0.9999 * (largest + x) * (largest + x); }),
                 by_remark = bisection([&](double x) {
                   return mu_2 * (x * x - 0.9999 * (largest + x) * (largest + x)) >=
                          std::pow(0.9999, -64) * 2 * x * 3 * 5 * largest;
                 }),
                 by_ours = bisection([&](double x) {
                   return mu_2 * (x * x - 0.9999 * (mix + x) * (mix + x)) >=
                          std::pow(0.9999, -64) * 2 * x * 3 * spectral;
                 });
    if (spec.input == "gaussian") {
      CHECK(record.scalar(lambda_printed) == roughly(by_7));
      CHECK(record.scalar(lambda_corrected) == roughly(by_ours));
      double mu = 1;
      for (const double lambda : {5.0, -5.0}) {
        State<double> state = input;
        for (const auto& block : blocks) block->forward(state, lambda);
        mu = std::min(mu, token_spread(state.Y) / std::sqrt(3));
      }
      CHECK(record.scalar(mu_at_5) == roughly(mu));
    }
    for (const double strength : {by_remark, by_ours}) {
      for (const double sign : {1.0, -1.0}) {
        State<double> state = input;
        for (const auto& block : blocks) block->forward(state, sign * 1.01 * strength);
        const double ratio = std::pow(token_spread(state.Y), 2) / (std::pow(0.9999, 64) * mu_2);
        kept_by_ours.count(false, ratio);
        if (strength == by_remark) kept.count(false, ratio);
      }
    }
  }
  const auto agrees = [&](const Statement& statement, const Tally& expected) {
    const Tally found = record.tally(statement.id);
    CAPTURE(statement.id);
    CHECK(found.violations == 0);
    CHECK(found.smallest == roughly(expected.smallest));
    CHECK(found.largest == roughly(expected.largest));
  };
  agrees(prevents, kept);
  CHECK(record.tally(prevents.id).cases == 4);
  agrees(prevents_sharper, kept_by_ours);
}

}  // namespace bounds_chosen_skip_test
