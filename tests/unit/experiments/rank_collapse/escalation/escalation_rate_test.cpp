// The study escalation-rate: its fixed path against a second implementation, the distribution of
// its redraws, and its verdicts.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "core/tolerances.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/rank_collapse/escalation/escalation_reference.hpp"
#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/result_parts.hpp"

namespace escalation_rate_test {

using namespace ranklab;
using namespace escalation_reference;

namespace {

doctest::Approx close(double expected, double relative = tolerance::residual<double>) {
  return doctest::Approx(expected).scale(0).epsilon(relative);
}

using Arrays = std::map<std::string, std::vector<double>>;

constexpr std::size_t blocks = 3;

// Arrays with E[xi_1] = 2 and E[xi_2] = 1. `deviation` is added to xi_1, and the rate follows (6)
// at t_sim = 1/2.
Arrays as_claimed(double deviation) {
  Arrays arrays;
  for (const auto& [name, value] : {std::pair{"xi_1", 2 + deviation},
                                    {"xi_2", 1.0},
                                    {"xi_ratio_minus_1", 1 + deviation},
                                    {"rate", 1.5 + deviation / 2},
                                    {"mu_1", 1.0},
                                    {"mu_2", 0.0},
                                    {"mu_1_bound", 0.97},
                                    {"mu_2_bound", 0.001},
                                    {"estimate_1", 0.96},
                                    {"estimate_2", 0.999},
                                    {"omega", 0.015},
                                    {"delta", 0.03},
                                    {"lambda_2", 0.02},
                                    {"omega_plus_delta", 0.05},
                                    {"asymmetry", 0.0}}) {
    arrays[name].assign(blocks, value);
  }
  for (const char* name : {"token_similarity", "token_diversity"})
    arrays[name].assign(blocks + 1, 0.5);
  return arrays;
}

Result judged(const std::function<void(Arrays&)>& change, const std::string& lambda = "1") {
  Records records(4);
  for (std::size_t t = 0; t < records.size(); ++t) {
    Arrays arrays = as_claimed(0.05 * (static_cast<double>(t) - 1.5));
    change(arrays);
    for (const auto& [name, values] : arrays) records[t].set(name, values);
    records[t].set("diverged", 0.0);
    records[t].set("degenerate_rows", 0.0);
    records[t].count("shallow/eq-6", false, 0.0);
  }
  return result_of(make_escalation_rate_study(),
                   {{"layers", std::to_string(blocks)}, {"lambda", lambda}}, records);
}

}  // namespace

TEST_CASE(
    "escalation-rate: the path is that of trial 0 of escalation, and the estimates are means over "
    "its heads") {
  const FlagValues tiny = {{"layers", "3"}, {"tokens", "6"}, {"dim", "24"}, {"heads", "4"}};
  const Result result = run_configured(make_escalation_rate_study(), tiny, 5, 2);
  const Series path_similarity =
      find_series(run_configured(make_escalation_study(), tiny, 1), "token_similarity");
  CHECK(find_series(result, "token_similarity").mean == path_similarity.mean);
  CHECK(find_series(result, "token_similarity").std == std::vector<double>(4, 0.0));
  // 5 trials with 3 blocks each
  CHECK(std::get<CountEvidence>(find_claim(result, "shallow/eq-6").evidence).cases == 15);
  const std::vector<ReferenceBlock> reference = path(6, 24, 4, 3, 0);
  for (std::size_t k = 0; k < blocks; ++k) {
    double estimate_1 = 0, estimate_2 = 0, second = 0;
    for (const arma::mat& P : reference[k].P) {
      const ReferenceBlock head{reference[k].X, {P}, {}};
      const double omega = mean_omega(head), delta = mean_delta(head);
      const arma::vec moduli = arma::sort(arma::abs(arma::eig_gen(P)), "descend");
      estimate_1 += (std::pow(1 - omega, 2) - delta * delta) / (1 + delta * delta) / 4;
      estimate_2 += (1 - moduli[1] * moduli[1]) / (1 + moduli[1] * moduli[1]) / 4;
      second += moduli[1] / 4;
    }
    CHECK(find_series(result, "estimate_1").mean[k] == close(estimate_1));
    CHECK(find_series(result, "estimate_2").mean[k] == close(estimate_2));
    CHECK(find_series(result, "lambda_2").mean[k] ==
          close(second, 10 * tolerance::residual<double>));
    const double t_sim = similarity(reference[k].X);
    CHECK(find_series(result, "rate_estimate_1").mean[k] == close(1 + estimate_1 * t_sim));
    CHECK(find_series(result, "rate_estimate_2").mean[k] == close(1 + estimate_2 * t_sim));
    CHECK(find_series(result, "omega").mean[k] == close(mean_omega(reference[k])));
    CHECK(find_series(result, "mu_1").mean[k] == close(mean_mu_squared(reference[k], shared)));
  }
}

// A draw in the span of the tokens has the same distribution as one with a whole W: at block 1 its
// moments equal those over redraws of W.
TEST_CASE(
    "escalation-rate: a redraw has the mean and the spread of a redrawn W, with fewer tokens than "
    "channels or more") {
  for (const auto& sizes : {std::pair{4u, 12u}, {12u, 4u}}) {
    const arma::uword N = sizes.first, d = sizes.second;
    CAPTURE(N);
    constexpr std::uint64_t samples = 4000;
    const FlagValues small = {
        {"layers", "1"}, {"tokens", std::to_string(N)}, {"dim", std::to_string(d)}, {"heads", "2"}};
    const Result result = run_configured(make_escalation_rate_study(), small, samples, 2);
    const ReferenceBlock block = path(N, d, 2, 1, 0)[0];
    const arma::mat draws =
        normal(0, "whole W", d, d * samples, 1 / std::sqrt(static_cast<double>(d)));
    std::vector<double> xi_1, xi_2;
    for (arma::uword s = 0; s < samples; ++s) {
      arma::mat Y = block.X;
      for (arma::uword k = 0; k < 2; ++k) {
        const arma::uword first = k * d / 2, last = (k + 1) * d / 2 - 1;
        Y.cols(first, last) += block.P[k] * block.X * draws.cols(s * d + first, s * d + last);
      }
      xi_1.push_back(shared(Y) / shared(block.X));
      xi_2.push_back(rest(Y) / rest(block.X));
    }
    for (const auto& moments : {std::pair{"xi_1", summarize(xi_1)}, {"xi_2", summarize(xi_2)}}) {
      const std::string name = moments.first;
      const Summary& whole = moments.second;
      CAPTURE(name);
      const double mean = find_series(result, name).mean[0], std = find_series(result, name).std[0];
      CHECK(std::abs(mean - whole.mean) <
            std::sqrt(2.0) * tolerance::standard_errors * standard_error(whole));
      CHECK(std ==
            close(whole.std,
                  0.1));  // a standard deviation has a relative error of about 1/sqrt(samples)
    }
    CHECK(find_claim(result, "shallow/eq-29").verdict == Verdict::holds);
    CHECK(find_claim(result, "shallow/eq-18").verdict == Verdict::holds);
    CHECK(find_claim(result, "shallow/eq-6").verdict == Verdict::holds);
    // Control variates do not change the mean.
    const Series& plain = find_series(result, "xi_ratio_minus_1");
    const Series& sharp = find_series(result, "xi_ratio_minus_1_sharpened");
    CHECK(sharp.std[0] < plain.std[0]);
    CHECK(std::abs(sharp.mean[0] - plain.mean[0]) <
          tolerance::standard_errors * plain.std[0] / std::sqrt(double(samples)));
  }
}

TEST_CASE(
    "escalation-rate: the formulas for E[xi_i] and E[r] hold for other strengths of the two "
    "terms") {
  const FlagValues other = {{"layers", "3"},       {"tokens", "4"},           {"dim", "12"},
                            {"heads", "2"},        {"alpha", "0.5"},          {"lambda", "-2"},
                            {"weight-scale", "3"}, {"weight-variance", "h/d"}};
  const Result result = run_configured(make_escalation_rate_study(), other, 4000, 2);
  for (const char* id : {"shallow/eq-29", "shallow/eq-18", "shallow/eq-6", "shallow/eq-11"}) {
    CHECK(find_claim(result, id).verdict == Verdict::holds);
  }
  // lambda^2 + alpha^2 scale^2 h mu_1^2
  const double expected = 4 + 0.25 * 9 * 2 * find_series(result, "mu_1").mean[0];
  CHECK(find_series(result, "xi_1").mean[0] == close(expected, 0.03));
}

TEST_CASE("escalation-rate: with one head the claims are (9) and (13)") {
  const Result result =
      run_configured(make_escalation_rate_study(),
                     {{"layers", "2"}, {"tokens", "5"}, {"dim", "8"}, {"heads", "1"}}, 20);
  for (const auto& [id, statement] :
       {std::pair("shallow/eq-9", "shallow/lemma-2.4"), {"shallow/eq-13", "shallow/prop-2.5"}}) {
    const Claim& claim = find_claim(result, id);
    CHECK(claim.verdict == Verdict::holds);
    CHECK(claim.statement_id == statement);
    CHECK(std::get<CountEvidence>(claim.evidence).cases == (claim.id == "shallow/eq-9" ? 4 : 2));
  }
}

TEST_CASE("escalation-rate: the quotient of means is compared in its standard errors") {
  const std::vector<double> first = {1, 2, 3, 6}, second = {1, 1, 2, 2};
  const auto judged_at = [&](double mu_1) {
    Records records(4);
    for (std::size_t t = 0; t < records.size(); ++t) {
      Arrays arrays = as_claimed(0);
      for (auto& [name, values] : arrays)
        values.resize(name == "token_similarity" || name == "token_diversity" ? 2 : 1);
      arrays["xi_1"] = {first[t]}, arrays["xi_2"] = {second[t]}, arrays["mu_1"] = {mu_1};
      for (const auto& [name, values] : arrays) records[t].set(name, values);
      records[t].set("diverged", 0.0);
      records[t].set("degenerate_rows", 0.0);
    }
    return find_claim(result_of(make_escalation_rate_study(), {{"layers", "1"}}, records),
                      "shallow/eq-18");
  };
  // The quotient is 3/1.5 = 2, and xi_1 - 2 xi_2 = -1, 0, -1, 2 has the standard error sqrt(2)/2,
  // so that of the quotient is sqrt(2)/3. The formula gives 1 + mu_1.
  for (const double mu_1 : {3.0, 4.0}) {
    const Claim claim = judged_at(mu_1);
    CHECK(claim.verdict == (mu_1 == 3 ? Verdict::holds : Verdict::fails));
    CHECK(std::get<CountEvidence>(claim.evidence).worst == close((mu_1 - 1) * 3 / std::sqrt(2.0)));
    CHECK(claim.statement_id == "shallow/prop-2.9");
  }
}

TEST_CASE("escalation-rate: results do not depend on threads, and W = 0 changes nothing") {
  const FlagValues small = {{"layers", "2"}, {"tokens", "5"}, {"dim", "16"}, {"heads", "2"}};
  const Result one = run_configured(make_escalation_rate_study(), small, 6),
               two = run_configured(make_escalation_rate_study(), small, 6, 3);
  for (const char* name : {"rate", "estimate_1", "estimate_2", "xi_1"}) {
    CHECK(find_series(one, name).mean == find_series(two, name).mean);
  }
  // W = 0 does not change X and makes attention uniform, which is symmetric.
  const Result still =
      run_configured(make_escalation_rate_study(),
                     {{"layers", "2"}, {"tokens", "5"}, {"dim", "16"}, {"weight-scale", "0"}}, 3);
  CHECK(find_series(still, "rate").mean == std::vector<double>{1, 1});
  CHECK(find_claim(still, "shallow/eq-11").verdict == Verdict::holds);
  CHECK(find_claim(still, "shallow/eq-16").verdict == Verdict::not_applicable);
}

TEST_CASE("escalation-rate: verdicts follow from the numbers of the records") {
  const Result good = judged([](Arrays&) {});
  CHECK(good.claims.size() == 9);
  for (const Claim& claim : good.claims) {
    CAPTURE(claim.id);
    CAPTURE(claim.detail);
    CHECK(claim.verdict == Verdict::holds);
  }
  struct Case {
    const char* claim;
    const char* array;
    double value;
    Verdict verdict;
  };
  for (const Case& other : {Case{"shallow/eq-16", "mu_1_bound", 1.2, Verdict::fails},
                            {"shallow/eq-11", "mu_1_bound", 1.2, Verdict::fails},
                            {"shallow/eq-11", "mu_2", 0.002, Verdict::fails},
                            {"shallow/eq-17", "estimate_2", 1.1, Verdict::fails},
                            {"shallow/eq-17", "asymmetry", 0.1, Verdict::not_applicable},
                            {"shallow/fig-3-closer", "estimate_1", 0.9995, Verdict::fails},
                            {"shallow/fig-3-rates", "estimate_1", 0.5, Verdict::fails},
                            {"shallow/eq-29", "xi_1", 2.5, Verdict::fails},
                            {"shallow/eq-29", "mu_2", 0.1, Verdict::fails},
                            {"shallow/eq-18", "xi_1", 2.5, Verdict::fails},
                            {"shallow/eq-18", "mu_2", 0.1, Verdict::fails},
                            {"shallow/thm-2.6-hypothesis", "omega_plus_delta", 1.2, Verdict::fails},
                            {"shallow/eq-16", "omega_plus_delta", 1.2, Verdict::not_applicable},
                            {"shallow/eq-18", "token_diversity", 1e-30, Verdict::not_applicable},
                            {"shallow/eq-29", "token_diversity", 1e-30, Verdict::not_applicable}}) {
    CAPTURE(other.claim);
    CAPTURE(other.array);
    const Result result = judged([&](Arrays& arrays) {
      for (double& value : arrays.at(other.array)) value = other.value;
    });
    CHECK(find_claim(result, other.claim).verdict == other.verdict);
  }
  CHECK(find_claim(good, "shallow/eq-16").kind == Kind::asymptotic);
  CHECK(find_claim(good, "shallow/eq-16").threshold == "d = 512 counts as large");
  CHECK(find_claim(good, "shallow/thm-2.6-hypothesis").kind == Kind::beyond);
  // Where the left-hand side of (15) is nearly 0, a hypothesis of the theorem is not met.
  const Result near = judged([](Arrays& arrays) {
    arrays.at("mu_1_bound") = arrays.at("mu_1");
    arrays.at("mu_2_bound") = arrays.at("mu_2");
  });
  CHECK(find_claim(near, "shallow/eq-16").verdict == Verdict::not_applicable);
  // At lambda = 2, E[xi_1] = 5 and E[xi_2] = 4. The records contradict that, and the figure is not
  // judged.
  const Result skip = judged([](Arrays&) {}, "2");
  CHECK(find_claim(skip, "shallow/eq-29").verdict == Verdict::fails);
  CHECK(find_claim(skip, "shallow/eq-18").verdict == Verdict::fails);
  CHECK(find_claim(skip, "shallow/fig-3-closer").verdict == Verdict::not_applicable);
}

}  // namespace escalation_rate_test
