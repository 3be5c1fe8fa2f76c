// The study eta agrees with the paper's formulas in the paper's layout (tokens in rows), written
// with dense projections.
#include "experiments/rank_collapse/escalation/eta.hpp"

#include <doctest/doctest.h>
#include <armadillo>

#include <cmath>

#include "core/statistics.hpp"
#include "core/tolerances.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/result_parts.hpp"

namespace eta_test {

using namespace ranklab;

namespace {

doctest::Approx close(double expected, double relative = tolerance::residual<double>) {
  return doctest::Approx(expected).scale(0).epsilon(relative);
}

Result run_eta(const FlagValues& values, std::uint64_t trials, std::uint64_t threads = 1) {
  return run_configured(make_eta_study(), values, trials, threads);
}

std::string at_dim(std::uint64_t d, const std::string& quantity) {
  return "d=" + std::to_string(d) + "." + quantity;
}

double squared(const arma::mat& A) {
  return arma::accu(arma::square(A));
}

// Normal draws of one tensor, in memory order.
arma::mat normals(std::uint64_t trial, const std::string& name, arma::uword rows, arma::uword cols,
                  double deviation) {
  arma::mat A(rows, cols);
  Stream(1, trial, name).fill_normal({A.memptr(), A.n_elem}, deviation);
  return A;
}
arma::mat uniforms(const std::string& name, arma::uword size, double bound) {
  arma::mat A(size, size);
  Stream(1, 0, name).fill_uniform({A.memptr(), A.n_elem}, -bound, bound);
  return A;
}

// All quantities at one d and t in one trial, with tokens in rows.
struct Dense {
  double xi[2], expected[2], mu_squared[2], bound[2];
  double eta() const { return expected[0] / expected[1] - xi[0] / xi[1]; }
};

Dense dense(arma::uword n, arma::uword d, const std::string& t, double alpha, std::uint64_t trial) {
  const std::string prefix = "d=" + std::to_string(d);
  const double root = std::sqrt(static_cast<double>(d));
  const arma::vec e(n, arma::fill::value(1 / std::sqrt(static_cast<double>(n))));
  const arma::mat v = normals(0, prefix + "/v", d, 1, 1),
                  Q = normals(0, prefix + "/Q", d, n, 1).t();
  const arma::mat W_q = uniforms(prefix + "/W_q", d, 1 / root),
                  W_k = uniforms(prefix + "/W_k", d, 1 / root);
  const arma::mat W = normals(trial, prefix + ",t=" + t + "/W", d, d, 1 / root);
  const arma::mat X = e * v.t() + std::stod(t) * Q;
  arma::mat P = arma::exp(X * W_q * (X * W_k).t() / root);
  for (arma::uword i = 0; i < n; ++i) P.row(i) /= arma::accu(P.row(i));
  const arma::mat Y = X + alpha * P * X * W;
  const arma::mat Pi[2] = {e * e.t(), arma::mat(n, n, arma::fill::eye) - e * e.t()};
  Dense out;
  for (const int i : {0, 1}) {
    out.xi[i] = squared(Pi[i] * Y) / squared(Pi[i] * X);
    out.mu_squared[i] = squared(Pi[i] * P * X) / squared(Pi[i] * X);
    out.expected[i] = 1 + alpha * alpha * out.mu_squared[i];
  }
  out.bound[0] = std::pow(1 - arma::norm(e.t() * P * Pi[1] * X) / arma::norm(e.t() * X), 2);
  out.bound[1] = std::pow(arma::svd(Pi[1] * P)(0), 2);
  return out;
}

Verdict verdict(const Result& result, const std::string& id) {
  return find_claim(result, id).verdict;
}

}  // namespace

TEST_CASE("eta: a sample equals the paper's formulas, with projections and a softmax written out") {
  const Result result =
      run_eta({{"tokens", "9"}, {"dim", "4,3"}, {"t", "0.75,0.125"}, {"alpha", "1.5"}}, 3);
  for (const arma::uword d : {3u, 4u}) {
    for (const std::size_t i : {0u, 1u}) {
      const std::string t = i == 0 ? "0.125" : "0.75";
      CAPTURE(d);
      CAPTURE(t);
      double xi_1 = 0, xi_2 = 0, eta = 0, square = 0;
      for (std::uint64_t trial = 0; trial < 3; ++trial) {
        const Dense sample = dense(9, d, t, 1.5, trial);
        xi_1 += sample.xi[0] / 3;
        xi_2 += sample.xi[1] / 3;
        eta += sample.eta() / 3;
        square += sample.eta() * sample.eta();
      }
      const auto mean = [&](const char* name) {
        return find_series(result, at_dim(d, name)).mean[i];
      };
      const Dense fixed = dense(9, d, t, 1.5, 0);
      CHECK(find_series(result, at_dim(d, "eta")).x == std::vector<double>{0.125, 0.75});
      CHECK(mean("xi_1") == close(xi_1));
      CHECK(mean("xi_2") == close(xi_2));
      CHECK(std::abs(mean("eta") - eta) < tolerance::residual<double>);
      CHECK(find_series(result, at_dim(d, "eta")).std[i] ==
            close(std::sqrt((square - 3 * eta * eta) / 2)));
      CHECK(mean("eta_std") == close(std::sqrt((square - 3 * eta * eta) / 2)));
      CHECK(mean("expected_xi_1") == close(fixed.expected[0]));
      CHECK(mean("expected_xi_2") == close(fixed.expected[1]));
      CHECK(mean("mu_1_squared") == close(fixed.mu_squared[0]));
      // The dense projection is less accurate, because the part of P X outside the mean is small
      // compared to the part inside.
      CHECK(std::abs(mean("mu_2_squared") - fixed.mu_squared[1]) < tolerance::residual<double>);
    }
  }
  CHECK(find_scalar(result, "degenerate_rows") == std::vector<double>{0, 0, 0});
}

TEST_CASE("eta: only W changes between trials, and the bounds (11) are counted") {
  eta::Config config;
  config.tokens = 8;
  config.dim = {5};
  config.t = {0.5};
  // Every trial uses the same v, Q, W_q and W_k of the run, and its own W.
  Trial fourth(1, 4, 0), none(1, 0, 0);
  const TrialRecord asked = config.work().trial(fourth), again = config.work().trial(none);
  const Dense expected = dense(8, 5, "0.5", 1.0, 4);
  const auto number = [](const TrialRecord& record, const std::string& name) {
    return record.array("d=5." + name).at(0);
  };
  for (const int i : {0, 1}) {
    const std::string part = std::to_string(i + 1);
    CHECK(number(asked, "xi_" + part) == close(expected.xi[i]));
    CHECK(number(asked, "expected_xi_" + part) == close(expected.expected[i]));
    for (const std::string& name :
         {"expected_xi_" + part, "deviation_" + part, "mu_" + part + "_squared"}) {
      CHECK(number(asked, name) == number(again, name));
    }
  }
  CHECK(number(asked, "xi_1") != number(again, "xi_1"));
  const Tally bounds = asked.tally("shallow/eq-11");
  CHECK(bounds.cases == 2);
  CHECK(bounds.violations == 0);
  CHECK(bounds.largest == close(expected.mu_squared[1] / expected.bound[1]));
}

TEST_CASE("eta: the pseudo-values give the jackknife of mean(x)/mean(y) - mean(x/y)") {
  std::vector<double> x(40), y(40);
  Stream(1, 0, "x").fill_uniform(x, 1.0, 3.0);
  Stream(1, 0, "y").fill_uniform(y, 0.5, 1.5);
  const auto gap = [&](std::size_t left_out) {
    double x_mean = 0, y_mean = 0, ratio = 0, count = 0;
    for (std::size_t i = 0; i < 40; ++i) {
      if (i == left_out) continue;
      x_mean += x[i];
      y_mean += y[i];
      ratio += x[i] / y[i];
      count += 1;
    }
    return x_mean / y_mean - ratio / count;
  };
  const std::vector<double> values = eta::ratio_gap_pseudo_values(x, y);
  const Summary summary = summarize(values);
  CHECK(summary.mean == close(gap(99)));
  // The jackknife variance of the estimate is (n - 1)/n times the sum of squared deviations of the
  // leave-one-out estimates from their mean.
  double mean = 0, squares = 0;
  for (std::size_t i = 0; i < 40; ++i) mean += gap(i) / 40;
  for (std::size_t i = 0; i < 40; ++i) squares += std::pow(gap(i) - mean, 2);
  CHECK(std::pow(standard_error(summary), 2) == close(39.0 / 40 * squares, 1e-9));
  // If y is constant, the two means are equal.
  for (const double value : eta::ratio_gap_pseudo_values(x, std::vector<double>(40, 2.0))) {
    CHECK(std::abs(value) < 40 * tolerance::closed_form<double>);
  }
  for (const double value : eta::ratio_gap_pseudo_values({1, 2}, {1, 3})) CHECK(std::isnan(value));
}

TEST_CASE(
    "eta: with exact expectations Figure 8 (b) fails at small t, with sample means it holds") {
  const Result result = run_eta({}, 50, 3);
  CHECK(verdict(result, "shallow/fig-8a") == Verdict::holds);
  CHECK(verdict(result, "shallow/fig-8b") == Verdict::fails);
  // The paper does not say what varies: the reading under which it is right is the paper's.
  CHECK(find_claim(result, "shallow/fig-8b").kind == Kind::beyond);
  CHECK(find_claim(result, "shallow/fig-8b/sample-means").kind == Kind::reading);
  CHECK(verdict(result, "shallow/fig-8c") == Verdict::holds);
  for (const char* id :
       {"shallow/fig-8a/sample-means", "shallow/fig-8b/sample-means", "shallow/fig-8c/sample-means",
        "shallow/eq-9", "shallow/eq-11", "shallow/lemma-A.1", "shallow/lemma-A.1/gamma"}) {
    CAPTURE(id);
    CHECK(verdict(result, id) == Verdict::holds);
  }
  // As t -> 0, xi_1 = ||u + W'u||^2/||u||^2 has variance 6/d.
  const double n = 49;
  for (const double d : {10.0, 40.0}) {
    const double spread = find_series(result, d == 10 ? "d=10.eta_std" : "d=40.eta_std").mean[0];
    CHECK(std::abs(spread / std::sqrt(6 / d) - 1) < tolerance::standard_errors * std::sqrt(2 / n));
  }
}

TEST_CASE("eta: claims are not judged if their hypotheses are not met") {
  const Result middle = run_eta({{"t", "0.5"}, {"tokens", "6"}}, 12);
  for (const char* id :
       {"shallow/fig-8a", "shallow/fig-8b", "shallow/fig-8c", "shallow/fig-8a/sample-means"}) {
    CHECK(verdict(middle, id) == Verdict::not_applicable);
  }
  CHECK(verdict(middle, "shallow/eq-9") == Verdict::holds);
  CHECK(verdict(run_eta({{"dim", "10"}}, 12), "shallow/fig-8c") == Verdict::not_applicable);
  CHECK(verdict(run_eta({{"alpha", "2"}}, 12), "shallow/lemma-A.1/gamma") ==
        Verdict::not_applicable);
  const Result few = run_eta({{"tokens", "6"}}, 2);
  CHECK(verdict(few, "shallow/eq-9") == Verdict::not_applicable);
  CHECK(verdict(few, "shallow/fig-8b/sample-means") == Verdict::not_applicable);
  CHECK(std::isnan(find_series(few, "d=10.eta_sample_means").mean[0]));
}

TEST_CASE("eta: no sample depends on the threads, the other dimensions or the other values of t") {
  const Result all = run_eta({{"tokens", "12"}, {"dim", "4,6"}, {"t", "0.2,0.5,1"}}, 6, 4);
  const Result one = run_eta({{"tokens", "12"}, {"dim", "6"}, {"t", "0.5"}}, 6);
  for (const char* name : {"d=6.eta", "d=6.xi_2", "d=6.expected_xi_1"}) {
    CHECK(find_series(all, name).mean[1] == find_series(one, name).mean[0]);
    CHECK(find_series(all, name).std[1] == find_series(one, name).std[0]);
  }
}

TEST_CASE("eta: the figure has a row of means and a row of spreads, with one key for each d") {
  const Result result = run_eta({{"tokens", "6"}, {"dim", "2,3"}, {"t", "0.5,1"}}, 12);
  CHECK(result.figure.columns == 2);
  REQUIRE(result.figure.panels.size() == 4);
  const std::vector<std::string> quantities = {"eta", "eta_sample_means", "eta_std",
                                               "eta_sample_means_error"};
  for (std::size_t i = 0; i < quantities.size(); ++i) {
    const std::vector<Curve>& curves = result.figure.panels[i].curves;
    REQUIRE(curves.size() == 2);
    CHECK(curves[0].label == "d = 2");
    CHECK(curves[1].label == "d = 3");
    CHECK(curves[1].series == "d=3." + quantities[i]);
  }
}

TEST_CASE("eta: refused values are reported with the name of their flag") {
  const auto message = [](const FlagValues& values) { return refusal(make_eta_study(), values); };
  CHECK(message({}).empty());
  for (const char* t : {"0", "1.01", "-0.5", "0.5,0.5", "0.1,0.10000001"})
    CHECK(message({{"t", t}}).starts_with("--t: "));
  CHECK(message({{"tokens", "1"}}).starts_with("--tokens: "));
  CHECK(message({{"dim", "0"}}).starts_with("--dim: "));
  CHECK(message({{"alpha", "0"}}).starts_with("--alpha: "));
}

}  // namespace eta_test
