// The study gradient-rank agrees with a second implementation, which uses the n-sized formulas and
// iterates W itself.
#include "experiments/spike_plus_bulk/gradient_rank.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <armadillo>
#include <cmath>

#include "ensembles/random_features.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/result_parts.hpp"
#include "experiments/spike_plus_bulk/commands.hpp"
#include "svd_by_rotations.hpp"

namespace gradient_rank_test {

using namespace ranklab;

namespace {

constexpr std::uint64_t trials = 3;

Result run_study(LabelModel model, const FlagValues& values, std::uint64_t threads = 1) {
  return run_configured(make_gradient_rank_study(model), values, trials, threads);
}

std::string usage_error(const FlagValues& values) {
  return refusal(make_gradient_rank_study(LabelModel::realizable), values);
}

std::string at_k(std::uint64_t k, const std::string& quantity) {
  return "k" + std::to_string(k) + "." + quantity;
}

// Uses LAPACK for speed, because some tests compute thousands of ranks.
double rank_of(const arma::mat& G) {
  const arma::vec s = arma::svd(G);
  return std::pow(arma::accu(s), 2) / arma::dot(s, s);
}

// The problem at one k, drawn again; its features are max(0, V X)^power.
struct Problem {
  arma::mat A, labelling, Y, W;
  double n() const { return static_cast<double>(A.n_cols); }
  arma::mat B() const { return A * A.t() / n(); }
};

Problem draw(LabelModel model, std::uint64_t k, std::uint64_t index, double power = 1) {
  const Trial trial(1, index, 0);
  const std::string at = "/k=" + std::to_string(k);
  const double v_std = 1 / std::sqrt(static_cast<double>(k) / 2),
               w_std = 1 / std::sqrt(static_cast<double>(k));
  const arma::mat X = draw_gaussian<double>(trial, ("X" + at).c_str(), k / 2, 2 * k, 1.0);
  const auto features = [&](const std::string& name) {
    const arma::mat pre = draw_gaussian<double>(trial, (name + at).c_str(), k, k / 2, v_std) * X;
    return arma::mat(arma::pow(arma::clamp(pre, 0, arma::datum::inf), power));
  };
  const bool teacher = model == LabelModel::teacher;
  Problem problem;
  problem.A = features("V");
  problem.W =
      draw_gaussian<double>(trial, ((teacher ? "W_bar" : "W_sharp") + at).c_str(), k, k, w_std);
  problem.labelling = teacher ? features("V_bar") : problem.A;
  problem.Y = problem.W * problem.labelling;
  return problem;
}

// nr of the gradient at W_0, ..., W_steps.
std::vector<double> iterate(const Problem& problem, double eta, std::uint64_t steps) {
  arma::mat W(problem.W.n_rows, problem.W.n_cols, arma::fill::zeros);
  std::vector<double> ranks;
  for (std::uint64_t t = 0; t <= steps; ++t) {
    const arma::mat G = (W * problem.A - problem.Y) * problem.A.t() / problem.n();
    ranks.push_back(rank_of(G));
    W -= eta * G;
  }
  return ranks;
}

doctest::Approx close(double expected, double tolerance) {
  return doctest::Approx(expected).scale(0).epsilon(tolerance);
}

}  // namespace

TEST_CASE("gradient-rank: the curves equal those of a direct iteration, for both models") {
  for (const LabelModel model : {LabelModel::realizable, LabelModel::teacher}) {
    const Result result = run_study(model, {{"k", "8,40"}, {"steps", "30"}, {"c", "1.5"}});
    for (const std::uint64_t k : {8u, 40u}) {
      std::vector<double> mean(31, 0.0);
      for (std::uint64_t i = 0; i < trials; ++i) {
        const Problem problem = draw(model, k, i);
        const arma::vec lambda = svd_by_rotations(problem.B()).s;
        const double norm = lambda.max();
        const std::vector<double> ranks = iterate(problem, 1 / (1.5 * norm), 30);
        for (std::size_t t = 0; t < mean.size(); ++t)
          mean[t] += ranks[t] / static_cast<double>(trials);
        CHECK(find_scalar(result, at_k(k, "nuclear_rank_0"))[i] == close(ranks[0], 1e-10));
        CHECK(find_scalar(result, at_k(k, "nuclear_rank_1"))[i] == close(ranks[1], 1e-10));
        CHECK(find_scalar(result, at_k(k, "B_norm"))[i] == close(norm, 1e-12));
        // Lemma 3.5 at its own step size.
        const arma::vec t_eta = lambda % (1 - lambda / (norm + 1));
        CHECK(find_scalar(result, at_k(k, "condition_T"))[i] ==
              close(t_eta.max() / t_eta.min(), 1e-9));
        CHECK(find_scalar(result, at_k(k, "nuclear_rank_1_offset"))[i] ==
              close(iterate(problem, 1 / (norm + 1), 1)[1], 1e-10));
        // Assumptions E and G, and the estimate of Sections 3.1.2 and 3.2.2, computed from singular
        // values.
        const arma::vec u = arma::mean(problem.A, 1), v = arma::mean(problem.labelling, 1);
        const arma::vec bulk = svd_by_rotations(problem.B() - u * u.t()).s;
        const arma::vec cross_bulk =
            svd_by_rotations(problem.labelling * problem.A.t() / problem.n() - v * u.t()).s;
        const arma::vec weights = svd_by_rotations(problem.W).s;
        const double spike = arma::norm(u) * arma::norm(v),
                     kappa = arma::norm(problem.W * v) / arma::norm(v);
        const double floor =
            kappa * spike - weights(0) * std::sqrt(arma::dot(cross_bulk, cross_bulk));
        const double bound = std::pow(weights(0) * (spike + arma::accu(cross_bulk)) / floor, 2);
        const double found = find_scalar(result, at_k(k, "nuclear_rank_0_bound"))[i];
        CHECK((floor > 0 ? found == close(bound, 1e-9) : std::isnan(found)));
        CHECK(find_scalar(result, at_k(k, "spike"))[i] == close(arma::dot(u, u), 1e-12));
        CHECK(find_scalar(result, at_k(k, "bulk_largest"))[i] == close(bulk.max(), 1e-12));
        CHECK(find_scalar(result, at_k(k, "bulk_smallest"))[i] == close(bulk.min(), 1e-9));
        if (model == LabelModel::teacher) {
          CHECK(find_scalar(result, at_k(k, "cross_spike"))[i] == close(spike, 1e-12));
          CHECK(find_scalar(result, at_k(k, "cross_bulk_largest"))[i] ==
                close(cross_bulk(0), 1e-12));
          CHECK(find_scalar(result, at_k(k, "cross_bulk_d"))[i] ==
                close(cross_bulk(k / 2 - 1), 1e-9));
        }
        // The relative least-squares residual.
        const arma::mat residual = problem.Y - problem.Y * arma::pinv(problem.A) * problem.A;
        const double least =
            std::pow(arma::norm(residual, "fro") / arma::norm(problem.Y, "fro"), 2);
        CHECK(std::abs(find_scalar(result, at_k(k, "minimum_ratio"))[i] - least) < 1e-12);
        CHECK((least > 1e-3) == (model == LabelModel::teacher));
      }
      const Series& series = find_series(result, at_k(k, "nuclear_rank"));
      REQUIRE(series.x.size() == 31);
      for (std::size_t t = 0; t < mean.size(); ++t) {
        CHECK(series.x[t] == static_cast<double>(t));
        CHECK(series.mean[t] == close(mean[t], 1e-9));
      }
    }
  }
}

TEST_CASE("gradient-rank: the window equals the one found by scanning every iteration") {
  const auto first_where = [](const std::vector<double>& ranks, std::size_t from, auto holds) {
    const auto found =
        std::find_if(ranks.begin() + static_cast<std::ptrdiff_t>(from), ranks.end(), holds);
    REQUIRE(found != ranks.end());
    return static_cast<std::size_t>(found - ranks.begin());
  };
  for (const LabelModel model : {LabelModel::realizable, LabelModel::teacher}) {
    const Problem small = draw(model, 24, 0);
    const std::vector<double> to_the_end =
        iterate(small, 1 / svd_by_rotations(small.B()).s(0), 3500);
    const Result ends = run_study(model, {{"k", "24"}, {"steps", "1"}});
    const std::size_t start = first_where(to_the_end, 0, [](double nr) { return nr >= 3; });
    CHECK(find_scalar(ends, "k24.window_start")[0] == static_cast<double>(start));
    CHECK(find_scalar(ends, "k24.window_end")[0] ==
          static_cast<double>(first_where(to_the_end, start, [](double nr) { return nr < 3; })));
    // At c = 20 the spike takes several steps to decay, so the window opens late.
    const Problem large = draw(model, 64, 0);
    const std::vector<double> to_the_start =
        iterate(large, 1 / (20 * svd_by_rotations(large.B()).s(0)), 60);
    const std::size_t late = first_where(to_the_start, 0, [](double nr) { return nr >= 8; });
    REQUIRE(late > 2);
    const Result starts = run_study(model, {{"k", "64"}, {"steps", "1"}, {"c", "20"}});
    CHECK(find_scalar(starts, "k64.window_start")[0] == static_cast<double>(late));
  }
}

TEST_CASE(
    "gradient-rank: a window that closes, opens again and closes later ends at the first closing") {
  // In trial 6 at k = 12 with squared ReLU, nr is below d/4 = 1.5 for a few hundred iterations
  // between two powers of 2.
  const Problem problem = draw(LabelModel::realizable, 12, 6, 2);
  const std::vector<double> ranks = iterate(problem, 1 / svd_by_rotations(problem.B()).s(0), 4096);
  const auto above = [](double nr) { return nr >= 1.5; };
  const auto start = std::find_if(ranks.begin(), ranks.end(), above),
             end = std::find_if_not(start, ranks.end(), above),
             again = std::find_if(end, ranks.end(), above);
  REQUIRE(again < ranks.begin() + 2048);
  CHECK(*std::min_element(end, again) < 1.45);  // clearly below 1.5, whatever the rounding
  for (std::size_t t = 1; t <= 2048; t *= 2) CHECK(above(ranks[t]));
  CHECK(!above(ranks[4096]));
  const Result result = run_configured(make_gradient_rank_study(LabelModel::realizable),
                                       {{"k", "12"}, {"steps", "1"}, {"activation", "relu2"}}, 7);
  CHECK(find_scalar(result, "k12.window_start")[6] == static_cast<double>(start - ranks.begin()));
  CHECK(find_scalar(result, "k12.window_end")[6] == static_cast<double>(end - ranks.begin()));
}

TEST_CASE("gradient-rank: the choice of recorded steps, sizes and threads changes no number") {
  const auto numbers = [](const FlagValues& values, std::uint64_t threads) {
    return run_study(LabelModel::teacher, values, threads);
  };
  const Result all = numbers({{"k", "6,10,14"}, {"steps", "20"}}, 1);
  const Result some = numbers({{"k", "14,6"}, {"steps", "20"}, {"sample-steps", "17,0,3"}}, 5);
  const Series &long_curve = find_series(all, "k14.nuclear_rank"),
               &short_curve = find_series(some, "k14.nuclear_rank");
  REQUIRE(short_curve.x == std::vector<double>{0, 3, 17});
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(short_curve.mean[i] == long_curve.mean[static_cast<std::size_t>(short_curve.x[i])]);
    CHECK(short_curve.std[i] == long_curve.std[static_cast<std::size_t>(short_curve.x[i])]);
  }
  for (const char* name : {"k6.nuclear_rank_1", "k14.nuclear_rank_0", "k14.spike",
                           "k6.cross_bulk_d", "closed_form_error"}) {
    CHECK(find_scalar(all, name) == find_scalar(some, name));
  }
  CHECK(find_series(some, "nuclear_rank_1").x == std::vector<double>{6, 14});
}

TEST_CASE("gradient-rank: proved statements never fail, even for degenerate shapes") {
  const std::vector<FlagValues> shapes = {
      {{"k", "8,16"}},
      {{"k", "8,16"}, {"m", "3"}},
      {{"k", "8"}, {"m", "20"}},
      {{"k", "12"}, {"n-ratio", "0.5"}},  // B has a kernel
      {{"k", "2"}, {"n-ratio", "0.5"}},   // B is zero in some trials
      {{"k", "9,16"}, {"c", "2"}},
      {{"k", "10"}, {"activation", "swiglu"}},
      {{"k", "10"}, {"activation", "tanh"}, {"c", "0.5"}}};
  for (FlagValues shape : shapes) {
    shape.insert(shape.end(), {{"steps", "20"}, {"sample-steps", "0,1,5"}});
    const Result realizable = run_study(LabelModel::realizable, shape);
    for (const char* id : {"spectral/section-3.1.2/nr-0-bound", "spectral/lemma-3.5/explicit-bound",
                           "spectral/lemma-3.5/elementary-observation",
                           "spectral/section-3.1.4/closed-form", "spectral/eq-3.1/minimum"}) {
      CAPTURE(id);
      CAPTURE(find_claim(realizable, id).detail);
      CHECK(find_claim(realizable, id).verdict != Verdict::fails);
    }
    const Result teacher = run_study(LabelModel::teacher, shape);
    CHECK(find_claim(teacher, "spectral/section-3.2.2/nr-0-bound").verdict != Verdict::fails);
    CHECK(find_claim(teacher, "spectral/lemma-3.10/closed-form").verdict != Verdict::fails);
  }
  const Result plain = run_study(LabelModel::realizable, {{"k", "8,12,16"}, {"steps", "20"}});
  CHECK(find_claim(plain, "spectral/section-3.1.4/closed-form").verdict == Verdict::holds);
  CHECK(find_claim(plain, "spectral/lemma-3.5/elementary-observation").verdict == Verdict::holds);
  CHECK(find_claim(plain, "spectral/lemma-3.5/explicit-bound").verdict == Verdict::holds);
}

TEST_CASE("gradient-rank: paths with their levels and the window first, then the first step") {
  const Result result = run_study(LabelModel::teacher, {{"k", "8,12,16"}, {"steps", "6"}});
  REQUIRE(result.figure.panels.size() == 2);
  const Panel &path = result.figure.panels[0], &window = result.figure.panels[1];
  REQUIRE(path.curves.size() == 6);  // every k with its level d/4, in one color
  for (std::size_t i = 0; i < 3; ++i) {
    const Curve &ranks = path.curves[2 * i], &level = path.curves[2 * i + 1];
    CHECK(ranks.label == "k = " + std::to_string(8 + 4 * i));
    CHECK(ranks.color == level.color);
    CHECK((ranks.x_offset == 1 && level.x_offset == 1));
    const Series& drawn = find_series(result, level.series);
    CHECK(drawn.x == std::vector<double>{0, 6});
    const double d = 4.0 + 2.0 * static_cast<double>(i);
    CHECK(drawn.mean == std::vector<double>{d / 4, d / 4});
  }
  REQUIRE(path.lines.size() == 1);
  CHECK(path.lines[0].label == "stable rank st(A) at k = 16");
  REQUIRE(window.curves.size() == 2);
  const Series &length = find_series(result, window.curves[0].series),
               &dimension = find_series(result, window.curves[1].series);
  CHECK(dimension.mean == std::vector<double>{4, 6, 8});
  const std::vector<double>&start = find_scalar(result, "k16.window_start"),
        &end = find_scalar(result, "k16.window_end");
  double sum = 0;
  for (std::uint64_t i = 0; i < trials; ++i) sum += (end[i] - start[i]) / double(trials);
  CHECK(length.mean[2] == close(sum, 1e-12));
  REQUIRE(result.more_figures.size() == 1);
  REQUIRE(result.more_figures[0].panels.size() == 1);

  // Iterations 0 and 1 alone give the panel of the first step, with a key for every curve.
  const Result first = run_study(LabelModel::realizable,
                                 {{"k", "8,12,16"}, {"steps", "6"}, {"sample-steps", "0,1"}});
  REQUIRE(first.figure.panels.size() == 1);
  CHECK(first.more_figures.empty());
  CHECK(first.figure.panels[0].title == result.more_figures[0].panels[0].title);
  CHECK(first.figure.panels[0].curves.size() == 5);  // two ranks, their fits, the stable rank
  for (const Curve& curve : first.figure.panels[0].curves) CHECK(curve.label != "");
}

TEST_CASE("gradient-rank: refused values are reported with the name of their flag") {
  CHECK(usage_error({{"k", "64,2"}, {"sample-steps", "all"}}).empty());
  for (const char* k : {"1", "0", "8,8", "8,x", ""})
    CHECK(usage_error({{"k", k}}).find("--k") != std::string::npos);
  const std::string zero = usage_error({{"k", "4"}, {"d-ratio", "0.1"}});
  CHECK(zero.find("--d-ratio") != std::string::npos);
  CHECK(zero.find("--k 4") != std::string::npos);
  CHECK(usage_error({{"k", "2"}, {"n-ratio", "0.2"}}).find("--n-ratio") != std::string::npos);
  for (const char* flag : {"d-ratio", "n-ratio"})
    CHECK(usage_error({{flag, "0"}}).find(flag) != std::string::npos);
  for (const char* steps : {"x", "-1", "1.5", "all,1", "1,all", "0,21", "1,1", "1,01", "", "1,,2",
                            " 1", "99999999999999999999"}) {
    const std::string message = usage_error({{"steps", "20"}, {"sample-steps", steps}});
    CAPTURE(steps);
    CHECK(message.find("--sample-steps") != std::string::npos);
  }
  CHECK(usage_error({{"steps", "20"}, {"sample-steps", "0,21"}})
            .find("'21' is not allowed; allowed: all, or") != std::string::npos);
}

TEST_CASE("gradient-rank: the word 'all' and lists in any order are accepted") {
  gradient_rank::Config config;
  config.steps = 3;
  CHECK(config.sampled() == std::vector<std::uint64_t>{0, 1, 2, 3});
  config.sample_steps = {"3", "0"};
  config.k = {64, 16};
  CHECK(config.sampled() == std::vector<std::uint64_t>{0, 3});
  CHECK(config.sorted_k() == std::vector<double>{16, 64});
  const gradient_rank::Size size = config.sizes()[1];
  CHECK(size.m == 64);
  CHECK(size.d == 32);
  CHECK(size.n == 128);
}

}  // namespace gradient_rank_test
