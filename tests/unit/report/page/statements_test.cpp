#include "report/page/statements.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace statements_test {

using namespace ranklab;
using Json = nlohmann::json;

namespace {

Json claim(const std::string& id, const std::string& verdict, const std::string& source = "") {
  return {{"id", id}, {"verdict", verdict}, {"source", source}};
}

Json result(const std::string& figure, const std::vector<Json>& claims) {
  return {{"source", {{"paper", "[Spectral]"}, {"figure", figure}}}, {"claims", claims}};
}

}  // namespace

TEST_CASE("figures are found by name and by id") {
  CHECK(figure_of_source("Figure 14 (a)") == "14a");
  CHECK(figure_of_source("Figure 3") == "3");
  CHECK(figure_of_source("Theorem 3.6") == "");
  CHECK(figure_of_id("spectral/fig-14a/window") == "14a");
  CHECK(figure_of_id("shallow/fig-2-step3") == "2");
  CHECK(figure_of_id("spectral/eq-1.5/gd") == "");
}

TEST_CASE("a claim about another figure is judged with that figure") {
  const Json own = result("Figure 18 (a)", {}), other = result("Theorem 3.6", {});
  Json elsewhere = claim("spectral/eq-1.8/gd/W1", "not-applicable");
  elsewhere["judged_in"] = "spectral-fig04";
  CHECK(!belongs(elsewhere, own));
  CHECK(belongs(claim("spectral/fig-18a/x", "holds"), own));
  CHECK(belongs(claim("spectral/fig-18/x", "holds"), own));
  CHECK(belongs(claim("spectral/eq-1.5", "holds"), own));
  CHECK_FALSE(belongs(claim("spectral/fig-18b/x", "holds"), own));
  CHECK_FALSE(belongs(claim("spectral/fig-1/x", "holds"), own));
  CHECK_FALSE(belongs(claim("spectral/fig-1/x", "holds"), result("Figure 14", {})));
  CHECK_FALSE(belongs(claim("shallow/fig-18a/x", "holds"), own));
  CHECK_FALSE(belongs(claim("spectral/fig-1/x", "holds"), other));
  CHECK(belongs(claim("spectral/fig-1/x", "holds"), Json::object()));
}

TEST_CASE("a result may be about several figures") {
  const Json several = result("Figures 2, 5 to 10", {}), two = result("Figures 3 and 11", {});
  for (const char* id : {"spectral/fig-2/x", "spectral/fig-5/x", "spectral/fig-7/x",
                         "spectral/fig-10/x", "spectral/fig-8/probe/x"}) {
    CHECK(belongs(claim(id, "holds"), several));
  }
  for (const char* id : {"spectral/fig-1/x", "spectral/fig-3/x", "spectral/fig-4/x",
                         "spectral/fig-11/x", "shallow/fig-2/x"}) {
    CHECK_FALSE(belongs(claim(id, "holds"), several));
  }
  CHECK(belongs(claim("spectral/fig-3/x", "holds"), two));
  CHECK(belongs(claim("spectral/fig-11/x", "holds"), two));
  CHECK_FALSE(belongs(claim("spectral/fig-5/x", "holds"), two));
}

TEST_CASE("each statement counts once, a misprint with its corrected form") {
  const Json first =
      result("Figure 3",
             {claim("spectral/eq-1.5/gd", "holds"), claim("spectral/eq-1.6/as-printed", "fails"),
              claim("spectral/eq-1.6/corrected", "holds"), claim("spectral/fig-11/x", "fails")});
  const Json second = result("Figure 11", {claim("spectral/eq-1.5/gd", "fails"),
                                           claim("spectral/lemma-1", "not-applicable"),
                                           claim("spectral/fig-11/x", "holds")});
  const StandingCounts counts = count(statements_of({&first, &second}));
  CHECK(counts.holds == 1);
  CHECK(counts.misprints == 1);
  CHECK(counts.fails == 1);
  CHECK(counts.not_applicable == 1);
}

TEST_CASE("too few data and an unmet hypothesis give different verdicts") {
  Json few = claim("spectral/a", "not-applicable"), shorter = claim("spectral/b", "not-applicable"),
       unmet = claim("spectral/c", "not-applicable");
  few["detail"] = "undecided at 3 trials: mean 0.1 +- 0.2 (99 %)";
  shorter["shortened"] = true;
  unmet["detail"] = "P is not symmetric; compared anyway: undecided at 3 trials";
  const Json json = result("Figure 3", {few, shorter, unmet});
  CHECK(verdict_of(few) == Standing::undecided);
  CHECK(verdict_of(shorter) == Standing::undecided);
  CHECK(verdict_of(unmet) == Standing::not_applicable);
  const StandingCounts counts = count(statements_of({&json}));
  CHECK(counts.undecided == 2);
  CHECK(counts.not_applicable == 1);
  CHECK(counts.total() == 3);
}

TEST_CASE("a corrected form belongs to the claim that it names, independent of their ids") {
  const auto of_kind = [](Json claim, const std::string& kind,
                          const std::string& misprint_of = "") {
    claim["kind"] = kind;
    if (!misprint_of.empty()) claim["misprint_of"] = misprint_of;
    return claim;
  };
  const Json json = result(
      "Proposition 1",
      {of_kind(claim("lambda-skip/prop-1/form", "fails"), "theorem"),
       of_kind(claim("lambda-skip/prop-1/closed", "holds"), "theorem", "lambda-skip/prop-1/form"),
       of_kind(claim("lambda-skip/prop-2/corrected", "holds"), "theorem"),
       of_kind(claim("lambda-skip/prop-3", "fails"), "reading"),
       of_kind(claim("lambda-skip/prop-4", "fails"), "beyond")});
  const std::vector<JudgedStatement> statements = statements_of({&json});
  REQUIRE(statements.size() == 4);
  CHECK(statements[0].standing() == Standing::misprint);
  CHECK(statements[1].standing() == Standing::holds);
  CHECK(statements[2].standing() == Standing::missed);
  CHECK(count(statements).missed == 2);
}

TEST_CASE("a corrected form that fails or has no printed form is not a misprint") {
  const Json both = result("Figure 3", {claim("spectral/a/as-printed", "fails"),
                                        claim("spectral/a/corrected", "fails")});
  const Json alone = result("Figure 3", {claim("spectral/b/corrected", "holds")});
  CHECK(statements_of({&both}).front().standing() == Standing::fails);
  CHECK(statements_of({&alone}).front().standing() == Standing::holds);
  const Json open = result("Figure 3", {claim("spectral/c/as-printed", "not-applicable"),
                                        claim("spectral/c/corrected", "holds")});
  CHECK(statements_of({&open}).front().standing() == Standing::not_applicable);
}

}  // namespace statements_test
