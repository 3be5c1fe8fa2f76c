#include "result/changes.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "figure/picture.hpp"
#include "figure/sample.hpp"
#include "figure/words.hpp"
#include "judge/claims.hpp"
#include "result/typed.hpp"

namespace changes_test {

using namespace ranklab;
using nlohmann::json;
using ranklab::testing::contains;
using ranklab::testing::sample_result;

namespace {

ResultFile changed_by(const char* changed) {
  json result = sample_result();
  result["changed"] = json::parse(changed);
  return ranklab::testing::typed(result);
}

}  // namespace

TEST_CASE("if only the number of trials is lower, the text is '4 of 32 trials'") {
  ResultFile result = changed_by(R"([{"name": "trials", "preset": 32, "run": 4}])");
  CHECK(changes_text(result) == "4 of 32 trials");
  result.trials.unit = "input";
  CHECK(changes_text(result) == "4 of 32 inputs");
}

TEST_CASE("a run shorter than its preset withholds the verdicts that a full run could change") {
  const Statement theorem{"spectral/thm-1", "spectral/thm-1", "Theorem 1", "t"},
      figure{"spectral/fig-1", "spectral/fig-1", "Figure 1", "f", Part::statement, Kind::figure};
  const std::vector<double> sure = {1, 1.001, 0.999}, close = {0.9, 1, 1.1};
  const auto claims_under = [&](const char* changed) {
    Claims claims;
    claims.never_violated(theorem, Tally{9, 0});
    claims.never_violated(figure, Tally{9, 0});
    claims.never_violated(figure, Tally{9, 1});
    claims.mean(figure, sure, at_least(0));
    claims.mean(figure, close, at_least(0.42));  // half width 0.573; undecided for three means
    claims.number(figure, 2, at_least(1));
    claims.mean(figure, close, at_least(0.9));  // undecided
    ResultFile file = changed_by(changed);
    file.trials.unit = "seed";
    file.claims = claims.take();
    REQUIRE(file.claims[4].holm_undecided);
    withhold_verdicts(file);
    return file.claims;
  };
  const auto withheld = [&](const char* changed) {
    std::string out;
    for (const Claim& claim : claims_under(changed)) {
      CHECK(claim.shortened == claim.detail.starts_with("shortened: "));
      if (claim.shortened) CHECK(claim.verdict == Verdict::not_applicable);
      out += claim.shortened ? '-' : '+';
    }
    return out;
  };
  CHECK(withheld("[]") == "+++++++");
  CHECK(withheld(R"([{"name": "trials", "preset": 2, "run": 3}])") == "+++++++");
  CHECK(withheld(R"([{"name": "lr", "preset": 0.1, "run": 0.05}])") == "+++++++");
  CHECK(withheld(R"([{"name": "trials", "preset": 12, "run": 3}])") == "+-++-+-");
  for (const char* shorter :
       {R"([{"name": "steps", "preset": 300, "run": 60}])",
        R"([{"name": "steps", "preset": ["a:9", "b:8"], "run": ["a:7", "b:7"]}])",
        R"([{"name": "record-every", "preset": 1, "run": 10}])",
        R"([{"name": "lambda", "preset": [0, 1, 2], "run": [0, 1]}])"}) {
    CAPTURE(shorter);
    CHECK(withheld(shorter) == "+------");
  }
  const char* both =
      R"([{"name": "trials", "preset": 12, "run": 3}, {"name": "steps", "preset": 300, "run": 60}])";
  CHECK(claims_under(both)[3].detail == "shortened: 3 of 12 seeds, 60 of 300 steps");
}

TEST_CASE(
    "a claim that another preset judges on the same runs refers to that preset unless the run "
    "differs") {
  const auto made = [](const char* changed) {
    Claims claims;
    claims.number({"spectral/eq-1.8", "spectral/eq-1.8/gd/W1", "(1.8)", "a"}, 1, at_least(0),
                  "one");
    claims.number({"spectral/fig-1", "spectral/fig-1/x", "Figure 1", "b"}, 1, at_least(2));
    claims.not_applicable({"spectral/eq-1.8", "spectral/eq-1.8/gd/W2", "(1.8)", "c"},
                          "hypothesis not met");
    ResultFile file = changed_by(changed);
    file.claims = claims.take();
    refer_verdicts(file, "spectral-fig04", {"spectral/fig-4/*", "spectral/eq-1.8/*"});
    return file.claims;
  };
  for (const char* changed : {"[]", R"([{"name": "trials", "preset": 6, "run": 2}])"}) {
    const std::vector<Claim> claims = made(changed);
    CHECK(claims[0].verdict == Verdict::not_applicable);
    CHECK(claims[0].detail == "one");
    CHECK(claims[0].judged_in == "spectral-fig04");
    CHECK(claims[1].judged_in.empty());
    CHECK(claims[1].verdict == Verdict::fails);
    CHECK(claims[2].detail == "hypothesis not met");
  }
  CHECK(made(R"([{"name": "seed", "preset": 1, "run": 2}])")[0].verdict == Verdict::holds);
}

TEST_CASE("any other change is listed with both values in the syntax of flags") {
  CHECK(changes_text(changed_by(R"([{"name": "n", "preset": 8196, "run": 2048}])")) ==
        "changed from the preset: n 2048 instead of 8196");
  CHECK(changes_text(changed_by(R"([{"name": "trials", "preset": 4, "run": 32}])")) ==
        "changed from the preset: trials 32 instead of 4");
  CHECK(
      changes_text(changed_by(
          R"([{"name": "trials", "preset": 9, "run": 3}, {"name": "from-peak", "preset": true, "run": false},
                                    {"name": "lambda", "preset": [-1, 0.5], "run": []}])")) ==
      "changed from the preset: 3 of 9 trials, from-peak off instead of on, lambda none instead of "
      "-1,0.5");
}

TEST_CASE("remaining values of a list are counted, and shown if they are short") {
  CHECK(changes_text(
            changed_by(R"([{"name": "lambda", "preset": [-5.0, 0.0, 0.5], "run": [0.0, 0.5]}])")) ==
        "changed from the preset: 2 of 3 values of lambda (0,0.5)");
  CHECK(changes_text(changed_by(
            R"([{"name": "also", "preset": ["muon,lr-embedding=0.01,dim=128,steps=110", "b", "c"],
                                     "run": ["c", "muon,lr-embedding=0.01,dim=128,steps=110"]}])")) ==
        "changed from the preset: 2 of 3 values of also");
  CHECK(changes_text(changed_by(R"([{"name": "k", "preset": [1, 2], "run": [2, 3]}])")) ==
        "changed from the preset: k 2,3 instead of 1,2");
}

TEST_CASE(
    "a picture shows the change below its title and in its description; without a change it "
    "is the same") {
  const ResultFile changed = changed_by(R"([{"name": "trials", "preset": 32, "run": 4}])"),
                   unchanged = changed_by("[]");
  CHECK(changes_text(unchanged).empty());
  CHECK(contains(draw_svg(changed).text(), "4 of 32 trials"));
  CHECK(contains(describe_figure(figure_data(changed)),
                 "2 panels. Not the unchanged preset: 4 of 32 trials."));
  CHECK(!contains(describe_figure(figure_data(unchanged)), "preset"));
}

}  // namespace changes_test
