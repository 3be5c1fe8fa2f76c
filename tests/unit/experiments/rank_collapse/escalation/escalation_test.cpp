// The study escalation agrees with a second implementation of [Shallow] Algorithm 1, and gives the
// right verdicts on known records.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "core/tolerances.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/rank_collapse/escalation/escalation_reference.hpp"
#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/rank_collapse/token_escalation.hpp"
#include "experiments/result_parts.hpp"

namespace escalation_test {

using namespace ranklab;
using namespace escalation_reference;

namespace {

doctest::Approx close(double expected, double relative) {
  return doctest::Approx(expected).scale(0).epsilon(relative);
}

const FlagValues tiny = {{"layers", "3"}, {"tokens", "6"}, {"dim", "24"}, {"heads", "4"}};

using Arrays = std::map<std::string, std::vector<double>>;

// Arrays in which the diversity halves at every block, step 1 has the ratio 2 and the other steps
// have the ratio 1.
Arrays as_claimed(std::size_t blocks, double jitter) {
  Arrays arrays;
  for (std::size_t k = 0; k <= blocks; ++k) {
    arrays["token_diversity"].push_back(0.9 * std::pow(0.5, static_cast<double>(k)));
    arrays["token_similarity"].push_back(1 - arrays["token_diversity"].back());
  }
  for (const auto& [name, value] : {std::pair{"rate", 2.0},
                                    {"mu_1", 1.0},
                                    {"mu_2", 1e-4},
                                    {"mu_1_bound", 0.98},
                                    {"mu_2_bound", 1e-3},
                                    {"step1.xi_ratio", 2.0},
                                    {"step2.xi_ratio", 1.0},
                                    {"step3.xi_ratio", 1.0},
                                    {"step4.xi_ratio", 1.0}}) {
    arrays[name].assign(blocks, value * jitter);
  }
  for (const char* name : {"delta", "omega"}) {
    for (std::size_t k = 0; k < blocks; ++k)
      arrays[name].push_back(0.04 * jitter * arrays["token_diversity"][k]);
  }
  return arrays;
}

// The result for three trials in the study's own setting, with their arrays modified by `change`.
Result judged(const std::function<void(Arrays&)>& change, std::size_t blocks = 16,
              const std::string& norm = "layer") {
  Records records(3);
  for (std::size_t t = 0; t < records.size(); ++t) {
    Arrays arrays = as_claimed(blocks, 1 + 1e-4 * static_cast<double>(t));
    change(arrays);
    for (const auto& [name, values] : arrays) records[t].set(name, values);
    records[t].set("degenerate_rows", 0.0);
    records[t].set("diverged", 0.0);
    records[t].count("shallow/eq-6", false, 0.0);
  }
  return result_of(make_escalation_study(), {{"layers", std::to_string(blocks)}, {"norm", norm}},
                   records);
}

}  // namespace

TEST_CASE("escalation: every series equals that of Algorithm 1, written with tokens in rows") {
  const Result result = run_configured(make_escalation_study(), tiny, 2);
  const std::vector<ReferenceBlock> paths[] = {path(6, 24, 4, 3, 0), path(6, 24, 4, 3, 1)};
  const auto check = [&](const std::string& name, std::size_t at,
                         const std::function<double(const std::vector<ReferenceBlock>&)>& value) {
    CAPTURE(name);
    CAPTURE(at);
    const double expected = (value(paths[0]) + value(paths[1])) / 2;
    CHECK(find_series(result, name).mean[at] == close(expected, tolerance::residual<double>));
  };
  check("token_similarity", 0, [](const auto& blocks) { return similarity(blocks[0].X); });
  for (std::size_t k = 0; k < 3; ++k) {
    check("token_similarity", k + 1,
          [k](const auto& blocks) { return similarity(blocks[k].Y[3]); });
    check("rate", k,
          [k](const auto& b) { return (1 - similarity(b[k].X)) / (1 - similarity(b[k].Y[0])); });
    check("diversity_ratio", k,
          [k](const auto& b) { return (1 - similarity(b[k].Y[3])) / (1 - similarity(b[k].X)); });
    check("omega", k, [k](const auto& blocks) { return mean_omega(blocks[k]); });
    check("delta", k, [k](const auto& blocks) { return mean_delta(blocks[k]); });
    check("mu_1", k, [k](const auto& blocks) { return mean_mu_squared(blocks[k], shared); });
    check("mu_2", k, [k](const auto& blocks) { return mean_mu_squared(blocks[k], rest); });
    for (std::size_t s = 0; s < 4; ++s) {
      check("step" + std::to_string(s + 1) + ".xi_ratio", k,
            [k, s](const auto& b) { return xi_ratio(s == 0 ? b[k].X : b[k].Y[s - 1], b[k].Y[s]); });
    }
  }
  CHECK(find_series(result, "token_similarity").x == std::vector<double>{0, 1, 2, 3});
  CHECK(find_series(result, "omega").x == std::vector<double>{1, 2, 3});
  for (const char* id : {"shallow/eq-6", "shallow/eq-11"})
    CHECK(find_claim(result, id).verdict == Verdict::holds);
  // 2 trials with 3 blocks of 4 steps each
  CHECK(std::get<CountEvidence>(find_claim(result, "shallow/eq-6").evidence).cases == 24);
  CHECK(find_claim(result, "shallow/fig-2-maximum").verdict == Verdict::not_applicable);
  CHECK_FALSE(result.diverged);
}

TEST_CASE(
    "blocks: one undecided block makes the claim undecided, one block outside makes it fail") {
  using token_escalation::judge_blocks;
  const Statement statement = {"shallow/fig-2", "shallow/fig-2-step1", "Figure 2",
                               "x >= 1 at every block"};
  // Student's 99 % interval of the mean of 0, 1 and 2 is 1 +- 9.92 / sqrt(3), which contains 1.
  const std::vector<double> clear = {2, 2.001, 1.999}, spread = {0, 1, 2}, below = {0, 0.001, 0};
  const auto judged_at = [&](const std::vector<std::vector<double>>& values) {
    return judge_blocks(statement, values, at_least(1), "");
  };
  CHECK(judged_at({clear, clear}).verdict == Verdict::holds);
  CHECK_FALSE(judged_at({clear, clear}).undecided);
  CHECK(judged_at({clear, spread}).verdict == Verdict::not_applicable);
  CHECK(judged_at({clear, spread}).undecided);
  CHECK(judged_at({below, spread}).verdict == Verdict::fails);
  CHECK_FALSE(judged_at({below, spread}).undecided);

  const std::vector<double> tied = {1, 1, 1};
  CHECK(judged_at({clear, tied}).verdict == Verdict::holds);  // a bound, which includes its end
  const Claim tie = judge_blocks(statement, {clear, tied}, compared(at_least(1)), "");
  CHECK(tie.undecided);
  CHECK(tie.detail.ends_with("undecided at block 2; a tie in every trial at block 2"));
}

TEST_CASE("escalation: verdicts follow from the numbers of the records") {
  const Result good = judged([](Arrays&) {});
  CHECK(good.claims.size() == 17);
  for (const Claim& claim : good.claims) {
    CAPTURE(claim.id);
    CAPTURE(claim.detail);
    CHECK(claim.verdict == (claim.slip.empty() ? Verdict::holds : Verdict::fails));
  }
  CHECK(find_scalar(good, "first_state_above_0.99")[0] == 7);  // 0.9 / 2^7 is below 0.01
  CHECK(find_scalar(good, "decreases")[0] == 0);
  CHECK(find_scalar(good, "late_diversity_ratio")[0] == close(0.5, tolerance::closed_form<double>));
  CHECK(find_scalar(good, "step1.late_diversity_ratio")[0] ==
        close(0.5, tolerance::closed_form<double>));
  struct Case {
    const char* claim;
    const char* array;
    std::size_t at;
    double value;
  };
  for (const Case& wrong : {Case{"shallow/fig-2-monotone", "token_diversity", 3, 0.5},
                            {"shallow/fig-2-maximum", "token_similarity", 14, 0.9},
                            {"shallow/fig-2-step1", "step1.xi_ratio", 15, 2.6},
                            {"shallow/fig-2-step2", "step2.xi_ratio", 0, 1.2},
                            {"shallow/fig-2-step3", "step3.xi_ratio", 1, 0.8},
                            {"shallow/fig-2-step4", "step4.xi_ratio", 7, 1.2},
                            {"shallow/fig-2-delta", "delta", 0, 0.6},
                            {"shallow/fig-2-omega", "omega", 4, 0.6},
                            {"shallow/fig-2-delta/to-zero", "delta", 15, 0.02},
                            {"shallow/fig-2-omega/to-zero", "omega", 15, 0.02},
                            {"shallow/eq-11", "mu_1", 2, 0.97},
                            {"shallow/eq-11", "mu_2", 2, 0.002},
                            {"shallow/sec-2.4/variance/corrected", "mu_2", 0, 0.9},
                            {"shallow/rem-2.8", "token_diversity", 16, 1e-3},
                            {"shallow/rem-2.8/step1", "rate", 12, 0.2}}) {
    CAPTURE(wrong.claim);
    const Result result =
        judged([&](Arrays& arrays) { arrays.at(wrong.array).at(wrong.at) = wrong.value; });
    CHECK(find_claim(result, wrong.claim).verdict == Verdict::fails);
  }
  const Result two = judged(
      [](Arrays& arrays) { arrays["step3.xi_ratio"][0] = 1.6, arrays["step3.xi_ratio"][1] = 1.2; });
  CHECK(find_claim(two, "shallow/fig-2-step3").detail.find("outside at blocks 1, 2: 1.2 to 1.6") !=
        std::string::npos);
  CHECK(find_claim(two, "shallow/fig-2-step3").measured == 1.6);
  // A factor of 0.7 in the first ten blocks, and 1/2 from block 11 on.
  const Result late = judged([](Arrays& arrays) {
    std::vector<double>& diversity = arrays["token_diversity"];
    for (std::size_t k = 1; k < diversity.size(); ++k)
      diversity[k] = diversity[k - 1] * (k <= 10 ? 0.7 : 0.5);
  });
  CHECK(find_claim(late, "shallow/rem-2.8/early").verdict == Verdict::fails);
  CHECK(find_claim(late, "shallow/rem-2.8/early").measured == 11);
  const Result falls = judged([](Arrays& arrays) { arrays["token_diversity"][3] = 0.5; });
  CHECK(find_scalar(falls, "decreases")[2] == 1);
}

TEST_CASE("escalation: by (29), the printed variance h/d gives 9 instead of 2 at block 1") {
  const auto variance = [](const std::string& form, const std::function<void(Arrays&)>& change) {
    return find_claim(judged(change), "shallow/sec-2.4/variance/" + form);
  };
  // With 8 heads, mu_1 = 1 and mu_2 = 1e-4, each times 1.0001 on average over three trials.
  const auto same = [](Arrays&) {};
  const Claim printed = variance("as-printed", same), corrected = variance("corrected", same);
  CHECK(printed.measured == close(1 + 8 * 0.9999 * 1.0001 / (1 + 8 * 1.0001e-4), 1e-6));
  CHECK(corrected.measured == close(1 + 0.9999 * 1.0001 / (1 + 1.0001e-4), 1e-6));
  CHECK(printed.verdict == Verdict::fails);
  CHECK(printed.slip == "shallow/sec-2.4/variance");
  CHECK(printed.part == Part::definition);
  CHECK(corrected.verdict == Verdict::holds);
  CHECK(corrected.misprint_of == printed.id);
  // Later blocks do not count; at block 1, mu_1 = 1/8 would fit the printed variance.
  CHECK(variance("corrected", [](Arrays& arrays) { arrays["mu_2"][1] = 0.9; }).verdict ==
        Verdict::holds);
  CHECK(variance("as-printed", [](Arrays& arrays) { arrays["mu_1"][0] = 0.125; }).verdict ==
        Verdict::holds);
  FlagValues one_head = tiny;
  one_head.back() = {"heads", "1"};
  const Result one = run_configured(make_escalation_study(), one_head, 3);
  for (const char* form : {"as-printed", "corrected"})
    CHECK(find_claim(one, "shallow/sec-2.4/variance/" + std::string(form)).verdict ==
          Verdict::not_applicable);
}

TEST_CASE("escalation: our tolerances make readings, and limits asymptotic statements") {
  const Result good = judged([](Arrays&) {});
  for (const auto& [id, statement] : {std::pair("shallow/fig-2-step1", "shallow/fig-2"),
                                      {"shallow/fig-2-step3", "shallow/sec-2.4/other-steps"}}) {
    CHECK(find_claim(good, id).kind == Kind::reading);
    CHECK(find_claim(good, id).statement_id == statement);
  }
  CHECK(find_claim(good, "shallow/fig-2-step1").threshold == "within 0.5 at every block, ours");
  CHECK(find_claim(good, "shallow/fig-2-step3").threshold == "within 0.1 at every block, ours");
  CHECK(find_claim(good, "shallow/rem-2.8/early").kind == Kind::reading);
  CHECK(find_claim(good, "shallow/rem-2.8/step1").kind == Kind::asymptotic);
  CHECK(find_claim(good, "shallow/rem-2.8/step1").threshold == "within 10 %, ours");
}

TEST_CASE(
    "escalation: a step violates eq. (6) if its rate differs from the identity by more than "
    "rounding") {
  const auto counted = [](const Escalation& step) {
    Tally tally;
    token_escalation::count_identity(step, 0.25, tally);
    return tally;
  };
  const Tally exact = counted({6.0, 2.0, 1.5}), wrong = counted({6.0, 2.0, 1.5 + 1e-9}),
              undefined = counted({6.0, 0.0, 1.5});
  CHECK(exact.cases == 1);
  CHECK(exact.violations == 0);
  CHECK(wrong.violations == 1);
  CHECK(wrong.largest == close(1e-9 / 1.5, 1e-6));
  CHECK(undefined.cases == 0);
}

TEST_CASE(
    "escalation: rounding noise and undefined values are excluded, and other settings are not "
    "judged") {
  const Result noise = judged([](Arrays& arrays) {
    for (std::size_t k = 14; k <= 16; ++k) arrays["token_diversity"][k] = 1e-30;
    arrays["step2.xi_ratio"][15] = 7;
    arrays["mu_2"][15] = 7;
  });
  CHECK(find_claim(noise, "shallow/fig-2-step2").verdict == Verdict::holds);
  CHECK(find_claim(noise, "shallow/fig-2-step2")
            .detail.find("excluded as undefined or rounding noise: blocks 14 to 16") !=
        std::string::npos);
  CHECK(find_claim(noise, "shallow/eq-11").verdict == Verdict::holds);

  const Result other = judged([](Arrays&) {}, 16, "rms");
  CHECK(find_claim(other, "shallow/fig-2-step1").detail ==
        "the statement is about layer normalization, not --norm rms");
  CHECK(find_claim(other, "shallow/eq-6").verdict == Verdict::holds);
  const Result shallow = judged([](Arrays&) {}, 8);
  for (const char* id : {"shallow/fig-2-maximum", "shallow/fig-2-delta/to-zero"}) {
    CHECK(find_claim(shallow, id).verdict == Verdict::not_applicable);
  }
}

TEST_CASE("escalation: a diverging stack ends in undefined values and is counted") {
  const FlagValues explosive = {
      {"layers", "60"}, {"tokens", "4"}, {"dim", "8"}, {"norm", "none"}, {"alpha", "1000000"}};
  const Result result = run_configured(make_escalation_study(), explosive, 2);
  CHECK(result.diverged);
  CHECK(find_scalar(result, "diverged") == std::vector<double>{1, 1});
  CHECK(std::isfinite(find_series(result, "token_similarity").mean.front()));
  CHECK(std::isnan(find_series(result, "token_similarity").mean.back()));
  for (const Claim& claim : result.claims) {
    CAPTURE(claim.id);
    if (claim.kind != Kind::theorem) CHECK(claim.verdict == Verdict::not_applicable);
  }
}

TEST_CASE(
    "escalation: tokens that the norm sets to zero are counted, and heads must divide the width") {
  // Without a skip and with W = 0, step 1 sets all 4 tokens to zero, which both norms of a block
  // count.
  const FlagValues zero = {{"layers", "2"},  {"tokens", "4"},       {"dim", "8"},
                           {"norm", "rows"}, {"weight-scale", "0"}, {"lambda", "0"}};
  CHECK(find_scalar(run_configured(make_escalation_study(), zero, 1), "degenerate_rows")[0] == 16);
  CHECK(refusal(make_escalation_study(), {{"heads", "3"}, {"dim", "8"}}).find("--heads 3") !=
        std::string::npos);
}

}  // namespace escalation_test
