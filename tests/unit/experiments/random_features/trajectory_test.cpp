// The trajectory study agrees with a second implementation, which uses the n-sized formulas and
// LAPACK's singular value decomposition and iterates W itself.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ensembles/random_features.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/random_features/random_features.hpp"
#include "experiments/result_parts.hpp"

namespace trajectory_test {

using namespace ranklab;

namespace {

const FeatureSizes sizes{14, 12, 6, 40};
constexpr std::uint64_t steps = 25, restart_every = 10, trials = 3;

Result run_study(const std::string& activation, const FlagValues& more = {}) {
  FlagValues values = {{"activation", activation},
                       {"m", "14"},
                       {"k", "12"},
                       {"d", "6"},
                       {"n", "40"},
                       {"steps", "25"},
                       {"restart-every", "10"}};
  values.insert(values.end(), more.begin(), more.end());
  return run_configured(make_trajectory_study(), values, trials);
}

// Losses and nuclear ranks of one method from W_0, by the formulas of the paper.
struct Reference {
  std::vector<double> loss, nuclear_rank;
};

Reference iterate(const arma::mat& A, const arma::mat& Y, arma::mat W, bool spectral,
                  std::uint64_t count) {
  const double n = static_cast<double>(A.n_cols);
  const arma::vec a = arma::svd(A);
  const double L_F = a(0) * a(0) / n, L_op = arma::dot(a, a) / n;
  Reference out;
  for (std::uint64_t t = 0; t <= count; ++t) {
    const arma::mat residual = W * A - Y, G = residual * A.t() / n;
    arma::mat U, V;
    arma::vec s;
    REQUIRE(arma::svd_econ(U, s, V, G, "both", "std"));
    out.loss.push_back(arma::dot(residual, residual) / (2 * n));
    out.nuclear_rank.push_back(std::pow(arma::accu(s), 2) / arma::dot(s, s));
    if (spectral) {
      W -= arma::accu(s) / L_op * U * V.t();
    } else {
      W -= G / L_F;
    }
  }
  return out;
}

struct Drawn {
  arma::mat A, Y;
};

Drawn draw(std::uint64_t trial_index) {
  const Trial trial(1, trial_index, 0);
  Drawn out;
  out.A = draw_random_features(trial, sizes, "relu", 1 / std::sqrt(6.0));
  out.Y = draw_gaussian<double>(trial, "W_sharp", sizes.m, sizes.k, 1 / std::sqrt(12.0)) * out.A;
  return out;
}

void check_mean(const Series& series, const std::vector<std::vector<double>>& expected,
                double tolerance) {
  REQUIRE(series.mean.size() == expected[0].size());
  for (std::size_t t = 0; t < series.mean.size(); ++t) {
    double sum = 0;
    for (const auto& values : expected) sum += values[t];
    CAPTURE(series.name);
    CAPTURE(t);
    CHECK(series.mean[t] ==
          doctest::Approx(sum / static_cast<double>(expected.size())).epsilon(tolerance));
  }
}

}  // namespace

TEST_CASE("losses and nuclear ranks equal an independent implementation") {
  const Result result = run_study("relu");
  std::vector<std::vector<double>> gd_loss, gd_rank, spectral_loss, spectral_rank;
  for (std::uint64_t i = 0; i < trials; ++i) {
    const Drawn drawn = draw(i);
    const arma::mat W0(sizes.m, sizes.k, arma::fill::zeros);
    const Reference gd = iterate(drawn.A, drawn.Y, W0, false, steps),
                    spectral = iterate(drawn.A, drawn.Y, W0, true, steps);
    gd_loss.push_back(gd.loss);
    gd_rank.push_back(gd.nuclear_rank);
    spectral_loss.push_back(spectral.loss);
    spectral_rank.push_back(spectral.nuclear_rank);
  }
  check_mean(find_series(result, "gd.objective_gap"), gd_loss, 1e-9);
  check_mean(find_series(result, "gd.nuclear_rank"), gd_rank, 1e-7);
  // Rounding errors in small singular values grow from step to step, and the two implementations
  // round differently.
  check_mean(find_series(result, "specgd.objective_gap"), spectral_loss, 1e-6);
  check_mean(find_series(result, "specgd.nuclear_rank"), spectral_rank, 1e-6);
}

TEST_CASE(
    "restarts begin at the GD iterates, and the peak restart at the iterate of the largest nuclear "
    "rank") {
  const Result result = run_study("relu");
  const Series& gd = find_series(result, "gd.objective_gap");
  for (const std::uint64_t t : {10u, 20u}) {
    const Series& restart =
        find_series(result, "specgd_from_" + std::to_string(t) + ".objective_gap");
    CHECK(restart.x.front() == 0.0);
    CHECK(restart.x.size() == steps - t + 1);
    CHECK(restart.mean[0] == gd.mean[t]);
  }
  std::size_t shortest = steps + 1;
  for (std::uint64_t i = 0; i < trials; ++i) {
    const Drawn drawn = draw(i);
    const Reference run =
        iterate(drawn.A, drawn.Y, arma::mat(sizes.m, sizes.k, arma::fill::zeros), false, steps);
    const auto peak = static_cast<std::size_t>(
        std::max_element(run.nuclear_rank.begin(), run.nuclear_rank.end()) -
        run.nuclear_rank.begin());
    CHECK(find_scalar(result, "gd.nuclear_rank_peak_iteration")[i] == static_cast<double>(peak));
    shortest = std::min(shortest, steps - peak + 1);
  }
  CHECK(find_series(result, "specgd_from_peak.objective_gap").x.size() == shortest);
}

TEST_CASE("the one-step guarantees, which are theorems, are never violated") {
  for (const char* activation : {"relu", "swiglu", "tanh", "identity", "quadratic"}) {
    CAPTURE(std::string(activation));
    const Result result = run_study(activation);
    for (const char* id : {"spectral/eq-1.4/guarantee-gd", "spectral/eq-1.4/guarantee-specgd"}) {
      CHECK(find_claim(result, id).verdict == Verdict::holds);
    }
    CHECK(find_claim(result, "spectral/eq-1.5/two-sided").verdict != Verdict::fails);
  }
}

namespace {

const double lost = std::numeric_limits<double>::quiet_NaN();

// A trial with these objective gaps and nuclear ranks along both methods; st(A) is 2.
TrialRecord invented(const std::vector<double>& gd_gap, const std::vector<double>& specgd_gap,
                     const std::vector<double>& nuclear_rank) {
  TrialRecord out;
  for (const char* name :
       {"nuclear_rank_init", "gd.nuclear_rank_peak", "gd.nuclear_rank_peak_iteration",
        "first_iteration_specgd_ahead", "diverged_trajectories"})
    out.set(name, 0.0);
  out.set("stable_rank_A", 2.0);
  out.set("gd.objective_gap", gd_gap);
  out.set("specgd.objective_gap", specgd_gap);
  out.set("gd.nuclear_rank", nuclear_rank);
  out.set("specgd.nuclear_rank", nuclear_rank);
  return out;
}

// The same values up to the loss of a run, then none.
std::vector<double> until(std::vector<double> values, std::size_t end) {
  for (std::size_t t = end; t < values.size(); ++t) values[t] = lost;
  return values;
}

Result invented_result(const std::string& activation, std::uint64_t iterations,
                       const Records& records, std::uint64_t every = 0) {
  return result_of(make_trajectory_study(),
                   {{"activation", activation},
                    {"steps", std::to_string(iterations)},
                    {"restart-every", std::to_string(every)},
                    {"from-peak", "off"}},
                   records);
}

}  // namespace

TEST_CASE("verdicts follow from the numbers of the record") {
  const auto record = [](std::vector<double> gd_rank, double last_specgd) {
    TrialRecord out = invented({1, 0.5, 0.1}, {1, 0.5, last_specgd}, {2, 3, 4});
    out.set("gd.nuclear_rank", std::move(gd_rank));
    out.add("spectral/eq-1.4/guarantee-gd", {2, 0});
    out.add("spectral/eq-1.4/guarantee-specgd", {2, 1});
    return out;
  };
  const Result good = invented_result(
      "relu", 2, {record({2, 3, 4}, 0.01), record({5, 3, 4}, 0.01001), record({5, 3, 4}, 0.01002)});
  CHECK(find_claim(good, "spectral/eq-1.5/gd").verdict == Verdict::holds);
  CHECK(find_claim(good, "spectral/fig-3/specgd-ahead").verdict == Verdict::holds);
  CHECK(find_claim(good, "spectral/eq-1.4/guarantee-gd").verdict == Verdict::holds);
  CHECK(find_claim(good, "spectral/eq-1.4/guarantee-specgd").verdict == Verdict::fails);
  CHECK(find_claim(good, "spectral/eq-1.5/two-sided").verdict == Verdict::not_applicable);
  CHECK(find_claim(good, "spectral/fig-3/restarts-ahead").verdict == Verdict::not_applicable);
  CHECK(find_claim(good, "spectral/fig-11/gd-ahead").verdict == Verdict::not_applicable);
  const Result bad = invented_result(
      "relu", 2, {record({2, 1.9, 4}, 1.0), record({2, 3, 4}, 1.0001), record({2, 3, 4}, 1.0002)});
  CHECK(find_claim(bad, "spectral/eq-1.5/gd").verdict == Verdict::fails);
  CHECK(find_claim(bad, "spectral/eq-1.5/gd").measured == 1.0);
  CHECK(find_claim(bad, "spectral/eq-1.5/specgd").verdict == Verdict::holds);
  CHECK(find_claim(bad, "spectral/fig-3/specgd-ahead").verdict == Verdict::fails);
}

TEST_CASE("a run that diverges before the end of the window is no case of (1.5) violated early") {
  // 40 iterations: the first quarter ends with iteration 10.
  const std::vector<double> gap(41, 1.0), above(41, 3.0);
  const auto judged = [&](std::size_t end, const std::vector<double>& nuclear_rank) {
    const Records records(4, invented(until(gap, end), gap, until(nuclear_rank, end)));
    return find_claim(invented_result("swiglu", 40, records),
                      "spectral/fig-11/eq-1.5-violated-early/gd");
  };
  for (const std::size_t end : {2u, 10u}) {
    CHECK(judged(end, above).verdict == Verdict::not_applicable);
    CHECK(judged(end, above).undecided);
  }
  // The whole quarter is known from iteration 11 on.
  CHECK(judged(11, above).verdict == Verdict::fails);
  CHECK(judged(11, above).measured == 1.0);
  CHECK(judged(41, above).verdict == Verdict::fails);
  std::vector<double> dips = above;
  dips[6] = 1.9;
  CHECK(judged(8, dips).verdict == Verdict::holds);
  CHECK(judged(8, dips).measured == 0.15);
  CHECK(judged(6, dips).verdict == Verdict::not_applicable);
}

TEST_CASE("(1.5) at every iteration is undecided if a run diverges without a violation") {
  const std::vector<double> gap(9, 1.0), above(9, 3.0);
  const auto verdict = [&](std::size_t end, const std::vector<double>& nuclear_rank,
                           std::size_t diverging) {
    Records records(3 - diverging, invented(gap, gap, nuclear_rank));
    records.resize(3, invented(until(gap, end), gap, until(nuclear_rank, end)));
    const Claim claim = find_claim(invented_result("relu", 8, records), "spectral/eq-1.5/gd");
    CHECK(claim.undecided == (claim.verdict == Verdict::not_applicable));
    const bool tells_end = claim.detail.ends_with(" of 3 trials, which count until then");
    CHECK(tells_end == (end < 9));
    return claim.verdict;
  };
  CHECK(verdict(9, above, 1) == Verdict::holds);
  CHECK(verdict(4, above, 1) == Verdict::not_applicable);
  CHECK(verdict(4, above, 2) == Verdict::not_applicable);
  std::vector<double> dips = above;
  dips[2] = 1.9;
  CHECK(verdict(4, dips, 2) == Verdict::fails);
}

TEST_CASE("(1.5) along both methods is a claim of Figure 3 only") {
  const std::vector<double> gap(3, 1.0), below(3, 1.0);
  for (const char* activation : {"relu", "swiglu", "tanh"}) {
    const Result result = invented_result(activation, 2, Records(3, invented(gap, gap, below)));
    for (const char* run : {"gd", "specgd"}) {
      const auto count = std::ranges::count_if(result.claims, [&](const Claim& claim) {
        return claim.id == "spectral/eq-1.5/" + std::string(run);
      });
      CHECK(count == (activation == std::string("relu") ? 1 : 0));
    }
  }
}

TEST_CASE("a trial with an infinite ratio of final gaps counts by its sign") {
  const std::vector<double> rank(2, 3.0);
  const auto trial = [&](double of_gd, double of_specgd) {
    return invented({1, of_gd}, {1, of_specgd}, rank);
  };
  const auto judged = [&](const Records& records) {
    return find_claim(invented_result("relu", 1, records), "spectral/fig-3/specgd-ahead");
  };
  // Finite ratios 10, 10.1, 10.2 alone would call SpecGD behind; two trials end at the minimum.
  const Records behind = {trial(0.1, 1.0), trial(0.1, 1.01), trial(0.1, 1.02)};
  CHECK(judged(behind).verdict == Verdict::fails);
  Records mixed = behind;
  mixed.push_back(trial(0.1, 0.0));
  mixed.push_back(trial(0.1, 0.0));
  CHECK(judged(mixed).verdict == Verdict::not_applicable);
  CHECK(judged(mixed).undecided);
  CHECK(std::get<CountEvidence>(judged(mixed).evidence).cases == 5);
  CHECK(std::get<CountEvidence>(judged(mixed).evidence).violations == 3);

  const Records ahead = {trial(0.1, 0.01), trial(0.1, 0.0), trial(lost, 0.5)};
  CHECK(judged(ahead).verdict == Verdict::holds);
  CHECK(std::get<CountEvidence>(judged(ahead).evidence).cases == 3);
  Records one_tie = ahead;  // both at the minimum: SpecGD is not below
  one_tie.push_back(trial(0.0, 0.0));
  CHECK(judged(one_tie).undecided);
  Records both_lost = ahead;
  both_lost.push_back(trial(lost, lost));
  CHECK(judged(both_lost).verdict == Verdict::holds);
  CHECK(std::get<CountEvidence>(judged(both_lost).evidence).cases == 3);
  CHECK(judged({trial(0.1, 0.0), trial(0.1, 0.0)}).undecided);  // fewer than three trials

  const Records lost_spectral(3, trial(0.1, lost));
  CHECK(judged(lost_spectral).verdict == Verdict::fails);
  const Result swiglu = invented_result("swiglu", 1, lost_spectral);
  CHECK(find_claim(swiglu, "spectral/fig-11/gd-ahead").verdict == Verdict::holds);
  CHECK(find_claim(swiglu, "spectral/fig-3/specgd-ahead").verdict == Verdict::not_applicable);
}

TEST_CASE("a restart is ahead of GD if GD diverges after it, and is no case if both diverge") {
  const std::vector<double> rank(5, 3.0), gap = {1, 0.9, 0.8, 0.7, 0.6};
  const auto judged = [&](const std::vector<double>& of_gd, std::vector<double> restarted) {
    TrialRecord record = invented(of_gd, gap, rank);
    record.set("specgd_from_2.objective_gap", std::move(restarted));
    return find_claim(invented_result("relu", 4, Records(3, record), 2),
                      "spectral/fig-3/restarts-ahead");
  };
  CHECK(judged(gap, {0.8, 0.7, 0.5}).verdict == Verdict::holds);
  CHECK(judged(gap, {0.8, 0.7, 0.65}).verdict == Verdict::fails);
  CHECK(judged(until(gap, 4), {0.8, 0.7, 0.65}).verdict == Verdict::holds);
  CHECK(judged(gap, {0.8, 0.9, lost}).verdict == Verdict::fails);
  CHECK(judged(until(gap, 3), {0.8, 0.9, lost}).verdict == Verdict::not_applicable);
}

TEST_CASE("a non-finite loss ends the trajectory, is counted, and becomes NaN in the series") {
  // With three times the step 1/L_F, each iteration multiplies the error of the top direction by
  // -2. The loss grows like 4^t and exceeds 1e308 near t = 512.
  const Result result = run_study(
      "relu",
      {{"step-scale", "3"}, {"steps", "600"}, {"restart-every", "0"}, {"from-peak", "off"}});
  CHECK(result.diverged);
  CHECK(result.diverged_methods.front().method == "gd");
  const Series& gap = find_series(result, "gd.objective_gap");
  REQUIRE(gap.mean.size() == 601);
  CHECK(std::isfinite(gap.mean[400]));
  CHECK(std::isnan(gap.mean[600]));
  CHECK(find_scalar(result, "diverged_trajectories")[0] >= 1.0);
  CHECK(find_claim(result, "spectral/eq-1.4/guarantee-gd").verdict == Verdict::not_applicable);
}

TEST_CASE(
    "if GD diverges before a restart's iterate, the restart is undefined and no claim counts it") {
  const Result result = run_study(
      "relu",
      {{"step-scale", "3"}, {"steps", "600"}, {"restart-every", "580"}, {"from-peak", "off"}});
  const Series& restart = find_series(result, "specgd_from_580.objective_gap");
  CHECK(restart.x.size() == 21);
  CHECK(std::isnan(restart.mean[0]));
  CHECK(find_claim(result, "spectral/fig-3/restarts-ahead").verdict == Verdict::not_applicable);
}

TEST_CASE("the figure shows intervals of the objective gaps, and every color has a key") {
  const Result result = run_study("relu");
  REQUIRE(result.figure.panels.size() == 2);
  CHECK(result.more_figures.empty());
  const Panel& gap = result.figure.panels[0];
  REQUIRE(gap.curves.size() == 5);  // GD, SpecGD, restarts from 10, 20 and the peak
  for (const Curve& curve : gap.curves) {
    find_series(result, curve.series);
    CHECK(curve.band == BandKind::interval);
    CHECK(std::any_of(gap.curves.begin(), gap.curves.end(), [&](const Curve& other) {
      return !other.label.empty() && other.color == curve.color && other.style == curve.style;
    }));
  }
  CHECK(gap.curves[2].x_offset == 10);
  CHECK(gap.curves[3].x_offset == 20);
  const Panel& ranks = result.figure.panels[1];
  CHECK(ranks.y.label == "nuclear rank nr(G)");
  CHECK(ranks.curves.at(0).series == "gd.nuclear_rank");
  for (const Curve& curve : ranks.curves) CHECK(!curve.label.empty());
  CHECK(ranks.lines.size() == 1);
}

}  // namespace trajectory_test
