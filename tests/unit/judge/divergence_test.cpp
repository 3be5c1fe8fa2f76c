#include "judge/divergence.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "judge/claims.hpp"

namespace divergence_test {

using namespace ranklab;

namespace {

constexpr double lost = NAN, infinity = std::numeric_limits<double>::infinity();
using Values = std::vector<double>;

const Statement theorem{"spectral/eq-1", "spectral/eq-1/a", "Section 1", "a statement"};
const Statement statement = reading(theorem, "ours");

// "GD", diverged in the first `count` of `all` trials.
Divergence diverged(const std::string& run, std::size_t count, std::size_t all) {
  Divergence out{run, std::vector<bool>(all, false)};
  for (std::size_t t = 0; t < count; ++t) out.in_trial[t] = true;
  return out;
}

// `count` lost values, and then values near 1 up to `all` trials.
Values near_1_after(std::size_t count, std::size_t all) {
  Values out(count, lost);
  for (std::size_t t = count; t < all; ++t) out.push_back(1 + 0.001 * static_cast<double>(t % 3));
  return out;
}

Claim mean_about(const std::vector<Divergence>& runs, const Values& values, Region allowed,
                 bool compared = false) {
  Claims claims;
  {
    const auto scope = claims.about(runs, compared);
    claims.mean(statement, values, allowed, "a number");
  }
  return claims.take().at(0);
}

Claim count_about(const Statement& counted, const std::vector<Divergence>& runs,
                  const Tally& tally) {
  Claims claims;
  const auto scope = claims.about(runs);
  claims.never_violated(counted, tally);
  return claims.take().at(0);
}

void check_undecided(const Claim& claim) {
  CAPTURE(claim.detail);
  CHECK(claim.verdict == Verdict::not_applicable);
  CHECK(claim.undecided);
}

}  // namespace

TEST_CASE("a trial with an infinite difference counts for the run that did not diverge") {
  // A log ratio of losses of -infinity: the run of the denominator diverged.
  const Claim behind = judge_mean(statement, {0.3, 0.31, 0.32, -infinity, -infinity},
                                  compared(at_most(0)), "log10 of a ratio");
  check_undecided(behind);
  CHECK(evidence_text(behind) == "3 violations in 5 cases");
  CHECK(behind.detail ==
        "the trials disagree; counted by trial, because 2 values are infinite; log10 of a ratio");
  CHECK(judge_mean(statement, {-0.3, -0.31, -infinity}, compared(at_most(0))).verdict ==
        Verdict::holds);
  CHECK(judge_mean(statement, {0.3, 0.31, infinity}, compared(at_most(0))).verdict ==
        Verdict::fails);
  CHECK(judge_mean(statement, {0.3, 0.31, infinity}, compared(at_least(0))).verdict ==
        Verdict::holds);
  // Every trial counts, also if no finite value is left.
  CHECK(judge_mean(statement, {-infinity, -infinity, -infinity}, compared(at_most(0))).verdict ==
        Verdict::holds);
  // Without a tie: neither run is ahead in the first trial.
  check_undecided(judge_mean(statement, {0, -0.3, -0.31, -infinity}, compared(at_most(0))));
  CHECK(judge_mean(statement, {0, -0.3, -0.31, -infinity}, positive()).verdict == Verdict::fails);
  // Trials without a value are no cases, and three are needed.
  const Claim few = judge_mean(statement, {lost, -0.3, -infinity}, compared(at_most(0)));
  check_undecided(few);
  CHECK(std::get<CountEvidence>(few.evidence).cases == 2);
  check_undecided(judge_mean(statement, {0.3, infinity}, compared(at_most(0))));
}

TEST_CASE("an infinite difference decides nothing about a margin") {
  check_undecided(judge_equivalence(statement, {0, 0.001, -0.001, infinity}, 0.1));
  check_undecided(judge_equivalence(statement, {5, -5, infinity}, 0.1));
  check_undecided(judge_no_worse(statement, {0, 0.001, -0.001, -infinity}, 0.1));
  check_undecided(judge_mean(statement, {0.1, 0.1, 0.1, infinity}, at_most(0.2)));
  const Claim claim = judge_mean(statement, {0.1, 0.1, 0.1, infinity}, at_most(0.2), "a number");
  CHECK(claim.detail ==
        "a margin cannot be judged without a mean; counted by trial, because 1 value is infinite; "
        "a number");
}

TEST_CASE("a mean over the trials that are left says so, and is decided by a majority of trials") {
  const auto judged = [](std::size_t count) {
    return mean_about({diverged("GD", count, 16)}, near_1_after(count, 16), within(1, 0.1));
  };
  CHECK(judged(0).verdict == Verdict::holds);
  CHECK(judged(0).detail == "a number");
  CHECK(judged(7).verdict == Verdict::holds);
  CHECK(judged(7).detail ==
        "a number; GD diverged in 7 of 16 trials; judged over the 9 trials with a value");
  check_undecided(judged(8));
  check_undecided(judged(13));
  CHECK(judged(13).detail ==
        "at least half of the trials diverged; a number; GD diverged in 13 of 16 trials; judged "
        "over the 3 trials with a value");
  CHECK(std::get<MeanEvidence>(judged(13).evidence).n == 3);
  // A claim that fails is about the same few trials.
  CHECK(mean_about({diverged("GD", 7, 16)}, near_1_after(7, 16), at_least(2)).verdict ==
        Verdict::fails);
  check_undecided(mean_about({diverged("GD", 13, 16)}, near_1_after(13, 16), at_least(2)));
  // If no trial is left, no hypothesis is unmet: there are too few data.
  check_undecided(mean_about({diverged("GD", 4, 4)}, Values(4, lost), at_most(2)));
}

TEST_CASE(
    "values that a later divergence does not change, or that are undefined anyway, count as "
    "before") {
  const Claim known = mean_about({diverged("GD", 3, 4)}, near_1_after(0, 4), at_most(2));
  CHECK(known.verdict == Verdict::holds);
  CHECK(known.detail == "a number; GD diverged in 3 of 4 trials, after these values");
  Values values = near_1_after(0, 8);
  for (const std::size_t t : {3u, 4u, 5u}) values[t] = lost;
  CHECK(mean_about({diverged("GD", 1, 8)}, values, at_most(2)).verdict == Verdict::holds);
  values[6] = lost;
  check_undecided(mean_about({diverged("GD", 1, 8)}, values, at_most(2)));
}

TEST_CASE("the detail of a comparison says how often each run diverged") {
  const Values values = {-infinity, -infinity, infinity, 0.1, 0.2};
  Divergence specgd = diverged("SpecGD", 0, 5);
  specgd.in_trial[2] = true;
  const Claim claim = mean_about({diverged("GD", 2, 5), specgd}, values, compared(at_most(0)));
  check_undecided(claim);
  CHECK(claim.detail ==
        "the trials disagree; counted by trial, because 3 values are infinite; a number; GD "
        "diverged in 2 and SpecGD in 1 of 5 trials");
}

TEST_CASE("a difference that no number can stand for is undecided if one of its runs diverged") {
  const std::vector<Divergence> one_sided = {diverged("GD", 1, 9), diverged("SpecGD", 0, 9)},
                                both = {diverged("GD", 1, 9), diverged("SpecGD", 1, 9)};
  const Claim claim = mean_about(one_sided, near_1_after(1, 9), at_least(0), true);
  check_undecided(claim);
  CHECK(claim.detail.starts_with("a run that diverged cannot be compared in 1 trial; a number; "));
  CHECK(mean_about(one_sided, near_1_after(1, 9), at_least(0)).verdict == Verdict::holds);
  CHECK(mean_about(both, near_1_after(1, 9), at_least(0), true).verdict == Verdict::holds);
  CHECK(mean_about(one_sided, near_1_after(0, 9), at_least(0), true).verdict == Verdict::holds);
}

TEST_CASE("a count keeps its violations and holds if most trials did not diverge") {
  const Tally none{100, 0}, one{100, 1};
  const auto runs = [](std::size_t count) {
    return std::vector<Divergence>{diverged("GD", count, 4)};
  };
  CHECK(count_about(statement, runs(0), none).detail.empty());
  CHECK(count_about(statement, runs(1), none).verdict == Verdict::holds);
  CHECK(count_about(statement, runs(1), none).detail ==
        "GD diverged in 1 of 4 trials, which count until then");
  check_undecided(count_about(statement, runs(2), none));
  CHECK(count_about(statement, runs(4), one).verdict == Verdict::fails);
  // A theorem covers every case on its own.
  CHECK(count_about(theorem, runs(4), none).verdict == Verdict::holds);
  CHECK(count_about(theorem, runs(4), none).detail.empty());
}

TEST_CASE("runs belong to their scope, and an inner scope replaces them") {
  Claims claims;
  {
    const auto outer = claims.about({diverged("GD", 3, 4)});
    {
      const auto inner = claims.about({diverged("SpecGD", 1, 4)});
      const auto hypothesis = claims.only_where("");
      claims.mean(statement, near_1_after(1, 4), at_most(2));
    }
    claims.mean(statement, near_1_after(3, 4), at_most(2));
  }
  claims.mean(statement, near_1_after(1, 4), at_most(2));
  const std::vector<Claim> all = claims.take();
  CHECK(all[0].verdict == Verdict::holds);
  CHECK(all[0].detail.starts_with("SpecGD diverged in 1 of 4 trials"));
  check_undecided(all[1]);
  CHECK(all[2].detail.empty());
}

}  // namespace divergence_test
