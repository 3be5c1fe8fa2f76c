#include "result/agreement.hpp"

#include <doctest/doctest.h>

namespace agreement_test {

using namespace ranklab;

namespace {

Claim claim(const std::string& id, const std::string& outcome) {
  Claim out;
  out.id = id;
  out.verdict = outcome == "holds"   ? Verdict::holds
                : outcome == "fails" ? Verdict::fails
                                     : Verdict::not_applicable;
  out.undecided = outcome == "undecided";
  return out;
}

ResultFile result(const std::vector<std::pair<const char*, const char*>>& outcomes) {
  ResultFile out;
  out.preset = "P";
  for (const auto& [id, outcome] : outcomes) out.claims.push_back(claim(id, outcome));
  return out;
}

Agreement agreement(const ResultFile& run, const ResultFile& published) {
  Agreement out;
  out.add(run, published);
  return out;
}

}  // namespace

TEST_CASE("only holds against fails contradicts; other differences of a full run are named") {
  const ResultFile published = result({{"a", "holds"},
                                       {"b", "fails"},
                                       {"c", "holds"},
                                       {"d", "undecided"},
                                       {"e", "holds"},
                                       {"f", "no"},
                                       {"g", "no"}});
  CHECK(agreement(published, published).text() == "5 of 5 verdicts as published");
  const Agreement mixed = agreement(
      result({{"a", "fails"}, {"b", "holds"}, {"c", "undecided"}, {"d", "holds"}, {"g", "holds"}}),
      published);
  CHECK(mixed.contradictions == std::vector<std::string>{"P a (published holds, here fails)",
                                                         "P b (published fails, here holds)"});
  CHECK(mixed.text() ==
        "0 of 6 verdicts as published; 2 contradict: P a (published holds, here fails), P b "
        "(published fails, here holds); 4 differ without a contradiction: P c (published holds, "
        "here undecided), P d (published undecided, here holds), P e (published holds, here "
        "missing), and 1 more");
}

TEST_CASE("a claim whose verdict a shorter run withheld is undecided, not inapplicable") {
  ResultFile withheld = result({{"a", "no"}});
  withheld.claims[0].shortened = true;
  CHECK(agreement(withheld, result({{"a", "holds"}})).differences ==
        std::vector<std::string>{"P a (published holds, here undecided)"});
}

TEST_CASE("a shorter run withholds what it does not decide") {
  const ResultFile published =
      result({{"a", "holds"}, {"b", "fails"}, {"c", "holds"}, {"d", "holds"}});
  ResultFile run = result({{"a", "holds"}, {"b", "undecided"}, {"c", "no"}});
  run.changed = {{"trials", 12, 2}};
  CHECK(agreement(run, published).text() ==
        "1 of 1 verdict as published; 3 withheld, the run is shorter");
  run.claims[0].verdict = Verdict::fails;
  CHECK(agreement(run, published).contradictions.size() == 1);
}

TEST_CASE("claims that another preset judges have no verdict here; runs add up") {
  ResultFile published = result({{"a", "holds"}, {"b", "no"}});
  published.claims[1].judged_in = "Q";
  Agreement all;
  for (int i = 0; i < 1205; ++i) all.add(published, published);
  CHECK(all.text() == "1,205 of 1,205 verdicts as published");
}

}  // namespace agreement_test
