// Lemma 2.9 on numbers worked out by hand.
#include "experiments/token_embedding.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"

namespace token_embedding_test {

using namespace ranklab;

namespace {

// Each record is one embedded sequence: st(X), eps, 1/p_max.
Claim judged(const std::vector<std::vector<double>>& sequences) {
  Records records;
  for (const std::vector<double>& each : sequences) records.emplace_back().set("sequence", each);
  const auto measured = [](const TrialRecord& record) {
    const std::vector<double>& sequence = record.array("sequence");
    return EmbeddedSequence{sequence[0], sequence[1], sequence[2]};
  };
  Claims claims;
  judge_lemma_2_9(records, measured, claims);
  REQUIRE(claims.list().size() == 1);
  CHECK(claims.list()[0].id == "spectral/lemma-2.9");
  return claims.list()[0];
}

}  // namespace

TEST_CASE("the bound of Lemma 2.9 is 5/3 of 12 at eps = 1/4, and undefined for eps >= 1") {
  CHECK(embedding_bound(0.25, 12) == doctest::Approx(20).epsilon(tolerance::closed_form<double>));
  CHECK(embedding_bound(0, 12) == 12);
  CHECK(std::isnan(embedding_bound(1.0, 12)));
}

TEST_CASE("Lemma 2.9 is violated only if the excess is larger than the rounding error") {
  CHECK(judged({{20 * (1 + tolerance::closed_form<double>), 0.25, 12}}).verdict == Verdict::holds);
  CHECK(judged({{20 * (1 + 1e-12), 0.25, 12}}).verdict == Verdict::fails);
  const Claim one_of_two = judged({{10, 0.25, 12}, {21, 0.25, 12}});
  CHECK(one_of_two.verdict == Verdict::fails);
  CHECK(one_of_two.measured == 1);
}

TEST_CASE("Lemma 2.9 does not count trials with eps >= 1") {
  CHECK(std::get<CountEvidence>(judged({{1e9, 1.0, 12}, {10, 0.5, 12}}).evidence).cases == 1);
  CHECK(judged({{1e9, 1.0, 12}, {10, 0.5, 12}}).detail ==
        "largest measured eps 1; largest st(X) over its bound 0.2778; no case in trial 0");
  const Claim none = judged({{10, 1.0, 12}, {10, 1.5, 12}});
  CHECK(none.verdict == Verdict::not_applicable);
  CHECK(none.detail.find("a fraction of at least 1 (at most 1.5)") != std::string::npos);
  CHECK(judged({}).detail == "no case to judge");
}

}  // namespace token_embedding_test
