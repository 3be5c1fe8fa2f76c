// The study examples agrees with loops over plain numbers and with the paper's own formulas.
#include "experiments/rank_collapse/bounds/examples.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

#include "core/tolerances.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/result_parts.hpp"

namespace examples_test {

using namespace ranklab;

namespace {

constexpr double tight = tolerance::closed_form<double>;

Result run_examples(const FlagValues& values, std::uint64_t trials = 1) {
  return run_configured(make_examples_study(), values, trials);
}

Verdict verdict(const Result& result, const std::string& id) {
  return find_claim(result, id).verdict;
}

const std::string& note_starting(const Result& result, const std::string& beginning) {
  for (const std::string& note : result.notes) {
    if (note.starts_with(beginning)) return note;
  }
  static const std::string none;
  return none;
}

// Two rows (a, b) and (c, e) in extended precision.
struct Rows {
  long double a = 1, b = 0, c = 0, e = 1;

  long double inner() const { return a * c + b * e; }
  double mu() const {
    return static_cast<double>(std::hypot(a - c, b - e) / std::numbers::sqrt2_v<long double>);
  }
  // The Gram matrix of two unit rows has the eigenvalues 1 - |inner| and 1 + |inner|. With b = 0
  // the residual becomes e^2 / (1 + |inner|).
  double residual() const { return static_cast<double>(e * e / (1 + std::abs(inner())) / 2); }
};

// One layer of eq. (6), written out: the rows of M Y + lambda Y, scaled to norm 1.
Rows next_layer(const Rows& y, double lambda, bool selective) {
  const long double below = selective ? y.inner() : 2.0L;
  Rows z{y.a + lambda * y.a, y.b + lambda * y.b, below * y.a + y.c + lambda * y.c,
         below * y.b + y.e + lambda * y.e};
  const long double first = std::hypot(z.a, z.b), second = std::hypot(z.c, z.e);
  return {z.a / first, z.b / first, z.c / second, z.e / second};
}

}  // namespace

TEST_CASE("examples: mu and the residual equal those of the recursion over plain numbers") {
  for (const char* system : {"sys1", "sys2"}) {
    const bool selective = std::string(system) == "sys2";
    const Result result = run_examples(
        {{"system", system}, {"lambda", "-3,-2,-1.7,-1.5,-1.2,-0.6,0,5"}, {"layers", "60"}});
    for (const std::string text : {"-3", "-2", "-1.7", "-1.5", "-1.2", "-0.6", "0", "5"}) {
      CAPTURE(text);
      CAPTURE(system);
      const double lambda = std::stod(text);
      const std::string prefix = "lambda=" + text + ".";
      Rows y;
      if (selective) y.c = y.e = std::sqrt(0.5L);
      const Series &mu = find_series(result, prefix + "mu"),
                   &residual = find_series(result, prefix + "rank_one_residual");
      REQUIRE(mu.x.size() == 61);
      for (std::size_t k = 0; k <= 60; ++k) {
        CHECK(mu.x[k] == static_cast<double>(k));
        CHECK(std::abs(mu.mean[k] - y.mu()) < tight);
        CHECK(std::abs(residual.mean[k] - y.residual()) < tight);
        CHECK(std::abs(find_series(result, prefix + "mu_closed_form").mean[k] - y.mu()) < tight);
        y = next_layer(y, lambda, selective);
      }
    }
    CHECK(find_scalar(result, "degenerate_rows") == std::vector<double>{0});
  }
}

TEST_CASE(
    "examples: the exact forms equal the paper's formulas for all lambda for which those hold") {
  examples::Config config;
  // Eq. (13) with its recurrence for alpha_k holds for lambda > -1.
  for (const double lambda : {-0.5, 0.0, 3.0}) {
    const auto forms = examples::exact_forms(config.system_at(lambda), 12);
    double alpha = 1;
    for (const examples::TwoTokenForm& form : forms) {
      const auto [a, b, c_k, e] = form.Y();
      CHECK(a == 1);
      CHECK(b == 0);
      CHECK(std::abs(c_k - std::sqrt((alpha - 1) / alpha)) < tight);
      CHECK(std::abs(e - 1 / std::sqrt(alpha)) < tight);
      const double c = 2 / (1 + lambda);
      alpha = alpha * (1 + c * c) + 2 * c * std::sqrt(alpha - 1) * std::sqrt(alpha);
    }
  }
  // For Sys-2 and any lambda, by powers: row 1 is (sign(1 + lambda))^k e1, row 2 is proportional to
  // ((2 + lambda)^k alpha_0, (1 + lambda)^k beta_0).
  config.system = "sys2";
  config.alpha0 = 0.6;
  for (const double lambda : {-3.0, -1.75, -1.25, -0.5, 1.0}) {
    const examples::TwoTokenSystem system = config.system_at(lambda);
    CHECK(std::abs(system.beta0 - 0.8) < tight);
    const auto exact = examples::exact_forms(system, 9),
               printed = examples::printed_forms(system, 9);
    double first = 1, a = 0.6, b = 0.8;
    for (std::size_t k = 0; k <= 9; ++k) {
      const double norm = std::hypot(a, b);
      const std::array<double, 4> Y = {first, 0, a / norm, b / norm};
      for (const std::size_t i : {0u, 1u, 2u, 3u}) CHECK(std::abs(exact[k].Y()[i] - Y[i]) < tight);
      CHECK(std::abs(exact[k].mu() - std::sqrt(1 - first * a / norm)) <
            1e3 * tight);  // there is cancellation near mu = 0
      CHECK(std::abs(printed[k].Y()[0] - 1) < tight);
      for (const std::size_t i : {2u, 3u}) CHECK(std::abs(printed[k].Y()[i] - Y[i]) < tight);
      first *= lambda < -1 ? -1 : 1;
      a *= 2 + lambda;
      b *= 1 + lambda;
    }
  }
}

TEST_CASE(
    "examples: mu of Sys-2 follows the corrected formula of Proposition 4.3.2, not the printed "
    "one") {
  const Result result = run_examples({{"system", "sys2"}, {"lambda", "-0.5,1"}, {"layers", "6"}});
  for (const double lambda : {-0.5, 1.0}) {
    const Series& mu = find_series(result, lambda == 1 ? "lambda=1.mu" : "lambda=-0.5.mu");
    for (std::size_t k = 0; k <= 6; ++k) {
      const double power = std::pow((2 + lambda) / (1 + lambda), static_cast<double>(k));
      CHECK(std::abs(mu.mean[k] * mu.mean[k] - (1 - power / std::sqrt(1 + power * power))) < tight);
      CHECK(std::abs(mu.mean[k] - 1 / (1 + power * power)) > 1e-4);
    }
  }
  const Claim& printed = find_claim(result, "lambda-skip/prop-4.3.2/as-printed");
  CHECK(printed.verdict == Verdict::fails);
  CHECK(printed.part == Part::proof);
  // Every layer at lambda > -1; the formula does not lose a sign.
  CHECK(printed.detail.find("lambda > -1: 14 of 14, for lambda < -1: 0 of 0") != std::string::npos);
  CHECK(verdict(result, "lambda-skip/prop-4.3.2/corrected") == Verdict::holds);
  CHECK(verdict(result, "lambda-skip/prop-4.3.2/decay") == Verdict::holds);
  const Result unequal = run_examples({{"system", "sys2"}, {"alpha0", "0.3"}});
  CHECK(verdict(unequal, "lambda-skip/prop-4.3.2/as-printed") == Verdict::not_applicable);
  CHECK(verdict(unequal, "lambda-skip/prop-4.3.2/corrected") == Verdict::holds);
}

TEST_CASE("examples: the rate of Sys-2 meets eq. (7) for some lambda below 0, and for none above") {
  using examples::margin_of_eq_7;
  // a = (0.25/1.25)^2 = 0.04, S C_M = sqrt 2 sqrt 3: 0.5625 - 0.04 (2.449 + 0.75)^2.
  CHECK(margin_of_eq_7(-0.75, 1) ==
        doctest::Approx(0.5625 - 0.04 * std::pow(std::sqrt(6) + 0.75, 2)));
  CHECK(margin_of_eq_7(-0.75, 1) == doctest::Approx(0.153).epsilon(2e-3));
  // mu^2 shrinks by (11/12)^2 = 0.840, and eq. (7) allows less than (10/(10 + sqrt 6))^2 = 0.645.
  CHECK(margin_of_eq_7(10, 1) ==
        doctest::Approx(100 - 121.0 / 144 * std::pow(std::sqrt(6) + 10, 2)));
  CHECK(std::abs(margin_of_eq_7(examples::highest_attained, 1)) < tight);
  const auto judged = [](const char* lambdas, const char* alpha0 = "0.6") {
    return run_examples({{"system", "sys2"}, {"lambda", lambdas}, {"alpha0", alpha0}});
  };
  const std::string attained = "lambda-skip/prop-4.3.2/attained",
                    positive = "lambda-skip/prop-4.3.2/positive-lambda";
  const Result both = judged("-3,-0.9,-0.75,-0.5,0,0.01,5");
  // At lambda = -0.9: 0.81 - (0.1/1.1)^2 (2.449 + 0.9)^2.
  CHECK(find_claim(both, attained).measured ==
        doctest::Approx(0.81 - std::pow((std::sqrt(6) + 0.9) / 11, 2)).epsilon(1e-6));
  CHECK(verdict(both, attained) == Verdict::holds);
  CHECK(verdict(both, positive) == Verdict::holds);
  CHECK(std::get<CountEvidence>(find_claim(both, positive).evidence).cases == 5);  // with 10, 100
  // Existence is not refuted by other lambdas.
  CHECK(verdict(judged("-3,-0.7,0,5"), attained) == Verdict::not_applicable);
  CHECK(verdict(judged("-0.72"), attained) == Verdict::holds);
  CHECK(verdict(judged("-0.72", "1"), attained) == Verdict::holds);
}

TEST_CASE(
    "examples: Proposition A.10.1 fails as printed, above and below -2 for different reasons, and "
    "holds corrected") {
  const std::string id = "lambda-skip/prop-A.10.1/";
  const Result all = run_examples({}, 2);
  CHECK(verdict(all, id + "as-printed") == Verdict::fails);
  CHECK(find_claim(all, id + "as-printed").detail.find("at lambda = -1.75, -1.5, -1.25") !=
        std::string::npos);
  CHECK(verdict(all, id + "no-collapse-below-minus-2") == Verdict::fails);
  CHECK(verdict(all, id + "as-printed/no-collapse") == Verdict::holds);
  CHECK(find_claim(all, id + "as-printed/no-collapse").slip.empty());
  CHECK(find_claim(all, id + "no-collapse-below-minus-2").part == Part::ours);
  CHECK(find_claim(all, id + "corrected/anti-parallel").misprint_of == id + "as-printed");
  CHECK(verdict(all, id + "form-as-printed") == Verdict::fails);
  for (const char* part : {"corrected", "corrected/parallel", "corrected/anti-parallel",
                           "corrected/zero-row", "closed-form"}) {
    CAPTURE(part);
    CHECK(verdict(all, id + part) == Verdict::holds);
  }
  // At lambda = -1 row 1 is degenerate from the first layer on, row 2 from the second.
  CHECK(find_scalar(all, "degenerate_rows") == std::vector<double>{799, 799});
  CHECK(std::isnan(find_series(all, "lambda=-1.rank_one_residual").mean[2]));
  CHECK(find_series(all, "lambda=-1.mu").mean[2] == 0);
  // For lambda > -1 only, the printed statement holds. For lambda = -2 only, it makes no statement.
  const Result above = run_examples({{"lambda", "-0.5,0,1"}});
  CHECK(verdict(above, id + "as-printed") == Verdict::holds);
  CHECK(verdict(above, id + "form-as-printed") == Verdict::holds);
  CHECK(verdict(above, id + "corrected/anti-parallel") == Verdict::not_applicable);
  CHECK(verdict(run_examples({{"lambda", "-2"}}), id + "as-printed") == Verdict::not_applicable);
}

TEST_CASE(
    "examples: Proposition 4.3.1 fails as printed only between -3/2 and -1, and holds corrected") {
  const std::string id = "lambda-skip/prop-4.3.1/";
  const Result all =
      run_examples({{"system", "sys2"}, {"lambda", "-4,-1.6,-1.5,-1.4,-1.1,-1,-0.9,3"}});
  CHECK(verdict(all, id + "as-printed") == Verdict::fails);
  CHECK(find_claim(all, id + "as-printed").detail.find("violated at lambda = -1.4, -1.1") !=
        std::string::npos);
  CHECK(find_claim(all, id + "as-printed").measured == 2);
  CHECK(verdict(all, id + "as-printed/collapse") == Verdict::fails);
  for (const char* part :
       {"as-printed/no-collapse", "corrected", "corrected/zero-row", "corrected/parallel",
        "corrected/alternating", "corrected/orthogonal", "closed-form"}) {
    CAPTURE(part);
    CHECK(verdict(all, id + part) == Verdict::holds);
  }
  CHECK(verdict(all, id + "form-as-printed") == Verdict::fails);
  // beta_0 = 0: both rows are (1, 0) up to one sign, for which no lambda helps.
  CHECK(verdict(all, id + "as-printed/any-start") == Verdict::fails);
  CHECK(find_claim(all, id + "as-printed/any-start").slip == id + "conditions");
  CHECK(find_claim(all, id + "as-printed/no-collapse").misprint_of == id + "as-printed/any-start");
  for (const Claim& claim : all.claims) CHECK(claim.id.find("A.10.1") == std::string::npos);
  CHECK(verdict(run_examples({{"system", "sys2"}, {"lambda", "-2,0"}}), id + "as-printed") ==
        Verdict::holds);
  // Rows that start equal are no tokens that could collapse.
  const Result equal = run_examples({{"system", "sys2"}, {"alpha0", "1"}, {"lambda", "-3,0"}});
  for (const char* part :
       {"as-printed", "as-printed/collapse", "as-printed/no-collapse", "corrected"}) {
    CAPTURE(part);
    CHECK(verdict(equal, id + part) == Verdict::not_applicable);
    CHECK(find_claim(equal, id + part).detail.find("--alpha0") != std::string::npos);
  }
  const Claim& orthogonal = find_claim(equal, id + "corrected/orthogonal");
  CHECK(orthogonal.part == Part::ours);
  CHECK(orthogonal.misprint_of.empty());
}

TEST_CASE("examples: limits are not judged if the run is too short for them") {
  const Result slow =
      run_examples({{"system", "sys2"}, {"lambda", "-1.501,-1.5,-1.499,200"}, {"layers", "100"}});
  CHECK(verdict(slow, "lambda-skip/prop-4.3.1/as-printed") == Verdict::not_applicable);
  CHECK(note_starting(slow, "Critical").find("-1.501, -1.5, -1.499, 200") != std::string::npos);
  const Result long_enough =
      run_examples({{"system", "sys2"}, {"lambda", "-1.501,-1.5,-1.499,200"}, {"layers", "3000"}});
  CHECK(verdict(long_enough, "lambda-skip/prop-4.3.1/corrected") == Verdict::holds);
  CHECK(note_starting(long_enough, "Critical").ends_with("lambda = -1.5."));
  CHECK(verdict(run_examples({{"lambda", "1000"}, {"layers", "50"}}),
                "lambda-skip/prop-A.10.1/corrected") == Verdict::not_applicable);
}

TEST_CASE("examples: the notes list the kinds of collapse that mu does not detect") {
  const Result sys1 = run_examples({{"lambda", "-3,-1,1"}}),
               sys2 = run_examples({{"system", "sys2"}, {"lambda", "-3,-1.3,1"}});
  CHECK(note_starting(sys1, "Collapse in the sense of mu").ends_with("lambda = 1."));
  CHECK(note_starting(sys1, "Rank one with anti-parallel rows").ends_with("lambda = -3."));
  CHECK(note_starting(sys1, "A row becomes zero").ends_with("lambda = -1."));
  CHECK(note_starting(sys2, "Rank one with rows that are parallel at one layer")
            .ends_with("lambda = -1.3."));
  CHECK(note_starting(sys2, "No collapse").ends_with("lambda = -3."));
  CHECK(note_starting(sys2, "A row becomes zero").empty());
}

TEST_CASE(
    "examples: the curves over layers show two lambdas per range, the panels over lambda all") {
  const auto shown = [](const Panel& panel) {
    std::vector<std::string> labels;
    for (const Curve& curve : panel.curves) {
      if (!curve.label.empty()) labels.push_back(curve.label);
    }
    return labels;
  };
  struct System {
    const char *name, *lambdas;
    std::vector<std::string> shown;
  };
  const std::vector<System> systems = {
      {"sys1",
       "-3,-2.5,-2.25,-2,-1.75,-1.5,-1.25,-1,-0.75,0,2",
       {"lambda = -3", "lambda = -2.25", "lambda = -1.75", "lambda = -1.25", "lambda = -0.75",
        "lambda = 2"}},
      {"sys2",
       "-3,-2,-1.6,-1.5,-1.4,-1,-0.75,0,1",
       {"lambda = -3", "lambda = -1.6", "lambda = -1.4", "lambda = -0.75", "lambda = 1"}}};
  for (const System& system : systems) {
    CAPTURE(system.name);
    const Result result =
        run_examples({{"system", system.name}, {"lambda", system.lambdas}, {"layers", "20"}});
    REQUIRE(result.figure.panels.size() == 4);
    CHECK(result.more_figures.empty());
    CHECK(shown(result.figure.panels[0]) == system.shown);
    CHECK(shown(result.figure.panels[1]) == system.shown);
    // Every exact form has the dots of its iteration in the same color.
    const std::vector<Curve>& curves = result.figure.panels[0].curves;
    REQUIRE(curves.size() == 2 * system.shown.size());
    for (std::size_t i = 0; i < curves.size(); i += 2) {
      CHECK(curves[i].series == curves[i + 1].series + "_closed_form");
      CHECK(curves[i].color == curves[i + 1].color);
      CHECK(curves[i + 1].style == LineStyle::points);
    }
    CHECK(shown(result.figure.panels[2]) ==
          std::vector<std::string>{"last layer", "second-to-last layer"});
    const auto commas =
        std::count(system.lambdas, system.lambdas + std::strlen(system.lambdas), ',');
    for (const std::string series : {"final.mu", "previous.mu", "final.rank_one_residual"})
      CHECK(find_series(result, series).x.size() == static_cast<std::size_t>(commas) + 1);
  }
}

TEST_CASE("examples: refused values are reported with the name of their flag") {
  const auto message = [](const FlagValues& values) {
    return refusal(make_examples_study(), values);
  };
  CHECK(message({}).empty());
  CHECK(message({{"system", "sys2"}, {"alpha0", "1"}}).empty());
  CHECK(message({{"alpha0", "0.5"}}).starts_with("--alpha0 is not allowed with --system sys1"));
  for (const char* alpha : {"0", "-0.1", "1.01", "x"}) {
    CHECK(message({{"system", "sys2"}, {"alpha0", alpha}}).starts_with("--alpha0: "));
  }
  CHECK(message({{"system", "sys3"}}).starts_with("--system: "));
  CHECK(message({{"layers", "1"}}).starts_with("--layers: "));
  CHECK(message({{"lambda", "1,1.0000001"}}).starts_with("--lambda: "));
  CHECK(message({{"lambda", "nan"}}).starts_with("--lambda: "));
}

}  // namespace examples_test
