// The quantities in the proofs of Theorems 3.7 and 3.9 and Corollary 3.8, Lemma 3.1, (1.9) and the
// time of gradient descent, computed again from the drawn matrices by series, loops, rotations and
// iteration.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "experiments/result_parts.hpp"
#include "experiments/spike_plus_bulk/drawn_features.hpp"
#include "experiments/spike_plus_bulk/features/features.hpp"
#include "run/pool.hpp"

namespace features_proofs_test {

using namespace ranklab;
using namespace ranklab::features;
using namespace drawn_features;
using std::numbers::pi;

namespace {

doctest::Approx close(double expected, double error = 1e-9) {
  return doctest::Approx(expected).epsilon(error).scale(1.0);
}

Records records_of(const Config& config, std::uint64_t trials) {
  Pool pool({.seed = seed, .trials = trials}, nullptr);
  return pool.run(each_trial([&](Trial& trial) { return run_trial(config, trial); }));
}

const TrialRecord& teacher_record() {
  static const TrialRecord record = [] {
    Config config{LabelModel::teacher};
    config.k = {8, 32};
    config.wide_d = {4, 6, 9};
    return run_trial(config, Trial(seed, 0, 0));
  }();
  return record;
}

double got(const char* name) {
  return teacher_record().scalar(std::string("k32.") + name);
}

// phi(t) - pi t/2 - t^2/2, the integral of the series of arcsin without its first term.
double remainder_by_series(double t) {
  double coefficient = 1.0, power = t * t, sum = 0.0;
  for (int n = 1; n < 200; ++n) {
    coefficient *= (2.0 * n - 1.0) / (2.0 * n);
    power *= t * t;
    sum += coefficient / (2.0 * n + 1.0) * power / (2.0 * n + 2.0);
  }
  return sum;
}

// Sigma_ij = E[relu(v-bar_i x) relu(v_j x)] - the product of the means, from that series.
arma::mat sigma_by_series(const arma::mat& V_bar, const arma::mat& V) {
  arma::mat Sigma(V_bar.n_rows, V.n_rows);
  for (arma::uword i = 0; i < Sigma.n_rows; ++i) {
    for (arma::uword j = 0; j < Sigma.n_cols; ++j) {
      const double norms = arma::norm(V_bar.row(i)) * arma::norm(V.row(j));
      const double t = arma::dot(V_bar.row(i), V.row(j)) / norms;
      Sigma(i, j) = norms / (2.0 * pi) * (pi / 2.0 * t + t * t / 2.0 + remainder_by_series(t));
    }
  }
  return Sigma;
}

arma::vec lengths(const arma::mat& V) {
  arma::vec norms(V.n_rows);
  for (arma::uword i = 0; i < V.n_rows; ++i) norms(i) = arma::norm(V.row(i));
  return norms;
}

// The losses of L(W) = ||W A - Y||_F^2/(2n) at W_0 = 0, W_1, ... with the step 1/||B||.
std::vector<double> losses(const arma::mat& A, const arma::mat& Y, double eta, std::size_t steps) {
  const double n = static_cast<double>(A.n_cols);
  arma::mat W(Y.n_rows, A.n_rows, arma::fill::zeros);
  std::vector<double> out;
  for (std::size_t t = 0; t <= steps; ++t) {
    const arma::mat residual = W * A - Y;
    out.push_back(arma::dot(residual, residual) / (2.0 * n));
    W -= eta * residual * A.t() / n;
  }
  return out;
}

}  // namespace

TEST_CASE("the Taylor remainder (3.16) equals its power series") {
  const Drawn drawn(32);
  const arma::mat cosines =
      (drawn.V_bar * drawn.V.t()) / (lengths(drawn.V_bar) * lengths(drawn.V).t());
  arma::mat rest = cosines;
  rest.transform(remainder_by_series);
  const double largest = arma::abs(cosines).max();
  CHECK(got("cross_cosine") == close(largest));
  CHECK(got("taylor_remainder") == close(spectral_norm(rest)));
  CHECK(got("fourth_derivative") ==
        close(24.0 * remainder_by_series(largest) / std::pow(largest, 4)));
}

TEST_CASE("the moments of the squared products equal sums over the entries") {
  const Drawn drawn(32);
  const double k = 32.0, d = 16.0;
  const arma::mat& V = drawn.V;
  // The printed entries of E z z' given V, and the average of z z' over the rows of V-bar.
  arma::mat expected(32, 32), found(32, 32, arma::fill::zeros), Z(32, 32);
  double fourth = 0.0, defect = 0.0, largest = 0.0;
  for (arma::uword j = 0; j < 32; ++j) {
    const double q_j = arma::dot(V.row(j), V.row(j));
    defect += (q_j - 1.0) * (q_j - 1.0);
    largest = std::max(largest, q_j);
    for (arma::uword l = 0; l < 32; ++l) {
      const double q_l = arma::dot(V.row(l), V.row(l)), product = arma::dot(V.row(j), V.row(l));
      expected(j, l) = (q_j * q_l + 2.0 * product * product - q_j - q_l + 1.0) / (d * d);
      if (j != l) fourth += std::pow(product, 4);
      Z(j, l) = std::pow(arma::dot(drawn.V_bar.row(j), V.row(l)), 2) - 1.0 / d;
    }
  }
  for (arma::uword i = 0; i < 32; ++i) found += Z.row(i).t() * Z.row(i) / k;
  CHECK(got("row_trace") == close(arma::trace(found) / arma::trace(expected)));
  CHECK(got("row_sum") == close(arma::accu(found) / arma::accu(expected)));
  CHECK(got("square_mean") == close(1.0 + d * arma::accu(Z) / (k * k)));
  CHECK(got("square_error") == close(spectral_norm(Z)));
  CHECK(got("norm_defect") == close(defect / (2.0 * k / d)));
  CHECK(got("fourth_powers") == close(fourth * d * d / (k * k)));
  CHECK(got("largest_squared_norm") == close(largest));
}

TEST_CASE("Corollary 3.8: concentration, the limit of many samples and (3.17) are right") {
  const Drawn drawn(32);
  const double n = 64.0, d = 16.0;
  const arma::mat Sigma = sigma_by_series(drawn.V_bar, drawn.V);
  const arma::mat linear = drawn.V_bar * drawn.V.t();
  const arma::vec mu = lengths(drawn.V) / std::sqrt(2.0 * pi),
                  nu = lengths(drawn.V_bar) / std::sqrt(2.0 * pi);
  const arma::vec mean = arma::mean(drawn.A, 1), mean_bar = arma::mean(drawn.A_bar, 1);
  CHECK(got("mean_shift") == close(arma::norm(mean - mu)));
  CHECK(got("teacher_mean_shift") == close(arma::norm(mean_bar - nu)));
  const arma::mat centered =
      (drawn.A_bar.each_col() - mean_bar) * (drawn.A.each_col() - mean).t() / n;
  CHECK(got("cross_sigma_error") == close(spectral_norm(centered - Sigma)));
  const arma::mat printed = Sigma - nu * mu.t() / d, corrected = Sigma - nu * mu.t() / (2.0 * d);
  CHECK(got("population_error_as_printed") == close(spectral_norm(printed - linear / (2.0 * pi))));
  CHECK(got("population_error_corrected") == close(spectral_norm(corrected - linear / 4.0)));
  CHECK(got("population_tail_as_printed") == close(svd_by_rotations(printed).s(16)));
  CHECK(got("population_tail_corrected") == close(svd_by_rotations(corrected).s(16)));
  CHECK(got("factor_bound") ==
        close(svd_by_rotations(drawn.V).s(15) * svd_by_rotations(drawn.V_bar).s(15)));
  const arma::vec lambda = arma::square(svd_by_rotations(drawn.A).s) / n;
  CHECK(got("spike") == close(lambda(0)));
  CHECK(got("bulk_max") == close(lambda(1)));
  CHECK(got("bulk_min") == close(lambda(31)));
  const arma::vec s = svd_by_rotations(drawn.A_bar * drawn.A.t() / n).s;
  CHECK(got("cross_sigma_d") == close(s(15)));
  CHECK(got("cross_sigma_d_minus_1") == close(s(14)));
  CHECK(got("cross_interlacing_violations") == 0.0);
}

TEST_CASE("Theorem 3.7 with many features: both errors equal those of the whole matrix") {
  const Trial trial(seed, 0, 0);
  const double d = 9.0;
  const arma::uword k = 47;  // 9^(7/4) = 46.77
  const arma::mat V = normal(trial, "wide.V/k=47", k, 9, 1.0 / 3.0),
                  V_bar = normal(trial, "wide.V-bar/k=47", k, 9, 1.0 / 3.0);
  const arma::mat rest = sigma_by_series(V_bar, V) - V_bar * V.t() / 4.0;
  const arma::mat with_norms = rest - lengths(V_bar) * lengths(V).t() / (4.0 * pi * d);
  const arma::mat with_ones = rest - 1.0 / (4.0 * pi * d);
  const arma::vec ones(k, arma::fill::ones);
  const TrialRecord& record = teacher_record();
  // The series converges slowly for the largest cosines of so few dimensions.
  CHECK(record.scalar("wide9.wide_error_norms") == close(spectral_norm(with_norms), 1e-7));
  const double bound = arma::norm(with_ones.t() * ones) / std::sqrt(47.0);
  CHECK(record.scalar("wide9.wide_error_ones") == close(bound, 1e-7));
  CHECK(bound <= spectral_norm(with_ones));
}

TEST_CASE("the proof of Theorem 3.9: blocks, Q and norms follow from T = B-bar (I - eta B)") {
  const Drawn drawn(32);
  const double n = 64.0;
  const arma::mat B = drawn.A * drawn.A.t() / n, B_bar = drawn.A_bar * drawn.A.t() / n;
  const RotatedSvd gram = svd_by_rotations(B), cross = svd_by_rotations(B_bar);
  const double eta = 1.0 / (1.0 + gram.s(0));
  const arma::vec l = gram.U.col(0), r = cross.V.col(0);
  const double cosine = arma::dot(l, r);
  CHECK(got("block_row") == close(arma::norm(r - cosine * l)));
  CHECK(got("block_column") == close(arma::norm(l - cosine * r)));
  CHECK(got("angle_error") < 1e-12);
  CHECK(got("step_factor") == close(1.0 - eta * gram.s(0)));
  // L-bar' T L = Diag(1, s_2, ...) Q.
  arma::vec scale = cross.s;
  scale(0) = 1.0;
  const arma::mat T = B_bar - eta * B_bar * B;
  arma::mat Q = cross.U.t() * T * gram.U;
  Q.each_col() /= scale;
  const arma::vec q = svd_by_rotations(Q).s;
  CHECK(got("Q_max") == close(q(0)));
  CHECK(got("Q_min") == close(q(31), 1e-8));
  CHECK(got("corner") == close(std::fabs(Q(0, 0))));
  CHECK(got("corner_row") == close(arma::norm(Q.submat(0, 1, 0, 31))));
  CHECK(got("corner_error") == close(arma::norm(Q.submat(1, 0, 31, 0))));
  const arma::vec D = svd_by_rotations(Q.submat(1, 1, 31, 31)).s;
  CHECK(got("D_max") == close(D(0)));
  CHECK(got("D_min") == close(D(30), 1e-8));
  Q.submat(1, 0, 31, 0).zeros();
  CHECK(got("blocked_min") == close(svd_by_rotations(Q).s(31), 1e-8));

  const arma::mat rotated = drawn.W_bar * cross.U;
  arma::mat H = rotated;
  H.each_row() %= scale.t();
  const arma::vec h = svd_by_rotations(H).s, g = svd_by_rotations(drawn.W_bar * T).s;
  CHECK(got("H_nuclear") == close(arma::accu(h)));
  CHECK(got("H_frobenius") == close(std::sqrt(arma::accu(arma::square(H)))));
  CHECK(got("M_nuclear") == close(arma::accu(svd_by_rotations(rotated.head_cols(16)).s)));
  CHECK(got("W_norm") == close(spectral_norm(drawn.W_bar)));
  CHECK(got("W_frobenius") == close(std::sqrt(arma::accu(arma::square(drawn.W_bar)))));
  const auto rank = [](const arma::vec& s) { return std::pow(arma::accu(s), 2) / arma::dot(s, s); };
  CHECK(got("rank_quotient") == close(rank(g) / rank(h), 1e-8));
}

TEST_CASE("Hadamard products: worked examples, and how close the counted cases come") {
  const arma::mat signs = {{1.0, 1.0}, {1.0, -1.0}};
  // signs o signs is the matrix of ones, of norm 2; ||signs||_op = sqrt(2), ||signs||_F = 2. The
  // second bound needs Q >= 0.
  const HadamardQuotients indefinite = hadamard_quotients(signs, signs);
  CHECK(indefinite.norm == close(2.0));
  CHECK(indefinite.frobenius == close(1.0));
  CHECK(indefinite.diagonal == close(std::sqrt(2.0)));
  // The second bound takes the diagonal, here 1, and not the largest entry, here 3.
  const arma::mat identity = arma::mat(2, 2, arma::fill::eye);
  CHECK(hadamard_quotients({{1.0, 3.0}, {3.0, 1.0}}, identity).diagonal == close(1.0));
  CHECK(hadamard_quotients({{1.0, 3.0}, {3.0, 1.0}}, identity).frobenius ==
        close(1.0 / (3.0 * std::sqrt(2.0))));
  const arma::mat Q = {{2.0, 1.0}, {1.0, 2.0}}, P = {{1.0, -1.0}, {-1.0, 1.0}};
  const HadamardQuotients definite = hadamard_quotients(Q, P);  // [2 -1; -1 2]
  CHECK(definite.norm == close(3.0));
  CHECK(definite.frobenius == close(3.0 / 4.0));
  CHECK(definite.diagonal == close(3.0 / 4.0));
  // 5 sizes, 3 ranks, and 6, 5 or 2 pairs.
  const Tally first = teacher_record().tally("spectral/lemma-3.1/1"),
              second = teacher_record().tally("spectral/lemma-3.1/2"),
              third = teacher_record().tally("spectral/lemma-3.1/3");
  CHECK(first.cases == 90);
  CHECK(second.cases == 75);
  CHECK(third.cases == 30);
  for (const Tally& tally : {first, second, third}) CHECK(tally.violations == 0);
  CHECK(first.largest == close(1.0));
  CHECK(second.largest == close(1.0));
  CHECK(third.smallest == close(0.0));
}

TEST_CASE("(1.9): the curvature is a second difference of the loss, and the gain is a parabola's") {
  const Drawn drawn(32);
  const double n = 64.0;
  const arma::mat Y = drawn.W_bar * drawn.A_bar, B = drawn.A * drawn.A.t() / n;
  const double largest = spectral_norm(B);
  const auto loss = [&](const arma::mat& W) {
    const arma::mat residual = W * drawn.A - Y;
    return arma::dot(residual, residual) / (2.0 * n);
  };
  arma::mat W(32, 32, arma::fill::zeros);
  for (int t = 0; t < 2; ++t) {
    const std::string end = "_" + std::to_string(t);
    const arma::mat G = (W * drawn.A - Y) * drawn.A.t() / n;
    const RotatedSvd svd = svd_by_rotations(G);
    const arma::mat P = svd.U * svd.V.t();
    const double curvature = loss(W + P) - 2.0 * loss(W) + loss(W - P),
                 slope = (loss(W + P) - loss(W - P)) / 2.0;
    CHECK(got(("hessian_ratio" + end).c_str()) == close(curvature / largest, 1e-7));
    CHECK(got(("gradient_rank" + end).c_str()) ==
          close(std::pow(arma::accu(svd.s), 2) / arma::dot(G, G), 1e-8));
    CHECK(got(("polar_gain" + end).c_str()) ==
          close(slope * slope / (2.0 * curvature) / (arma::dot(G, G) / (2.0 * largest)), 1e-7));
    W -= G / (1.0 + largest);
  }
  CHECK(got("stable_rank") == close(arma::dot(drawn.A, drawn.A) / n / largest));
}

TEST_CASE("the times of gradient descent are those of the iteration") {
  const Drawn drawn(8);
  const double n = 16.0;
  const arma::vec lambda = arma::square(svd_by_rotations(drawn.A).s) / n;
  const double eta = 1.0 / lambda(0);
  CHECK(teacher_record().scalar("k8.decay") == close(-2.0 * std::log(1.0 - lambda(7) / lambda(0))));
  // The projection of Y onto the rows of A leaves the smallest loss.
  const arma::mat rows = svd_by_rotations(drawn.A).V;
  for (const char* which : {"realizable", "teacher"}) {
    const arma::mat Y = drawn.W_bar * (which == std::string("teacher") ? drawn.A_bar : drawn.A);
    const arma::mat rest = Y - (Y * rows) * rows.t();
    const double minimum = arma::dot(rest, rest) / (2.0 * n);
    const std::vector<double> loss = losses(drawn.A, Y, eta, 20000);
    const auto first = [&](double error) {
      std::size_t t = 0;
      while (loss[t] - minimum > error) ++t;
      return static_cast<double>(t);
    };
    const std::vector<double>& relative =
        teacher_record().array(std::string("k8.relative_time_") + which);
    const std::vector<double>& absolute =
        teacher_record().array(std::string("k8.absolute_time_") + which);
    REQUIRE(relative.size() == 3);
    CHECK(relative[0] == first(0.1 * (loss[0] - minimum)));
    CHECK(relative[1] == first(0.01 * (loss[0] - minimum)));
    CHECK(relative[2] == first(0.001 * (loss[0] - minimum)));
    CHECK(absolute[0] == first(1e-4));
    CHECK(absolute[1] == first(1e-7));
  }
}

TEST_CASE("descent_time counts steps of a geometric decay") {
  // (1 - 1/2)^(2t) = 4^-t.
  const arma::vec lambda = {0.5, 1.0}, g = {1.0, 0.0};
  CHECK(remaining_error(lambda, g, 3.0) == close(1.0 / 64.0));
  CHECK(descent_time(lambda, g, 2.0) == 0.0);
  CHECK(descent_time(lambda, g, 0.25) == 1.0);
  CHECK(descent_time(lambda, g, 0.2499) == 2.0);
  CHECK(descent_time(lambda, g, std::pow(4.0, -20) * 1.001) == 20.0);
  CHECK(std::isnan(descent_time({0.0, 1.0}, g, 0.5)));
}

TEST_CASE("statements about the proofs: misprints fail, corrections and inequalities hold") {
  Config config{LabelModel::teacher};
  config.k = {64, 96, 128, 192};
  const Result result = config.report(records_of(config, 8));
  for (const std::string id : {"eq-3.16/derivative/as-printed", "thm-3.7/regime/as-printed",
                               "eq-3.15/singular-values/as-printed", "cor-3.8/expansion/as-printed",
                               "cor-3.8/tail/as-printed", "section-1/gd-time/realizable/as-printed",
                               "section-1/gd-time/teacher/as-printed"}) {
    CAPTURE(id);
    CHECK(find_claim(result, "spectral/" + id).verdict == Verdict::fails);
  }
  for (const std::string id :
       {"eq-3.16/derivative/corrected", "eq-3.16/remainder", "thm-3.7/regime/corrected",
        "eq-3.15/singular-values/corrected", "cor-3.8/expansion/corrected", "eq-3.17/factors",
        "thm-3.9/principal-angles", "lemma-G.1", "lemma-G.2", "lemma-3.1/1", "lemma-3.1/2",
        "lemma-3.1/3", "eq-1.9/first-step", "eq-1.9/guarantee", "eq-1.9/stable-rank",
        "section-1/gd-time/realizable/corrected"}) {
    CAPTURE(id);
    CHECK(find_claim(result, "spectral/" + id).verdict == Verdict::holds);
  }
  for (const std::string id : {"lemma-G.1/index", "lemma-G.2/diagonal"}) {
    CAPTURE(id);
    CHECK(find_claim(result, "spectral/" + id + "/as-printed").verdict == Verdict::fails);
    CHECK(find_claim(result, "spectral/" + id + "/corrected").verdict == Verdict::holds);
  }
  // M = A N with q = p = 2: M M' = [5 2; 2 1], so sigma_2(M) = sqrt(2) - 1 < sigma_2(A) sigma_2(N)
  // = 1, and sigma_3(N) = sqrt(2) - 1, too.
  const std::string sides = "the sides are " + short_number(std::sqrt(2.0) - 1.0) + " and ";
  const auto has_words = [&](const std::string& id, const std::string& words) {
    return find_claim(result, "spectral/" + id).detail.find(words) != std::string::npos;
  };
  CHECK(has_words("lemma-G.1/index/as-printed", sides + "1"));
  CHECK(has_words("lemma-G.1/index/corrected", sides + short_number(std::sqrt(2.0) - 1.0)));
  // s_r = 0 although s_r(Sigma) = 1.
  CHECK(find_claim(result, "spectral/eq-3.15/singular-values/as-printed").measured == close(0.0));
}

TEST_CASE("the time of gradient descent to an absolute error is bounded from above only") {
  Config config{LabelModel::teacher};
  config.k = {8, 16, 32};
  config.wide_d = {4, 6, 9};
  const auto verdict = [&](double power) {
    Records records = records_of(config, 3);
    for (TrialRecord& record : records) {
      for (const Size& size : config.sizes()) {
        const double d = static_cast<double>(size.d), steps = d * std::log(d / 1e-7);
        record.set(size.place() / "absolute_time_realizable",
                   std::vector<double>(3, steps * std::pow(d, power)));
      }
    }
    return find_claim(config.report(records), "spectral/section-3.1.4/gd-time/realizable").verdict;
  };
  CHECK(verdict(0.0) == Verdict::holds);
  CHECK(verdict(-0.5) == Verdict::holds);
  CHECK(verdict(0.5) == Verdict::fails);
}

TEST_CASE("times need more samples than features, and the proofs' statements need relu") {
  const auto judged = [](const Config& config, const std::string& id) {
    return find_claim(config.report(records_of(config, 3)), id);
  };
  Config few{LabelModel::teacher};
  few.k = {8, 12, 16};
  few.n = 8;
  for (const char* id : {"spectral/section-1/gd-time/teacher/corrected", "spectral/lemma-G.1"}) {
    const Claim claim = judged(few, id);
    CHECK(claim.verdict == Verdict::not_applicable);
    CHECK(claim.detail.find("n <= k") != std::string::npos);
  }
  Config absolute = few;
  absolute.n = 0;
  absolute.activation = "abs";
  const Claim claim = judged(absolute, "spectral/thm-3.7/regime/corrected");
  CHECK(claim.verdict == Verdict::not_applicable);
  CHECK(claim.detail.find("relu") != std::string::npos);
}

}  // namespace features_proofs_test
