// The study escalation-lemmas agrees with the paper's formulas in the paper's layout (tokens in
// rows), and its expectation by quadrature with integrals and closed forms.
#include "experiments/rank_collapse/escalation/escalation_lemmas.hpp"

#include <doctest/doctest.h>
#include <armadillo>

#include <cmath>

#include "experiments/configured_study.hpp"
#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/result_parts.hpp"

namespace escalation_lemmas_test {

using namespace ranklab;
namespace study = ranklab::escalation_lemmas;

namespace {

const FlagValues tiny = {{"tokens", "6"}, {"dim", "16,8"}, {"t", "1,0.25"}, {"alpha", "1.5,1"}};

// The dense formulas for the rest lose digits if the rest of P X is small.
constexpr double after_cancellation = 1e-10;

doctest::Approx close(double expected, double relative = tolerance::residual<double>) {
  return doctest::Approx(expected).scale(0).epsilon(relative);
}

// Of these flags; the study sorts their values.
std::vector<study::Cell> tiny_cells() {
  study::Config config;
  config.tokens = 6;
  config.dim = {8, 16};
  config.t = {0.25, 1};
  config.alpha = {1, 1.5};
  return config.cells();
}

Records tiny_records(std::uint64_t trials) {
  return records_of(*configured(make_escalation_lemmas_study(), tiny), trials);
}

double squared(const arma::mat& A) {
  return arma::accu(arma::square(A));
}

arma::mat normals(std::uint64_t trial, const std::string& name, arma::uword rows, arma::uword cols,
                  double deviation) {
  arma::mat A(rows, cols);
  Stream(Pool::Settings{}.seed, trial, name).fill_normal({A.memptr(), A.n_elem}, deviation);
  return A;
}
arma::mat uniforms(const std::string& name, arma::uword size, double bound) {
  arma::mat A(size, size);
  Stream(Pool::Settings{}.seed, 0, name).fill_uniform({A.memptr(), A.n_elem}, -bound, bound);
  return A;
}

// P, with tokens in rows. Sinkhorn's scaling is written as vectors that multiply the kernel.
arma::mat dense_attention(study::Attention attention, const arma::mat& X, const arma::mat& W_q,
                          const arma::mat& W_k) {
  const arma::mat keys = X * (attention == study::Attention::symmetric ? W_q : W_k);
  arma::mat P = arma::exp(X * W_q * keys.t() / std::sqrt(static_cast<double>(X.n_cols)));
  if (attention == study::Attention::softmax) {
    for (arma::uword i = 0; i < P.n_rows; ++i) P.row(i) /= arma::accu(P.row(i));
    return P;
  }
  arma::vec u(P.n_rows, arma::fill::ones), v = u;
  for (int k = 0; k < 4000; ++k) {
    u = 1 / (P * v);
    v = 1 / (P.t() * u);
  }
  return arma::diagmat(u) * P * arma::diagmat(v);
}

// The integral of f(w) times the standard normal density, by Simpson's rule.
template <class F>
double normal_mean(F f) {
  constexpr int steps = 40000;
  constexpr double end = 10, width = 2 * end / steps;
  double sum = 0;
  for (int k = 0; k <= steps; ++k) {
    const double w = -end + k * width, weight = k == 0 || k == steps ? 1 : k % 2 == 1 ? 4 : 2;
    sum += weight * f(w) * std::exp(-w * w / 2);
  }
  return sum * width / 3 / std::sqrt(2 * arma::datum::pi);
}

Verdict verdict_if(Records records, const char* name, double factor, const std::string& id) {
  for (TrialRecord& record : records) {
    std::vector<double> values = record.array(name);
    for (double& value : values) value *= factor;
    record.set(name, values);
  }
  return find_claim(result_of(make_escalation_lemmas_study(), tiny, records), id).verdict;
}

}  // namespace

TEST_CASE("escalation-lemmas: a draw equals the paper's formulas, with projections written out") {
  const std::vector<study::Cell> cells = tiny_cells();
  const Records records = tiny_records(2);
  const arma::uword n = 6;
  const arma::vec e(n, arma::fill::value(1 / std::sqrt(static_cast<double>(n))));
  const arma::mat Pi[2] = {e * e.t(), arma::mat(n, n, arma::fill::eye) - e * e.t()};
  REQUIRE(cells.size() == 24);
  for (const study::Cell& cell : cells) {
    CAPTURE(cell.index);
    const auto recorded = [&](const std::string& name) {
      return records[1].array(name)[cell.index];
    };
    const arma::uword d = cell.dim;
    const std::string prefix = "d=" + std::to_string(d) + "/";
    const double root = std::sqrt(static_cast<double>(d));
    const arma::mat X =
        e * normals(0, prefix + "v", d, 1, 1).t() + cell.t * normals(0, prefix + "Q", d, n, 1).t();
    const arma::mat P = dense_attention(cell.attention, X, uniforms(prefix + "W_q", d, 1 / root),
                                        uniforms(prefix + "W_k", d, 1 / root));
    const arma::mat W = normals(1, prefix + "W", d, d, 1 / root), S = cell.alpha * P * X * W,
                    Y = X + S;
    CHECK(recorded("omega") ==
          doctest::Approx(arma::norm(e.t() * P * Pi[1] * X) / arma::norm(e.t() * X))
              .scale(1)
              .epsilon(tolerance::residual<double>));
    CHECK(recorded("delta") == close(arma::svd(Pi[1] * P)(0), after_cancellation));
    for (const std::size_t i : {0u, 1u}) {
      const double whole = squared(Pi[i] * X);
      const std::string number = std::to_string(i + 1);
      CHECK(recorded("mu_" + number + "_squared") ==
            close(squared(Pi[i] * P * X) / whole, after_cancellation));
      CHECK(recorded("linear_size_" + number) ==
            close(cell.alpha * arma::norm(X.t() * P.t() * Pi[i] * X, "fro") / whole,
                  after_cancellation));
      CHECK(recorded("xi_" + number) == close(squared(Pi[i] * Y) / whole));
      CHECK(recorded("quadratic_" + number) ==
            close(squared(Pi[i] * S) / whole, after_cancellation));
      CHECK(recorded("linear_" + number) ==
            doctest::Approx(2 * arma::trace(X.t() * Pi[i] * S) / whole)
                .scale(1)
                .epsilon(tolerance::residual<double>));
      // eq. (27): with B = I (x) alpha Pi_i P X as a matrix on the entries of W.
      const arma::mat B = arma::kron(arma::mat(d, d, arma::fill::eye), cell.alpha * Pi[i] * P * X) /
                          std::sqrt(whole);
      const arma::vec a = arma::vectorise(Pi[i] * X) / std::sqrt(whole);
      CHECK(study::kappa(cell, records[1], i, study::Kappa::from_27) ==
            close(squared(B) + arma::norm(B.t() * a), after_cancellation));
      CHECK(study::kappa(cell, records[1], i, study::Kappa::without_d) ==
            close(squared(B) / static_cast<double>(d) + arma::norm(B.t() * a), after_cancellation));
    }
    const double similarity = squared(Pi[0] * X) / squared(X),
                 diversity_after = squared(Pi[1] * Y) / squared(Y);
    CHECK(recorded("token_similarity") == close(similarity));
    CHECK(recorded("rate") == close((1 - similarity) / diversity_after, 1e-11));
  }
}

TEST_CASE("escalation-lemmas: the growth of a pre-norm block equals eq. (19), token by token") {
  const Records records = tiny_records(2);
  const arma::uword n = 6;
  const arma::rowvec e(n, arma::fill::value(1 / std::sqrt(static_cast<double>(n))));
  const std::uint64_t dims[] = {8, 16};
  for (const std::size_t k : {0u, 1u}) {
    const arma::uword d = dims[k];
    const double root = std::sqrt(static_cast<double>(d));
    const std::string prefix = "d=" + std::to_string(d) + "/";
    const arma::mat X =
        (normals(0, prefix + "v", d, 1, 1) * e + normals(0, prefix + "Q", d, n, 1)).t();
    const auto normalized = [](arma::mat A) {
      for (arma::uword i = 0; i < A.n_rows; ++i)
        A.row(i) = (A.row(i) - arma::mean(A.row(i))) / arma::stddev(A.row(i), 1);
      return A;
    };
    const arma::mat X_hat = normalized(X),
                    P = dense_attention(study::Attention::softmax, X_hat,
                                        uniforms(prefix + "W_q", d, 1 / root),
                                        uniforms(prefix + "W_k", d, 1 / root)),
                    Y = X + P * X_hat * normals(1, prefix + "W", d, d, 1 / root),
                    scores = normalized(Y) * normals(1, prefix + "W_1", d, 2 * d, 1 / root),
                    Z = Y + (scores % (scores > 0)) *
                                normals(1, prefix + "W_2", 2 * d, d, 1 / (root * std::sqrt(2.0)));
    CHECK(records[1].array("pre_norm_growth")[k] ==
          close((squared(Y) - squared(X)) / squared(P * X_hat)));
    arma::mat rest = X;
    rest.each_row() -= arma::mean(X, 0);
    const arma::mat mixed =
        dense_attention(study::Attention::softmax, rest, uniforms(prefix + "W_q", d, 1 / root),
                        uniforms(prefix + "W_k", d, 1 / root)) *
        rest;
    CHECK(records[1].array("de_escalated_growth")[k] ==
          close((squared(rest + mixed * normals(1, prefix + "W", d, d, 1 / root)) - squared(rest)) /
                    squared(mixed),
                after_cancellation));
    CHECK(records[1].array("pre_norm_net_growth")[k] ==
          close((squared(Z) - squared(Y)) / (0.5 * static_cast<double>(n * d))));
  }
}

TEST_CASE("escalation-lemmas: Sinkhorn's scaling of two rows has a closed form") {
  const arma::mat kernel = {{3, 0.5}, {0.25, 7}};
  const double p = 1 / (1 + std::sqrt(0.5 * 0.25 / (3.0 * 7)));
  const arma::mat P = study::doubly_stochastic(kernel);
  CHECK(P(0, 0) == close(p));
  CHECK(P(1, 1) == close(p));
  CHECK(P(0, 1) == close(1 - p));
  CHECK_THROWS_AS(study::doubly_stochastic(arma::mat{{1, 1}, {0, 1}}), Failure);
}

TEST_CASE("escalation-lemmas: E[xi_1/xi_2] by quadrature equals an integral over one weight") {
  const arma::mat X = {{1.0, -0.4, 0.7}}, PX = {{0.3, 0.5, -0.2}};
  for (const double alpha : {0.5, 1.0, 2.0}) {
    const auto ratio = [&](double w) {
      const arma::mat Y = X + alpha * w * PX;
      const double before = arma::accu(X), after = arma::accu(Y);
      return after * after / (before * before) * squared(X - before / 3) / squared(Y - after / 3);
    };
    CHECK(study::expected_ratio(X, PX, alpha) == close(normal_mean(ratio), 1e-10));
  }
}

TEST_CASE("escalation-lemmas: E[xi_1/xi_2] is E[xi_1] if the step leaves the rest unchanged") {
  const arma::mat X = {{1.0, -0.4, 0.7, 2}, {0.1, 1, -0.3, 0.2}},
                  PX = {{0.5, 0.5, 0.5, 0.5}, {-0.25, -0.25, -0.25, -0.25}};
  const arma::vec mean = arma::mean(X, 1), mixed = PX.col(0);
  CHECK(study::expected_ratio(X, PX, 2) == close(1 + 4 * squared(mixed) / squared(mean), 1e-12));
}

TEST_CASE("escalation-lemmas: the constant of the lemmas bounds the exact tails") {
  for (const double d : {1.0, 2.0, 16.0, 64.0}) {
    for (double eps = 0.05; eps < 1; eps += 0.05) {
      const double exponent = -study::lemma_constant * eps * eps * d;
      // (25): 2 <a, w> / ||a|| is N(0, 4/d).
      CHECK(std::erfc(eps * std::sqrt(d / 8)) / 2 <= std::exp(exponent));
      // (28): a term of rank one, ||x_P||^2 times chi^2_d / d.
      CHECK(log_chi_squared_tail(d, eps) <= exponent);
    }
  }
  // No constant above it bounds (25) for all eps and d.
  CHECK(std::erfc(50 / std::sqrt(8.0)) / 2 > std::exp(-1.02 * study::lemma_constant * 2500));
}

TEST_CASE("escalation-lemmas: each verdict turns if its number is wrong") {
  const Records records = tiny_records(2000);
  const auto turns = [&](const std::string& id, const char* array, double factor) {
    CAPTURE(id);
    CHECK(verdict_if(records, array, 1, id) == Verdict::holds);
    CHECK(verdict_if(records, array, factor, id) == Verdict::fails);
  };
  turns("shallow/eq-25", "linear_1", 100);
  turns("shallow/eq-27", "xi_1", 20);
  turns("shallow/eq-28", "xi_1", 20);
  turns("shallow/eq-28/without-d", "xi_2", 4);
  turns("shallow/prop-2.5", "expected_ratio", 1.2);
  turns("shallow/prop-2.5", "rate", 1.2);
  turns("shallow/cor-2.7/mu-1", "mu_1_squared", 1.001);
  turns("shallow/cor-2.7/delta", "lambda_2", 1.001);
  turns("shallow/cor-2.7/alpha-1", "expected_ratio", 0.5);
  turns("shallow/eq-17/symmetric", "expected_ratio", 0.5);
  turns("shallow/eq-16/doubly-stochastic", "expected_ratio", 0.5);
  turns("shallow/eq-20", "pre_norm_growth", 1.2);
  turns("shallow/eq-20/net", "pre_norm_net_growth", 1.2);
  turns("shallow/sec-1.3/input", "de_escalated_growth", 2);
  // kappa_1 that grows with d.
  Records growing = records;
  std::vector<double> mu = records.front().array("mu_1_squared");
  for (const study::Cell& cell : tiny_cells()) mu[cell.index] *= static_cast<double>(cell.dim);
  for (TrialRecord& record : growing) record.set("mu_1_squared", mu);
  CHECK(verdict_if(records, "mu_1_squared", 1, "shallow/eq-28/decay/corrected") == Verdict::holds);
  CHECK(verdict_if(growing, "mu_1_squared", 1, "shallow/eq-28/decay/corrected") == Verdict::fails);
}

TEST_CASE("escalation-lemmas: with the kappa of (27) the exponent of (28) shrinks as d doubles") {
  const Result result = result_of(make_escalation_lemmas_study(), tiny, tiny_records(3));
  // Doubly stochastic P has mu_1 = 1 and ||B'a|| = alpha, so the exponent is a multiple of
  // d/(d alpha^2 + alpha)^2; 2 kinds of attention, 2 t and 2 alpha go from d = 8 to d = 16.
  const Claim &printed = find_claim(result, "shallow/eq-28/decay/as-printed"),
              &corrected = find_claim(result, "shallow/eq-28/decay/corrected");
  const auto evidence = [](const Claim& claim) { return std::get<CountEvidence>(claim.evidence); };
  CHECK(evidence(printed).cases == 8);
  CHECK(evidence(printed).violations == 8);
  CHECK(evidence(printed).worst == close(2 * std::pow(19.5 / 37.5, 2), after_cancellation));
  CHECK(evidence(corrected).cases == 8);
  CHECK(evidence(corrected).violations == 0);
  CHECK(evidence(corrected).worst == close(2, after_cancellation));
  CHECK(printed.statement_id == "shallow/lemma-A.5");
  CHECK(printed.part == Part::proof);
  CHECK(printed.slip == "shallow/lemma-A.5/kappa");
  CHECK(corrected.slip.empty());
  CHECK(corrected.misprint_of == printed.id);
}

TEST_CASE("escalation-lemmas: (26) is compared with the tail of a squared normal number") {
  // The probabilities of one and of two standard deviations, and 0.305506 for a square of 1.05.
  CHECK(study::tail_of_one_row(0) == close(0.317310507863, 1e-11));
  CHECK(study::tail_of_one_row(3) == close(0.045500263896, 1e-10));
  const Result result = result_of(make_escalation_lemmas_study(), tiny, tiny_records(3));
  const Claim& claim = find_claim(result, "shallow/eq-26");
  CHECK(claim.measured == close(0.305506 - std::exp(-0.0025 / 8), 2e-6));
  CHECK(claim.verdict == Verdict::holds);
  CHECK(claim.kind == Kind::asymptotic);
  CHECK(claim.threshold == "c = 1/8");
}

TEST_CASE("escalation-lemmas: a product of matrices with lambda_2 = 0 need not mix the tokens") {
  // x = (0, 0, 1) becomes (0, 1, 1), then (0, 0, 1) again.
  for (const int factors : {0, 1, 2, 3, 61}) {
    CAPTURE(factors);
    CHECK(study::rest_after_products(factors) == close(1));
  }
  const Result result = result_of(make_escalation_lemmas_study(), tiny, tiny_records(3));
  const Claim& claim = find_claim(result, "shallow/sec-2.2.1/products");
  CHECK(claim.verdict == Verdict::fails);
  CHECK(claim.slip == claim.id);
  CHECK(claim.statement_id == "shallow/sec-2.2.1");
  // With the skip (0, 0, 1) becomes (0, 1, 2)/2, then (0, 1, 3)/4. The last value is from Python.
  CHECK(study::rest_after_products(2, 1) == close(std::sqrt(7.0 / 16)));
  CHECK(study::rest_after_products(60, 1) == close(3.072389774869186e-06, 1e-9));
  CHECK(find_claim(result, "shallow/sec-2.2.1/skip").verdict == Verdict::holds);
}

TEST_CASE("escalation-lemmas: ReLU raises the similarity of opposite tokens from 0 to 1/2") {
  const study::Similarities opposite = study::opposite_tokens_after_relu(),
                            equal = study::equal_tokens_after_relu();
  CHECK(opposite.before == 0);
  CHECK(opposite.after == close(0.5));
  CHECK(equal.before == close(1));
  CHECK(equal.after == close(1));
  const Result result = result_of(make_escalation_lemmas_study(), tiny, tiny_records(3));
  const Claim& printed = find_claim(result, "shallow/sec-2.3/relu/as-printed");
  CHECK(printed.verdict == Verdict::fails);
  CHECK(printed.slip == "shallow/sec-2.3/similarity");
  CHECK(find_claim(result, "shallow/sec-2.3/relu/corrected").verdict == Verdict::holds);
}

TEST_CASE("escalation-lemmas: (16) needs the variance 1/d, not a sub-Gaussian norm of 1/sqrt(d)") {
  // The limits for large d are v (1 - 0.01)/(1 + 0.01 v); 4000 draws in Python at d = 64 give 0.369
  // and 0.986, with standard errors of 0.003 and 0.005.
  for (const double v : {3.0 / 8, 1.0}) {
    CAPTURE(v);
    CHECK(study::excess_of_example(v) == close(v * 0.99 / (1 + 0.01 * v), 0.005));
  }
  const Result result = result_of(make_escalation_lemmas_study(), tiny, tiny_records(3));
  const Claim& printed = find_claim(result, "shallow/thm-2.6/norm/as-printed");
  CHECK(printed.verdict == Verdict::fails);
  CHECK(printed.part == Part::definition);
  CHECK(std::get<std::pair<double, double>>(printed.expected).first == close(0.91 / 1.09));
  CHECK(find_claim(result, "shallow/thm-2.6/norm/corrected").verdict == Verdict::holds);
}

TEST_CASE("escalation-lemmas: statements for large d or with an open constant are asymptotic") {
  const Result result = result_of(make_escalation_lemmas_study(), tiny, tiny_records(3));
  for (const char* id : {"shallow/eq-25", "shallow/eq-27", "shallow/eq-28"})
    CHECK(find_claim(result, id).threshold == "c = 1/8");
  for (const char* id : {"shallow/cor-2.7/alpha-1", "shallow/eq-17/symmetric",
                         "shallow/eq-16/doubly-stochastic", "shallow/eq-16/softmax"}) {
    CAPTURE(id);
    CHECK(find_claim(result, id).kind == Kind::asymptotic);
    CHECK(find_claim(result, id).threshold == "(15) at least 0.0001, d at least 8");
  }
  CHECK(find_claim(result, "shallow/cor-2.7/delta").kind == Kind::theorem);
}

TEST_CASE("escalation-lemmas: few draws or one d decide nothing that needs more") {
  const Result two = run_configured(make_escalation_lemmas_study(), tiny, 2);
  CHECK(find_claim(two, "shallow/eq-25").verdict == Verdict::not_applicable);
  const Result one = run_configured(make_escalation_lemmas_study(),
                                    {{"tokens", "6"}, {"dim", "4"}, {"t", "1"}, {"alpha", "1"}}, 3);
  CHECK(find_claim(one, "shallow/eq-28/decay/corrected").verdict == Verdict::not_applicable);
  CHECK(find_claim(one, "shallow/eq-16/doubly-stochastic").verdict == Verdict::not_applicable);
}

}  // namespace escalation_lemmas_test
