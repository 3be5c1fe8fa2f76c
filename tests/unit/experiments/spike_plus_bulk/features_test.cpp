#include "experiments/spike_plus_bulk/features/features.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/tolerances.hpp"
#include "ensembles/feature_moments.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/result_parts.hpp"
#include "experiments/spike_plus_bulk/commands.hpp"
#include "experiments/spike_plus_bulk/drawn_features.hpp"
#include "judge/verdicts.hpp"
#include "svd_by_rotations.hpp"

namespace features_test {

using namespace ranklab;
using namespace ranklab::features;
using namespace drawn_features;
using std::numbers::pi;

namespace {

Config tiny() {
  Config config;
  config.k = {16, 32, 64};
  config.phi_samples = 4000;
  config.phi_points = 5;
  return config;
}

TrialRecord measure(LabelModel model, Config config = tiny()) {
  config.model = model;
  return run_trial(config, Trial(seed, 0, 0));
}

Result run_study(LabelModel model, Config config, std::uint64_t trials) {
  config.model = model;
  Pool pool({.seed = seed, .trials = trials}, nullptr);
  return config.report(
      pool.run(each_trial([&](Trial& trial) { return run_trial(config, trial); })));
}

doctest::Approx close(double expected) {
  return doctest::Approx(expected).epsilon(1e-9).scale(1.0);
}

}  // namespace

TEST_CASE("one feature map: spike, bulk and errors equal those computed from the matrices") {
  const Drawn drawn(32);
  const TrialRecord record = measure(LabelModel::realizable);
  const auto got = [&](const char* name) { return record.scalar(std::string("k32.") + name); };
  const double n = 64.0;
  const arma::vec s = svd_by_rotations(drawn.A).s;
  CHECK(got("spike") == close(s(0) * s(0) / n));
  CHECK(got("bulk_max") == close(s(1) * s(1) / n));
  CHECK(got("bulk_min") == close(s(31) * s(31) / n));
  const arma::vec mean = arma::mean(drawn.A, 1);
  CHECK(got("mean_ratio") == close(arma::norm(mean) / arma::norm(drawn.V, "fro")));
  const arma::mat centered = drawn.A.each_col() - mean;
  const arma::vec c = svd_by_rotations(centered).s;
  CHECK(got("sample_bulk_min") == close(c(31) * c(31) / n));
  CHECK(got("sample_bulk_max") == close(c(0) * c(0) / n));
  CHECK(got("interlacing_violations") == 0.0);
  const arma::mat Sigma = feature_covariance(find_activation("relu"), drawn.V);
  CHECK(got("sigma_error") ==
        close(spectral_norm(centered * centered.t() / n - Sigma) / spectral_norm(Sigma)));
  // T = (I - eta B) B, from its own singular values, with eta = 1/(1 + ||B||).
  const arma::mat B = drawn.A * drawn.A.t() / n;
  const arma::vec T = svd_by_rotations(B - B * B / (1.0 + spectral_norm(B))).s;
  CHECK(got("condition") == doctest::Approx(T.front() / T.back()).epsilon(1e-6));
}

TEST_CASE("the expansion (3.6) is right for pairs of rows at known angles") {
  // Two orthogonal rows of norms 2 and 1: Sigma and both products are diagonal, so the remainder
  // vanishes.
  const arma::mat orthogonal = {{2.0, 0.0}, {0.0, 1.0}};
  const arma::mat Sigma = feature_covariance(find_activation("relu"), orthogonal);
  CHECK(arma::abs(expand_covariance(orthogonal, Sigma).remainder).max() < 1e-14);
  // Two rows of norms 2 and 3 at 60 degrees: the off-diagonal entry is 6/(2 pi) (phi(1/2) - pi/4 -
  // 1/8).
  const arma::mat V = {{2.0, 0.0}, {1.5, 1.5 * std::sqrt(3.0)}};
  const CovarianceExpansion expansion =
      expand_covariance(V, feature_covariance(find_activation("relu"), V));
  const double phi = std::sqrt(0.75) + pi * 2.0 / 3.0 * 0.5 - 1.0;
  CHECK(expansion.remainder(0, 1) == close(6.0 / (2.0 * pi) * (phi - pi / 4.0 - 0.125)));
  CHECK(expansion.corrected <= expansion.rounding);
  CHECK(expansion.as_printed ==
        close(5.0));  // off the diagonal, Lambda E Lambda is 6 E; the diagonal of E is 0
}

TEST_CASE("two feature maps: singular values, fits and both sides of (3.21) and (3.22) are right") {
  const Drawn drawn(32);
  const TrialRecord record = measure(LabelModel::teacher);
  const auto got = [&](const char* name) { return record.scalar(std::string("k32.") + name); };
  const double n = 64.0, d = 16.0;
  const arma::mat B = drawn.A * drawn.A.t() / n, B_bar = drawn.A_bar * drawn.A.t() / n;
  const arma::vec mean = arma::mean(drawn.A, 1), mean_bar = arma::mean(drawn.A_bar, 1);
  const RotatedSvd svd = svd_by_rotations(B_bar);
  CHECK(got("cross_spike") == close(svd.s(0)));
  CHECK(got("cross_bulk_max") == close(svd.s(1)));
  const arma::vec bulk = svd_by_rotations(B_bar - (1.0 + 1.0 / (2.0 * d)) * mean_bar * mean.t()).s;
  CHECK(got("sigma_1") == close(bulk(0)));
  CHECK(got("sigma_d") == close(bulk(15)));
  CHECK(got("sigma_d_plus_1") == close(bulk(16)));
  const arma::vec u = mean / arma::norm(mean), l = svd_by_rotations(B).U.col(0), r = svd.V.col(0);
  CHECK(got("distance_gram") == close(std::min(arma::norm(u - l), arma::norm(u + l))));
  CHECK(got("distance_cross") == close(std::min(arma::norm(u - r), arma::norm(u + r))));
  const arma::vec linear = svd_by_rotations(drawn.V_bar * drawn.V.t()).s;
  CHECK(got("linear_sigma_1") == close(linear(0)));
  CHECK(got("linear_sigma_d") == close(linear(15)));
  CHECK(got("ratio") == close(arma::accu(svd_by_rotations(drawn.W_bar * svd.U.head_cols(16)).s) /
                              arma::norm(drawn.W_bar, "fro")));
  // One step of gradient descent on the loss: W_1 = eta W-bar B-bar, and the gradient is (W_1 A -
  // W-bar A-bar) A'/n.
  const double eta = 1.0 / (1.0 + spectral_norm(B));
  const arma::mat W_1 = eta * drawn.W_bar * B_bar;
  const arma::vec g =
      svd_by_rotations((W_1 * drawn.A - drawn.W_bar * drawn.A_bar) * drawn.A.t() / n).s;
  CHECK(got("nuclear_rank_1") ==
        doctest::Approx(std::pow(arma::accu(g), 2) / arma::dot(g, g)).epsilon(1e-8));
  // The residual of the fit is orthogonal to both matrices.
  const arma::mat C = (B_bar - mean_bar * mean.t()) * n / (n - 1.0), L = drawn.V_bar * drawn.V.t();
  const arma::mat rest = C - got("coefficient_linear") * L - got("coefficient_ones") / d;
  CHECK(arma::dot(rest, L) == close(0.0));
  CHECK(arma::accu(rest) == close(0.0));
}

TEST_CASE("rank_two_norm is the norm of a difference of two rank-one matrices") {
  const Trial trial(seed, 0, 0);
  const arma::mat G = normal(trial, "G", 7, 4, 1.0);
  const arma::vec a = G.col(0), b = G.col(1), c = G.col(2), d = G.col(3);
  CHECK(rank_two_norm(a, b, c, d) == close(spectral_norm(a * b.t() - c * d.t())));
  CHECK(rank_two_norm(a, b, a, b) < 1e-6);
}

TEST_CASE(
    "the product of two halves is unbiased: the true covariance scores 0, twice the covariance "
    "1/4") {
  // 400 draws of 12 samples of a Gaussian pair; its features are the pair itself.
  const arma::mat C = {{1.0, 0.0}, {0.0, 1.0}};
  double exact = 0.0, twice = 0.0, exact_square = 0.0;
  constexpr int draws = 400;
  for (int i = 0; i < draws; ++i) {
    const Trial trial(seed, static_cast<std::uint64_t>(i), 0);
    const FeatureSamples samples =
        sample_features(trial, {2, 2, 12}, find_activation("identity"), C, {});
    const double e = unbiased_squared_error(samples.student, C);
    exact += e / draws;
    exact_square += e * e / draws;
    twice += unbiased_squared_error(samples.student, 2.0 * C) / draws;
  }
  const double error = std::sqrt(exact_square / draws);
  CHECK(std::fabs(exact) <= tolerance::standard_errors * error);
  // The expected value is ||C - 2C||^2 / ||2C||^2.
  CHECK(std::fabs(twice - 0.25) <= tolerance::standard_errors * error);
}

TEST_CASE("exponents are fitted to the numbers of the trials") {
  constexpr Measure falls = {"falls"}, zero = {"zero"};
  Config config = tiny();
  Records records(3);
  for (std::size_t t = 0; t < 3; ++t) {
    for (const Size& size : config.sizes()) {
      const double d = static_cast<double>(size.d), wobble = 1.0 + 0.01 * static_cast<double>(t);
      records[t].set(size.place() / falls, wobble * std::pow(d, -0.7));
      records[t].set(size.place() / zero, 0.0);
    }
  }
  Claims claims;
  const Statement text{"spectral/thm-3.7", "spectral/eq-0", "", ""};
  const SizeClaims over_d = over_sizes(config, records, claims);
  for (const double slope : slopes_over(records, over_d.x, over_d.at_sizes(falls), fit_power))
    CHECK(slope == close(-0.7));
  over_d.exponent(text, falls, {-0.8, -0.6}, "");
  over_d.exponent(text, falls, {-0.6, 0.0}, "");
  over_d.exponent(text, zero, {-1.0, 1.0}, "");
  over_d.everywhere(text, falls, "");
  over_d.everywhere(
      text, [](const AtSize& at) { return at.x == 16.0 ? -1.0 : 1.0; }, "");
  config.d = 8;  // with a fixed d, nothing grows
  over_sizes(config, records, claims).exponent(text, falls, {-0.8, -0.6}, "");
  const std::vector<Claim>& made = claims.list();
  CHECK(made[0].verdict == Verdict::holds);
  CHECK(made[0].kind == Kind::asymptotic);
  CHECK(made[0].threshold == "0.1 in the exponent of d");
  CHECK(made[1].verdict == Verdict::fails);
  CHECK(made[2].verdict == Verdict::not_applicable);
  CHECK(made[3].verdict == Verdict::holds);
  CHECK(made[3].kind == Kind::theorem);
  CHECK(made[4].measured == 3.0);
  CHECK(made[5].verdict == Verdict::not_applicable);
  CHECK(made[5].detail.starts_with("--d is fixed"));
  CHECK(over_d.range(falls).starts_with(short_number(std::pow(32.0, -0.7)) + " to "));
}

TEST_CASE("the bounds of Lemma 3.3 have the right sign") {
  // At log k = d/4 the bound is 3. Its Chernoff exponent per dimension, (2 - log 3)/2, is smaller
  // than 2 log(k)/d = 1/2.
  CHECK(log_lemma_3_3_lower(1000.0, 0.25) > 0.0);
  CHECK(log_lemma_3_3_lower(16.0, 0.25) < 0.0);
  CHECK(log_lemma_3_3_upper(1000.0, 0.16) < 0.0);
}

TEST_CASE("the numbers at one size do not depend on the list of sizes") {
  for (const LabelModel model : {LabelModel::realizable, LabelModel::teacher}) {
    Config one = tiny();
    one.k = {32};
    const TrialRecord all = measure(model), alone = measure(model, one);
    for (const auto& entry : alone.arrays()) {
      CAPTURE(entry.first);
      CHECK(all.array(entry.first) == entry.second);
    }
  }
}

TEST_CASE("misprinted statements fail and their corrections hold") {
  Config config = tiny();
  config.k = {32, 64, 128};
  config.phi_points = 11;
  const Result gram = run_study(LabelModel::realizable, config, 12),
               cross = run_study(LabelModel::teacher, config, 12);
  for (const std::string id :
       {"thm-3.2/mean-vector/as-printed", "thm-3.2/spike/as-printed",
        "lemma-3.3/hypothesis/as-printed", "thm-3.2/hadamard-square/as-printed"}) {
    CAPTURE(id);
    CHECK(find_claim(gram, "spectral/" + id).verdict == Verdict::fails);
    CHECK(find_claim(gram, "spectral/" + id).slip != "");
  }
  for (const std::string id :
       {"fig-16/phi", "fig-16/derivatives", "eq-3.5/remainder", "eq-3.6", "eq-3.6/remainder",
        "thm-3.2/hadamard-square/corrected", "lemma-3.5/interlacing",
        "lemma-3.3/hypothesis/corrected", "eq-3.7", "eq-3.8"}) {
    CAPTURE(id);
    CHECK(find_claim(gram, "spectral/" + id).verdict == Verdict::holds);
  }
  for (const std::string id :
       {"thm-3.7/decomposition/as-printed", "thm-3.7/covariance-definition/as-printed",
        "thm-3.7/mean-vector-mu/as-printed", "thm-3.7/mean-vector-nu/as-printed",
        "thm-3.7/coefficient-linear/as-printed", "thm-3.7/coefficient-ones/as-printed",
        "thm-3.7/as-printed", "cor-3.8/rank-one/as-printed", "eq-3.19/order/as-printed",
        "eq-3.19/as-printed"}) {
    CAPTURE(id);
    CHECK(find_claim(cross, "spectral/" + id).verdict == Verdict::fails);
    CHECK(find_claim(cross, "spectral/" + id).slip != "");
  }
  for (const std::string id :
       {"thm-3.7/corrected", "cor-3.8/rank-one/corrected", "eq-3.19/order/corrected",
        "eq-3.21/davis-kahan", "eq-3.22/davis-kahan"}) {
    CAPTURE(id);
    CHECK(find_claim(cross, "spectral/" + id).verdict == Verdict::holds);
  }
  // The mean's coefficient is 1/sqrt(2 pi) to within five standard errors, and is not 1/(2 pi).
  const Summary summary = summarize(find_scalar(gram, "k128.mean_coefficient"));
  const double error = tolerance::standard_errors * summary.std / std::sqrt(12.0);
  CHECK(std::fabs(summary.mean - 1.0 / std::sqrt(2.0 * pi)) <= error);
  CHECK(std::fabs(summary.mean - 0.5 / pi) > error);
}

namespace {

/// The violations in the cases of a claim.
std::pair<double, double> violations_in(const Claim& claim) {
  const auto& count = std::get<CountEvidence>(claim.evidence);
  return {count.violations, count.cases};
}

}  // namespace

TEST_CASE(
    "worked examples are cases: V = sqrt(1.5) I, and (3.19) with W-bar = Diag(1, 1, 0, ...)") {
  Config config = tiny();
  config.k = {16, 24, 32};
  constexpr std::uint64_t trials = 3;
  const Result gram = run_study(LabelModel::realizable, config, trials),
               cross = run_study(LabelModel::teacher, config, trials);
  // V V' = 1.5 I and (V V')^(o 2) = 2.25 I: the sides are 2.25 and 1.5, or 1.5^2.
  const Claim &square = find_claim(gram, "spectral/thm-3.2/hadamard-square/as-printed"),
              &corrected = find_claim(gram, "spectral/thm-3.2/hadamard-square/corrected");
  CHECK(violations_in(square).second == 3 * trials + 1);
  CHECK(violations_in(square).first >= 1);
  CHECK(square.detail.find("1.5 for V = sqrt(1.5) I") != std::string::npos);
  CHECK(violations_in(corrected) == std::pair(0.0, 3.0 * trials + 1));
  CHECK(corrected.detail.find("1 for V = sqrt(1.5) I") != std::string::npos);
  // G has the singular values 10 * 1001/1011 and 1010/1011 at d = 1000: (sum)^2 over sum of
  // squares.
  const Claim& printed = find_claim(cross, "spectral/eq-3.19/as-printed");
  CHECK(violations_in(printed) == std::pair(1.0, 3.0 * trials + 1));
  const double first = 10010.0 / 1011.0, second = 1010.0 / 1011.0;
  const double nr = std::pow(first + second, 2) / (first * first + second * second);
  CHECK(nr == doctest::Approx(1.19976).epsilon(1e-5));
  CHECK(printed.detail.find("nr is " + short_number(nr) + " and the right side " +
                            short_number(std::sqrt(2.0))) != std::string::npos);
}

TEST_CASE("what a size cannot refute is asymptotic: no claim fails without a slip") {
  // The statements that fail at small sizes are exponents, limits and open constants.
  for (const LabelModel model : {LabelModel::realizable, LabelModel::teacher}) {
    for (const std::vector<std::uint64_t>& k :
         {std::vector<std::uint64_t>{8, 12, 16}, {16, 32, 48}}) {
      Config config = tiny();
      config.k = k;
      config.wide_d = {4, 6, 9};
      for (const Claim& claim : run_study(model, config, 4).claims) {
        CAPTURE(claim.id);
        CHECK(standing_of(claim) != Standing::fails);
      }
    }
  }
}

TEST_CASE("each claim has the kind and the part of what it judges") {
  Config config = tiny();
  config.k = {16, 24, 32};
  const Result gram = run_study(LabelModel::realizable, config, 3),
               cross = run_study(LabelModel::teacher, config, 3);
  const auto is = [](const Result& result, const std::string& id, const std::string& statement,
                     Part part, Kind kind) {
    CAPTURE(id);
    const Claim& claim = find_claim(result, "spectral/" + id);
    CHECK(claim.statement_id == "spectral/" + statement);
    CHECK(claim.part == part);
    CHECK(claim.kind == kind);
  };
  is(gram, "fig-16/phi", "fig-16", Part::caption, Kind::figure);
  is(gram, "fig-16/derivatives", "thm-3.2", Part::proof, Kind::theorem);
  is(gram, "thm-3.2/mean-vector/as-printed", "section-3.1.1/moments", Part::statement,
     Kind::asymptotic);
  is(gram, "eq-3.4/lower", "thm-3.2", Part::statement, Kind::theorem);
  is(gram, "eq-3.6/remainder", "thm-3.2", Part::statement, Kind::asymptotic);
  is(gram, "eq-3.6", "thm-3.2", Part::proof, Kind::theorem);
  is(gram, "eq-3.7", "lemma-3.3", Part::statement, Kind::reading);
  is(gram, "eq-3.3", "lemma-3.3", Part::text, Kind::asymptotic);
  is(gram, "thm-3.4/mean-concentration", "thm-3.4", Part::proof, Kind::asymptotic);
  is(cross, "thm-3.7/decomposition/as-printed", "section-3.2.1/moments", Part::definition,
     Kind::asymptotic);
  is(cross, "thm-3.7/corrected", "thm-3.7", Part::statement, Kind::asymptotic);
  is(cross, "thm-3.7/norm-defect", "thm-3.7", Part::proof, Kind::asymptotic);
  is(cross, "cor-3.8/cross-bulk-tail", "cor-3.8", Part::proof, Kind::asymptotic);
  is(cross, "eq-3.15/cross-below", "section-3.2/separation", Part::statement, Kind::asymptotic);
  is(cross, "eq-3.19/order/corrected", "thm-3.9", Part::proof, Kind::asymptotic);
  is(cross, "eq-3.20", "thm-3.9", Part::statement, Kind::asymptotic);
  is(cross, "lemma-G.1", "lemma-G.1", Part::statement, Kind::theorem);
  is(cross, "eq-1.9/guarantee", "eq-1.9", Part::ours, Kind::beyond);
  is(cross, "section-3.1.4/gd-time/realizable", "section-3.1.4/gd-time", Part::statement,
     Kind::asymptotic);
  is(cross, "section-3.1.4/gd-time/teacher", "section-3.1.4/gd-time", Part::ours, Kind::beyond);
  CHECK(find_claim(cross, "spectral/thm-3.7/coefficient-linear/corrected").threshold ==
        "2 % in the coefficient");
  CHECK(find_claim(cross, "spectral/thm-3.7/mean-vector-mu/as-printed").slip ==
        "spectral/section-3.2.1/mean-vector");
}

TEST_CASE("the bounds (3.4) hold for long rows and are not judged for rows far from unit norm") {
  Config config = tiny();
  const auto judged = [&](const std::string& id) {
    return find_claim(run_study(LabelModel::realizable, config, 1), id);
  };
  config.k = {32};
  config.d = 200;
  CHECK(judged("spectral/eq-3.4/lower").verdict == Verdict::holds);
  CHECK(judged("spectral/eq-3.4/upper").verdict == Verdict::holds);
  config.d = 3;
  CHECK(judged("spectral/eq-3.4/lower").verdict == Verdict::not_applicable);
  // With fewer samples than features, the bulk is singular.
  config.k = {8, 16, 32};
  config.d = 0;
  config.n = 8;
  CHECK(judged("spectral/thm-3.4/bulk-below").verdict == Verdict::not_applicable);
  CHECK(judged("spectral/thm-3.4/bulk-below").detail.starts_with("n <= k"));
}

TEST_CASE("series of the figure of phi and of the spike follow from the recorded ones") {
  const Result result =
      run_configured(make_features_study(LabelModel::realizable),
                     {{"k", "16,8"}, {"phi-samples", "1000"}, {"phi-points", "41"}}, 2);
  const Series &phi = find_series(result, "phi"), &sampled = find_series(result, "phi_monte_carlo"),
               &points = find_series(result, "phi_monte_carlo_points"),
               &difference = find_series(result, "phi_monte_carlo_difference"),
               &taylor = find_series(result, "phi_taylor_2_difference");
  REQUIRE(points.x.size() == 11);
  for (std::size_t i = 0; i < points.x.size(); ++i) {
    CHECK(points.x[i] == sampled.x[4 * i]);
    CHECK(points.mean[i] == sampled.mean[4 * i]);
  }
  REQUIRE(difference.x.size() == 41);
  for (std::size_t i = 0; i < 41; ++i) {
    const double t = phi.x[i];
    CHECK(std::fabs(difference.mean[i] - (sampled.mean[i] - phi.mean[i])) < 1e-12);
    CHECK(std::fabs(taylor.mean[i] - (pi / 2.0 * t + t * t / 2.0 - phi.mean[i])) < 1e-8);
  }
  const Series &spike = find_series(result, "spike_formula"),
               &printed = find_series(result, "spike_as_printed");
  for (std::size_t i = 0; i < spike.x.size(); ++i)
    CHECK(std::fabs(printed.mean[i] * 2.0 * pi / spike.mean[i] - 1.0) < 1e-12);
}

TEST_CASE("names and figures are complete, also with another activation") {
  for (const LabelModel model : {LabelModel::realizable, LabelModel::teacher}) {
    for (const char* activation : {"relu", "tanh"}) {
      CAPTURE(activation);
      FlagValues values = {{"k", "16,8"}, {"activation", activation}};
      if (model == LabelModel::realizable) values.emplace_back("phi-samples", "1000");
      const Result result = run_configured(make_features_study(model), values, 2);
      std::vector<Figure> figures = result.more_figures;
      figures.push_back(result.figure);
      for (const Figure& figure : figures) {
        for (const auto& panel : figure.panels) {
          for (const auto& curve : panel.curves) find_series(result, curve.series);
        }
      }
      const bool relu = activation == std::string("relu");
      if (model == LabelModel::realizable) {
        CHECK(result.figure.panels.size() == 4);  // phi, its differences, spike, bulk
        REQUIRE(result.more_figures.size() == 1);
        CHECK(result.more_figures[0].panels.size() == (relu ? 3 : 2));
        CHECK(result.figure.panels[2].curves.size() == (relu ? 3 : 2));  // the printed spike
      } else {
        // For relu also Theorem 3.7 and (3.17), and the figure of the proofs.
        CHECK(result.figure.panels.size() == (relu ? 6 : 4));
        REQUIRE(result.more_figures.size() == (relu ? 1 : 0));
        if (relu) CHECK(result.more_figures[0].panels.size() == 5);
      }
      for (const auto& c : result.claims) {
        CHECK(c.id.starts_with("spectral/"));
        CHECK(c.detail != "");
      }
      const auto about_relu = [&](const std::string& id) {
        return find_claim(result, id).detail.starts_with("the statement is about relu");
      };
      const bool tanh = activation == std::string("tanh");
      if (model == LabelModel::realizable) {
        CHECK(about_relu("spectral/thm-3.2/mean-vector/corrected") == tanh);
        CHECK(about_relu("spectral/fig-16/derivatives") == tanh);
        CHECK_FALSE(about_relu("spectral/fig-16/phi"));
      } else {
        CHECK(about_relu("spectral/thm-3.7/mean-vector-mu/corrected") == tanh);
        CHECK_FALSE(about_relu("spectral/thm-3.7/covariance"));
      }
      CHECK(result.notes.size() == 1);  // with only two sizes there are no exponents
      if (model == LabelModel::realizable) {
        CHECK(find_scalar(result, "k8.spike").size() == 2);
        CHECK(find_series(result, "spike").x == std::vector<double>{8.0, 16.0});
        CHECK(find_series(result, "phi").x.front() == -1.0);
        CHECK(find_series(result, "phi").mean.size() == 41);
        if (!tanh) CHECK(find_series(result, "phi").mean.back() == close(pi - 1.0));
      }
    }
  }
}

TEST_CASE(
    "bad values are refused with the flag's name, and the estimate grows with the problem size") {
  const auto refused = [](const std::string& flag, const std::string& value) {
    return refusal(make_features_study(LabelModel::realizable), {{flag, value}});
  };
  CHECK(refused("k", "1").find("--k") != std::string::npos);
  CHECK(refused("activation", "swiglu").find("--activation") != std::string::npos);
  CHECK(refused("eta-offset", "0").find("--eta-offset") != std::string::npos);
  CHECK(refused("n", "3").find("--n") != std::string::npos);
  CHECK(refused("n", "4").empty());
  for (const LabelModel model : {LabelModel::realizable, LabelModel::teacher}) {
    const auto small = configured(make_features_study(model), {{"k", "512"}}),
               large = configured(make_features_study(model), {{"k", "1024"}});
    CHECK(large->memory().bytes > small->memory().bytes);
    // Lower bound: the sums of both halves.
    CHECK(large->memory().bytes > 8.0 * 2 * 1024 * 1024);
  }
}

}  // namespace features_test
