#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.hpp"
#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/redrawn.hpp"
#include "experiments/result_parts.hpp"

namespace ablation_test {

using namespace ranklab;

namespace {

const FlagValues tiny = {{"layers", "4"}, {"tokens", "8"}, {"dim", "8"}, {"state", "4"}};

Result ablate(FlagValues flags, std::uint64_t trials = 3) {
  flags.insert(flags.begin(), tiny.begin(), tiny.end());
  return run_configured(make_ablation_study(), flags, trials);
}

}  // namespace

TEST_CASE("each combination equals a run of the study layers with the same switches") {
  const Result result = ablate({});
  for (const std::string gate : {"on", "off"}) {
    for (const std::string norm : {"on", "off"}) {
      FlagValues flags = tiny;
      flags.insert(flags.end(), {{"model", "mamba2"},
                                 {"gating", gate},
                                 {"norm", norm == "on" ? "rms" : "none"},
                                 {"lambda", "1"}});
      const Result layers = run_configured(make_layers_study(), flags, 3);
      const std::string name = "gating=" + gate + ",norm=" + norm;
      CHECK(find_series(result, name + ".mu_normalized").mean ==
            find_series(layers, "lambda=1.mu_normalized").mean);
      CHECK(find_series(result, name + ".mu_normalized").x.size() == 5);
    }
  }
}

TEST_CASE("a combination without a skip equals a run with lambda = 0") {
  const Result result = ablate({{"model", "s4d"}, {"lambda", "0.5"}});
  FlagValues flags = tiny;
  flags.insert(flags.end(), {{"model", "s4d"}, {"lambda", "0,0.5"}});
  const Result layers = run_configured(make_layers_study(), flags, 3);
  CHECK(find_series(result, "skip=off,norm=on.mu_normalized").mean ==
        find_series(layers, "lambda=0.mu_normalized").mean);
  CHECK(find_series(result, "skip=on,norm=on.mu_normalized").mean ==
        find_series(layers, "lambda=0.5.mu_normalized").mean);
}

TEST_CASE("the keys of the figure say in words which parts are on") {
  const auto keys = [](const Result& result, const std::string& measure) {
    std::map<std::string, std::string> labels;
    for (const Panel& panel : result.figure.panels) {
      for (const Curve& curve : panel.curves) {
        const std::size_t dot = curve.series.rfind('.');
        if (curve.series.substr(dot + 1) == measure)
          labels[curve.series.substr(0, dot)] = curve.label;
      }
    }
    return labels;
  };
  using Labels = std::map<std::string, std::string>;
  const Result gates = ablate({}), skips = ablate({{"model", "s4d"}});
  for (const std::string measure : {"mu_normalized", "log10_norm"}) {
    CHECK(keys(gates, measure) == Labels{{"gating=on,norm=on", "gate and norm"},
                                         {"gating=on,norm=off", "gate only"},
                                         {"gating=off,norm=on", "norm only"},
                                         {"gating=off,norm=off", "neither"}});
    CHECK(keys(skips, measure) == Labels{{"skip=on,norm=on", "skip and norm"},
                                         {"skip=on,norm=off", "skip only"},
                                         {"skip=off,norm=on", "norm only"},
                                         {"skip=off,norm=off", "neither"}});
  }
}

TEST_CASE("the claims of Figures 3 and 4 are judged from the runs") {
  const Result gates = ablate({{"layers", "40"}}, 4), skips = ablate({{"model", "s4d"}}, 4);
  for (const Claim& claim : gates.claims) CHECK(claim.statement_id == "lambda-skip/fig-3");
  for (const Claim& claim : skips.claims) CHECK(claim.statement_id == "lambda-skip/fig-4");
  CHECK(gates.claims.size() == 8);
  CHECK(skips.claims.size() == 8);  // by mu and by the rank-one residual
  // With a threshold that no run reaches, every claim 'does not collapse' fails.
  const Result strict = ablate({{"model", "s4d"}, {"threshold", "1"}}, 12);
  for (const Claim& claim : strict.claims) {
    CAPTURE(claim.detail);
    CHECK(claim.verdict == Verdict::fails);
  }
}

TEST_CASE("attention without a skip collapses, as Theorem 4.2 says") {
  const Result result = ablate({{"model", "attention"}, {"layers", "16"}}, 4);
  CHECK(find_claim(result, "lambda-skip/section-4.2.1/skip=off,norm=on").verdict == Verdict::holds);
  CHECK(find_series(result, "skip=on,norm=on.mu_normalized").mean.back() >
        find_series(result, "skip=off,norm=on.mu_normalized").mean.back());
}

TEST_CASE("combinations that overflow are named in a note") {
  const Result result = ablate({{"model", "pre-norm"}, {"lambda", "1e12"}, {"layers", "40"}});
  CHECK(result.diverged);
  CHECK(std::any_of(result.notes.begin(), result.notes.end(), [](const std::string& note) {
    return note.find("skip=on,norm=off (layer ") != std::string::npos;
  }));
}

TEST_CASE("a flag may not remove a part that the study itself removes") {
  CHECK_THROWS_AS(configured(make_ablation_study(), {{"norm", "none"}}), UsageError);
  CHECK_THROWS_AS(configured(make_ablation_study(), {{"gating", "off"}}), UsageError);
  CHECK_THROWS_AS(configured(make_ablation_study(), {{"model", "s4d"}, {"lambda", "0"}}),
                  UsageError);
}

namespace {

using Values = std::vector<double>;

// The verdict on Figure 3 for given curves. Without a norm, the norm of the tokens grows by
// `orders` orders of magnitude.
Verdict figure_3(const std::string& claim, const Values& gate_norm, const Values& gate,
                 const Values& norm, const Values& neither, double orders = 0) {
  Drawing drawing;
  for (const auto& [name, mu] : {std::pair{"gating=on,norm=on", gate_norm},
                                 {"gating=on,norm=off", gate},
                                 {"gating=off,norm=on", norm},
                                 {"gating=off,norm=off", neither}}) {
    drawing.push_back({std::string(name) + ".mu_normalized", mu});
    drawing.push_back({std::string(name) + ".rank_one_residual", mu});
    drawing.push_back({std::string(name) + ".log10_norm", {1.0, 1.0 + orders}});
  }
  return find_claim(run_redrawn(make_ablation_study(), tiny, drawing), "lambda-skip/fig-3/" + claim)
      .verdict;
}

}  // namespace

TEST_CASE("verdicts about Figure 3 for given curves") {
  const Values high = {0.9, 0.9, 0.8}, low = {0.9, 0.1, 0.01}, valley = {0.9, 0.1, 0.7};
  for (const bool as_printed : {true, false}) {
    const Verdict verdict = as_printed ? Verdict::holds : Verdict::fails;
    const auto judged = [&](const std::string& claim) {
      return as_printed ? figure_3(claim, high, valley, low, valley, 3)
                        : figure_3(claim, low, low, high, high, 1);
    };
    CHECK(judged("gate-with-norm-keeps") == verdict);
    CHECK(judged("gate-without-norm-keeps") == verdict);
    CHECK(judged("no-gate-with-norm-collapses") == verdict);
    CHECK(judged("no-gate-no-norm-rises") == verdict);
    CHECK(judged("gate-no-norm-rises") == verdict);
    CHECK(judged("gate-raises-residual") == verdict);
    CHECK(judged("no-norm-unstable/gating=on") == verdict);
    CHECK(judged("no-norm-unstable/gating=off") == verdict);
  }
  // Each claim depends only on its own curve.
  CHECK(figure_3("gate-with-norm-keeps", high, low, low, low) == Verdict::holds);
  CHECK(figure_3("gate-without-norm-keeps", low, high, low, low) == Verdict::holds);
  CHECK(figure_3("no-gate-with-norm-collapses", high, high, low, high) == Verdict::holds);
}

TEST_CASE(
    "verdicts about skip and norm for given curves: each claim depends only on its own curve") {
  const std::vector<std::string> curves = {"skip=on,norm=on", "skip=on,norm=off",
                                           "skip=off,norm=on", "skip=off,norm=off"};
  for (const std::string& collapsed : curves) {
    CAPTURE(collapsed);
    Drawing drawing;
    for (const std::string& curve : curves)
      drawing.push_back({curve + ".mu_normalized", {0.9, curve == collapsed ? 0.01 : 0.8}});
    const auto judged = [&](const char* model) {
      FlagValues flags = tiny;
      flags.push_back({"model", model});
      return run_redrawn(make_ablation_study(), flags, drawing);
    };
    const Result figure_4 = judged("s4d"), section_4_2_1 = judged("attention");
    for (const std::string& curve : curves) {
      CHECK(find_claim(figure_4, "lambda-skip/fig-4/" + curve).verdict ==
            (curve == collapsed ? Verdict::fails : Verdict::holds));
    }
    CHECK(find_claim(section_4_2_1, "lambda-skip/section-4.2.1/skip=off,norm=on").verdict ==
          (collapsed == "skip=off,norm=on" ? Verdict::holds : Verdict::fails));
  }
}

}  // namespace ablation_test
